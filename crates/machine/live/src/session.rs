//! A live capture as a byte stream, and the sockets that it samples meanwhile.

use crate::block;
use crate::filter::LiveFilter;
use crate::gate::{Gate, HeldPacket};
use crate::processes::{ProcessTree, SocketOwners, all_sockets, named};
use crate::sockets::{Keep, Moment, SocketLife, SocketReport, SocketTable};
use capture::PcapWriter;
use linux::packet_ring::{PacketRing, RingSize};
use linux::sock_diag::{Diag, SocketId};
use linux::{namespace, poll};
use result::watch::{WATCH_SCHEMA, WatchReport};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use units::Time;

/// Size of the packet ring, 12 MB: 0.7 seconds of 1 Gbit/s in full packets.
const RING: RingSize = RingSize { block: 1 << 18, blocks: 48, timeout_ms: 20 };
/// Intervals of checking processes and of sampling sockets.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum share of a core that checking and sampling each use: one in this many.
const COST_SHARE: u32 = 100;
/// Maximum interval of checking and of sampling: a connection must be found while its first packets wait
/// ([`crate::gate::MAX_LOOKUP_TIME`]).
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(120);
/// Maximum number of sockets that are queried one by one; for more, a dump of all is cheaper.
const MAX_SINGLE_QUERIES: usize = 32;
/// Time that connections may continue after the program has ended.
const CLOSING_TIME: Duration = Duration::from_secs(1);
/// Time that packets of a connection may arrive after its socket has ended.
const MAX_PACKET_DELAY: Duration = Duration::from_secs(10);

/// Interval of reports, and how much earlier one may come if a sample has just been taken.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
const REPORT_TOLERANCE: Duration = Duration::from_millis(50);
/// Minimum interval of searches for the processes of all sockets of a host.
const OWNERS_INTERVAL: Duration = Duration::from_secs(1);

/// TCP states (include/net/tcp_states.h).
const TCP_LISTEN: u8 = 10;
const TCP_CLOSE: u8 = 7;

/// The packets to capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTarget {
    /// All packets that the filter matches.
    Host,
    /// The connections of a process and its descendants.
    Process(u32),
    /// All connections in the network namespace of a process, until it and its connections have ended.
    Namespace(u32),
}

/// Options of a live capture.
pub struct LiveOptions {
    pub target: LiveTarget,
    /// Capture device; `None`: all devices of the namespace.
    pub device: Option<String>,
    /// Filter of packets and sockets.
    pub filter: LiveFilter,
    /// Duration; `None`: until `ended` returns true, or the process has ended.
    pub time: Option<Duration>,
    /// Returns whether to end; called at least fifty times per second.
    pub ended: Box<dyn FnMut() -> bool + Send>,
    /// Additional output of the stream.
    pub write: Option<Box<dyn Write + Send>>,
    /// Receives what the connections did, about once a second.
    pub report: Option<OnReport>,
    /// Maximum number of connections in a report, those with the most bytes; `None`: all. The others are
    /// counted.
    pub top: Option<usize>,
    /// Whether to capture packets and to keep what [`LiveAccount`] holds at the end. Without, memory does
    /// not grow with the duration, and the stream is empty.
    pub keep: bool,
}

/// Takes a report. Returns false if it has no room for it: then the next one also covers its time. Must not
/// block, because packets are not read meanwhile.
pub type OnReport = Box<dyn FnMut(WatchReport) -> bool + Send>;

/// Errors that prevent a live capture.
#[derive(Debug)]
pub enum LiveError {
    /// The process does not exist, or its namespace may not be entered.
    Process(u32, io::Error),
    /// The device does not exist.
    Device(String, io::Error),
    /// The kernel lacks sock_diag.
    Sockets(io::Error),
}

