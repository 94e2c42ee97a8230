//! The contract pacer: it learns a policer's rate and bucket from its own losses and keeps just below them.
//!
//! 1. A policer drops a packet exactly when its bucket lacks the tokens. The deficit (bucket minus tokens)
//!    grows by what passes and falls with the rate R, but not below zero: the recurrence of [`log::replay`].
//! 2. So with the right R, the deficit is within one packet of the bucket B at every drop, and never above B
//!    when a packet passes. With another rate R + e it drifts by e·t between drops: the rate is the slope of
//!    the bytes passed over time, from drop to drop.
//! 3. Other losses happen at any deficit. A contract is believed if nearly all drops are at the top, and if
//!    the sender has been both slower and faster than R: at one speed, any loss looks like a rate.
//! 4. With a believed contract, packets are paced slightly below R and sent only while the deficit is below B
//!    by a margin.
//! 5. From time to time a probe sends slightly above the rate until the believed bucket is overdrawn by a few
//!    packets. If they pass, the rate is raised and probed again.
//! 6. Losses that are equally likely at any speed ([`lossy`]) belong to the path. Only losses beyond those
//!    are passed on to the congestion control below.
//!
//! The pacer reads no clock: `now` is an argument. Bytes are those of IP packets.

mod fit;
mod log;
mod lossy;
mod survey;
mod within;

pub use log::{SentLog, SentOutcome, SentRecord};

use fit::ContractEvidence;
use survey::RateSurvey;
use within::WithinCount;

use units::{Span, Time};

/// Packets are paced below the rate by 1 / this. 1/64 leaves 98.4 % of the rate, more than the required 97 %,
/// and refills the bucket within 64 times the time it lasts at the full rate.
const PACE_BELOW: f64 = 64.0;
/// The library's pacer gets the rate times this, which is more than a first probe adds.
const OFFER_FACTOR: f64 = 1.25;
/// The margin below the bucket, packets: one for the packet to be sent, and half a packet of error at each
/// end of the estimate.
const MARGIN_PACKETS: f64 = 2.0;
/// The smallest burst, packets. With one packet, any delay of a timer would cost throughput.
const MIN_BURST_PACKETS: f64 = 2.0;
/// A probe sends this share above the rate, and raises the rate by the same share if it passes. The next step
/// is twice as large.
const PROBE_STEP: f64 = 1.0 / 16.0;
const MAX_PROBE_STEP: f64 = 0.5;
/// The largest bucket, in seconds at the rate. Cisco's default is 250 ms.
const MAX_BUCKET_S: f64 = 0.25;
/// How many packets beyond the bucket a probe sends. A policer drops all but one or two of them. Random loss
/// of 1 % drops three of six once in 50,000 probes.
const PROBE_PACKETS: f64 = 6.0;
/// One probe per this many packets: six lost of 8192 are 0.07 %, an eighth of what is allowed.
const PROBE_EVERY_PACKETS: u64 = 8192;
/// The shortest time between probes. Contracts are changed by people, so not often.
const PROBE_INTERVAL: Span = Span::from_secs(10);
/// The part of the used share of the bucket that each passing packet restores: all of it in 4096 packets, so
/// one loss in 4096 packets (0.02 %) costs half of it for half of the time.
const SLACK_GAIN: f64 = 1.0 / 4096.0;
/// The shortest time between fits, per this many records of the log. A fit of them takes about 2 ms.
const FIT_EVERY: Span = Span::from_millis(50);
const FIT_ENTRIES: u64 = 2048;
/// A contract that is no longer believed has changed or was wrong: a survey may start after this time.
const SURVEY_DELAY: Span = Span::from_secs(1);

/// Bursts are spread at slightly more than the rate at which they came, so that no backlog forms.
const SPREAD_FACTOR: f64 = 17.0 / 16.0;
/// No packet is delayed for longer than this: before the first round trip the rate may be a guess.
const MAX_SPREAD: Span = Span::from_millis(10);

/// The believed terms of a contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContractTerms {
    /// The policer's rate, bytes of IP packets per second.
    pub rate: f64,
    /// The policer's bucket, bytes.
    pub bucket: f64,
    /// The rate for the library's pacer, bytes of IP packets per second. It is higher than what is sent, so
    /// that only [`Contract::on_sent`] decides when packets are sent, and the delay of a late timer is made
    /// up for if the bucket allows.
    pub offer: u64,
}

