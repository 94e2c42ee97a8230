//! The radio link of a train that moves from cell to cell: handovers at cell borders, a rate that depends on
//! the distance to the mast, bit errors caused by the Doppler shift.
//!
//! ```text
//!      mast            mast            mast     `cell` apart, `track` away from the rails
//!       |               |               |
//! ══════╪═══════╪═══════╪═══════╪═══════╪══►   `speed`
//!            handover        handover           half way between two masts
//! ```
//! At each position the SNR follows from the distance, and the constellation (thus the rate) from the SNR as
//! if the train stood still. The Doppler shift causes a carrier offset, which reduces the SINR, and at that
//! SINR bits of the chosen constellation are in error. `radio.rs` has the formulas and their sources.
//!
//! | departure or assumption | reason |
//! |---|---|
//! | equal cells on a straight track, constant speed | the link is periodic; random events differ between cells |
//! | 128 positions per cell, constant in between | 6 m in a cell of 800 m |
//! | the share `residual` of the Doppler shift is not corrected; its change near the mast has no effect | receivers track the carrier; 0.5 is *fitted* to "bit errors rise above about 200 km/h" (HSR study of 2019): at that speed they have doubled, at 300 km/h they are six-fold. The residual is 292 Hz then, 0.14 ppm; a terminal may be off by 0.1 ppm (3GPP TS 36.101, 6.5.1) |
//! | offsets interfere according to Moose's bound, without Doppler spread | line of sight on viaducts |
//! | the constellation is chosen without regard to interference, and is continuous | feedback is older than the channel; powers of two would only add steps |
//! | coding is a gain in dB; hybrid ARQ retransmits a damaged packet at once, up to `repeats` times (3GPP TS 36.321, 5.4.2), with the same error probability; packets behind it wait | in LTE others pass in the 8 ms in between and the receiver reorders them; no combining |
//! | cells use different frequencies: no interference except in `edge_snr` | – |
//! | no fading | the 2019 study names shift and handovers as causes |
//! | the rate is at least a hundredth of `rate`, a cell takes at least 100 ms | no transmission takes for ever |
//! | handovers are exactly half way; a failed one does not affect the SNR afterwards | – |
//! | an attempt takes `attempt`; as many as fit into `overlap` are made, each fails with `attempt_failure` | faster trains have fewer attempts, so failures increase with speed |
//!
//! Defaults: 300 km/h, 2.1 GHz, cells of 800 m (the study: "a few hundred metres", crossed in
//! seconds; its emulation has a handover every 10 s, which is 833 m at 300 km/h), gaps of 100 ms
//! and 1 to 2 s (the study), 15 kHz between subcarriers and 64-QAM (LTE: 3GPP TS 36.211).

use crate::cells::{CellGate, Errors, Handovers, Which};
use crate::config::{Config, DisplayNames, StageLimit};
use crate::events::{RateStep, Schedule, Steps};
use crate::handover::{FAILURE_LASTS, fast_rate};
use crate::outage::Buffer;
use crate::problem::Problem;
use crate::queue::QueueConfig;
use crate::radio;
use crate::server::Server;
use crate::{Body, Element, SizeLimit, size_limit};
use serde::{Deserialize, Serialize};
use units::{Choices, Frequency, Label, Length, Rate, Span, Speed, Stream};

/// Positions per cell.
const POSITIONS: u64 = 128;

