//! A queue that is managed: CoDel (RFC 8289), alone or in each of a fair queue's queues (RFC 8290).
//!
//! 1. While packets wait longer than a target, one is dropped an interval after that began, the next interval
//!    / √2 later, then interval / √3. The waits of packets that passed, and the losses so far, give the time
//!    at which the next loss is due ([`ControlLaw`]).
//! 2. A loss at about that time follows the law: its distance from the time is Laplace-distributed, as waits
//!    are ([`super::noise`]). A loss that was due and did not come is as rare as a packet that passes against
//!    a model. Other losses come by chance.
//! 3. The alternative is a loss probability that is constant over time. The losses of a full queue come
//!    together, at its greatest length, regardless of when the next loss is due.

use super::super::virtual_queue::{PacketArrival, begin, episodes, flows, largest};
use super::delays::NOISE;
use super::noise::{PASSES_AGAINST_MODEL, cost_of_number};

/// How long the target may be exceeded, seconds (RFC 8289 section 4.2; the default of Linux).
const CODEL_INTERVAL_S: f64 = 0.1;
/// The least target, seconds (RFC 8289 section 4.3; the default of Linux).
const CODEL_TARGET_S: f64 = 0.005;
/// Intervals within which CoDel resumes its former drop rate (RFC 8289 section 5.5).
const RESUME_INTERVALS: f64 = 16.0;
/// A loss that misses its due time by more than this share of the spacing belongs to the next due time.
const MAX_MISS_SHARE: f64 = 0.5;

/// How well CoDel's law predicts a queue's losses.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagedQueue {
    /// Log likelihood ratio against chance, nats; a loss episode counts once.
    pub gain: f64,
    /// The losses that follow the law, by flow and place in its log.
    pub dropped: Vec<(u16, u32)>,
}

/// The state of CoDel at a queue, with the names of RFC 8289 section 5.
#[derive(Clone, Copy, Default)]
struct ControlLaw {
    first_above_time: Option<f64>,
    dropping: bool,
    drop_next: f64,
    count: f64,
    last_count: f64,
    /// Departure of the last packet, seconds.
    left: f64,
}

impl ControlLaw {
    fn spacing(&self) -> f64 {
        CODEL_INTERVAL_S / self.count.max(1.0).sqrt()
    }

    /// Returns when the next loss is due and the spacing to the one after it, seconds; `None` while too
    /// little waits.
    fn next(&self) -> Option<(f64, f64)> {
        match self.dropping {
            true => Some((self.drop_next, self.spacing())),
            false => self.first_above_time.map(|since| (since, CODEL_INTERVAL_S)),
        }
    }

    /// Handles the departure of a packet at `now`.
    fn leave(&mut self, now: f64, is_above: bool) {
        self.left = now;
        if is_above {
            self.first_above_time.get_or_insert(now + CODEL_INTERVAL_S);
        } else {
            (self.first_above_time, self.dropping) = (None, false);
        }
    }

    /// Handles the drop that was due at `due`.
    fn drop(&mut self, due: f64) {
        if self.dropping {
            self.count += 1.0;
        } else {
            let delta = self.count - self.last_count;
            let recent = due - self.drop_next < RESUME_INTERVALS * CODEL_INTERVAL_S;
            self.count = if delta > 1.0 && recent { delta } else { 1.0 };
            self.last_count = self.count;
            self.dropping = true;
        }
        self.drop_next = due + self.spacing();
    }
}

/// Losses of a queue, sorted by whether the law predicts them.
#[derive(Default)]
struct PredictedLosses {
    /// Losses that came when they were due, by flow and place in its log.
    dropped: Vec<(u16, u32)>,
    /// Sum of their distances from the due times, seconds.
    off: f64,
    /// Losses that were due and did not come.
    unseen: f64,
    /// Losses that were not due.
    others: f64,
    /// Seconds in which packets waited longer than the target.
    waiting: f64,
}

