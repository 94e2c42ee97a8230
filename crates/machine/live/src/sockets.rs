//! Samples of each socket from its first sight to its end. Memory is bounded: for a long-lived socket every
//! second sample is dropped repeatedly; of many ended sockets those with the most bytes are kept.

use crate::recent::{Reading, Recent};
use crate::sample::sample;
use linux::sock_diag::{Sock, SocketId, SocketMemory};
use linux::tcp_info::{BbrInfo, TcpInfo};
use result::diagnosis::SocketSample;
use result::watch::{SocketProcess, WatchedConnection};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use units::Time;

/// Maximum number of samples per socket.
pub const MAX_SAMPLES: usize = 256;
/// Minimum number of samples per socket, enough for a start, an end and some between.
const MIN_SAMPLES: usize = 16;
/// Maximum number of samples of all sockets: some 5 MB.
const MAX_TOTAL_SAMPLES: usize = 1 << 16;
/// Maximum number of ended sockets to keep.
pub const MAX_ENDED_SOCKETS: usize = 4096;
/// Maximum number of sockets that ended since the last report and are in the next one.
const MAX_ENDED_IN_REPORT: usize = 1 << 15;
/// Maximum number of open sockets that are in reports: some 60 MB with their states. The others are counted.
const MAX_IN_REPORT: usize = 1 << 15;
/// Number of searches after which a socket's process counts as unknown.
const MAX_SEARCHES: u8 = 2;
/// A connection that was first seen and has been busy for longer than since the last sampling, by more than
/// this, is older than it seems, µs.
const MAX_YOUNG_US: u64 = 200_000;

/// The moment of a report, by two clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment {
    /// Time since 1970, as packets have.
    pub wall: Time,
    /// Time since the capture began, by a clock that is never set.
    pub elapsed: Time,
}

/// State that a [`SocketTable`] keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// Samples, and sockets that have ended: for the diagnosis at the end.
    pub history: bool,
    /// The readings of the last minute: for reports.
    pub recent: bool,
}

/// A socket from its first sight to its end, or until now.
#[derive(Clone, Debug)]
pub struct SocketLife {
    pub local: SocketAddr,
    pub remote: SocketAddr,
    pub control: String,
    /// Latest `tcp_info`.
    pub info: TcpInfo,
    /// Highest delivery rate of all samples, bytes per second.
    pub fastest: Option<u64>,
    /// BBR's model, if that is the congestion control.
    pub bbr: Option<BbrInfo>,
    /// Latest reported memory use.
    pub memory: Option<SocketMemory>,
    /// Samples in order of time.
    pub samples: Vec<SocketSample>,
    pub ended: bool,
}

impl SocketLife {
    fn new(sock: &Sock) -> SocketLife {
        SocketLife {
            local: sock.local,
            remote: sock.remote,
            control: sock.cc.clone(),
            info: sock.info,
            fastest: None,
            bbr: None,
            memory: None,
            samples: Vec::new(),
            ended: false,
        }
    }

    /// Returns the bytes sent and received.
    pub fn bytes(&self) -> u64 {
        self.info.bytes_acked + self.info.bytes_received
    }

    /// Adds a report at `now`, keeping at most `max_samples` samples.
    fn add(&mut self, sock: &Sock, sample: SocketSample, max_samples: usize) {
        // A closing socket reports no congestion control and possibly no counters.
        if sock.info.reported > 0 {
            self.info = sock.info;
            self.fastest = self.fastest.max(sock.info.delivery_rate);
            self.bbr = sock.info.bbr.or(self.bbr);
            if self.samples.len() >= max_samples {
                let mut i = 0;
                self.samples.retain(|_| {
                    i += 1;
                    i % 2 == 1
                });
                self.samples.shrink_to(max_samples);
            }
            if max_samples > 0 {
                // Memory for half as many again at most, because there may be thousands of sockets.
                if self.samples.len() == self.samples.capacity() {
                    self.samples.reserve_exact((self.samples.len() / 2).max(4));
                }
                self.samples.push(sample);
            }
        }
        if !sock.cc.is_empty() {
            self.control.clone_from(&sock.cc);
        }
        self.memory = sock.memory.or(self.memory);
    }
}

/// A socket that is tracked.
struct Tracked {
    id: SocketId,
    /// The newest inode that is not 0.
    inode: u32,
    life: SocketLife,
    recent: Option<Recent>,
    /// The pass in which it was reported last.
    pass: u32,
    /// Whether it was gone at the last sampling.
    is_missing: bool,
}

