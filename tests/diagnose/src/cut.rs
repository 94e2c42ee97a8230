//! Cuts: the effects of bad recording or storage on a complete capture.
//!
//! A cut removes packets, or parts of them. The truth about the remaining time is known, so a verdict on the
//! rest is right, wrong, or says that it cannot tell.

use crate::judge::{Direct, Judge, lines};
use crate::line::Line;
use crate::truth::{FlowTruth, Truth};
use crate::watch::Sink;
use crate::{Case, play};
use capture::{Addr, Frame, PacketOptions, TcpFlags, TcpPacket};
use result::diagnosis::SURE;
use std::collections::VecDeque;
use units::{Span, Time};

/// A defect of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing.
    Whole,
    /// Only packets of the side that sent first.
    OnlyFirst,
    /// Only packets of the other side.
    OnlySecond,
    /// One packet in n is kept, at random.
    Sampled(u32),
    /// Every n-th packet is kept.
    Nth(u32),
    /// n packets in a thousand are missing, at random, as with a slow disk.
    Dropped(u32),
    /// TCP options are cut off by a short snap length.
    Options,
    /// The first n tenths of a second are missing.
    Begun(u32),
    /// Only the first n seconds are kept.
    Prefix(u32),
    /// Each packet is there twice, the second 5 µs later, as from a mirror port.
    Twice,
    /// Each packet is there twice, as from two interfaces of a router: the second 300 µs later, with its TTL
    /// decremented.
    TwoInterfaces,
    /// Consecutive data is merged into packets of up to n segments, as by receive offload.
    Joined(u32),
    /// The clock is set forward by n seconds, after one second.
    Ahead(u32),
    /// The clock is set back by n seconds, after one second.
    Back(u32),
    /// Now and then a packet is recorded after its successor, as with two queues of a network card.
    Disordered,
}

impl Cut {
    /// All cuts.
    pub const ALL: [Cut; 25] = [
        Cut::Whole,
        Cut::OnlyFirst,
        Cut::OnlySecond,
        Cut::Sampled(2),
        Cut::Sampled(3),
        Cut::Sampled(10),
        Cut::Nth(2),
        Cut::Nth(10),
        Cut::Dropped(5),
        Cut::Dropped(50),
        Cut::Dropped(100),
        Cut::Dropped(200),
        Cut::Options,
        Cut::Begun(10),
        Cut::Prefix(1),
        Cut::Prefix(2),
        Cut::Prefix(4),
        Cut::Prefix(8),
        Cut::Prefix(16),
        Cut::Twice,
        Cut::TwoInterfaces,
        Cut::Joined(10),
        Cut::Ahead(5),
        Cut::Back(5),
        Cut::Disordered,
    ];

    /// Returns its name in tables.
    pub fn name(self) -> String {
        match self {
            Cut::Whole => "whole".into(),
            Cut::OnlyFirst => "only packets of the side that sent first".into(),
            Cut::OnlySecond => "only packets of the other side".into(),
            Cut::Sampled(n) => format!("1 packet in {n}, at random"),
            Cut::Nth(2) => "every second packet".into(),
            Cut::Nth(n) => format!("every {n}th packet"),
            Cut::Dropped(n) => format!("{:.1} % of the packets missing", f64::from(n) / 10.0),
            Cut::Options => "options cut off".into(),
            Cut::Begun(n) => format!("begins {:.1} s late", f64::from(n) / 10.0),
            Cut::Prefix(s) => format!("only the first {s} s"),
            Cut::Twice => "each packet twice".into(),
            Cut::TwoInterfaces => "two interfaces merged".into(),
            Cut::Joined(n) => format!("up to {n} segments joined"),
            Cut::Ahead(s) => format!("clock set forward by {s} s"),
            Cut::Back(s) => format!("clock set back by {s} s"),
            Cut::Disordered => "packets out of order".into(),
        }
    }
}

impl Cut {
    /// Returns the remaining part of a capture's time, seconds since its first packet.
    fn span_s(self) -> (f64, f64) {
        match self {
            Cut::Begun(n) => (f64::from(n) / 10.0, f64::INFINITY),
            Cut::Prefix(s) => (0.0, f64::from(s)),
            _ => (0.0, f64::INFINITY),
        }
    }
}

/// Diagnoses the flows of a case in each of these cuts.
///
/// # Errors
/// Fails as [`play`] does.
pub fn cut_lines(case: &Case, cuts: &[Cut]) -> Result<Vec<Vec<Line>>, String> {
    let sinks = cuts.iter().map(|cut| CutSink::new(*cut, Direct::default()));
    let mut each = EachSink(sinks.collect());
    let truth = play(case, &mut each)?;
    let of_cut = |sink: CutSink<Direct>| {
        let truth = sink.truth(&truth);
        lines(&truth, &Judge::diagnose_tracker(sink.into_inner().0))
    };
    Ok(each.0.into_iter().map(of_cut).collect())
}

/// Whether the sure verdicts on a shorter and a longer prefix contradict each other. Both are right if the
/// truth changed.
pub fn flips(shorter: &Line, longer: &Line) -> bool {
    let sure = |line: &Line| line.confidence >= SURE && line.is_right().is_some();
    let changed = shorter.is_right() == Some(true) && longer.is_right() == Some(true);
    sure(shorter) && sure(longer) && shorter.verdict != longer.verdict && !changed
}

/// Applies a cut to a capture, and passes the remaining packets on.
pub struct CutSink<S> {
    cut: Cut,
    to: S,
    first: Option<(Addr, Time)>,
    count: u64,
    /// Packets to pass on later, in order.
    held: VecDeque<TcpPacket>,
}

