//! What the sockets of a program add up to: which of them are a flow's, and its numbers.

use crate::plan::{FlowPlan, PlannedFlow};
use crate::series::Point;
use linux::sock_diag::Sock;
use linux::tcp_info::TcpInfo;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use units::{Span, Time};

/// iperf3 sends less than this before it measures: a connection's 37 bytes of greeting and the
/// test's parameters. The first segment of the measurement is more.
const IPERF3_TALK: u64 = 1000;

/// What tells a flow's sockets from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mine {
    /// Either port is this one.
    Port(u16),
    /// Belongs to no other flow, and one end is this host.
    Rest(usize),
}

/// A socket since it was first seen.
struct Seen {
    /// 0 at the flow's `from`, 1 at its `to`.
    end: usize,
    /// The port at `from`, the same for both ends of a connection.
    port: u16,
    /// Whether it is the end that opened the connection.
    opened: bool,
    info: TcpInfo,
    cc: String,
    open: bool,
    first: Time,
    /// When it last received something.
    grew: Time,
}

/// A flow's sockets, by host and cookie.
pub struct Tally {
    pub flow: usize,
    mine: Mine,
    iperf3: bool,
    seen: BTreeMap<(usize, u64), Seen>,
}

impl Tally {
    /// Of this flow of the plan; nothing seen yet.
    pub fn new(plan: &FlowPlan, flow: usize) -> Tally {
        let f = &plan.flows[flow];
        let port = plan.legs.iter().find(|l| l.flow == flow).map_or(0, |l| l.port);
        let mine = if f.has_port() { Mine::Port(port) } else { Mine::Rest(f.from) };
        Tally { flow, mine, iperf3: f.is_iperf3(), seen: BTreeMap::new() }
    }

    /// Whether a socket found on `host` is one of these.
    pub fn owns(&self, plan: &FlowPlan, host: usize, sock: &Sock) -> bool {
        let ports = [sock.local.port(), sock.remote.port()];
        let f = &plan.flows[self.flow];
        // A listener's end is told of too; it has no other side.
        let joins = sock.remote.port() != 0 && !sock.local.ip().is_loopback();
        if !joins || sock.listens() || (host != f.from && host != f.to) {
            return false;
        }
        match self.mine {
            Mine::Port(port) => ports.contains(&port),
            Mine::Rest(from) => {
                let joins = host == from || sock.remote.ip() == plan.addresses[from];
                joins && plan.flow_of(ports).is_none()
            }
        }
    }