impl Tracked {
    fn new(sock: &Sock, recent: Option<Recent>) -> Tracked {
        let life = SocketLife::new(sock);
        Tracked { id: sock.id(), inode: sock.inode, life, recent, pass: 0, is_missing: false }
    }

    fn describe(&self) -> Option<WatchedConnection> {
        let life = &self.life;
        let control = Some(life.control.clone()).filter(|name| !name.is_empty());
        let mut described = self.recent.as_ref()?.describe((life.local, life.remote), &life.info);
        (described.control, described.ended) = (control, life.ended);
        Some(described)
    }
}

/// A row of a report before it is written out.
enum Row<'a> {
    Open(&'a Tracked, &'a Recent),
    Ended(&'a WatchedConnection),
}

impl Row<'_> {
    /// Bytes sent and received since the last report.
    fn last_bytes(&self) -> [u64; 2] {
        match self {
            Row::Open(_, recent) => recent.last_bytes(),
            Row::Ended(c) => [c.last_second.sent_bytes, c.last_second.received_bytes],
        }
    }

    /// The row's place: most bytes first.
    fn rank(&self) -> (Reverse<u64>, Reverse<u64>, SocketAddr, SocketAddr) {
        let (minute, local, remote) = match self {
            Row::Open(tracked, recent) => {
                (recent.minute_bytes().iter().sum(), tracked.life.local, tracked.life.remote)
            }
            Row::Ended(c) => (c.last_minute.sent_bytes + c.last_minute.received_bytes, c.local, c.remote),
        };
        (Reverse(self.last_bytes().iter().sum()), Reverse(minute), local, remote)
    }

    fn describe(&self) -> Option<WatchedConnection> {
        match self {
            Row::Open(tracked, _) => tracked.describe(),
            Row::Ended(c) => Some((*c).clone()),
        }
    }
}

/// The activity of the sockets since the last report.
#[derive(Debug, Default)]
pub struct SocketReport {
    /// The connections with the most bytes, most first.
    pub connections: Vec<WatchedConnection>,
    /// Number of all connections.
    pub count: u64,
    /// Bytes that all of them sent and received.
    pub bytes: [u64; 2],
}

/// Sockets that are tracked, and those that have ended.
#[derive(Default)]
pub struct SocketTable {
    keep: Keep,
    open: BTreeMap<u64, Box<Tracked>>,
    ended: Vec<SocketLife>,
    forgotten: u64,
    /// Sockets that ended since the last report, as of their end.
    ended_since_report: Vec<WatchedConnection>,
    /// Number of further such sockets.
    omitted: u64,
    /// Number of the current pass over all sockets.
    pass: u32,
    /// Time of the last [`SocketTable::finish_pass`]: sockets that appear later were opened later.
    last_pass: Option<Time>,
}

impl SocketTable {
    /// Makes an empty table. With `all_are_new` no socket was open before the capture began.
    pub fn new(keep: Keep, all_are_new: bool) -> SocketTable {
        SocketTable { keep, last_pass: all_are_new.then_some(Time::ZERO), ..SocketTable::default() }
    }

    /// Adds a socket's report. Returns whether the socket is new.
    pub fn update(&mut self, sock: &Sock, now: Moment) -> bool {
        let max_samples = match self.keep.history {
            true => (MAX_TOTAL_SAMPLES / (self.open.len() + self.ended.len()).max(1))
                .clamp(MIN_SAMPLES, MAX_SAMPLES),
            false => 0,
        };
        let sample = sample(&sock.info, sock.memory, now.wall);
        let keeps_recent = self.keep.recent && self.open.len() < MAX_IN_REPORT;
        let last_pass = self.last_pass;
        let mut new = false;
        let tracked = self.open.entry(sock.cookie).or_insert_with(|| {
            new = true;
            let first = || first_reading(sock, &sample, now.elapsed, last_pass);
            let recent = keeps_recent.then(|| Recent::new(first()));
            Box::new(Tracked::new(sock, recent))
        });
        (tracked.is_missing, tracked.pass) = (false, self.pass);
        if sock.inode != 0 {
            tracked.inode = sock.inode;
        }
        if let Some(recent) = tracked.recent.as_mut().filter(|_| sock.info.reported > 0) {
            recent.add(sock, &sample, now.elapsed);
        }
        tracked.life.add(sock, sample, max_samples);
        new
    }

    /// Begins a pass in which all existing sockets are reported.
    pub fn begin_pass(&mut self) {
        self.pass = self.pass.wrapping_add(1);
    }

    /// Returns the cookies of the sockets that were not reported in this pass.
    pub fn not_reported(&self) -> Vec<u64> {
        self.open.values().filter(|t| t.pass != self.pass).map(|t| t.id.cookie).collect()
    }

