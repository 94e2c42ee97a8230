//! Tests of whole simulated runs. All are one program, so that generic code is compiled once.

mod bbr3;
mod bounds;
mod common;
mod datagrams;
mod host_jitter;
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

mod worlds;
