//! The lab on the real kernel. It needs root, or user namespaces and an open /dev/net/tun, and says so aloud where
//! it has neither. One at a time, because two runs on one machine disturb each other: `make netns`.

mod controls;
mod deaths;
mod networks;
mod relays;
mod runs;
mod scripts;
mod shell;
mod tools;
