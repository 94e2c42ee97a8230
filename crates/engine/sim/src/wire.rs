//! Simulated packets as a capture on their host shows them: addresses, ports, sequence numbers, options.
//!
//! The one place that says so, for `run --pcap`, the corpus of the diagnosis and tests: [`Encoder::frame`] gives a
//! packet's headers, [`capture::PcapWriter`] their bytes, [`capture::Frame::seen`] what a reader makes of them.
//!
//! | field | is |
//! |---|---|
//! | address | [`scenario::Scenario::address`] of the host: the first of those that it was given |
//! | port | 5201 of the end that answers, 40000 + c of the one that opens connection or datagram flow c |
//! | sequence number | relative: a SYN has 0, the first byte of data 1 |
//! | IP identification | the packet's number in the run, modulo 2^16; IPv6 has none, and a flow label of 0 |
//! | window | the packet's, shifted by the scale: exact to 2^scale bytes |
//! | MSS, window scale, SACK permitted, timestamps, SACK blocks, flags, ECN, DSCP | of the packet |
//! | ICMP | "fragmentation needed" (RFC 1191), quoting the IP header and 8 bytes, of IPv6 "packet too big" (RFC 4443): at the time of the packet, on every host back to its sender |
//! | headers of tunnels, fragments | none: the packet is shown as its ends know it, once |

mod encoder;

pub use encoder::{Encoder, ports};