impl std::fmt::Display for LiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LiveError::Process(pid, e) if e.kind() == io::ErrorKind::NotFound => {
                write!(f, "process {pid} does not exist")
            }
            LiveError::Process(pid, e) => {
                write!(f, "process {pid}: its network namespace cannot be entered: {e}")
            }
            LiveError::Device(name, _) => write!(f, "network device `{name}` does not exist"),
            LiveError::Sockets(e) => write!(f, "the kernel cannot list sockets (sock_diag): {e}"),
        }
    }
}

impl std::error::Error for LiveError {}

/// Source of the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PacketSource {
    /// A ring shared with the kernel.
    #[default]
    Ring,
    /// No packets, with the reason.
    Nowhere(NoPackets),
}

/// Why there are no packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPackets {
    /// None were wanted.
    Unwanted,
    /// The user may not capture.
    NotPermitted,
    /// The kernel provides no ring, with its error.
    NoRing(String),
}

/// Results of a capture, other than its packets; complete when the stream has ended.
#[derive(Clone, Debug, Default)]
pub struct LiveAccount {
    pub packets: PacketSource,
    /// Packets that the kernel dropped because they were read too slowly.
    pub drops: u64,
    /// The sampled sockets.
    pub sockets: Vec<SocketLife>,
    /// Number of further sockets that were dropped from `sockets`, which keeps those with the most bytes.
    pub forgotten: u64,
    pub begin: Time,
    pub end: Time,
    /// Error of writing the additional output.
    pub write_error: Option<String>,
}

/// A live capture in the pcap format, with nanoseconds, and packets that start with the IP header.
pub struct LiveCapture {
    options: LiveOptions,
    account: Arc<Mutex<LiveAccount>>,
    ring: Option<PacketRing>,
    diag: Diag,
    tree: Option<ProcessTree>,
    /// Whether any watched process still runs.
    is_alive: bool,
    /// Inodes of sockets that the processes hold and that are not tracked: not connected, or not TCP.
    untracked: BTreeSet<u32>,
    table: SocketTable,
    /// Present if only some connections are wanted.
    gate: Option<Gate>,
    /// Ended connections, with the time of their end.
    ended_connections: VecDeque<(Instant, (SocketAddr, SocketAddr))>,
    out: Vec<u8>,
    read: usize,
    begin: Instant,
    next_check: Instant,
    next_sample: Instant,
    next_report: Instant,
    last_report: Instant,
    next_owners: Instant,
    /// Deadline for remaining connections after the program has ended.
    closing: Option<Instant>,
    is_done: bool,
}

/// Resources opened in the watched namespace.
struct Opened {
    ring: Result<PacketRing, NoPackets>,
    diag: Diag,
}

fn open(device: Option<&str>, filter: &LiveFilter, keep: bool) -> Result<Opened, LiveError> {
    let index = match device {
        None => 0,
        Some(name) => linux::device::index(name).map_err(|e| LiveError::Device(name.into(), e))?,
    };
    let ring = match keep {
        false => Err(NoPackets::Unwanted),
        true => PacketRing::new(&filter.program(), index, RING).map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => NoPackets::NotPermitted,
            _ => NoPackets::NoRing(e.to_string()),
        }),
    };
    Ok(Opened { ring, diag: Diag::new().map_err(LiveError::Sockets)? })
}

