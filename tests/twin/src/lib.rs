//! The simulator held against cells measured on the live kernel (`kernel-6.18.csv`): two hosts in
//! network namespaces, a user-space path between them, iperf3 for 10 s, the mean of two runs.
//!
//! The measured senders paced every connection, Reno and CUBIC too: the kernel's default congestion
//! control was BBR, whose `init` asks for pacing, and a control chosen afterwards keeps it.

use scenario::Experiment;
use units::{Bytes, Rate, Span};

/// The measured cells, one line each.
pub const CELLS: &str = include_str!("../kernel-6.18.csv");

/// One cell: a path, its flows, and what the kernel did.
#[derive(Clone, Debug)]
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
    /// The kernel's goodput, Mbit/s.
    pub goodput: f64,
    /// Larger of its two runs' goodputs / smaller.
    pub spread: f64,
    /// The kernel's retransmissions.
    pub retransmits: f64,
    /// The kernel's mean smoothed RTT, ms.
    pub rtt_ms: f64,
}

/// What the simulator makes of a cell, mean of its seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simulated {
    /// Mbit/s.
    pub goodput: f64,
    /// Retransmissions.
    pub retransmits: f64,
    /// Mean RTT over time, ms.
    pub rtt_ms: f64,
    /// Timeouts.
    pub timeouts: f64,
}

impl Cell {
    /// The cell of one line of [`CELLS`]; `None` for the heading or a broken line.
    pub fn parse(line: &str) -> Option<Cell> {
        let f: Vec<&str> = line.split(',').collect();
        let number = |i: usize| f.get(i)?.parse::<f64>().ok();
        Some(Cell {
            kind: f.first()?.to_string(),
            rate: Rate::from_bps(number(1)? as u64),
            burst: Bytes::new(number(2)? as u64),
            queue: number(3)? as u64,
            rtt: Span::from_secs_f64(number(4)? / 1e3),
            loss: number(5)?,
            cc: f.get(6)?.to_string(),
            flows: number(7)? as u32,
            goodput: number(8)?,
            spread: number(9)?,
            retransmits: number(10)?,
            rtt_ms: number(11)?,
        })
    }

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
        s + &format!(", {} × {}", self.flows, self.cc)
    }

    /// The cell as a scenario file.
    pub fn scenario(&self, sample: &str) -> String {
        let limiter = if self.kind == "police" {
            format!("{{ kind = \"policer\", rate = \"{}\", burst = \"{}\" }}", self.rate, self.burst)
        } else {
            format!(
                "{{ kind = \"shaper\", rate = \"{}\", burst = \"{}\", queue = {{ kind = \"fifo\", packets = {} }} }}",
                self.rate, self.burst, self.queue
            )
        };
        let loss = if self.loss > 0.0 {
            format!("{{ kind = \"loss\", model = \"bernoulli\", probability = {} }}, ", self.loss)
        } else {
            String::new()
        };
        let pace = std::env::var("PACE").unwrap_or("true".into());
        let half = self.rtt / 2;
        let jit = std::env::var("JIT")
            .map(|j| format!("{{ kind = \"jitter\", delay = \"{j}\", jitter = \"{j}\" }},"))
            .unwrap_or_default();
        format!(
            r#"name = "cell"
duration = "10s"
sample = "{sample}"
[hosts.a]
stack = {{ pacing = {pace} }}
[links.path]
between = ["a", "b"]
forward = [{jit}{loss}{limiter}, {{ kind = "delay", delay = "{half}" }}]
backward = [{{ kind = "delay", delay = "{half}" }}]
[flows.f]
from = "a"
to = "b"
cc = "{}"
count = {}
stagger = "{}"
"#,
            self.cc,
            self.flows,
            std::env::var("STAG").unwrap_or("0s".into())
        )
    }

    /// Simulates the cell with each of `seeds`.
    ///
    /// # Errors
    /// The scenario does not parse.
    pub fn simulate(&self, seeds: std::ops::Range<u64>) -> Result<Simulated, String> {
        let text = self.scenario("10ms");
        let experiment = Experiment::parse("cell.toml", &text, &[]).map_err(|e| format!("{e}\n{text}"))?;
        let n = seeds.clone().count() as f64;
        let mut mean = Simulated::default();
        for seed in seeds {
            let v = &experiment.variants[0];
            let out = sim::run(&v.name, &v.scenario, sim::Options { seed, ..sim::Options::default() });
            mean.goodput += out.variant.total_goodput_mbps / n;
            for f in &out.variant.flows {
                mean.retransmits += f.retransmitted_packets as f64 / n;
                mean.timeouts += f.timeouts as f64 / n;
            }
            let samples = out.flow_series.iter().flat_map(|s| &s.srtt_ms).filter(|r| !r.is_nan());
            let (sum, count) = samples.fold((0.0, 0.0), |(s, c), r| (s + r, c + 1.0));
            mean.rtt_ms += sum / count / n;
        }
        Ok(mean)
    }
}

/// All cells of the file.
pub fn cells() -> Vec<Cell> {
    CELLS.lines().filter_map(Cell::parse).collect()
}

/// The `q`-quantile of `values` (nearest rank).
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    v.get(((q * v.len() as f64).ceil() as usize).clamp(1, v.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}
