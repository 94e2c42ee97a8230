//! Recent activity of a connection: differences of the counters that each sample of its socket contains.
//!
//! All counters are cumulative, so a period is the difference of two readings, however many samples lie
//! between them or were missed. A connection holds the readings of its last report and of the last minute,
//! one every [`MARK_INTERVAL`]: some 0.9 kB.

use linux::sock_diag::{Sock, SocketMemory};
use linux::tcp_info::TcpInfo;
use result::diagnosis::{SenderTime, SocketSample};
use result::watch::{Activity, SenderLimit, SocketProcess, WatchedConnection};
use std::collections::VecDeque;
use std::net::SocketAddr;
use units::{Span, Time};

/// Interval of the readings that the long period can begin at, so it is up to half of this longer or shorter
/// than a minute.
const MARK_INTERVAL: Span = Span::from_secs(10);
/// The long period begins at the newest reading that is at least this old.
const MIN_MINUTE: Span = Span::from_secs(55);

/// Counters of a socket at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Time since the capture began, by a clock that is never set.
    pub at: Time,
    /// As in [`SocketSample::times_us`].
    times_us: Option<[u64; 3]>,
    acked: u64,
    received: u64,
    segments: Option<u64>,
    retransmitted: u64,
    drops: Option<u32>,
    /// Number of samples for which [`SocketSample::waits_for_room`] is known, and holds.
    waiting: [u32; 2],
    /// Number of samples for which [`SocketSample::writes_little`] is known, and holds.
    little: [u32; 2],
}

impl Reading {
    /// The counters of a connection that has just been opened.
    pub fn zero(at: Time) -> Reading {
        let (times_us, segments, drops) = (Some([0; 3]), Some(0), Some(0));
        Reading { at, times_us, segments, drops, ..Reading::default() }
    }

    /// The counters in a socket's report. `before` is the previous reading.
    pub fn of(sock: &Sock, sample: &SocketSample, at: Time, before: &Reading) -> Reading {
        let count = |[known, holds]: [u32; 2], state: Option<bool>| {
            [known.wrapping_add(state.is_some().into()), holds.wrapping_add((state == Some(true)).into())]
        };
        Reading {
            at,
            times_us: sample.times_us,
            acked: sample.acked,
            received: sock.info.bytes_received,
            segments: sock.info.data_segments_out(),
            retransmitted: sock.info.total_retrans.into(),
            drops: sock.memory.and_then(|m: SocketMemory| m.drops).or(before.drops),
            waiting: count(before.waiting, sample.waits_for_room()),
            little: count(before.little, sample.writes_little()),
        }
    }

    /// Returns the bytes sent and received from this reading to a later one.
    fn bytes_until(&self, later: &Reading) -> [u64; 2] {
        [later.acked.saturating_sub(self.acked), later.received.saturating_sub(self.received)]
    }

    /// Returns what happened from this reading to a later one.
    pub fn until(&self, later: &Reading) -> Activity {
        let seconds = later.at.since(self.at).as_secs_f64();
        let times = self.times_us.zip(later.times_us);
        let counted = times.map(|(a, b)| [0, 1, 2].map(|i| b[i].saturating_sub(a[i]) as f64 * 1e-6));
        let share = |from: [u32; 2], to: [u32; 2]| {
            let [known, holds] = [0, 1].map(|i| to[i].wrapping_sub(from[i]));
            (known > 0).then(|| f64::from(holds) / f64::from(known))
        };
        let sender_s = SenderTime::divide(
            seconds,
            counted,
            share(self.waiting, later.waiting),
            share(self.little, later.little),
        );
        let [sent_bytes, received_bytes] = self.bytes_until(later);
        // Bits per second are exact enough.
        let mbps = |bytes: u64| match seconds > 0.0 {
            true => (bytes as f64 * 8.0 / seconds).round() / 1e6,
            false => 0.0,
        };
        let is_idle = sent_bytes + received_bytes == 0 && counted.is_some_and(|[busy, ..]| busy == 0.0);
        let limit = match () {
            () if is_idle => SenderLimit::Idle,
            () if received_bytes > sent_bytes => SenderLimit::OtherEnd,
            () => longest(&sender_s),
        };
        Activity {
            seconds,
            sent_bytes,
            received_bytes,
            sent_mbps: mbps(sent_bytes),
            received_mbps: mbps(received_bytes),
            sent_packets: self.segments.zip(later.segments).map(|(a, b)| b.saturating_sub(a)),
            retransmitted_packets: later.retransmitted.saturating_sub(self.retransmitted),
            dropped_packets: self.drops.zip(later.drops).map(|(a, b)| b.wrapping_sub(a).into()),
            sender_s,
            limit,
        }
    }
}

