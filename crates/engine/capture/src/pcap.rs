//! The pcap file format with nanoseconds, little-endian (draft-ietf-opsawg-pcap).

use crate::Frame;
use std::io::{self, Write};
use units::Time;

/// Section 4: nanosecond timestamps.
const MAGIC_NANOS: u32 = 0xa1b2_3c4d;
/// Packets begin with their IP header.
const LINKTYPE_RAW: u32 = 101;
/// The most bytes kept of a packet: the longest headers are 100, of IPv6 and a TCP header with every option.
pub const SNAPLEN: u32 = 112;

/// Writes frames to a pcap file: of each its headers, and how long it was.
///
/// Times are nanoseconds since the run began, so the file's clock starts at 1970-01-01 and the
/// same run gives the same bytes. Wrap `out` in a `BufWriter`.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file's header.
    pub fn new(mut out: W) -> io::Result<PcapWriter<W>> {
        let mut b = Vec::with_capacity(24);
        b.extend(MAGIC_NANOS.to_le_bytes());
        b.extend(2u16.to_le_bytes());
        b.extend(4u16.to_le_bytes());
        b.extend([0; 8]);
        b.extend(SNAPLEN.to_le_bytes());
        b.extend(LINKTYPE_RAW.to_le_bytes());
        out.write_all(&b)?;
        Ok(PcapWriter { out })
    }

    /// Adds to a file that has its header already.
    pub fn resume(out: W) -> PcapWriter<W> {
        PcapWriter { out }
    }

    /// Adds one frame. Frames should come in the order of their times.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let (headers, length) =
            frame.headers().map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        self.record(frame.time, &headers[..headers.len().min(SNAPLEN as usize)], length)
    }

    /// Adds an IP packet as it was seen: its first [`SNAPLEN`] bytes.
    pub fn write_packet(&mut self, time: Time, ip: &[u8]) -> io::Result<()> {
        self.record(time, &ip[..ip.len().min(SNAPLEN as usize)], ip.len() as u32)
    }

    /// Adds an IP packet of which only the first bytes were seen; it was `length` bytes long.
    pub fn write_cut(&mut self, time: Time, kept: &[u8], length: u32) -> io::Result<()> {
        self.record(time, &kept[..kept.len().min(SNAPLEN as usize)], length)
    }

    fn record(&mut self, time: Time, kept: &[u8], length: u32) -> io::Result<()> {
        let ns = time.as_nanos();
        let head = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, kept.len() as u32, length];
        for word in head {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.out.write_all(kept)
    }

    /// What it writes to.
    pub fn get(&self) -> &W {
        &self.out
    }

    /// Hands on what `out` has buffered.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// The destination, flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
