//! Tests of streams: downloads and uploads, with echoes meanwhile.

use super::{Client, ClientError, EchoResult, REPLY_TIME, connected, unexpected};
use crate::frame::MAX_REPLY;
use crate::message::StreamsReport;
use crate::streams::{self, StreamBounds, StreamConnection, counters};
use crate::wire::Wire;
use crate::{BIN_MS, Reply, Request};
use linux::socket::{self, SocketOption};
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Maximum number of bytes of a test: a fast path does not need the whole time.
const MAX_TEST_BYTES: u64 = 1_000_000_000;

/// Options of a test of streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamOptions {
    /// Number of connections; 0 counts as 1.
    pub connections: u32,
    /// Duration, ms.
    pub ms: u32,
    /// Congestion control of the sending end of an upload, set before connecting as a program would do it;
    /// `None`: the host's own.
    pub control: Option<String>,
    /// `SO_MAX_PACING_RATE` of each connection of an upload, bit/s.
    pub pacing: Option<u64>,
    /// `TCP_MAXSEG` of each connection of an upload: the payload of a segment and the TCP options of its
    /// data, bytes.
    pub mss: Option<u32>,
    /// Pause between echoes during the test, ms; `None`: no echoes.
    pub echo_ms: Option<u64>,
}

/// Measurements of both ends in a test of streams.
#[derive(Clone, Debug, Default)]
pub struct StreamResult {
    /// The sending end's report.
    pub sender: StreamsReport,
    /// The receiving end's report.
    pub receiver: StreamsReport,
    /// Echoes during the test; empty if none were sent.
    pub echoes: EchoResult,
}

impl StreamResult {
    /// Bytes received.
    pub fn bytes(&self) -> u64 {
        self.receiver.bins.iter().sum()
    }

    /// Received rate of the payload, Mbit/s, without about one part in `start_parts` of the test, in which
    /// connections start.
    pub fn mbps(&self, start_parts: usize) -> f64 {
        let bins = &self.receiver.bins[..];
        // The last interval may be shorter than the others.
        let whole = bins.split_last().map_or(bins, |(_, rest)| if rest.is_empty() { bins } else { rest });
        steady_rate(whole, bins.len() / start_parts.max(1)) * 8.0 / 1e3 / BIN_MS as f64
    }
}

/// Bytes per interval from about interval `start` on. Data that wait for a retransmission, or for a reader that
/// waits for its processor, are read late: rates between any two times could exceed that of the path. So of
/// the times within a twelfth of the test around `start`, and before the end, those count at which most had been
/// read by comparison with a steady rate.
fn steady_rate(bins: &[u64], start: usize) -> f64 {
    let n = bins.len();
    let mut sums = vec![0.0];
    sums.extend(bins.iter().scan(0, |sum, bytes| {
        *sum += bytes;
        Some(*sum as f64)
    }));
    let slope = |from: usize, to: usize| (sums[to] - sums[from]) / to.saturating_sub(from).max(1) as f64;
    let rate = slope(start, n);
    let ahead = |at: &usize| sums[*at] - rate * *at as f64;
    let fullest = |times: Range<usize>| times.max_by(|a, b| ahead(a).total_cmp(&ahead(b)));
    let around = n / 12;
    let from = fullest(start.saturating_sub(around)..(start + around).min(n) + 1);
    let to = fullest((n - around).max(start)..n + 1);
    from.zip(to).map_or(0.0, |(from, to)| slope(from, to))
}

