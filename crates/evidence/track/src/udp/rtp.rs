//! RTP (RFC 3550), by its sequence numbers: losses before the capture, and jitter.

use capture::UdpDatagram;
use units::{Span, Time};

/// RFC 3550 appendix A.1: a smaller jump ahead is a loss, a smaller jump back is reordering; otherwise the
/// source restarted.
const MAX_DROPOUT: u16 = 3_000;
const MAX_MISORDER: u16 = 100;
/// A flow is RTP if at least this many packets have the version, and one source's numbers are consecutive in
/// this share of them. By chance one number in 65,536 is consecutive. (The RFC requires two in a row, for a
/// flow that is known to be RTP.)
const MIN_PACKETS: u64 = 16;
const MIN_CONSECUTIVE_SHARE: f64 = 0.5;
/// Clocks of the audio and video profiles (RFC 3551 section 6) and of later codecs, samples per second.
const CLOCK_RATES: [f64; 7] = [8_000.0, 16_000.0, 24_000.0, 32_000.0, 44_100.0, 48_000.0, 90_000.0];
/// Relative tolerance between the observed clock and one of [`CLOCK_RATES`].
const CLOCK_ERROR: f64 = 0.02;

/// RTP results of a direction, for the source with the most packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RtpTrack {
    pub ssrc: u32,
    /// Payload type of its first packet.
    pub payload_type: u8,
    /// Packets that arrived.
    pub packets: u64,
    /// Packets whose numbers never arrived: lost between sender and capture.
    pub lost: u64,
    /// Packets that arrived after one with a higher number.
    pub reordered: u64,
    /// Packets that arrived more than once.
    pub duplicates: u64,
    /// Clock of its timestamps, samples per second; `None`: unknown.
    pub clock: Option<f64>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) at the end, and its maximum; `None` if the clock is
    /// unknown.
    pub jitter: Option<(Span, Span)>,
}

/// Observes a direction.
#[derive(Debug, Default)]
pub(super) struct RtpObserver {
    /// Packets with version 2 and a payload type that is not RTCP's.
    candidates: u64,
    source: Option<RtpSource>,
}

#[derive(Debug)]
struct RtpSource {
    ssrc: u32,
    payload_type: u8,
    /// Extended highest sequence number, and the first one (RFC 3550 appendix A.1).
    highest: u64,
    base: u64,
    packets: u64,
    consecutive: u64,
    reordered: u64,
    duplicates: u64,
    /// Which of the last 128 numbers arrived: bit i is the number i below the highest.
    arrived: u128,
    first: (Time, u32),
    last: (Time, u32),
    /// Timestamp ticks since the first packet, unwrapped.
    ticks: i64,
    /// Jitter and its maximum for each possible clock, seconds.
    jitter: [(f64, f64); CLOCK_RATES.len()],
}

impl RtpObserver {
    /// Processes a datagram. Returns when the packets that are missing before it would have passed, at most
    /// [`MAX_DROPOUT`].
    pub fn datagram(&mut self, d: &UdpDatagram) -> Vec<Time> {
        let Some(h) = d.head().first_chunk::<12>() else { return Vec::new() };
        // RTCP's types take 64 to 95 of the payload types (RFC 5761 section 4).
        if h[0] >> 6 != 2 || (64..96).contains(&(h[1] & 0x7f)) {
            return Vec::new();
        }
        self.candidates += 1;
        let number = u16::from_be_bytes([h[2], h[3]]);
        let stamp = u32::from_be_bytes([h[4], h[5], h[6], h[7]]);
        let ssrc = u32::from_be_bytes([h[8], h[9], h[10], h[11]]);
        match &mut self.source {
            Some(source) if source.ssrc == ssrc => source.packet(d.time, number, stamp),
            // Keep the first source unless it has shown too few consecutive numbers.
            Some(source) if source.consecutive * 4 > source.packets || source.packets < 4 => Vec::new(),
            _ => {
                self.source = Some(RtpSource::new(ssrc, h[1] & 0x7f, d.time, number, stamp));
                Vec::new()
            }
        }
    }

    /// Returns the source, if it is RTP among `packets` in this direction.
    pub fn end(self, packets: u64) -> Option<RtpTrack> {
        let s = self.source.filter(|s| {
            let share = s.consecutive as f64 / packets.max(1) as f64;
            self.candidates >= MIN_PACKETS && share > MIN_CONSECUTIVE_SHARE
        })?;
        let seconds = s.last.0.since(s.first.0).as_secs_f64();
        let seen = s.ticks as f64 / seconds;
        let clock = CLOCK_RATES.iter().position(|c| (seen / c - 1.0).abs() < CLOCK_ERROR);
        let expected = s.highest - s.base + 1;
        let span = |seconds: f64| Span::from_secs_f64(seconds.clamp(0.0, 1e6));
        Some(RtpTrack {
            ssrc: s.ssrc,
            payload_type: s.payload_type,
            packets: s.packets,
            lost: expected.saturating_sub(s.packets - s.duplicates),
            reordered: s.reordered,
            duplicates: s.duplicates,
            clock: clock.map(|i| CLOCK_RATES[i]),
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
            consecutive: 0,
            reordered: 0,
            duplicates: 0,
            arrived: 1,
            first: (time, stamp),
            last: (time, stamp),
            ticks: 0,
            jitter: [(0.0, 0.0); CLOCK_RATES.len()],
        }
    }

    fn packet(&mut self, time: Time, number: u16, stamp: u32) -> Vec<Time> {
        let ahead = number.wrapping_sub(self.highest as u16);
        let missing = match ahead {
            1..MAX_DROPOUT => {
                self.highest += u64::from(ahead);
                self.consecutive += u64::from(ahead == 1);
                self.arrived = self.arrived.checked_shl(ahead.into()).unwrap_or(0) | 1;
                u64::from(ahead) - 1
            }
            _ => {
                let back = number.wrapping_neg().wrapping_add(self.highest as u16);
                if back > MAX_MISORDER {
                    *self = RtpSource::new(self.ssrc, self.payload_type, time, number, stamp);
                    return Vec::new();
                }
                let bit = 1u128 << back;
                let known = self.arrived & bit != 0;
                *if known { &mut self.duplicates } else { &mut self.reordered } += 1;
                self.arrived |= bit;
                self.base = self.base.min(self.highest - u64::from(back));
                0
            }
        };
        self.packets += 1;
        let (last, before) = self.last;
        let ticks = i64::from(stamp.wrapping_sub(before) as i32);
        // Appendix A.8: difference between the packets' spacing at arrival and in their timestamps.
        let spacing = time.since(last).as_secs_f64();
        for ((jitter, most), clock) in self.jitter.iter_mut().zip(CLOCK_RATES) {
            *jitter += ((spacing - ticks as f64 / clock).abs() - *jitter) / 16.0;
            *most = most.max(*jitter);
        }
        self.ticks += ticks;
        self.last = (time, stamp);
        // A limiter drops the end of a burst, so the losses follow immediately after the previous packet.
        (0..missing).map(|_| last).collect()
    }
}
