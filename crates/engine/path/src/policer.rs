//! A policer: token buckets that drop or re-mark excess packets, without delaying any.
//!
//! | meter | source | buckets | green | yellow | red |
//! |---|---|---|---|---|---|
//! | `single` | Cisco single-rate two-colour | C at `rate` | C >= size | – | otherwise |
//! | `srtcm` | RFC 2697 section 3 | C, and E filled with what overflows C | C >= size | E >= size | otherwise |
//! | `trtcm` | RFC 2698 section 3 | C at `rate`, P at `peak_rate` | both | P >= size > C | P < size |
//!
//! Buckets start full and are refilled exactly when packets arrive. A packet larger than a bucket never
//! conforms to it. Default burst: Cisco's rate / 32 bytes (250 ms), at least 1500.

use crate::bucket::Bucket;
use crate::config::{Config, DisplayNames, StageLimit, misplaced, rate_above_zero};
use crate::problem::Problem;
use crate::{
    Account, Body, Class, DropCause, Element, Gauge, Htb, Outbox, Packet, QueueConfig, Shaper, Stage,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::{Bytes, Choices, Label, Rate, Time};

/// The metering algorithm of a policer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Meter {
    /// One rate, two colours: conform (green) and exceed (red).
    #[default]
    Single,
    /// Single rate three colour marker, RFC 2697.
    Srtcm,
    /// Two rate three colour marker, RFC 2698.
    Trtcm,
}

/// What happens to packets of one colour: `"pass"`, `"drop"` or `{ dscp = 10 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Pass unchanged.
    Pass,
    /// Drop.
    Drop,
    /// Set this codepoint (0 to 63) and pass.
    Dscp(u8),
}

fn pass() -> Action {
    Action::Pass
}

fn drop_packet() -> Action {
    Action::Drop
}

/// Token buckets that drop or re-mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// `single` (default), `srtcm` or `trtcm`.
    #[serde(default)]
    pub meter: Meter,
    /// Committed information rate (CIR), bits per second.
    pub rate: Rate,
    /// Committed burst (CBS, Cisco Bc), bytes. Default: rate / 32 bytes (250 ms of the rate), at least 1500
    /// (Cisco IOS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// Excess burst (EBS, Cisco Be) of `srtcm`, bytes. Default: the committed burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excess_burst: Option<Bytes>,
    /// Peak information rate (PIR) of `trtcm`, bits per second; not below `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rate: Option<Rate>,
    /// Peak burst (PBS) of `trtcm`, bytes. Default: peak rate / 32 bytes, at least 1500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_burst: Option<Bytes>,
    /// Action for green packets, which conform. Default `"pass"`.
    #[serde(default = "pass")]
    pub green: Action,
    /// Action for yellow packets, which exceed. Default `"pass"`.
    #[serde(default = "pass")]
    pub yellow: Action,
    /// Action for red packets, which violate (with `single`: exceed). Default `"drop"`.
    #[serde(default = "drop_packet")]
    pub red: Action,
    /// Colour-aware metering: the colour of arriving packets is the drop precedence of assured forwarding
    /// (RFC 2597: AFx1 green, AFx2 yellow, AFx3 red; any other codepoint green).
    #[serde(default)]
    pub aware: bool,
    /// Separate buckets for each flow. Default false.
    #[serde(default)]
    pub per_flow: bool,
    /// Codepoints that are metered, as by a router's policer of one class; packets with other codepoints
    /// pass unmetered. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
}

/// Cisco's rule: 250 ms of the rate, at least one full packet.
fn default_burst(rate: Rate) -> Bytes {
    Bytes::new((rate.as_bps() / 32).max(1500))
}

impl Policer {
    /// A single-rate two-colour policer that drops excess packets.
    pub fn single(rate: Rate, burst: Option<Bytes>) -> Policer {
        Policer {
            meter: Meter::Single,
            rate,
            burst,
            excess_burst: None,
            peak_rate: None,
            peak_burst: None,
            green: Action::Pass,
            yellow: Action::Pass,
            red: Action::Drop,
            aware: false,
            per_flow: false,
            dscp: Vec::new(),
        }
    }

    /// A shaper with the same rate and the same codepoints; `queue` holds the waiting packets.
    pub fn as_shaper(&self, queue: QueueConfig) -> Stage {
        if self.dscp.is_empty() {
            return Shaper { queue: Some(queue), ..Shaper::new(self.rate) }.into();
        }
        let burst = Some(Shaper::new(self.rate).burst());
        let class = Class {
            burst,
            cburst: burst,
            dscp: self.dscp.clone(),
            queue: Some(queue),
            ..Class::new("class", self.rate)
        };
        // Packets that match no class pass at once.
        Htb { classes: vec![class] }.into()
    }

