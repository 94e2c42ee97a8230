//! Two flows on one bottleneck: their shares, and the queueing delay.
//!
//! 20 Mbit/s, 40 ms, 60 s. The second flow starts 2 s after the first, in each later run a tenth of a second
//! later. The queue is a FIFO of 0.5, 1 or 4 BDP, or FQ-CoDel.

use scenario::Experiment;
use units::{Rate, Span};

const RATE: Rate = Rate::from_bps(20_000_000);
const RTT: Span = Span::from_millis(40);
const SECONDS: u64 = 60;
/// Transmission time of a full packet at the bottleneck, ms.
const PACKET_MS: f64 = 1500.0 * 8.0 / 20_000_000.0 * 1e3;

/// The queues, by name and size in BDPs; `None` for FQ-CoDel.
pub const QUEUES: [(&str, Option<f64>); 4] =
    [("0.5 BDP", Some(0.5)), ("1 BDP", Some(1.0)), ("4 BDP", Some(4.0)), ("FQ-CoDel", None)];

/// Two congestion controls and the queue they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Congestion control of the first flow.
    pub a: &'static str,
    /// Congestion control of the second flow.
    pub b: &'static str,
    /// Index into [`QUEUES`].
    pub queue: usize,
}

/// Result of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    /// Goodput of the first flow over its own time, Mbit/s.
    pub a: f64,
    /// Goodput of the second flow over its own time, Mbit/s.
    pub b: f64,
    /// Mean waiting time of a packet at the bottleneck, ms.
    pub wait_ms: f64,
}

impl Share {
    /// Jain's fairness index.
    pub fn jain(&self) -> f64 {
        result::jain(&[self.a, self.b])
    }

    fn of(run: &result::Outcome) -> Share {
        let flows = &run.variant.flows;
        let bottleneck = run.variant.elements.iter().find(|e| e.kind == "link");
        Share {
            a: flows[0].own_goodput_mbps(),
            b: flows[1].own_goodput_mbps(),
            wait_ms: bottleneck.map_or(f64::NAN, |e| e.delay_ms.mean - PACKET_MS),
        }
    }

    /// Mean of several results.
    pub fn mean(of: &[Share]) -> Share {
        let mean = |get: fn(&Share) -> f64| of.iter().map(get).sum::<f64>() / of.len() as f64;
        Share { a: mean(|s| s.a), b: mean(|s| s.b), wait_ms: mean(|s| s.wait_ms) }
    }
}

/// Every pair of `names` with every queue.
pub fn pairs(names: &[&'static str]) -> Vec<Pair> {
    let mut all = Vec::new();
    for (i, &a) in names.iter().enumerate() {
        for &b in &names[i..] {
            all.extend((0..QUEUES.len()).map(|queue| Pair { a, b, queue }));
        }
    }
    all
}

impl Pair {
    fn scenario(&self, run: u64) -> String {
        let Pair { a, b, queue } = self;
        let bdp = RATE.bytes_in(RTT).get() as f64 / 1500.0;
        let queue = match QUEUES[*queue].1 {
            Some(bdps) => format!("{{ kind = \"fifo\", packets = {} }}", (bdp * bdps).round()),
            None => "{ kind = \"fq-codel\" }".into(),
        };
        let (half, start) = (RTT / 2, Span::from_millis(1900 + 100 * run));
        format!(
            r#"name = "pair"
duration = "{SECONDS}s"
sample = "0s"
[links.path]
between = ["here", "there"]
forward = [{{ kind = "link", rate = "{RATE}", queue = {queue} }}, {{ kind = "delay", delay = "{half}" }}]
backward = [{{ kind = "delay", delay = "{half}" }}]
[flows.a]
from = "here"
to = "there"
cc = "{a}"
[flows.b]
from = "here"
to = "there"
cc = "{b}"
start = "{start}"
"#
        )
    }

    fn checked(&self, run: u64) -> Result<scenario::Scenario, String> {
        let text = self.scenario(run);
        let experiment = Experiment::parse("pair.toml", &text, &[]).map_err(|e| format!("{e}\n{text}"))?;
        experiment.variants.into_iter().next().map(|v| v.scenario).ok_or_else(|| "no variant".into())
    }

    /// Simulates run `run`, from 1.
    ///
    /// # Errors
    /// Fails if the scenario does not parse.
    pub fn simulate(&self, run: u64) -> Result<Share, String> {
        let options = sim::SimOptions { seed: run, ..Default::default() };
        Ok(Share::of(&sim::run("sim", &self.checked(run)?, options)))
    }

    /// Measures run `run` on this machine's kernel.
    ///
    /// # Errors
    /// Fails if the lab cannot run it.
    pub fn measure(&self, run: u64) -> Result<Share, String> {
        let options = lab::LabOptions { seed: run, ..Default::default() };
        let measured = lab::run("kernel", &self.checked(run)?, options).map_err(|e| e.to_string())?;
        Ok(Share::of(&measured))
    }

    /// The pair as the first fields of a line.
    pub fn line(&self) -> String {
        format!("{},{},{}", self.a, self.b, QUEUES[self.queue].0)
    }
}

const RECORDED: &str = include_str!("../pairs-6.18.csv");

/// The result recorded on Linux 6.18 in the lab: the mean of its runs.
pub fn recorded(pair: &Pair) -> Option<Share> {
    let key = pair.line() + ",";
    let row = |line: &str| {
        let number: Vec<f64> = line.strip_prefix(&key)?.split(',').filter_map(|n| n.parse().ok()).collect();
        Some(Share { a: *number.get(1)?, b: *number.get(2)?, wait_ms: *number.get(4)? })
    };
    let runs: Vec<Share> = RECORDED.lines().filter_map(row).collect();
    (!runs.is_empty()).then(|| Share::mean(&runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_once_with_every_queue() {
        let all = pairs(&["reno", "cubic", "bbr"]);
        assert_eq!(all.len(), 6 * 4);
        assert!(all.iter().enumerate().all(|(i, p)| !all[..i].contains(p)));
    }

    #[test]
    fn flows_of_the_same_control_share_equally_behind_fair_queues() {
        let share = Pair { a: "reno", b: "reno", queue: 3 }.simulate(1).expect("parses");
        assert!(share.jain() > 0.99 && share.a + share.b > 18.0, "{share:?}");
    }
}
