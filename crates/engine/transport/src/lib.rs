//! Endpoints in virtual time: TCP as Linux 6.x (or as the RFCs) implement it, UDP, applications and split-TCP
//! relays. All are state machines without a clock, a socket or ambient randomness: `now` is an argument of
//! every call, and the same calls give the same bytes on every machine.
//!
//! # Linux's TCP in a deterministic test
//!
//! A test needs two ends, a path between them, and a loop that advances time to the next deadline. In this
//! example the path has a policer of 20 Mbit/s with a small bucket and an RTT of 40 ms, and CUBIC achieves
//! far less than that rate:
//!
//! ```
//! use path::{Chain, Delay, Ecn, Outbox, Packet, Policer, Stage};
//! use transport::{Segment, Stack, Tcp};
//! use units::{Bytes, Span, Time, earliest};
//!
//! let policer = Stage::Policer(Policer::single("20Mbit/s".parse().unwrap(), Some(Bytes::new(9_000))));
//! let delay = Stage::Delay(Delay::new(Span::from_millis(20)));
//! // Direction 0 leads from end 0 to end 1, direction 1 back. The seed (1) and a stage's name choose its random numbers.
//! let mut path = [Chain::build(1, [("policer", &policer), ("delay", &delay)]), Chain::build(1, [("delay", &delay)])];
//! let end = || Tcp::new(Stack::default().own_limits(1500, None), congestion::make("cubic", 1, "cc").unwrap());
//! let (mut ends, mut sent) = ([end(), end()], [Vec::new(), Vec::new()]);
//! let (mut out, mut now, stop) = (Outbox::default(), Time::ZERO, Time::ZERO + Span::from_secs(10));
//!
//! ends[0].connect(now, &mut sent[0]);
//! ends[0].write(now, 100_000_000, true, &mut sent[0]); // leaves once the connection is established
//! loop {
//!     for side in 0..2 {
//!         for segment in sent[side].drain(..) {
//!             let (size, ecn) = (segment.ip_bytes(), Ecn::NotEct);
//!             let packet = Packet { id: 0, size, overhead: 0, flow: 0, dscp: 0, ecn, fragment: None, body: segment };
//!             path[side].handle_packet(now, packet, &mut out);
//!         }
//!         out.clear(); // what was dropped
//!     }
//!     let next = ends.iter().map(Tcp::next_wake).chain(path.iter().map(Chain::next_wake)).fold(None, earliest);
//!     let Some(next) = next.filter(|next| *next <= stop) else { break };
//!     now = next;
//!     for side in 0..2 {
//!         ends[side].handle_wake(now, &mut sent[side]); // early wake-ups are harmless
//!         path[side].handle_wake(now, &mut out);
//!         for (_, packet) in out.sent.drain(..) {
//!             ends[1 - side].handle_segment(now, &packet.body, &mut sent[1 - side]);
//!         }
//!     }
//! }
//!
//! let goodput = (100_000_000 - ends[0].tx.unacked()) as f64 * 8.0 / 10.0;
//! assert!((1e6..10e6).contains(&goodput), "{goodput} bit/s of 20 Mbit/s");
//! ```
//!
//! [`path`] provides the elements of paths (links, queues, shapers, loss, handovers, tunnels), [`congestion`]
//! the congestion controls by name. The crate `sim` runs whole topologies with many flows, read from a
//! scenario file.

mod app;
mod config;
mod exchanges;
mod receive;
mod relay;
mod requester;
mod rtt;
mod scoreboard;
mod segment;
mod sender;
mod tcp;
mod udp;
mod voice;
mod wheel;
mod windows;

pub use app::{Application, Side};
pub use config::{App, Arrival, Limits, MtuProbing, Offer, Profile, Stack};
pub use exchanges::{Exchange, ExchangeLog};
pub use receive::Receiver;
pub use relay::pump;
pub use requester::{Ask, PAGE_CONNECTIONS, RequestPattern, Requester, Responder};
pub use rtt::Rtt;
pub use segment::{Flags, HEADER, SackBlock, Segment, SynOptions, TIMESTAMP_OPTION, UDP_HEADER};
pub use sender::{Info, Limit, Retransmission, SendStats, Sender};
pub use tcp::Tcp;
pub use udp::{DatagramPattern, UdpSource, answer};
pub use voice::{Codec, JITTER_BUFFER, RatedCodec};