    /// Records that all existing sockets have been seen.
    pub fn finish_pass(&mut self, elapsed: Time) {
        self.last_pass = Some(elapsed);
    }

    /// Adds a socket's final report. Returns its ends if it was tracked. With `counts_all`, one that was
    /// opened and closed between two samplings is in the next report.
    pub fn record_end(
        &mut self,
        sock: &Sock,
        now: Moment,
        counts_all: bool,
    ) -> Option<(SocketAddr, SocketAddr)> {
        if self.open.contains_key(&sock.cookie) {
            self.update(sock, now);
            return self.remove(sock.cookie);
        }
        let was_open = self.last_pass.is_some() && sock.info.reported > 0;
        if counts_all && self.keep.recent && was_open {
            let sample = sample(&sock.info, sock.memory, now.wall);
            let mut recent = Recent::new(first_reading(sock, &sample, now.elapsed, self.last_pass));
            recent.add(sock, &sample, now.elapsed);
            let mut ended = Tracked::new(sock, Some(recent));
            ended.life.ended = true;
            self.report_end(ended.describe());
        }
        None
    }

    /// Notes that a socket was gone at a sampling. Its final report may still come, so it is removed only if
    /// it was gone at the sampling before too. Returns its ends in that case.
    pub fn miss(&mut self, cookie: u64) -> Option<(SocketAddr, SocketAddr)> {
        let tracked = self.open.get_mut(&cookie)?;
        if std::mem::replace(&mut tracked.is_missing, true) { self.remove(cookie) } else { None }
    }

    /// Keeps an ended socket for the next report.
    fn report_end(&mut self, described: Option<WatchedConnection>) {
        match described {
            Some(described) if self.ended_since_report.len() < MAX_ENDED_IN_REPORT => {
                self.ended_since_report.push(described);
            }
            Some(_) => self.omitted += 1,
            None => {}
        }
    }

    /// Removes a socket that no longer exists. Returns its ends if it was tracked.
    fn remove(&mut self, cookie: u64) -> Option<(SocketAddr, SocketAddr)> {
        let mut tracked = self.open.remove(&cookie)?;
        tracked.life.ended = true;
        let ends = (tracked.life.local, tracked.life.remote);
        self.report_end(tracked.describe());
        if self.keep.history {
            self.ended.push(tracked.life);
        }
        if self.ended.len() > MAX_ENDED_SOCKETS + MAX_ENDED_SOCKETS / 4 {
            self.ended.select_nth_unstable_by_key(MAX_ENDED_SOCKETS, |life| Reverse(life.bytes()));
            self.forgotten += (self.ended.len() - MAX_ENDED_SOCKETS) as u64;
            self.ended.truncate(MAX_ENDED_SOCKETS);
        }
        Some(ends)
    }

    /// Describes the sockets that are open or have ended since the last report: all, or those with the most
    /// bytes.
    pub fn describe(&self, max: Option<usize>) -> SocketReport {
        let open = self.open.values().filter_map(|t| Some(Row::Open(t, t.recent.as_ref()?)));
        let mut rows: Vec<Row<'_>> = open.chain(self.ended_since_report.iter().map(Row::Ended)).collect();
        let bytes = rows.iter().map(Row::last_bytes).fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
        if let Some(max) = max.filter(|max| *max < rows.len()) {
            rows.select_nth_unstable_by_key(max, Row::rank);
            rows.truncate(max);
        }
        rows.sort_by_cached_key(Row::rank);
        let count = (self.open.len() + self.ended_since_report.len()) as u64 + self.omitted;
        SocketReport { connections: rows.iter().filter_map(Row::describe).collect(), count, bytes }
    }

    /// Begins the time of the next report.
    pub fn advance(&mut self) {
        self.open.values_mut().filter_map(|tracked| tracked.recent.as_mut()).for_each(Recent::advance);
        self.ended_since_report.clear();
        self.omitted = 0;
    }

    /// Whether a socket's process should be searched for.
    pub fn needs_owners(&self) -> bool {
        let unknown = |recent: &Recent| recent.process.is_none() && recent.searches < MAX_SEARCHES;
        self.open.values().any(|t| t.inode != 0 && t.recent.as_ref().is_some_and(unknown))
    }

    /// Gives sockets their processes; `owner` finds one by a socket's inode.
    pub fn set_owners(&mut self, mut owner: impl FnMut(u32) -> Option<SocketProcess>) {
        for tracked in self.open.values_mut().filter(|t| t.inode != 0) {
            let Some(recent) = &mut tracked.recent else { continue };
            if recent.process.is_none() && recent.searches < MAX_SEARCHES {
                recent.process = owner(tracked.inode);
                recent.searches += 1;
            }
        }
    }

