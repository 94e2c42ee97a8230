//! Packet captures: pcap out, pcap and pcapng in.
//!
//! A simulated packet has no bytes; [`Frame`] says what its headers would be, [`PcapWriter`] writes
//! them so that Wireshark, tshark and tcptrace read the file as they would a `tcpdump -s` capture.
//! [`Reader`] makes [`Packet`]s of captures, whoever wrote them.

mod frame;
mod packet;
mod pcap;
mod read;

pub use frame::{Flags, Frame, FrameError, Payload, TcpFrame, TcpOptions, UdpFrame};
pub use packet::{Addr, End, Options, Packet};
pub use pcap::{PcapWriter, SNAPLEN};
pub use read::{Batch, FileDamage, FileInfo, NamedCount, OpenCause, OpenError, Reader, TooBig};