/// Delay between two interfaces of a router.
const BETWEEN_INTERFACES: Span = Span::from_micros(300);
/// Greatest gap between segments that receive offload merges.
const JOINED_WITHIN: Span = Span::from_micros(50);

impl<S: Sink> CutSink<S> {
    /// Creates a sink that applies `cut` and passes the remaining packets to `to`.
    pub fn new(cut: Cut, to: S) -> CutSink<S> {
        CutSink { cut, to, first: None, count: 0, held: VecDeque::new() }
    }

    /// Returns the truth about the time that the cut leaves.
    pub fn truth(&self, whole: &Truth) -> Truth {
        let began = self.first.map_or(0.0, |(_, at)| at.as_secs_f64());
        let (from, to) = self.cut.span_s();
        let flow_truth =
            |f: &FlowTruth| FlowTruth { right: f.right_between(began + from, began + to), ..f.clone() };
        Truth { flows: whole.flows.iter().map(flow_truth).collect(), ..whole.clone() }
    }

    /// Returns the sink of the packets.
    pub fn into_inner(mut self) -> S {
        self.held.drain(..).for_each(|p| self.to.packet(&p));
        self.to
    }

    /// Passes on the held packets from before `until`.
    fn release(&mut self, until: Time) {
        while self.held.front().is_some_and(|p| p.time <= until) {
            self.held.drain(..1).for_each(|p| self.to.packet(&p));
        }
    }

    /// Merges the packet into the held one if it follows at once; else passes that one on and holds this one.
    fn join(&mut self, packet: &TcpPacket, max_segments: u32) {
        if let Some(before) = self.held.front_mut() {
            let same = (before.src, before.dst, before.header) == (packet.src, packet.dst, packet.header);
            let follows = before.seq.wrapping_add(before.len) == packet.seq
                && packet.len > 0
                && packet.time.since(before.time) < JOINED_WITHIN;
            let plain =
                before.flags == TcpFlags::ACK && packet.options.sacks == 0 && before.options.sacks == 0;
            let fits = before.len + packet.len <= max_segments * 1448 && packet.len <= before.len;
            if same && follows && plain && fits {
                let len = before.len + packet.len;
                *before = TcpPacket { seq: before.seq, len, id: before.id, ..*packet };
                return;
            }
        }
        self.held.drain(..).for_each(|p| self.to.packet(&p));
        self.held.push_back(*packet);
    }
}

/// Passes each packet to several sinks.
pub struct EachSink<S>(pub Vec<S>);

impl<S: Sink> Sink for EachSink<S> {
    fn packet(&mut self, packet: &TcpPacket) {
        self.0.iter_mut().for_each(|sink| sink.packet(packet));
    }

    fn too_big(&mut self, message: &Frame) {
        self.0.iter_mut().for_each(|sink| sink.too_big(message));
    }
}

/// Hashes a packet's number (SplitMix64).
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl<S: Sink> Sink for CutSink<S> {
    fn packet(&mut self, packet: &TcpPacket) {
        let (first, began) = *self.first.get_or_insert((packet.src.addr, packet.time));
        self.count += 1;
        let passed = packet.time.since(began);
        let stays = match self.cut {
            Cut::Whole | Cut::Options | Cut::Twice | Cut::TwoInterfaces => true,
            Cut::Joined(_) | Cut::Ahead(_) | Cut::Back(_) | Cut::Disordered => true,
            Cut::OnlyFirst => packet.src.addr == first,
            Cut::OnlySecond => packet.src.addr != first,
            Cut::Sampled(n) => mixed(self.count).is_multiple_of(u64::from(n)),
            Cut::Nth(n) => self.count.is_multiple_of(u64::from(n)),
            Cut::Dropped(n) => mixed(self.count) % 1000 >= u64::from(n),
            Cut::Begun(n) => passed >= Span::from_millis(100 * u64::from(n)),
            Cut::Prefix(s) => passed < Span::from_secs(u64::from(s)),
        };
        if !stays {
            return;
        }
        match self.cut {
            Cut::Options => {
                let options = PacketOptions { cut: true, ..PacketOptions::default() };
                self.to.packet(&TcpPacket { options, ..*packet });
            }
            Cut::Twice => {
                self.to.packet(packet);
                self.to.packet(&TcpPacket { time: packet.time + Span::from_micros(5), ..*packet });
            }
            Cut::TwoInterfaces => {
                self.release(packet.time);
                self.to.packet(packet);
                let time = packet.time + BETWEEN_INTERFACES;
                self.held.push_back(TcpPacket { time, ttl: packet.ttl.saturating_sub(1), ..*packet });
            }
            Cut::Joined(n) => self.join(packet, n),
            Cut::Ahead(s) if passed >= Span::from_secs(1) => {
                let time = packet.time + Span::from_secs(u64::from(s));
                self.to.packet(&TcpPacket { time, ..*packet });
            }
            // No time may precede the first packet, so the second before the step is moved ahead instead.
            Cut::Back(s) if passed < Span::from_secs(1) => {
                let time = packet.time + Span::from_secs(u64::from(s));
                self.to.packet(&TcpPacket { time, ..*packet });
            }
            Cut::Disordered if mixed(self.count).is_multiple_of(8) && self.held.is_empty() => {
                self.held.push_back(*packet);
            }
            Cut::Disordered => {
                self.to.packet(packet);
                self.release(packet.time);
            }
            _ => self.to.packet(packet),
        }
    }

    fn too_big(&mut self, message: &Frame) {
        if matches!(self.cut, Cut::Whole | Cut::Options | Cut::Twice | Cut::TwoInterfaces | Cut::Joined(_)) {
            self.to.too_big(message);
        }
    }
}
