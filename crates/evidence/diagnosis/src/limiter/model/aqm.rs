//! A queue that is managed: CoDel (RFC 8289), alone or in each of a fair queue's queues (RFC 8290).
//!
//! 1. While packets wait longer than a target, one is dropped an interval after that began, the next interval / √2 later, then
//!    interval / √3. From the waits of what passed and from the losses until then the law says when the next loss is due
//!    ([`ControlLaw`]).
//! 2. A loss that comes about then is the law's: how far off is distributed as Laplace's, as waits are ([`super::noise`]). One that was
//!    due and is not seen is as rare as a packet that passes against a model; other losses come by chance.
//! 3. Held against it are losses that come at any time alike. A full queue's come together, at its greatest length, whatever is due.

use super::super::virtual_queue::{PacketArrival, begin, episodes, flows, largest};
use super::delays::NOISE;
use super::noise::{PASSES, cost_of_number};

/// How long the target may be exceeded, seconds (RFC 8289 section 4.2; the default of Linux).
const INTERVAL: f64 = 0.1;
/// The least target, seconds (RFC 8289 section 4.3; the default of Linux).
const TARGET: f64 = 0.005;
/// Within so many intervals the drop rate of before is taken up again (RFC 8289 section 5.5).
const RECENT: f64 = 16.0;
/// A loss this share of the time to the next one off is not the one that was due: nearer to the next.
const NEARER: f64 = 0.5;

/// What the law foretells of a queue's losses.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManagedQueue {
    /// How much better than chance: log likelihood ratio, a loss episode counting once.
    pub gain: f64,
    /// Flow and place in its log of each loss that is the law's.
    pub dropped: Vec<(u16, u32)>,
}

/// What CoDel remembers of a queue, by the names of RFC 8289 section 5.
#[derive(Clone, Copy, Default)]
struct ControlLaw {
    first_above_time: Option<f64>,
    dropping: bool,
    drop_next: f64,
    count: f64,
    last_count: f64,
    /// When the last packet left.
    left: f64,
}

impl ControlLaw {
    fn spacing(&self) -> f64 {
        INTERVAL / self.count.max(1.0).sqrt()
    }

    /// When the next loss is due, and how long until the one after it; `None` while too little waits.
    fn next(&self) -> Option<(f64, f64)> {
        match self.dropping {
            true => Some((self.drop_next, self.spacing())),
            false => self.first_above_time.map(|since| (since, INTERVAL)),
        }
    }

    /// A packet leaves at `now`.
    fn leave(&mut self, now: f64, is_above: bool) {
        self.left = now;
        if is_above {
            self.first_above_time.get_or_insert(now + INTERVAL);
        } else {
            (self.first_above_time, self.dropping) = (None, false);
        }
    }

    /// What was due at `due` is dropped.
    fn drop(&mut self, due: f64) {
        if self.dropping {
            self.count += 1.0;
        } else {
            let delta = self.count - self.last_count;
            let recent = due - self.drop_next < RECENT * INTERVAL;
            self.count = if delta > 1.0 && recent { delta } else { 1.0 };
            self.last_count = self.count;
            self.dropping = true;
        }
        self.drop_next = due + self.spacing();
    }
}

/// What became of the losses that the law foretells, and of those that it does not.
#[derive(Default)]
struct Foretold {
    /// Those that came when they were due, and by how much they were off, seconds.
    dropped: Vec<(u16, u32)>,
    off: f64,
    /// Not seen.
    unseen: f64,
    /// Seen though none was due.
    others: f64,
    /// Seconds in which packets waited longer than the target.
    waiting: f64,
}

impl Foretold {
    /// Follows the packets of one queue, which the link carries off at `rate` bytes a second.
    fn follow(&mut self, queue: &[&PacketArrival], rate: f64, base: f64, target: f64) {
        let (mut law, mut last) = (ControlLaw::default(), None);
        for (i, a) in queue.iter().enumerate() {
            // What a packet waits is until it is its turn; the link takes it off in the time of one packet.
            let own =
                (!a.lost && a.rtt.is_finite()).then(|| f64::from(a.rtt) - base - f64::from(a.size) / rate);
            // Now and then an ACK is held back: the less of two.
            let Some(wait) = own.into_iter().chain(last).reduce(f64::min) else { continue };
            last = own.or(last);
            let now = (a.at + wait).max(law.left);
            // It drops as packets leave: not between two, and several where more than one is due.
            let near = |spacing: f64| NEARER * spacing.max(f64::from(a.size) / rate);
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
            // Where no more than a packet is left the law lets go (RFC 8289 section 5.6).
            let is_above = wait >= target && queue.get(i + 2).is_some_and(|next| next.at < now);
            self.waiting += if is_above { now - law.left } else { 0.0 };
            law.leave(now, is_above);
        }
    }

    /// Log likelihood ratio against losses at any time while packets wait.
    fn gain(&self) -> f64 {
        let Foretold { off, unseen, others, waiting, .. } = *self;
        let law = self.dropped.len() as f64;
        let lost = law + others;
        if law == 0.0 || waiting <= 0.0 {
            return 0.0;
        }
        // Losses a second: all of them, of those that know no law; and those that are not the law's.
        let (chance, elsewhere) = (lost / waiting, (others + 0.5) / waiting);
        // The likeliest width is the mean of how far off they are.
        let seen = -law * (1.0 + (2.0 * (off / law + NOISE)).ln());
        let by_law = seen + law * (1.0 - PASSES).ln() + unseen * PASSES.ln() + others * elsewhere.ln()
            - elsewhere * waiting;
        by_law - (lost * chance.ln() - lost)
    }
}

/// What the law foretells of packets, with one queue for all or one for each flow, whichever does it better. `rate`: bytes a second;
/// `base`: delay without waiting, seconds; `width`: that of an episode, seconds.
pub(crate) fn managed_queue(arrivals: &[PacketArrival], rate: f64, base: f64, width: f64) -> ManagedQueue {
    let arrivals = begin(arrivals);
    let lost = arrivals.iter().filter(|a| a.lost).count().max(1) as f64;
    let packet = largest(arrivals) / rate;
    let of = |count: usize| {
        let mut queues = vec![Vec::new(); count];
        arrivals.iter().for_each(|a| queues[a.flow as usize % count].push(a));
        let of = move |target: f64| {
            let mut foretold = Foretold::default();
            queues.iter().for_each(|queue| foretold.follow(queue, rate, base, target));
            foretold
        };
        // Slow links are given the time of a packet or two (RFC 8289 section 4.3).
        [0.0, 1.0, 2.0].map(|packets| of(TARGET.max(packets * packet))).into_iter()
    };
    let each = Some(flows(arrivals)).filter(|count| *count > 1);
    let told = of(1).chain(each.into_iter().flat_map(of));
    let Some(best) = told.max_by(|a, b| a.gain().total_cmp(&b.gain())) else {
        return ManagedQueue::default();
    };
    let gain = (best.gain() - cost_of_number(lost)) * episodes(arrivals, width) as f64 / lost;
    ManagedQueue { gain, dropped: best.dropped }
}
