//! Samples of each socket from its first sight to its end. Memory is bounded: for a long-lived socket every
//! second sample is dropped repeatedly; of many ended sockets those with the most bytes are kept.

use linux::sock_diag::{Sock, SocketMemory};
use linux::tcp_info::{BbrInfo, TcpInfo};
use result::diagnosis::SocketSample;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use units::Time;

/// Maximum number of samples per socket.
pub const MAX_SAMPLES: usize = 256;
/// Minimum number of samples per socket, enough for a start, an end and some between.
const MIN_SAMPLES: usize = 16;
/// Maximum number of samples of all sockets: some 10 MB.
const MAX_TOTAL_SAMPLES: usize = 1 << 17;
/// Maximum number of ended sockets to keep.
pub const MAX_ENDED_SOCKETS: usize = 4096;

/// Converts a socket's report to a sample. The send buffer counts as full by the kernel's rule: the
/// application may write again when a third of the queued data would fit (`sk_stream_min_wspace`,
/// include/net/sock.h).
fn sample(info: &TcpInfo, memory: Option<SocketMemory>, at: Time) -> SocketSample {
    let full = |m: SocketMemory| u64::from(m.queued) * 3 >= u64::from(m.send_limit) * 2;
    SocketSample {
        at,
        times_us: info.times_us(),
        acked: info.bytes_acked,
        rtt_us: Some(info.rtt_us).filter(|rtt| *rtt > 0),
        app_limited: info.is_app_limited(),
        notsent: info.notsent(),
        buffer_full: memory.map(full),
    }
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
    fn add(&mut self, sock: &Sock, now: Time, max_samples: usize) {
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
            }
            self.samples.push(sample(&sock.info, sock.memory, now));
        }
        if !sock.cc.is_empty() {
            self.control.clone_from(&sock.cc);
        }
        self.memory = sock.memory.or(self.memory);
    }
}

/// Sockets that are tracked, and those that have ended.
#[derive(Default)]
pub struct SocketTable {
    open: BTreeMap<u64, (Sock, SocketLife)>,
    ended: Vec<SocketLife>,
    forgotten: u64,
}

impl SocketTable {
    /// Adds a socket's report at `now`. Returns whether the socket is new.
    pub fn update(&mut self, sock: &Sock, now: Time) -> bool {
        let max_samples =
            (MAX_TOTAL_SAMPLES / (self.open.len() + self.ended.len()).max(1)).clamp(MIN_SAMPLES, MAX_SAMPLES);
        let new = !self.open.contains_key(&sock.cookie);
        let (_, life) = self.open.entry(sock.cookie).or_insert_with(|| (sock.clone(), SocketLife::new(sock)));
        life.add(sock, now, max_samples);
        new
    }

    /// Adds a socket's final report. Returns its ends if it was tracked.
    pub fn record_end(&mut self, sock: &Sock, now: Time) -> Option<(SocketAddr, SocketAddr)> {
        if !self.open.contains_key(&sock.cookie) {
            return None;
        }
        self.update(sock, now);
        self.remove(sock.cookie)
    }

    /// Removes a socket that no longer exists. Returns its ends if it was tracked.
    pub fn remove(&mut self, cookie: u64) -> Option<(SocketAddr, SocketAddr)> {
        let (_, mut life) = self.open.remove(&cookie)?;
        life.ended = true;
        let ends = (life.local, life.remote);
        self.ended.push(life);
        if self.ended.len() > MAX_ENDED_SOCKETS + MAX_ENDED_SOCKETS / 4 {
            self.ended.select_nth_unstable_by_key(MAX_ENDED_SOCKETS, |life| std::cmp::Reverse(life.bytes()));
            self.forgotten += (self.ended.len() - MAX_ENDED_SOCKETS) as u64;
            self.ended.truncate(MAX_ENDED_SOCKETS);
        }
        Some(ends)
    }

    /// Whether a socket is tracked.
    pub fn is_tracked(&self, cookie: u64) -> bool {
        self.open.contains_key(&cookie)
    }

    /// Returns the inodes of tracked sockets.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        self.open.values().map(|(sock, _)| sock.inode)
    }

    /// Returns the tracked sockets, as first seen.
    pub fn open(&self) -> impl Iterator<Item = &Sock> {
        self.open.values().map(|(sock, _)| sock)
    }

    /// Returns the number of tracked sockets.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Returns all sockets, and the number of forgotten ones.
    pub fn finish(self) -> (Vec<SocketLife>, u64) {
        let open = self.open.into_values().map(|(_, life)| life);
        (self.ended.into_iter().chain(open).collect(), self.forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sock(cookie: u64, acked: u64) -> Sock {
        let info =
            TcpInfo { reported: 248, bytes_acked: acked, delivery_rate: Some(1), ..TcpInfo::default() };
        let end = |port| SocketAddr::from(([10, 0, 0, 1], port));
        let (local, remote) = (end(cookie as u16), end(443));
        Sock { cookie, inode: cookie as u32, state: 1, local, remote, info, cc: "bbr".into(), memory: None }
    }

    #[test]
    fn a_long_lived_socket_keeps_its_first_and_last_sample() {
        let mut table = SocketTable::default();
        for i in 0..10_000 {
            assert_eq!(table.update(&sock(7, i), Time::from_nanos(i)), i == 0);
        }
        let last = Sock {
            info: TcpInfo { bytes_acked: 10_000, ..sock(7, 0).info },
            cc: String::new(),
            ..sock(7, 0)
        };
        assert!(table.record_end(&last, Time::from_nanos(10_000)).is_some());
        assert!(table.record_end(&last, Time::ZERO).is_none(), "it ended");
        let (lives, forgotten) = table.finish();
        let samples = &lives[0].samples;
        assert!((MAX_SAMPLES / 2..=MAX_SAMPLES).contains(&samples.len()), "{}", samples.len());
        assert_eq!((samples[0].acked, samples[samples.len() - 1].acked), (0, 10_000));
        assert!(samples.windows(2).all(|s| s[0].at < s[1].at));
        assert_eq!((lives[0].control.as_str(), lives[0].ended, forgotten), ("bbr", true, 0));
    }

    #[test]
    fn a_buffer_is_full_until_a_third_of_its_data_would_fit() {
        let full = |queued| {
            let memory = Some(SocketMemory { queued, send_limit: 131_072, ..SocketMemory::default() });
            sample(&TcpInfo::default(), memory, Time::ZERO).buffer_full
        };
        assert_eq!(
            [full(0), full(87_000), full(87_400), full(140_000)].map(Option::unwrap),
            [false, false, true, true]
        );
        assert_eq!(sample(&TcpInfo::default(), None, Time::ZERO).buffer_full, None);
    }

    #[test]
    fn the_sockets_with_the_most_bytes_are_kept() {
        let mut table = SocketTable::default();
        let all = 3 * MAX_ENDED_SOCKETS as u64;
        for i in 1..=all {
            table.update(&sock(i, i), Time::ZERO);
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
}
