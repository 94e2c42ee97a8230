//! Packets for the page, in bounded memory: which flows it will show is known only at the capture's end, so every flow
//! keeps some, and when there are too many the small flows give theirs up and the large ones every second.

use result::FlowDiagnosis;
use std::collections::BTreeMap;
use track::{PackedBytes, PackedSpan, PacketKind, PacketRecorder, PacketRow};

/// The most rows kept, of all flows together: some 24 MB here, and a page of some 6 MB.
pub const MOST_ROWS: usize = 1_000_000;
/// Flows known by name at a time; a scan of ports opens millions.
const MOST_FLOWS: usize = 1 << 16;
/// When room is short, so many times the flows shown keep theirs: a flow may still overtake others.
const CANDIDATES: usize = 8;
/// No list is thinned below this.
const LEAST: usize = 64;
/// TCP's ACK flag.
const ACK: u8 = 0x10;

/// Data that left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SentRow {
    pub time: u64,
    /// All up to here was sent.
    pub end: u64,
    pub inflight: u32,
}

/// An ACK that came back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Acked {
    pub time: u64,
    /// All up to here is acknowledged.
    pub end: u64,
    /// The receive window, bytes.
    pub window: PackedBytes,
    pub rtt: PackedSpan,
}

/// What was sent again or came late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ResentRow {
    pub time: u64,
    pub byte: u64,
    pub len: u32,
    pub kind: PacketKind,
}

/// Every `every`-th of the rows that came, and the last.
#[derive(Debug)]
pub(super) struct Strand<T> {
    rows: Vec<T>,
    last: Option<T>,
    pub every: u64,
    seen: u64,
}

impl<T> Default for Strand<T> {
    fn default() -> Strand<T> {
        Strand { rows: Vec::new(), last: None, every: 1, seen: 0 }
    }
}

impl<T: Copy + PartialEq> Strand<T> {
    /// Whether it took a row more.
    fn push(&mut self, row: T) -> bool {
        let taken = self.seen % self.every == 0;
        self.seen += 1;
        self.last = (!taken).then_some(row);
        if taken {
            self.rows.push(row);
        }
        taken
    }

    /// Leaves out every second.
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

    /// In their order.
    pub fn all(&self) -> impl Iterator<Item = &T> + Clone {
        self.rows.iter().chain(&self.last)
    }
}

/// What is kept of a flow.
#[derive(Debug, Default)]
pub(super) struct KeptRows {
    pub sent: Strand<SentRow>,
    pub acked: Strand<Acked>,
    pub again: Strand<ResentRow>,
    /// Rows before the first of these were given up.
    pub late: bool,
    bytes: u64,
    /// Time never runs backwards in what is kept.
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
        let mut taken = self.sent.push(SentRow { time, end: self.end, inflight: row.inflight }) as usize;
        if row.kind == PacketKind::Data {
            self.bytes += u64::from(row.len);
        } else {
            taken +=
                self.again.push(ResentRow { time, byte: row.seq, len: row.len, kind: row.kind }) as usize;
        }
        taken
    }

    fn ack(&mut self, row: &PacketRow) -> usize {
        self.time = self.time.max(row.time.as_nanos());
        self.ack = self.ack.max(row.ack);
        let (window, rtt) = (row.window.into(), row.rtt.into());
        let acked = Acked { time: self.time, end: self.ack, window, rtt };
        self.acked.push(acked) as usize
    }
}

/// The packets that a page shows, gathered while a capture is read.
#[derive(Debug)]
pub struct Rows {
    flows: BTreeMap<u32, KeptRows>,
    /// Only these, where some are named.
    wanted: Vec<u32>,
    /// So many flows are shown.
    shown: usize,
    most: usize,
    total: usize,
    /// Flows were forgotten: those that are new now may not be.
    forgot: bool,
}

impl Rows {
    /// For a page of the `shown` flows with most bytes, or of those `wanted`; `most` rows ([`MOST_ROWS`]).
    pub fn new(shown: usize, wanted: &[u32], most: usize) -> Rows {
        let shown = if wanted.is_empty() { shown } else { wanted.len() };
        Rows { flows: BTreeMap::new(), wanted: wanted.into(), shown, most, total: 0, forgot: false }
    }

    /// What is kept of a flow.
    pub(super) fn of(&self, flow: u32) -> Option<&KeptRows> {
        self.flows.get(&flow).filter(|kept| kept.rows() > 0)
    }

    /// How many flows have packets on the page.
    pub(super) fn shown(&self) -> usize {
        self.shown
    }

    fn begins(&mut self, flow: u32) {
        if self.flows.contains_key(&flow) || !(self.wanted.is_empty() || self.wanted.contains(&flow)) {
            return;
        }
        if self.flows.len() >= MOST_FLOWS {
            self.keep(MOST_FLOWS / 2);
            self.flows.retain(|_, kept| kept.rows() > 0);
            self.forgot = true;
        }
        self.flows.insert(flow, KeptRows { late: self.forgot, ..KeptRows::default() });
    }

