//! Measures how much repeats of a run differ: on the kernel, and in the simulator with host jitter.

use crate::outcome::with_host_jitter;
use crate::{COLUMNS, Cell};
use scenario::{Experiment, Scenario};
use units::{Bytes, Rate, Span, Stream};

/// Number of random cells.
pub const CELLS: usize = 20;
/// Seed of the random cells.
const SEED: u64 = 20_261_124;
/// Duration of each run, seconds.
const SECONDS: u32 = 4;
/// Number of repeats in the simulator.
pub const SIMULATED_REPEATS: u64 = 40;
/// Deviations below this share of the goodput come from the last packets before the end. They count as no
/// deviation, on either clock.
pub const NEGLIGIBLE: f64 = 0.002;
/// A run counts if the engine delivered 99 % of the packets within this, ms. Beyond it, other work on the
/// machine added jitter to the path.
pub const PUNCTUAL_MS: f64 = 2.0;

/// Columns of the recorded file.
pub fn heading() -> String {
    format!("{COLUMNS},run,goodput_mbps,late_p99_ms")
}

/// Policers, shapers and links of 2 to 50 Mbit/s, 5 to 100 ms, with one to three flows.
pub fn cells() -> Vec<Cell> {
    let mut draws = Stream::new(SEED, "twin.repeats");
    (0..CELLS).map(|_| draw(&mut draws)).collect()
}

/// Draws a number between the two, uniformly on a logarithmic scale, rounded to two digits.
pub(crate) fn between(draws: &mut Stream, low: f64, high: f64) -> f64 {
    let value = low * libm::pow(high / low, draws.unit());
    let digit = libm::pow(10.0, libm::floor(libm::log10(value)) - 1.0);
    (value / digit).round() * digit
}

fn draw(draws: &mut Stream) -> Cell {
    let path = ["police", "shape", "clean"][draws.below(3) as usize];
    let rate = Rate::from_bps((between(draws, 2.0, 50.0) * 1e6).round() as u64);
    let rtt = Span::from_micros((between(draws, 5.0, 100.0) * 1e3).round() as u64);
    let bdp = (rate.bytes_in(rtt).get() / 1500).max(4) as f64;
    let bdps = between(draws, 0.3, 3.0);
    let packets = ((bdp * bdps).round() as u64).max(10);
    let (burst, queue) = match path {
        "police" => ((bdp * bdps * 1500.0).round().max(6000.0) as u64, 0),
        "shape" => (15_000, packets),
        _ => (0, packets),
    };
    Cell {
        path: path.into(),
        rate,
        burst: Bytes::new(burst),
        queue,
        rtt,
        loss: 0.0,
        cc: ["cubic", "bbr", "reno"][draws.below(3) as usize].into(),
        flows: 1 + draws.below(3) as u32,
        paced: false,
        seconds: SECONDS,
    }
}

/// The cell as a scenario whose flows begin at the same moment.
fn scenario(cell: &Cell) -> Result<Scenario, String> {
    let text = cell.scenario_with(Span::ZERO);
    let experiment = Experiment::parse("cell.toml", &text, &[]).map_err(|e| e.to_string())?;
    experiment.variants.into_iter().next().map(|v| v.scenario).ok_or_else(|| "no variant".into())
}

/// Measures repeat `run` on this machine's kernel. Returns the total goodput, Mbit/s, and the 99th percentile
/// of the engine's lateness, ms.
///
/// # Errors
/// Fails if the lab cannot run it.
pub fn measure(cell: &Cell, run: u64) -> Result<(f64, f64), String> {
    let options = lab::LabOptions { seed: run, ..Default::default() };
    let variant = lab::run("kernel", &scenario(cell)?, options).map_err(|e| e.to_string())?.variant;
    let trust = variant.trust.ok_or("the lab does not report its lateness")?;
    Ok((variant.total_goodput_mbps, trust.lateness_ms.p99))
}

/// Simulates `runs` repeats. Returns their total goodputs, Mbit/s.
///
/// # Errors
/// Fails if the scenario does not parse.
pub fn simulate(cell: &Cell, runs: u64) -> Result<Vec<f64>, String> {
    let scenario = scenario(cell)?;
    Ok(with_host_jitter(&scenario, runs).map(|run| run.variant.total_goodput_mbps).collect())
}

