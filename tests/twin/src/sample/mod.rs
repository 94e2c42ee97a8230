//! The model's sender held against the kernel's, packet by packet.
//!
//! A *run* is one connection of the kernel over a TUN device, whose other end and whose path ([`Peer`]) are
//! this program: it loses, delays, doubles and reorders packets and ACKs as drawn from a seed ([`Plan`]).
//! After each packet in either direction `TCP_INFO` is read, and what happened is written down with its time
//! ([`Log`]). Then [`replay`] hands the same inputs at the same times to the model, and compares what it
//! sends and what it tells of itself after each of them. Timers fire in the model when the kernel's
//! evidently did, within the bounds told there: so what is compared are decisions, not how punctual two
//! machines are.
//!
//! | part | file |
//! |---|---|
//! | what is drawn | `plan.rs` |
//! | the path and the other end | `peer.rs` |
//! | the connection of the kernel, in a namespace of its own | `kernel.rs`, `sys.rs`, `wire.rs` |
//! | what is compared, and how closely | `look.rs` |
//! | the file of a run | `log.rs` |
//! | the model, step by step | `replay.rs`, `moment.rs` |

mod kernel;
mod log;
mod look;
mod moment;
mod peer;
mod plan;
mod replay;
mod wire;

pub use kernel::{Error, run};
pub use log::{Ack, Burst, Event, Input, Log, load, recorded, save};
pub use look::Look;
pub use peer::Peer;
pub use plan::{Control, Plan};
pub use replay::{Difference, replay};
