//! One run on the live kernel.
//!
//! Everything happens in one thread on one CPU. The kernel's TCP processes a segment within the call that
//! writes it to the TUN device, so the packets sent and the state reported after the call belong to that
//! segment.

use super::log::{Ack, Burst, Event, Input, Log};
use super::peer::{Data, Peer};
use super::plan::Plan;
use super::snapshot::Snapshot;
use super::wire::{self, Sent};
use linux::clock::monotonic;
use linux::socket::{KernelSocket, SocketOption};
use linux::{device, file, namespace, poll, schedule};
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use transport::Flags;
use units::{Span, Time};

/// Maximum duration of a run, finished or not.
const MAX_RUN: Span = Span::from_millis(2_500);
/// A run also ends this long after everything was acknowledged.
const IDLE_END: Span = Span::from_millis(20);
/// A run also ends after this many events.
const MAX_EVENTS: usize = 4_000;
/// Maximum number of ticks in a bucket of the kernel's timers, for timers within half a minute.
const WHEEL: u64 = 4_096;
const TICK: u64 = 4_000_000;

/// Why there is no log.
#[derive(Debug)]
pub enum Error {
    /// Root privileges or `/dev/net/tun` are missing.
    Permission(io::Error),
    /// A system call failed.
    System(&'static str, io::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Permission(e) => write!(f, "a namespace or a TUN device: {e}"),
            Error::System(what, e) => write!(f, "{what}: {e}"),
        }
    }
}

impl std::error::Error for Error {}

/// Runs a plan on the kernel, in a new thread and a new network namespace.
///
/// # Errors
/// Fails without the privilege to create a namespace and a TUN device, or if the kernel rejects a setting.
pub fn run(plan: &Plan) -> Result<Log, Error> {
    let there = || Run::new(plan).and_then(Run::play);
    let done = std::thread::scope(|s| s.spawn(there).join());
    done.unwrap_or_else(|_| Err(Error::System("the run", io::ErrorKind::Other.into())))
}

/// Difference between the kernel's tick count and `CLOCK_MONOTONIC` / 4 ms, from `/proc/timer_list`.
fn ticks_ahead() -> Option<u64> {
    let before = monotonic();
    let text = fs::read_to_string("/proc/timer_list").ok()?;
    let now: u64 = text.lines().find_map(|l| l.strip_prefix("now at "))?.split(' ').next()?.parse().ok()?;
    let jiffies: u64 = text.lines().find_map(|l| l.strip_prefix("jiffies: "))?.parse().ok()?;
    // The list's time is read first: near the end of a tick its jiffies may already be the next one's.
    (now >= before && now % TICK < TICK / 2).then(|| jiffies.wrapping_sub(now / TICK))
}

/// The `CLOCK_MONOTONIC` at which the model's clock starts, so that its ticks fall into the same buckets as
/// the kernel's.
fn epoch() -> u64 {
    let ahead = (0..20).find_map(|_| {
        std::thread::sleep(Duration::from_micros(700));
        ticks_ahead()
    });
    // Without the list: the kernel's ticks start five minutes before they wrap.
    let ahead = ahead.unwrap_or(0u64.wrapping_sub(75_000));
    let now = monotonic() / TICK;
    (now - now.wrapping_add(ahead) % WHEEL) * TICK
}

struct Run<'a> {
    plan: &'a Plan,
    tun: OwnedFd,
    socket: KernelSocket,
    epoch: u64,
    peer: Peer,
    log: Log,
    buffer: Vec<u8>,
    /// Port of the connection and its first sequence number.
    port: u16,
    first: u32,
    established: Option<Time>,
    written: usize,
    sent: Vec<Sent>,
    /// When the device was last seen empty without an input.
    looked: Time,
}

fn set(key: &str, value: &str) -> Result<(), Error> {
    let write = fs::write(format!("/proc/sys/net/ipv4/{key}"), value);
    write.map_err(|e| Error::System("a setting of net.ipv4", e))
}

