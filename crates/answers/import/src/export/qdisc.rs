//! A direction of a link as `tc` commands: one netem, one TBF below it, one police action on the receiving
//! interface.

use super::account::{Accounts, ExportedKey};
use super::queue::{bytes, discipline, packets, share};
use crate::number::{self, FRAME};
use path::{
    Action, Delay, Distribution, Duplicate, Handover, Jitter, Link, Loss, LossModel, Meter, Policer,
    QueueConfig, RateTrace, Refill, Shaper, Stage, StageLimit, Train,
};
use scenario::NamedStage;
use units::{Bytes, Rate, Span};

/// netem's queue without a limit: more than any path here needs.
const LIMIT: u64 = 100_000;

/// The part of a direction that a topology can have.
#[derive(Default)]
pub(super) struct Direction {
    /// netem's rate.
    rate: Option<Rate>,
    limit: Option<u64>,
    /// The most packets in transit.
    held: Option<u64>,
    delay: Span,
    jitter: Option<(Span, Distribution)>,
    /// The share of packets that pass.
    passes: Option<f64>,
    /// netem's `gemodel`: p, r, loss in the bad state, loss in the good one.
    bursts: Option<[f64; 4]>,
    duplicate: Option<f64>,
    shaper: Option<Shaper>,
    /// The discipline below the TBF.
    below: Option<String>,
    policer: Option<Policer>,
}

/// Converts the stages of a direction; how each was written is added to `list`.
pub(super) fn direction(path: &str, stages: &[NamedStage], list: &mut Vec<ExportedKey>) -> Direction {
    let mut direction = Direction::default();
    // Assumed stages are not exported.
    let own = || stages.iter().filter(|s| !s.assumed);
    let losses = own().filter(|s| matches!(s.stage, Stage::Loss(_))).count();
    for named in own() {
        let mut accounts = Accounts { path: format!("{path}.{}", named.name), list };
        direction.stage(&named.stage, losses, &mut accounts);
    }
    direction
}

impl Direction {
    fn stage(&mut self, stage: &Stage, losses: usize, accounts: &mut Accounts) {
        match stage {
            Stage::Link(link) => self.link(link, accounts),
            Stage::Delay(Delay { delay, packets }) => {
                self.delay += *delay;
                accounts.carried("", format!("netem delay {}", time(*delay)));
                self.hold(*packets, accounts);
            }
            Stage::Jitter(jitter) => self.jitter(jitter, accounts),
            Stage::Loss(loss) => self.loss(loss, losses, accounts),
            Stage::Duplicate(Duplicate { probability }) => match self.duplicate {
                None => {
                    self.duplicate = Some(*probability);
                    accounts.carried("", format!("netem duplicate {}", share(*probability)));
                }
                Some(_) => accounts
                    .left_out("", format!("a second `duplicate` ({}): netem has one", share(*probability))),
            },
            Stage::Shaper(shaper) => self.shaper(shaper, accounts),
            Stage::Policer(policer) => self.policer(policer, accounts),
            Stage::Htb(htb) => match stage.limit() {
                StageLimit::Shared(rate) => {
                    let text = format!(
                        "one tbf of {} instead of {} classes, which share it as a FIFO",
                        number::rate(rate.as_bps()),
                        htb.classes.len()
                    );
                    self.limited(&Shaper::new(rate), &text, accounts);
                }
                _ => accounts.left_out("", "a class tree without a single root: no limit is written"),
            },
            Stage::RateTrace(RateTrace { delay, queue, .. })
            | Stage::Train(Train { delay, queue, .. })
            | Stage::Handover(Handover { delay, queue, .. }) => self.varying(stage, *delay, queue, accounts),
            other => accounts
                .left_out("", format!("`{}` is not written: it has no equivalent here in tc", other.kind())),
        }
    }

    /// Replaces a varying rate by its mean.
    fn varying(&mut self, stage: &Stage, delay: Span, queue: &QueueConfig, accounts: &mut Accounts) {
        self.delay += delay;
        match stage.limit() {
            StageLimit::Shared(rate) => {
                let text = format!(
                    "`{}`: a constant rate of {}, the mean",
                    stage.kind(),
                    number::rate(rate.as_bps())
                );
                self.line(rate, queue, &text, true, accounts);
            }
            _ if delay.is_zero() => accounts.left_out(
                "",
                format!("`{}` changes over time, which a topology cannot express", stage.kind()),
            ),
            _ => {
                let text = format!(
                    "`{}`: only its delay of {}; changes over time are left out",
                    stage.kind(),
                    time(delay)
                );
                accounts.approximated("", text);
            }
        }
    }

