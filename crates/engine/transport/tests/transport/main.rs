//! Tests of both ends of a connection, segment by segment. All are one program, so that generic code is
//! compiled once.

mod buffer;
mod closing;
mod controller_events;
mod handshake;
mod hardship;
mod old_acks;
mod pacing;
mod pair;
mod peers;
mod receiver;
mod recovery;
mod timeouts;
mod windows;
