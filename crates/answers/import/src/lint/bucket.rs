//! Buckets of shapers: too small for the timer or a packet, or so large that they are no limit.

use crate::number::{rate as rate_text, seconds, size, time};
use crate::{DraftStage, Reading};
use path::{Class, Refill, Stage};
use units::{Bytes, Rate};

/// A full packet with its Ethernet header.
const PACKET: u64 = 1514;
/// A timer that is this much late is nothing unusual; at a rate where that is several packets, a bucket that holds less
/// loses the rest.
const LATE_S: f64 = 500e-6;
/// From this rate on a late timer costs more than a packet or two.
const FAST: u64 = 50_000_000;
/// A bucket that holds this long is a second limit nobody meant.
const LONG_S: f64 = 0.5;

/// Names of a bucket in findings.
struct BucketNames<'a> {
    owner: &'a str,
    bucket: &'a str,
    small: &'static str,
    large: &'static str,
}

fn bucket(line: usize, names: &BucketNames, rate: Rate, burst: Bytes, reading: &mut Reading) {
    let holds = seconds(burst.get(), rate);
    let BucketNames { owner, bucket, .. } = names;
    let (b, r) = (size(burst.get()), rate_text(rate.as_bps()));
    if rate.as_bps() >= FAST && holds < LATE_S {
        let fit = size((rate.as_bps() as f64 / 8.0 * 1e-3) as u64);
        let text = format!(
            "{owner}: a {bucket} of {b} at {r} is used up in {}: whenever the timer is later than that, rate is lost; 1 ms \
             is {fit}",
            time(holds)
        );
        reading.fault(line, names.small, text);
    }
    if holds >= LONG_S && burst.get() > 10 * PACKET {
        let text = format!(
            "{owner}: a {bucket} of {b} at {r} is {} of data, which leaves at line rate after every pause",
            time(holds)
        );
        reading.fault(line, names.large, text);
    }
}

/// TBF, Cisco's shaping.
pub(crate) fn shaper(stage: &DraftStage, reading: &mut Reading) {
    let Stage::Shaper(s) = &stage.stage else { return };
    let rate = s.rate;
    if s.refill == Refill::Interval {
        let interval = seconds(s.burst().get(), rate);
        if interval > 0.1 {
            let text = format!(
                "{}: Tc = Bc / CIR is {}: a burst at line rate, then silence for the rest; 4 to 25 ms are usual",
                stage.says,
                time(interval)
            );
            reading.fault(stage.line, "shape-interval", text);
        }
        return;
    }
    let owner = stage.says.as_str();
    let names = BucketNames { owner, bucket: "burst", small: "burst-small", large: "burst-large" };
    if let Some(burst) = s.burst {
        if burst.get() < PACKET {
            let text = format!(
                "{owner}: a burst of {} is below a full packet of {PACKET} bytes, which never passes",
                size(burst.get())
            );
            reading.fault(stage.line, "burst-below-packet", text);
        } else {
            bucket(stage.line, &names, rate, burst, reading);
        }
    }
    if let (Some(peak), Some(mtu)) = (s.peak_rate, s.peak_burst)
        && mtu.get() < PACKET
    {
        let text = format!(
            "{owner}: the peak rate {} with mtu {} passes no packet larger than that",
            rate_text(peak.as_bps()),
            size(mtu.get())
        );
        reading.fault(stage.line, "burst-below-packet", text);
    }
}

/// HTB's two buckets of each class.
pub(crate) fn classes(stage: &DraftStage, reading: &mut Reading) {
    let Stage::Htb(htb) = &stage.stage else { return };
    for class in &htb.classes {
        let line = stage.parts.get(&class.name).copied().unwrap_or(stage.line);
        buckets_of(class, line, reading);
    }
}

fn buckets_of(class: &Class, line: usize, reading: &mut Reading) {
    let owner = format!("class {}", class.name);
    let names = |bucket, small, large| BucketNames { owner: &owner, bucket, small, large };
    // What is left out is as small as tc makes it: a packet.
    let given = |b: Option<Bytes>| b.unwrap_or(Bytes::new(1600));
    let burst = names("burst", "htb-burst-small", "htb-burst-large");
    bucket(line, &burst, class.rate, given(class.burst), reading);
    let ceil = class.ceil.unwrap_or(class.rate);
    let cburst = names("cburst", "htb-cburst-small", "htb-cburst-large");
    bucket(line, &cburst, ceil, given(class.cburst), reading);
}
