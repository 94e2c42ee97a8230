//! The observations behind the truth of a kernel run, from captures at every host and behind every stage, and
//! from `TCP_INFO` of the senders.
//!
//! A packet is recognised in all captures by its direction, IP identification and sequence number. A packet
//! that entered a stage and did not leave it was lost there. These keep a sender from sending, in this order:
//!
//! 1. all written data was sent, except for less than a segment: the bytes of responses, of a transfer, of a
//!    rate, or of a burst before its pause;
//! 2. it recovers from losses: congestion control (`TCP_INFO`);
//! 3. the last segment ends a write (PSH), both windows have room, and at least a third of the send buffer is
//!    in flight (half of the buffer is the kernel's own bookkeeping): the send buffer;
//! 4. the window with less room, where that room is too small for a burst (a third of the window).

use crate::judge::packets;
use crate::observations::{Moment, Observations};
use capture::{CaptureReader, TcpFlags, TcpPacket};
use lab::{FIRST_PORT, WRITE_INTERVAL};
use result::FlowSeries;
use scenario::{Flow, Scenario};
use std::path::PathBuf;
use transport::{App, Limit};
use units::{Span, Time};

/// An MTU, which does not matter here.
const MTU: u32 = 1500;

/// Captures of a run.
#[derive(Debug)]
pub struct Files {
    /// Captures by host.
    pub hosts: Vec<PathBuf>,
    /// Captures by stage, in the order of the result's elements.
    pub stages: Vec<PathBuf>,
}

#[derive(Clone, Copy)]
enum Place {
    Host(usize),
    Stage(usize),
}

struct Event {
    packet: TcpPacket,
    number: usize,
    place: Place,
    /// Position along the direction: events at the same time happen in this order.
    rank: usize,
}

/// The state of a sender, from the packets at its host. Bytes count from the first of the stream.
#[derive(Clone, Default)]
struct Sender {
    first: Option<u32>,
    una: u64,
    nxt: u64,
    /// End of the advertised window.
    edge: u64,
    window: u64,
    /// The last new segment ended a write.
    pushed: bool,
    /// Payload of a full segment.
    mss: u64,
    /// Scale of the windows that the other end advertises.
    scale: Option<u8>,
    /// First byte of the other end's stream, whose requests are counted.
    requests_from: Option<u32>,
    requested: u64,
}

impl Sender {
    fn sends(&mut self, p: &TcpPacket) {
        if p.flags.has(TcpFlags::SYN) {
            self.first = Some(p.seq.wrapping_add(1));
            return;
        }
        let end = self.first.map_or(0, |first| p.seq.wrapping_sub(first) as u64 + p.len as u64);
        self.mss = self.mss.max(p.len.into());
        if p.len > 0 && end > self.nxt {
            (self.nxt, self.pushed) = (end, p.flags.has(TcpFlags::PSH));
        }
    }

    fn receives(&mut self, p: &TcpPacket) {
        if p.flags.has(TcpFlags::SYN) {
            (self.scale, self.requests_from) = (p.options.wscale, Some(p.seq.wrapping_add(1)));
            return;
        }
        if let Some(from) = self.requests_from.filter(|_| p.len > 0) {
            self.requested = self.requested.max(p.seq.wrapping_sub(from) as u64 + p.len as u64);
        }
        let Some(first) = self.first.filter(|_| p.flags.has(TcpFlags::ACK)) else { return };
        let una = p.ack.wrapping_sub(first) as u64;
        // A FIN counts in `ack`, but there is none while it matters. An older ACK has no news.
        if una >= self.una && una <= self.nxt + 1 {
            self.una = una;
            self.window = (p.window as u64) << self.scale.unwrap_or(0);
            self.edge = self.edge.max(una + self.window);
        }
    }

