//! UDP flows tracked through a capture: what each end sent and when, and what QUIC and RTP show of the path.
//!
//! UDP itself shows no losses. RTP numbers its packets, so losses before the capture are known. QUIC's losses
//! are not visible (RFC 9312 section 4.2), but its round trips are if the spin bit spins. What is not visible
//! is not reported.

mod quic;
mod rtp;

pub use quic::{QuicTrack, SpinVerdict};
pub use rtp::RtpTrack;

use crate::between::{DatagramsBetween, ExternalFate};
use crate::bins::MAX_BINS;
use crate::log::{LogEntry, MAX_LOGGED, PacketLog};
use crate::{LoggedPacket, PackedSpan, PacketFate, SpanHistogram, table};
use capture::{Endpoint, UdpDatagram};
use quic::{QuicObserver, SpinEdge};
use rtp::RtpObserver;
use std::cmp::Reverse;
use std::collections::HashMap;
use units::{Span, Time};

/// Maximum number of flows. Above one and a half times as many, those with the fewest bytes are dropped.
const MAX_FLOWS: usize = 4_096;
/// Width of the bins at first.
const FIRST_WIDTH: Span = Span::from_millis(10);

/// A UDP flow: the datagrams between two ports, in both directions.
#[derive(Clone, Debug, Default)]
pub struct UdpTrack {
    /// Number of the flow, in order of first datagrams.
    pub number: u32,
    /// The sender of the first datagram, and the other end.
    pub ends: [Endpoint; 2],
    pub first: Time,
    pub last: Time,
    /// Directions, by the index of their sender in `ends`.
    pub ways: [UdpDirection; 2],
    /// QUIC results; `None` if the flow is not QUIC.
    pub quic: Option<QuicTrack>,
}

/// One direction of a UDP flow.
#[derive(Clone, Debug, Default)]
pub struct UdpDirection {
    pub packets: u64,
    pub payload_bytes: u64,
    pub ip_bytes: u64,
    /// The largest payload, bytes.
    pub largest: u32,
    /// First and last datagram.
    pub times: Option<(Time, Time)>,
    /// Width of the bins.
    pub bin: Span,
    /// IP bytes over time: index of the bin (time since `origin` divided by the width) and bytes. Empty bins
    /// are left out.
    pub bins: Vec<(u32, u64)>,
    /// Datagrams in order; those that RTP shows to be missing are lost before the capture. RTTs come from
    /// the spin bit; with a capture at the other end they are queueing delays instead.
    pub log: Vec<LoggedPacket>,
    /// Datagrams closer together than this were merged.
    pub merged: Span,
    /// RTTs from the spin bit's edges in this direction.
    pub spin: SpanHistogram,
    /// RTP results; `None` if the direction is not RTP.
    pub rtp: Option<RtpTrack>,
    /// The time from which `bins` are counted.
    pub origin: Time,
    /// Results of a capture at the other end; `None` without one.
    pub between: Option<Box<DatagramsBetween>>,
}

/// A direction while it is being read.
#[derive(Debug)]
struct OpenDirection {
    way: UdpDirection,
    log: PacketLog,
    rtp: RtpObserver,
    /// When the last spin period began.
    edge: Option<Time>,
    /// When each finished spin period began, and how long it took.
    periods: Vec<(Time, Span)>,
}

impl OpenDirection {
    fn new() -> OpenDirection {
        OpenDirection {
            way: UdpDirection { bin: FIRST_WIDTH, ..UdpDirection::default() },
            log: PacketLog::new(MAX_LOGGED),
            rtp: RtpObserver::default(),
            edge: None,
            periods: Vec::new(),
        }
    }

    fn datagram(&mut self, d: &UdpDatagram, first: Time, fate: ExternalFate) {
        let way = &mut self.way;
        way.origin = first;
        let bytes = u64::from(d.len) + u64::from(d.header);
        way.packets += 1;
        way.payload_bytes += u64::from(d.len);
        way.ip_bytes += bytes;
        way.largest = way.largest.max(d.len);
        way.times = Some((way.times.map_or(d.time, |t| t.0), d.time));
        way.count(d.time.since(first), bytes);
        let entry =
            LogEntry { time: d.time, bytes: d.len, segments: 1, header: d.header, ..LogEntry::default() };
        for lost in self.rtp.datagram(d) {
            let number = self.log.push(LogEntry { time: lost, unseen: true, ..entry });
            self.log.lost(number, d.len, 1, Time::ZERO);
        }
        self.log.push_with_fate(entry, fate);
        self.log.settle(d.time, |_| {});
    }

    /// Notes an edge of the spin bit.
    fn spin_edge(&mut self, edge: SpinEdge, now: Time) {
        if let Some((from, rtt)) = self.edge.zip(edge.rtt) {
            self.way.spin.record(rtt);
            if self.periods.len() < MAX_LOGGED {
                self.periods.push((from, rtt));
            }
        }
        self.edge = Some(now);
    }