    /// Of all but the `n` largest flows nothing is kept.
    fn keep(&mut self, n: usize) {
        let mut sizes: Vec<(u64, u32)> = self.flows.iter().map(|(id, kept)| (kept.bytes, *id)).collect();
        sizes.sort_unstable_by_key(|&(bytes, id)| (std::cmp::Reverse(bytes), id));
        for (_, id) in sizes.into_iter().skip(n) {
            if let Some(kept) = self.flows.get_mut(&id).filter(|kept| kept.rows() > 0) {
                self.total -= kept.rows();
                kept.clear();
            }
        }
    }

    /// Room for a quarter more.
    fn thin(&mut self) {
        let goal = self.most - self.most / 4;
        // No more than fit when each is thinned to the least.
        self.keep((CANDIDATES * self.shown).max(LEAST).min(self.most / (4 * LEAST)));
        while self.total > goal {
            let of = |kept: &KeptRows| kept.sent.rows.len().max(kept.acked.rows.len());
            let Some(largest) = self.flows.values_mut().max_by_key(|kept| of(kept)) else { break };
            let before = largest.rows();
            if largest.sent.rows.len() >= LEAST || largest.acked.rows.len() >= LEAST {
                if largest.sent.rows.len() >= LEAST {
                    largest.sent.halve();
                }
                if largest.acked.rows.len() >= LEAST {
                    largest.acked.halve();
                }
                self.total -= before - largest.rows();
                continue;
            }
            // Nothing is left but retransmissions.
            let Some(largest) = self.flows.values_mut().max_by_key(|kept| kept.again.rows.len()) else {
                break;
            };
            if largest.again.rows.len() < LEAST {
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
            self.begins(own);
            self.total += self.flows.get_mut(&own).map_or(0, |kept| kept.data(row));
        }
        if row.flags & ACK != 0 {
            // Only of a flow that sends.
            self.total += self.flows.get_mut(&other).map_or(0, |kept| kept.ack(row));
        }
        if self.total > self.most {
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
            flags: ACK,
            ..PacketRow::default()
        }
    }

    fn ack(connection: u32, i: u64) -> PacketRow {
        PacketRow {
            connection,
            time: Time::from_nanos(1_000_000 * i + 500),
            ack: i * 1000,
            flags: ACK,
            window: Some(65_535),
            ..PacketRow::default()
        }
    }

    #[test]
    fn all_is_kept_while_there_is_room() {
        let mut rows = Rows::new(8, &[], 1000);
        for i in 0..100 {
            rows.row(&data(0, i, if i % 10 == 9 { PacketKind::Fast } else { PacketKind::Data }));
            rows.row(&ack(0, i));
        }
        let kept = rows.of(0).unwrap();
        assert_eq!(
            (kept.sent.all().count(), kept.acked.all().count(), kept.again.all().count()),
            (100, 100, 10)
        );
        assert_eq!(kept.sent.all().last(), Some(&SentRow { time: 99_000_000, end: 100_000, inflight: 99 }));
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
        assert_eq!(kept.again.all().count(), 100);
        assert_eq!(rows.total, kept.rows());
        let times: Vec<u64> = kept.sent.all().map(|s| s.time / 1_000_000).collect();
        assert_eq!(*times.last().unwrap(), n - 1);
        let gaps: Vec<u64> = times.windows(2).map(|w| w[1] - w[0]).collect();
        let (last, gaps) = gaps.split_last().unwrap();
        assert!(gaps.iter().all(|g| *g == kept.sent.every) && *last <= kept.sent.every, "{gaps:?}");
        assert!(kept.sent.rows.len() > 200, "{}", kept.sent.rows.len());
    }

    #[test]
    fn small_flows_give_way_to_large_ones_and_a_late_one_says_so() {
        let mut rows = Rows::new(1, &[], 2000);
        for i in 0..50 {
            (0..100).for_each(|connection| rows.row(&data(connection, i, PacketKind::Data)));
        }
        for i in 50..500 {
            rows.row(&data(99, i, PacketKind::Data));
        }
        let large = rows.of(2 * 99).unwrap();
        assert!(
            rows.total <= 2000 && large.sent.all().count() >= 400,
            "{} {}",
            rows.total,
            large.sent.rows.len()
        );
        assert!(rows.flows.values().any(|kept| kept.late));
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        let mut rows = Rows::new(8, &[6], 1000);
        (0..10).for_each(|connection| rows.row(&data(connection, 0, PacketKind::Data)));
        assert!(rows.of(6).is_some() && rows.of(0).is_none() && rows.flows.len() == 1);
    }

    #[test]
    fn nothing_but_retransmissions_is_bounded_too_and_time_never_runs_back() {
        let mut rows = Rows::new(1, &[], 1000);
        for i in 0..20_000 {
            rows.row(&data(0, 20_000 - i, PacketKind::Fast));
            assert!(rows.total <= 1001);
        }
        let times: Vec<u64> = rows.of(0).unwrap().again.all().map(|a| a.time).collect();
        assert!(times.is_sorted() && rows.of(0).unwrap().again.every > 1);
    }

    #[test]
    fn a_scan_of_ports_takes_no_memory_to_speak_of() {
        let mut rows = Rows::new(8, &[], 1000);
        (0..200_000).for_each(|connection| rows.row(&data(connection, 0, PacketKind::Data)));
        assert!(rows.flows.len() <= MOST_FLOWS && rows.total <= 1000);
    }
}