/// The radio link of a train: cells, handovers, Doppler shift.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Train {
    /// Bits per second near the mast, where the largest constellation works.
    pub rate: Rate,
    /// The train's speed. Default 300 km/h.
    pub speed: Speed,
    /// Distance between masts: the length of a cell along the track. Default 800 m.
    pub cell: Length,
    /// Distance between the masts and the track. Default 100 m.
    pub track: Length,
    /// Position of the train in its first cell at the start of the run. Default 0.
    pub start: Length,
    /// Carrier frequency. Default 2.1 GHz.
    pub carrier: Frequency,
    /// Subcarrier spacing. Default 15 kHz.
    pub subcarrier: Frequency,
    /// The share of the Doppler shift that the receiver does not correct, 0 to 1. Default 0.5.
    pub residual: f64,
    /// Signal-to-noise(-and-interference) ratio at the border of two cells, in dB. Default 12.
    pub edge_snr: f64,
    /// Path loss exponent. Default 3.
    pub path_loss: f64,
    /// Coding gain, in dB. Default 5.
    pub coding_gain: f64,
    /// The bit error rate for which the constellation is chosen. Default 1e-7 (0.12 % of packets of 1500
    /// bytes).
    pub bit_errors: f64,
    /// Maximum number of retransmissions of a damaged packet by the radio, up to 100. Default 3: LTE's
    /// hybrid ARQ makes four transmissions.
    pub repeats: u32,
    /// Bits per symbol of the largest constellation. Default 6 (64-QAM).
    pub bits: u32,
    /// Gap of a successful handover, in which nothing passes. Default 100 ms.
    pub lasts: Span,
    /// What happens to packets in that gap. Default `"kept"`: LTE forwards them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Length of the track on which both cells can be received. Default 200 m.
    pub overlap: Length,
    /// Duration of one handover attempt, including the measurement. Default 1 s.
    pub attempt: Span,
    /// The probability that one attempt fails. Default 0.3 (an assumption: with two attempts at 300 km/h 9 %
    /// of the handovers fail).
    pub attempt_failure: f64,
    /// Instead of attempts: the probability that a handover fails, independently of others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_probability: Option<f64>,
    /// Instead of attempts: how many of every `among` handovers fail; the seed determines which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<u64>,
    /// With `failures`: size of the group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub among: Option<u64>,
    /// Instead of attempts: the numbers of the handovers that fail; the first handover is 1.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<u64>,
    /// Gap of a failed handover: minimum and maximum of a uniform distribution. Default 1s to 2s.
    pub failure_lasts: [Span; 2],
    /// The `buffer` of failed handovers. Default `"left-behind"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_buffer: Option<Buffer>,
    /// Elements with the same text draw the same failures, for both directions of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fate: Option<String>,
    /// One-way propagation delay. Default 0.
    pub delay: Span,
    /// Largest IP packet in bytes. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether senders of larger packets get ICMP "fragmentation needed" (RFC 1191). Default true. False
    /// models a path MTU black hole, as behind `no ip unreachables` or a firewall that blocks ICMP (RFC 2923
    /// section 2.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icmp: Option<bool>,
    /// Queue before the transmitter. Default: FIFO of 1000 packets.
    pub queue: QueueConfig,
}

impl Default for Train {
    fn default() -> Self {
        Train {
            rate: Rate::default(),
            speed: Speed::from_kmh(300),
            cell: Length::from_m(800),
            track: Length::from_m(100),
            start: Length::default(),
            carrier: Frequency::from_hz(2_100_000_000),
            subcarrier: Frequency::from_hz(15_000),
            residual: 0.5,
            edge_snr: 12.0,
            path_loss: 3.0,
            coding_gain: 5.0,
            bit_errors: 1e-7,
            repeats: 3,
            bits: 6,
            lasts: Span::from_millis(100),
            buffer: None,
            overlap: Length::from_m(200),
            attempt: Span::from_secs(1),
            attempt_failure: 0.3,
            failure_probability: None,
            failures: None,
            among: None,
            failed: Vec::new(),
            failure_lasts: FAILURE_LASTS,
            failure_buffer: None,
            fate: None,
            delay: Span::ZERO,
            mtu: None,
            icmp: None,
            queue: QueueConfig::default(),
        }
    }
}

/// State of the radio at one position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioState {
    /// The Doppler shift in Hz; positive while the train approaches the mast.
    pub doppler_hz: f64,
    /// Bits per second.
    pub rate: Rate,
    pub bit_error_rate: f64,
}

