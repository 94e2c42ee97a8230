//! Captures in: pcap, pcapng, snoop and ERF, plain or compressed, to TCP packets.
//!
//! Nothing here knows connections: what stands in the file is passed on as it stands there, in its order.
//! Captures are hostile input: memory is bounded whatever they claim, and damage ends reading, no more.

mod classic;
mod clock;
mod erf;
mod format;
mod fragment;
mod info;
mod ip;
mod l2tp;
mod link;
mod ng;
mod open;
mod snoop;
mod source;
mod tally;
mod tcp;
mod tunnel;
mod unpack;
mod walk;

pub use info::{FileDamage, FileInfo, NamedCount};
pub use open::{OpenCause, OpenError};

use crate::{Endpoint, TcpPacket};
use format::{Format, Record};
use open::OpenedCapture;
use source::ByteSource;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Time;
use walk::Walker;

/// Records read by one [`CaptureReader::fill`], at most: what becomes of them stays in the processor's second cache.
const RECORDS: usize = 1_024;

/// What [`CaptureReader::fill`] appends to. It does not empty it: that is for whoever has read it.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// TCP packets.
    pub packets: Vec<TcpPacket>,
    /// ICMP reports about them.
    pub too_big: Vec<TooBig>,
}

/// What a [`Batch`] holds, in the capture's order.
#[derive(Clone, Copy, Debug)]
pub enum BatchPart<'a> {
    /// TCP packets, one after the other.
    Packets(&'a [TcpPacket]),
    /// An ICMP report.
    TooBig(&'a TooBig),
}

impl Batch {
    /// All of it in the capture's order.
    pub fn in_order(&self) -> impl Iterator<Item = BatchPart<'_>> {
        let mut from = 0;
        let mut packets = move |to: usize| {
            let part = self.packets.get(from..to).unwrap_or_default();
            from = from.max(to);
            (!part.is_empty()).then_some(BatchPart::Packets(part))
        };
        let reports = self.too_big.iter().map(Some).chain([None]);
        reports.flat_map(move |report| {
            let to = report.map_or(self.packets.len(), |r| r.behind.min(self.packets.len()));
            [packets(to), report.map(BatchPart::TooBig)].into_iter().flatten()
        })
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.too_big.clear();
    }
}

/// An ICMP or ICMPv6 report that a TCP packet was too big for a link on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooBig {
    /// When the report was captured.
    pub time: Time,
    /// How many packets of its batch came before it.
    pub behind: usize,
    /// Where the packet came from.
    pub from: Endpoint,
    /// Where it was to go.
    pub to: Endpoint,
    /// What the link would take, bytes of IP; routers older than RFC 1191 do not say.
    pub mtu: Option<u32>,
}

/// Reads a capture from beginning to end.
///
/// Call [`CaptureReader::fill`] until it says false; [`CaptureReader::progress`] and [`CaptureReader::info`] may be asked at any
/// time and tell what was read so far.
pub struct CaptureReader {
    name: String,
    packing: Option<&'static str>,
    source: ByteSource,
    format: Format,
    walker: Walker,
    taken: Arc<AtomicU64>,
    length: Option<u64>,
    records: u64,
    wire_bytes: u64,
    /// Earliest and latest time of a record.
    times: Option<(Time, Time)>,
    last: Time,
    done: bool,
    damage: Option<FileDamage>,
}

impl CaptureReader {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> Result<CaptureReader, OpenError> {
        let name = path.display().to_string();
        open::file(path)
            .map(|opened| CaptureReader::new(&name, opened))
            .map_err(|cause| OpenError { name, cause })
    }

    /// Reads `input`, which is called `name`.
    pub fn from_reader(input: Box<dyn Read + Send>, name: &str) -> Result<CaptureReader, OpenError> {
        match open::any(input, name, None) {
            Ok(opened) => Ok(CaptureReader::new(name, opened)),
            Err(cause) => Err(OpenError { name: name.to_string(), cause }),
        }
    }

    fn new(name: &str, opened: OpenedCapture) -> CaptureReader {
        let OpenedCapture { packing, source, format, taken, length } = opened;
        CaptureReader {
            name: name.to_string(),
            packing,
            source,
            format,
            walker: Walker::default(),
            taken,
            length,
            records: 0,
            wire_bytes: 0,
            times: None,
            last: Time::ZERO,
            done: false,
            damage: None,
        }
    }

    /// Appends the TCP packets and ICMP reports of the next records, about a thousand; they may hold none.
    /// False once there is nothing more, and then nothing was appended.
    pub fn fill(&mut self, batch: &mut Batch) -> bool {
        if self.done {
            return false;
        }
        for _ in 0..RECORDS {
            let Some(record) = self.record() else {
                self.done = true;
                self.walker.settle(None, batch);
                return true;
            };
            if let Some(time) = record.time {
                self.last = time;
                let (first, last) = self.times.unwrap_or((time, time));
                self.times = Some((first.min(time), last.max(time)));
            }
            self.records += 1;
            self.wire_bytes += record.wire as u64;
            let bytes = &self.source.bytes()[record.from..record.to];
            self.walker.record(record.link, self.last, bytes, record.wire, batch);
            self.source.advance(record.held);
        }
        self.walker.settle(Some(self.last), batch);
        true
    }

    /// The next record; none at the end, or where the file is damaged.
    #[inline(always)]
    fn record(&mut self) -> Option<Record> {
        if let Some(record) = self.format.at_hand(self.source.bytes()) {
            return Some(record);
        }
        match self.format.next(&mut self.source) {
            Ok(record) => record,
            Err(damage) => {
                self.damage = Some(damage);
                None
            }
        }
    }

    /// Bytes of the file taken so far (a little ahead of the packets passed on), and its length where it is
    /// known: not of a pipe.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.taken.load(Ordering::Relaxed), self.length)
    }

    /// What was read so far.
    pub fn info(&self) -> FileInfo {
        let tally = &self.walker.tally;
        FileInfo {
            name: self.name.clone(),
            format: match self.packing {
                None => self.format.name().to_string(),
                Some(packing) => format!("{} ({packing})", self.format.name()),
            },
            links: self.links(),
            times: self.times,
            records: self.records + tally.further,
            wire_bytes: self.wire_bytes,
            tcp_packets: tally.tcp,
            udp_packets: tally.udp,
            fragments: tally.fragments,
            tunnels: tally.tunnels_found(),
            other: tally.others_found(),
            dropped: self.format.dropped(),
            damage: self.damage.clone(),
        }
    }

    /// Names of link types, each once: several numbers share a name.
    fn links(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.format.links().iter().map(|link| link::name(*link)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