impl Client {
    /// Receives from the server. `tick` is called at least every 50 ms and ends the test by `false`.
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached.
    pub fn download(
        &mut self,
        options: &StreamOptions,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<StreamResult, ClientError> {
        self.streams(options, false, tick)
    }

    /// Sends to the server. `tick` as in [`Client::download`].
    ///
    /// # Errors
    /// Fails when the server refuses or cannot be reached, or this host lacks the congestion control.
    pub fn upload(
        &mut self,
        options: &StreamOptions,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<StreamResult, ClientError> {
        self.streams(options, true, tick)
    }

    fn streams(
        &mut self,
        options: &StreamOptions,
        sends: bool,
        tick: &mut dyn FnMut() -> bool,
    ) -> Result<StreamResult, ClientError> {
        let count = options.connections.max(1);
        let streams: Vec<StreamConnection> =
            (0..count).map(|_| self.attached(options)).collect::<Result<_, _>>()?;
        let ms = options.ms;
        let request = match sends {
            true => Request::Upload { streams: count, ms },
            false => Request::Download { streams: count, ms },
        };
        match self.request(&request, REPLY_TIME)? {
            Reply::Ready => {}
            other => return Err(unexpected(other)),
        }
        let bounds = StreamBounds { ms: ms.into(), bytes: MAX_TEST_BYTES, rate: None };
        let ended = AtomicBool::new(false);
        let echoes = self.echoes(1 << 24);
        let (near, echoed) = std::thread::scope(|scope| {
            let echoing = options.echo_ms.map(|pause| {
                let ended = &ended;
                scope.spawn(move || {
                    echoes.send_until(Duration::from_millis(pause), &mut || ended.load(Relaxed))
                })
            });
            let near = match sends {
                true => streams::send(&streams, bounds, tick),
                false => streams::receive(&streams, bounds, tick),
            };
            ended.store(true, Relaxed);
            let sent = echoing.and_then(|thread| thread.join().ok());
            (near, sent)
        });
        self.next_echo = self.next_echo.wrapping_add(echoed.as_ref().map_or(0, Vec::len) as u32);
        let echoes = echoed.map(|sent| self.collect_echoes(&sent)).unwrap_or_default();
        let (near, _) = near?;
        drop(streams);
        let far = match self.reply(REPLY_TIME + Duration::from_millis(ms.into()))? {
            Reply::Done(report) => report,
            other => return Err(unexpected(other)),
        };
        let (sender, receiver) = if sends { (near, far) } else { (far, near) };
        Ok(StreamResult { sender, receiver, echoes })
    }

    /// Opens a stream connection.
    fn attached(&self, options: &StreamOptions) -> Result<StreamConnection, ClientError> {
        let socket = connected(self.server, |socket| {
            if let Some(control) = &options.control {
                socket::set_bytes(socket.as_fd(), SocketOption::TCP_CONGESTION, control.as_bytes())?;
            }
            if let Some(mss) = options.mss {
                socket::set_option(socket.as_fd(), SocketOption::TCP_MAXSEG, mss as i32)?;
            }
            if let Some(rate) = options.pacing {
                let bytes = (rate / 8).clamp(1, u64::from(u32::MAX)) as u32;
                socket::set_option(socket.as_fd(), SocketOption::SO_MAX_PACING_RATE, bytes as i32)?;
            }
            Ok(())
        });
        let socket = socket.map_err(|e| ClientError::Connect(self.server, e))?;
        let client = socket::local_address(socket.as_fd())?;
        let mut wire = Wire::new(socket, Vec::new());
        wire.send(&Request::Attach { session: self.session }, REPLY_TIME)?;
        match wire.receive(MAX_REPLY, REPLY_TIME)? {
            Reply::Ready => Ok(StreamConnection { socket: wire.into_socket(), client }),
            other => Err(unexpected(other)),
        }
    }

    /// Returns the congestion control that this host gives to a new connection.
    ///
    /// # Errors
    /// Fails with the system's error.
    pub fn own_control(&self) -> Result<String, ClientError> {
        let socket = socket::tcp_socket(self.server.is_ipv6())?;
        Ok(counters(&StreamConnection { socket, client: self.server }).control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mbps(bins: &[u64]) -> f64 {
        let receiver = StreamsReport { bins: bins.into(), ..StreamsReport::default() };
        StreamResult { receiver, ..StreamResult::default() }.mbps(4)
    }

    #[test]
    fn the_start_and_a_short_end_do_not_count() {
        let mut bins = vec![125_000; 40];
        bins[..5].fill(10_000);
        bins[39] = 40_000;
        assert_eq!(mbps(&bins), 10.0);
        assert_eq!(mbps(&[125_000; 2]), 10.0);
        assert_eq!(mbps(&[125_000]), 10.0);
        assert_eq!(mbps(&[]), 0.0);
    }

    #[test]
    fn what_is_read_late_does_not_exceed_the_rate_of_the_path() {
        let late = |at: usize, intervals: usize| {
            let mut bins = vec![125_000; 40];
            bins[at..at + intervals].fill(0);
            bins[at + intervals] += 125_000 * intervals as u64;
            mbps(&bins)
        };
        for at in 4..12 {
            assert_eq!(late(at, 3), 10.0, "{at}");
        }
        assert_eq!(late(35, 3), 10.0, "read before the end");
        let mut unread = vec![125_000; 40];
        unread[37..].fill(0);
        assert_eq!(mbps(&unread), 10.0, "not read at the end");
    }

    #[test]
    fn a_rate_that_grows_or_stops_is_the_mean() {
        let grows: Vec<u64> = (0..41).map(|n| 1000 * n).collect();
        let mean = grows[10..40].iter().sum::<u64>() as f64 * 8.0 / 1e5 / 30.0;
        assert!((mbps(&grows) / mean - 1.0).abs() < 0.15, "{} of {mean}", mbps(&grows));
        let mut stops = vec![125_000; 41];
        stops[20..].fill(0);
        assert!((mbps(&stops) / (10.0 / 3.0) - 1.0).abs() < 0.15, "{}", mbps(&stops));
    }
}
