//! Reads captures that are built byte by byte.

mod build;
mod damage;
mod datagrams;
mod encapsulations;
mod filter;
mod formats;
mod layers;
mod others;
mod roundtrip;
mod tshark;
