//! The log of sent packets and their outcome, from which a contract is learnt.

use super::ContractTerms;
use std::collections::VecDeque;
use units::{Span, Time};

/// The most records that are kept: three times what 200 Mbit/s has in flight at 200 ms, as startup overshoots
/// threefold. If there are more, packets that passed are merged in groups of eight.
const MAX_RECORDS: usize = 16_384;
/// The most records that a fit looks at: the startup of 200 Mbit/s at 100 ms, with more than half of the
/// packets lost, and a survey.
const MAX_FITTED: usize = 12_288;
const MAX_MERGED_BYTES: u32 = 8 * 1500;

/// The outcome of a sent packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentOutcome {
    /// Not known yet.
    Pending,
    /// Arrived, with this round trip.
    Passed(Span),
    Lost,
}

/// A sent packet, or several consecutive ones that passed.
#[derive(Clone, Copy, Debug)]
pub struct SentRecord {
    /// When the first packet was sent.
    pub from: Time,
    /// When the last packet was sent.
    pub at: Time,
    /// The bytes of all packets.
    pub bytes: u32,
    pub outcome: SentOutcome,
    number: u64,
    /// Whether the contract at that time should have let it pass.
    within_contract: bool,
}

impl SentRecord {
    /// Whether it was lost although the contract at that time should have let it pass.
    pub fn is_lost_within_contract(&self) -> bool {
        self.within_contract && self.outcome == SentOutcome::Lost
    }
}

/// Merges consecutive packets that passed, up to [`MAX_MERGED_BYTES`] per record.
fn merge_passed(packets: impl Iterator<Item = SentRecord>) -> Vec<SentRecord> {
    let passed = |p: &SentRecord| matches!(p.outcome, SentOutcome::Passed(_));
    let mut kept: Vec<SentRecord> = Vec::new();
    for packet in packets {
        match kept.last_mut() {
            Some(last)
                if passed(last) && passed(&packet) && last.bytes + packet.bytes <= MAX_MERGED_BYTES =>
            {
                *last = SentRecord { from: last.from, bytes: last.bytes + packet.bytes, ..packet };
            }
            _ => kept.push(packet),
        }
    }
    kept
}

/// One step of the recurrence.
pub struct DeficitStep<'a> {
    pub packet: &'a SentRecord,
    /// The deficit before the packet.
    pub before: f64,
    /// The deficit with the packet, if it passes.
    pub after: f64,
}

/// The deficit of a bucket that fills at `rate`, packet by packet. `step` returns the deficit after each
/// packet.
pub fn replay<'a>(
    packets: impl Iterator<Item = &'a SentRecord>,
    rate: f64,
    initial: f64,
    mut step: impl FnMut(DeficitStep<'a>) -> f64,
) {
    let mut deficit = initial;
    let mut last: Option<Time> = None;
    for packet in packets {
        let elapsed = last.map_or(0.0, |last| packet.from.since(last).as_secs_f64());
        last = Some(packet.at);
        let before = (deficit - rate * elapsed).max(0.0);
        // For merged packets: the bucket fills while they are sent.
        let filled = rate * packet.at.since(packet.from).as_secs_f64();
        let after = (before + f64::from(packet.bytes) - filled).max(0.0);
        deficit = step(DeficitStep { packet, before, after });
    }
}

/// The newest packets, in the order in which they were sent.
#[derive(Debug, Default)]
pub struct SentLog {
    packets: VecDeque<SentRecord>,
    /// Whether the bucket was full before the first packet because nothing had been sent.
    starts_full: bool,
    has_begun: bool,
}

impl SentLog {
    /// Adds a sent packet. Numbers must rise; one that does not (another packet number space) is ignored.
    pub fn push(&mut self, at: Time, number: u64, bytes: u32, within_contract: bool) {
        if self.packets.back().is_some_and(|last| last.number >= number) {
            return;
        }
        if !self.has_begun {
            (self.has_begun, self.starts_full) = (true, true);
        }
        if self.packets.len() == MAX_RECORDS {
            self.make_room();
        }
        self.packets.push_back(SentRecord {
            from: at,
            at,
            bytes,
            outcome: SentOutcome::Pending,
            number,
            within_contract,
        });
    }

    /// The last packet was sent later than planned.
    pub fn amend_last(&mut self, at: Time) {
        if let Some(last) = self.packets.back_mut().filter(|last| last.at < at && last.from == last.at) {
            (last.from, last.at) = (at, at);
        }
    }

    /// Merges packets that passed. If that frees less than an eighth of the room, the oldest quarter is
    /// dropped.
    fn make_room(&mut self) {
        let mut kept = merge_passed(self.packets.drain(..));
        if kept.len() > MAX_RECORDS / 8 * 7 {
            kept.drain(..MAX_RECORDS / 4);
            self.starts_full = false;
        }
        self.packets = kept.into();
    }

    /// The records for a fit: merged, up to the first that is pending. Also returns whether the first of them
    /// found a full bucket.
    pub fn fitted(&self) -> (Vec<SentRecord>, bool) {
        let mut all = merge_passed(self.resolved().copied());
        let over = all.len().saturating_sub(MAX_FITTED);
        all.drain(..over);
        (all, self.starts_full && over == 0)
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Sets the outcome of a packet. Returns whether the contract at that time should have let it pass.
    pub fn resolve(&mut self, number: u64, outcome: SentOutcome) -> bool {
        let Ok(i) = self.packets.binary_search_by_key(&number, |packet| packet.number) else { return false };
        self.packets[i].outcome = outcome;
        self.packets[i].within_contract
    }

    /// All records before the first that is pending.
    pub fn resolved(&self) -> impl Iterator<Item = &SentRecord> + Clone {
        self.packets.iter().take_while(|packet| packet.outcome != SentOutcome::Pending)
    }

    /// The number of the last packet.
    pub fn last_number(&self) -> u64 {
        self.packets.back().map_or(0, |packet| packet.number)
    }

    /// When the last packet left.
    pub fn last_time(&self) -> Time {
        self.packets.back().map_or(Time::ZERO, |packet| packet.at)
    }

    /// The number of losses in this range, or `None` while a packet of it is pending.
    pub fn lost_between(&self, from: u64, to: u64) -> Option<usize> {
        let mut lost = 0;
        for packet in self.packets.iter().filter(|packet| (from..=to).contains(&packet.number)) {
            match packet.outcome {
                SentOutcome::Pending => return None,
                SentOutcome::Lost => lost += 1,
                SentOutcome::Passed(_) => {}
            }
        }
        Some(lost)
    }

    /// The deficit after the last packet. Pending packets count as passed if there was room.
    pub fn deficit_now(&self, terms: &ContractTerms) -> f64 {
        let initial = if self.starts_full { 0.0 } else { terms.bucket };
        let mut deficit = initial;
        replay(self.packets.iter(), terms.rate, initial, |step| {
            deficit = step.after.min(terms.bucket);
            deficit
        });
        deficit
    }

    /// Forgets all packets. After that the level of the bucket is unknown.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.starts_full = false;
    }
}
