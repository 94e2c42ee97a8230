//! Packet captures: pcap out (and, later, in).
//!
//! A simulated packet has no bytes; [`Frame`] says what its headers would be, [`PcapWriter`] writes
//! them so that Wireshark, tshark and tcptrace read the file as they would a `tcpdump -s` capture.

mod frame;
mod pcap;

pub use frame::{Flags, Frame, FrameError, Payload, TcpFrame, TcpOptions, UdpFrame};
pub use pcap::{PcapWriter, SNAPLEN};