impl ContractTerms {
    /// The sending rate, bytes of IP packets per second.
    fn pace(&self) -> f64 {
        self.rate * (PACE_BELOW - 1.0) / PACE_BELOW
    }

    fn of(rate: f64, bucket: f64) -> ContractTerms {
        ContractTerms { rate, bucket, offer: ((rate * OFFER_FACTOR) as u64).max(1) }
    }
}

/// Learns a contract and keeps to it.
#[derive(Debug)]
pub struct Contract {
    /// The bytes of a full packet.
    packet: f64,
    log: SentLog,
    terms: Option<ContractTerms>,
    /// The last terms that were believed, even if they no longer are.
    known: Option<ContractTerms>,
    step: f64,
    /// How far beyond the bucket the next probe goes, bytes.
    depth: f64,
    /// The believed deficit at `at`.
    deficit: f64,
    /// Bytes sent ahead of the pace until `at`.
    ahead: f64,
    at: Time,
    /// `deficit`, `ahead` and `at` before the last packet, and its bytes.
    before: Option<(f64, f64, Time, f64)>,
    /// The share of the bucket that is used, beyond the smallest burst. Losses within the contract halve it,
    /// because packets that are delayed on the path arrive together with later ones.
    slack: f64,
    /// When the next packet may leave while no contract is known.
    free: Time,
    next_fit: Time,
    fits_due: bool,
    since_probe: u64,
    next_probe: Time,
    probe: Option<Probing>,
    survey: Option<RateSurvey>,
    next_survey: Time,
    /// The share that the path loses at any speed, if it does.
    lossy: Option<f64>,
    within: WithinCount,
}

/// A probe: its first and last packet, and its losses.
#[derive(Clone, Copy, Debug)]
struct Probing {
    from: u64,
    to: Option<u64>,
    lost: f64,
}

impl Contract {
    /// A pacer that knows nothing yet. A full packet has this many bytes.
    pub fn new(packet: u64) -> Contract {
        Contract {
            packet: packet as f64,
            log: SentLog::default(),
            terms: None,
            known: None,
            step: PROBE_STEP,
            depth: PROBE_PACKETS * packet as f64,
            deficit: 0.0,
            ahead: 0.0,
            at: Time::ZERO,
            before: None,
            slack: 1.0,
            free: Time::ZERO,
            next_fit: Time::ZERO,
            fits_due: false,
            since_probe: 0,
            next_probe: Time::ZERO,
            probe: None,
            survey: None,
            next_survey: Time::ZERO,
            lossy: None,
            within: WithinCount::default(),
        }
    }

    /// Changes the size of a full packet, bytes.
    pub fn set_packet(&mut self, packet: u64) {
        self.packet = packet as f64;
    }

    /// The share of packets that the path loses at any speed; `None` if losses depend on the speed or are too
    /// few to decide.
    pub fn lossy(&self) -> Option<f64> {
        self.lossy
    }

    /// The terms that are believed now.
    pub fn terms(&self) -> Option<ContractTerms> {
        self.terms
    }

    /// The rate for the library's pacer, bytes of IP packets per second; `None` means the rate of the
    /// congestion control below.
    pub fn offer(&self) -> Option<u64> {
        let survey = self.survey.map(|survey| (survey.pace() * OFFER_FACTOR) as u64);
        self.terms.map(|terms| terms.offer).or(survey)
    }

    fn is_probing(&self) -> bool {
        self.probe.is_some_and(|probe| probe.to.is_none())
    }

