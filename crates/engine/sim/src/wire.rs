//! Encodes simulated packets as a capture on their host would show them: addresses, ports, sequence numbers,
//! options.
//!
//! `run --pcap`, the corpus of the diagnosis and tests all use it: [`Encoder::frame`] gives a packet's
//! headers, [`capture::PcapWriter`] writes their bytes, and [`capture::Frame::seen`] gives the result of
//! reading them.
//!
//! | field | value |
//! |---|---|
//! | address | [`scenario::Scenario::address`] of the host: the first one configured |
//! | port | 5201 at the server, 40000 + c at the client of connection or datagram flow c |
//! | sequence number | relative: 0 for a SYN, 1 for the first byte of data |
//! | IP identification | the packet's number in the run, modulo 2^16; IPv6 packets have none, and flow label 0 |
//! | window | the packet's window, shifted by the scale: exact to 2^scale bytes |
//! | MSS, window scale, SACK permitted, timestamps, SACK blocks, flags, ECN, DSCP | those of the packet |
//! | ICMP | "fragmentation needed" (RFC 1191), quoting the IP header and 8 bytes; for IPv6 "packet too big" (RFC 4443); at the time of the packet, on every host on the route back to its sender |
//! | headers of tunnels, fragments | omitted: the packet is shown once, as its ends see it |

mod encoder;

pub use encoder::{Encoder, ports};