/// Returns the limit of the longest part of a sender's time.
fn longest(time: &SenderTime) -> SenderLimit {
    let parts = [
        (SenderLimit::Unknown, time.unknown),
        (SenderLimit::Application, time.application),
        (SenderLimit::Network, time.network),
        (SenderLimit::SendBuffer, time.send_buffer),
        (SenderLimit::ReceiveWindow, time.receive_window),
    ];
    parts.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(SenderLimit::Unknown, |(limit, _)| limit)
}

/// The readings of a connection.
#[derive(Clone, Debug)]
pub struct Recent {
    now: Reading,
    /// The reading of the last report, or the first one.
    reported: Reading,
    /// Readings of the last minute and the one before it, oldest first.
    marks: VecDeque<Reading>,
    /// The process that holds the socket.
    pub process: Option<SocketProcess>,
    /// Number of searches that did not find the process.
    pub searches: u8,
}

impl Recent {
    /// Starts at a reading.
    pub fn new(first: Reading) -> Recent {
        let marks = VecDeque::from([first]);
        Recent { now: first, reported: first, marks, process: None, searches: 0 }
    }

    /// Adds a socket's report.
    pub fn add(&mut self, sock: &Sock, sample: &SocketSample, at: Time) {
        self.now = Reading::of(sock, sample, at, &self.now);
    }

    /// Bytes sent and received since the last report.
    pub fn last_bytes(&self) -> [u64; 2] {
        self.reported.bytes_until(&self.now)
    }

    /// The reading at which the last minute begins.
    fn minute(&self) -> &Reading {
        self.marks.front().unwrap_or(&self.reported)
    }

    /// Bytes sent and received in the last minute.
    pub fn minute_bytes(&self) -> [u64; 2] {
        self.minute().bytes_until(&self.now)
    }

    /// Describes an open connection between these ends since the last report and in the last minute, with the
    /// newest `tcp_info`; without the congestion control.
    pub fn describe(&self, (local, remote): (SocketAddr, SocketAddr), i: &TcpInfo) -> WatchedConnection {
        let ms = |us: u32| f64::from(us) / 1e3;
        WatchedConnection {
            local,
            remote,
            process: self.process.clone(),
            control: None,
            cwnd_packets: Some(i.cwnd).filter(|cwnd| *cwnd > 0),
            rtt_ms: Some(i.rtt_us).filter(|us| *us > 0).map(ms),
            min_rtt_ms: i.reported_min_rtt_us().map(ms),
            receiver_rtt_ms: Some(i.rcv_rtt_us).filter(|us| *us > 0).map(ms),
            ended: false,
            last_second: self.reported.until(&self.now),
            last_minute: self.minute().until(&self.now),
        }
    }

