//! What whole simulated runs yield. One program of them all: what is generic is compiled once.

mod bbr3;
mod bounds;
mod common;
mod datagrams;
mod networks;
mod pages;
mod paths;
mod replay;
mod schema;
mod segments_as_datagrams;
mod steps;
mod summary;
mod time_base;
mod truths;
mod tshark;
mod unrest;
mod worlds;
