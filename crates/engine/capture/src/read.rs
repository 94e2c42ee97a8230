//! Captures in: pcap, pcapng, snoop and ERF, plain or compressed, to TCP packets.
//!
//! Nothing here knows connections: what stands in the file is passed on as it stands there, in its order.
//! Captures are hostile input: memory is bounded whatever they claim, and damage ends reading, no more.

mod classic;
mod clock;
mod erf;
mod filter;
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
mod udp;
mod unpack;
mod walk;

pub use filter::{FilterTime, HostPrefix, PacketFilter};
pub use info::{FileDamage, FileInfo, NamedCount};
pub use open::{OpenCause, OpenError};
pub use udp::{DATAGRAM_HEAD, UdpDatagram};

use crate::icmp::IcmpReport;
use crate::packet::TcpPacket;
use format::{Format, Record};
use open::OpenedCapture;
use source::ByteSource;
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use units::Time;
use walk::Walker;

/// Records read by one [`CaptureReader::fill`], at most: what becomes of them stays in the processor's first cache.
const RECORDS: usize = 64;
/// Fragments that have waited for too long are given up each so many calls of it.
const SETTLED_EACH: u32 = 16;

/// What TCP packets that a [`PacketFilter`] does not ask for are counted as, in [`FileInfo::other`].
pub const LEFT_OUT: &str = "tcp left out by the filter";

/// What [`CaptureReader::fill`] appends to. It does not empty it: that is for whoever has read it.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// TCP packets.
    pub packets: Vec<TcpPacket>,
    /// ICMP reports about them.
    pub reports: Vec<IcmpReport>,
    /// UDP datagrams that hold no tunnel, in their order.
    pub datagrams: Vec<UdpDatagram>,
}

/// What a [`Batch`] holds, in the capture's order.
#[derive(Clone, Copy, Debug)]
pub enum BatchPart<'a> {
    /// TCP packets, one after the other.
    Packets(&'a [TcpPacket]),
    /// An ICMP report.
    Report(&'a IcmpReport),
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
        let reports = self.reports.iter().map(Some).chain([None]);
        reports.flat_map(move |report| {
            let to = report.map_or(self.packets.len(), |r| r.behind.min(self.packets.len()));
            [packets(to), report.map(BatchPart::Report)].into_iter().flatten()
        })
    }

    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.reports.clear();
        self.datagrams.clear();
    }
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
    /// Time of the first record, and of the last one.
    first: Time,
    last: Time,
    done: bool,
    /// Calls of [`CaptureReader::fill`].
    fills: u32,
    damage: Option<FileDamage>,
    filter: PacketFilter,
    left_out: u64,
    /// Files still to be read, as if they were one.
    rest: VecDeque<PathBuf>,
    /// The one of several that is being read.
    part: Option<String>,
    past: PastFiles,
}

/// What is kept of files that were read to their end, where several are read as one.
#[derive(Default)]
struct PastFiles {
    links: Vec<u16>,
    dropped: Option<u64>,
    bytes: u64,
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

    /// Reads files one after the other, in this order, as if they were one; they are called `name`. All but the first are
    /// opened when it is their turn; one that cannot be is told as damage.
    pub fn open_all(name: &str, paths: Vec<PathBuf>) -> Result<CaptureReader, OpenError> {
        let sizes = paths.iter().map(|path| path.metadata().ok().filter(|m| m.is_file()).map(|m| m.len()));
        let length = sizes.sum();
        let mut rest = VecDeque::from(paths);
        let first = rest.pop_front().unwrap_or_default();
        let mut reader = CaptureReader::open(&first)?;
        let part = std::mem::replace(&mut reader.name, name.to_string());
        (reader.part, reader.rest, reader.length) = (Some(part), rest, length);
        Ok(reader)
    }

