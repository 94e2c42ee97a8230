//! A live capture as a stream of bytes, and what it learns of sockets meanwhile.

use crate::block;
use crate::filter::LiveFilter;
use crate::gate::{Gate, HeldPacket};
use crate::processes::ProcessTree;
use crate::sockets::{SocketLife, SocketTable};
use capture::PcapWriter;
use linux::packet_ring::{PacketRing, RingSize};
use linux::sock_diag::{Diag, Sock};
use linux::{namespace, poll};
use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use units::Time;

/// 16 MB: a second of 1 Gbit/s in full packets.
const RING: RingSize = RingSize { block: 1 << 18, blocks: 64, timeout_ms: 10 };
/// Processes are looked at so often, and sockets are sampled so often.
const LOOK: Duration = Duration::from_millis(20);
const SAMPLE: Duration = Duration::from_millis(100);
/// Looking and sampling each take a fiftieth of a core, at most,
const COST_SHARE: u32 = 50;
/// but come at least so often that a connection is found while its first packets wait ([`crate::gate::HOLD`]).
const LATEST: Duration = Duration::from_millis(120);
/// So many sockets are queried one by one; of more a dump of all is cheaper.
const FEW: usize = 32;
/// After the program has ended its connections may go on for this long.
const CLOSING: Duration = Duration::from_secs(1);
/// Packets of a connection may come so long after its socket has ended.
const LATE: Duration = Duration::from_secs(10);

/// TCP states (include/net/tcp_states.h).
const TCP_LISTEN: u8 = 10;
const TCP_CLOSE: u8 = 7;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveTarget {
    /// Everything that a filter lets by.
    Host,
    /// The connections of a process and its descendants.
    Process(u32),
}

/// How it is watched.
pub struct LiveOptions {
    /// What.
    pub target: LiveTarget,
    /// By which device; `None`: by all of the namespace.
    pub device: Option<String>,
    /// Which packets and sockets.
    pub filter: LiveFilter,
    /// For how long; `None`: until `ended` says so, or the process has ended.
    pub time: Option<Duration>,
    /// Says when to end; it is called at least fifty times a second.
    pub ended: Box<dyn FnMut() -> bool + Send>,
    /// Where the stream goes too.
    pub write: Option<Box<dyn Write + Send>>,
}

/// A live capture cannot begin.
#[derive(Debug)]
pub enum LiveError {
    /// There is no such process, or its namespace may not be entered.
    Process(u32, io::Error),
    /// There is no device of this name.
    Device(String, io::Error),
    /// The kernel has no sock_diag.
    Sockets(io::Error),
}

impl std::fmt::Display for LiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LiveError::Process(pid, e) if e.kind() == io::ErrorKind::NotFound => {
                write!(f, "there is no process {pid}")
            }
            LiveError::Process(pid, e) => {
                write!(f, "process {pid}: its network namespace cannot be entered: {e}")
            }
            LiveError::Device(name, _) => write!(f, "there is no network device `{name}`"),
            LiveError::Sockets(e) => write!(f, "the kernel does not list sockets (sock_diag): {e}"),
        }
    }
}

impl std::error::Error for LiveError {}

/// Where packets come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PacketSource {
    /// A ring that is shared with the kernel.
    #[default]
    Ring,
    /// Nowhere: the user may not see packets (CAP_NET_RAW), or the kernel gives no ring; why.
    Nowhere(String),
}

/// What a capture learned besides packets; complete when the stream has ended.
#[derive(Clone, Debug, Default)]
pub struct LiveAccount {
    /// Where packets came from.
    pub packets: PacketSource,
    /// Packets that the kernel dropped because they were read too slowly.
    pub drops: u64,
    /// The sockets that were watched.
    pub sockets: Vec<SocketLife>,
    /// Sockets that are not among them: of so many only those with most bytes are kept.
    pub forgotten: u64,
    /// When it began.
    pub begin: Time,
    /// When it ended.
    pub end: Time,
    /// Why the stream could not be written, where it was to be.
    pub write_error: Option<String>,
}

/// A live capture in the pcap format, with nanoseconds and packets that begin with their IP header.
pub struct LiveCapture {
    options: LiveOptions,
    account: Arc<Mutex<LiveAccount>>,
    ring: Option<PacketRing>,
    diag: Diag,
    tree: Option<ProcessTree>,
    /// One of its processes is left.
    alive: bool,
    /// Inodes of sockets that the processes hold and that are not followed: they are not connected, or not of TCP.
    strangers: BTreeSet<u32>,
    table: SocketTable,
    /// Where only some connections are wanted.
    gate: Option<Gate>,
    /// Connections that have ended, and when.
    past: VecDeque<(Instant, (SocketAddr, SocketAddr))>,
    out: Vec<u8>,
    read: usize,
    begin: Instant,
    next_look: Instant,
    next_sample: Instant,
    /// The program has ended; what is left of its connections is waited for until then.
    closing: Option<Instant>,
    done: bool,
}