impl LiveCapture {
    /// Opens a capture; packets and sockets are recorded from now on. Afterwards privileges are only needed
    /// to inspect processes of other users.
    ///
    /// # Errors
    /// Fails with a [`LiveError`].
    pub fn open(mut options: LiveOptions) -> Result<(LiveCapture, Arc<Mutex<LiveAccount>>), LiveError> {
        let (device, filter, keep) = (options.device.as_deref(), &options.filter, options.keep);
        let opened = match options.target {
            LiveTarget::Host => open(device, filter, keep)?,
            LiveTarget::Process(pid) | LiveTarget::Namespace(pid) => {
                let failed = |e| LiveError::Process(pid, e);
                let path = format!("/proc/{pid}/ns/net");
                fs::metadata(format!("/proc/{pid}")).map_err(failed)?;
                match is_own(&path) {
                    true => open(device, filter, keep)?,
                    false => {
                        let file = File::open(&path).map_err(failed)?;
                        namespace::within(file.as_fd(), || open(device, filter, keep)).map_err(failed)??
                    }
                }
            }
        };
        let mut out = Vec::new();
        // Writing to a vector cannot fail.
        let _ = PcapWriter::new(&mut out);
        if let Some(file) = &mut options.write {
            let _ = file.write_all(&out);
        }
        let begin = now();
        let (ring, packets) = match opened.ring {
            Ok(ring) => (Some(ring), PacketSource::Ring),
            Err(why) => (None, PacketSource::Nowhere(why)),
        };
        let account = Arc::new(Mutex::new(LiveAccount { packets, begin, ..LiveAccount::default() }));
        let tree = match options.target {
            LiveTarget::Host | LiveTarget::Namespace(_) => None,
            LiveTarget::Process(pid) => Some(ProcessTree::new(pid)),
        };
        let start = Instant::now();
        let keep = Keep { history: options.keep, recent: options.report.is_some() };
        // A program that will be started has no connections yet.
        let all_are_new = options.target == LiveTarget::Process(std::process::id());
        let capture = LiveCapture {
            gate: tree.as_ref().map(|_| Gate::default()),
            account: account.clone(),
            options,
            ring,
            diag: opened.diag,
            tree,
            is_alive: true,
            untracked: BTreeSet::new(),
            table: SocketTable::new(keep, all_are_new),
            ended_connections: VecDeque::new(),
            out,
            read: 0,
            begin: start,
            next_check: start,
            next_sample: start,
            next_report: start + REPORT_INTERVAL,
            last_report: start,
            next_owners: start,
            closing: None,
            is_done: false,
        };
        Ok((capture, account))
    }

    /// Waits for packets or until work is due, and does it.
    fn pump(&mut self) {
        let wait = self.next_check.min(self.next_sample).saturating_duration_since(Instant::now());
        match &self.ring {
            Some(ring) => {
                let _ = poll::wait_readable(ring.as_fd(), wait);
            }
            None => thread::sleep(wait),
        }
        self.read_block();
        self.run_due_work();
        self.release(now());
        let ended = (self.options.ended)();
        let is_over = self.options.time.is_some_and(|time| self.begin.elapsed() >= time);
        if ended && self.closing.is_none() {
            self.closing = Some(Instant::now() + CLOSING_TIME);
        }
        let closed = self.closing.is_some_and(|until| Instant::now() >= until || self.table.len() == 0);
        let nothing_left = self.closing.is_none() && !self.is_alive && self.table.len() == 0;
        if is_over || closed || nothing_left {
            self.finish();
        }
    }

    /// Reads the packets of one block of the ring.
    fn read_block(&mut self) -> bool {
        let (gate, out) = (&mut self.gate, &mut self.out);
        let Some(ring) = &mut self.ring else { return false };
        ring.next_block(&mut |block| {
            for packet in block::packets(block) {
                match gate {
                    Some(gate) => gate.push(HeldPacket::new(packet.time, packet.bytes, packet.length)),
                    None => record(out, packet.time, packet.bytes, packet.length),
                }
            }
        })
    }

    /// Writes packets that have waited long enough to the stream.
    fn release(&mut self, now: Time) {
        let Some(gate) = &mut self.gate else { return };
        while let Some(packet) = gate.pop(now) {
            record(&mut self.out, packet.time, packet.bytes(), packet.length);
        }
    }

