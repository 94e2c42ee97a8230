//! Two proxies joined by QUIC, one near the users and one near the servers, for paths on which the transport
//! of the far kernel cannot be changed.
//!
//! Independent of the system: the opening of streams ([`Opening`]) and keys ([`PrivateKey`]).
//!
//! On Linux: [`Pair`]. One event loop drives QUIC as a state machine (noq-proto). Clients' connections are
//! streams of the connection to their peer, and clients' datagrams are its datagrams.

#![cfg(target_os = "linux")]

mod contract;
mod control;
mod dial;
mod entrance;
mod error;
mod event_loop;
mod flow;
mod frames;
mod keys;
mod link;
mod links;
mod pending;
mod reader;
mod relay;
mod reload;
mod resolve;
mod run;
mod socket;
mod transport;

pub use error::PairStartError;
pub use event_loop::PairLog;
pub use frames::{
    DATAGRAM_HEAD, LONGEST_OPENING, Opening, OpeningRead, StreamKind, read_datagram, write_datagram,
};
pub use keys::{PrivateKey, key_of};
pub use reload::PairChange;
pub use run::{BoundPair, Pair};
