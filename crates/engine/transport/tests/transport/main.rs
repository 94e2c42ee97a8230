//! Both ends of a connection, segment by segment. One program of them all: what is generic is compiled once.

mod buffer;
mod closing;
mod handshake;
mod hardship;
mod old_acks;
mod pacing;
mod pair;
mod peers;
mod receiver;
mod recovery;
mod timeouts;
mod told;
mod windows;