    /// Checks processes and samples sockets, when due.
    fn run_due_work(&mut self) {
        let start = Instant::now();
        if start >= self.next_check {
            let cost = cpu_time(|| self.check_processes());
            self.next_check = start + CHECK_INTERVAL.max(cost * COST_SHARE).min(MAX_CHECK_INTERVAL);
        }
        if start >= self.next_sample {
            let cost = cpu_time(|| self.sample());
            self.next_sample = start + SAMPLE_INTERVAL.max(cost * COST_SHARE);
            if start + REPORT_TOLERANCE >= self.next_report {
                self.report();
                self.next_report = (self.next_report + REPORT_INTERVAL).max(start);
            }
        }
        while self
            .ended_connections
            .front()
            .is_some_and(|ended_connections| ended_connections.0.elapsed() > MAX_PACKET_DELAY)
        {
            let ended_connections = self.ended_connections.pop_front();
            if let Some((gate, (_, (a, b)))) = self.gate.as_mut().zip(ended_connections) {
                gate.dismiss(a, b);
            }
        }
    }

    /// Finds sockets that the processes have opened since the last check, and records the final counters of
    /// ended ones.
    fn check_processes(&mut self) {
        let mut ended = Vec::new();
        // Ignore errors; the next dump shows the current sockets.
        let _ = self.diag.ended(&mut ended);
        let at = self.moment();
        for sock in &ended {
            // Of a process's sockets only those are known that were found while they were open.
            let counts_all = self.tree.is_none()
                && sock.remote.port() != 0
                && self.options.filter.matches(sock.local, sock.remote);
            let ends = self.table.record_end(sock, at, counts_all);
            self.note_end(ends);
        }
        if let LiveTarget::Namespace(pid) = self.options.target {
            self.is_alive = fs::metadata(format!("/proc/{pid}/ns/net")).is_ok();
        }
        let Some(tree) = &mut self.tree else { return };
        self.is_alive = tree.update();
        let owners = tree.sockets();
        let mut sockets: BTreeSet<u32> = owners.keys().copied().collect();
        self.table.inodes().for_each(|inode| _ = sockets.remove(&inode));
        let new = sockets.difference(&self.untracked).next().is_some();
        self.untracked = sockets;
        if new {
            self.dump();
        }
        if self.table.needs_owners() {
            self.set_owners(&owners);
        }
    }

    /// Notes that a connection has ended, so that the gate stops passing its packets later.
    fn note_end(&mut self, ends: Option<(SocketAddr, SocketAddr)>) {
        if self.gate.is_some() {
            self.ended_connections.extend(ends.map(|ends| (Instant::now(), ends)));
        }
    }

    /// Gives sockets the processes that hold them.
    fn set_owners(&mut self, owners: &SocketOwners) {
        let mut names = BTreeMap::new();
        self.table.set_owners(|inode| {
            let pid = *owners.get(&inode)?;
            names.entry(pid).or_insert_with(|| named(pid)).clone()
        });
    }

    /// Reports what the connections did since the last report.
    fn report(&mut self) {
        if self.options.report.is_none() {
            return;
        }
        if self.tree.is_none() && self.table.needs_owners() && Instant::now() >= self.next_owners {
            let cost = cpu_time(|| self.set_owners(&all_sockets()));
            self.next_owners = Instant::now() + OWNERS_INTERVAL.max(cost * COST_SHARE);
        }
        let now = Instant::now();
        let SocketReport { connections, count, bytes } = self.table.describe(self.options.top);
        let seconds = now.duration_since(self.last_report).as_secs_f64();
        let [sent_mbps, received_mbps] =
            bytes.map(|bytes| (bytes as f64 * 8.0 / seconds.max(1e-3)).round() / 1e6);
        let report = WatchReport {
            schema: WATCH_SCHEMA.into(),
            at_s: crate::session::now().as_secs_f64(),
            elapsed_s: now.duration_since(self.begin).as_secs_f64(),
            seconds,
            count,
            sent_mbps,
            received_mbps,
            omitted: count - connections.len() as u64,
            missed_packets: self.ring.as_mut().map_or(0, PacketRing::drops),
            connections,
        };
        if self.options.report.as_mut().is_some_and(|report_to| report_to(report)) {
            self.table.advance();
            self.last_report = now;
        }
    }

    /// Returns the current time by both clocks.
    fn moment(&self) -> Moment {
        Moment { wall: now(), elapsed: Time::from_nanos(self.begin.elapsed().as_nanos() as u64) }
    }

