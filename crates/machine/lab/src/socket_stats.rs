//! Statistics of a flow that a program runs: which sockets belong to the flow, and their sums.

use crate::plan::{FlowPlan, PlannedFlow};
use crate::series::Point;
use linux::sock_diag::Sock;
use linux::tcp_info::TcpInfo;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use units::{Span, Time};

/// Maximum number of bytes that iperf3 sends before it measures: a connection's cookie of 37 bytes and the
/// test's parameters. The first segment of the measurement is larger.
const IPERF3_SETUP_BYTES: u64 = 1000;

/// How the sockets of a flow are recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketMatch {
    /// One of the two ports is this one.
    Port(u16),
    /// The socket belongs to no other flow, and one end is this host.
    Unclaimed(usize),
}

/// A socket's accumulated state.
struct SocketState {
    /// 0 at the flow's `from`, 1 at its `to`.
    end: usize,
    /// The port at `from`, which identifies the connection at both ends.
    port: u16,
    /// Whether this end opened the connection.
    opened: bool,
    info: TcpInfo,
    cc: String,
    open: bool,
    first: Time,
    /// When the socket last received data.
    last_received: Time,
}

/// A flow's sockets, by host and socket cookie.
pub struct FlowSockets {
    pub flow: usize,
    socket_match: SocketMatch,
    iperf3: bool,
    states: BTreeMap<(usize, u64), SocketState>,
}

impl FlowSockets {
    /// Creates the statistics of a flow of the plan.
    pub fn new(plan: &FlowPlan, flow: usize) -> FlowSockets {
        let f = &plan.flows[flow];
        let port = plan.legs.iter().find(|l| l.flow == flow).map_or(0, |l| l.port);
        let socket_match =
            if f.has_port() { SocketMatch::Port(port) } else { SocketMatch::Unclaimed(f.from) };
        FlowSockets { flow, socket_match, iperf3: f.is_iperf3(), states: BTreeMap::new() }
    }

    /// Whether a socket found on `host` belongs to this flow.
    pub fn owns(&self, plan: &FlowPlan, host: usize, sock: &Sock) -> bool {
        let ports = [sock.local.port(), sock.remote.port()];
        let f = &plan.flows[self.flow];
        // The dump includes listeners, which have no remote port.
        let matches = sock.remote.port() != 0 && !sock.local.ip().is_loopback();
        if !matches || sock.listens() || (host != f.from && host != f.to) {
            return false;
        }
        match self.socket_match {
            SocketMatch::Port(port) => ports.contains(&port),
            SocketMatch::Unclaimed(from) => {
                let matches = host == from || sock.remote.ip() == plan.addresses[from];
                matches && plan.flow_of(ports).is_none()
            }
        }
    }

    /// Updates a socket's state from a dump, or from its final report (`open` false).
    pub fn update(&mut self, plan: &FlowPlan, host: usize, sock: &Sock, open: bool, now: Time) {
        let flow = &plan.flows[self.flow];
        let end = usize::from(host != flow.from);
        let port = if end == 0 { sock.local.port() } else { sock.remote.port() };
        // Without a fixed port the flow's `from` opens the connections.
        let opened = match self.socket_match {
            SocketMatch::Port(port) => sock.local.port() != port,
            SocketMatch::Unclaimed(_) => end == 0,
        };
        let new_state = || SocketState {
            end,
            port,
            opened,
            info: TcpInfo::default(),
            cc: String::new(),
            open: true,
            first: now,
            last_received: now,
        };
        let states = self.states.entry((host, sock.cookie)).or_insert_with(new_state);
        let (old, new) = (states.info, sock.info);
        if new.bytes_received > old.bytes_received {
            states.last_received = now;
        }
        if new.bytes_acked > old.bytes_acked && new.rtt_us > 0 && !flow.is_udp() {
            flow.record_rtt(now, Span::from_micros(new.rtt_us as u64));
            flow.min_rtt.fetch_min(new.min_rtt_us as u64 * 1000, Relaxed);
        }
        if self.iperf3 && !flow.is_udp() && end == 0 && new.bytes_sent > IPERF3_SETUP_BYTES {
            PlannedFlow::set_once(&flow.established, now);
        }
        // Counters never decrease, although the final report of a socket may have fewer fields.
        states.info = TcpInfo {
            snd_mss: if new.snd_mss > 0 { new.snd_mss } else { old.snd_mss },
            bytes_acked: new.bytes_acked.max(old.bytes_acked),
            bytes_sent: new.bytes_sent.max(old.bytes_sent),
            bytes_retrans: new.bytes_retrans.max(old.bytes_retrans),
            bytes_received: new.bytes_received.max(old.bytes_received),
            data_segs_out: new.data_segs_out.max(old.data_segs_out),
            total_retrans: new.total_retrans.max(old.total_retrans),
            total_rto: new.total_rto.max(old.total_rto),
            ..new
        };
        states.open = open;
        if !sock.cc.is_empty() {
            states.cc.clone_from(&sock.cc);
        }
    }

