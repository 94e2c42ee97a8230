//! What the kernel said of each socket, from when it was first seen to its end. Memory is bounded: of a long life every second
//! sample is dropped, again and again; of many lives those with most bytes are kept.

use linux::sock_diag::{Sock, SocketMemory};
use linux::tcp_info::{BbrInfo, TcpInfo};
use result::diagnosis::SocketSample;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use units::Time;

/// Samples kept of a socket, at most.
pub const MOST_SAMPLES: usize = 256;
/// And at least: so many show a beginning, an end and something in between.
const LEAST_SAMPLES: usize = 16;
/// Samples of all sockets: some 10 MB.
const ALL_SAMPLES: usize = 1 << 17;
/// Sockets that ended and are kept, at most.
pub const MOST_SOCKETS: usize = 4096;

/// What the kernel says of a socket at one moment. The send buffer counts as full as the kernel has it: the application may write again
/// when a third of what is in the buffer would fit (`sk_stream_min_wspace`, include/net/sock.h).
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

/// A socket from when it was first seen to its end, or to now.
#[derive(Clone, Debug)]
pub struct SocketLife {
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the other end.
    pub remote: SocketAddr,
    /// Congestion control.
    pub control: String,
    /// The last `tcp_info`.
    pub info: TcpInfo,
    /// The greatest delivery rate of all samples, bytes a second.
    pub fastest: Option<u64>,
    /// BBR's model, where that is the congestion control.
    pub bbr: Option<BbrInfo>,
    /// Its memory, when it was last reported.
    pub memory: Option<SocketMemory>,
    /// Samples, in the order of time.
    pub samples: Vec<SocketSample>,
    /// It has ended.
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

    /// Bytes that it sent and received.
    pub fn bytes(&self) -> u64 {
        self.info.bytes_acked + self.info.bytes_received
    }

    /// Takes what is reported at `now`.
    fn add(&mut self, sock: &Sock, now: Time, most: usize) {
        // A socket that is closing reports no congestion control, and its last numbers may be gone.
        if sock.info.reported > 0 {
            self.info = sock.info;
            self.fastest = self.fastest.max(sock.info.delivery_rate);
            self.bbr = sock.info.bbr.or(self.bbr);
            if self.samples.len() >= most {
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

/// Sockets that are followed, and those that were.
#[derive(Default)]
pub struct SocketTable {
    open: BTreeMap<u64, (Sock, SocketLife)>,
    ended: Vec<SocketLife>,
    forgotten: u64,
}

impl SocketTable {
    /// What is reported of a socket at `now`; whether it is a new one.
    pub fn seen(&mut self, sock: &Sock, now: Time) -> bool {
        let most =
            (ALL_SAMPLES / (self.open.len() + self.ended.len()).max(1)).clamp(LEAST_SAMPLES, MOST_SAMPLES);
        let new = !self.open.contains_key(&sock.cookie);
        let (_, life) = self.open.entry(sock.cookie).or_insert_with(|| (sock.clone(), SocketLife::new(sock)));
        life.add(sock, now, most);
        new
    }

    /// A socket's last report: its ends, where it was followed.
    pub fn end(&mut self, sock: &Sock, now: Time) -> Option<(SocketAddr, SocketAddr)> {
        if !self.open.contains_key(&sock.cookie) {
            return None;
        }
        self.seen(sock, now);
        self.gone(sock.cookie)
    }

    /// A socket that is not there any more: its ends, where it was followed.
    pub fn gone(&mut self, cookie: u64) -> Option<(SocketAddr, SocketAddr)> {
        let (_, mut life) = self.open.remove(&cookie)?;
        life.ended = true;
        let ends = (life.local, life.remote);
        self.ended.push(life);
        if self.ended.len() > MOST_SOCKETS + MOST_SOCKETS / 4 {
            self.ended.select_nth_unstable_by_key(MOST_SOCKETS, |life| std::cmp::Reverse(life.bytes()));
            self.forgotten += (self.ended.len() - MOST_SOCKETS) as u64;
            self.ended.truncate(MOST_SOCKETS);
        }
        Some(ends)
    }

    /// Whether a socket is followed.
    pub fn has(&self, cookie: u64) -> bool {
        self.open.contains_key(&cookie)
    }

    /// Inodes of sockets that are followed.
    pub fn inodes(&self) -> impl Iterator<Item = u32> {
        self.open.values().map(|(sock, _)| sock.inode)
    }

    /// The sockets that are followed, as they were first seen.
    pub fn open(&self) -> impl Iterator<Item = &Sock> {
        self.open.values().map(|(sock, _)| sock)
    }

    /// How many of them there are.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// All of them, and how many were forgotten.
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
    fn a_long_life_keeps_its_first_and_last_sample() {
        let mut table = SocketTable::default();
        for i in 0..10_000 {
            assert_eq!(table.seen(&sock(7, i), Time::from_nanos(i)), i == 0);
        }
        let last = Sock {
            info: TcpInfo { bytes_acked: 10_000, ..sock(7, 0).info },
            cc: String::new(),
            ..sock(7, 0)
        };
        assert!(table.end(&last, Time::from_nanos(10_000)).is_some());
        assert!(table.end(&last, Time::ZERO).is_none(), "it ended");
        let (lives, forgotten) = table.finish();
        let samples = &lives[0].samples;
        assert!((MOST_SAMPLES / 2..=MOST_SAMPLES).contains(&samples.len()), "{}", samples.len());
        assert_eq!((samples[0].acked, samples[samples.len() - 1].acked), (0, 10_000));
        assert!(samples.windows(2).all(|s| s[0].at < s[1].at));
        assert_eq!((lives[0].control.as_str(), lives[0].ended, forgotten), ("bbr", true, 0));
    }

    #[test]
    fn a_buffer_is_full_until_a_third_of_it_would_fit() {
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
    fn of_many_sockets_those_with_most_bytes_are_kept() {
        let mut table = SocketTable::default();
        let all = 3 * MOST_SOCKETS as u64;
        for i in 1..=all {
            table.seen(&sock(i, i), Time::ZERO);
            table.gone(i);
        }
        let (lives, forgotten) = table.finish();
        assert!(lives.len() <= MOST_SOCKETS + MOST_SOCKETS / 4);
        assert_eq!(lives.len() as u64 + forgotten, all);
        assert!(
            lives.iter().any(|l| l.bytes() == all) && lives.iter().all(|l| l.bytes() > MOST_SOCKETS as u64)
        );
    }
}
