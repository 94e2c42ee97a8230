//! `netem`: delay, jitter, loss, duplication, reordering and a rate. Source: iproute2 `tc/q_netem.c`, Linux
//! `sch_netem.c`.

use super::model::TcQdisc;
use super::options::KeySpec;
use crate::number::FRAME;
use crate::{DraftStage, Reading, number};
use path::queue::Fifo;
use path::{Delay, Distribution, Duplicate, Jitter, Link, Loss, LossModel, QueueConfig, Reorder};
use units::{Bytes, Rate, Span};

/// Keys of netem after [`flatten`].
pub(crate) const KEYS: &[KeySpec] = &[
    (&["delay"], 1),
    (&["jitter"], 1),
    (&["distribution"], 1),
    (&["loss"], 1),
    (&["p"], 1),
    (&["r"], 1),
    (&["1-h"], 1),
    (&["1-k"], 1),
    (&["duplicate"], 1),
    (&["corrupt"], 1),
    (&["reorder"], 1),
    (&["gap"], 1),
    (&["rate"], 1),
    (&["limit"], 1),
    (&["seed"], 1),
];

/// Gives each of netem's values its own key: `delay 100ms 10ms` becomes `delay 100ms jitter 10ms`.
pub(crate) fn flatten(line: usize, words: &[String], reading: &mut Reading) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = words.iter().peekable();
    let is_value = |w: &&String| w.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '$');
    while let Some(word) = rest.next() {
        let keys: &[&str] = match word.as_str() {
            "delay" | "latency" => &["delay", "jitter", "correlation"],
            "loss" | "drop" => match rest.peek().map(|w| w.as_str()) {
                Some("gemodel") => {
                    rest.next();
                    &["p", "r", "1-h", "1-k"]
                }
                Some("state") => {
                    rest.next();
                    while rest.next_if(is_value).is_some() {}
                    reading.unknown(line, "loss state", "the four-state loss model is not simulated");
                    continue;
                }
                Some("random") => {
                    rest.next();
                    &["loss", "correlation"]
                }
                _ => &["loss", "correlation"],
            },
            "duplicate" => &["duplicate", "correlation"],
            "corrupt" => &["corrupt", "correlation"],
            "reorder" => &["reorder", "correlation"],
            "rate" => &["rate", "packet overhead", "cell size", "cell overhead"],
            // `tc` prints the parameters of the loss model with their names.
            "p" | "r" | "1-h" | "1-k" | "gap" | "limit" | "distribution" | "seed" => {
                out.push(word.clone());
                out.extend(rest.next().cloned());
                continue;
            }
            _ => {
                out.push(word.clone());
                continue;
            }
        };
        for key in keys {
            let Some(value) = rest.next_if(is_value) else { break };
            if KEYS.iter().any(|(names, _)| names.contains(key)) {
                out.extend([key.to_string(), value.clone()]);
            } else if number::split(value).is_none_or(|(n, _)| n > 0.0) {
                reading.unknown(line, value.clone(), format!("netem's {key} is not simulated"));
            }
        }
    }
    out
}

/// The stages of a netem, in the order of packets.
pub(crate) fn stages(q: &TcQdisc, reading: &mut Reading) -> Vec<DraftStage> {
    let mut all = Vec::new();
    let (o, line) = (&q.options, q.line);
    losses(q, reading, &mut all);
    if let Some(probability) = o.share("duplicate", reading).filter(|p| *p > 0.0) {
        all.push(DraftStage::new("duplicate", line, "netem duplicate", Duplicate { probability }));
    }
    let delay = o.time("delay", reading).unwrap_or_default();
    let jitter = o.time("jitter", reading).filter(|j| !j.is_zero());
    let rate = o.rate("rate", reading);
    let limit = limit(q, reading);
    bare_time(q, reading);
    if let Some(rate) = rate {
        let waiting = waiting(limit, rate, delay);
        let queue = QueueConfig::Fifo(Fifo { packets: Some(waiting), bytes: None });
        let link = Link { rate: Some(rate), queue, ..Link::default() };
        all.push(DraftStage::new("rate", line, format!("netem rate {}", number::rate(rate.as_bps())), link));
    }
    let reorder = o.share("reorder", reading).filter(|p| *p > 0.0);
    if o.has("gap") {
        reading.unknown(line, "gap", "netem's gap is not simulated: any packet may be reordered");
    }
    if let (Some(at_once), false) = (reorder, delay.is_zero()) {
        // `reorder 25%`: 25 % of the packets are sent at once, the others after the delay.
        let reorder = Reorder { probability: 1.0 - at_once, delay };
        all.push(DraftStage::new("reorder", line, "netem delay and reorder", reorder));
        if jitter.is_some() {
            reading.unknown(line, "jitter", "jitter together with reorder is not simulated");
        }
        reading.assume("netem with `reorder` holds any number of packets");
    } else if jitter.is_some() {
        let distribution = match o.text("distribution") {
            None | Some("uniform") => Distribution::Uniform,
            Some("normal") => Distribution::Normal,
            Some(other) => {
                reading.unknown(line, other, format!("unknown distribution `{other}`: normal is used"));
                Distribution::Normal
            }
        };
        // With a rate, packets stay in order (`netem_enqueue`).
        let packets = Some(limit);
        let jitter =
            Jitter { delay, jitter, distribution, packets, reorder: rate.is_none(), ..Jitter::default() };
        all.push(DraftStage::new("jitter", line, "netem delay with jitter", jitter));
    } else if !delay.is_zero() {
        all.push(DraftStage::new("delay", line, "netem delay", Delay { delay, packets: Some(limit) }));
    }
    if reorder.is_none() {
        holds_too_little(q, limit, delay.as_secs_f64(), rate.map(|r| r.as_bps()), reading);
    }
    all
}

