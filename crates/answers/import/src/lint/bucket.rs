//! Buckets of shapers: too small for the timer or a packet, or too large to limit.

use crate::number::{FRAME, rate as rate_text, seconds, size, time};
use crate::{Credit, DraftStage, Reading};
use path::{Class, Refill, Stage};
use result::sizes;
use units::{Bytes, Rate};

/// A usual delay of the timer, seconds: at a high rate that is several packets, and a bucket that holds less
/// loses rate.
const TIMER_DELAY_S: f64 = 500e-6;
/// From this rate on, a late timer costs more than one or two packets, bit/s.
const MIN_TIMER_RATE: u64 = 50_000_000;
/// A bucket with more seconds of data than this allows bursts that are probably not intended.
const MAX_BURST_S: f64 = 0.5;

/// A bucket with its words in findings.
struct Bucket<'a> {
    line: usize,
    owner: &'a str,
    name: &'a str,
    rate: Rate,
    burst: Bytes,
    credit: Credit,
    /// The rate at which a burst leaves after a pause, in words.
    leaves: String,
    /// Names of the rules.
    small: &'static str,
    large: &'static str,
}

impl Bucket<'_> {
    fn check(&self, reading: &mut Reading) {
        let holds = seconds(self.burst.get(), self.rate);
        let (b, r) = (size(self.burst.get()), rate_text(self.rate.as_bps()));
        let (owner, name) = (self.owner, self.name);
        let why = "5 ms of the rate, at least what a host sends at once";
        let right = || super::bucket_size(self.burst.get(), sizes::shaper_bucket(self.rate.as_bps()), why);
        if self.credit == Credit::KernelTimer && self.rate.as_bps() >= MIN_TIMER_RATE && holds < TIMER_DELAY_S
        {
            let text = format!(
                "{owner}: a {name} of {b} at {r} lasts {}: whenever the timer is later than that, rate is lost",
                time(holds)
            );
            reading.remedied(self.line, self.small, text, right());
        }
        if holds >= MAX_BURST_S && self.burst.get() > 10 * FRAME {
            let text = format!(
                "{owner}: a {name} of {b} at {r} is {} of data, which leaves at {} after every pause",
                time(holds),
                self.leaves
            );
            reading.remedied(self.line, self.large, text, right());
        }
    }
}

/// Checks the buckets of shapers (TBF, Cisco's shaping).
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
    if stage.credit == Credit::NoBucket {
        return;
    }
    let owner = stage.says.as_str();
    if let Some(burst) = s.burst {
        if burst.get() < FRAME && stage.credit == Credit::KernelTimer {
            let text = format!(
                "{owner}: a burst of {} is below a full packet of {FRAME} bytes, which never passes",
                size(burst.get())
            );
            reading.fault(stage.line, "burst-below-packet", text);
        } else {
            let bucket = Bucket {
                line: stage.line,
                owner,
                name: "burst",
                rate,
                burst,
                credit: stage.credit,
                leaves: "line rate".into(),
                small: "burst-small",
                large: "burst-large",
            };
            bucket.check(reading);
        }
    }
    if let (Some(peak), Some(mtu)) = (s.peak_rate, s.peak_burst)
        && mtu.get() < FRAME
        && stage.credit == Credit::KernelTimer
    {
        let text = format!(
            "{owner}: the peak rate {} with mtu {} passes no packet larger than that",
            rate_text(peak.as_bps()),
            size(mtu.get())
        );
        reading.fault(stage.line, "burst-below-packet", text);
    }
}

/// Checks the two buckets of each HTB class: `burst` leaves at the ceil, `cburst` at line rate (Linux
/// `htb_charge_class`: a packet takes tokens from both).
pub(crate) fn classes(stage: &DraftStage, reading: &mut Reading) {
    let Stage::Htb(htb) = &stage.stage else { return };
    if stage.credit == Credit::NoBucket {
        return;
    }
    for class in &htb.classes {
        let line = stage.parts.get(&class.name).copied().unwrap_or(stage.line);
        buckets_of(class, line, stage.credit, reading);
    }
}

fn buckets_of(class: &Class, line: usize, credit: Credit, reading: &mut Reading) {
    let owner = &format!("class {}", class.name);
    // The default of tc is one packet.
    let given = |b: Option<Bytes>| b.unwrap_or(Bytes::new(1600));
    let ceil = class.ceil.unwrap_or(class.rate);
    if ceil > class.rate || class.burst <= class.cburst {
        let leaves = if ceil > class.rate {
            format!("its ceil of {}", rate_text(ceil.as_bps()))
        } else {
            "line rate".into()
        };
        let (name, small, large) = ("burst", "htb-burst-small", "htb-burst-large");
        Bucket {
            line,
            owner,
            name,
            rate: class.rate,
            burst: given(class.burst),
            credit,
            leaves,
            small,
            large,
        }
        .check(reading);
    }
    let leaves = "line rate".to_string();
    let (name, small, large) = ("cburst", "htb-cburst-small", "htb-cburst-large");
    Bucket { line, owner, name, rate: ceil, burst: given(class.cburst), credit, leaves, small, large }
        .check(reading);
}
