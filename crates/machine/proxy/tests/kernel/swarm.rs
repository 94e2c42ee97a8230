//! Thousands of connections from one thread: an echo server, and clients whose every byte is known and
//! checked.
//!
//! A client sends its own stream while it reads the echo, ends its side, and reads to the end. Some read
//! slowly, some reset their connection in the middle. A difference from what was sent counts as `wrong`, a
//! premature end as `short`: both are undetected losses. A failed connection counts as `reset`, one that
//! neither moves nor ends as `stuck`.

#![allow(dead_code)] // each test file uses a part

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::{size_of_val, zeroed};
use std::net::{Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Bytes of one read or write.
const PIECE: usize = 16 << 10;
/// Bytes that a slow reader reads, and its pause afterwards.
const SLOW_READ: usize = 4 << 10;
const PAUSE: Duration = Duration::from_millis(20);
/// Interval between counts of open connections.
const COUNT_INTERVAL: Duration = Duration::from_millis(100);
/// Time without any progress after which connections count as stuck.
const STUCK_TIMEOUT: Duration = Duration::from_secs(30);

fn splitmix64(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// Fills `out` with the stream `key`, starting at byte `at`.
fn fill(key: u64, mut at: u64, mut out: &mut [u8]) {
    while !out.is_empty() {
        let word = splitmix64(key.wrapping_add(at / 8)).to_le_bytes();
        let from = (at % 8) as usize;
        let n = (8 - from).min(out.len());
        out[..n].copy_from_slice(&word[from..from + n]);
        (at, out) = (at + n as u64, &mut out[n..]);
    }
}

/// Readiness of many sockets (epoll(7), level-triggered).
struct Poll(OwnedFd);

#[allow(unsafe_code)]
impl Poll {
    fn new() -> io::Result<Poll> {
        // SAFETY: takes no pointers; the descriptor has no other owner.
        match unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(Poll(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    }
    fn set(&self, fd: RawFd, token: usize, read: bool, write: bool, new: bool) -> io::Result<()> {
        let bit = |on: bool, bit: i32| if on { bit as u32 } else { 0 };
        let events = bit(read, libc::EPOLLIN) | bit(write, libc::EPOLLOUT);
        let mut event = libc::epoll_event { events, u64: token as u64 };
        let how = if new { libc::EPOLL_CTL_ADD } else { libc::EPOLL_CTL_MOD };
        // SAFETY: the call reads the event.
        match unsafe { libc::epoll_ctl(self.0.as_raw_fd(), how, fd, &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
    /// Returns the tokens of sockets that are ready or failed.
    fn wait(&self, most: Duration) -> Vec<usize> {
        // SAFETY: plain data; the call writes at most as many events as there is room for.
        let (mut events, n) = unsafe {
            let mut events: [libc::epoll_event; 512] = zeroed();
            let n = libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 512, most.as_millis() as i32);
            (events, n.max(0) as usize)
        };
        events[..n].iter_mut().map(|e| e.u64 as usize).collect()
    }
}

/// Starts connecting, without waiting.
#[allow(unsafe_code)]
fn connect(to: SocketAddrV4) -> io::Result<TcpStream> {
    // SAFETY: plain data; the calls read the address that they are given; the descriptor has no other owner.
    unsafe {
        let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let stream = TcpStream::from_raw_fd(fd);
        let mut address: libc::sockaddr_in = zeroed();
        address.sin_family = libc::AF_INET as u16;
        address.sin_port = to.port().to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
        let len = size_of_val(&address) as u32;
        match libc::connect(fd, (&raw const address).cast(), len) {
            0 => Ok(stream),
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINPROGRESS) => Ok(stream),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Sets a listener's queue to net.core.somaxconn. The standard library's 128 overflow when thousands connect
/// at once, and then the kernel uses SYN cookies. A cookie also matches a segment 1 to 3 bytes later
/// (`check_tcp_syn_cookie`, net/ipv4/syncookies.c: the difference passes for another MSS), so a stream whose
/// first segment was dropped may start without it.
#[allow(unsafe_code)]
fn maximise_backlog(listener: &TcpListener) {
    // SAFETY: takes no pointers.
    unsafe { libc::listen(listener.as_raw_fd(), i32::MAX) };
}

/// Resets the connection by closing it.
#[allow(unsafe_code)]
fn reset(stream: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let len = size_of_val(&linger) as u32;
    // SAFETY: the call reads the structure.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            len,
        );
    }
}

fn would_block(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected)
}

struct Echo {
    stream: TcpStream,
    held: Vec<u8>,
    ended: bool,
}

impl Echo {
    /// Returns whether the connection continues.
    fn step(&mut self, buffer: &mut [u8]) -> bool {
        while !self.held.is_empty() {
            match self.stream.write(&self.held) {
                Ok(n) => drop(self.held.drain(..n)),
                Err(e) => return would_block(&e),
            }
        }
        if self.ended {
            return false;
        }
        match self.stream.read(buffer) {
            Ok(0) => self.ended = true,
            Ok(n) => self.held.extend_from_slice(&buffer[..n]),
            Err(e) => return would_block(&e),
        }
        true
    }
}

/// Echoes all connections, including their ends, until `stop` is set.
pub fn echo(listener: &TcpListener, stop: &AtomicBool) -> io::Result<()> {
    const LISTENER: usize = usize::MAX >> 1;
    maximise_backlog(listener);
    listener.set_nonblocking(true)?;
    let poll = Poll::new()?;
    poll.set(listener.as_raw_fd(), LISTENER, true, false, true)?;
    let (mut all, mut free): (Vec<Option<Echo>>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; PIECE];
    while !stop.load(Relaxed) {
        for token in poll.wait(Duration::from_millis(50)) {
            if token == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let at = free.pop().unwrap_or(all.len());
                    all.resize_with(all.len().max(at + 1), || None);
                    poll.set(stream.as_raw_fd(), at, true, false, true)?;
                    all[at] = Some(Echo { stream, held: Vec::new(), ended: false });
                }
                continue;
            }
            let Some(one) = all[token].as_mut() else { continue };
            if one.step(&mut buffer) {
                let waits = !one.held.is_empty() || one.ended;
                poll.set(one.stream.as_raw_fd(), token, !waits, waits, false)?;
            } else {
                all[token] = None;
                free.push(token);
            }
        }
    }
    Ok(())
}

/// Workload of the clients.
#[derive(Clone, Copy)]
pub struct Swarm {
    /// Concurrent connections.
    pub concurrent: usize,
    /// Total connections; 0: as many as `time` permits.
    pub total: u64,
    /// Time after which no new connection starts.
    pub time: Duration,
    /// Seed of all random draws.
    pub seed: u64,
    /// Connections per thousand that are reset in the middle.
    pub killed: u64,
    /// Connections per thousand that read slowly.
    pub slow: u64,
    /// Longest stream, bytes; lengths are drawn log-uniformly.
    pub longest: u64,
}

/// Outcomes of the connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwarmCount {
    pub finished: u64,
    pub killed: u64,
    pub reset: u64,
    pub wrong: u64,
    pub short: u64,
    pub stuck: u64,
    pub bytes: u64,
    /// Maximum number of open connections that had received bytes.
    pub open: u64,
}

struct Member {
    stream: TcpStream,
    key: u64,
    total: u64,
    /// Reset the connection once this many bytes were sent.
    dies_at: Option<u64>,
    slow: bool,
    sent: u64,
    got: u64,
    shut: bool,
    is_pausing: bool,
    /// Watched events: readable, writable.
    wants: (bool, bool),
}

/// Outcome of one connection.
enum End {
    Finished,
    Killed,
    Reset,
    Wrong,
    Short,
}

impl Member {
    fn new(number: u64, swarm: &Swarm, to: SocketAddrV4) -> io::Result<Member> {
        let key = splitmix64(swarm.seed.wrapping_mul(1 << 40).wrapping_add(number));
        let draw = |what: u64| splitmix64(key ^ what);
        let octaves = 64 - swarm.longest.leading_zeros() as u64;
        let total = (1 << (draw(1) % octaves)).min(swarm.longest);
        let total = 1 + draw(2) % total.max(1).saturating_mul(2).min(swarm.longest);
        let dies_at = (draw(3) % 1000 < swarm.killed).then(|| draw(4) % total);
        let slow = draw(5) % 1000 < swarm.slow;
        let stream = connect(to)?;
        Ok(Member {
            stream,
            key,
            total,
            dies_at,
            slow,
            sent: 0,
            got: 0,
            shut: false,
            is_pausing: false,
            wants: (true, true),
        })
    }

    /// Sends and reads once. Returns `None` if the connection continues.
    fn step(&mut self, buffers: &mut [Vec<u8>; 2]) -> Option<End> {
        if self.dies_at.is_some_and(|at| self.sent >= at) && self.sent > 0 {
            return Some(End::Killed);
        }
        if self.sent < self.total {
            let length =
                (self.dies_at.map_or(self.total, |at| at.max(1)) - self.sent).min(PIECE as u64) as usize;
            fill(self.key, self.sent, &mut buffers[0][..length]);
            match self.stream.write(&buffers[0][..length]) {
                Ok(n) => self.sent += n as u64,
                Err(e) if would_block(&e) => {}
                Err(_) => return Some(End::Reset),
            }
        } else if !self.shut {
            self.shut = true;
            if self.stream.shutdown(Shutdown::Write).is_err() {
                return Some(End::Reset);
            }
        }
        let length = if self.slow { SLOW_READ } else { PIECE };
        let [sent, got] = buffers;
        match self.stream.read(&mut got[..length]) {
            Ok(0) if self.got == self.total => Some(End::Finished),
            Ok(0) => Some(End::Short),
            Ok(n) => {
                fill(self.key, self.got, &mut sent[..n]);
                self.got += n as u64;
                self.is_pausing = self.slow;
                (sent[..n] != got[..n] || self.got > self.total).then_some(End::Wrong)
            }
            Err(e) if would_block(&e) => None,
            Err(_) => Some(End::Reset),
        }
    }
}

impl Swarm {
    /// Runs the clients to their end against an address.
    pub fn run(&self, to: SocketAddr, stop: &AtomicBool) -> io::Result<SwarmCount> {
        let SocketAddr::V4(to) = to else { return Err(ErrorKind::Unsupported.into()) };
        let (poll, started) = (Poll::new()?, Instant::now());
        let (mut all, mut free): (Vec<Option<Member>>, Vec<usize>) =
            (Vec::new(), (0..self.concurrent).rev().collect());
        all.resize_with(self.concurrent, || None);
        let mut is_pausing: BTreeSet<(Instant, usize)> = BTreeSet::new();
        let mut buffers = [vec![0; PIECE], vec![0; PIECE]];
        let (mut count, mut number) = (SwarmCount::default(), 0);
        let (mut moved_at, mut counted_at) = (Instant::now(), Instant::now());
        loop {
            let more = started.elapsed() < self.time && !stop.load(Relaxed);
            while more && (self.total == 0 || number < self.total) && !free.is_empty() {
                let member = match Member::new(number, self, to) {
                    Ok(member) => member,
                    // No port or memory now; retry later.
                    Err(_) => break,
                };
                number += 1;
                let at = free.pop().unwrap_or_default();
                poll.set(member.stream.as_raw_fd(), at, true, true, true)?;
                all[at] = Some(member);
            }
            if free.len() == self.concurrent && (!more || (self.total > 0 && number >= self.total)) {
                return Ok(count);
            }
            if moved_at.elapsed() > STUCK_TIMEOUT {
                count.stuck = (self.concurrent - free.len()) as u64;
                return Ok(count);
            }
            let mut ready = poll.wait(Duration::from_millis(5));
            while let Some(&(due, at)) = is_pausing.first().filter(|(due, _)| *due <= Instant::now()) {
                is_pausing.remove(&(due, at));
                if let Some(member) = &mut all[at] {
                    member.is_pausing = false;
                    ready.push(at);
                }
            }
            for at in ready {
                let Some(member) = all[at].as_mut().filter(|m| !m.is_pausing) else { continue };
                moved_at = Instant::now();
                let end = member.step(&mut buffers);
                if let Some(end) = end {
                    let ended = all[at].take();
                    count.take(end, ended);
                    free.push(at);
                    continue;
                }
                let wants = (!member.is_pausing, !member.shut && !member.is_pausing);
                if wants != member.wants {
                    member.wants = wants;
                    poll.set(member.stream.as_raw_fd(), at, wants.0, wants.1, false)?;
                }
                if member.is_pausing {
                    is_pausing.insert((Instant::now() + PAUSE, at));
                }
            }
            if counted_at.elapsed() > COUNT_INTERVAL {
                counted_at = Instant::now();
                count.open = count.open.max(all.iter().flatten().filter(|m| m.got > 0).count() as u64);
            }
        }
    }
}

impl SwarmCount {
    fn take(&mut self, end: End, ended: Option<Member>) {
        let Some(member) = ended else { return };
        self.bytes += member.got;
        match end {
            End::Finished => self.finished += 1,
            End::Reset => self.reset += 1,
            End::Wrong => self.wrong += 1,
            End::Short => self.short += 1,
            End::Killed => {
                self.killed += 1;
                reset(member.stream);
            }
        }
    }
}
