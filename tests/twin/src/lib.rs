//! The simulator held against cells measured on the live kernel, Linux 6.18: two hosts in network
//! namespaces, a user-space path between them, iperf3 for 10 s.
//!
//! `kernel-6.18.csv` is the mean of two runs through an emulator that works in wall-clock time: a
//! wake-up that comes late loses the tokens above the bucket's brim, so its shapers are 1 to 16 %
//! slower than their rate. `kernel-6.18-exact.csv` is one run of the same cells, and some more,
//! through an emulator that works in exact virtual time, as this simulator does.
//!
//! The senders of the first file, and of the second where it says `paced`, paced every connection,
//! Reno and CUBIC too: the kernel's default congestion control was BBR, whose `init` turns pacing on,
//! and a control chosen afterwards keeps it.

use scenario::Experiment;
use units::{Bytes, Rate, Span};

/// The cells of the wall-clock emulator.
pub const CELLS: &str = include_str!("../kernel-6.18.csv");
/// The cells of the exact emulator.
pub const EXACT: &str = include_str!("../kernel-6.18-exact.csv");

/// A path and its flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// `police` or `shape`.
    pub kind: String,
    /// Rate of the limiter.
    pub rate: Rate,
    /// Its bucket.
    pub burst: Bytes,
    /// Packets its queue holds; 0 for a policer.
    pub queue: u64,
    /// Base round-trip time.
    pub rtt: Span,
    /// Random loss in front of it.
    pub loss: f64,
    /// Congestion control.
    pub cc: String,
    /// Parallel flows.
    pub flows: u32,
    /// Every connection paced, whatever its congestion control.
    pub paced: bool,
}

/// What came out of a cell, on the kernel or simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Mbit/s.
    pub goodput: f64,
    /// Larger of the runs' goodputs / smaller; 1 for a single run.
    pub spread: f64,
    /// Retransmissions.
    pub retransmits: f64,
    /// Mean smoothed RTT over time, ms.
    pub rtt_ms: f64,
}

/// One line of a file: the cell and what the kernel did. `None` for the heading.
pub fn parse(line: &str, exact: bool) -> Option<(Cell, Outcome)> {
    let f: Vec<&str> = line.split(',').collect();
    let number = |i: usize| f.get(i)?.parse::<f64>().ok();
    let cell = Cell {
        kind: f.first()?.to_string(),
        rate: Rate::from_bps(number(1)? as u64),
        burst: Bytes::new(number(2)? as u64),
        queue: number(3)? as u64,
        rtt: Span::from_secs_f64(number(4)? / 1e3),
        loss: number(5)?,
        cc: f.get(6)?.to_string(),
        flows: number(7)? as u32,
        paced: !exact || *f.get(8)? == "true",
    };
    let (goodput, spread, rest) = if exact { (9, None, 10) } else { (8, number(9), 10) };
    let outcome = Outcome {
        goodput: number(goodput)?,
        spread: spread.unwrap_or(1.0),
        retransmits: number(rest)?,
        rtt_ms: number(rest + 1)?,
    };
    Some((cell, outcome))
}

/// The cells of one file.
pub fn cells(exact: bool) -> Vec<(Cell, Outcome)> {
    let text = if exact { EXACT } else { CELLS };
    text.lines().filter_map(|line| parse(line, exact)).collect()
}

impl Cell {
    /// A line that names the cell.
    pub fn name(&self) -> String {
        let mut s = format!("{} {} burst {}", self.kind, self.rate, self.burst);
        if self.queue > 0 {
            s += &format!(" queue {}", self.queue);
        }
        s += &format!(", {} RTT", self.rtt);
        if self.loss > 0.0 {
            s += &format!(", {} % loss", self.loss * 100.0);
        }
        s += &format!(", {} × {}", self.flows, self.cc);
        if self.paced || self.cc == "bbr" { s } else { s + " not paced" }
    }

    /// The cell as a scenario file.
    pub fn scenario(&self) -> String {
        let Cell { rate, burst, queue, loss, cc, flows, paced, .. } = self;
        let limiter = if self.kind == "police" {
            format!("{{ kind = \"policer\", rate = \"{rate}\", burst = \"{burst}\" }}")
        } else {
            format!(
                "{{ kind = \"shaper\", rate = \"{rate}\", burst = \"{burst}\", \
                 queue = {{ kind = \"fifo\", packets = {queue} }} }}"
            )
        };
        let half = self.rtt / 2;
        format!(
            r#"name = "cell"
duration = "10s"
[hosts.a]
stack = {{ pacing = {paced} }}
[links.path]
between = ["a", "b"]
forward = [{{ kind = "loss", probability = {loss:?} }}, {limiter}, {{ kind = "delay", delay = "{half}" }}]
backward = [{{ kind = "delay", delay = "{half}" }}]
[flows.f]
from = "a"
to = "b"
cc = "{cc}"
count = {flows}
"#
        )
    }

    /// Simulates the cell: the mean of 20 seeds where it has random loss, else of one.
    ///
    /// # Errors
    /// The scenario does not parse.
    pub fn simulate(&self) -> Result<Outcome, String> {
        let text = self.scenario();
        let experiment = Experiment::parse("cell.toml", &text, &[]).map_err(|e| format!("{e}\n{text}"))?;
        let seeds = if self.loss > 0.0 { 20 } else { 1 };
        let n = seeds as f64;
        let mut mean = Outcome::default();
        let (mut low, mut high) = (f64::INFINITY, 0f64);
        for seed in 1..=seeds {
            let v = &experiment.variants[0];
            let out = sim::run(&v.name, &v.scenario, sim::Options { seed, ..sim::Options::default() });
            let goodput = out.variant.total_goodput_mbps;
            (low, high) = (low.min(goodput), high.max(goodput));
            mean.goodput += goodput / n;
            mean.retransmits +=
                out.variant.flows.iter().map(|f| f.retransmitted_packets as f64).sum::<f64>() / n;
            let samples = out.flow_series.iter().flat_map(|s| &s.srtt_ms).filter(|r| !r.is_nan());
            let (sum, count) = samples.fold((0.0, 0.0), |(s, c), r| (s + r, c + 1.0));
            mean.rtt_ms += sum / count / n;
        }
        mean.spread = high / low;
        Ok(mean)
    }
}

/// How far `simulated` is off, as a share: +0.1 is 10 % too fast.
pub fn error(simulated: &Outcome, measured: &Outcome) -> f64 {
    simulated.goodput / measured.goodput - 1.0
}

/// The `q`-quantile of `values` (nearest rank).
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    v.get(((q * v.len() as f64).ceil() as usize).clamp(1, v.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// The share of `values` that are at most `most`.
pub fn share_within(values: &[f64], most: f64) -> f64 {
    values.iter().filter(|&&v| v <= most).count() as f64 / values.len() as f64
}