    /// Returns how the flow's sockets are recognised.
    pub fn socket_match(&self) -> SocketMatch {
        self.socket_match
    }

    /// Returns the sockets that carry the transfer. iperf3's control connection does not count, nor do its
    /// retransmissions: it is the connection with the fewest bytes, as data connections carry blocks of 128
    /// KiB.
    fn counted(&self) -> impl Iterator<Item = &SocketState> {
        let at_from = || self.states.values().filter(|s| s.end == 0);
        let least = at_from().min_by_key(|s| s.info.bytes_acked).map(|s| s.port);
        let control = least.filter(|_| self.iperf3 && at_from().count() > 1);
        self.states.values().filter(move |s| Some(s.port) != control)
    }

    fn sum(&self, number: impl Fn(&SocketState) -> u64) -> u64 {
        self.counted().map(number).sum()
    }

    /// Returns the bytes received at `from` and at `to`.
    fn received(&self) -> [u64; 2] {
        [0, 1].map(|end| self.sum(|s| if s.end == end { s.info.bytes_received } else { 0 }))
    }

    /// Stores the sums in the flow.
    pub fn store_totals(&self, flow: &PlannedFlow) {
        flow.delivered.store(self.received().into_iter().max().unwrap_or(0), Relaxed);
        flow.sent.store(self.sum(|s| s.info.data_segs_out as u64), Relaxed);
        flow.retransmitted.store(self.retransmitted(), Relaxed);
        flow.timeouts.store(self.sum(|s| s.info.total_rto as u64), Relaxed);
        if let Some(largest) = self.largest().filter(|_| !flow.is_udp()) {
            flow.mss.store(largest.info.snd_mss.into(), Relaxed);
        }
    }

    fn retransmitted(&self) -> u64 {
        self.sum(|s| s.info.total_retrans as u64)
    }

    /// Sets when the flow started and, if its program has `ended`, when it finished.
    pub fn close(&self, flow: &PlannedFlow, ended: bool) {
        if let Some(first) = self.states.values().map(|s| s.first).min() {
            PlannedFlow::set_once(&flow.established, first);
        }
        // Connections with less than 1 % of the bytes are not part of the transfer.
        let received = self.received();
        let end = usize::from(received[1] >= received[0]);
        let carries = |s: &&SocketState| s.end == end && s.info.bytes_received * 100 >= received[end];
        if let Some(last) = self.counted().filter(carries).map(|s| s.last_received).max().filter(|_| ended) {
            PlannedFlow::set_once(&flow.finished, last);
        }
    }

    /// Returns the connection with the most bytes, preferring open ones.
    fn main(&self) -> Option<&SocketState> {
        self.counted().max_by_key(|s| (s.open, s.info.bytes_acked))
    }

    /// Returns the connection with the most bytes.
    fn largest(&self) -> Option<&SocketState> {
        self.counted().max_by_key(|s| s.info.bytes_acked)
    }

    /// Returns the flow's current values; `info` is `None` before there is a connection.
    pub fn point(&self, flow: &PlannedFlow, paced: bool, initial_window: u32) -> Point {
        let main = self.main();
        Point {
            delivered: flow.delivered.load(Relaxed),
            retransmitted: if flow.is_udp() { 0 } else { self.retransmitted() },
            info: main.map(|s| s.info).filter(|_| !flow.is_udp()),
            opened: main.is_some_and(|s| s.opened),
            paced: paced
                || main.is_some_and(|s| {
                    s.cc.starts_with("bbr") || flow.control.paces && s.cc == flow.control.name
                }),
            udp: flow.is_udp(),
            delay: None,
            initial_window,
        }
    }