    fn link(&mut self, link: &Link, accounts: &mut Accounts) {
        let Link { rate, delay, mtu, icmp, queue } = link;
        self.delay += *delay;
        match rate {
            Some(rate) => {
                let text = format!("netem rate {} delay {}", rate_text(*rate), time(*delay));
                self.line(*rate, queue, &text, false, accounts);
            }
            None => {
                accounts.carried("", format!("netem delay {}; without a rate nothing queues", time(*delay)))
            }
        }
        if let Some(mtu) = mtu {
            accounts.carried("mtu", format!("ip link set mtu {mtu} at both ends"));
        }
        if *icmp == Some(false) {
            accounts.left_out("icmp", "senders of packets that are too large do get an ICMP message");
        }
    }

    /// A line rate: netem's for a FIFO, otherwise a TBF with the queue below it.
    fn line(&mut self, rate: Rate, queue: &QueueConfig, says: &str, is_near: bool, accounts: &mut Accounts) {
        let is_fifo = matches!(queue, QueueConfig::Fifo(_));
        if !is_fifo && self.shaper.is_none() {
            let shaper = Shaper { queue: Some(queue.clone()), ..Shaper::new(rate) };
            let burst = shaper.burst().get();
            let text = format!("{says}: a tbf with a bucket of {burst} bytes instead of packet by packet");
            return self.limited(&shaper, &text, accounts);
        }
        if let Some(before) = self.rate {
            let lower = before.min(rate);
            let text = format!(
                "one rate per direction: {}, the lower of two; the other is left out",
                number::rate(lower.as_bps())
            );
            accounts.approximated("", text);
            if before <= rate {
                return;
            }
        } else if is_near {
            accounts.approximated("", says);
        } else {
            accounts.carried("", says);
        }
        self.rate = Some(rate);
        self.limit = Some(packets(queue, rate, accounts));
    }

    fn hold(&mut self, packets: Option<u64>, accounts: &mut Accounts) {
        let Some(packets) = packets else { return };
        self.held = Some(self.held.map_or(packets, |held| held.min(packets)));
        accounts
            .approximated("packets", format!("netem limit {packets}, shared with packets queued for a rate"));
    }

    fn jitter(&mut self, jitter: &Jitter, accounts: &mut Accounts) {
        let Jitter { delay, jitter: width, distribution, delays, file: _, every, reorder, packets } = jitter;
        if *distribution == Distribution::Trace {
            let sum = delays.iter().fold(Span::ZERO, |sum, d| sum + *d);
            let mean = Span::from_nanos(sum.as_nanos() / delays.len().max(1) as u64);
            self.delay += *delay + mean;
            accounts.approximated(
                "",
                format!("netem delay {}: the mean of {} delays", time(*delay + mean), delays.len()),
            );
            return self.hold(*packets, accounts);
        }
        self.delay += *delay;
        match width {
            None => accounts.carried("", format!("netem delay {}", time(*delay))),
            Some(width) if self.jitter.is_some() => {
                let text = format!(
                    "netem delay {}; a second jitter, of {}, is left out",
                    time(*delay),
                    time(*width)
                );
                accounts.approximated("", text);
            }
            Some(width) => {
                self.jitter = Some((*width, *distribution));
                let text = format!("netem delay {} {}", time(*delay), time(*width));
                let unlike: Vec<&str> = [
                    (!*reorder).then_some("packets may overtake each other"),
                    every.is_some().then_some("each packet has a separate delay"),
                ]
                .into_iter()
                .flatten()
                .collect();
                if unlike.is_empty() {
                    accounts.carried("", text);
                } else {
                    accounts.approximated("", format!("{text}, where {}", unlike.join(" and ")));
                }
            }
        }
        self.hold(*packets, accounts);
    }

    fn loss(&mut self, loss: &Loss, losses: usize, accounts: &mut Accounts) {
        let Loss { model, probability, p, r, loss_bad, loss_good, every, packets } = loss;
        let (lost, says) = match model {
            LossModel::Bernoulli => {
                let lost = probability.unwrap_or_default();
                self.lose(lost);
                return accounts.carried("", format!("netem loss {}", share(lost)));
            }
            LossModel::GilbertElliott => {
                let (p, r) = (p.unwrap_or_default(), r.unwrap_or_default());
                let (bad, good) = (loss_bad.unwrap_or(1.0), loss_good.unwrap_or_default());
                if losses == 1 {
                    self.bursts = Some([p, r, bad, good]);
                    return accounts.carried("", "netem loss gemodel");
                }
                let in_bad = if p + r > 0.0 { p / (p + r) } else { 0.0 };
                (in_bad * bad + (1.0 - in_bad) * good, "losses in bursts".to_string())
            }
            LossModel::Every => {
                let every = every.unwrap_or(u64::MAX).max(1);
                (1.0 / every as f64, format!("a loss every {every} packets"))
            }
            LossModel::List => {
                let text = format!("{} packets lost by number: netem has no such list", packets.len());
                return accounts.left_out("", text);
            }
        };
        self.lose(lost);
        accounts
            .approximated("", format!("netem loss {}: independent losses instead of {says}", share(lost)));
    }