impl Train {
    /// The radio at the position `along` metres past the mast (negative: before it).
    pub fn radio_at(&self, along: f64) -> RadioState {
        let doppler_hz = radio::doppler_hz(self.carrier, self.speed, along, self.track);
        let edge = radio::distance(self.cell.as_m() / 2.0, self.track);
        let nearer = edge / radio::distance(along, self.track);
        let snr = radio::from_db(self.edge_snr) * libm::pow(nearer, self.path_loss);
        let gain = radio::from_db(self.coding_gain);
        let m = radio::constellation(snr * gain, self.bit_errors, self.bits);
        let offset = self.residual * doppler_hz / self.subcarrier.as_hz() as f64;
        let sinr = radio::sinr(snr, offset);
        let share = libm::log2(m) / f64::from(self.bits);
        // The rate is at least a hundredth.
        let bps = (self.rate.as_bps() as f64 * share.max(1e-2)) as u64;
        let bit_error_rate = radio::bit_error_rate(sinr * gain, m);
        RadioState { doppler_hz, rate: Rate::from_bps(bps.max(1)), bit_error_rate }
    }

    /// Start of the first handover, and the time between handovers.
    pub fn crossings(&self) -> (Span, Span) {
        radio::crossings(self.speed, self.cell, self.start)
    }

    /// The probability that a handover fails, with as many attempts as the overlap has time for.
    pub fn failure_probability(&self) -> f64 {
        let attempts = self.speed.time_for(self.overlap).as_nanos() / self.attempt.as_nanos().max(1);
        libm::pow(self.attempt_failure, attempts.max(1) as f64)
    }

    /// The mean rate over a cell, including handovers: successful ones take `lasts`, failed ones the mean of
    /// `failure_lasts`. Retransmissions by the radio are not deducted. A run that ends within a cell may see
    /// a higher or lower mean.
    pub fn mean_rate(&self) -> Rate {
        let every = self.crossings().1.as_secs_f64();
        let fails = match self.which() {
            Ok(Which::Chance(p)) => p,
            Ok(Which::Some { failures, among }) => failures as f64 / among as f64,
            // A list of failures is finite.
            _ => 0.0,
        };
        let [least, most] = self.failure_lasts.map(Span::as_secs_f64);
        let gap = (1.0 - fails) * self.lasts.as_secs_f64() + fails * (least + most) / 2.0;
        let sum: u128 = self.positions().map(|state| u128::from(state.rate.as_bps())).sum();
        let open = if every > 0.0 { (1.0 - gap / every).max(0.0) } else { 0.0 };
        Rate::from_bps((sum as f64 / POSITIONS as f64 * open) as u64)
    }

    /// The positions of a cell, from the train's position at the start of the run.
    fn positions(&self) -> impl Iterator<Item = RadioState> {
        (0..POSITIONS).map(|i| {
            let from_border = self.start.as_m() / self.cell.as_m() + (i as f64 + 0.5) / POSITIONS as f64;
            self.radio_at((from_border % 1.0 - 0.5) * self.cell.as_m())
        })
    }

    fn which(&self) -> Result<Which, Problem> {
        match Which::read(&self.failed, (self.failures, self.among), self.failure_probability)? {
            Which::Never => Ok(Which::Chance(self.failure_probability())),
            which => Ok(which),
        }
    }

    fn check_radio(&self) -> Result<(), Problem> {
        let numbers = [
            ("residual", self.residual, 0.0..=1.0, "0 to 1"),
            ("edge_snr", self.edge_snr, -20.0..=60.0, "-20 to 60 dB"),
            ("path_loss", self.path_loss, 0.0..=8.0, "0 to 8"),
            ("coding_gain", self.coding_gain, -20.0..=20.0, "-20 to 20 dB"),
            ("bit_errors", self.bit_errors, 1e-15..=0.1, "1e-15 to 0.1"),
            ("repeats", f64::from(self.repeats), 0.0..=100.0, "0 to 100"),
            ("bits", f64::from(self.bits), 1.0..=12.0, "1 to 12"),
            ("attempt_failure", self.attempt_failure, 0.0..=1.0, "0 to 1"),
        ];
        for (key, value, range, allowed) in numbers {
            if !range.contains(&value) {
                return Err(Problem::new(key, format!("{value}: must be {allowed}")));
            }
        }
        Ok(())
    }