/// What is opened in the namespace that is watched.
struct Opened {
    ring: Result<PacketRing, String>,
    diag: Diag,
}

fn open(device: Option<&str>, filter: &LiveFilter) -> Result<Opened, LiveError> {
    let index = match device {
        None => 0,
        Some(name) => linux::device::index(name).map_err(|e| LiveError::Device(name.into(), e))?,
    };
    let ring = PacketRing::new(&filter.program(), index, RING).map_err(|e| match e.kind() {
        io::ErrorKind::PermissionDenied => "this user may not see packets (CAP_NET_RAW)".into(),
        _ => format!("the kernel gives no packet ring: {e}"),
    });
    Ok(Opened { ring, diag: Diag::new().map_err(LiveError::Sockets)? })
}

impl LiveCapture {
    /// Opens what is needed; from now on packets and sockets are seen. Privileges are not needed afterwards, but to look at
    /// processes of other users.
    ///
    /// # Errors
    /// See [`LiveError`].
    pub fn open(mut options: LiveOptions) -> Result<(LiveCapture, Arc<Mutex<LiveAccount>>), LiveError> {
        let (device, filter) = (options.device.as_deref(), &options.filter);
        let opened = match options.target {
            LiveTarget::Host => open(device, filter)?,
            LiveTarget::Process(pid) => {
                let failed = |e| LiveError::Process(pid, e);
                let path = format!("/proc/{pid}/ns/net");
                fs::metadata(format!("/proc/{pid}")).map_err(failed)?;
                match is_own(&path) {
                    true => open(device, filter)?,
                    false => {
                        let file = File::open(&path).map_err(failed)?;
                        namespace::within(file.as_fd(), || open(device, filter)).map_err(failed)??
                    }
                }
            }
        };
        let mut out = Vec::new();
        // A vector takes all.
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
            LiveTarget::Host => None,
            LiveTarget::Process(pid) => Some(ProcessTree::new(pid)),
        };
        let start = Instant::now();
        let capture = LiveCapture {
            gate: tree.as_ref().map(|_| Gate::default()),
            account: account.clone(),
            options,
            ring,
            diag: opened.diag,
            tree,
            alive: true,
            strangers: BTreeSet::new(),
            table: SocketTable::default(),
            past: VecDeque::new(),
            out,
            read: 0,
            begin: start,
            next_look: start,
            next_sample: start,
            closing: None,
            done: false,
        };
        Ok((capture, account))
    }

    /// Waits for packets, or until something is due, and does what is due.
    fn pump(&mut self) {
        let wait = self.next_look.min(self.next_sample).saturating_duration_since(Instant::now());
        match &self.ring {
            Some(ring) => {
                let _ = poll::wait_readable(ring.as_fd(), wait);
            }
            None => thread::sleep(wait),
        }
        self.take_block();
        self.chores();
        self.release(now());
        let ended = (self.options.ended)();
        let over = self.options.time.is_some_and(|time| self.begin.elapsed() >= time);
        if ended && self.closing.is_none() {
            self.closing = Some(Instant::now() + CLOSING);
        }
        let closed = self.closing.is_some_and(|until| Instant::now() >= until || self.table.len() == 0);
        let gone = self.closing.is_none() && !self.alive && self.table.len() == 0;
        if over || closed || gone {
            self.finish();
        }
    }

    /// The packets of one block of the ring.
    fn take_block(&mut self) -> bool {
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

    /// Packets that have waited for long enough go to the stream.
    fn release(&mut self, now: Time) {
        let Some(gate) = &mut self.gate else { return };
        while let Some(packet) = gate.pop(now) {
            record(&mut self.out, packet.time, packet.bytes(), packet.length);
        }
    }

    /// Looks at processes and samples sockets, when that is due.
    fn chores(&mut self) {
        let start = Instant::now();
        if start >= self.next_look {
            let cost = costs(|| self.look());
            self.next_look = start + LOOK.max(cost * COST_SHARE).min(LATEST);
        }
        if start >= self.next_sample {
            let cost = costs(|| self.sample());
            self.next_sample = start + SAMPLE.max(cost * COST_SHARE);
        }
        while self.past.front().is_some_and(|past| past.0.elapsed() > LATE) {
            let past = self.past.pop_front();
            if let Some((gate, (_, (a, b)))) = self.gate.as_mut().zip(past) {
                gate.dismiss(a, b);
            }
        }
    }

    /// Finds sockets that the processes have opened since the last look, and takes the last numbers of those that have ended.
    fn look(&mut self) {
        let mut ended = Vec::new();
        // What cannot be read now is not there; the next dump shows what is.
        let _ = self.diag.ended(&mut ended);
        let at = now();
        for sock in &ended {
            if let Some(ends) = self.table.end(sock, at) {
                self.past.push_back((Instant::now(), ends));
            }
        }
        let Some(tree) = &mut self.tree else { return };
        self.alive = tree.look();
        let mut held = BTreeSet::new();
        tree.sockets(&mut held);
        self.table.inodes().for_each(|inode| _ = held.remove(&inode));
        let new = held.difference(&self.strangers).next().is_some();
        self.strangers = held;
        if new {
            self.dump();
        }
    }

    /// Takes a sample of every socket that is followed.
    fn sample(&mut self) {
        if self.tree.is_none() || self.table.len() > FEW || !self.strangers.is_empty() {
            return self.dump();
        }
        let at = now();
        let open: Vec<Sock> = self.table.open().cloned().collect();
        for sock in open {
            match self.diag.again(&sock) {
                Ok(Some(again)) => _ = self.table.seen(&again, at),
                Ok(None) => self.past.extend(self.table.gone(sock.cookie).map(|ends| (Instant::now(), ends))),
                Err(_) => {}
            }
        }
    }

    /// Takes a sample of every socket there is that is wanted: of processes those that they hold, and those already followed.
    fn dump(&mut self) {
        let mut all = Vec::new();
        if self.diag.dump(&mut all).is_err() {
            return;
        }
        let at = now();
        let mut there = BTreeSet::new();
        for sock in &all {
            let connects = sock.state != TCP_LISTEN && sock.state != TCP_CLOSE;
            let wanted = match &self.tree {
                Some(_) => self.strangers.contains(&sock.inode) || self.table.has(sock.cookie),
                None => true,
            };
            if connects && wanted && self.options.filter.matches(sock.local, sock.remote) {
                there.insert(sock.cookie);
                if self.table.seen(sock, at)
                    && let Some(gate) = &mut self.gate
                {
                    gate.admit(sock.local, sock.remote);
                }
            }
        }
        let missing: Vec<u64> = self.table.open().map(|s| s.cookie).filter(|c| !there.contains(c)).collect();
        for cookie in missing {
            self.past.extend(self.table.gone(cookie).map(|ends| (Instant::now(), ends)));
        }
    }

    /// Takes what is left, and ends the stream.
    fn finish(&mut self) {
        // A block that is not full is handed over after its timeout.
        thread::sleep(Duration::from_millis(3 * u64::from(RING.timeout_ms)));
        while self.take_block() {}
        self.look();
        self.sample();
        self.release(Time::from_nanos(u64::MAX));
        self.done = true;
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.drops = self.ring.as_mut().map_or(0, PacketRing::drops);
        account.end = now();
        (account.sockets, account.forgotten) = std::mem::take(&mut self.table).finish();
    }

    /// Writes what is new in the stream where it is to be written too.
    fn tee(&mut self) {
        let Some(file) = &mut self.options.write else { return };
        let last = if self.done {
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
        if self.read == self.out.len() && !self.done {
            self.out.clear();
            self.read = 0;
            while self.out.is_empty() && !self.done {
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

/// Adds a packet to the stream.
fn record(out: &mut Vec<u8>, time: Time, kept: &[u8], length: u32) {
    // A vector takes all.
    let _ = PcapWriter::resume(out).write_cut(time, kept, length);
}

/// CPU time that some work takes: the time on the wall would count what other programs take.
fn costs(work: impl FnOnce()) -> Duration {
    let begin = linux::clock::thread_cpu();
    work();
    Duration::from_nanos(linux::clock::thread_cpu().saturating_sub(begin))
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos(since.as_nanos() as u64)
}

/// Whether a file is the network namespace of this thread.
fn is_own(path: &str) -> bool {
    let inode = |path: &str| fs::metadata(path).map(|m| m.ino()).ok();
    inode(path).is_some_and(|i| inode("/proc/thread-self/ns/net") == Some(i))
}
