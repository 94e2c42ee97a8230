//! A shaper whose bucket is refilled at intervals: what it holds passes without a wait, what comes beyond that waits for a tick.
//!
//! 1. From what left until now the model foretells when the next packet leaves: with what the bucket still holds, as soon as it has come
//!    and those before it have left; else at the next tick, which gives the bucket one refill.
//! 2. Held against it are a link of the same rate, where a packet leaves as long after the one before it as its bytes take, and no
//!    limiter, where it leaves as it comes.
//! 3. What any leaves unexplained is Laplace's ([`super::noise`]). A tick says once what all packets between two of them say.

use super::super::departures::Departures;
use super::SURE;
use super::noise::{cost_of_number, far};

/// Numbers of the model that a link has not: the interval, and when ticks are.
const NUMBERS: f64 = 2.0;

/// A bucket that gets `refill` bytes each `interval` seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefilledModel {
    /// Seconds between two ticks.
    pub interval: f64,
    /// Bytes.
    pub refill: f64,
    /// The most that it holds, bytes: a refill, or as much again (Cisco's Bc and Be, of which the second is the first's if nothing is said).
    pub capacity: f64,
}

/// Packets that leave, and what else is known there.
#[derive(Clone, Copy)]
pub(crate) struct SeenDepartures<'a> {
    pub departures: &'a Departures<'a>,
    /// The rate of a link that it may be instead, bytes a second.
    pub link: f64,
    /// By how much times differ at least, seconds.
    pub noise: f64,
    /// Bytes of a packet.
    pub size: f64,
}

/// What the bucket holds, bytes, and since which tick, seconds.
struct RefilledBucket {
    model: RefilledModel,
    /// `None` where more has left than it held: until the next tick.
    holds: Option<f64>,
    tick: f64,
    /// By how much times differ at least, seconds.
    noise: f64,
}

impl RefilledBucket {
    /// When the packet leaves that may at `from` and left at `at`, seconds. Where the bucket is about empty either is foretold.
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

    /// It left at `at`, where `foretold` was said.
    fn left(&mut self, at: f64, foretold: f64, bytes: f64) {
        let next = self.tick + self.model.interval;
        match (foretold < next, at < next - far() * self.noise) {
            (true, true) => self.holds = self.holds.map(|holds| holds - bytes),
            // The bucket was not empty: how much it holds is not known until the next tick.
            (false, true) => self.holds = None,
            // Who waits for a tick found it empty, whatever was thought. A small error of the interval would add up: ticks follow what is
            // seen.
            (_, false) => {
                let held = self.holds.filter(|_| foretold >= next).unwrap_or(0.0).max(0.0);
                self.tick = next + (at - next).clamp(-self.noise, self.noise);
                self.holds = Some(held + self.model.refill - bytes);
            }
        }
    }
}

impl RefilledModel {
    /// What it leaves of what a link or nothing leaves unexplained, if it is told: it is likelier by what its numbers cost. `ticks`: when some
    /// were seen, seconds.
    pub fn told(&self, seen: SeenDepartures, ticks: &[f64]) -> Option<f64> {
        let (count, left) = (ticks.len() as f64, self.left(seen, *ticks.first()?));
        (-count * left.ln() > SURE + NUMBERS * cost_of_number(count)).then_some(left)
    }

    /// What it leaves unexplained of the times at which packets leave from the first tick on, as a share of what the best other model leaves:
    /// of the packets of which the two foretell another time.
    fn left(&self, SeenDepartures { departures, link, noise, size }: SeenDepartures, first: f64) -> f64 {
        // What a bucket holds is known to a packet: of one that is refilled by two nothing can be foretold.
        if self.refill <= 2.0 * size {
            return 1.0;
        }
        let mut bucket = RefilledBucket { model: *self, holds: Some(self.refill), tick: first, noise };
        // Of each other model how far off the ticks are, and it is, seconds.
        let (mut off, mut before) = ([[0.0f64; 2]; 3], f64::NEG_INFINITY);
        for d in departures.iter().filter(|d| d.at >= first) {
            let came = d.at - d.wait;
            let from = before.max(came);
            let by_link = |rate: f64| came.max(before + d.bytes / rate);
            let by_ticks = bucket.leaves(from, d.at, d.bytes);
            bucket.left(d.at, by_ticks, d.bytes);
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