    /// Begins the next period.
    pub fn advance(&mut self) {
        self.reported = self.now;
        if self.marks.back().is_none_or(|last| self.now.at.since(last.at) >= MARK_INTERVAL) {
            self.marks.push_back(self.now);
        }
        while self.marks.get(1).is_some_and(|next| self.now.at.since(next.at) >= MIN_MINUTE) {
            self.marks.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::watch::main_limit;

    /// A socket's report: seconds of busy time, of a full window and of a full buffer, and bytes sent and
    /// received.
    fn sock(busy: f64, window: f64, buffer: f64, acked: u64, received: u64) -> Sock {
        let us = |s: f64| (s * 1e6) as u64;
        let info = TcpInfo {
            reported: 248,
            busy_us: us(busy),
            rwnd_limited_us: us(window),
            sndbuf_limited_us: us(buffer),
            bytes_acked: acked,
            bytes_received: received,
            data_segs_out: (acked / 1000) as u32,
            total_retrans: (acked / 50_000) as u32,
            notsent_bytes: 1,
            ..TcpInfo::default()
        };
        let [local, remote] = [40_000, 443].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        let memory = Some(SocketMemory { send_limit: 1 << 20, drops: Some(3), ..SocketMemory::default() });
        Sock { cookie: 1, inode: 1, state: 1, local, remote, info, cc: "cubic".into(), memory }
    }

    fn at(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    fn sample(sock: &Sock) -> SocketSample {
        crate::sample::sample(&sock.info, sock.memory, Time::ZERO)
    }

    fn activity(before: &Sock, after: &Sock) -> Activity {
        let zero = Reading::zero(at(0));
        let first = Reading::of(before, &sample(before), at(10), &zero);
        first.until(&Reading::of(after, &sample(after), at(12), &first))
    }

    #[test]
    fn a_period_is_the_difference_of_two_readings() {
        let a = activity(&sock(5.0, 1.0, 0.0, 1_000_000, 7), &sock(7.0, 2.5, 0.25, 2_000_000, 8));
        assert_eq!((a.seconds, a.sent_bytes, a.received_bytes), (2.0, 1_000_000, 1));
        assert_eq!((a.sent_mbps, a.limit), (4.0, SenderLimit::ReceiveWindow));
        assert_eq!((a.sent_packets, a.retransmitted_packets), (Some(1000), 20));
        assert_eq!((a.retransmitted_share(), a.dropped_packets), (Some(0.02), Some(0)));
        let s = a.sender_s;
        assert_eq!((s.receive_window, s.send_buffer, s.network), (1.5, 0.25, 0.25));
        assert_eq!((s.application, s.unknown), (0.0, 0.0));
        assert_eq!(a.seconds_of_limits(), [1.5, 0.25, 0.0, 0.25, 0.0, 0.0, 0.0]);
        assert_eq!(main_limit(&a.seconds_of_limits()), Some((SenderLimit::ReceiveWindow, 0.75)));
    }

    #[test]
    fn each_limit_is_named_by_the_kernels_counters() {
        let before = sock(5.0, 0.0, 0.0, 0, 0);
        let limit = |after: Sock| activity(&before, &after).limit;
        assert_eq!(limit(sock(7.0, 0.0, 0.0, 1000, 0)), SenderLimit::Network);
        assert_eq!(limit(sock(5.5, 0.0, 0.0, 1000, 0)), SenderLimit::Application);
        assert_eq!(limit(sock(7.0, 0.0, 1.5, 1000, 0)), SenderLimit::SendBuffer);
        assert_eq!(limit(sock(5.1, 0.0, 0.0, 1000, 1001)), SenderLimit::OtherEnd);
        assert_eq!(limit(sock(5.0, 0.0, 0.0, 0, 0)), SenderLimit::Idle);
        // Data is outstanding and nothing is acknowledged.
        assert_eq!(limit(sock(7.0, 0.0, 0.0, 0, 0)), SenderLimit::Network);
        // Full and all sent: the application waits for room.
        let mut full = sock(7.0, 0.0, 0.0, 1000, 0);
        full.info.notsent_bytes = 0;
        full.memory = full.memory.map(|m| SocketMemory { queued: m.send_limit, ..m });
        assert_eq!(limit(full), SenderLimit::SendBuffer);
        // Busy all the time with little data.
        let mut little = sock(7.0, 0.0, 0.0, 1000, 0);
        (little.info.notsent_bytes, little.info.app_limited, little.info.delivery_rate) = (0, true, Some(9));
        assert_eq!(limit(little), SenderLimit::Application);
        // A kernel without the counters.
        let old = |mut s: Sock| {
            s.info.reported = 104;
            s
        };
        let a = activity(&old(before.clone()), &old(sock(0.0, 0.0, 0.0, 1000, 0)));
        assert_eq!((a.limit, a.sent_packets, a.retransmitted_share()), (SenderLimit::Unknown, None, None));
        assert_eq!(a.sender_s.unknown, 2.0);
    }

    #[test]
    fn the_last_minute_is_a_minute_long_and_takes_bounded_memory() {
        let first = sock(0.0, 0.0, 0.0, 0, 0);
        let mut recent = Recent::new(Reading::of(&first, &sample(&first), at(0), &Reading::zero(at(0))));
        let describe = |recent: &Recent, info: &TcpInfo| recent.describe((first.local, first.remote), info);
        for s in 1..=600u64 {
            // The window is full from the 500th second on.
            let now = sock(s as f64, s.saturating_sub(500) as f64, 0.0, s * 125_000, 0);
            recent.add(&now, &sample(&now), at(s));
            let c = describe(&recent, &now.info);
            assert_eq!((c.last_second.seconds, c.last_second.sent_mbps), (1.0, 1.0), "{s}");
            let expected = if s < 55 { s..=s } else { 55..=65 };
            assert!(expected.contains(&(c.last_minute.seconds as u64)), "{s}: {}", c.last_minute.seconds);
            assert_eq!(c.last_minute.sent_mbps, 1.0);
            if s == 510 {
                assert_eq!(c.last_second.limit, SenderLimit::ReceiveWindow);
                assert_eq!(c.last_minute.limit, SenderLimit::Network);
            }
            recent.advance();
            assert!(recent.marks.len() <= 8);
        }
        let c = describe(&recent, &first.info);
        assert_eq!(c.last_minute.limit, SenderLimit::ReceiveWindow);
        assert_eq!(c.last_second.seconds, 0.0, "no sample since the report");
    }
}
