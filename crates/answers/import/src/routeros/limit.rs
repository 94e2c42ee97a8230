//! The values of a queue's sides, and a side without children as a shaper.

use super::read::{Item, Menu};
use super::types::QueueTypes;
use crate::number::{self, Units, quantity};
use crate::{Credit, DraftStage, Reading};
use path::{Link, Shaper, Stage};
use units::{Bytes, Rate};

/// Rates, bit/s.
pub(super) const RATES: &Units = &[
    ("", 1.0),
    ("k", 1e3),
    ("m", 1e6),
    ("g", 1e9),
    ("bps", 1.0),
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
];
/// The default `bucket-size`.
const BUCKET: f64 = 0.1;
/// The longest burst, so that times stay in range.
const MAX_TIME_S: f64 = 1e6;

/// A burst: how long a queue may send at a higher rate after it was idle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Burst {
    /// `burst-limit`, bit/s.
    pub limit: u64,
    /// `burst-threshold`, bit/s.
    pub threshold: u64,
    /// `burst-time`: the averaging period, seconds.
    pub time: f64,
}

/// One side of a queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Side {
    pub direction: &'static str,
    /// bit/s; `None`: no guarantee.
    pub limit_at: Option<u64>,
    /// bit/s; `None`: no limit.
    pub max_limit: Option<u64>,
    pub burst: Option<Burst>,
    /// Seconds of `max-limit`.
    pub bucket: f64,
    /// The queue type's name.
    pub queue: String,
    /// 1 is served first, 8 last.
    pub priority: u8,
}

impl Side {
    /// The bucket at a rate, at least one packet.
    pub fn bucket_of(&self, bps: u64) -> Bytes {
        Bytes::new(((bps as f64 * self.bucket / 8.0) as u64).max(number::FRAME))
    }
}

/// The part of `up/down` for a side; a single value counts for both.
fn part(text: &str, side: usize) -> &str {
    text.split_once('/').map_or(text, |(up, down)| if side == 0 { up } else { down })
}