    /// A socket of the flow as a dump or its end (`open` false) shows it.
    pub fn see(&mut self, plan: &FlowPlan, host: usize, sock: &Sock, open: bool, now: Time) {
        let flow = &plan.flows[self.flow];
        let end = usize::from(host != flow.from);
        let port = if end == 0 { sock.local.port() } else { sock.remote.port() };
        // Behind no port of ours it is the flow's own side that calls.
        let opened = match self.mine {
            Mine::Port(port) => sock.local.port() != port,
            Mine::Rest(_) => end == 0,
        };
        let fresh = || Seen {
            end,
            port,
            opened,
            info: TcpInfo::default(),
            cc: String::new(),
            open: true,
            first: now,
            grew: now,
        };
        let seen = self.seen.entry((host, sock.cookie)).or_insert_with(fresh);
        let (old, new) = (seen.info, sock.info);
        if new.bytes_received > old.bytes_received {
            seen.grew = now;
        }
        if new.bytes_acked > old.bytes_acked && new.rtt_us > 0 && !flow.is_udp() {
            flow.record(now, Span::from_micros(new.rtt_us as u64));
            flow.min_rtt.fetch_min(new.min_rtt_us as u64 * 1000, Relaxed);
        }
        if self.iperf3 && !flow.is_udp() && end == 0 && new.bytes_sent > IPERF3_TALK {
            PlannedFlow::note(&flow.established, now);
        }
        // What only grows never shrinks here, though the last word on a socket may know less.
        seen.info = TcpInfo {
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
        seen.open = open;
        if !sock.cc.is_empty() {
            seen.cc.clone_from(&sock.cc);
        }
    }

    /// What tells its sockets from others.
    pub fn mine(&self) -> Mine {
        self.mine
    }

    /// What counts. iperf3 does not count the connection over which its ends agree, nor its
    /// retransmissions: it is the one that carries least, beside those that carry blocks of 128 KiB.
    fn counted(&self) -> impl Iterator<Item = &Seen> {
        let at_from = || self.seen.values().filter(|s| s.end == 0);
        let least = at_from().min_by_key(|s| s.info.bytes_acked).map(|s| s.port);
        let control = least.filter(|_| self.iperf3 && at_from().count() > 1);
        self.seen.values().filter(move |s| Some(s.port) != control)
    }

    fn sum(&self, number: impl Fn(&Seen) -> u64) -> u64 {
        self.counted().map(number).sum()
    }

    /// Bytes received at `from` and at `to`.
    fn received(&self) -> [u64; 2] {
        [0, 1].map(|end| self.sum(|s| if s.end == end { s.info.bytes_received } else { 0 }))
    }

    /// Books the sums with the flow.
    pub fn book(&self, flow: &PlannedFlow) {
        flow.delivered.store(self.received().into_iter().max().unwrap_or(0), Relaxed);
        flow.sent.store(self.sum(|s| s.info.data_segs_out as u64), Relaxed);
        flow.retransmitted.store(self.retransmitted(), Relaxed);
        flow.timeouts.store(self.sum(|s| s.info.total_rto as u64), Relaxed);
        if let Some(most) = self.largest().filter(|_| !flow.is_udp()) {
            flow.mss.store(most.info.snd_mss.into(), Relaxed);
        }
    }

    fn retransmitted(&self) -> u64 {
        self.sum(|s| s.info.total_retrans as u64)
    }

    /// Sets when the flow began and, where its program has `ended`, when it was done.
    pub fn close(&self, flow: &PlannedFlow, ended: bool) {
        if let Some(first) = self.seen.values().map(|s| s.first).min() {
            PlannedFlow::note(&flow.established, first);
        }
        // Farewells that carry next to nothing are no part of the transfer.
        let received = self.received();
        let end = usize::from(received[1] >= received[0]);
        let carries = |s: &&Seen| s.end == end && s.info.bytes_received * 100 >= received[end];
        if let Some(last) = self.counted().filter(carries).map(|s| s.grew).max().filter(|_| ended) {
            PlannedFlow::note(&flow.finished, last);
        }
    }

    /// The connection that carries most, among those that are open while there is one.
    fn main(&self) -> Option<&Seen> {
        self.counted().max_by_key(|s| (s.open, s.info.bytes_acked))
    }

    /// The connection that carried most.
    fn largest(&self) -> Option<&Seen> {
        self.counted().max_by_key(|s| s.info.bytes_acked)
    }

    /// The flow's numbers now; `None` in it before there was a connection.
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

    /// Congestion control of the connection that carried most; `None` if there was no connection.
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

    /// A socket from the host and port to the host and port.
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
    fn sockets_belong_by_port_or_are_the_rest() {
        let plan =
            plan(&[flow("own", ""), flow("t", "tool = \"x {port}\""), flow("r", "tool = \"y\"")].concat());
        let [t, r] = [1, 2].map(|f| Tally::new(&plan, f));
        let owners = |host, local, remote| {
            let s = sock(1, local, remote, TcpInfo::default());
            [t.owns(&plan, host, &s), r.owns(&plan, host, &s)]
        };
        assert_eq!(owners(0, (0, 40_000), (1, 5201)), [false, false], "longfat's own");
        assert_eq!(owners(0, (0, 40_000), (1, 5202)), [true, false]);
        assert_eq!(owners(1, (1, 5202), (0, 40_000)), [true, false]);
        assert_eq!(owners(0, (0, 40_000), (2, 80)), [false, true], "wherever it leads");
        assert_eq!(owners(1, (1, 80), (0, 40_000)), [false, true]);
        assert_eq!(owners(1, (1, 80), (2, 40_000)), [false, false], "not of this host");
        assert_eq!(owners(1, (1, 5202), (1, 0)), [false, false], "a listener");
    }

    /// Control 40000, data 40001 and 40002, seen at both ends.
    #[test]
    fn iperf3s_connections_are_summed_without_its_control() {
        let plan = plan(&flow("t", "tool = \"iperf3\""));
        let (mut tally, f) = (Tally::new(&plan, 0), &plan.flows[0]);
        let look = |tally: &mut Tally, t: u64, n: u64| {
            for (port, n, lost) in [(40_000, 300, 7), (40_001, n, 1), (40_002, 2 * n, 2)] {
                let cookie = port as u64;
                let at = Time::from_nanos(t);
                tally.see(&plan, 0, &sock(cookie, (0, port), (1, 5201), info(n, 30, lost)), true, at);
                tally.see(&plan, 1, &sock(cookie, (1, 5201), (0, port), info(30, n, 0)), true, at);
            }
            tally.book(f);
        };
        look(&mut tally, 5, 37);
        look(&mut tally, 10, 1_000_000);
        look(&mut tally, 20, 3_000_000);
        look(&mut tally, 30, 3_000_001);
        assert_eq!((f.delivered.load(Relaxed), f.retransmitted.load(Relaxed)), (9_000_003, 3));
        // The last word on a socket may know less; nothing is taken back.
        tally.see(
            &plan,
            1,
            &sock(40_002, (1, 5201), (0, 40_002), TcpInfo::default()),
            false,
            Time::from_nanos(40),
        );
        tally.book(f);
        assert_eq!(f.delivered.load(Relaxed), 9_000_003);
        let point = tally.point(f, false, 10);
        assert_eq!((point.retransmitted, point.info.map(|i| i.bytes_acked)), (3, Some(6_000_002)));
        tally.close(f, true);
        // From the first data to the last.
        assert_eq!(f.active(Time::from_nanos(100)), Span::from_nanos(20));
    }
}