    fn gate(&self, seed: u64, name: &str) -> CellGate {
        let (first, every) = self.crossings();
        let at = |i: u64| Span::from_nanos((every.as_nanos() as u128 * i as u128 / POSITIONS as u128) as u64);
        let states: Vec<RadioState> = self.positions().collect();
        let steps = (0..).zip(&states).map(|(i, state)| RateStep { at: at(i), rate: state.rate }).collect();
        let fate = self.fate.as_ref().map_or_else(|| name.to_string(), |fate| format!("fate {fate}"));
        CellGate {
            steps: Steps::new(steps, Some(every)),
            gaps_in_steps: false,
            handovers: Handovers {
                schedule: Schedule { at: Vec::new(), first, every: Some(every), lasts: self.lasts },
                works: self.buffer.unwrap_or(Buffer::Kept),
                fails: (self.failure_lasts, self.failure_buffer.unwrap_or(Buffer::LeftBehind)),
                which: self.which().unwrap_or(Which::Never),
                drawn: (seed, fate),
            },
            extra: (Span::ZERO, Span::ZERO),
            errors: Some(Errors {
                ber: states.iter().map(|state| state.bit_error_rate).collect(),
                period: every,
                repeats: self.repeats,
                stream: Stream::new(seed, name),
            }),
        }
    }
}

impl Config for Train {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("train", "列车无线 train"),
        one: Label::new("a train's radio link", "列车无线链路"),
        dropper: Label::new("the train's radio link", "列车的无线链路"),
    };

    fn check(&self) -> Result<(), Problem> {
        if self.rate.as_bps() == 0 {
            return Err(Problem::new("rate", "required: the rate near the mast (for example \"20Mbit/s\")"));
        }
        if self.speed == Speed::default() {
            return Err(Problem::new("speed", "must be above zero (for example \"300km/h\")"));
        }
        for (key, zero) in [
            ("cell", self.cell.is_zero()),
            // With the mast on the rails the distance would be zero.
            ("track", self.track.is_zero()),
            ("subcarrier", self.subcarrier.as_hz() == 0),
            ("attempt", self.attempt.is_zero()),
        ] {
            if zero {
                return Err(Problem::new(key, "must be above zero"));
            }
        }
        if self.start >= self.cell {
            return Err(Problem::new("start", "must be shorter than the cell"));
        }
        self.check_radio()?;
        self.which()?;
        let [least, most] = self.failure_lasts;
        if least > most {
            return Err(Problem::new("failure_lasts", "the minimum must not exceed the maximum"));
        }
        let (every, longest) = (self.crossings().1, self.lasts.max(most));
        if every < Span::from_millis(100) {
            return Err(Problem::new("cell", format!("is crossed in {every}; the minimum is 100ms")));
        }
        if every <= longest {
            let message = format!("is crossed in {every}, but a handover takes up to {longest}");
            return Err(Problem::new("cell", message));
        }
        size_limit::check(self.mtu, self.icmp)?;
        self.queue.check().map_err(|p| p.within("queue"))
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let queue = self.queue.build(seed, name);
        Box::new(Server::new(queue, self.gate(seed, name), self.delay, SizeLimit::new(self.mtu, self.icmp)))
    }

    fn limit(&self) -> StageLimit {
        StageLimit::Shared(self.mean_rate())
    }

    fn draw(choices: &mut Choices) -> Train {
        let mtu = choices.maybe(|c| 1000 + c.below(1000) as u32);
        Train {
            rate: fast_rate(choices),
            speed: Speed::from_kmh(300 + choices.below(200)),
            cell: Length::from_mm(14_000 + choices.below(30_000)),
            start: Length::from_mm(choices.below(14_000)),
            residual: choices.probability(),
            edge_snr: choices.one(&[12.0, 0.0, 25.0]),
            bit_errors: choices.one(&[1e-7, 1e-5]),
            repeats: choices.below(3) as u32,
            lasts: Span::from_millis(choices.below(50)),
            buffer: choices.maybe(Buffer::draw),
            attempt: Span::from_millis(1 + choices.below(20)),
            attempt_failure: choices.probability(),
            overlap: Length::from_m(choices.below(5)),
            failure_lasts: [Span::ZERO, Span::from_millis(choices.below(99))],
            failure_buffer: choices.maybe(Buffer::draw),
            delay: choices.span(),
            mtu,
            icmp: mtu.and_then(|_| choices.maybe(Choices::coin)),
            queue: QueueConfig::draw(choices),
            ..Train::default()
        }
    }
}