    /// Samples every tracked socket.
    fn sample(&mut self) {
        if self.tree.is_none() || self.table.len() > MAX_SINGLE_QUERIES || !self.untracked.is_empty() {
            return self.dump();
        }
        let at = self.moment();
        let open: Vec<SocketId> = self.table.open().collect();
        for id in open {
            match self.diag.query(id) {
                Ok(Some(again)) => _ = self.table.update(&again, at),
                Ok(None) => {
                    let ends = self.table.miss(id.cookie);
                    self.note_end(ends);
                }
                Err(_) => {}
            }
        }
        self.table.finish_pass(at.elapsed);
    }

    /// Samples all wanted sockets: for a process those that its tree holds and those already tracked.
    fn dump(&mut self) {
        let at = self.moment();
        let LiveCapture { diag, table, tree, untracked, options, gate, .. } = self;
        table.begin_pass();
        let read = diag.each(&mut |sock| {
            let connects = sock.state != TCP_LISTEN && sock.state != TCP_CLOSE;
            let wanted = tree.is_none() || untracked.contains(&sock.inode) || table.is_tracked(sock.cookie);
            if connects
                && wanted
                && options.filter.matches(sock.local, sock.remote)
                && table.update(&sock, at)
                && let Some(gate) = gate
            {
                gate.admit(sock.local, sock.remote);
            }
        });
        if read.is_err() {
            return;
        }
        for cookie in self.table.not_reported() {
            let ends = self.table.miss(cookie);
            self.note_end(ends);
        }
        self.table.finish_pass(at.elapsed);
    }

    /// Reads the remaining packets and ends the stream.
    fn finish(&mut self) {
        // A partly filled block is passed on after its timeout.
        thread::sleep(Duration::from_millis(3 * u64::from(RING.timeout_ms)));
        while self.read_block() {}
        self.check_processes();
        self.sample();
        self.report();
        self.release(Time::from_nanos(u64::MAX));
        self.is_done = true;
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.drops = self.ring.as_mut().map_or(0, PacketRing::drops);
        account.end = now();
        (account.sockets, account.forgotten) = std::mem::take(&mut self.table).finish();
    }

    /// Writes new bytes of the stream to the additional output.
    fn tee(&mut self) {
        let Some(file) = &mut self.options.write else { return };
        let last = if self.is_done {
            file.write_all(&self.out).and_then(|()| file.flush())
        } else {
            file.write_all(&self.out)
        };
        if let Err(e) = last {
            self.account.lock().unwrap_or_else(PoisonError::into_inner).write_error = Some(e.to_string());
            self.options.write = None;
        }
    }
}

impl Read for LiveCapture {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read == self.out.len() && !self.is_done {
            self.out.clear();
            self.read = 0;
            while self.out.is_empty() && !self.is_done {
                self.pump();
            }
            self.tee();
        }
        let n = (self.out.len() - self.read).min(buffer.len());
        buffer[..n].copy_from_slice(&self.out[self.read..self.read + n]);
        self.read += n;
        Ok(n)
    }
}

/// Appends a packet to the stream.
fn record(out: &mut Vec<u8>, time: Time, kept: &[u8], length: u32) {
    // Writing to a vector cannot fail.
    let _ = PcapWriter::resume(out).write_cut(time, kept, length);
}

/// Returns the CPU time of some work; wall time would include other programs.
fn cpu_time(work: impl FnOnce()) -> Duration {
    let begin = linux::clock::thread_cpu();
    work();
    Duration::from_nanos(linux::clock::thread_cpu().saturating_sub(begin))
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos(since.as_nanos() as u64)
}

/// Whether a file is this thread's network namespace.
fn is_own(path: &str) -> bool {
    let inode = |path: &str| fs::metadata(path).map(|m| m.ino()).ok();
    inode(path).is_some_and(|i| inode("/proc/thread-self/ns/net") == Some(i))
}