    /// Returns when a packet of this size may be sent, which also counts as its sending time. `pace` is the
    /// rate of the congestion control below, bytes per second: while no contract is known, bursts of the
    /// library are spread at that rate, because a burst larger than the bucket loses packets at any rate.
    pub fn on_sent(&mut self, now: Time, number: u64, bytes: u64, pace: Option<u64>) -> Time {
        let Some(terms) = self.terms else {
            let at = now.max(self.free);
            let pace = match &mut self.survey {
                Some(survey) => {
                    survey.on_sent(number, bytes as f64);
                    Some(survey.pace())
                }
                None => pace.map(|pace| SPREAD_FACTOR * pace as f64),
            };
            let spread = pace.map_or(Span::ZERO, |pace| Span::from_secs_f64(bytes as f64 / pace));
            self.free = at + spread.min(MAX_SPREAD);
            self.log.push(at, number, bytes as u32, false);
            return at;
        };
        let at = self.departure(now, bytes as f64, &terms);
        self.before = Some((self.deficit, self.ahead, self.at, bytes as f64));
        self.drain_to(at, &terms);
        self.ahead += bytes as f64;
        self.deficit += bytes as f64;
        self.since_probe += 1;
        if self.probe.is_some_and(|probe| probe.to.is_none())
            && self.deficit > terms.bucket + PROBE_PACKETS * self.packet
        {
            self.probe = self.probe.map(|probe| Probing { to: Some(number), ..probe });
        }
        self.log.push(at, number, bytes as u32, self.deficit + self.packet <= terms.bucket);
        at
    }

    /// The last packet was sent later than planned; a full bucket does not fill in the meantime.
    pub fn on_left(&mut self, at: Time) {
        self.log.amend_last(at);
        let Some(terms) = self.terms else { return };
        if let Some((deficit, ahead, since, bytes)) = self.before.take().filter(|_| at > self.at) {
            (self.deficit, self.ahead, self.at) = (deficit, ahead, since);
            self.drain_to(at, &terms);
            (self.deficit, self.ahead) = (self.deficit + bytes, self.ahead + bytes);
        }
    }

    /// When there is room for a packet. The bucket used here fills at the pace and is smaller by the margin.
    /// A probe is sent evenly.
    fn departure(&self, now: Time, bytes: f64, terms: &ContractTerms) -> Time {
        if self.is_probing() {
            return now.max(self.at + Span::from_secs_f64(bytes / (terms.rate * (1.0 + self.step))));
        }
        let earliest = now.max(self.at);
        let least = (MIN_BURST_PACKETS * self.packet).max(bytes);
        let most = terms.bucket - MARGIN_PACKETS * self.packet;
        let allowed = least + (most - least).max(0.0) * self.slack;
        let over = self.ahead - terms.pace() * earliest.since(self.at).as_secs_f64() + bytes - allowed;
        if over <= 0.0 { earliest } else { earliest + Span::from_secs_f64(over / terms.pace()) }
    }

    /// Updates the deficit. `ahead` is never less than the deficit.
    fn drain_to(&mut self, at: Time, terms: &ContractTerms) {
        let time = at.since(self.at).as_secs_f64();
        self.deficit = (self.deficit - terms.rate * time).max(0.0);
        self.ahead = (self.ahead - terms.pace() * time).max(self.deficit);
        self.at = self.at.max(at);
    }

    /// A packet arrived, `rtt` after it was sent.
    pub fn on_acked(&mut self, now: Time, number: u64, rtt: Span) {
        let was_within = self.log.resolve(number, SentOutcome::Passed(rtt));
        self.count(number, was_within, false);
        self.judge_probe();
        self.fit_when_due(now);
    }

    /// A packet was lost.
    pub fn on_lost(&mut self, now: Time, number: u64) {
        let was_within = self.log.resolve(number, SentOutcome::Lost);
        self.fits_due = true;
        if let Some(probe) = self.probe.as_mut().filter(|probe| number >= probe.from) {
            probe.lost += 1.0;
            if probe.lost >= PROBE_PACKETS / 2.0 {
                self.probe = None;
                (self.step, self.depth) = (PROBE_STEP, PROBE_PACKETS * self.packet);
            }
        }
        self.count(number, was_within, true);
        if self.within.is_exceeded() {
            self.on_excess_loss(now);
        }
        self.judge_probe();
    }

    fn count(&mut self, number: u64, was_within: bool, lost: bool) {
        if self.terms.is_some() && was_within && self.within.count(number, lost) {
            self.slack = if lost { self.slack / 2.0 } else { (self.slack + SLACK_GAIN).min(1.0) };
        }
    }

    /// Too much was lost within the contract: the bucket is smaller than believed or, if it is small already,
    /// the contract is wrong.
    fn on_excess_loss(&mut self, now: Time) {
        let least = 2.0 * MARGIN_PACKETS * self.packet;
        match &mut self.terms {
            Some(terms) if terms.bucket > least => {
                terms.bucket = (terms.bucket / 2.0).max(least);
                self.known = self.terms;
                self.within.restart(self.log.last_number() + 1);
            }
            _ => self.forget(now),
        }
    }