    /// Combines independent losses.
    fn lose(&mut self, lost: f64) {
        self.passes = Some(self.passes.unwrap_or(1.0) * (1.0 - lost));
    }

    fn shaper(&mut self, shaper: &Shaper, accounts: &mut Accounts) {
        let Shaper { refill, rate, burst: _, excess_burst, peak_rate, peak_burst: _, latency: _, queue: _ } =
            shaper;
        let burst = shaper.burst().get();
        let text = format!("tbf rate {} burst {burst}b", rate_text(*rate));
        if self.shaper.is_some() {
            return self.limited(shaper, &text, accounts);
        }
        if *refill == Refill::Interval {
            self.limited(
                shaper,
                &format!("{text}: the bucket fills continuously instead of {burst} bytes at a time"),
                accounts,
            );
        } else {
            accounts.carried("", text);
            self.take(shaper, accounts);
        }
        if let Some(excess) = excess_burst {
            accounts.left_out("excess_burst", format!("{} more bytes after a pause", excess.get()));
        }
        if let (Some(peak), Some(burst)) = (peak_rate, shaper.peak_burst()) {
            accounts.carried("peak_rate", format!("tbf peakrate {} mtu {}", rate_text(*peak), burst.get()));
        }
    }

    /// A TBF that approximates a different stage; of two per direction, the lower one.
    fn limited(&mut self, shaper: &Shaper, says: &str, accounts: &mut Accounts) {
        match &self.shaper {
            Some(before) => {
                let is_lower = shaper.rate < before.rate;
                let lower = number::rate(before.rate.min(shaper.rate).as_bps());
                accounts.approximated(
                    "",
                    format!("one tbf per direction: {lower}, the lower of two; the other is left out"),
                );
                if is_lower {
                    self.take(shaper, accounts);
                }
            }
            None => {
                accounts.approximated("", says);
                self.take(shaper, accounts);
            }
        }
    }

    fn take(&mut self, shaper: &Shaper, accounts: &mut Accounts) {
        let queue = shaper.queue();
        self.below = discipline(&queue, accounts);
        if self.below.is_none() {
            let bytes = bytes(&queue);
            let limits = queue.limits();
            if limits.packets < u64::MAX {
                let both = if limits.bytes < u64::MAX {
                    format!(" and {} bytes", limits.bytes)
                } else {
                    String::new()
                };
                accounts.approximated(
                    "queue",
                    format!("tbf limit: {bytes} bytes instead of {} packets{both}", limits.packets),
                );
            } else {
                accounts.carried("queue", format!("tbf limit: {bytes} bytes plus the bucket"));
            }
        }
        self.shaper = Some(shaper.clone());
    }

    fn policer(&mut self, policer: &Policer, accounts: &mut Accounts) {
        let Policer {
            meter,
            rate,
            burst: _,
            excess_burst,
            peak_rate,
            peak_burst,
            green,
            yellow,
            red,
            aware,
            per_flow,
            dscp,
        } = policer;
        if *red != Action::Drop {
            return accounts.left_out("", "it drops nothing: excess packets are re-marked or pass");
        }
        if dscp.len() > 1 {
            return accounts.left_out(
                "",
                format!(
                    "it applies to {} codepoints only: one bucket for several is not written",
                    dscp.len()
                ),
            );
        }
        if self.policer.is_some() {
            let text = format!(
                "a second policer in this direction ({}): only the first is written",
                number::rate(rate.as_bps())
            );
            return accounts.left_out("", text);
        }
        accounts.approximated(
            "",
            format!(
                "police rate {} burst {}b on the receiving interface, after all other stages of the direction",
                rate_text(*rate),
                policer_burst(policer)
            ),
        );
        if *meter != Meter::Single {
            let excess = excess_burst.map_or_else(|| policer_burst(policer), Bytes::get);
            let second = match peak_rate {
                Some(peak) => {
                    let burst = peak_burst.map_or(String::new(), |b| format!(" with {} bytes", b.get()));
                    format!("the peak rate of {}{burst}", number::rate(peak.as_bps()))
                }
                None => format!("{excess} bytes of excess"),
            };
            accounts
                .left_out("meter", format!("one bucket with excess packets dropped: {second} is left out"));
        }
        if *aware || [*green, *yellow] != [Action::Pass; 2] {
            let marked =
                [("green", green), ("yellow", yellow)].map(|(colour, action)| format!("{colour} {action:?}"));
            let aware = if *aware { "incoming colours, and " } else { "" };
            accounts
                .left_out("green", format!("{aware}actions by colour: {}", marked.join(", ").to_lowercase()));
        }
        if *per_flow {
            accounts.approximated("per_flow", "one bucket for all flows instead of one for each");
        }
        self.policer = Some(policer.clone());
    }

