//! The part of the path between sender and capture: its RTT, and what the sender knew when.
//!
//! The RTT is taken from timestamps: an ACK with a new TSval passes, and the first packet of data that echoes
//! it tells when the sender had it. A sender that had nothing to send, or was not allowed to, echoes late: by
//! the pause before that packet at most. So a sample says that the RTT is not above it, and not below it less
//! the pause.

use crate::direction::LONGEST;
use std::collections::VecDeque;

/// ACKs whose echo is waited for.
const MARKS: usize = 8;
/// Of so many samples a low one is in force: what a sender waits between ACK and packet is no path.
const RECENT: usize = 4;
/// What a sender may take to answer, nanoseconds.
const BUSY: u64 = 300_000;
/// The ring of ACKs holds so many to an RTT.
const STEPS: u64 = 64;
/// Below this, nanoseconds, the capture is at the sender.
const NEAR: u64 = 50_000;

/// What an ACK told the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckState {
    /// When it passed.
    pub time: u64,
    /// Acknowledged cumulatively up to here.
    pub una: u64,
    /// Bytes sacked above it.
    pub sacked: u32,
    /// Where the window ends.
    pub edge: u64,
    /// It came alone, without data of the receiver's.
    pub pure: bool,
    /// Since the one before, µs; [`SenderSide::acked`] finds it.
    pub gap: u16,
}

#[derive(Debug, Default)]
pub struct SenderSide {
    marks: [(u32, u64); MARKS],
    first_mark: u8,
    marked: u8,
    last_tsval: Option<u32>,
    recent: [u64; RECENT],
    samples: u32,
    least: Option<u64>,
    /// RTT between capture and sender, nanoseconds.
    rtt: Option<u64>,
    /// ACKs that the sender does not know yet; the first is the last that it knows.
    ring: VecDeque<AckState>,
}

impl SenderSide {
    /// From the handshake.
    pub fn begin(&mut self, rtt: u64) {
        if self.samples == 0 {
            self.rtt = Some(rtt.min(LONGEST));
            self.least = self.rtt;
        }
    }

    /// Reads from each of its cache lines.
    #[inline]
    pub fn fetch(&self) -> u64 {
        self.marks[0].1 ^ self.marks[4].1 ^ self.marks[7].1 ^ self.recent[0] ^ self.ring.len() as u64
    }

    /// Reads where its list is read next.
    #[inline]
    pub fn fetch_list(&self) -> u64 {
        self.ring.front().map_or(0, |k| k.una)
    }

    /// Gives back what its list has in reserve.
    pub fn rest(&mut self) {
        self.ring.shrink_to_fit();
    }

    /// RTT in force, nanoseconds; zero where unknown.
    #[inline]
    pub fn rtt(&self) -> u64 {
        self.rtt.unwrap_or(0)
    }

    /// An ACK with `tsval` passes.
    #[inline]
    pub fn mark(&mut self, now: u64, tsval: u32) {
        if self.last_tsval.is_some_and(|last| tsval.wrapping_sub(last) as i32 <= 0) {
            return;
        }
        self.last_tsval = Some(tsval);
        let full = self.marked as usize == MARKS;
        if full || self.marked > 0 {
            let last = self.marks[(self.first_mark as usize + self.marked as usize - 1) % MARKS].1;
            // Spread over the RTT, those noted stay until it is over.
            let far =
                full && now.saturating_sub(self.marks[self.first_mark as usize].1) > self.forget_after();
            if full && !far || now.saturating_sub(last) < self.rtt() / MARKS as u64 {
                return;
            }
            if far {
                self.first_mark = (self.first_mark + 1) % MARKS as u8;
                self.marked -= 1;
            }
        }
        let at = (self.first_mark as usize + self.marked as usize) % MARKS;
        self.marks[at] = (tsval, now);
        self.marked += 1;
    }

    fn forget_after(&self) -> u64 {
        (4 * self.rtt()).max(1_000_000_000)
    }

    /// Data that echoes `tsecr` passes, `gap` after the packet of data before it. `fresh`: it was not held
    /// back by a timer. Returns an RTT between capture and sender, nanoseconds.
    #[inline]
    pub fn echo(&mut self, now: u64, tsecr: u32, gap: u64, fresh: bool) -> Option<u64> {
        let mut sample = None;
        while self.marked > 0 {
            let (tsval, time) = self.marks[self.first_mark as usize];
            let ahead = tsecr.wrapping_sub(tsval) as i32;
            if ahead < 0 {
                break;
            }
            if ahead == 0 {
                sample = Some(now.saturating_sub(time).min(LONGEST));
            }
            self.first_mark = (self.first_mark + 1) % MARKS as u8;
            self.marked -= 1;
        }
        let sample = sample.filter(|_| fresh)?;
        // The sender may have had the ACK since its packet before.
        let sample = self.rtt.map_or(sample, |rtt| rtt.clamp(sample.saturating_sub(gap), sample));
        self.least = Some(self.least.map_or(sample, |least| least.min(sample)));
        self.recent[self.samples as usize % RECENT] = sample;
        self.samples = self.samples.wrapping_add(1).max(1);
        let mut recent = self.recent;
        let known = &mut recent[..(self.samples as usize).min(RECENT)];
        known.sort_unstable();
        let low = known[known.len() / 4];
        // The sender takes its time too, and more often than not it is at the capture.
        self.rtt = self.least.map(|least| if low <= least + BUSY { least } else { low });
        Some(sample)
    }

    /// An ACK tells the sender `known`.
    #[inline]
    pub fn acked(&mut self, known: AckState) {
        let up = self.rtt();
        let near = up < NEAR;
        if near {
            self.ring.truncate(1);
        } else {
            self.trim(known.time);
        }
        let since = known.time.saturating_sub(self.ring.back().map_or(known.time, |last| last.time));
        let known = AckState { gap: (since / 1000).min(u16::MAX as u64) as u16, ..known };
        let steps = self.ring.len() > 1;
        match self.ring.back_mut() {
            Some(only) if near => *only = known,
            // Told a little early, at most a 64th of the RTT.
            Some(last) if steps && since < up / STEPS => {
                *last = AckState { time: last.time, gap: last.gap, ..known };
            }
            _ => self.ring.push_back(known),
        }
    }

    #[inline]
    fn trim(&mut self, now: u64) {
        let known = now.saturating_sub(self.rtt());
        while self.ring.len() > 1 && (self.ring[1].time <= known || self.ring.len() > 4 * STEPS as usize) {
            self.ring.pop_front();
        }
    }

    /// What the sender knew when it sent what passes now.
    #[inline]
    pub fn known(&mut self, now: u64) -> Option<AckState> {
        if self.ring.len() > 1 {
            self.trim(now);
        }
        self.ring.front().copied()
    }
}
