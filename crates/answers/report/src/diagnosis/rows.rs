//! Packets for the page, in bounded memory. Which flows the page will show is known only at the capture's
//! end, so every flow keeps some packets. When there are too many, the small flows give up all of theirs and
//! the large flows every second one.

use result::FlowDiagnosis;
use std::collections::BTreeMap;
use track::{PackedBytes, PackedSpan, PacketKind, PacketRecorder, PacketRow};

/// Rows kept of all flows together: about 24 MB of memory, and a page of about 6 MB.
pub const MAX_ROWS: usize = 1_000_000;
/// Flows kept at a time; a port scan opens millions.
const MAX_FLOWS: usize = 1 << 16;
/// Flows that keep their rows when memory is short, per flow shown: a flow may still overtake larger ones.
const CANDIDATES_PER_SHOWN: usize = 8;
/// Thinning does not halve lists shorter than this.
const MIN_ROWS: usize = 64;
/// TCP's ACK flag.
const ACK_FLAG: u8 = 0x10;

/// A data packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SentRow {
    pub time: u64,
    /// Bytes sent up to here.
    pub end: u64,
    pub inflight: u32,
}

/// A received ACK.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AckRow {
    pub time: u64,
    /// Bytes acknowledged up to here.
    pub end: u64,
    /// The receive window, bytes.
    pub window: PackedBytes,
    pub rtt: PackedSpan,
}

/// A retransmitted or reordered packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ResentRow {
    pub time: u64,
    pub byte: u64,
    pub len: u32,
    pub kind: PacketKind,
}

/// Every `every`-th of the rows pushed, and the last one.
#[derive(Debug)]
pub(super) struct ThinnedRows<T> {
    rows: Vec<T>,
    last: Option<T>,
    pub every: u64,
    seen: u64,
}

impl<T> Default for ThinnedRows<T> {
    fn default() -> ThinnedRows<T> {
        ThinnedRows { rows: Vec::new(), last: None, every: 1, seen: 0 }
    }
}

impl<T: Copy + PartialEq> ThinnedRows<T> {
    /// Adds a row, and returns whether the list became longer.
    fn push(&mut self, row: T) -> bool {
        let is_kept = self.seen % self.every == 0;
        self.seen += 1;
        self.last = (!is_kept).then_some(row);
        if is_kept {
            self.rows.push(row);
        }
        is_kept
    }

    /// Removes every second row.
    fn halve(&mut self) {
        let mut i = 0;
        let last = self.rows.last().copied();
        self.rows.retain(|_| {
            i += 1;
            i % 2 == 1
        });
        if self.last.is_none() && self.rows.last().copied() != last {
            self.last = last;
        }
        self.rows.shrink_to_fit();
        self.every *= 2;
    }

    /// The rows in the order of time.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.rows.iter().chain(&self.last)
    }
}

/// The rows kept of a flow.
#[derive(Debug, Default)]
pub(super) struct KeptRows {
    pub sent: ThinnedRows<SentRow>,
    pub acked: ThinnedRows<AckRow>,
    pub again: ThinnedRows<ResentRow>,
    /// Rows before the first one here were dropped.
    pub late: bool,
    bytes: u64,
    /// Latest time so far: kept times never run backwards.
    time: u64,
    end: u64,
    ack: u64,
}

impl KeptRows {
    fn rows(&self) -> usize {
        self.sent.rows.len() + self.acked.rows.len() + self.again.rows.len()
    }

    fn clear(&mut self) {
        (self.sent, self.acked, self.again) = Default::default();
        self.late = true;
    }

    fn data(&mut self, row: &PacketRow) -> usize {
        self.time = self.time.max(row.time.as_nanos());
        let time = self.time;
        self.end = self.end.max(row.seq.saturating_add(row.len.into()));
        let mut added = self.sent.push(SentRow { time, end: self.end, inflight: row.inflight }) as usize;
        if row.kind == PacketKind::Data {
            self.bytes += u64::from(row.len);
        } else {
            added +=
                self.again.push(ResentRow { time, byte: row.seq, len: row.len, kind: row.kind }) as usize;
        }
        added
    }

    fn ack(&mut self, row: &PacketRow) -> usize {
        self.time = self.time.max(row.time.as_nanos());
        self.ack = self.ack.max(row.ack);
        let (window, rtt) = (row.window.into(), row.rtt.into());
        let acked = AckRow { time: self.time, end: self.ack, window, rtt };
        self.acked.push(acked) as usize
    }
}

