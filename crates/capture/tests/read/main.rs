//! Captures built byte by byte, read back.

mod build;
mod damage;
mod formats;
mod layers;
mod tshark;
mod zoo;
