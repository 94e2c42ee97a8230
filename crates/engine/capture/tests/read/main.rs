//! Captures built byte by byte, read back.

mod build;
mod damage;
mod datagrams;
mod filter;
mod formats;
mod layers;
mod others;
mod roundtrip;
mod tshark;
mod zoo;