/// Collects the packets that a page shows while a capture is read.
#[derive(Debug)]
pub struct Rows {
    flows: BTreeMap<u32, KeptRows>,
    /// If not empty, only these flows are kept.
    wanted: Vec<u32>,
    /// Flows that the page shows with their packets.
    shown: usize,
    max_rows: usize,
    total: usize,
    /// Flows were forgotten, so a flow that seems new may have earlier packets.
    has_forgotten: bool,
}

impl Rows {
    /// Keeps at most `max_rows` rows ([`MAX_ROWS`]) for a page of the `shown` flows with most bytes; if
    /// `wanted` names flows, only theirs.
    pub fn new(shown: usize, wanted: &[u32], max_rows: usize) -> Rows {
        let shown = if wanted.is_empty() { shown } else { wanted.len() };
        Rows {
            flows: BTreeMap::new(),
            wanted: wanted.into(),
            shown,
            max_rows,
            total: 0,
            has_forgotten: false,
        }
    }

    /// The rows kept of a flow; `None` without any.
    pub(super) fn of(&self, flow: u32) -> Option<&KeptRows> {
        self.flows.get(&flow).filter(|kept| kept.rows() > 0)
    }

    /// The number of flows with packets on the page.
    pub(super) fn shown(&self) -> usize {
        self.shown
    }

    /// Starts to keep rows of a flow, if it is wanted.
    fn start(&mut self, flow: u32) {
        if self.flows.contains_key(&flow) || !(self.wanted.is_empty() || self.wanted.contains(&flow)) {
            return;
        }
        if self.flows.len() >= MAX_FLOWS {
            self.keep_largest(MAX_FLOWS / 2);
            self.flows.retain(|_, kept| kept.rows() > 0);
            self.has_forgotten = true;
        }
        self.flows.insert(flow, KeptRows { late: self.has_forgotten, ..KeptRows::default() });
    }

    /// Drops the rows of all but the `n` largest flows.
    fn keep_largest(&mut self, n: usize) {
        let mut sizes: Vec<(u64, u32)> = self.flows.iter().map(|(id, kept)| (kept.bytes, *id)).collect();
        sizes.sort_unstable_by_key(|&(bytes, id)| (std::cmp::Reverse(bytes), id));
        for (_, id) in sizes.into_iter().skip(n) {
            if let Some(kept) = self.flows.get_mut(&id).filter(|kept| kept.rows() > 0) {
                self.total -= kept.rows();
                kept.clear();
            }
        }
    }

    /// Drops rows until a quarter of the memory is free.
    fn thin(&mut self) {
        let goal = self.max_rows - self.max_rows / 4;
        // At most the number of flows that fit when each is thinned to the minimum.
        self.keep_largest(
            (CANDIDATES_PER_SHOWN * self.shown).max(MIN_ROWS).min(self.max_rows / (4 * MIN_ROWS)),
        );
        while self.total > goal {
            let longest = |kept: &KeptRows| kept.sent.rows.len().max(kept.acked.rows.len());
            let Some(largest) = self.flows.values_mut().max_by_key(|kept| longest(kept)) else { break };
            let before = largest.rows();
            if largest.sent.rows.len() >= MIN_ROWS || largest.acked.rows.len() >= MIN_ROWS {
                if largest.sent.rows.len() >= MIN_ROWS {
                    largest.sent.halve();
                }
                if largest.acked.rows.len() >= MIN_ROWS {
                    largest.acked.halve();
                }
                self.total -= before - largest.rows();
                continue;
            }
            // Only retransmissions are left to thin.
            let Some(largest) = self.flows.values_mut().max_by_key(|kept| kept.again.rows.len()) else {
                break;
            };
            if largest.again.rows.len() < MIN_ROWS {
                break;
            }
            let before = largest.rows();
            largest.again.halve();
            self.total -= before - largest.rows();
        }
    }
}

