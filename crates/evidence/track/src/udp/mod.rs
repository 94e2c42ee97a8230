//! UDP flows followed through a capture: what each end sent and when, and what QUIC and RTP show of their path.
//!
//! UDP says nothing of losses. RTP numbers its packets, so that what was lost before the capture is known; of QUIC a loss is not
//! visible (RFC 9312 section 4.2), but its round trip is, where the spin bit spins. What is not visible is not told.

mod quic;
mod rtp;

pub use quic::{QuicTrack, SpinVerdict};
pub use rtp::RtpTrack;

use crate::between::{DatagramsBetween, PacketBeyond};
use crate::bins::MOST_BINS;
use crate::log::{LogEntry, MOST_LOGGED, PacketLog};
use crate::{LoggedPacket, PackedSpan, PacketFate, SpanHistogram, table};
use capture::{Endpoint, UdpDatagram};
use quic::{QuicObserver, SpinEdge};
use rtp::RtpObserver;
use std::cmp::Reverse;
use std::collections::HashMap;
use units::{Span, Time};

/// Flows kept; with half as many again, those with fewest bytes are forgotten.
const MOST_FLOWS: usize = 4_096;
/// Width of a part of the time at first.
const FIRST_WIDTH: Span = Span::from_millis(10);

/// What went both ways between two ports.
#[derive(Clone, Debug, Default)]
pub struct UdpTrack {
    /// In the order of first datagrams.
    pub number: u32,
    /// Who sent the first datagram, and the other.
    pub ends: [Endpoint; 2],
    /// First datagram.
    pub first: Time,
    /// Last.
    pub last: Time,
    /// By end.
    pub ways: [UdpWay; 2],
    /// What QUIC shows, if it is QUIC.
    pub quic: Option<QuicTrack>,
}

/// What one end sent.
#[derive(Clone, Debug, Default)]
pub struct UdpWay {
    /// Datagrams.
    pub packets: u64,
    /// Payload.
    pub payload_bytes: u64,
    /// IP bytes.
    pub ip_bytes: u64,
    /// The largest payload.
    pub largest: u32,
    /// First and last.
    pub times: Option<(Time, Time)>,
    /// Width of each of `bins`.
    pub bin: Span,
    /// IP bytes over time: which part (time since the flow's first / width), and how many; parts without any are left out.
    pub bins: Vec<(u32, u64)>,
    /// Datagrams in order; those that RTP shows to be missing are lost before the capture. RTTs are the spin bit's; where a capture
    /// at the other end was asked, they are how much longer than at least the way took.
    pub log: Vec<LoggedPacket>,
    /// Packets within this were merged.
    pub merged: Span,
    /// RTTs by the spin bit, as edges in this direction show them.
    pub spin: SpanHistogram,
    /// What RTP shows, if it is RTP.
    pub rtp: Option<RtpTrack>,
    /// The time from which `bins` count.
    pub origin: Time,
    /// What a capture at the other end of the path says of it.
    pub between: Option<Box<DatagramsBetween>>,
}

/// A direction that is being read.
#[derive(Debug)]
struct OpenWay {
    way: UdpWay,
    log: PacketLog,
    rtp: RtpObserver,
    /// When the last spin period began.
    edge: Option<Time>,
    /// When each began of which the end was seen, and how long it took.
    periods: Vec<(Time, Span)>,
}

impl OpenWay {
    fn new() -> OpenWay {
        OpenWay {
            way: UdpWay { bin: FIRST_WIDTH, ..UdpWay::default() },
            log: PacketLog::new(MOST_LOGGED),
            rtp: RtpObserver::default(),
            edge: None,
            periods: Vec::new(),
        }
    }

    fn datagram(&mut self, d: &UdpDatagram, first: Time, beyond: PacketBeyond) {
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
        self.log.push(entry.judged(beyond));
        self.log.settle(d.time, |_| {});
    }

    /// The spin bit turns.
    fn turn(&mut self, edge: SpinEdge, now: Time) {
        if let Some((from, rtt)) = self.edge.zip(edge.rtt) {
            self.way.spin.record(rtt);
            if self.periods.len() < MOST_LOGGED {
                self.periods.push((from, rtt));
            }
        }
        self.edge = Some(now);
    }