    /// Drops the contract and everything seen so far.
    fn forget(&mut self, now: Time) {
        self.terms = None;
        self.probe = None;
        self.within.restart(self.log.last_number() + 1);
        self.log.clear();
        self.next_fit = now + FIT_EVERY;
        self.next_survey = now + SURVEY_DELAY;
    }

    /// Starts a probe when one is due. Its packets are sent until the believed bucket is overdrawn.
    fn probe_when_due(&mut self, now: Time, number: u64) {
        let is_time = now >= self.next_probe;
        if self.probe.is_none() && self.since_probe >= PROBE_EVERY_PACKETS && is_time {
            (self.next_probe, self.since_probe) = (now + PROBE_INTERVAL, 0);
            self.probe = Some(Probing { from: number, to: None, lost: 0.0 });
        }
    }

    /// Ends a probe when the outcome of all its packets is known. If fewer than half of those beyond the
    /// bucket were lost, the bucket is larger by that amount or, if it already has the largest size, the rate
    /// is higher. Then the next probe follows at once.
    fn judge_probe(&mut self) {
        let Some(Probing { from, to: Some(to), .. }) = self.probe else { return };
        if self.log.lost_between(from, to).is_none() {
            return;
        }
        self.probe = None;
        let Some(terms) = &mut self.terms else { return };
        if terms.bucket < MAX_BUCKET_S * terms.rate {
            terms.bucket += self.depth;
            self.depth = self.depth.max(terms.bucket);
        } else {
            *terms = ContractTerms::of(terms.rate * (1.0 + self.step), terms.bucket);
            self.step = (self.step * 2.0).min(MAX_PROBE_STEP);
        }
        self.known = self.terms;
        (self.since_probe, self.next_probe) = (PROBE_EVERY_PACKETS, self.at);
    }

    /// Starts a survey of a rate, unless one is running or was made recently.
    fn survey_when_due(&mut self, now: Time, rate: f64) {
        if self.terms.is_none() && self.survey.is_none() && self.lossy.is_none() && now >= self.next_survey {
            self.next_survey = now + PROBE_INTERVAL;
            self.survey = Some(RateSurvey::new(rate, fit::bytes_to_pin(rate, self.packet)));
        }
    }

    /// Ends a survey when the outcome of all its packets is known, whether or not it showed a contract.
    fn end_survey(&mut self, now: Time) {
        let last = self.survey.and_then(|survey| survey.last());
        if last.is_some_and(|last| self.log.lost_between(last, last).is_some()) {
            (self.survey, self.fits_due, self.next_fit) = (None, true, now);
        }
    }

    fn fit_when_due(&mut self, now: Time) {
        self.end_survey(now);
        if self.terms.is_some() {
            self.probe_when_due(now, self.log.last_number() + 1);
        }
        // A probe is judged first: a fit would undo its overdraft.
        if !self.fits_due || now < self.next_fit || self.probe.is_some() {
            return;
        }
        self.next_fit = now + FIT_EVERY * (1 + self.log.len() as u64 / FIT_ENTRIES);
        self.fits_due = false;
        self.lossy = lossy::share(self.log.resolved(), self.packet, self.lossy);
        let kept = self.terms.filter(|_| fit::still_stands(&self.log));
        let found = || fit::find(&self.log, self.packet, self.known.as_ref());
        let terms = match kept.map_or_else(found, ContractEvidence::Found) {
            ContractEvidence::Found(terms) => terms,
            ContractEvidence::Suspected(rate) => return self.survey_when_due(now, rate),
            ContractEvidence::Nothing => return,
        };
        let begins = self.terms.is_none();
        self.survey = None;
        (self.terms, self.known) = (Some(terms), Some(terms));
        if begins {
            (self.next_probe, self.since_probe) = (now + PROBE_INTERVAL, 0);
            self.within.restart(self.log.last_number() + 1);
        }
        self.deficit = self.log.deficit_now(&terms).min(terms.bucket);
        if begins {
            self.ahead = self.deficit;
        }
        self.at = self.at.max(self.log.last_time());
        self.before = None;
    }
}

#[cfg(test)]
mod tests;
