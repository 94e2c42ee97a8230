//! Packet captures: writes pcap; reads pcap, pcapng, snoop and ERF.
//!
//! A simulated packet has no bytes. [`Frame`] describes its headers, and [`PcapWriter`] writes them so that
//! Wireshark, tshark and tcptrace read the file as they would a `tcpdump -s` capture. [`CaptureReader`] reads
//! captures of any origin as [`TcpPacket`]s.

mod frame;
mod icmp;
mod packet;
mod pcap;
mod read;

pub use frame::{Frame, FrameError, Payload, TcpFrame, TcpOptions, TooBigFrame, UdpFrame};
pub use icmp::{IcmpMessage, IcmpReport, Unreachable};
pub use packet::{Addr, Endpoint, PacketFragments, PacketOptions, TcpFlags, TcpPacket};
pub use pcap::{PcapWriter, SNAPLEN};
pub use read::{
    Batch, BatchPart, CaptureReader, DATAGRAM_HEAD, FILTERED_OUT, FileDamage, FileInfo, FilterTime,
    HostPrefix, NamedCount, OpenCause, OpenError, PacketFilter, UdpDatagram,
};