    fn end(self, spins: bool) -> UdpWay {
        let OpenWay { mut way, mut log, rtp, periods, .. } = self;
        way.rtp = rtp.end(way.packets);
        log.finish(|_| {});
        (way.log, way.merged) = log.into_packets();
        if way.rtp.is_none() {
            // Numbers that are no RTP's show no loss.
            way.log.retain(|p| p.fate != PacketFate::LostUp);
        }
        if !spins {
            way.spin = SpanHistogram::default();
            return way;
        }
        // The packet that began a period went around in it.
        for (from, rtt) in periods {
            let at = way.log.partition_point(|p| p.time <= from);
            let began = at.checked_sub(1).and_then(|at| way.log.get_mut(at));
            // Where a capture at the other end was asked, how late each came is there already.
            if let Some(p) = began.filter(|p| !p.rtt.is_known()) {
                p.rtt = PackedSpan::known(rtt);
            }
        }
        way
    }
}

impl UdpWay {
    fn count(&mut self, since: Span, bytes: u64) {
        loop {
            let index = since.as_nanos() / self.bin.as_nanos();
            let room = self.bins.len() < MOST_BINS && index < u64::from(u32::MAX);
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

/// A flow that is being read.
#[derive(Debug)]
struct OpenFlow {
    number: u32,
    ends: [Endpoint; 2],
    first: Time,
    last: Time,
    ways: [OpenWay; 2],
    quic: QuicObserver,
}

/// Follows UDP flows. [`UdpTracker::datagram`] in the capture's order, then [`UdpTracker::finish`].
#[derive(Debug, Default)]
pub struct UdpTracker {
    open: HashMap<[Endpoint; 2], OpenFlow>,
    flows: u64,
    forgotten: u64,
}

impl UdpTracker {
    /// A datagram passes.
    pub fn datagram(&mut self, d: &UdpDatagram) {
        self.datagram_known(d, PacketBeyond::Unasked);
    }

    /// A datagram passes of which it is known elsewhere what became of it.
    pub fn datagram_known(&mut self, d: &UdpDatagram, beyond: PacketBeyond) {
        let (key, _) = table::key(d.src, d.dst);
        if self.open.len() > MOST_FLOWS + MOST_FLOWS / 2 {
            self.forget();
        }
        let flows = &mut self.flows;
        let flow = self.open.entry(key).or_insert_with(|| {
            *flows += 1;
            OpenFlow {
                number: (*flows - 1) as u32,
                ends: [d.src, d.dst],
                first: d.time,
                last: d.time,
                ways: [OpenWay::new(), OpenWay::new()],
                quic: QuicObserver::default(),
            }
        });
        flow.last = flow.last.max(d.time);
        let side = usize::from(d.src != flow.ends[0]);
        let way = &mut flow.ways[side];
        way.datagram(d, flow.first, beyond);
        if let Some(edge) = flow.quic.datagram(side, d) {
            way.turn(edge, d.time);
        }
    }

    /// Keeps those with most bytes.
    #[cold]
    fn forget(&mut self) {
        let bytes = |f: &OpenFlow| f.ways.iter().map(|w| w.way.ip_bytes).sum::<u64>();
        let mut all: Vec<(u64, Reverse<u32>)> =
            self.open.values().map(|f| (bytes(f), Reverse(f.number))).collect();
        let least = all.len() - MOST_FLOWS;
        all.select_nth_unstable(least);
        let least = all[least];
        self.open.retain(|_, f| (bytes(f), Reverse(f.number)) >= least);
        self.forgotten += (all.len() - self.open.len()) as u64;
    }

    /// The flows, in the order of first datagrams, and how many were forgotten.
    pub fn finish(mut self) -> (Vec<UdpTrack>, u64) {
        if self.open.len() > MOST_FLOWS {
            self.forget();
        }
        let mut tracks: Vec<UdpTrack> = self.open.into_values().map(OpenFlow::end).collect();
        tracks.sort_by_key(|t| t.number);
        (tracks, self.forgotten)
    }
}

impl OpenFlow {
    fn end(self) -> UdpTrack {
        let quic = self.quic.end();
        // A bit that does not spin tells no RTT.
        let spins = quic.as_ref().is_some_and(|q| q.spin == SpinVerdict::Spins);
        let ways = self.ways.map(|way| way.end(spins));
        UdpTrack { number: self.number, ends: self.ends, first: self.first, last: self.last, ways, quic }
    }
}
