//! Reading captures: pcap, pcapng, snoop and ERF, plain or compressed, as TCP packets.
//!
//! The reader does not track connections: it returns packets in file order. Captures are untrusted input:
//! memory use is bounded whatever a file claims, and a damaged file only ends reading early.

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

/// Maximum number of records per call of [`CaptureReader::fill`]: the resulting packets fit into the CPU's
/// first-level cache.
const MAX_RECORDS_PER_FILL: usize = 64;
/// Number of calls of [`CaptureReader::fill`] between two searches for packets whose fragments have timed
/// out.
const FILLS_PER_TIMEOUT_CHECK: u32 = 16;

/// Name under which [`FileInfo::other`] counts TCP packets that a [`PacketFilter`] excludes.
pub const FILTERED_OUT: &str = "tcp left out by the filter";

/// Output of [`CaptureReader::fill`], which appends to the batch. The caller clears it between calls.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub packets: Vec<TcpPacket>,
    /// ICMP reports about TCP packets.
    pub reports: Vec<IcmpReport>,
    /// UDP datagrams without a tunnel inside, in order.
    pub datagrams: Vec<UdpDatagram>,
}

/// A part of a [`Batch`], in the capture's order.
#[derive(Clone, Copy, Debug)]
pub enum BatchPart<'a> {
    /// Consecutive TCP packets.
    Packets(&'a [TcpPacket]),
    Report(&'a IcmpReport),
}

impl Batch {
    /// Packets and reports in the capture's order.
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

    /// Empties the batch but keeps its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.reports.clear();
        self.datagrams.clear();
    }
}

/// Reads a capture from beginning to end.
///
/// Call [`CaptureReader::fill`] until it returns `false`. [`CaptureReader::progress`] and
/// [`CaptureReader::info`] may be called at any time and describe what has been read so far.
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
    /// Earliest and latest time of the records.
    times: Option<(Time, Time)>,
    /// Time of the first record.
    first: Time,
    last: Time,
    done: bool,
    /// Number of calls of [`CaptureReader::fill`].
    fills: u32,
    damage: Option<FileDamage>,
    filter: PacketFilter,
    left_out: u64,
    /// Files still to be read, where several are read as one.
    rest: VecDeque<PathBuf>,
    /// The file being read, where several are read as one.
    part: Option<String>,
    past: PastFiles,
}

/// Totals of files that were read to their end, where several are read as one.
#[derive(Default)]
struct PastFiles {
    links: Vec<u16>,
    dropped: Option<u64>,
    bytes: u64,
}

impl CaptureReader {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// Fails when the file cannot be read or is not a supported capture.
    pub fn open(path: &Path) -> Result<CaptureReader, OpenError> {
        let name = path.display().to_string();
        open::file(path)
            .map(|opened| CaptureReader::new(&name, opened))
            .map_err(|cause| OpenError { name, cause })
    }

    /// Reads a capture from `input`; `name` is used in messages.
    ///
    /// # Errors
    /// Fails when the input cannot be read or is not a supported capture.
    pub fn from_reader(input: Box<dyn Read + Send>, name: &str) -> Result<CaptureReader, OpenError> {
        match open::any(input, name, None) {
            Ok(opened) => Ok(CaptureReader::new(name, opened)),
            Err(cause) => Err(OpenError { name: name.to_string(), cause }),
        }
    }

    /// Reads several files in this order as one capture called `name`. All but the first are opened when
    /// reading reaches them; a file that cannot be opened is reported as damage.
    ///
    /// # Errors
    /// Fails when the first file cannot be read or is not a supported capture.
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

    /// Sets a filter: only matching packets are returned, the others are counted.
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

    /// Appends the TCP packets, ICMP reports and UDP datagrams of the next few dozen records, which may
    /// contain none. Returns `false` at the end, with nothing appended.
    pub fn fill(&mut self, batch: &mut Batch) -> bool {
        if self.done {
            return false;
        }
        let (packets, reports, datagrams) = (batch.packets.len(), batch.reports.len(), batch.datagrams.len());
        self.records(batch);
        if !self.filter.is_empty() {
            self.left_out += self.filter.apply(self.first, batch, packets, reports);
            self.filter.apply_to_datagrams(self.first, &mut batch.datagrams, datagrams);
        }
        true
    }

    /// Reads the next records, unfiltered.
    fn records(&mut self, batch: &mut Batch) {
        for _ in 0..MAX_RECORDS_PER_FILL {
            let Some(record) = self.record() else {
                if self.next_file() {
                    continue;
                }
                self.done = true;
                return self.walker.give_up_fragments(None, batch);
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
        if self.fills.is_multiple_of(FILLS_PER_TIMEOUT_CHECK) {
            self.walker.give_up_fragments(Some(self.last), batch);
        }
    }

    /// Continues with the next of several files; `false` if there is none.
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

    /// The next record; `None` at the end of the file or at damage.
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

    /// Whether the file is compressed.
    pub fn is_packed(&self) -> bool {
        self.packing.is_some()
    }

    /// Bytes of the file read so far (slightly ahead of the returned packets), and the file's length, which
    /// is unknown for a pipe.
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.past.bytes + self.taken.load(Ordering::Relaxed), self.length)
    }

    /// Statistics of what has been read so far.
    pub fn info(&self) -> FileInfo {
        let tally = &self.walker.tally;
        let mut other = tally.others_found();
        if self.left_out > 0 {
            other.push(NamedCount { name: FILTERED_OUT, count: self.left_out });
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

    /// Names of the link types, without duplicates, since several numbers share a name.
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

    /// Dropped packets of all files.
    fn dropped(&self) -> Option<u64> {
        [self.past.dropped, self.format.dropped()].into_iter().flatten().reduce(u64::saturating_add)
    }
}