    /// Passes on only what `filter` asks for; the rest is counted.
    pub fn keep(&mut self, filter: PacketFilter) {
        self.filter = filter;
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
            first: Time::ZERO,
            last: Time::ZERO,
            done: false,
            fills: 0,
            damage: None,
            filter: PacketFilter::default(),
            left_out: 0,
            rest: VecDeque::new(),
            part: None,
            past: PastFiles::default(),
        }
    }

    /// Appends the TCP packets, ICMP reports and UDP datagrams of the next records, a few dozen; they may hold none.
    /// False once there is nothing more, and then nothing was appended.
    pub fn fill(&mut self, batch: &mut Batch) -> bool {
        if self.done {
            return false;
        }
        let (packets, reports, datagrams) = (batch.packets.len(), batch.reports.len(), batch.datagrams.len());
        self.records(batch);
        if !self.filter.is_empty() {
            self.left_out += self.filter.sift(self.first, batch, packets, reports);
            self.filter.sift_datagrams(self.first, &mut batch.datagrams, datagrams);
        }
        true
    }

    /// The next records, unfiltered.
    fn records(&mut self, batch: &mut Batch) {
        for _ in 0..RECORDS {
            let Some(record) = self.record() else {
                if self.next_file() {
                    continue;
                }
                self.done = true;
                return self.walker.settle(None, batch);
            };
            if let Some(time) = record.time {
                self.last = time;
                self.times = match self.times {
                    Some((first, last)) => Some((first.min(time), last.max(time))),
                    None => {
                        self.first = time;
                        Some((time, time))
                    }
                };
            }
            self.records += 1;
            self.wire_bytes += record.wire as u64;
            let bytes = &self.source.bytes()[record.from..record.to];
            let (packets, reports) = (batch.packets.len(), batch.reports.len());
            self.walker.record(record.link, self.last, bytes, record.wire, batch);
            let number = self.records.min(u32::MAX.into()) as u32;
            batch.packets[packets..].iter_mut().for_each(|p| p.number = number);
            batch.reports[reports..].iter_mut().for_each(|r| r.number = number);
            self.source.advance(record.held);
        }
        self.fills = self.fills.wrapping_add(1);
        if self.fills.is_multiple_of(SETTLED_EACH) {
            self.walker.settle(Some(self.last), batch);
        }
    }

    /// Goes on with the next of several files; false where there is none.
    #[cold]
    fn next_file(&mut self) -> bool {
        while let Some(path) = self.rest.pop_front() {
            let opened = match open::file(&path) {
                Ok(opened) => opened,
                Err(cause) => {
                    let what = OpenError { name: path.display().to_string(), cause }.to_string();
                    self.damage.get_or_insert(FileDamage { offset: 0, what });
                    continue;
                }
            };
            self.past.links = self.link_numbers();
            self.past.dropped = self.dropped();
            self.past.bytes += self.taken.load(Ordering::Relaxed);
            self.part = Some(path.display().to_string());
            (self.source, self.format, self.taken) = (opened.source, opened.format, opened.taken);
            return true;
        }
        false
    }

    /// The next record; none at the end, or where the file is damaged.
    #[inline(always)]
    fn record(&mut self) -> Option<Record> {
        if let Some(record) = self.format.at_hand(self.source.bytes()) {
            return Some(record);
        }
        match self.format.next(&mut self.source) {
            Ok(record) => record,
            Err(mut damage) => {
                if let Some(part) = &self.part {
                    damage.what = format!("{part}: {}", damage.what);
                }
                self.damage.get_or_insert(damage);
                None
            }
        }
    }

    /// Whether what the file holds has to be unpacked.
    pub fn is_packed(&self) -> bool {
        self.packing.is_some()
    }

    /// Bytes of the file taken so far (a little ahead of the packets passed on), and its length where it is
    /// known: not of a pipe.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.past.bytes + self.taken.load(Ordering::Relaxed), self.length)
    }

    /// What was read so far.
    pub fn info(&self) -> FileInfo {
        let tally = &self.walker.tally;
        let mut other = tally.others_found();
        if self.left_out > 0 {
            other.push(NamedCount { name: LEFT_OUT, count: self.left_out });
        }
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
            tcp_packets: tally.tcp - self.left_out,
            udp_packets: tally.udp,
            fragments: tally.fragments,
            tunnels: tally.tunnels_found(),
            other,
            dropped: self.dropped(),
            damage: self.damage.clone(),
        }
    }

    /// Names of link types, each once: several numbers share a name.
    fn links(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in self.link_numbers().into_iter().map(link::name) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Link types of all files.
    fn link_numbers(&self) -> Vec<u16> {
        let mut all = self.past.links.clone();
        for link in self.format.links() {
            if !all.contains(link) {
                all.push(*link);
            }
        }
        all
    }

    /// Drops of all files.
    fn dropped(&self) -> Option<u64> {
        [self.past.dropped, self.format.dropped()].into_iter().flatten().reduce(u64::saturating_add)
    }
}
