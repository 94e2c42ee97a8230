//! The contract pacer: it learns a policer's rate and bucket from its own losses, and stays just inside.
//!
//! 1. A policer drops a packet exactly when its bucket lacks the tokens. The deficit (bucket minus tokens) grows by what
//!    passes and falls with the rate R, never below zero: the recurrence of [`log::replay`].
//! 2. So at the right R the deficit stands within a packet of the bucket B at every drop, and never above B at a passage. At
//!    another rate R + e it drifts by e·t between drops: the rate is the slope of bytes passed over time, from drop to drop.
//! 3. Losses of another kind fall at any deficit. A contract is believed when nearly all drops stand at the top, and when the
//!    sender has been both slower and faster than R: at one speed any thinning looks like a rate.
//! 4. Believed, packets are paced a little below R and leave only while the deficit stays below B by a margin.
//! 5. Now and then it sends a little above the rate until the bucket, as it is believed, is overdrawn by a few packets: if
//!    they pass, the rate is raised, and asked again.
//!
//! 6. Where losses are as likely at any speed ([`lossy`]) they are the path's own, and the control below is told only of more.
//!
//! It looks at no clock: `now` is an argument. Bytes are those of IP packets.

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

/// Paced this much below the rate: 1/64 leaves 98.4 % of it, above the 97 % that is asked for, and refills the bucket within
/// 64 times the time it lasts at the rate.
const BELOW: f64 = 64.0;
/// The library's pacer is offered so much more than the rate, more than what a probe adds at first.
const OFFER: f64 = 1.25;
/// Packets of margin below the bucket: the one that is looked at, and one for the half packet by which each end of the
/// estimate errs.
const MARGIN: f64 = 2.0;
/// The least that may leave at once, packets: with one, whatever a timer is late by would be lost.
const LEAST_BURST: f64 = 2.0;
/// A probe sends so much above the rate, and a probe that passes raises it by as much; by twice that the next time.
const STEP: f64 = 1.0 / 16.0;
const LARGEST_STEP: f64 = 0.5;
/// A bucket of as many seconds of the rate is not taken to be larger: Cisco's default is 250 ms.
const LARGEST_BUCKET: f64 = 0.25;
/// Packets beyond the bucket that a probe sends. Of so many a policer drops all but one or two; 1 % random loss drops three
/// of six once in 50,000 probes.
const PROBE: f64 = 6.0;
/// A probe every so many packets: six lost of 8192 are 0.07 %, an eighth of what is allowed.
const PROBE_EVERY: u64 = 8192;
/// And not more often than this: a contract is changed by people.
const PROBE_AFTER: Span = Span::from_secs(10);
/// What a packet that passes gives back of the bucket's share that is made use of: all of it in 4096 packets, so that a loss in
/// so many, 0.02 %, costs half of it for half the time.
const SLACK_BACK: f64 = 1.0 / 4096.0;
/// Fits are not made more often than this for so many entries of the log, which take some 2 ms.
const FIT_EVERY: Span = Span::from_millis(50);
const FIT_ENTRIES: u64 = 2048;
/// A contract that is not believed any more has changed, or was wrong: a survey may be made so soon.
const SURVEY_AGAIN: Span = Span::from_secs(1);

/// Bursts are spread at a little more than the rate they came at, so that nothing piles up behind them.
const SPREAD: f64 = 17.0 / 16.0;
/// Nothing is kept back for longer than this: a rate of before the first round trip may be a guess.
const LONGEST_SPREAD: Span = Span::from_millis(10);

/// What is believed of a contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContractTerms {
    /// The policer's rate, bytes of IP packets per second.
    pub rate: f64,
    /// Its bucket, bytes.
    pub bucket: f64,
    /// What the library's pacer is told, bytes of IP packets per second: more than is sent, so that [`Contract::on_sent`]
    /// alone says when packets leave, and what a late timer missed is made up for as far as the bucket allows.
    pub offer: u64,
}

impl ContractTerms {
    /// What is sent, bytes of IP packets per second.
    fn pace(&self) -> f64 {
        self.rate * (BELOW - 1.0) / BELOW
    }

    fn of(rate: f64, bucket: f64) -> ContractTerms {
        ContractTerms { rate, bucket, offer: ((rate * OFFER) as u64).max(1) }
    }
}

