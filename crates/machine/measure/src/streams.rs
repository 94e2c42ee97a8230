//! Sends and receives the streams of a test, and reads the kernel's counters of them.

use crate::message::StreamsReport;
use crate::{BIN_MS, StreamCounters};
use linux::epoll::{EventQueue, EventWatch};
use linux::socket::{self, SocketOption};
use linux::tcp_info::TcpInfo;
use linux::{clock, random};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes given to a socket in one call.
const CHUNK: usize = 64 << 10;
/// Bytes taken from a socket in one call.
const MAX_READ: usize = 256 << 10;
/// Time after the end of a test within which the last bytes must arrive, ms.
const GRACE_MS: u64 = 1500;

/// A stream connection with the address of the client's end.
pub struct StreamConnection {
    pub socket: OwnedFd,
    pub client: SocketAddr,
}

/// Bounds of a test.
#[derive(Clone, Copy, Debug)]
pub struct StreamBounds {
    /// Duration, ms.
    pub ms: u64,
    /// Bytes of all streams together.
    pub bytes: u64,
    /// Rate of all streams together, bit/s.
    pub rate: Option<u64>,
}

/// Sends on all streams as fast as TCP lets, until a bound is met, and resets them. Returns the report and
/// the number of bytes given to the sockets. `tick` is called at least every 50 ms and ends the test by
/// `false`.
///
/// # Errors
/// Fails with the system's error; a connection that the peer closes only ends itself.
pub fn send(
    streams: &[StreamConnection],
    bounds: StreamBounds,
    tick: &mut dyn FnMut() -> bool,
) -> io::Result<(StreamsReport, u64)> {
    // What a link compresses would seem fast.
    let mut data = vec![0; CHUNK];
    random::fill(&mut data)?;
    let queue = EventQueue::new()?;
    for (token, stream) in streams.iter().enumerate() {
        if let Some(rate) = bounds.rate {
            let each = (rate / 8 / streams.len() as u64).clamp(1, u64::from(u32::MAX)) as u32;
            let _ = socket::set_option(stream.socket.as_fd(), SocketOption::SO_MAX_PACING_RATE, each as i32);
        }
        let writes = EventWatch::Level { read: false, write: true };
        queue.watch(stream.socket.as_fd(), token as u64, writes)?;
    }
    let begin = clock::monotonic();
    let (mut sent, mut open, mut ready, mut waited) = (0, streams.len(), Vec::new(), 0);
    while open > 0 && since_ms(begin) < bounds.ms && sent < bounds.bytes && tick() {
        let full = clock::monotonic();
        queue.wait(&mut ready, 50)?;
        waited += clock::monotonic() - full;
        for event in &ready {
            let Some(stream) = streams.get(event.token as usize) else { continue };
            match socket::send(stream.socket.as_fd(), &data) {
                Ok(n) => sent += n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => {
                    queue.forget(stream.socket.as_fd());
                    open -= 1;
                }
            }
        }
    }
    let waited_share = Some(waited as f64 / (clock::monotonic() - begin).max(1) as f64);
    let report =
        StreamsReport { streams: streams.iter().map(counters).collect(), bins: Vec::new(), waited_share };
    streams.iter().for_each(|s| socket::reset_on_close(s.socket.as_fd()));
    Ok((report, sent))
}

/// Receives on all streams until the peer has ended them or a bound is met. Returns the report and the number
/// of bytes received. `tick` as in [`send`].
///
/// # Errors
/// Fails with the system's error.
pub fn receive(
    streams: &[StreamConnection],
    bounds: StreamBounds,
    tick: &mut dyn FnMut() -> bool,
) -> io::Result<(StreamsReport, u64)> {
    let queue = EventQueue::new()?;
    for (token, stream) in streams.iter().enumerate() {
        queue.watch(stream.socket.as_fd(), token as u64, EventWatch::Level { read: true, write: false })?;
    }
    let begin = clock::monotonic();
    let (mut received, mut open, mut ready) = (0, streams.len(), Vec::new());
    let mut bins = vec![0; bounds.ms.div_ceil(BIN_MS) as usize];
    // The counters of a connection that has ended are gone: the last ones are kept.
    let mut last: Vec<StreamCounters> = streams.iter().map(counters).collect();
    let mut looked = begin;
    while open > 0 && since_ms(begin) < bounds.ms + GRACE_MS && received < bounds.bytes && tick() {
        queue.wait(&mut ready, 50)?;
        if bounds.rate.is_some_and(|rate| received > allowed(rate, since_ms(begin))) {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        }
        for event in &ready {
            let Some(stream) = streams.get(event.token as usize) else { continue };
            match socket::discard(stream.socket.as_fd(), MAX_READ) {
                Ok(n) if n > 0 => {
                    received += n as u64;
                    if let Some(bin) = bins.get_mut((since_ms(begin) / BIN_MS) as usize) {
                        *bin += n as u64;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Ok(_) | Err(_) => {
                    queue.forget(stream.socket.as_fd());
                    open -= 1;
                }
            }
        }
        if clock::monotonic() - looked > BIN_MS * 1_000_000 {
            looked = clock::monotonic();
            last.iter_mut().zip(streams).for_each(|(last, stream)| keep(last, counters(stream)));
        }
    }
    last.iter_mut().zip(streams).for_each(|(last, stream)| keep(last, counters(stream)));
    bins.truncate((since_ms(begin).div_ceil(BIN_MS)) as usize);
    Ok((StreamsReport { streams: last, bins, waited_share: None }, received))
}

/// Replaces the last counters by newer ones that are not empty.
fn keep(last: &mut StreamCounters, new: StreamCounters) {
    if new.received >= last.received && !new.control.is_empty() {
        *last = new;
    }
}

/// Bytes that a rate allows in some ms, with 100 ms in advance.
fn allowed(rate: u64, ms: u64) -> u64 {
    (u128::from(rate) * u128::from(ms + 100) / 8000) as u64
}

fn since_ms(begin: u64) -> u64 {
    (clock::monotonic() - begin) / 1_000_000
}

/// Reads the kernel's counters of a stream.
pub fn counters(stream: &StreamConnection) -> StreamCounters {
    let fd = stream.socket.as_fd();
    let info = TcpInfo::of(fd, false).unwrap_or_default();
    let times = info.times_us().map(|us| us.map(|us| us as f64 / 1e6));
    StreamCounters {
        client: stream.client.to_string(),
        control: control(fd),
        received: info.bytes_received,
        acked: info.bytes_acked,
        segments: info.data_segments_out().unwrap_or_default(),
        retransmitted: info.total_retrans.into(),
        timeouts: info.total_rto.into(),
        min_rtt_ms: info.reported_min_rtt_us().map(|us| f64::from(us) / 1e3),
        rtt_ms: Some(info.rtt_us).filter(|us| *us > 0).map(|us| f64::from(us) / 1e3),
        busy_s: times.map(|t| t[0]),
        window_limited_s: times.map(|t| t[1]),
        buffer_limited_s: times.map(|t| t[2]),
        mss: info.snd_mss,
    }
}

/// Returns a socket's congestion control; empty if it is not known.
pub fn control(fd: BorrowedFd<'_>) -> String {
    let mut name = [0; 16];
    let n = socket::get_bytes(fd, SocketOption::TCP_CONGESTION, &mut name).unwrap_or(0);
    let name: Vec<u8> = name[..n].iter().copied().take_while(|b| *b != 0).collect();
    String::from_utf8(name).unwrap_or_default()
}
