//! RTP (RFC 3550) by its sequence numbers: what was lost before the capture, and jitter.

use capture::UdpDatagram;
use units::{Span, Time};

/// RFC 3550 appendix A.1: a jump ahead by less than this is a loss, back by less is reordering; else the source began anew.
const MAX_DROPOUT: u16 = 3_000;
const MAX_MISORDER: u16 = 100;
/// A flow is RTP if so many packets have the version, and one source's numbers follow each other in this share of them: by
/// chance one in 65,536 does (the RFC asks for two in a row, of a flow that is known to be RTP).
const FEWEST: u64 = 16;
const FOLLOWING: f64 = 0.5;
/// Clocks of the audio and video profiles (RFC 3551 section 6) and of codecs since: samples a second.
const CLOCKS: [f64; 7] = [8_000.0, 16_000.0, 24_000.0, 32_000.0, 44_100.0, 48_000.0, 90_000.0];
/// A clock is believed if the one seen is within this share of it.
const CLOCK_ERROR: f64 = 0.02;

/// What RTP says of a direction: the source with most packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RtpTrack {
    /// Its SSRC.
    pub ssrc: u32,
    /// Payload type of its first packet.
    pub payload_type: u8,
    /// Packets of it that came.
    pub packets: u64,
    /// Packets whose numbers never came: lost between sender and capture.
    pub lost: u64,
    /// Packets that came after one with a higher number.
    pub reordered: u64,
    /// Packets that came twice.
    pub duplicates: u64,
    /// Samples a second of its timestamps; `None`: not known.
    pub clock: Option<f64>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) at the end and the most, where the clock is known.
    pub jitter: Option<(Span, Span)>,
}

/// Watches a direction.
#[derive(Debug, Default)]
pub(super) struct RtpObserver {
    /// Packets with version 2 and a payload type that is not RTCP's.
    alike: u64,
    source: Option<RtpSource>,
}

#[derive(Debug)]
struct RtpSource {
    ssrc: u32,
    payload_type: u8,
    /// Extended highest sequence number, and the first (RFC 3550 appendix A.1).
    highest: u64,
    base: u64,
    packets: u64,
    following: u64,
    reordered: u64,
    duplicates: u64,
    /// Which of the last 128 numbers below the highest came: bit i is the one i below.
    came: u128,
    first: (Time, u32),
    last: (Time, u32),
    /// Timestamp ticks since the first packet, unwrapped.
    ticks: i64,
    /// Jitter for each clock that it may be, seconds, and its most.
    jitter: [(f64, f64); CLOCKS.len()],
}

impl RtpObserver {
    /// A datagram passes. Says when packets would have passed that are missing before it, at most [`MAX_DROPOUT`].
    pub fn datagram(&mut self, d: &UdpDatagram) -> Vec<Time> {
        let Some(h) = d.head().first_chunk::<12>() else { return Vec::new() };
        // RTCP's types take 64 to 95 of the payload types (RFC 5761 section 4).
        if h[0] >> 6 != 2 || (64..96).contains(&(h[1] & 0x7f)) {
            return Vec::new();
        }
        self.alike += 1;
        let number = u16::from_be_bytes([h[2], h[3]]);
        let stamp = u32::from_be_bytes([h[4], h[5], h[6], h[7]]);
        let ssrc = u32::from_be_bytes([h[8], h[9], h[10], h[11]]);
        match &mut self.source {
            Some(source) if source.ssrc == ssrc => source.packet(d.time, number, stamp),
            // The first source is given up for another if that has shown more of itself than it.
            Some(source) if source.following * 4 > source.packets || source.packets < 4 => Vec::new(),
            _ => {
                self.source = Some(RtpSource::new(ssrc, h[1] & 0x7f, d.time, number, stamp));
                Vec::new()
            }
        }
    }

    /// What it was, of `packets` in this direction.
    pub fn end(self, packets: u64) -> Option<RtpTrack> {
        let s = self.source.filter(|s| {
            let share = s.following as f64 / packets.max(1) as f64;
            self.alike >= FEWEST && share > FOLLOWING
        })?;
        let seconds = s.last.0.since(s.first.0).as_secs_f64();
        let seen = s.ticks as f64 / seconds;
        let clock = CLOCKS.iter().position(|c| (seen / c - 1.0).abs() < CLOCK_ERROR);
        let expected = s.highest - s.base + 1;
        let span = |seconds: f64| Span::from_secs_f64(seconds.clamp(0.0, 1e6));
        Some(RtpTrack {
            ssrc: s.ssrc,
            payload_type: s.payload_type,
            packets: s.packets,
            lost: expected.saturating_sub(s.packets - s.duplicates),
            reordered: s.reordered,
            duplicates: s.duplicates,
            clock: clock.map(|i| CLOCKS[i]),
            jitter: clock.map(|i| (span(s.jitter[i].0), span(s.jitter[i].1))),
        })
    }
}

impl RtpSource {
    fn new(ssrc: u32, payload_type: u8, time: Time, number: u16, stamp: u32) -> RtpSource {
        let highest = (1 << 32) + u64::from(number);
        RtpSource {
            ssrc,
            payload_type,
            highest,
            base: highest,
            packets: 1,
            following: 0,
            reordered: 0,
            duplicates: 0,
            came: 1,
            first: (time, stamp),
            last: (time, stamp),
            ticks: 0,
            jitter: [(0.0, 0.0); CLOCKS.len()],
        }
    }

    fn packet(&mut self, time: Time, number: u16, stamp: u32) -> Vec<Time> {
        let ahead = number.wrapping_sub(self.highest as u16);
        let missing = match ahead {
            1..MAX_DROPOUT => {
                self.highest += u64::from(ahead);
                self.following += u64::from(ahead == 1);
                self.came = self.came.checked_shl(ahead.into()).unwrap_or(0) | 1;
                u64::from(ahead) - 1
            }
            _ => {
                let back = number.wrapping_neg().wrapping_add(self.highest as u16);
                if back > MAX_MISORDER {
                    *self = RtpSource::new(self.ssrc, self.payload_type, time, number, stamp);
                    return Vec::new();
                }
                let bit = 1u128 << back;
                let known = self.came & bit != 0;
                *if known { &mut self.duplicates } else { &mut self.reordered } += 1;
                self.came |= bit;
                self.base = self.base.min(self.highest - u64::from(back));
                0
            }
        };
        self.packets += 1;
        let (last, before) = self.last;
        let ticks = i64::from(stamp.wrapping_sub(before) as i32);
        // Appendix A.8: how much more two packets were apart when they came than when they were made.
        let apart = time.since(last).as_secs_f64();
        for ((jitter, most), clock) in self.jitter.iter_mut().zip(CLOCKS) {
            *jitter += ((apart - ticks as f64 / clock).abs() - *jitter) / 16.0;
            *most = most.max(*jitter);
        }
        self.ticks += ticks;
        self.last = (time, stamp);
        // As a limiter drops the end of a burst: right behind the packet before.
        (0..missing).map(|_| last).collect()
    }
}
