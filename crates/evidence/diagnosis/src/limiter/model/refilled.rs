//! A shaper whose bucket is refilled at intervals (ticks): packets pass at once while the bucket lasts, and
//! then wait for a tick.
//!
//! 1. The model predicts the departure of each packet from the departures so far. While the bucket holds
//!    enough bytes, a packet leaves as soon as it has arrived and its predecessors have left; else it leaves
//!    at the next tick, which adds one refill.
//! 2. The alternatives are a link of the same rate, where a packet leaves one transmission time after its
//!    predecessor, and no limiter, where it leaves as it arrives.
//! 3. Residuals are Laplace-distributed ([`super::noise`]). All packets between two ticks depend on each
//!    other, so a tick counts once.

use super::super::departures::Departures;
use super::SURE_LEAD;
use super::noise::{cost_of_number, far};

/// Numbers that this model has and a link has not: the interval, and the time of a tick.
const EXTRA_PARAMETERS: f64 = 2.0;

/// A bucket that gets `refill` bytes each `interval` seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefilledModel {
    /// Seconds between two ticks.
    pub interval: f64,
    /// Bytes that a tick adds.
    pub refill: f64,
    /// Size of the bucket, bytes: one refill, or two (Cisco's Bc and Be; Be defaults to Bc).
    pub capacity: f64,
}

/// Observed departures, and the facts with which the model compares them.
#[derive(Clone, Copy)]
pub(crate) struct ObservedDepartures<'a> {
    pub departures: &'a Departures<'a>,
    /// Rate of the alternative, a link, bytes a second.
    pub link: f64,
    /// Least spread of times, seconds.
    pub noise: f64,
    /// Bytes of a packet.
    pub size: f64,
}

/// The bucket between two ticks.
struct RefilledBucket {
    model: RefilledModel,
    /// Bytes; unknown until the next tick after more has left than it held.
    holds: Option<f64>,
    /// Time of the last tick, seconds.
    tick: f64,
    /// Least spread of times, seconds.
    noise: f64,
}

impl RefilledBucket {
    /// Predicts the departure, seconds, of a packet that may leave from `from` on and left at `at`. Where the
    /// bucket is about empty, at once and the next tick are both right.
    fn leaves(&mut self, from: f64, at: f64, bytes: f64) -> f64 {
        let RefilledModel { interval, refill, capacity } = self.model;
        let passed = ((from - self.tick) / interval).floor();
        if passed >= 1.0 {
            self.tick += passed * interval;
            self.holds = Some((self.holds.unwrap_or(0.0) + passed * refill).min(capacity));
        }
        let next = self.tick + interval;
        match self.holds.map(|holds| holds - bytes).filter(|left| left.abs() > bytes) {
            Some(left) if left > 0.0 => from,
            Some(_) => next,
            None if at - from > next - at => next,
            None => from,
        }
    }

    /// Updates the bucket by a packet that left at `at` and was predicted to leave at `predicted`.
    fn update(&mut self, at: f64, predicted: f64, bytes: f64) {
        let next = self.tick + self.model.interval;
        match (predicted < next, at < next - far() * self.noise) {
            (true, true) => self.holds = self.holds.map(|holds| holds - bytes),
            // The bucket was not empty: how much it holds is not known until the next tick.
            (false, true) => self.holds = None,
            // A packet that waited for a tick found the bucket empty. The tick is moved towards the
            // departure, or small errors of the interval would add up.
            (_, false) => {
                let held = self.holds.filter(|_| predicted >= next).unwrap_or(0.0).max(0.0);
                self.tick = next + (at - next).clamp(-self.noise, self.noise);
                self.holds = Some(held + self.model.refill - bytes);
            }
        }
    }
}

impl RefilledModel {
    /// Returns the share of the best alternative's residuals that this model leaves; `None` unless it is more
    /// likely by more than the penalty of its numbers. `ticks`: times at which ticks were observed, seconds.
    pub fn residual_share(&self, observed: ObservedDepartures, ticks: &[f64]) -> Option<f64> {
        let (count, left) = (ticks.len() as f64, self.residuals(observed, *ticks.first()?));
        (-count * left.ln() > SURE_LEAD + EXTRA_PARAMETERS * cost_of_number(count)).then_some(left)
    }

    /// Returns the residuals of departures from the first tick on, as a share of those of the best
    /// alternative, over the packets for which the two predict different times.
    fn residuals(
        &self,
        ObservedDepartures { departures, link, noise, size }: ObservedDepartures,
        first: f64,
    ) -> f64 {
        // The bucket's content is known to within a packet, which says nothing about a refill of two packets.
        if self.refill <= 2.0 * size {
            return 1.0;
        }
        let mut bucket = RefilledBucket { model: *self, holds: Some(self.refill), tick: first, noise };
        // For each alternative: residuals of the ticks, and of the alternative, seconds.
        let (mut off, mut before) = ([[0.0f64; 2]; 3], f64::NEG_INFINITY);
        for d in departures.iter().filter(|d| d.at >= first) {
            let Some(wait) = d.wait else { continue };
            let came = d.at - wait;
            let from = before.max(came);
            let by_link = |rate: f64| came.max(before + d.bytes / rate);
            let by_ticks = bucket.leaves(from, d.at, d.bytes);
            bucket.update(d.at, by_ticks, d.bytes);
            let others = [from, by_link(self.refill / self.interval), by_link(link)];
            for (off, other) in
                off.iter_mut().zip(others).filter(|(_, o)| (o - by_ticks).abs() > far() * noise)
            {
                off[0] += (d.at - by_ticks).abs() + noise;
                off[1] += (d.at - other).abs() + noise;
            }
            before = d.at;
        }
        off.into_iter()
            .map(|[ticks, other]| if other > 0.0 { ticks / other } else { 1.0 })
            .fold(0.0, f64::max)
    }
}
