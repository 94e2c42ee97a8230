//! Writer of the pcap file format with nanosecond timestamps, little-endian (draft-ietf-opsawg-pcap).

use crate::Frame;
use std::io::{self, Write};
use units::Time;

/// Magic number of files with nanosecond timestamps (section 4).
const MAGIC_NANOS: u32 = 0xa1b2_3c4d;
/// Link type of packets that start with the IP header.
const LINKTYPE_RAW: u32 = 101;
/// Maximum number of bytes stored per packet: the longest headers are 100 bytes, IPv6 and TCP with all
/// options.
pub const SNAPLEN: u32 = 112;

/// Writes frames to a pcap file: each frame's headers and total length.
///
/// Timestamps are nanoseconds since the start of the run, so the file's clock starts at 1970-01-01, and the
/// same run gives the same bytes. Wrap `out` in a `BufWriter`.
#[derive(Debug)]
pub struct PcapWriter<W: Write> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Starts a file: writes the file header.
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

    /// Continues a file that already has its header.
    pub fn resume(out: W) -> PcapWriter<W> {
        PcapWriter { out }
    }

    /// Writes a frame. Frames should be written in order of time.
    pub fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let (headers, length) =
            frame.headers().map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        self.record(frame.time, &headers[..headers.len().min(SNAPLEN as usize)], length)
    }

    /// Writes a captured IP packet, of which the first [`SNAPLEN`] bytes are stored.
    pub fn write_packet(&mut self, time: Time, ip: &[u8]) -> io::Result<()> {
        self.record(time, &ip[..ip.len().min(SNAPLEN as usize)], ip.len() as u32)
    }

    /// Writes an IP packet of `length` bytes of which only the first bytes are known.
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

    /// The destination.
    pub fn get(&self) -> &W {
        &self.out
    }

    /// Flushes the destination.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Flushes and returns the destination.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}