    /// Returns what keeps the sender from sending.
    ///
    /// `wrote`: bytes that the application has written, if known. `info`: cwnd, packets in flight, and
    /// whether the sender recovers, if this end has TCP_INFO. `buffer`: the largest send buffer. `paced`:
    /// pacing may delay it.
    fn limit(&self, wrote: Option<u64>, info: Option<(u32, u32, bool)>, buffer: u64, paced: bool) -> Limit {
        // Nagle's algorithm holds less than a segment back for the next write.
        if wrote.is_some_and(|n| self.nxt >= n || self.nxt + self.mss > n && self.una < self.nxt) {
            return Limit::Application;
        }
        let window = self.edge.saturating_sub(self.nxt);
        let (room, cwnd) = info.map_or((u64::MAX, u64::MAX), |(cwnd, inflight, _)| {
            (cwnd.saturating_sub(inflight) as u64 * self.mss, cwnd as u64 * self.mss)
        });
        let burst = (self.window.min(cwnd) / 3).max(2 * self.mss);
        // A sender that waits for room in the send buffer has pushed all its data (`tcp_push`). Without
        // pacing, nothing else holds it while a third of the window is free (`tcp_tso_should_defer`).
        let buffer_bound = self.pushed || !paced && window.min(room) >= burst;
        let waits = buffer_bound && info.is_some() && window.min(room) >= self.mss;
        match () {
            () if info.is_some_and(|i| i.2) => Limit::Congestion,
            () if waits && (self.nxt - self.una.min(self.nxt)) * 3 >= buffer => Limit::SendBuffer,
            () if window < room && window < burst => Limit::ReceiveWindow,
            () => Limit::Congestion,
        }
    }
}

/// A connection as the scenario has it.
struct Connection<'a> {
    flow: &'a Flow,
    start: Time,
    /// Largest send buffer of the client.
    buffer: u64,
    /// The client paces.
    paced: bool,
}

impl Connection<'_> {
    /// Returns the bytes that the application of an end has written by `now`, if the scenario determines it.
    /// `left(t)` returns the bytes that were sent at least once by `t`.
    fn written(&self, opens: bool, requested: u64, now: Time, left: &dyn Fn(Time) -> u64) -> Option<u64> {
        match &self.flow.app {
            App::Bulk { bytes, .. } if opens => bytes.map(|b| b.get()),
            App::Request { request, response, .. } if !opens => {
                Some(requested / request.get().max(1) * response.get())
            }
            App::Onoff { on, off, rate } if opens => {
                let (period, since) = ((*on + *off).as_nanos(), now.since(self.start).as_nanos());
                let (begin, into) = (since - since % period, Span::from_nanos(since % period));
                let left = |after: u64| left(self.start + Span::from_nanos(after));
                match rate {
                    // In the pause the rest of the burst leaves, as far as the buffer accepted it.
                    _ if into >= *on => Some(left(begin + period)),
                    Some(rate) => {
                        let writes = into.as_nanos() / WRITE_INTERVAL.as_nanos() + 1;
                        let until = (WRITE_INTERVAL * writes).min(*on);
                        // Each write is rounded down to whole bytes.
                        Some(left(begin) + rate.bytes_in(until).get().saturating_sub(writes))
                    }
                    None => None,
                }
            }
            _ => None,
        }
    }
}

fn number(p: &TcpPacket) -> usize {
    let connection = |port: u16| port.checked_sub(FIRST_PORT).map(usize::from);
    let (to, from) = (connection(p.dst.port), connection(p.src.port));
    // Ports of clients are above all listening ports.
    match (to, from) {
        (Some(to), Some(from)) if from < to => 2 * from + 1,
        (Some(to), _) => 2 * to,
        (None, from) => 2 * from.unwrap_or(0) + 1,
    }
}