    fn buckets(&self) -> Buckets {
        let burst = self.burst.unwrap_or_else(|| default_burst(self.rate));
        let committed = Bucket::new(self.rate, burst);
        let second = match self.meter {
            Meter::Single => None,
            Meter::Srtcm => Some(Bucket::new(Rate::from_bps(0), self.excess_burst.unwrap_or(burst))),
            Meter::Trtcm => {
                let peak = self.peak_rate.unwrap_or(self.rate);
                let burst = self.peak_burst.unwrap_or_else(|| default_burst(peak));
                Some(Bucket::new(peak, burst))
            }
        };
        Buckets { committed, second }
    }
}

/// A bucket's key in the scenario, and its size.
type NamedBucket = (&'static str, Bytes);

impl Policer {
    /// The largest packet that can pass; `None` for any size.
    pub fn largest(&self) -> Option<Bytes> {
        self.largest_by_key().map(|(_, bytes)| bytes)
    }

    /// The bucket that limits the size of packets that can pass, by its key, with its size; `None` if packets
    /// of any size pass.
    pub fn largest_by_key(&self) -> Option<(&'static str, Bytes)> {
        let ([committed, second], [green, yellow]) = self.buckets_and_passes()?;
        let none = (committed.0, Bytes::new(0));
        let by_green = match self.meter {
            // A green packet needs tokens of both buckets.
            Meter::Trtcm if second.1 < committed.1 => second,
            _ => committed,
        };
        let by_yellow = if self.meter == Meter::Single { none } else { second };
        Some(match (green, yellow) {
            (true, true) if by_yellow.1 > by_green.1 => by_yellow,
            (true, _) => by_green,
            (false, true) => by_yellow,
            (false, false) => none,
        })
    }

    /// The bucket that limits the burst, by its key, and the bytes that pass at once if all buckets are full;
    /// `None` if nothing is dropped.
    pub fn burst_by_key(&self) -> Option<(&'static str, Bytes)> {
        let ([committed, second], [green, yellow]) = self.buckets_and_passes()?;
        Some(match self.meter {
            // Packets that do not fit into C use E: the larger bucket is named.
            Meter::Srtcm if green && yellow => {
                let both = Bytes::new(committed.1.get().saturating_add(second.1.get()));
                (if second.1 > committed.1 { second.0 } else { committed.0 }, both)
            }
            Meter::Trtcm if yellow || second.1 < committed.1 => second,
            Meter::Srtcm if yellow => second,
            _ => committed,
        })
    }

    /// Both buckets with their keys, and whether green and yellow packets pass; `None` if red packets pass.
    fn buckets_and_passes(&self) -> Option<([NamedBucket; 2], [bool; 2])> {
        let passes = |action: Action| action != Action::Drop;
        if passes(self.red) {
            return None;
        }
        let committed = self.burst.unwrap_or_else(|| default_burst(self.rate));
        let second = match self.meter {
            Meter::Single => ("burst", Bytes::new(0)),
            Meter::Srtcm => ("excess_burst", self.excess_burst.unwrap_or(committed)),
            Meter::Trtcm => {
                let peak = self.peak_rate.unwrap_or(self.rate);
                ("peak_burst", self.peak_burst.unwrap_or_else(|| default_burst(peak)))
            }
        };
        let yellow = self.meter != Meter::Single && passes(self.yellow);
        Some(([("burst", committed), second], [passes(self.green), yellow]))
    }

    /// The rate above which packets are dropped.
    fn drops_above(&self) -> Option<Rate> {
        let peak = if self.meter == Meter::Trtcm { self.peak_rate } else { Some(self.rate) };
        if self.green == Action::Drop {
            return Some(Rate::from_bps(0));
        }
        let yellow = self.yellow == Action::Drop && self.meter != Meter::Single;
        if yellow { Some(self.rate) } else { peak.filter(|_| self.red == Action::Drop) }
    }
}

impl Config for Policer {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("policer", "流量监管 policer"),
        one: Label::new("a policer", "流量监管"),
        dropper: Label::new("the policer", "流量监管"),
    };

    fn check(&self) -> Result<(), Problem> {
        rate_above_zero("rate", Some(self.rate))?;
        let (sr, tr) = (self.meter == Meter::Srtcm, self.meter == Meter::Trtcm);
        misplaced("excess_burst", self.excess_burst.is_some() && !sr, "meter = \"srtcm\"")?;
        misplaced("peak_rate", self.peak_rate.is_some() && !tr, "meter = \"trtcm\"")?;
        misplaced("peak_burst", self.peak_burst.is_some() && !tr, "meter = \"trtcm\"")?;
        if tr && self.peak_rate.is_none_or(|peak| peak < self.rate) {
            return Err(Problem::new("peak_rate", "required by `trtcm`, and not below `rate` (RFC 2698)"));
        }
        for (key, burst) in
            [("burst", self.burst), ("excess_burst", self.excess_burst), ("peak_burst", self.peak_burst)]
        {
            // An excess burst of 0 means "no yellow" in RFC 2697.
            if burst == Some(Bytes::new(0)) && key != "excess_burst" {
                return Err(Problem::new(key, "must be above zero (for example \"625kB\")"));
            }
        }
        if self.dscp.iter().any(|dscp| *dscp > 63) {
            return Err(Problem::new("dscp", "a codepoint is a number from 0 to 63"));
        }
        for (key, action) in [("green", self.green), ("yellow", self.yellow), ("red", self.red)] {
            if matches!(action, Action::Dscp(64..)) {
                return Err(Problem::new(key, "a codepoint is a number from 0 to 63"));
            }
        }
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, _seed: u64, _name: &str) -> Box<dyn Element<B>> {
        Box::new(PolicerElement {
            aggregate: self.buckets(),
            flows: BTreeMap::new(),
            config: self.clone(),
            account: Account::default(),
        })
    }

    fn draw(choices: &mut Choices) -> Policer {
        let meter = choices.one(&[Meter::Single, Meter::Srtcm, Meter::Trtcm]);
        let action = |c: &mut Choices| c.one(&[Action::Pass, Action::Drop, Action::Dscp(12)]);
        let rate = choices.rate();
        let peak_rate = (meter == Meter::Trtcm).then(|| Rate::from_bps(rate.as_bps() * 2));
        Policer {
            meter,
            peak_rate,
            yellow: action(choices),
            red: action(choices),
            aware: choices.coin(),
            per_flow: choices.coin(),
            dscp: choices.maybe(|_| vec![0, 10]).unwrap_or_default(),
            ..Policer::single(rate, choices.maybe(Choices::bytes))
        }
    }

    fn limit(&self) -> StageLimit {
        // Packets with other codepoints pass, so the direction as a whole has no limit.
        if !self.dscp.is_empty() {
            return StageLimit::None;
        }
        match (self.drops_above(), self.per_flow) {
            (Some(rate), true) => StageLimit::Each(rate),
            (Some(rate), false) => StageLimit::Shared(rate),
            (None, _) => StageLimit::None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Colour {
    Green,
    Yellow,
    Red,
}

/// RFC 2597 section 6: the drop precedence of class x is in codepoint bits 1 and 2.
fn precoloured(dscp: u8) -> Colour {
    match (dscp >> 3, dscp & 7) {
        (1..=4, 4) => Colour::Yellow,
        (1..=4, 6) => Colour::Red,
        _ => Colour::Green,
    }
}

#[derive(Clone)]
struct Buckets {
    committed: Bucket,
    /// E of srTCM, P of trTCM.
    second: Option<Bucket>,
}

impl Buckets {
    fn colour(&mut self, meter: Meter, now: Time, size: u32, before: Colour) -> Colour {
        let spilled = self.committed.refill(now);
        let Some(second) = &mut self.second else {
            if before != Colour::Green || !self.committed.holds(size) {
                return Colour::Red;
            }
            self.committed.take(size);
            return Colour::Green;
        };
        if meter == Meter::Srtcm {
            // RFC 2697 section 3: tokens go to C first, and to E when C is full.
            second.add(spilled);
            if before == Colour::Green && self.committed.holds(size) {
                self.committed.take(size);
                return Colour::Green;
            }
            if before <= Colour::Yellow && second.holds(size) {
                second.take(size);
                return Colour::Yellow;
            }
            return Colour::Red;
        }
        // RFC 2698 section 3: a green packet uses tokens of both buckets.
        second.refill(now);
        if before == Colour::Red || !second.holds(size) {
            return Colour::Red;
        }
        second.take(size);
        if before == Colour::Yellow || !self.committed.holds(size) {
            return Colour::Yellow;
        }
        self.committed.take(size);
        Colour::Green
    }
}

struct PolicerElement {
    config: Policer,
    aggregate: Buckets,
    flows: BTreeMap<u32, Buckets>,
    account: Account,
}

impl<B: Send> Element<B> for PolicerElement {
    fn handle_packet(&mut self, now: Time, mut packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        self.account.enter();
        if !self.config.dscp.is_empty() && !self.config.dscp.contains(&packet.dscp) {
            return self.account.send(out, now, now, packet);
        }
        let buckets = if self.config.per_flow {
            self.flows.entry(packet.flow).or_insert_with(|| self.config.buckets())
        } else {
            &mut self.aggregate
        };
        let before = if self.config.aware { precoloured(packet.dscp) } else { Colour::Green };
        let action = match buckets.colour(self.config.meter, now, packet.size, before) {
            Colour::Green => self.config.green,
            Colour::Yellow => self.config.yellow,
            Colour::Red => self.config.red,
        };
        match action {
            Action::Drop => return self.account.lose(out, now, packet, DropCause::Policed),
            Action::Dscp(dscp) if dscp != packet.dscp => {
                packet.dscp = dscp;
                self.account.marked += 1;
            }
            Action::Dscp(_) | Action::Pass => {}
        }
        self.account.send(out, now, now, packet);
    }

    fn handle_wake(&mut self, _now: Time, _out: &mut Outbox<B>) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn account(&self) -> Account {
        self.account
    }

    fn gauge(&self, now: Time) -> Gauge {
        let tokens = (!self.config.per_flow).then(|| self.aggregate.committed.level(now));
        Gauge { tokens_bytes: tokens, ..Gauge::default() }
    }
}