/// Maximum packets in a netem, including delayed ones.
fn limit(q: &TcQdisc, reading: &mut Reading) -> u64 {
    q.options.packets("limit", reading).unwrap_or(1000).max(1)
}

/// The part of netem's limit that can wait for the rate; the rest is taken by delayed packets
/// (`netem_enqueue` has one queue for both). If delayed packets take the whole limit, the delay's own limit
/// applies.
pub(super) fn waiting(limit: u64, rate: Rate, delay: Span) -> u64 {
    let delayed = rate.bytes_in(delay).get() / FRAME;
    if delayed < limit { limit - delayed } else { limit }
}

/// The queue of a class with that rate above a netem: netem's limit without the delayed packets.
pub(super) fn queue_above(q: &TcQdisc, rate: Rate, reading: &mut Reading) -> QueueConfig {
    let limit = limit(q, reading);
    let delay = q.options.time("delay", reading).unwrap_or_default();
    QueueConfig::Fifo(Fifo { packets: Some(waiting(limit, rate, delay)), bytes: None })
}

fn losses(q: &TcQdisc, reading: &mut Reading, all: &mut Vec<DraftStage>) {
    let (o, line) = (&q.options, q.line);
    if let Some(p) = o.share("p", reading) {
        let r = o.share("r", reading).unwrap_or(1.0 - p);
        let loss = Loss {
            model: LossModel::GilbertElliott,
            p: Some(p),
            r: Some(r),
            loss_bad: o.share("1-h", reading),
            loss_good: o.share("1-k", reading),
            ..Loss::default()
        };
        all.push(DraftStage::new("loss", line, "netem loss gemodel", loss));
    }
    for (key, says) in [("loss", "netem loss"), ("corrupt", "netem corrupt: the checksum loses the packet")] {
        if let Some(p) = o.share(key, reading).filter(|p| *p > 0.0) {
            all.push(DraftStage::new(key, line, says, Loss { probability: Some(p), ..Loss::default() }));
        }
    }
}

/// Reports times without a unit: `delay 100` is 100 microseconds. From `1000` on that may be intended.
fn bare_time(q: &TcQdisc, reading: &mut Reading) {
    for key in ["delay", "jitter"] {
        let bare = q.options.text(key).filter(|t| t.parse::<f64>().is_ok_and(|n| n > 0.0 && n < 1000.0));
        if let Some(bare) = bare {
            let text = format!(
                "`{key} {bare}` has no unit and is {bare} microseconds; `{bare}ms` is probably meant"
            );
            reading.fault(q.line, "bare-time", text);
        }
    }
}

/// Reports a limit that is too small: delayed packets count towards netem's limit.
fn holds_too_little(q: &TcQdisc, limit: u64, delay: f64, rate: Option<u64>, reading: &mut Reading) {
    if delay <= 0.0 {
        return;
    }
    let most = limit as f64 * FRAME as f64 * 8.0 / delay;
    let text = format!(
        "netem holds at most {limit} packets for {}: at most {} of full packets pass",
        number::time(delay),
        number::rate(most as u64)
    );
    match rate {
        Some(rate) if (rate as f64) > most => {
            let needs = Bytes::new((rate as f64 / 8.0 * delay) as u64);
            let text = format!(
                "{text}, below the rate of {}; `limit {}` is enough",
                number::rate(rate),
                needs.get() / FRAME + 1
            );
            reading.fault(q.line, "netem-limit", text);
        }
        None if most < 1e9 => reading.fault(q.line, "netem-limit", text + "; raise `limit`"),
        _ => {}
    }
}
