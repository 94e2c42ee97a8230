//! Loss: packets are dropped at random or by a script; the others pass at once.
//!
//! | model | source | a packet is lost |
//! |---|---|---|
//! | `bernoulli` | – | with `probability`, independently |
//! | `gilbert-elliott` | Gilbert 1960, Elliott 1963; netem `gemodel` | with `loss_good` or `loss_bad`, depending on the state; then the state changes with probability `p` (good to bad) or `r` (bad to good) |
//! | `every` | – | if its number is a multiple of `every` |
//! | `list` | – | if its number (the first is 1) is in `packets` |
//!
//! In the Gilbert-Elliott model the long-run share of the bad state is p / (p + r); it lasts 1 / r packets on
//! average.

use crate::config::{Config, DisplayNames, misplaced, probability};
use crate::problem::Problem;
use crate::{Account, Body, DropCause, Element, Outbox, Packet};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Stream, Time};

/// Model of packet loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LossModel {
    /// Each packet with the same probability.
    #[default]
    Bernoulli,
    /// Two states, good and bad: bursty loss.
    GilbertElliott,
    /// Every n-th packet.
    Every,
    /// Listed packets.
    List,
}

/// Packet loss, at random or by a script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Loss {
    /// `bernoulli` (default), `gilbert-elliott`, `every` or `list`.
    pub model: LossModel,
    /// `bernoulli`: the probability of loss, 0 to 1 (0.01 is 1 %).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// `gilbert-elliott`: the probability of a change from good to bad after a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// `gilbert-elliott`: the probability of a change from bad to good after a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r: Option<f64>,
    /// `gilbert-elliott`: the probability of loss in the bad state (netem: 1-h). Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_bad: Option<f64>,
    /// `gilbert-elliott`: the probability of loss in the good state (netem: 1-k). Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_good: Option<f64>,
    /// `every`: n; packets n, 2n, 3n … are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u64>,
    /// `list`: the numbers of the lost packets in order of arrival; the first packet is 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<u64>,
}

impl Config for Loss {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("loss", "丢包 loss"),
        one: Label::new("random loss", "随机丢包"),
        dropper: Label::new("random loss", "随机丢包"),
    };

    fn check(&self) -> Result<(), Problem> {
        let not = |model: LossModel| self.model != model;
        let (bernoulli, gilbert) = (not(LossModel::Bernoulli), not(LossModel::GilbertElliott));
        misplaced("probability", self.probability.is_some() && bernoulli, "model = \"bernoulli\"")?;
        for (key, value) in [
            ("p", self.p),
            ("r", self.r),
            ("loss_bad", self.loss_bad),
            ("loss_good", self.loss_good),
            ("probability", self.probability),
        ] {
            let foreign = key != "probability" && gilbert;
            misplaced(key, value.is_some() && foreign, "model = \"gilbert-elliott\"")?;
            probability(key, value.unwrap_or(0.0))?;
        }
        misplaced("every", self.every.is_some() && not(LossModel::Every), "model = \"every\"")?;
        misplaced("packets", !self.packets.is_empty() && not(LossModel::List), "model = \"list\"")?;
        let wanted = match self.model {
            LossModel::Bernoulli => self.probability.is_none().then_some("probability"),
            LossModel::GilbertElliott if self.p.is_none() => Some("p"),
            LossModel::GilbertElliott => self.r.is_none().then_some("r"),
            LossModel::Every => self.every.is_none_or(|n| n == 0).then_some("every"),
            LossModel::List => (self.packets.is_empty() || self.packets.contains(&0)).then_some("packets"),
        };
        match wanted {
            Some("every") => Err(Problem::new("every", "required by this model, at least 1")),
            Some("packets") => Err(Problem::new("packets", "required by this model: packet numbers, from 1")),
            Some(key) => Err(Problem::new(key, "required by this model: a number from 0 to 1")),
            None => Ok(()),
        }
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let mut packets = self.packets.clone();
        packets.sort_unstable();
        packets.dedup();
        let chooser = match self.model {
            LossModel::Bernoulli => Chooser::Bernoulli(self.probability.unwrap_or(0.0)),
            LossModel::GilbertElliott => Chooser::GilbertElliott {
                change: [self.p.unwrap_or(0.0), self.r.unwrap_or(0.0)],
                loss: [self.loss_good.unwrap_or(0.0), self.loss_bad.unwrap_or(1.0)],
                bad: false,
            },
            LossModel::Every => Chooser::Every(self.every.unwrap_or(1).max(1)),
            LossModel::List => Chooser::List { packets, next: 0 },
        };
        Box::new(LossElement { chooser, stream: Stream::new(seed, name), account: Account::default() })
    }

    fn draw(choices: &mut Choices) -> Loss {
        match choices.below(4) {
            0 => Loss { probability: Some(choices.probability()), ..Loss::default() },
            1 => Loss {
                model: LossModel::GilbertElliott,
                p: Some(choices.probability()),
                r: Some(choices.probability()),
                loss_bad: choices.maybe(Choices::probability),
                ..Loss::default()
            },
            2 => Loss { model: LossModel::Every, every: Some(1 + choices.below(9)), ..Loss::default() },
            _ => {
                let packets = (0..=choices.below(5)).map(|_| 1 + choices.below(99)).collect();
                Loss { model: LossModel::List, packets, ..Loss::default() }
            }
        }
    }
}

enum Chooser {
    Bernoulli(f64),
    GilbertElliott { change: [f64; 2], loss: [f64; 2], bad: bool },
    Every(u64),
    List { packets: Vec<u64>, next: usize },
}

impl Chooser {
    /// Whether packet `number` (from 1) is lost.
    fn loses(&mut self, number: u64, stream: &mut Stream) -> bool {
        match self {
            Chooser::Bernoulli(p) => stream.chance(*p),
            Chooser::GilbertElliott { change, loss, bad } => {
                let state = *bad as usize;
                let lost = stream.chance(loss[state]);
                *bad ^= stream.chance(change[state]);
                lost
            }
            Chooser::Every(n) => number.is_multiple_of(*n),
            Chooser::List { packets, next } => {
                let lost = packets.get(*next) == Some(&number);
                *next += lost as usize;
                lost
            }
        }
    }
}

struct LossElement {
    chooser: Chooser,
    stream: Stream,
    account: Account,
}

impl<B: Send> Element<B> for LossElement {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        self.account.enter();
        if self.chooser.loses(self.account.packets_in, &mut self.stream) {
            return self.account.lose(out, now, packet, DropCause::Loss);
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
}
