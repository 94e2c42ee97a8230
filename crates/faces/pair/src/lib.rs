//! Two proxies joined by QUIC: one near the users, one near the servers, where the far kernel's transport cannot be changed.
//!
//! Pure, and tested alone: how streams begin ([`Opening`]), keys ([`PrivateKey`]).
//!
//! On Linux: [`Pair`]. One event loop drives QUIC as a state machine (noq-proto): connections of clients are streams of
//! the connection to their peer, client's datagrams are its datagrams.

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
mod reader;
mod relay;
mod reload;
mod resolve;
mod run;
mod serving;
mod socket;
mod transport;

pub use error::PairStartError;
pub use event_loop::PairLog;
pub use frames::{
    Carriage, DATAGRAM_HEAD, LONGEST_OPENING, Opening, OpeningRead, read_datagram, write_datagram,
};
pub use keys::{PrivateKey, key_of};
pub use reload::PairChange;
pub use run::{BoundPair, Pair};