/// Mean and standard deviation of several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub runs: usize,
    pub mean: f64,
    /// Standard deviation of a sample (divided by n - 1).
    pub deviation: f64,
}

impl Spread {
    /// Computes the spread of these values.
    pub fn of(values: &[f64]) -> Spread {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt();
        Spread { runs: values.len(), mean, deviation }
    }

    /// The deviation divided by the mean.
    pub fn share(&self) -> f64 {
        self.deviation / self.mean
    }
}

/// A cell's spread on the kernel and in the simulator.
#[derive(Clone, Debug)]
pub struct SpreadPair {
    pub cell: Cell,
    pub kernel: Spread,
    pub sim: Spread,
}

impl SpreadPair {
    /// The simulator's relative deviation divided by the kernel's.
    pub fn ratio(&self) -> f64 {
        self.sim.share() / self.kernel.share()
    }

    /// Returns whether both deviations are negligible.
    pub fn is_still(&self) -> bool {
        self.sim.share() < NEGLIGIBLE && self.kernel.share() < NEGLIGIBLE
    }

    /// Returns whether the ratio is between half and double, or both deviations are negligible.
    pub fn is_near(&self) -> bool {
        self.is_still() || (0.5..=2.0).contains(&self.ratio())
    }
}

/// Runs measured on Linux 6.18 in the lab.
pub const RECORDED: &str = include_str!("../repeats-6.18.csv");

/// Compares measured runs, in lines as in [`RECORDED`], with the current simulator.
///
/// # Errors
/// Fails if a scenario does not parse.
pub fn compare(measured: &str) -> Result<Vec<SpreadPair>, String> {
    let goodput = |cell: &Cell, line: &str| {
        let rest = line.strip_prefix(&(cell.line() + ","))?;
        let numbers: Vec<f64> = rest.split(',').filter_map(|n| n.parse().ok()).collect();
        numbers.get(2).filter(|late| **late <= PUNCTUAL_MS).map(|_| numbers[1])
    };
    let mut all = Vec::new();
    for cell in cells() {
        let measured: Vec<f64> = measured.lines().filter_map(|line| goodput(&cell, line)).collect();
        if measured.len() > 1 {
            let simulated = simulate(&cell, SIMULATED_REPEATS)?;
            all.push(SpreadPair { kernel: Spread::of(&measured), sim: Spread::of(&simulated), cell });
        }
    }
    Ok(all)
}

/// How often, with equal normal distributions, the deviations of `a` and of `b` draws are within a factor of
/// two of each other. (The ratio of their squares is F-distributed with a - 1 and b - 1 degrees of freedom.)
pub fn by_chance(a: usize, b: usize) -> f64 {
    const TRIES: usize = 20_000;
    let mut draws = Stream::new(1, "twin.repeats.chance");
    let mut deviation = |n| Spread::of(&(0..n).map(|_| draws.normal()).collect::<Vec<f64>>()).deviation;
    let near = (0..TRIES).filter(|_| (0.5..=2.0).contains(&(deviation(a) / deviation(b)))).count();
    near as f64 / TRIES as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_valid_scenarios_of_every_kind() {
        let cells = cells();
        for path in ["police", "shape", "clean"] {
            assert!(cells.iter().filter(|c| c.path == path).count() >= 3, "{path}");
        }
        for cc in ["cubic", "bbr", "reno"] {
            assert!(cells.iter().filter(|c| c.cc == cc).count() >= 3, "{cc}");
        }
        cells.iter().for_each(|c| assert!(scenario(c).is_ok(), "{}", c.line()));
    }

    #[test]
    fn chance_agrees_with_the_f_distribution() {
        // R: pf(4, 4, 4) - pf(0.25, 4, 4) = 0.896 - 0.104; pf(4, 4, 39) - pf(0.25, 4, 39) = 0.9919 - 0.0921.
        assert!((by_chance(5, 5) - 0.792).abs() < 0.01, "{}", by_chance(5, 5));
        assert!((by_chance(5, 40) - 0.8998).abs() < 0.01, "{}", by_chance(5, 40));
    }
}
