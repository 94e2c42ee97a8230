//! Simulated endpoints: TCP as Linux 6.x sends it (or as the RFCs write it), UDP, applications and
//! split-TCP relays. State machines without a clock: `now` is an argument of every call.

mod app;
mod asker;
mod config;
mod exchanges;
mod receive;
mod relay;
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
pub use asker::{Answerer, Ask, Asker, Asking, PAGE_CONNECTIONS};
pub use config::{App, Arrival, Limits, MtuProbing, Offer, Profile, Stack};
pub use exchanges::{Exchange, ExchangeLog};
pub use receive::Receiver;
pub use relay::pump;
pub use rtt::Rtt;
pub use segment::{Flags, HEADER, SackBlock, Segment, SynOptions, TIMESTAMP_OPTION, UDP_HEADER};
pub use sender::{Again, Info, Limit, SendStats, Sender};
pub use tcp::Tcp;
pub use udp::{DatagramPattern, UdpSource, answer};
pub use voice::{Codec, JITTER_BUFFER, RatedCodec};