    /// Commands for the sending interface.
    pub fn egress(&self, device: &str) -> Vec<String> {
        let netem = self.netem();
        let mut all = Vec::new();
        if let Some(netem) = &netem {
            all.push(format!("tc qdisc add dev {device} root handle 1: netem{netem}"));
        }
        if let Some(shaper) = &self.shaper {
            let parent = if netem.is_some() { "parent 1: handle 2:" } else { "root handle 2:" };
            let burst = shaper.burst().get();
            let limit = bytes(&shaper.queue()).saturating_add(burst);
            let peak = shaper.peak_rate.zip(shaper.peak_burst()).map_or(String::new(), |(peak, burst)| {
                format!(" peakrate {} mtu {}b", rate_text(peak), burst.get())
            });
            all.push(format!(
                "tc qdisc add dev {device} {parent} tbf rate {} burst {burst}b limit {limit}b{peak}",
                rate_text(shaper.rate)
            ));
            all.extend(
                self.below
                    .iter()
                    .map(|below| format!("tc qdisc add dev {device} parent 2: handle 3: {below}")),
            );
        }
        all
    }

    /// Commands for the receiving interface.
    pub fn ingress(&self, device: &str) -> Vec<String> {
        let Some(policer) = &self.policer else { return Vec::new() };
        let matches = match policer.dscp.first() {
            None => "protocol all matchall".to_string(),
            Some(dscp) => format!("protocol ip u32 match ip tos {:#04x} 0xfc", dscp << 2),
        };
        vec![
            format!("tc qdisc add dev {device} ingress"),
            format!(
                "tc filter add dev {device} parent ffff: {matches} action police rate {} burst {}b conform-exceed drop",
                rate_text(policer.rate),
                policer_burst(policer)
            ),
        ]
    }

    fn netem(&self) -> Option<String> {
        let mut text = String::new();
        if !self.delay.is_zero() || self.jitter.is_some() {
            text += &format!(" delay {}", time(self.delay));
        }
        if let Some((width, distribution)) = self.jitter {
            text += &format!(" {}", time(width));
            if distribution == Distribution::Normal {
                text += " distribution normal";
            }
        }
        if let Some(shares) = self.bursts {
            text += &format!(" loss gemodel {}", shares.map(share).join(" "));
        } else if let Some(passes) = self.passes {
            text += &format!(" loss {}", share(1.0 - passes));
        }
        if let Some(p) = self.duplicate {
            text += &format!(" duplicate {}", share(p));
        }
        if let Some(rate) = self.rate {
            text += &format!(" rate {}", rate_text(rate));
        }
        // Delayed packets also count against netem's limit.
        let delayed = self.rate.map_or(0, |r| r.bytes_in(self.delay).get().div_ceil(FRAME));
        let waiting = self.limit.map_or(LIMIT, |packets| packets.saturating_add(delayed));
        let limit = self.held.map_or(waiting, |held| held.min(waiting));
        (!text.is_empty()).then(|| text + &format!(" limit {limit}"))
    }
}

/// A policer's bucket, bytes.
fn policer_burst(policer: &Policer) -> u64 {
    policer.burst.map_or((policer.rate.as_bps() / 32).max(1500), Bytes::get)
}

pub(super) fn rate_text(rate: Rate) -> String {
    format!("{}bit", rate.as_bps())
}

/// A time in microseconds, the unit of `tc`.
pub(super) fn time(span: Span) -> String {
    let nanos = span.as_nanos();
    if nanos % 1000 == 0 { format!("{}us", nanos / 1000) } else { format!("{nanos}ns") }
}

/// A fraction in percent, without binary rounding noise.
pub(super) fn percent(share: f64) -> f64 {
    (share * 1e10).round() / 1e8
}