    /// Returns the congestion control of the connection with the most bytes; `None` without a connection.
    pub fn control(&self) -> Option<&str> {
        self.largest().map(|s| s.cc.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::Controls;
    use std::net::SocketAddr;

    fn plan(flows: &str) -> FlowPlan {
        let text =
            format!("[links.l]\nbetween = [\"a\", \"b\"]\n[links.m]\nbetween = [\"b\", \"c\"]\n{flows}");
        let file = scenario::Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        FlowPlan::new(&file.variants[0].scenario, None, &Controls::default()).unwrap()
    }

    fn flow(name: &str, tool: &str) -> String {
        format!("[flows.{name}]\nfrom = \"a\"\nto = \"b\"\n{tool}\n")
    }

    /// A socket from one host and port to another.
    fn sock(cookie: u64, from: (usize, u16), to: (usize, u16), info: TcpInfo) -> Sock {
        let at = |(host, port): (usize, u16)| SocketAddr::new(scenario::default_address(host).into(), port);
        Sock {
            cookie,
            inode: 0,
            state: 1,
            local: at(from),
            remote: at(to),
            info,
            cc: "cubic".into(),
            memory: None,
        }
    }

    fn info(acked: u64, received: u64, retransmitted: u32) -> TcpInfo {
        let bytes_sent = acked;
        let (bytes_acked, bytes_received, total_retrans) = (acked, received, retransmitted);
        TcpInfo { bytes_acked, bytes_received, total_retrans, bytes_sent, rtt_us: 9, ..TcpInfo::default() }
    }

    #[test]
    fn sockets_are_matched_by_port_or_as_the_remaining_ones() {
        let plan =
            plan(&[flow("own", ""), flow("t", "tool = \"x {port}\""), flow("r", "tool = \"y\"")].concat());
        let [t, r] = [1, 2].map(|f| FlowSockets::new(&plan, f));
        let owners = |host, local, remote| {
            let s = sock(1, local, remote, TcpInfo::default());
            [t.owns(&plan, host, &s), r.owns(&plan, host, &s)]
        };
        assert_eq!(owners(0, (0, 40_000), (1, 5201)), [false, false], "longfat's own");
        assert_eq!(owners(0, (0, 40_000), (1, 5202)), [true, false]);
        assert_eq!(owners(1, (1, 5202), (0, 40_000)), [true, false]);
        assert_eq!(owners(0, (0, 40_000), (2, 80)), [false, true], "to any host");
        assert_eq!(owners(1, (1, 80), (0, 40_000)), [false, true]);
        assert_eq!(owners(1, (1, 80), (2, 40_000)), [false, false], "not of this host");
        assert_eq!(owners(1, (1, 5202), (1, 0)), [false, false], "a listener");
    }

    /// Control connection on port 40000, data on 40001 and 40002, seen at both ends.
    #[test]
    fn iperf3s_data_connections_are_summed_without_the_control_connection() {
        let plan = plan(&flow("t", "tool = \"iperf3\""));
        let (mut sockets, f) = (FlowSockets::new(&plan, 0), &plan.flows[0]);
        let look = |sockets: &mut FlowSockets, t: u64, n: u64| {
            for (port, n, lost) in [(40_000, 300, 7), (40_001, n, 1), (40_002, 2 * n, 2)] {
                let cookie = port as u64;
                let at = Time::from_nanos(t);
                sockets.update(&plan, 0, &sock(cookie, (0, port), (1, 5201), info(n, 30, lost)), true, at);
                sockets.update(&plan, 1, &sock(cookie, (1, 5201), (0, port), info(30, n, 0)), true, at);
            }
            sockets.store_totals(f);
        };
        look(&mut sockets, 5, 37);
        look(&mut sockets, 10, 1_000_000);
        look(&mut sockets, 20, 3_000_000);
        look(&mut sockets, 30, 3_000_001);
        assert_eq!((f.delivered.load(Relaxed), f.retransmitted.load(Relaxed)), (9_000_003, 3));
        // A final report with fewer fields does not lower any counter.
        sockets.update(
            &plan,
            1,
            &sock(40_002, (1, 5201), (0, 40_002), TcpInfo::default()),
            false,
            Time::from_nanos(40),
        );
        sockets.store_totals(f);
        assert_eq!(f.delivered.load(Relaxed), 9_000_003);
        let point = sockets.point(f, false, 10);
        assert_eq!((point.retransmitted, point.info.map(|i| i.bytes_acked)), (3, Some(6_000_002)));
        sockets.close(f, true);
        // The flow lasts from the first data to the last.
        assert_eq!(f.active(Time::from_nanos(100)), Span::from_nanos(20));
    }
}
