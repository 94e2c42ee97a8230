//! A direction of a link as `tc` commands: one netem, one TBF below it, one police action where packets come in.

use super::UnsaidKey;
use path::{Distribution, Jitter, Link, Loss, LossModel, Policer, QueueConfig, Refill, Shaper, Stage};
use scenario::NamedStage;
use units::{Bytes, Rate, Span};

/// netem's queue where none is told: more than any path here holds.
const LIMIT: u64 = 100_000;

/// A full packet with its Ethernet header, bytes.
const FULL: u64 = 1514;

/// What of a direction can be said.
#[derive(Default)]
pub(super) struct SaidWay {
    rate: Option<Rate>,
    limit: Option<u64>,
    delay: Span,
    jitter: Option<(Span, Distribution)>,
    /// The share that passes.
    passes: Option<f64>,
    duplicate: Option<f64>,
    shaper: Option<Shaper>,
    policer: Option<Policer>,
}

/// What the stages of a direction become; what they do not is added to `unsaid`.
pub(super) fn say(path: &str, stages: &[NamedStage], unsaid: &mut Vec<UnsaidKey>) -> SaidWay {
    let mut way = SaidWay::default();
    for named in stages.iter().filter(|s| !s.assumed) {
        let mut cannot =
            |why: &str| unsaid.push(UnsaidKey { key: format!("{path}.{}", named.name), why: why.into() });
        match &named.stage {
            Stage::Link(link) => way.link(link, &mut cannot),
            Stage::Delay(delay) => way.delay += delay.delay,
            Stage::Jitter(jitter) => way.jitter(jitter, &mut cannot),
            Stage::Loss(loss) => way.loss(loss, &mut cannot),
            Stage::Duplicate(d) if way.duplicate.is_none() => way.duplicate = Some(d.probability),
            Stage::Shaper(shaper) => way.shaper(shaper, &mut cannot),
            Stage::Policer(policer) => way.policer(policer, &mut cannot),
            other => cannot(&format!("tc has no `{}` of this kind", other.kind())),
        }
    }
    way
}

impl SaidWay {
    fn link(&mut self, link: &Link, cannot: &mut dyn FnMut(&str)) {
        self.delay += link.delay;
        if let (Some(before), Some(rate)) = (self.rate, link.rate) {
            cannot("a second rate of the same direction: the lower one is taken");
            self.rate = Some(before.min(rate));
        } else {
            self.rate = self.rate.or(link.rate);
        }
        if link.rate.is_some() {
            self.limit = limit(&link.queue, cannot).or(self.limit);
        }
        if link.icmp == Some(false) {
            cannot("`icmp = false`: whoever sends too much is told");
        }
    }

    fn jitter(&mut self, jitter: &Jitter, cannot: &mut dyn FnMut(&str)) {
        self.delay += jitter.delay;
        match jitter.jitter {
            Some(width) if self.jitter.is_none() && jitter.distribution != Distribution::Trace => {
                self.jitter = Some((width, jitter.distribution));
                if !jitter.reorder {
                    cannot("netem lets packets overtake each other");
                }
                if jitter.every.is_some() {
                    cannot("netem draws a delay for every packet");
                }
            }
            None if jitter.distribution != Distribution::Trace => {}
            _ => cannot("netem has one distribution of delays, and no list of them"),
        }
    }

    fn loss(&mut self, loss: &Loss, cannot: &mut dyn FnMut(&str)) {
        match (loss.model, loss.probability) {
            (LossModel::Bernoulli, Some(p)) => self.passes = Some(self.passes.unwrap_or(1.0) * (1.0 - p)),
            _ => cannot("only independent losses are said"),
        }
    }

    fn shaper(&mut self, shaper: &Shaper, cannot: &mut dyn FnMut(&str)) {
        if self.shaper.is_some() {
            return cannot("a second shaper of the same direction");
        }
        if shaper.refill == Refill::Interval {
            cannot("a TBF fills its bucket steadily, not by intervals");
        }
        if shaper.peak_rate.is_some() {
            cannot("the peak rate is left out");
        }
        self.shaper = Some(shaper.clone());
    }

    fn policer(&mut self, policer: &Policer, cannot: &mut dyn FnMut(&str)) {
        if self.policer.is_some() {
            return cannot("a second policer of the same direction");
        }
        if *policer != Policer::single(policer.rate, policer.burst) {
            cannot("of colours, meters and flows nothing is said: one bucket, and what exceeds is dropped");
        }
        cannot("it polices where packets come in, behind all else of the direction");
        self.policer = Some(policer.clone());
    }

    /// On the interface that sends.
    pub fn egress(&self, device: &str) -> Vec<String> {
        let netem = self.netem();
        let mut all = Vec::new();
        if let Some(netem) = &netem {
            all.push(format!("tc qdisc add dev {device} root handle 1: netem{netem}"));
        }
        if let Some(shaper) = &self.shaper {
            let parent = if netem.is_some() { "parent 1: handle 2:" } else { "root handle 1:" };
            let bytes = queue_bytes(&shaper.queue()) + shaper.burst().get();
            all.push(format!(
                "tc qdisc add dev {device} {parent} tbf rate {} burst {}b limit {bytes}b",
                rate(shaper.rate),
                shaper.burst().get()
            ));
        }
        all
    }

    /// On the interface that receives.
    pub fn ingress(&self, device: &str) -> Vec<String> {
        let Some(policer) = &self.policer else { return Vec::new() };
        let burst = policer.burst.unwrap_or(Bytes::new((policer.rate.as_bps() / 32).max(1500)));
        vec![
            format!("tc qdisc add dev {device} ingress"),
            format!(
                "tc filter add dev {device} parent ffff: protocol all matchall action police rate {} burst {}b conform-exceed drop",
                rate(policer.rate),
                burst.get()
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
        if let Some(passes) = self.passes {
            text += &format!(" loss {}%", percent(1.0 - passes));
        }
        if let Some(p) = self.duplicate {
            text += &format!(" duplicate {}%", percent(p));
        }
        if let Some(limit) = self.rate {
            text += &format!(" rate {}", rate(limit));
        }
        // What is delayed stands in netem's queue too.
        let delayed = self.rate.map_or(0, |r| r.bytes_in(self.delay).get().div_ceil(FULL));
        let limit = self.limit.map_or(LIMIT, |packets| packets.saturating_add(delayed));
        (!text.is_empty()).then(|| text + &format!(" limit {limit}"))
    }
}

/// Packets that wait at most.
fn limit(queue: &QueueConfig, cannot: &mut dyn FnMut(&str)) -> Option<u64> {
    match queue {
        QueueConfig::Fifo(fifo) => {
            if fifo.bytes.is_some() {
                cannot("netem's queue counts packets, not bytes");
            }
            Some(fifo.packets.unwrap_or(1000))
        }
        _ => {
            cannot("netem's queue is first in, first out");
            None
        }
    }
}

/// Bytes that wait at most, full packets where packets are counted.
fn queue_bytes(queue: &QueueConfig) -> u64 {
    let limits = queue.limits();
    limits.bytes.min(limits.packets.saturating_mul(FULL))
}

fn rate(rate: Rate) -> String {
    format!("{}bit", rate.as_bps())
}

/// Microseconds, which `tc` counts in.
fn time(span: Span) -> String {
    let nanos = span.as_nanos();
    if nanos % 1000 == 0 { format!("{}us", nanos / 1000) } else { format!("{nanos}ns") }
}

/// Without the noise of binary fractions.
fn percent(share: f64) -> f64 {
    (share * 1e10).round() / 1e8
}
