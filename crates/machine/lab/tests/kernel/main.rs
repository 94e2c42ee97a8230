//! Tests of the lab on the real kernel. They need root, or user namespaces and an accessible /dev/net/tun;
//! otherwise they print that they are skipped. Run them one at a time, because two runs on one machine
//! disturb each other: `make netns`.

mod controls;
mod failures;
mod networks;
mod relays;
mod runs;
mod scripts;
mod shell;
mod tools;
