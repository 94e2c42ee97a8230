//! Compares the model's sender with the kernel's, packet by packet.
//!
//! A *run* is one connection of the kernel over a TUN device. This program is its other end and its path
//! ([`Peer`]): it loses, delays, duplicates and reorders packets and ACKs at random, from a seed ([`Plan`]).
//! After each packet in either direction it reads `TCP_INFO` and logs the event with its time ([`Log`]). Then
//! [`replay`] feeds the same inputs at the same times to the model, and compares its packets and its state
//! after each of them. Timers expire in the model when the kernel's evidently did, within the bounds given
//! there. So decisions are compared, not the punctuality of two machines.
//!
//! | part | file |
//! |---|---|
//! | random choices | `plan.rs` |
//! | the path and the other end | `peer.rs` |
//! | the kernel's connection, in its own namespace | `kernel.rs`, `sys.rs`, `wire.rs` |
//! | compared fields and tolerances | `snapshot.rs` |
//! | the file of a run | `log.rs` |
//! | the model, step by step | `replay.rs`, `send_times.rs` |

mod kernel;
mod log;
mod peer;
mod plan;
mod replay;
mod send_times;
mod snapshot;
mod wire;

pub use kernel::{Error, run};
pub use log::{Ack, Burst, Event, Input, Log, load, recorded, save};
pub use peer::Peer;
pub use plan::{Control, Plan};
pub use replay::{Difference, replay};
pub use snapshot::Snapshot;
