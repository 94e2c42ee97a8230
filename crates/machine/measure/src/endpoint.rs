//! The datagram socket of a session, at either end: it is connected, so the kernel passes and sends datagrams
//! of one peer only.

use crate::datagram::{DatagramHead, DatagramKind, HEAD};
use crate::{Arrival, MAX_DATAGRAM, MAX_TRAIN_PACKETS, SessionId, TrainOrder};
use linux::datagram::{self, Fragmentation, StampedDatagram};
use linux::socket::{self, SocketOption};
use linux::{clock, poll, schedule};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Requested buffer of received datagrams, bytes; the kernel grants what its administrator permits.
const RECEIVE_BUFFER: i32 = 8 << 20;
/// Maximum pause that is waited for by spinning, ns: timers are later than that.
const SPIN_NS: u64 = 200_000;
/// Maximum time by which a train may fall behind its schedule and catch up in one burst, ns.
const MAX_LAG_NS: u64 = 2_000_000;
/// Maximum wait for room in the send buffer, per datagram.
const SEND_WAIT: Duration = Duration::from_millis(100);

/// A train that was sent.
#[derive(Debug, Default)]
pub struct SentTrain {
    /// When each datagram was sent, µs since the first.
    pub sent_us: Vec<u64>,
    /// Datagrams that had to wait for room in the send buffer.
    pub waited: u32,
}

/// A session's datagram socket.
pub struct Endpoint {
    socket: OwnedFd,
    is_v6: bool,
    session: SessionId,
}

impl Endpoint {
    /// Opens a socket from `local` to `remote`. The server's sockets share its port.
    pub fn open(local: SocketAddr, remote: SocketAddr, session: SessionId) -> io::Result<Endpoint> {
        let is_v6 = remote.is_ipv6();
        let socket = socket::udp_socket(is_v6)?;
        let fd = socket.as_fd();
        if local.port() != 0 {
            socket::set_option(fd, SocketOption::SO_REUSEPORT, 1)?;
        }
        // A smaller buffer only costs arrivals, which are counted.
        let _ = socket::set_option(fd, SocketOption::SO_RCVBUF, RECEIVE_BUFFER);
        datagram::report_stamps(fd, is_v6)?;
        socket::bind_to(fd, local)?;
        socket::connect_to(fd, remote)?;
        Ok(Endpoint { socket, is_v6, session })
    }

    /// Sends a datagram of `size` bytes, at least a head.
    pub fn send(&self, kind: DatagramKind, number: u32, size: usize) -> io::Result<usize> {
        let mut bytes = vec![0; size.clamp(HEAD, usize::from(MAX_DATAGRAM))];
        bytes[..HEAD].copy_from_slice(&DatagramHead { session: self.session, kind, number }.encode());
        socket::send(self.socket.as_fd(), &bytes)
    }

    /// Waits for datagrams of this session and passes each to `each`; returns after the timeout or when no
    /// datagram is left. Others are ignored.
    pub fn receive(&self, timeout: Duration, each: &mut dyn FnMut(DatagramHead, &StampedDatagram)) {
        let mut buffer = [0; MAX_DATAGRAM as usize];
        if !poll::wait_readable(self.socket.as_fd(), timeout).unwrap_or(false) {
            return;
        }
        // An error is that of a datagram sent before (ICMP); the next one may arrive.
        while let Ok(stamped) = datagram::receive_stamped(self.socket.as_fd(), &mut buffer) {
            let head = DatagramHead::decode(&buffer[..stamped.len.min(buffer.len())]);
            if let Some(head) = head.filter(|head| head.session == self.session) {
                each(head, &stamped);
            }
        }
    }