/// Returns the packets at all places, in order.
fn events(scenario: &Scenario, files: &Files) -> Result<Vec<Event>, String> {
    let open = |file: &PathBuf| CaptureReader::open(file).map_err(|e| e.to_string());
    let mut events = Vec::new();
    let stages = scenario.links.iter().enumerate();
    // Link l is between hosts l and l + 1.
    let ranks: Vec<usize> = stages
        .flat_map(|(l, link)| {
            let forward = (0..link.forward.len()).map(move |i| 100 * l + 1 + i);
            let before = scenario.links.len() - 1 - l;
            forward.chain((0..link.backward.len()).map(move |i| 100 * before + 1 + i))
        })
        .collect();
    if ranks.len() != files.stages.len() {
        return Err(format!("{} captures of {} stages", files.stages.len(), ranks.len()));
    }
    for (i, file) in files.stages.iter().enumerate() {
        packets(&mut open(file)?, |p| {
            events.push(Event { packet: *p, number: number(p), place: Place::Stage(i), rank: ranks[i] });
        });
    }
    let last = files.hosts.len() - 1;
    for (host, file) in files.hosts.iter().enumerate() {
        packets(&mut open(file)?, |p| {
            let rank = if host_of(p.src) < host_of(p.dst) { host } else { last - host };
            events.push(Event { packet: *p, number: number(p), place: Place::Host(host), rank: 100 * rank });
        });
    }
    events.sort_by_key(|e| (e.packet.time, e.rank));
    Ok(events)
}

/// Returns the bytes that each direction had sent over time, at its sender.
fn sent(events: &[Event], directions: usize) -> Vec<Vec<(Time, u64)>> {
    let (mut senders, mut sent) = (vec![Sender::default(); directions], vec![Vec::new(); directions]);
    for e in events.iter().filter(|e| matches!(e.place, Place::Host(h) if h == host_of(e.packet.src))) {
        let Some(sender) = senders.get_mut(e.number) else { continue };
        let before = sender.nxt;
        sender.sends(&e.packet);
        if sender.nxt > before {
            sent[e.number].push((e.packet.time, sender.nxt));
        }
    }
    sent
}

/// Returns the index of the host with this address ([`lab::address`]).
fn host_of(end: capture::Endpoint) -> usize {
    match end.addr.ip() {
        std::net::IpAddr::V4(a) => (a.to_bits() as usize).wrapping_sub(lab::address(0).to_bits() as usize),
        std::net::IpAddr::V6(_) => 0,
    }
}