    /// Whether a socket is tracked.
    pub fn is_tracked(&self, cookie: u64) -> bool {
        self.open.contains_key(&cookie)
    }

    /// Returns the inodes of tracked sockets.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        self.open.values().map(|tracked| tracked.inode)
    }

    /// Returns the tracked sockets.
    pub fn open(&self) -> impl Iterator<Item = SocketId> {
        self.open.values().map(|tracked| tracked.id)
    }

    /// Returns the number of tracked sockets.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns all sockets, and the number of forgotten ones.
    pub fn finish(self) -> (Vec<SocketLife>, u64) {
        let open = self.open.into_values().map(|tracked| tracked.life);
        (self.ended.into_iter().chain(open).collect(), self.forgotten)
    }
}

/// Returns the counters from which a new socket's periods begin: 0 if it was opened since the last sampling,
/// otherwise the current ones, because what it did before does not belong to the watched time.
fn first_reading(sock: &Sock, sample: &SocketSample, now: Time, last_pass: Option<Time>) -> Reading {
    let busy_us = sample.times_us.map_or(0, |[busy, ..]| busy);
    match last_pass {
        Some(last) if busy_us <= now.since(last).as_nanos() / 1000 + MAX_YOUNG_US => Reading::zero(last),
        _ => Reading::of(sock, sample, now, &Reading::zero(now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP_ALL: Keep = Keep { history: true, recent: true };

    fn at(ns: u64) -> Moment {
        Moment { wall: Time::from_nanos(ns), elapsed: Time::from_nanos(ns) }
    }

    fn sock(cookie: u64, acked: u64) -> Sock {
        let info =
            TcpInfo { reported: 248, bytes_acked: acked, delivery_rate: Some(1), ..TcpInfo::default() };
        let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let (local, remote) = (end(cookie as u16), end(443));
        Sock { cookie, inode: cookie as u32, state: 1, local, remote, info, cc: "bbr".into(), memory: None }
    }

    #[test]
    fn a_long_lived_socket_keeps_its_first_and_last_sample() {
        let mut table = SocketTable::new(KEEP_ALL, false);
        for i in 0..10_000 {
            assert_eq!(table.update(&sock(7, i), at(i)), i == 0);
        }
        let last = Sock {
            info: TcpInfo { bytes_acked: 10_000, ..sock(7, 0).info },
            cc: String::new(),
            ..sock(7, 0)
        };
        assert!(table.record_end(&last, at(10_000), false).is_some());
        assert!(table.record_end(&last, at(0), false).is_none(), "it ended");
        let (lives, forgotten) = table.finish();
        let samples = &lives[0].samples;
        assert!((MAX_SAMPLES / 2..=MAX_SAMPLES).contains(&samples.len()), "{}", samples.len());
        assert_eq!((samples[0].acked, samples[samples.len() - 1].acked), (0, 10_000));
        assert!(samples.windows(2).all(|s| s[0].at < s[1].at));
        assert_eq!((lives[0].control.as_str(), lives[0].ended, forgotten), ("bbr", true, 0));
    }

    #[test]
    fn the_sockets_with_the_most_bytes_are_kept() {
        let mut table = SocketTable::new(KEEP_ALL, false);
        let all = 3 * MAX_ENDED_SOCKETS as u64;
        for i in 1..=all {
            table.update(&sock(i, i), at(0));
            table.remove(i);
        }
        let (lives, forgotten) = table.finish();
        assert!(lives.len() <= MAX_ENDED_SOCKETS + MAX_ENDED_SOCKETS / 4);
        assert_eq!(lives.len() as u64 + forgotten, all);
        assert!(
            lives.iter().any(|l| l.bytes() == all)
                && lives.iter().all(|l| l.bytes() > MAX_ENDED_SOCKETS as u64)
        );
    }

    #[test]
    fn bytes_count_from_the_opening_if_it_was_watched() {
        let second = 1_000_000_000;
        let sent = |all_are_new: bool| {
            let mut table = SocketTable::new(KEEP_ALL, all_are_new);
            table.update(&sock(1, 5_000), at(second));
            table.finish_pass(at(second).elapsed);
            table.update(&sock(1, 6_000), at(2 * second));
            table.update(&sock(2, 700), at(2 * second));
            // Its busy time is longer than it can have been open.
            let old = TcpInfo { busy_us: 9_000_000, ..sock(3, 80).info };
            table.update(&Sock { info: old, ..sock(3, 80) }, at(2 * second));
            let report = table.describe(None);
            assert_eq!(report.count, 3);
            let sent: Vec<u64> = report.connections.iter().map(|c| c.last_second.sent_bytes).collect();
            assert_eq!(report.bytes, [sent.iter().sum(), 0]);
            sent
        };
        assert_eq!(sent(false), [1_000, 700, 0]);
        assert_eq!(sent(true), [6_000, 700, 0]);
    }

    #[test]
    fn a_short_report_has_the_connections_with_the_most_bytes_and_counts_all() {
        let mut table = SocketTable::new(Keep { history: false, recent: true }, true);
        (1..=9).for_each(|i| _ = table.update(&sock(i, 100 * (i % 5)), at(1)));
        table.record_end(&sock(9, 900), at(2), true);
        let whole = table.describe(None);
        assert_eq!((whole.connections.len(), whole.count), (9, 9));
        for max in [0, 1, 3, 9, 20] {
            let report = table.describe(Some(max));
            assert_eq!(report.connections[..], whole.connections[..max.min(9)], "{max}");
            assert_eq!((report.count, report.bytes), (9, whole.bytes), "{max}");
        }
        assert_eq!((whole.bytes, whole.connections[0].ended), ([2_500, 0], true));
    }

    #[test]
    fn a_socket_is_missed_in_the_passes_that_do_not_report_it() {
        let mut table = SocketTable::new(KEEP_ALL, true);
        table.begin_pass();
        (1..=3).for_each(|i| _ = table.update(&sock(i, 1), at(1)));
        assert!(table.not_reported().is_empty());
        table.begin_pass();
        table.update(&sock(2, 1), at(2));
        assert_eq!(table.not_reported(), [1, 3]);
    }

    #[test]
    fn a_socket_that_ends_is_in_the_next_report_only() {
        let mut table = SocketTable::new(Keep { history: false, recent: true }, true);
        table.update(&sock(1, 5_000), at(1));
        table.advance();
        table.record_end(&sock(1, 9_000), at(2), true);
        let all = table.describe(None).connections;
        assert_eq!((all.len(), all[0].ended, all[0].last_second.sent_bytes), (1, true, 4_000));
        table.advance();
        assert!(table.describe(None).connections.is_empty());
        assert!(table.finish().0.is_empty(), "no history is kept");
    }

    #[test]
    fn a_socket_is_counted_once_however_its_end_is_seen() {
        let sent = |table: &SocketTable| -> u64 {
            table.describe(None).connections.iter().map(|c| c.last_second.sent_bytes).sum()
        };
        let keep = Keep { history: false, recent: true };
        let mut table = SocketTable::new(keep, true);
        table.update(&sock(1, 5_000), at(1));
        // Gone at a sampling, and then its final report.
        assert_eq!((table.miss(1), table.len()), (None, 1));
        assert!(table.record_end(&sock(1, 9_000), at(2), true).is_some());
        assert_eq!((sent(&table), table.len()), (9_000, 0));
        // Gone without a final report.
        table.update(&sock(2, 50), at(3));
        assert!(table.miss(2).is_none() && table.miss(2).is_some() && table.miss(2).is_none());
        assert_eq!(sent(&table), 9_050);
        // Opened and closed between two samplings.
        assert!(table.record_end(&sock(3, 7), at(4), false).is_none());
        assert!(table.record_end(&sock(4, 6), at(4), true).is_none());
        assert_eq!(sent(&table), 9_056);
        // Nothing is known of what ended before the first sampling.
        let mut table = SocketTable::new(keep, false);
        table.record_end(&sock(5, 7), at(1), true);
        assert_eq!(sent(&table), 0);
    }

    #[test]
    fn a_process_is_searched_for_a_limited_number_of_times() {
        let mut table = SocketTable::new(KEEP_ALL, true);
        table.update(&sock(1, 1), at(1));
        table.update(&sock(2, 1), at(1));
        table.update(&Sock { inode: 0, ..sock(3, 1) }, at(1));
        let mut searched = Vec::new();
        while table.needs_owners() {
            table.set_owners(|inode| {
                searched.push(inode);
                (inode == 1).then(|| SocketProcess { pid: 4711, name: "curl".into() })
            });
        }
        assert_eq!(searched, [1, 2, 2]);
        let names: Vec<_> =
            table.describe(None).connections.into_iter().map(|c| c.process.map(|p| p.pid)).collect();
        assert_eq!(names, [Some(4711), None, None]);
    }
}