    /// Sends a train, at most at `limit` bit/s, for at most `time`; fewer datagrams than requested where the
    /// time was over.
    pub fn send_train(&self, order: &TrainOrder, limit: Option<u64>, time: Duration) -> SentTrain {
        let count = order.count.min(MAX_TRAIN_PACKETS);
        if order.sizes.is_empty() || order.tos.is_empty() {
            return SentTrain::default();
        }
        let fd = self.socket.as_fd();
        let whole = if order.whole { Fragmentation::Forbidden } else { Fragmentation::Allowed };
        let _ = datagram::set_fragmentation(fd, self.is_v6, whole);
        let rate = order.rate.clamp(8_000, limit.unwrap_or(u64::MAX).max(8_000));
        schedule::exact_timers();
        let (begin, mut due, mut tos) = (clock::monotonic(), clock::monotonic(), None);
        let mut sent = SentTrain::default();
        for i in 0..count {
            let size = usize::from(order.sizes[i as usize % order.sizes.len()].min(MAX_DATAGRAM)).max(HEAD);
            let wanted = order.tos[i as usize % order.tos.len()];
            if tos != Some(wanted) {
                let _ = datagram::set_tos(fd, self.is_v6, wanted);
                tos = Some(wanted);
            }
            wait_until(due);
            let now = clock::monotonic();
            if now.saturating_sub(begin) > time.as_nanos() as u64 {
                break;
            }
            sent.waited += u32::from(self.send_waiting(order.first.wrapping_add(i), size));
            sent.sent_us.push(now.saturating_sub(begin) / 1000);
            due = due.max(now.saturating_sub(MAX_LAG_NS)) + size as u64 * 8_000_000_000 / rate;
        }
        let _ = datagram::set_tos(fd, self.is_v6, 0);
        let _ = datagram::set_fragmentation(fd, self.is_v6, Fragmentation::Allowed);
        sent
    }

    /// Sends a datagram of a train, waiting for room. Returns whether it had to wait. One that the system
    /// refuses, such as one longer than the device's MTU, counts as lost.
    fn send_waiting(&self, number: u32, size: usize) -> bool {
        let (begin, mut had_to_wait) = (clock::monotonic(), false);
        while let Err(e) = self.send(DatagramKind::Train, number, size) {
            let waited = Duration::from_nanos(clock::monotonic().saturating_sub(begin));
            let is_full = matches!(e.kind(), io::ErrorKind::WouldBlock);
            // An ICMP error of an earlier datagram is reported once.
            let is_earlier = matches!(e.kind(), io::ErrorKind::ConnectionRefused);
            if !(is_full || is_earlier) || waited > SEND_WAIT {
                break;
            }
            had_to_wait |= is_full;
            std::thread::sleep(Duration::from_micros(50));
        }
        had_to_wait
    }
}

/// Waits until a time of the monotonic clock: sleeps, then spins.
fn wait_until(due: u64) {
    loop {
        let left = due.saturating_sub(clock::monotonic());
        match left {
            0 => return,
            _ if left > SPIN_NS => std::thread::sleep(Duration::from_nanos(left - SPIN_NS / 2)),
            _ => std::hint::spin_loop(),
        }
    }
}

/// The datagrams of trains that have arrived.
#[derive(Debug, Default)]
pub struct ArrivalLog {
    arrivals: Vec<Arrival>,
    /// Time of the first arrival, ns.
    first: u64,
    /// Datagrams dropped by the socket: now, and before the log was cleared.
    dropped: u32,
    dropped_before: u32,
}

impl ArrivalLog {
    /// Adds a datagram that arrived; those beyond the longest train are dropped.
    pub fn push(&mut self, number: u32, stamped: &StampedDatagram) {
        self.dropped = stamped.dropped;
        let Some(at) = stamped.at.filter(|_| self.arrivals.len() < MAX_TRAIN_PACKETS as usize) else {
            return;
        };
        if self.arrivals.is_empty() {
            self.first = at;
        }
        let at_us = at.saturating_sub(self.first) / 1000;
        let size = stamped.len.min(usize::from(u16::MAX)) as u16;
        self.arrivals.push(Arrival { number, at_us, size, tos: stamped.tos });
    }

    /// Forgets all arrivals.
    pub fn clear(&mut self) {
        *self = ArrivalLog { dropped: self.dropped, dropped_before: self.dropped, ..ArrivalLog::default() };
    }

    /// Returns the arrivals and the number of datagrams that were lost at this end.
    pub fn get(&self) -> (Vec<Arrival>, u32) {
        (self.arrivals.clone(), self.dropped.wrapping_sub(self.dropped_before))
    }
}