impl PacketRecorder for Rows {
    fn row(&mut self, row: &PacketRow) {
        let own = FlowDiagnosis::number(row.connection, row.from_opener);
        let other = FlowDiagnosis::number(row.connection, !row.from_opener);
        if row.len > 0 {
            self.start(own);
            self.total += self.flows.get_mut(&own).map_or(0, |kept| kept.data(row));
        }
        if row.flags & ACK_FLAG != 0 {
            // ACKs count only for a flow that has sent data.
            self.total += self.flows.get_mut(&other).map_or(0, |kept| kept.ack(row));
        }
        if self.total > self.max_rows {
            self.thin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    fn data(connection: u32, i: u64, kind: PacketKind) -> PacketRow {
        let time = Time::from_nanos(1_000_000 * i);
        PacketRow {
            connection,
            from_opener: true,
            time,
            seq: i * 1000,
            len: 1000,
            kind,
            inflight: i as u32,
            flags: ACK_FLAG,
            ..PacketRow::default()
        }
    }

    fn ack(connection: u32, i: u64) -> PacketRow {
        PacketRow {
            connection,
            time: Time::from_nanos(1_000_000 * i + 500),
            ack: i * 1000,
            flags: ACK_FLAG,
            window: Some(65_535),
            ..PacketRow::default()
        }
    }

    #[test]
    fn all_rows_are_kept_below_the_limit() {
        let mut rows = Rows::new(8, &[], 1000);
        for i in 0..100 {
            rows.row(&data(0, i, if i % 10 == 9 { PacketKind::Fast } else { PacketKind::Data }));
            rows.row(&ack(0, i));
        }
        let kept = rows.of(0).unwrap();
        assert_eq!(
            (kept.sent.iter().count(), kept.acked.iter().count(), kept.again.iter().count()),
            (100, 100, 10)
        );
        assert_eq!(kept.sent.iter().last(), Some(&SentRow { time: 99_000_000, end: 100_000, inflight: 99 }));
        assert!(rows.of(1).is_none(), "the other direction sends nothing");
        assert!(!kept.late && kept.sent.every == 1);
    }

    #[test]
    fn a_long_flow_is_thinned_evenly_and_keeps_its_retransmissions_and_its_end() {
        let mut rows = Rows::new(8, &[], 1000);
        let n = 100_001;
        for i in 0..n {
            rows.row(&data(0, i, if i % 1000 == 999 { PacketKind::Timeout } else { PacketKind::Data }));
            rows.row(&ack(0, i));
            assert!(rows.total <= 1000);
        }
        let kept = rows.of(0).unwrap();
        assert_eq!(kept.again.iter().count(), 100);
        assert_eq!(rows.total, kept.rows());
        let times: Vec<u64> = kept.sent.iter().map(|s| s.time / 1_000_000).collect();
        assert_eq!(*times.last().unwrap(), n - 1);
        let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let (last, gaps) = gaps.split_last().unwrap();
        assert!(gaps.iter().all(|g| *g == kept.sent.every) && *last <= kept.sent.every, "{gaps:?}");
        assert!(kept.sent.rows.len() > 200, "{}", kept.sent.rows.len());
    }

    #[test]
    fn small_flows_give_way_to_large_ones_and_late_flows_are_marked() {
        let mut rows = Rows::new(1, &[], 2000);
        for i in 0..50 {
            (0..100).for_each(|connection| rows.row(&data(connection, i, PacketKind::Data)));
        }
        for i in 50..500 {
            rows.row(&data(99, i, PacketKind::Data));
        }
        let large = rows.of(2 * 99).unwrap();
        assert!(
            rows.total <= 2000 && large.sent.iter().count() >= 400,
            "{} {}",
            rows.total,
            large.sent.rows.len()
        );
        assert!(rows.flows.values().any(|kept| kept.late));
    }

    #[test]
    fn only_wanted_flows_are_kept() {
        let mut rows = Rows::new(8, &[6], 1000);
        (0..10).for_each(|connection| rows.row(&data(connection, 0, PacketKind::Data)));
        assert!(rows.of(6).is_some() && rows.of(0).is_none() && rows.flows.len() == 1);
    }

    #[test]
    fn retransmissions_alone_are_bounded_too_and_time_never_runs_backwards() {
        let mut rows = Rows::new(1, &[], 1000);
        for i in 0..20_000 {
            rows.row(&data(0, 20_000 - i, PacketKind::Fast));
            assert!(rows.total <= 1001);
        }
        let times: Vec<u64> = rows.of(0).unwrap().again.iter().map(|a| a.time).collect();
        assert!(times.is_sorted() && rows.of(0).unwrap().again.every > 1);
    }

    #[test]
    fn a_port_scan_takes_little_memory() {
        let mut rows = Rows::new(8, &[], 1000);
        (0..200_000).for_each(|connection| rows.row(&data(connection, 0, PacketKind::Data)));
        assert!(rows.flows.len() <= MAX_FLOWS && rows.total <= 1000);
    }
}
