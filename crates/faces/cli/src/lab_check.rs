//! `longfat lab check`: measures up to which rate, packet rate and number of links this machine's kernel lab
//! keeps time.
//!
//! Three series of short runs, each simulated and on the kernel. A step passes if the measurement is
//! trustworthy and its goodput is within 3 % of the simulator's; a series ends at the first step that fails.

use crate::args::{LabArgs, LabCheckArgs, LabCommand};
use crate::preflight;
use crate::problem::CliProblem;
use experiment::{Hooks, Order};
use report::Lang;
use result::Clock;
use scenario::Experiment;
use serde_json::json;
use std::process::ExitCode;

/// The relative difference of goodput that passes: repeats of a run on the kernel differ by this.
const GOODPUT_TOLERANCE: f64 = 0.03;
/// Rates of a link with an RTT of 10 ms, Mbit/s, for a TCP flow.
const RATES: [u64; 7] = [20, 50, 100, 300, 1000, 3000, 10_000];
/// Rates of datagrams of 100 bytes, thousands per second.
const PACKETS: [u64; 6] = [1, 3, 10, 30, 100, 300];
/// Numbers of links in a row, of 50 Mbit/s each, with an RTT of 10 ms in total.
const LINKS: [u64; 6] = [1, 3, 5, 10, 20, 40];

struct Series {
    what: &'static str,
    unit: &'static str,
    steps: &'static [u64],
    scenario: fn(u64) -> String,
}

const SERIES: [Series; 3] = [
    Series { what: "rate", unit: "Mbit/s", steps: &RATES, scenario: |mbps| tcp(mbps, 1) },
    Series { what: "packets", unit: "000/s", steps: &PACKETS, scenario: datagrams },
    Series { what: "links", unit: "in a row", steps: &LINKS, scenario: |links| tcp(50, links) },
];

/// A CUBIC flow through `links` links of this rate, with queues of one bandwidth-delay product.
fn tcp(mbps: u64, links: u64) -> String {
    let delay = 5000 / links;
    let link = |i: u64| {
        format!(
            "[links.l{i}]\nbetween = [\"h{i}\", \"h{}\"]\nforward = [{{ kind = \"link\", rate = \"{mbps}Mbit/s\", delay = \
             \"{delay}us\", queue = {{ kind = \"fifo\", packets = {} }} }}]\nbackward = [{{ kind = \"delay\", delay = \
             \"{delay}us\" }}]\n",
            i + 1,
            (mbps * 10_000 / 12_000).max(20)
        )
    };
    let chain: String = (0..links).map(link).collect();
    format!("duration = \"2s\"\n{chain}[flows.f]\nfrom = \"h0\"\nto = \"h{links}\"\n")
}

/// A flow of `thousands` × 1000 datagrams per second through a link of twice its rate.
fn datagrams(thousands: u64) -> String {
    let mbps = thousands * 1000 * 128 * 8 / 1_000_000 + 1;
    format!(
        "duration = \"1s\"\n[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{{ kind = \"link\", rate = \"{}Mbit/s\", delay = \
         \"5ms\" }}]\nbackward = [{{ kind = \"delay\", delay = \"5ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = {{ \
         kind = \"udp\", rate = \"{mbps}Mbit/s\", size = 100 }}\n",
        2 * mbps
    )
}

/// The result of a step.
struct Step {
    /// Goodput, Mbit/s.
    sim: f64,
    /// Goodput, Mbit/s.
    kernel: f64,
    /// Reasons why the step fails; empty if it passes.
    why: Vec<String>,
}

fn step(text: &str) -> Result<Step, CliProblem> {
    let experiment =
        Experiment::parse("lab check", text, &[]).map_err(|e| CliProblem::scenario(Box::new(e)))?;
    let order = Order { clocks: vec![Clock::Sim, Clock::Kernel], ..Order::default() };
    preflight::check(&experiment, &order)?;
    let mut outcomes = experiment::run(&experiment, &order, Hooks::default());
    if let Some(failed) = outcomes.failed.pop() {
        return Err(CliProblem::of_run(failed.failure, String::new()));
    }
    let run = outcomes.run();
    let goodput =
        |clock| run.variants.iter().find(|v| v.clock == clock).map_or(0.0, |v| v.total_goodput_mbps);
    let (sim, kernel) = (goodput(Clock::Sim), goodput(Clock::Kernel));
    let mut why = report::distrust(&run, Lang::En);
    let off = kernel / sim - 1.0;
    if why.is_empty() && (off.is_nan() || off.abs() > GOODPUT_TOLERANCE) {
        why.push(format!("goodput differs by {:+.1} % from the simulation", 100.0 * off));
    }
    Ok(Step { sim, kernel, why })
}

/// Lists the mechanisms that confine programs of a scenario on this machine.
#[cfg(target_os = "linux")]
fn guards(g: &::lab::SandboxSupport) -> String {
    let seccomp = if g.seccomp { "seccomp" } else { "no seccomp on this kernel" };
    let landlock = match g.landlock {
        0 => "no Landlock on this kernel".into(),
        version => format!("Landlock (version {version})"),
    };
    let folder = match &g.folder {
        None => String::new(),
        Some(why) => format!("; commands of `longfat shell` as root run as root here ({why})"),
    };
    format!("programs are confined by users, namespaces, mounts, {seccomp}, {landlock}{folder}\n")
}

pub fn lab(args: &LabArgs) -> Result<ExitCode, CliProblem> {
    let LabCommand::Check(LabCheckArgs { json }) = &args.command;
    #[cfg(target_os = "linux")]
    if !json {
        crate::print(&guards(&::lab::guards()))?;
    }
    let mut found = Vec::new();
    for series in SERIES {
        let mut highest = None;
        for &at in series.steps {
            let Step { sim, kernel, why } = step(&(series.scenario)(at))?;
            let passes = why.is_empty();
            if !json {
                let verdict = if passes { "ok".into() } else { why.join("; ") };
                crate::print(&format!(
                    "{:8} {at:>6} {:9} simulated {sim:>8.1}, kernel {kernel:>8.1} Mbit/s  {verdict}\n",
                    series.what, series.unit
                ))?;
            }
            found.push(json!({
                "ladder": series.what, "step": at, "sim_mbps": sim, "kernel_mbps": kernel, "reliable": passes, "reasons": why,
            }));
            if !passes {
                break;
            }
            highest = Some(at);
        }
        if !json {
            let highest = highest.map_or("at no step".into(), |m| format!("up to {m} {}", series.unit));
            crate::print(&format!("{}: reliable {highest}\n", series.what))?;
        }
    }
    if *json {
        let text = serde_json::to_string_pretty(&found).map_err(|e| CliProblem::usage(e.to_string()))?;
        crate::print(&(text + "\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_a_scenario_without_warnings() {
        for series in SERIES {
            for &at in series.steps {
                let text = (series.scenario)(at);
                let experiment =
                    Experiment::parse("step", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(experiment.warnings(), [""; 0], "{text}");
            }
        }
    }
}