    fn end(self, spins: bool) -> UdpDirection {
        let OpenDirection { mut way, mut log, rtp, periods, .. } = self;
        way.rtp = rtp.end(way.packets);
        log.finish(|_| {});
        (way.log, way.merged) = log.into_packets();
        if way.rtp.is_none() {
            // Numbers that are not RTP's do not show losses.
            way.log.retain(|p| p.fate != PacketFate::LostUp);
        }
        if !spins {
            way.spin = SpanHistogram::default();
            return way;
        }
        // The packet that began a spin period made the round trip.
        for (from, rtt) in periods {
            let at = way.log.partition_point(|p| p.time <= from);
            let began = at.checked_sub(1).and_then(|at| way.log.get_mut(at));
            // With a capture at the other end, each datagram's queueing delay is there already.
            if let Some(p) = began.filter(|p| !p.rtt.is_known()) {
                p.rtt = PackedSpan::known(rtt);
            }
        }
        way
    }
}

impl UdpDirection {
    fn count(&mut self, since: Span, bytes: u64) {
        loop {
            let index = since.as_nanos() / self.bin.as_nanos();
            let room = self.bins.len() < MAX_BINS && index < u64::from(u32::MAX);
            match self.bins.last_mut() {
                // A capture's clock may run backwards.
                Some(last) if u64::from(last.0) >= index => last.1 += bytes,
                _ if room => {
                    self.bins.push((index as u32, bytes));
                }
                _ => {
                    self.widen();
                    continue;
                }
            }
            return;
        }
    }

    fn widen(&mut self) {
        self.bin = self.bin * 2;
        self.bins.iter_mut().for_each(|b| b.0 /= 2);
        self.bins.dedup_by(|next, bin| {
            let same = next.0 == bin.0;
            bin.1 += if same { next.1 } else { 0 };
            same
        });
    }
}

/// A flow while it is being read.
#[derive(Debug)]
struct OpenFlow {
    number: u32,
    ends: [Endpoint; 2],
    first: Time,
    last: Time,
    ways: [OpenDirection; 2],
    quic: QuicObserver,
}

/// Tracks UDP flows: [`UdpTracker::datagram`] in the capture's order, then [`UdpTracker::finish`].
#[derive(Debug, Default)]
pub struct UdpTracker {
    open: HashMap<[Endpoint; 2], OpenFlow>,
    flows: u64,
    forgotten: u64,
}

impl UdpTracker {
    /// Processes a datagram.
    pub fn datagram(&mut self, d: &UdpDatagram) {
        self.datagram_with_fate(d, ExternalFate::Absent);
    }

    /// Processes a datagram whose fate another source may know.
    pub fn datagram_with_fate(&mut self, d: &UdpDatagram, fate: ExternalFate) {
        let (key, _) = table::key(d.src, d.dst);
        if self.open.len() > MAX_FLOWS + MAX_FLOWS / 2 {
            self.drop_smallest();
        }
        let flows = &mut self.flows;
        let flow = self.open.entry(key).or_insert_with(|| {
            *flows += 1;
            OpenFlow {
                number: (*flows - 1) as u32,
                ends: [d.src, d.dst],
                first: d.time,
                last: d.time,
                ways: [OpenDirection::new(), OpenDirection::new()],
                quic: QuicObserver::default(),
            }
        });
        flow.last = flow.last.max(d.time);
        let side = usize::from(d.src != flow.ends[0]);
        let way = &mut flow.ways[side];
        way.datagram(d, flow.first, fate);
        if let Some(edge) = flow.quic.datagram(side, d) {
            way.spin_edge(edge, d.time);
        }
    }

    /// Keeps the flows with the most bytes.
    #[cold]
    fn drop_smallest(&mut self) {
        let bytes = |f: &OpenFlow| f.ways.iter().map(|w| w.way.ip_bytes).sum::<u64>();
        let mut all: Vec<(u64, Reverse<u32>)> =
            self.open.values().map(|f| (bytes(f), Reverse(f.number))).collect();
        let least = all.len() - MAX_FLOWS;
        all.select_nth_unstable(least);
        let least = all[least];
        self.open.retain(|_, f| (bytes(f), Reverse(f.number)) >= least);
        self.forgotten += (all.len() - self.open.len()) as u64;
    }

    /// Returns the flows in order of first datagrams, and how many were dropped.
    pub fn finish(mut self) -> (Vec<UdpTrack>, u64) {
        if self.open.len() > MAX_FLOWS {
            self.drop_smallest();
        }
        let mut tracks: Vec<UdpTrack> = self.open.into_values().map(OpenFlow::end).collect();
        tracks.sort_by_key(|t| t.number);
        (tracks, self.forgotten)
    }
}

impl OpenFlow {
    fn end(self) -> UdpTrack {
        let quic = self.quic.end();
        // A bit that does not spin shows no RTT.
        let spins = quic.as_ref().is_some_and(|q| q.spin == SpinVerdict::Spins);
        let ways = self.ways.map(|way| way.end(spins));
        UdpTrack { number: self.number, ends: self.ends, first: self.first, last: self.last, ways, quic }
    }
}