impl PredictedLosses {
    /// Follows the packets of one queue that drains at `rate` bytes a second.
    fn follow(&mut self, queue: &[&PacketArrival], rate: f64, base: f64, target: f64) {
        let (mut law, mut last) = (ControlLaw::default(), None);
        for (i, a) in queue.iter().enumerate() {
            // CoDel measures the wait until a packet reaches the head of the queue, without its transmission.
            let delay = a.delay.get().filter(|_| !a.lost);
            let own = delay.map(|delay| f64::from(delay) - base - f64::from(a.size) / rate);
            // A delayed ACK makes a wait look longer: take the lesser of two.
            let Some(wait) = own.into_iter().chain(last).reduce(f64::min) else { continue };
            last = own.or(last);
            let now = (a.at + wait).max(law.left);
            // CoDel drops only when a packet leaves, and several packets where several drops are due.
            let near = |spacing: f64| MAX_MISS_SHARE * spacing.max(f64::from(a.size) / rate);
            if !a.lost
                && let Some((due, _)) = law.next().filter(|(due, spacing)| now > due + near(*spacing))
            {
                self.unseen += 1.0;
                law.drop(due);
            }
            if a.lost {
                match law.next().filter(|(due, spacing)| now > due - near(*spacing)) {
                    Some((due, _)) => {
                        self.dropped.push((a.flow, a.entry));
                        self.off += (now - due.max(law.left)).abs();
                        law.drop(if law.dropping { due } else { now });
                    }
                    None => self.others += 1.0,
                }
            }
            // CoDel stops dropping when no more than a packet is left (RFC 8289 section 5.6).
            let is_above = wait >= target && queue.get(i + 2).is_some_and(|next| next.at < now);
            self.waiting += if is_above { now - law.left } else { 0.0 };
            law.leave(now, is_above);
        }
    }

    /// Returns the log likelihood ratio against losses at any time while packets wait, nats.
    fn gain(&self) -> f64 {
        let PredictedLosses { off, unseen, others, waiting, .. } = *self;
        let law = self.dropped.len() as f64;
        let lost = law + others;
        if law == 0.0 || waiting <= 0.0 {
            return 0.0;
        }
        // Losses a second under chance, and losses a second that the law does not predict.
        let (chance, elsewhere) = (lost / waiting, (others + 0.5) / waiting);
        // The most likely width is the mean distance from the due times.
        let seen = -law * (1.0 + (2.0 * (off / law + NOISE)).ln());
        let by_law = seen
            + law * (1.0 - PASSES_AGAINST_MODEL).ln()
            + unseen * PASSES_AGAINST_MODEL.ln()
            + others * elsewhere.ln()
            - elsewhere * waiting;
        by_law - (lost * chance.ln() - lost)
    }
}

/// Tests CoDel's law on the losses, with one queue for all flows and with one for each, and returns the
/// better. `rate` is in bytes a second, `base` is the delay without waiting in seconds, `width` is the length
/// of a loss episode in seconds.
pub(crate) fn managed_queue(arrivals: &[PacketArrival], rate: f64, base: f64, width: f64) -> ManagedQueue {
    let arrivals = begin(arrivals);
    let lost = arrivals.iter().filter(|a| a.lost).count().max(1) as f64;
    let packet = largest(arrivals) / rate;
    // On slow links the target is the transmission time of a packet or two (RFC 8289 section 4.3).
    let mut targets = Vec::from([0.0, 1.0, 2.0].map(|packets| CODEL_TARGET_S.max(packets * packet)));
    targets.dedup();
    let predictions = |count: usize| {
        let mut queues = vec![Vec::new(); count];
        arrivals.iter().for_each(|a| queues[a.flow as usize % count].push(a));
        let predict = move |target: f64| {
            let mut losses = PredictedLosses::default();
            queues.iter().for_each(|queue| losses.follow(queue, rate, base, target));
            losses
        };
        targets.iter().map(move |target| predict(*target))
    };
    let each = Some(flows(arrivals)).filter(|count| *count > 1);
    let laws = predictions(1).chain(each.into_iter().flat_map(predictions));
    let Some(best) = laws.max_by(|a, b| a.gain().total_cmp(&b.gain())) else {
        return ManagedQueue::default();
    };
    let gain = (best.gain() - cost_of_number(lost)) * episodes(arrivals, width) as f64 / lost;
    ManagedQueue { gain, dropped: best.dropped }
}