/// Learns a contract and keeps to it.
#[derive(Debug)]
pub struct Contract {
    /// Bytes of a full packet.
    packet: f64,
    log: SentLog,
    terms: Option<ContractTerms>,
    /// What was believed last, also when it is not any more.
    known: Option<ContractTerms>,
    step: f64,
    /// How far beyond the bucket the next probe goes, bytes.
    depth: f64,
    /// The deficit as it is believed, at `at`.
    deficit: f64,
    /// What has been sent ahead of the pace, bytes, at `at`.
    ahead: f64,
    at: Time,
    /// The same three before the last packet, and its bytes.
    before: Option<(f64, f64, Time, f64)>,
    /// The share of the bucket that is made use of, beyond the least: losses where it should hold halve it, as what is late on the
    /// way comes with what was not.
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
    /// The share that the path loses at any speed, where it does.
    lossy: Option<f64>,
    within: WithinCount,
}

/// A probe: from its first packet to its last, and what became of them.
#[derive(Clone, Copy, Debug)]
struct Probing {
    from: u64,
    to: Option<u64>,
    lost: f64,
}

impl Contract {
    /// Nothing known yet; a full packet has so many bytes.
    pub fn new(packet: u64) -> Contract {
        Contract {
            packet: packet as f64,
            log: SentLog::default(),
            terms: None,
            known: None,
            step: STEP,
            depth: PROBE * packet as f64,
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

    /// The path's packets have another size, bytes.
    pub fn set_packet(&mut self, packet: u64) {
        self.packet = packet as f64;
    }

    /// The share of packets that the path loses at any speed; `None` where losses depend on that, or are too few to tell.
    pub fn lossy(&self) -> Option<f64> {
        self.lossy
    }

    /// What is believed now.
    pub fn terms(&self) -> Option<ContractTerms> {
        self.terms
    }

    /// What the library's pacer is to be told, bytes of IP packets per second; `None`: what the control below wants.
    pub fn offer(&self) -> Option<u64> {
        let survey = self.survey.map(|survey| (survey.pace() * OFFER) as u64);
        self.terms.map(|terms| terms.offer).or(survey)
    }

    fn is_probing(&self) -> bool {
        self.probe.is_some_and(|probe| probe.to.is_none())
    }

    /// A packet of so many bytes is ready; when it may leave, which is also when it counts as sent. `pace` is what the control
    /// below wants sent, bytes per second: while no contract is known, the library's bursts are spread by it, as one that is
    /// larger than the bucket loses packets at any rate.
    pub fn on_sent(&mut self, now: Time, number: u64, bytes: u64, pace: Option<u64>) -> Time {
        let Some(terms) = self.terms else {
            let at = now.max(self.free);
            let pace = match &mut self.survey {
                Some(survey) => {
                    survey.on_sent(number, bytes as f64);
                    Some(survey.pace())
                }
                None => pace.map(|pace| SPREAD * pace as f64),
            };
            let spread = pace.map_or(Span::ZERO, |pace| Span::from_secs_f64(bytes as f64 / pace));
            self.free = at + spread.min(LONGEST_SPREAD);
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
            && self.deficit > terms.bucket + PROBE * self.packet
        {
            self.probe = self.probe.map(|probe| Probing { to: Some(number), ..probe });
        }
        self.log.push(at, number, bytes as u32, self.deficit + self.packet <= terms.bucket);
        at
    }

    /// The last packet left later than was said: a bucket that is full does not fill meanwhile.
    pub fn on_left(&mut self, at: Time) {
        self.log.amend_last(at);
        let Some(terms) = self.terms else { return };
        if let Some((deficit, ahead, since, bytes)) = self.before.take().filter(|_| at > self.at) {
            (self.deficit, self.ahead, self.at) = (deficit, ahead, since);
            self.drain_to(at, &terms);
            (self.deficit, self.ahead) = (self.deficit + bytes, self.ahead + bytes);
        }
    }

    /// When the bucket that is kept to has room for a packet: it fills at the pace, and holds the margin less. A probe goes
    /// evenly.
    fn departure(&self, now: Time, bytes: f64, terms: &ContractTerms) -> Time {
        if self.is_probing() {
            return now.max(self.at + Span::from_secs_f64(bytes / (terms.rate * (1.0 + self.step))));
        }
        let earliest = now.max(self.at);
        let least = (LEAST_BURST * self.packet).max(bytes);
        let most = terms.bucket - MARGIN * self.packet;
        let allowed = least + (most - least).max(0.0) * self.slack;
        let over = self.ahead - terms.pace() * earliest.since(self.at).as_secs_f64() + bytes - allowed;
        if over <= 0.0 { earliest } else { earliest + Span::from_secs_f64(over / terms.pace()) }
    }

    /// What is ahead of the pace is never less than what the policer's bucket lacks.
    fn drain_to(&mut self, at: Time, terms: &ContractTerms) {
        let time = at.since(self.at).as_secs_f64();
        self.deficit = (self.deficit - terms.rate * time).max(0.0);
        self.ahead = (self.ahead - terms.pace() * time).max(self.deficit);
        self.at = self.at.max(at);
    }

    /// A packet has arrived, `rtt` after it left.
    pub fn on_acked(&mut self, now: Time, number: u64, rtt: Span) {
        let was_within = self.log.resolve(number, SentOutcome::Passed(rtt));
        self.count(number, was_within, false);
        self.judge_probe();
        self.fit_when_due(now);
    }

    /// A packet is lost.
    pub fn on_lost(&mut self, now: Time, number: u64) {
        let was_within = self.log.resolve(number, SentOutcome::Lost);
        self.fits_due = true;
        if let Some(probe) = self.probe.as_mut().filter(|probe| number >= probe.from) {
            probe.lost += 1.0;
            if probe.lost >= PROBE / 2.0 {
                self.probe = None;
                (self.step, self.depth) = (STEP, PROBE * self.packet);
            }
        }
        self.count(number, was_within, true);
        if self.within.is_doubtful() {
            self.doubt(now);
        }
        self.judge_probe();
    }

    fn count(&mut self, number: u64, was_within: bool, lost: bool) {
        if self.terms.is_some() && was_within && self.within.count(number, lost) {
            self.slack = if lost { self.slack / 2.0 } else { (self.slack + SLACK_BACK).min(1.0) };
        }
    }

    /// Too much is lost within the contract: the bucket is smaller than believed, or, where it is small, all of it is wrong.
    fn doubt(&mut self, now: Time) {
        let least = 2.0 * MARGIN * self.packet;
        match &mut self.terms {
            Some(terms) if terms.bucket > least => {
                terms.bucket = (terms.bucket / 2.0).max(least);
                self.known = self.terms;
                self.within.anew(self.log.last_number() + 1);
            }
            _ => self.forget(now),
        }
    }

    /// The contract is not believed any more; what was seen until now counts no more.
    fn forget(&mut self, now: Time) {
        self.terms = None;
        self.probe = None;
        self.within.anew(self.log.last_number() + 1);
        self.log.clear();
        self.next_fit = now + FIT_EVERY;
        self.next_survey = now + SURVEY_AGAIN;
    }

    /// Begins a probe when one is due. Its packets leave at once until the believed bucket is overdrawn.
    fn probe_when_due(&mut self, now: Time, number: u64) {
        let is_time = now >= self.next_probe;
        if self.probe.is_none() && self.since_probe >= PROBE_EVERY && is_time {
            (self.next_probe, self.since_probe) = (now + PROBE_AFTER, 0);
            self.probe = Some(Probing { from: number, to: None, lost: 0.0 });
        }
    }

    /// A probe whose packets have all been heard of, and fewer than half of those beyond the bucket lost: the bucket holds
    /// that much more, or, where it holds as much as any does, the rate is higher. Asked again at once.
    fn judge_probe(&mut self) {
        let Some(Probing { from, to: Some(to), .. }) = self.probe else { return };
        if self.log.lost_between(from, to).is_none() {
            return;
        }
        self.probe = None;
        let Some(terms) = &mut self.terms else { return };
        if terms.bucket < LARGEST_BUCKET * terms.rate {
            terms.bucket += self.depth;
            self.depth = self.depth.max(terms.bucket);
        } else {
            *terms = ContractTerms::of(terms.rate * (1.0 + self.step), terms.bucket);
            self.step = (self.step * 2.0).min(LARGEST_STEP);
        }
        self.known = self.terms;
        (self.since_probe, self.next_probe) = (PROBE_EVERY, self.at);
    }

    /// Begins a survey about a rate, where there is none and none has been for a while.
    fn survey_when_due(&mut self, now: Time, rate: f64) {
        if self.terms.is_none() && self.survey.is_none() && self.lossy.is_none() && now >= self.next_survey {
            self.next_survey = now + PROBE_AFTER;
            self.survey = Some(RateSurvey::new(rate, fit::pinned_by(rate, self.packet)));
        }
    }

    /// A survey all of which has been heard of is over, whether it showed a contract or not.
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
        // A probe is judged first: a fit would take its overdraft back.
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
            (self.next_probe, self.since_probe) = (now + PROBE_AFTER, 0);
            self.within.anew(self.log.last_number() + 1);
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
