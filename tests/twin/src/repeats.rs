//! How much repeats of a run differ: on the kernel, and in the simulator with restless hosts.

use crate::outcome::restless;
use crate::{COLUMNS, Cell};
use scenario::{Experiment, Scenario};
use units::{Bytes, Rate, Span, Stream};

/// How many cells are drawn.
pub const CELLS: usize = 20;
/// What they are drawn from.
const SEED: u64 = 20_261_124;
/// How long each runs, seconds.
const SECONDS: u32 = 4;
/// Repeats in the simulator.
pub const SIMULATED: u64 = 40;
/// Deviations of less than this share of the goodput are those of the last packets before the end: who has no more has
/// none, on either clock.
pub const NONE: f64 = 0.002;
/// A run counts in which the engine handed 99 % of the packets over within this, ms: beyond, other work on the machine
/// was the path's jitter.
pub const PUNCTUAL_MS: f64 = 2.0;

/// The columns of the recorded file.
pub fn heading() -> String {
    format!("{COLUMNS},run,goodput_mbps,late_p99_ms")
}

/// Policers, shapers and links of 2 to 50 Mbit/s, 5 to 100 ms, with one to three flows.
pub fn cells() -> Vec<Cell> {
    let mut draws = Stream::new(SEED, "twin.repeats");
    (0..CELLS).map(|_| draw(&mut draws)).collect()
}

/// A number between the two, each factor as likely as another, to two digits.
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

/// The cell; its flows are to begin at the same moment.
fn scenario(cell: &Cell) -> Result<Scenario, String> {
    let text = cell.scenario_with(Span::ZERO);
    let experiment = Experiment::parse("cell.toml", &text, &[]).map_err(|e| e.to_string())?;
    experiment.variants.into_iter().next().map(|v| v.scenario).ok_or_else(|| "no variant".into())
}

/// The total goodput of repeat `run` on this machine's kernel, Mbit/s, and how late the engine was (99th percentile), ms.
///
/// # Errors
/// The lab says why it cannot.
pub fn measure(cell: &Cell, run: u64) -> Result<(f64, f64), String> {
    let options = lab::LabOptions { seed: run, ..Default::default() };
    let variant = lab::run("kernel", &scenario(cell)?, options).map_err(|e| e.to_string())?.variant;
    let trust = variant.trust.ok_or("the lab does not say how late it was")?;
    Ok((variant.total_goodput_mbps, trust.lateness_ms.p99))
}

/// The total goodput of so many repeats in the simulator, Mbit/s.
///
/// # Errors
/// The scenario does not parse.
pub fn simulate(cell: &Cell, runs: u64) -> Result<Vec<f64>, String> {
    let scenario = scenario(cell)?;
    Ok(restless(&scenario, runs).map(|run| run.variant.total_goodput_mbps).collect())
}

/// Mean and standard deviation of what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Of so many.
    pub runs: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation (of a sample: n - 1).
    pub deviation: f64,
}

impl Spread {
    /// Of these.
    pub fn of(values: &[f64]) -> Spread {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        let deviation = (squares / (values.len() as f64 - 1.0).max(1.0)).sqrt();
        Spread { runs: values.len(), mean, deviation }
    }

    /// The deviation as a share of the mean.
    pub fn share(&self) -> f64 {
        self.deviation / self.mean
    }
}

/// A cell's spread in both.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Which.
    pub cell: Cell,
    /// On the kernel.
    pub kernel: Spread,
    /// In the simulator.
    pub sim: Spread,
}

impl Beside {
    /// The simulator's deviation / the kernel's, each a share of its mean.
    pub fn ratio(&self) -> f64 {
        self.sim.share() / self.kernel.share()
    }

    /// Neither has any to speak of.
    pub fn is_still(&self) -> bool {
        self.sim.share() < NONE && self.kernel.share() < NONE
    }

    /// Between half and double, or none in either.
    pub fn is_near(&self) -> bool {
        self.is_still() || (0.5..=2.0).contains(&self.ratio())
    }
}

/// What was measured on Linux 6.18 in the lab.
pub const RECORDED: &str = include_str!("../repeats-6.18.csv");

/// What was measured, lines as in [`RECORDED`], and the simulator now.
///
/// # Errors
/// A scenario does not parse.
pub fn beside(measured: &str) -> Result<Vec<Beside>, String> {
    let goodput = |cell: &Cell, line: &str| {
        let rest = line.strip_prefix(&(cell.line() + ","))?;
        let numbers: Vec<f64> = rest.split(',').filter_map(|n| n.parse().ok()).collect();
        numbers.get(2).filter(|late| **late <= PUNCTUAL_MS).map(|_| numbers[1])
    };
    let mut all = Vec::new();
    for cell in cells() {
        let measured: Vec<f64> = measured.lines().filter_map(|line| goodput(&cell, line)).collect();
        if measured.len() > 1 {
            let simulated = simulate(&cell, SIMULATED)?;
            all.push(Beside { kernel: Spread::of(&measured), sim: Spread::of(&simulated), cell });
        }
    }
    Ok(all)
}

/// With equal, normal distributions: how often the deviations of `a` and of `b` draws lie within a factor of two of each
/// other. (Their squares' ratio is F-distributed with a - 1 and b - 1 degrees of freedom.)
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
    fn cells_are_scenarios_and_of_every_sort() {
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
    fn chance_is_what_the_f_distribution_says() {
        // R: pf(4, 4, 4) - pf(0.25, 4, 4) = 0.896 - 0.104; pf(4, 4, 39) - pf(0.25, 4, 39) = 0.9919 - 0.0921.
        assert!((by_chance(5, 5) - 0.792).abs() < 0.01, "{}", by_chance(5, 5));
        assert!((by_chance(5, 40) - 0.8998).abs() < 0.01, "{}", by_chance(5, 40));
    }
}