/// `8s`, `1m30s`, `00:00:08`, `500ms`, `8`: seconds.
pub(super) fn seconds(text: &str) -> Option<f64> {
    if text.contains(':') {
        let parts: Vec<f64> = text.split(':').map(|p| p.parse().ok()).collect::<Option<_>>()?;
        let [h, m, s] = parts.as_slice() else { return None };
        return Some(h * 3600.0 + m * 60.0 + s).filter(|s| (0.0..MAX_TIME_S).contains(s));
    }
    let (mut sum, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |n| end + n);
        sum += number
            * match &rest[end..unit_end] {
                "" | "s" => 1.0,
                "ms" => 1e-3,
                "m" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                "w" => 604_800.0,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    (0.0..MAX_TIME_S).contains(&sum).then_some(sum)
}

/// Both sides of a simple queue, or the one side of a queue of a tree.
pub(super) fn sides(item: &Item, name: &str, reading: &mut Reading) -> [Option<Side>; 2] {
    if item.menu == Menu::Tree {
        return [side(item, name, 0, "limited", reading), None];
    }
    let only = item.get("direction").unwrap_or("both");
    let mut one = |n, direction| {
        [direction, "both"].contains(&only).then(|| side(item, name, n, direction, reading)).flatten()
    };
    [one(0, "upload"), one(1, "download")]
}

/// One side; `None` if one of its values was rejected.
fn side(item: &Item, name: &str, n: usize, direction: &'static str, reading: &mut Reading) -> Option<Side> {
    let mut whole = true;
    let mut rate = |key: &str| {
        let text = part(item.get(key)?, n);
        match quantity(text, None, RATES) {
            Ok((bps, _)) => (bps >= 1.0).then_some(bps as u64),
            Err(unread) => {
                reading.refuse(item.line, format!("{key}={text}"), unread.why(text, RATES));
                whole = false;
                None
            }
        }
    };
    let (limit_at, max_limit) = (rate("limit-at"), rate("max-limit"));
    let (limit, threshold) = (rate("burst-limit"), rate("burst-threshold"));
    let mut other = |key: &str, why: &str, value: &dyn Fn(&str) -> Option<f64>| {
        let text = part(item.get(key)?, n);
        let value = value(text);
        if value.is_none() {
            reading.refuse(item.line, format!("{key}={text}"), format!("`{key}` is `{text}`: {why}"));
            whole = false;
        }
        value
    };
    let time = other("burst-time", "not a time (8s, 1m30s, 00:00:08)", &seconds);
    let within = |least: f64, most: f64| {
        move |text: &str| text.parse::<f64>().ok().filter(|v| (least..=most).contains(v))
    };
    let bucket =
        other("bucket-size", "expected 0 to 10 seconds of max-limit", &within(0.0, 10.0)).unwrap_or(BUCKET);
    let priority = other("priority", "expected 1 to 8", &within(1.0, 8.0)).unwrap_or(8.0) as u8;
    if !whole {
        return None;
    }
    let default = if item.menu == Menu::Tree { "default" } else { "default-small" };
    let queue = item.get("queue").map_or(default, |q| part(q, n)).to_string();
    let mut side = Side { direction, limit_at, max_limit, burst: None, bucket, queue, priority };
    if let (Some(limit), Some(max)) = (limit, max_limit) {
        burst(item.line, name, &mut side, max, (limit, threshold, time), reading);
    }
    Some(side)
}

/// The effective burst, from its limit, threshold and time; a threshold that has an unexpected effect is
/// reported.
fn burst(
    line: usize,
    name: &str,
    side: &mut Side,
    max: u64,
    (limit, threshold, time): (u64, Option<u64>, Option<f64>),
    reading: &mut Reading,
) {
    let (Some(threshold), Some(time)) = (threshold, time.filter(|t| *t > 0.0)) else {
        let text = format!(
            "queue {name}: burst-limit {} has no effect without a burst-threshold and a burst-time",
            number::rate(limit)
        );
        return reading.fault(line, "queue-no-burst", text);
    };
    if limit <= max {
        return;
    }
    let rates = (number::rate(limit), number::rate(threshold), number::rate(max));
    if threshold >= limit {
        let text = format!(
            "queue {name}, {}: the burst-threshold {} is not below the burst-limit {}: the average never reaches it, so the burst \
             never ends: the limit is {}, not {}",
            side.direction, rates.1, rates.0, rates.0, rates.2
        );
        reading.fault(line, "queue-endless-burst", text);
        side.max_limit = Some(limit);
        return;
    }
    if threshold > max {
        let text = format!(
            "queue {name}, {}: the burst-threshold {} is above max-limit {}: at max-limit the average falls below it, and the burst \
             begins again: the queue passes {} on the average",
            side.direction, rates.1, rates.2, rates.1
        );
        reading.fault(line, "queue-burst-threshold", text);
        side.max_limit = Some(threshold);
    }
    side.burst = Some(Burst { limit, threshold, time });
}

/// A side without children; `None` if it has no limit.
pub(super) fn stage_of(
    line: usize,
    name: &str,
    side: &Side,
    types: &mut QueueTypes,
    reading: &mut Reading,
) -> Option<DraftStage> {
    let below = types.queue(&side.queue, line, reading);
    let limit = match (side.max_limit, below.rate) {
        (Some(max), Some(rate)) => max.min(rate),
        (max, rate) => max.or(rate)?,
    };
    let rate = Rate::from_bps(limit);
    let says = format!("queue {name}, {}: {}", side.direction, number::rate(limit));
    if below.one_by_one {
        let link = Link { rate: Some(rate), queue: below.queue.unwrap_or_default(), ..Link::default() };
        return Some(DraftStage::new("queue", line, says, link).with_credit(Credit::NoBucket));
    }
    let bucket = side.bucket_of(limit);
    let plain = Shaper { burst: Some(bucket), queue: below.queue, ..Shaper::new(rate) };
    let Some(burst) = side.burst.filter(|b| b.limit > limit) else {
        return Some(DraftStage::new("queue", line, says, plain).with_credit(Credit::CarriesOver));
    };
    // The average over `time` reaches the threshold after this long at the higher rate.
    let lasts = burst.time * burst.threshold as f64 / burst.limit as f64;
    let extra = ((burst.limit - limit) as f64 * lasts / 8.0) as u64;
    let (fast, threshold) = (Rate::from_bps(burst.limit), number::rate(burst.threshold));
    let says = format!(
        "{says}, {} for {lasts:.1} s until the average over {} s exceeds {threshold}",
        number::rate(burst.limit),
        burst.time
    );
    reading.assume(format!(
        "bursts of queue {name} as a bucket of {} that drains at {}: {lasts:.1} s after a pause; RouterOS allows the next burst \
         once the average is below {threshold}, here the bucket refills with the unused rate",
        number::size(extra),
        number::rate(burst.limit),
    ));
    let whole = Bytes::new(extra.saturating_add(bucket.get()));
    let shaper = Shaper { burst: Some(whole), peak_rate: Some(fast), peak_burst: Some(bucket), ..plain };
    Some(DraftStage::new("queue", line, says, Stage::from(shaper)).with_credit(Credit::NoBucket))
}

/// Limits that are not simulated.
pub(super) fn not_simulated(item: &Item, reading: &mut Reading) {
    let none = ["", "0", "0/0", "0s", "0s/0s"];
    let written = |key: &str| item.get(key).filter(|v| !none.contains(v));
    if let Some(text) = written("total-max-limit") {
        let why = "a combined limit of both directions (`total-max-limit`) is not simulated";
        reading.unknown(item.line, format!("total-max-limit={text}"), why);
    }
    if let Some(text) = written("time") {
        reading.unknown(
            item.line,
            format!("time={text}"),
            "the queue is only active at certain times; simulated as always active",
        );
    }
}

/// The counters of `print stats`.
pub(super) fn counters(item: &Item, name: &str, sides: &[Option<Side>; 2], reading: &mut Reading) {
    let count =
        |key: &str, n: usize| item.get(key).and_then(|v| part(v, n).replace(' ', "").parse::<u64>().ok());
    for (n, side) in sides.iter().enumerate() {
        let Some(side) = side else { continue };
        let direction = side.direction;
        if let Some(dropped) = count("dropped", n).filter(|d| *d > 0) {
            let share = count("packets", n).map_or(String::new(), |p| {
                format!(
                    " ({:.2} % of the arrivals)",
                    dropped as f64 * 100.0 / (dropped.saturating_add(p)) as f64
                )
            });
            reading.fact(item.line, format!("queue {name}, {direction}: {dropped} packets dropped{share}"));
        }
        if let Some(bytes) = count("queued-bytes", n).filter(|b| *b > 0) {
            let wait = side.max_limit.map_or(String::new(), |max| {
                format!(", {} at its rate", number::time(number::seconds(bytes, Rate::from_bps(max))))
            });
            reading
                .fact(item.line, format!("queue {name}, {direction}: {} queued{wait}", number::size(bytes)));
        }
        let measured = item.get("rate").and_then(|v| quantity(part(v, n), None, RATES).ok());
        if let (Some((measured, _)), Some(max)) = (measured, side.max_limit)
            && measured > max as f64 * 1.1
        {
            let text = format!(
                "queue {name}, {direction}: measured rate {}, above its max-limit of {}",
                number::rate(measured as u64),
                number::rate(max)
            );
            reading.fact(item.line, text);
        }
    }
}