/// Name of the device that segments pass.
const DEVICE: &str = "tun0";
/// Maximum number of packets that the device holds for this program.
const QUEUE: i32 = 5_000;

/// Opens a TUN device with an address and a route to its neighbours.
fn open_tun() -> io::Result<OwnedFd> {
    let tun = device::open_tun(DEVICE, device::TUN_OFFLOADS_V4)?;
    device::set_up(DEVICE, wire::HERE, QUEUE)?;
    Ok(tun)
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Result<Run<'a>, Error> {
        let epoch = epoch();
        namespace::enter_new_network().map_err(Error::Permission)?;
        let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        set("tcp_no_metrics_save", "1")?;
        // A namespace's first control decides about pacing; Reno turns none on.
        set("tcp_congestion_control", "reno")?;
        // 2: without a random offset for each connection.
        set("tcp_timestamps", if plan.timestamps { "2" } else { "0" })?;
        set("tcp_sack", if plan.sack { "1" } else { "0" })?;
        set("tcp_ecn", "0")?;
        let tun = open_tun().map_err(Error::Permission)?;
        let socket = KernelSocket::tcp(IpAddr::V4(wire::HERE)).map_err(|e| Error::System("a socket", e))?;
        let option = |option, value: &[u8]| {
            socket.set_bytes(option, value).map_err(|e| Error::System("a socket option", e))
        };
        option(SocketOption::TCP_CONGESTION, plan.control.name().as_bytes())?;
        option(SocketOption::SO_SNDBUFFORCE, &(32i32 << 20).to_ne_bytes())?;
        if plan.paced {
            option(SocketOption::SO_MAX_PACING_RATE, &(1u64 << 40).to_ne_bytes())?;
        }
        schedule::assign(0, &schedule::own_cpu());
        schedule::set_precise_scheduling(Some(1));
        Ok(Run {
            plan,
            tun,
            socket,
            epoch,
            peer: Peer::new(plan),
            log: Log { plan: plan.clone(), events: Vec::new() },
            buffer: vec![0; 1 << 17],
            port: 0,
            first: 0,
            established: None,
            written: 0,
            sent: Vec::new(),
            looked: Time::ZERO,
        })
    }

    fn now(&self) -> Time {
        Time::from_nanos(monotonic() - self.epoch)
    }

    /// Difference between the kernel's timestamps and the log's.
    fn clock(&self) -> u32 {
        ((self.epoch / 1_000_000) as u32).wrapping_sub(1)
    }

    /// Reads what the kernel has sent. Returns whether there was anything.
    fn drain(&mut self) -> bool {
        while let Ok(n) = file::read(self.tun.as_fd(), &mut self.buffer) {
            self.sent.extend(wire::read(&self.buffer[..n]));
        }
        !self.sent.is_empty()
    }

    /// Logs an input that began at `at` and took `took`, with everything that it caused.
    fn note(&mut self, at: Time, took: Span, input: Input) -> Result<(), Error> {
        // A timer may expire between the packets and the snapshot; a second snapshot is then taken.
        let snapshot = loop {
            self.drain();
            let (snapshot, sent) = (self.snapshot()?, self.sent.len());
            self.drain();
            if self.sent.len() == sent {
                break snapshot;
            }
        };
        let mut out = Vec::new();
        for s in std::mem::take(&mut self.sent) {
            out.push(self.carry(at + took, s));
        }
        self.log.events.push(Event { at, took: took.as_nanos(), input, out, snapshot });
        Ok(())
    }

    fn snapshot(&self) -> Result<Snapshot, Error> {
        let mut info = [0; 256];
        let n = self
            .socket
            .get_bytes(SocketOption::TCP_INFO, &mut info)
            .map_err(|e| Error::System("TCP_INFO", e))?;
        let short = || Error::System("TCP_INFO", io::ErrorKind::Unsupported.into());
        Snapshot::of_kernel(&info[..n]).ok_or_else(short)
    }

    /// Passes a burst to the path, segment by segment.
    fn carry(&mut self, now: Time, s: Sent) -> Burst {
        let ts = if s.ts == 0 { 0 } else { s.ts.wrapping_sub(self.clock()) };
        if s.flags & Flags::SYN.0 != 0 {
            (self.port, self.first) = (s.port, s.seq.wrapping_add(1));
            self.peer.greet(now, ts);
            return Burst { seq: 0, len: 0, mss: 0, flags: s.flags, ts };
        }
        let seq = s.seq.wrapping_sub(self.first) as i32 as i64;
        let mut done = 0;
        while done < s.len {
            let len = s.mss.min(s.len - done);
            self.peer.send(now, Data { seq: seq as u64 + done as u64, len, ts });
            done += len;
        }
        Burst { seq, len: s.len, mss: s.mss, flags: s.flags, ts }
    }

    fn play(mut self) -> Result<Log, Error> {
        let begin = self.now();
        let to = SocketAddrV4::new(wire::THERE, wire::PORT);
        self.socket.connect(to.into()).map_err(|e| Error::System("connect", e))?;
        let done = self.now();
        self.note(begin, done.since(begin), Input::Connect)?;
        let end = begin + MAX_RUN;
        let mut over: Option<Time> = None;
        loop {
            self.note_timer()?;
            let looked = self.now();
            if looked >= end || over.is_some_and(|t| looked >= t) || self.log.events.len() >= MAX_EVENTS {
                return Ok(self.log);
            }
            if let Some(ack) = self.peer.take(looked) {
                self.deliver(ack)?;
                continue;
            }
            let write = self.next_write();
            if write.is_some_and(|at| at <= looked) {
                self.write()?;
                continue;
            }
            if over.is_none() && self.is_done() {
                over = Some(looked + IDLE_END);
            }
            let next = [self.peer.next(), write, over, Some(end)].into_iter().flatten().min().unwrap_or(end);
            let wait = Duration::from_nanos(next.since(self.now()).as_nanos());
            poll::wait_readable(self.tun.as_fd(), wait).map_err(|e| Error::System("poll", e))?;
        }
    }

    /// Logs packets that were sent without an input: a timer expired.
    fn note_timer(&mut self) -> Result<(), Error> {
        let looked = self.now();
        if !self.drain() {
            self.looked = looked;
            return Ok(());
        }
        self.note(looked, looked.since(self.looked), Input::Timer)
    }

    fn is_done(&self) -> bool {
        let snapshot = self.log.events.last().map(|e| e.snapshot);
        self.written == self.plan.writes.len() && snapshot.is_some_and(|l| l.is_quiet())
    }

    fn deliver(&mut self, ack: Ack) -> Result<(), Error> {
        let Plan { mss, sack, .. } = *self.plan;
        let frame = wire::frame(&ack, mss, sack, self.port, self.first, self.clock());
        self.note_timer()?;
        let at = self.now();
        file::write(self.tun.as_fd(), &frame).map_err(|e| Error::System("writing to the TUN device", e))?;
        let done = self.now();
        if ack.flags & Flags::SYN.0 != 0 {
            self.established = Some(done);
        }
        self.note(at, done.since(at), Input::Segment(ack))
    }

    fn next_write(&self) -> Option<Time> {
        let (after, _) = self.plan.writes.get(self.written)?;
        Some(self.established? + *after)
    }

    fn write(&mut self) -> Result<(), Error> {
        let bytes = vec![0; self.plan.writes[self.written].1 as usize];
        self.written += 1;
        self.note_timer()?;
        let at = self.now();
        let n = self.socket.send(&bytes).map_err(|e| Error::System("send", e))?;
        let done = self.now();
        self.note(at, done.since(at), Input::Write(n as u64))
    }
}
