//! What connections did in some seconds, from readings of their counters: the figures of `longfat watch`.

use crate::recent::Reading;
use crate::sample::sample;
use linux::sock_diag::Sock;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use units::{Span, Time};

/// What some connections did together. Bytes are payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The time between the first and the last reading, s.
    pub seconds: f64,
    /// Number of connections that were observed.
    pub connections: usize,
    /// Bytes per second sent and acknowledged, Mbit/s.
    pub sent_mbps: f64,
    /// Bytes per second received in order, Mbit/s.
    pub received_mbps: f64,
    /// Median of the smoothed round trips of the connections that sent something, at all readings, ms.
    pub rtt_ms: Option<f64>,
    /// Data segments sent, retransmissions included; `None` if the kernel does not count them.
    pub sent_packets: Option<u64>,
    /// Segments retransmitted.
    pub retransmitted_packets: u64,
}

impl Figures {
    /// Retransmitted share of the data segments sent, 0 to 1; `None` if none were sent, or it is unknown.
    pub fn retransmitted_share(&self) -> Option<f64> {
        let sent = self.sent_packets.filter(|sent| *sent > 0)?;
        Some((self.retransmitted_packets as f64 / sent as f64).min(1.0))
    }
}

/// Readings of a connection, oldest first, with the smoothed round trip of each, µs.
type Readings = VecDeque<(Reading, u32)>;

/// The readings of all connections of the last seconds.
pub struct History {
    length: Span,
    readings: BTreeMap<u64, Readings>,
}

impl History {
    /// Keeps readings of at least this time.
    pub fn new(length: Duration) -> History {
        History { length: Span::from_nanos(length.as_nanos() as u64), readings: BTreeMap::new() }
    }

    /// Adds a reading of each socket at `now`, and forgets old ones.
    pub fn add<'a>(&mut self, now: Time, sockets: impl Iterator<Item = &'a Sock>) {
        for sock in sockets.filter(|sock| sock.info.reported > 0) {
            let readings = self.readings.entry(sock.cookie).or_default();
            let before = readings.back().map_or_else(|| Reading::zero(now), |(last, _)| *last);
            let sample = sample(&sock.info, sock.memory, now);
            readings.push_back((Reading::of(sock, &sample, now, &before), sock.info.rtt_us));
        }
        let is_old = |at: Time| now.since(at) > self.length;
        for readings in self.readings.values_mut() {
            while readings.get(1).is_some_and(|(second, _)| is_old(second.at)) {
                readings.pop_front();
            }
        }
        self.readings.retain(|_, readings| readings.back().is_some_and(|(last, _)| !is_old(last.at)));
    }

    /// Returns what these connections did between two moments; `None` without two readings of any of them.
    pub fn figures(&self, from: Time, until: Time, cookies: &BTreeSet<u64>) -> Option<Figures> {
        let (mut first_at, mut last_at) = (Time::MAX, Time::ZERO);
        let mut figures = Figures {
            seconds: 0.0,
            connections: 0,
            sent_mbps: 0.0,
            received_mbps: 0.0,
            rtt_ms: None,
            sent_packets: Some(0),
            retransmitted_packets: 0,
        };
        let (mut sent_bytes, mut received_bytes, mut rtts) = (0, 0, Vec::new());
        for cookie in cookies {
            let readings = self.readings.get(cookie).into_iter().flatten();
            let inside: Vec<_> = readings.filter(|(r, _)| r.at >= from && r.at <= until).collect();
            let (Some((first, _)), Some((last, _))) = (inside.first(), inside.last()) else { continue };
            if inside.len() < 2 {
                continue;
            }
            let done = first.until(last);
            (first_at, last_at) = (first_at.min(first.at), last_at.max(last.at));
            figures.connections += 1;
            sent_bytes += done.sent_bytes;
            received_bytes += done.received_bytes;
            figures.sent_packets = figures.sent_packets.zip(done.sent_packets).map(|(a, b)| a + b);
            figures.retransmitted_packets += done.retransmitted_packets;
            if done.sent_bytes > 0 {
                rtts.extend(inside.iter().map(|(_, rtt)| *rtt).filter(|rtt| *rtt > 0));
            }
        }
        if figures.connections == 0 {
            return None;
        }
        figures.seconds = last_at.since(first_at).as_secs_f64();
        let mbps = |bytes: u64| (bytes as f64 * 8.0 / figures.seconds).round() / 1e6;
        (figures.sent_mbps, figures.received_mbps) = (mbps(sent_bytes), mbps(received_bytes));
        rtts.sort_unstable();
        figures.rtt_ms = rtts.get(rtts.len() / 2).map(|us| f64::from(*us) / 1e3);
        Some(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::tcp_info::TcpInfo;
    use std::net::SocketAddr;

    fn sock(cookie: u64, acked: u64, rtt_us: u32) -> Sock {
        let info = TcpInfo {
            reported: 248,
            bytes_acked: acked,
            rtt_us,
            data_segs_out: (acked / 1000) as u32,
            total_retrans: (acked / 50_000) as u32,
            ..TcpInfo::default()
        };
        let end = SocketAddr::from(([10, 0, 0, 1], 1));
        Sock { cookie, inode: 1, state: 1, local: end, remote: end, info, cc: "cubic".into(), memory: None }
    }

    fn at(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn figures_are_differences_within_the_time_and_of_the_chosen() {
        let mut history = History::new(Duration::from_secs(60));
        for s in 0..10u64 {
            // The first sends 1 MB each second up to 4 s, then 2 MB; the second is not chosen.
            let acked = 1_000_000 * (s + s.saturating_sub(4));
            history.add(at(s), [&sock(1, acked, 20_000 + s as u32), &sock(2, 9 * acked, 1)].into_iter());
        }
        let chosen = BTreeSet::from([1, 7]);
        let before = history.figures(at(0), at(4), &chosen).unwrap();
        assert_eq!((before.seconds, before.connections, before.sent_mbps), (4.0, 1, 8.0));
        assert_eq!((before.rtt_ms, before.sent_packets), (Some(20.002), Some(4000)));
        assert_eq!(before.retransmitted_share(), Some(0.02));
        assert_eq!(history.figures(at(5), at(9), &chosen).unwrap().sent_mbps, 16.0);
        assert_eq!(history.figures(at(20), at(30), &chosen), None);
        assert_eq!(history.figures(at(0), at(9), &BTreeSet::from([7])), None);
    }

    #[test]
    fn old_readings_and_closed_connections_are_forgotten() {
        let mut history = History::new(Duration::from_secs(5));
        history.add(at(0), [&sock(1, 0, 1), &sock(2, 0, 1)].into_iter());
        for s in 1..100 {
            history.add(at(s), [&sock(1, s, 1)].into_iter());
        }
        assert_eq!(history.readings.len(), 1);
        // Six seconds lie between seven readings.
        assert!(history.readings[&1].len() <= 7, "{}", history.readings[&1].len());
        assert!(history.figures(at(94), at(99), &BTreeSet::from([1])).is_some());
    }
}
