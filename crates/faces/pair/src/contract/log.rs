//! What was sent and what became of it, as far as a contract is learnt from it.

use super::ContractTerms;
use std::collections::VecDeque;
use units::{Span, Time};

/// Entries that are remembered: three times what 200 Mbit/s have in flight at 200 ms, as a startup overshoots threefold. Where
/// there are more, packets that passed are put together by eights.
const REMEMBERED: usize = 16_384;
/// Entries that fits look at: the startup of 200 Mbit/s at 100 ms, of whose packets more than half were lost, and a survey.
const FITTED: usize = 12_288;
const TOGETHER: u32 = 8 * 1500;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentOutcome {
    /// Not heard of yet.
    Open,
    /// It arrived; this is its round trip.
    Passed(Span),
    /// It is lost.
    Lost,
}

/// A packet, or several one after the other that passed: bytes of all, the time of the last.
#[derive(Clone, Copy, Debug)]
pub struct SentRecord {
    /// When it left, of several the first.
    pub from: Time,
    /// When it left, of several the last.
    pub at: Time,
    /// Its bytes.
    pub bytes: u32,
    /// What became of it.
    pub fate: SentOutcome,
    number: u64,
    /// Whether the contract of then should have let it pass.
    within: bool,
}

impl SentRecord {
    /// Whether it was lost though the contract of then should have let it pass.
    pub fn is_lost_within(&self) -> bool {
        self.within && self.fate == SentOutcome::Lost
    }
}

/// Packets one after the other that passed become one entry, up to [`TOGETHER`].
fn together(packets: impl Iterator<Item = SentRecord>) -> Vec<SentRecord> {
    let passed = |p: &SentRecord| matches!(p.fate, SentOutcome::Passed(_));
    let mut kept: Vec<SentRecord> = Vec::new();
    for packet in packets {
        match kept.last_mut() {
            Some(last) if passed(last) && passed(&packet) && last.bytes + packet.bytes <= TOGETHER => {
                *last = SentRecord { from: last.from, bytes: last.bytes + packet.bytes, ..packet };
            }
            _ => kept.push(packet),
        }
    }
    kept
}

/// One packet's step through the recurrence.
pub struct DeficitStep<'a> {
    /// The packet.
    pub packet: &'a SentRecord,
    /// The deficit that it found.
    pub before: f64,
    /// The deficit with it, had it passed.
    pub after: f64,
}

/// The deficit of a bucket that fills at `rate`, packet by packet; `step` says what it is afterwards.
pub fn replay<'a>(
    packets: impl Iterator<Item = &'a SentRecord>,
    rate: f64,
    begin: f64,
    mut step: impl FnMut(DeficitStep<'a>) -> f64,
) {
    let mut deficit = begin;
    let mut last: Option<Time> = None;
    for packet in packets {
        let gone = last.map_or(0.0, |last| packet.from.since(last).as_secs_f64());
        last = Some(packet.at);
        let before = (deficit - rate * gone).max(0.0);
        // Several at once: the bucket fills while they leave.
        let filled = rate * packet.at.since(packet.from).as_secs_f64();
        let after = (before + f64::from(packet.bytes) - filled).max(0.0);
        deficit = step(DeficitStep { packet, before, after });
    }
}

/// The last packets, in the order in which they left.
#[derive(Debug, Default)]
pub struct SentLog {
    packets: VecDeque<SentRecord>,
    /// Whether the bucket was full before the first: nothing had been sent.
    is_whole: bool,
    begun: bool,
}

impl SentLog {
    /// A packet leaves. Numbers rise; one that does not (another packet number space) is left out.
    pub fn push(&mut self, at: Time, number: u64, bytes: u32, within: bool) {
        if self.packets.back().is_some_and(|last| last.number >= number) {
            return;
        }
        if !self.begun {
            (self.begun, self.is_whole) = (true, true);
        }
        if self.packets.len() == REMEMBERED {
            self.make_room();
        }
        self.packets.push_back(SentRecord { from: at, at, bytes, fate: SentOutcome::Open, number, within });
    }

    /// The last packet left later than was said.
    pub fn amend_last(&mut self, at: Time) {
        if let Some(last) = self.packets.back_mut().filter(|last| last.at < at && last.from == last.at) {
            (last.from, last.at) = (at, at);
        }
    }

    /// Puts together what passed; where that does not give an eighth of the room back, the oldest quarter goes.
    fn make_room(&mut self) {
        let mut kept = together(self.packets.drain(..));
        if kept.len() > REMEMBERED / 8 * 7 {
            kept.drain(..REMEMBERED / 4);
            self.is_whole = false;
        }
        self.packets = kept.into();
    }

    /// What fits look at: those that all has been heard of, put together, and whether the first found a full bucket.
    pub fn fitted(&self) -> (Vec<SentRecord>, bool) {
        let mut all = together(self.resolved().copied());
        let over = all.len().saturating_sub(FITTED);
        all.drain(..over);
        (all, self.is_whole && over == 0)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// What became of a packet; whether the contract of then should have let it pass.
    pub fn resolve(&mut self, number: u64, fate: SentOutcome) -> bool {
        let Ok(i) = self.packets.binary_search_by_key(&number, |packet| packet.number) else { return false };
        self.packets[i].fate = fate;
        self.packets[i].within
    }

    /// Those that all has been heard of, from the first on.
    pub fn resolved(&self) -> impl Iterator<Item = &SentRecord> + Clone {
        self.packets.iter().take_while(|packet| packet.fate != SentOutcome::Open)
    }

    /// The number of the last packet.
    pub fn last_number(&self) -> u64 {
        self.packets.back().map_or(0, |packet| packet.number)
    }

    /// When the last packet left.
    pub fn last_time(&self) -> Time {
        self.packets.back().map_or(Time::ZERO, |packet| packet.at)
    }

    /// Losses among these, when all of them have been heard of.
    pub fn lost_between(&self, from: u64, to: u64) -> Option<usize> {
        let mut lost = 0;
        for packet in self.packets.iter().filter(|packet| (from..=to).contains(&packet.number)) {
            match packet.fate {
                SentOutcome::Open => return None,
                SentOutcome::Lost => lost += 1,
                SentOutcome::Passed(_) => {}
            }
        }
        Some(lost)
    }

    /// The deficit after the last packet, where those not heard of are taken to have passed while there was room.
    pub fn deficit_now(&self, terms: &ContractTerms) -> f64 {
        let begin = if self.is_whole { 0.0 } else { terms.bucket };
        let mut deficit = begin;
        replay(self.packets.iter(), terms.rate, begin, |step| {
            deficit = step.after.min(terms.bucket);
            deficit
        });
        deficit
    }

    /// Forgets all of it; what comes finds a bucket of which nothing is known.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.is_whole = false;
    }
}