/// Returns the observations of a run that was captured at host `vantage`. `series` are those of its
/// connections, in the scenario's order.
///
/// # Errors
/// Fails if a capture cannot be read or does not match the scenario.
pub fn observe(
    scenario: &Scenario,
    vantage: usize,
    files: &Files,
    series: &[FlowSeries],
) -> Result<Observations, String> {
    let mut observed = Observations::new(scenario);
    let connections: Vec<Connection> = scenario
        .flows
        .iter()
        .flat_map(|flow| {
            let [from, to] = [flow.from, flow.to].map(|host| &scenario.hosts[host].stack);
            let limits = from.limits(to, MTU, flow.max_pacing_rate);
            let (buffer, paced) = (limits.send_buffer, limits.pacing || flow.cc.paces());
            (0..flow.count).map(move |n| Connection {
                flow,
                start: Time::ZERO + flow.start + flow.stagger * n as u64,
                buffer,
                paced,
            })
        })
        .collect();
    if connections.len() != series.len() {
        return Err(format!("{} series of {} connections", series.len(), connections.len()));
    }
    let events = events(scenario, files)?;
    let sent = sent(&events, 2 * connections.len());
    let mut senders = vec![Sender::default(); sent.len()];
    let mut sampled = vec![0; sent.len()];
    let sample = |observed: &mut Observations, n: usize, sender: &Sender, i: usize| {
        let (c, s, opens) = (&connections[n / 2], &series[n / 2], n.is_multiple_of(2));
        let at = Time::from_nanos((s.time_s[i] * 1e9) as u64);
        let state = s.states.get(usize::from(s.state[i])).map_or("", String::as_str);
        let info =
            opens.then(|| (s.cwnd[i] as u32, s.inflight[i] as u32, matches!(state, "recovery" | "loss")));
        let left = |t: Time| {
            let before = sent[n].partition_point(|s| s.0 <= t);
            before.checked_sub(1).map_or(0, |i| sent[n][i].1)
        };
        let wrote = c.written(opens, sender.requested, at, &left);
        observed.direction(n).moments.push(Moment {
            at,
            limit: sender.limit(wrote, info, c.buffer, c.paced),
            // The answering end has no TCP_INFO; only the time before its first loss counts as growth.
            slow_start: !opens || matches!(state, "slow start" | "STARTUP"),
            una: sender.una,
        });
    };
    for e in &events {
        let (p, n, now) = (&e.packet, e.number, e.packet.time);
        let id = (p.id as u64) << 32 | p.seq as u64;
        let (from, to) = (host_of(p.src), host_of(p.dst));
        match e.place {
            Place::Stage(i) => observed.pass(now, i, n, id, p.len as u64 + p.header as u64),
            Place::Host(host) => {
                if host == from {
                    observed.sent(now, n, (from, to), p.len);
                    observed.direction(n).ends = (p.src.to_string(), p.dst.to_string());
                }
                if host == vantage {
                    observed.show(now, n);
                }
                if host != to {
                    observed.enter(now, n, host, to, id);
                }
                for (direction, is_sender) in [(n, host == from), (n ^ 1, host == to)] {
                    let Some(sender) = senders.get_mut(direction).filter(|_| is_sender) else { continue };
                    let times = &series[direction / 2].time_s;
                    while times.get(sampled[direction]).is_some_and(|&t| t * 1e9 < now.as_nanos() as f64) {
                        sample(&mut observed, direction, sender, sampled[direction]);
                        sampled[direction] += 1;
                    }
                    if direction == n { sender.sends(p) } else { sender.receives(p) }
                }
            }
        }
    }
    Ok(observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Addr, Endpoint, PacketOptions};
    use scenario::Experiment;

    /// A sender with segments of 1000 B and a receive window of 100 kB.
    fn sender(una: u64, nxt: u64, edge: u64, pushed: bool) -> Sender {
        Sender { first: Some(1), una, nxt, edge, window: 100_000, pushed, mss: 1000, ..Sender::default() }
    }

    #[test]
    fn the_limit_is_the_window_without_room() {
        let buffer = 4 << 20;
        let limit = |s: &Sender, cwnd, inflight| s.limit(None, Some((cwnd, inflight, false)), buffer, true);
        let roomy = sender(10_000, 60_000, 110_000, false);
        assert_eq!(limit(&roomy, 50, 50), Limit::Congestion);
        // 500 B of receive window are less than a segment.
        let full = sender(10_000, 109_500, 110_000, false);
        assert_eq!(limit(&full, 200, 100), Limit::ReceiveWindow);
        assert_eq!(full.limit(None, Some((200, 100, true)), buffer, true), Limit::Congestion, "it recovers");
        assert_eq!(full.limit(None, None, buffer, true), Limit::ReceiveWindow, "no TCP_INFO is needed");
        assert_eq!(roomy.limit(Some(60_000), Some((50, 50, false)), buffer, true), Limit::Application);
        assert_eq!(
            roomy.limit(Some(60_999), Some((50, 50, false)), buffer, true),
            Limit::Application,
            "Nagle"
        );
        assert_eq!(roomy.limit(Some(61_000), Some((50, 50, false)), buffer, true), Limit::Congestion);
        let drained = sender(10_000, 60_000, 110_000, true);
        assert_eq!(drained.limit(None, Some((80, 50, false)), 100_000, true), Limit::SendBuffer);
        assert_eq!(
            drained.limit(None, Some((80, 50, false)), buffer, true),
            Limit::Congestion,
            "the buffer holds more"
        );
        assert_eq!(
            drained.limit(None, Some((50, 50, false)), 100_000, true),
            Limit::Congestion,
            "no room in cwnd"
        );
        // Nothing was pushed and half of the congestion window is free: either pacing or the send buffer
        // holds the data back.
        let unpushed = |paced| roomy.limit(None, Some((100, 50, false)), 100_000, paced);
        assert_eq!((unpushed(true), unpushed(false)), (Limit::Congestion, Limit::SendBuffer));
        let deferred = roomy.limit(None, Some((60, 50, false)), 100_000, false);
        assert_eq!(
            deferred,
            Limit::Congestion,
            "less than a third of the window is deferred for a fuller burst"
        );
    }

    #[test]
    fn written_bytes_follow_from_the_scenario() {
        let wrote = |app: &str, opens, requested, ms: u64| {
            let text = format!(
                "[links.l]\nbetween = [\"a\", \"b\"]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = {{ {app} }}"
            );
            let file = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
            let flow = &file.variants[0].scenario.flows[0];
            let c =
                Connection { flow, start: Time::from_nanos(1_000_000_000), buffer: 4 << 20, paced: false };
            c.written(opens, requested, Time::from_nanos((1000 + ms) * 1_000_000), &|t| {
                t.as_nanos() / 1_000_000
            })
        };
        assert_eq!(wrote(r#"kind = "bulk", bytes = "5kB""#, true, 0, 3), Some(5000));
        assert_eq!(wrote(r#"kind = "bulk""#, true, 0, 3), None);
        let request = r#"kind = "request", request = "400B", response = "9kB""#;
        assert_eq!((wrote(request, false, 1199, 3), wrote(request, true, 0, 3)), (Some(18_000), None));
        // 1000 B per ms, written every 5 ms, for 20 of every 50 ms.
        let paced = r#"kind = "onoff", on = "20ms", off = "30ms", rate = "8Mbit/s""#;
        assert_eq!(wrote(paced, true, 0, 57), Some(1050 + 9_998), "added to what left before the burst");
        assert_eq!(wrote(paced, true, 0, 71), Some(1100), "in a pause, what leaves by its end");
        let bursts = r#"kind = "onoff", on = "20ms", off = "30ms""#;
        assert_eq!((wrote(bursts, true, 0, 61), wrote(bursts, true, 0, 80)), (None, Some(1100)));
    }

    #[test]
    fn packets_show_their_direction_and_the_senders_state() {
        let end = |host: usize, port| Endpoint { addr: Addr::v4(lab::address(host).octets()), port };
        let (a, b) = (end(0, 40_123), end(2, FIRST_PORT + 3));
        let packet = |src, dst, seq, ack, flags, len, window| TcpPacket {
            src,
            dst,
            seq,
            ack,
            flags,
            window,
            len,
            options: PacketOptions { wscale: Some(2), ..PacketOptions::default() },
            ..TcpPacket::default()
        };
        let ack = TcpFlags::ACK;
        let data = packet(a, b, u32::MAX, 1, ack, 1000, 9);
        assert_eq!((number(&data), number(&packet(b, a, 1, 1, ack, 0, 9))), (6, 7));
        assert_eq!((host_of(data.src), host_of(data.dst)), (0, 2));
        let mut s = Sender::default();
        s.sends(&packet(a, b, u32::MAX - 1, 0, TcpFlags::SYN, 0, 9));
        s.receives(&packet(b, a, 7, 0, TcpFlags(TcpFlags::SYN.0 | ack.0), 0, 5000));
        s.sends(&data);
        s.sends(&packet(a, b, 999, 1, TcpFlags(ack.0 | TcpFlags::PSH.0), 500, 9));
        assert_eq!((s.nxt, s.pushed, s.mss), (1500, true, 1000), "across the wrap of sequence numbers");
        s.sends(&data);
        assert!(s.pushed, "a retransmission does not end a write");
        s.receives(&packet(b, a, 8, 999, ack, 20, 1000));
        assert_eq!((s.una, s.edge, s.requested), (1000, 5000, 20));
        s.receives(&packet(b, a, 28, 499, ack, 0, 9000));
        assert_eq!((s.una, s.edge), (1000, 5000), "an older ACK is ignored");
    }
}
