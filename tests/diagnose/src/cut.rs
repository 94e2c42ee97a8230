//! Captures that lack something: what a capture of both directions becomes when it is taken or kept badly.
//!
//! A cut takes packets away, or parts of them. The truth stays what it was, so a verdict on what is left is right, or
//! wrong, or says that it cannot tell.

use crate::watch::Sink;
use capture::{Addr, Frame, PacketOptions, TcpPacket};
use units::{Span, Time};

/// What a capture lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Nothing.
    Whole,
    /// What the side that was heard first does not send: usually the ACKs, of an upload.
    OnlyFirst,
    /// What that side sends.
    OnlySecond,
    /// All but one packet in so many, at random.
    Sampled(u32),
    /// All but every so many-th packet.
    Nth(u32),
    /// So many packets in a thousand, at random: a disk too slow for the capture.
    Dropped(u32),
    /// TCP's options, cut off by a short snap length.
    Options,
    /// What passed in the first so many tenths of a second.
    Begun(u32),
    /// All after so many seconds.
    Prefix(u32),
    /// Each packet stands there twice, the second 5 us later: a mirror of both directions of a switch.
    Twice,
}

impl Cut {
    /// All that are tried.
    pub const ALL: [Cut; 17] = [
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
        Cut::Prefix(2),
        Cut::Prefix(4),
        Cut::Twice,
    ];

    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Cut::Whole => "whole".into(),
            Cut::OnlyFirst => "one direction, of the side that begins".into(),
            Cut::OnlySecond => "one direction, of the other side".into(),
            Cut::Sampled(n) => format!("1 packet in {n}, at random"),
            Cut::Nth(n) => format!("every {n}th packet"),
            Cut::Dropped(n) => format!("{:.1} % of the packets missing", f64::from(n) / 10.0),
            Cut::Options => "options cut off".into(),
            Cut::Begun(n) => format!("begun {:.1} s late", f64::from(n) / 10.0),
            Cut::Prefix(s) => format!("the first {s} s"),
            Cut::Twice => "each packet twice".into(),
        }
    }
}

/// Hands on what a cut leaves of a capture.
pub struct CutSink<S> {
    cut: Cut,
    to: S,
    first: Option<(Addr, Time)>,
    seen: u64,
}

impl<S: Sink> CutSink<S> {
    /// Of `cut`, to `to`.
    pub fn new(cut: Cut, to: S) -> CutSink<S> {
        CutSink { cut, to, first: None, seen: 0 }
    }

    /// What took the packets.
    pub fn into_inner(self) -> S {
        self.to
    }
}

/// Hands each packet to several.
pub struct EachSink<S>(pub Vec<S>);

impl<S: Sink> Sink for EachSink<S> {
    fn packet(&mut self, packet: &TcpPacket) {
        self.0.iter_mut().for_each(|sink| sink.packet(packet));
    }

    fn too_big(&mut self, message: &Frame) {
        self.0.iter_mut().for_each(|sink| sink.too_big(message));
    }
}

/// A number that looks random, of a packet's number (SplitMix64).
fn mixed(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl<S: Sink> Sink for CutSink<S> {
    fn packet(&mut self, packet: &TcpPacket) {
        let (first, began) = *self.first.get_or_insert((packet.src.addr, packet.time));
        self.seen += 1;
        let passed = packet.time.since(began);
        let stays = match self.cut {
            Cut::Whole | Cut::Options | Cut::Twice => true,
            Cut::OnlyFirst => packet.src.addr == first,
            Cut::OnlySecond => packet.src.addr != first,
            Cut::Sampled(n) => mixed(self.seen).is_multiple_of(u64::from(n)),
            Cut::Nth(n) => self.seen.is_multiple_of(u64::from(n)),
            Cut::Dropped(n) => mixed(self.seen) % 1000 >= u64::from(n),
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
            _ => self.to.packet(packet),
        }
    }

    fn too_big(&mut self, message: &Frame) {
        if matches!(self.cut, Cut::Whole | Cut::Options | Cut::Twice) {
            self.to.too_big(message);
        }
    }
}
