//! Packet captures: pcap out, pcap and pcapng in.
//!
//! A simulated packet has no bytes; [`Frame`] says what its headers would be, [`PcapWriter`] writes
//! them so that Wireshark, tshark and tcptrace read the file as they would a `tcpdump -s` capture.
//! [`Reader`] makes [`Packet`]s of captures, whoever wrote them.

mod flow;
mod frame;
mod limit;
mod packet;
mod pcap;
mod pipeline;
mod read;
mod row;
mod track;
mod verdict;

pub use flow::{Histogram, Totals, Tracker, TrackerOptions};
pub use frame::{Flags, Frame, FrameError, Payload, TcpFrame, TcpOptions, UdpFrame};
pub use packet::{Addr, End, Options, Packet};
pub use pcap::{PcapWriter, SNAPLEN};
pub use pipeline::track;
pub use read::{Batch, FileDamage, FileInfo, NamedCount, OpenCause, OpenError, Reader, TooBig};
pub use row::{Kind, Recorder, Row};
pub use track::{Bin, Bursts, Counts, Fate, Handshake, MOST_WAITS, Sample, Track, Wait, Waited};
pub use verdict::{capture_info, diagnose_tracks};
