//! `longfat lab check`: up to which rate, packet rate and number of links this machine is punctual.
//!
//! Three ladders of short runs, each simulated and on the kernel. A step holds where the measurement says that it can be
//! trusted and goodput is within 3 % of the simulator's; a ladder ends with the first step that does not.

use crate::args::{LabArgs, LabCheckArgs, LabCommand};
use crate::preflight;
use crate::problem::CliProblem;
use experiment::{Hooks, Order};
use report::Lang;
use result::Clock;
use scenario::Experiment;
use serde_json::json;
use std::process::ExitCode;

/// What goodput on the kernel may differ by, as repeats of a run do there.
const NEAR: f64 = 0.03;
/// TCP over so many Mbit/s and 10 ms.
const RATES: [u64; 7] = [20, 50, 100, 300, 1000, 3000, 10_000];
/// Datagrams of 100 B, thousands a second.
const PACKETS: [u64; 6] = [1, 3, 10, 30, 100, 300];
/// Links in a row, 50 Mbit/s each, 10 ms together.
const LINKS: [u64; 6] = [1, 3, 5, 10, 20, 40];

struct Ladder {
    what: &'static str,
    unit: &'static str,
    steps: &'static [u64],
    scenario: fn(u64) -> String,
}

const LADDERS: [Ladder; 3] = [
    Ladder { what: "rate", unit: "Mbit/s", steps: &RATES, scenario: |mbps| tcp(mbps, 1) },
    Ladder { what: "packets", unit: "000/s", steps: &PACKETS, scenario: datagrams },
    Ladder { what: "links", unit: "in a row", steps: &LINKS, scenario: |links| tcp(50, links) },
];

/// A CUBIC flow through `links` links of this rate; queues of a bandwidth-delay product.
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

/// So many thousand datagrams a second through a link that carries more.
fn datagrams(thousands: u64) -> String {
    let mbps = thousands * 1000 * 128 * 8 / 1_000_000 + 1;
    format!(
        "duration = \"1s\"\n[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{{ kind = \"link\", rate = \"{}Mbit/s\", delay = \
         \"5ms\" }}]\nbackward = [{{ kind = \"delay\", delay = \"5ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = {{ \
         kind = \"udp\", rate = \"{mbps}Mbit/s\", size = 100 }}\n",
        2 * mbps
    )
}

/// What came of a step.
struct Step {
    sim: f64,
    kernel: f64,
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
    if why.is_empty() && (off.is_nan() || off.abs() > NEAR) {
        why.push(format!("carries {:+.1} % of what is simulated", 100.0 * off));
    }
    Ok(Step { sim, kernel, why })
}

/// What programs are held by.
#[cfg(target_os = "linux")]
fn guards(g: &::lab::Guards) -> String {
    let seccomp = if g.seccomp { "seccomp" } else { "no seccomp on this kernel" };
    let landlock = match g.landlock {
        0 => "no Landlock on this kernel".into(),
        version => format!("Landlock (version {version})"),
    };
    let folder = match &g.folder {
        None => String::new(),
        Some(why) => format!("; root's commands in a shell run as root here ({why})"),
    };
    format!("programs: held by users, namespaces, mounts, {seccomp}, {landlock}{folder}\n")
}

/// Measures this machine.
pub fn lab(args: &LabArgs) -> Result<ExitCode, CliProblem> {
    let LabCommand::Check(LabCheckArgs { json }) = &args.command;
    #[cfg(target_os = "linux")]
    if !json {
        crate::print(&guards(&::lab::guards()))?;
    }
    let mut found = Vec::new();
    for ladder in LADDERS {
        let mut most = None;
        for &at in ladder.steps {
            let Step { sim, kernel, why } = step(&(ladder.scenario)(at))?;
            let holds = why.is_empty();
            if !json {
                let verdict = if holds { "ok".into() } else { why.join("; ") };
                crate::print(&format!(
                    "{:8} {at:>6} {:9} simulated {sim:>8.1}, kernel {kernel:>8.1} Mbit/s  {verdict}\n",
                    ladder.what, ladder.unit
                ))?;
            }
            found.push(json!({
                "ladder": ladder.what, "step": at, "sim_mbps": sim, "kernel_mbps": kernel, "reliable": holds, "reasons": why,
            }));
            if !holds {
                break;
            }
            most = Some(at);
        }
        if !json {
            let most = most.map_or("at no step".into(), |m| format!("up to {m} {}", ladder.unit));
            crate::print(&format!("{}: punctual {most}\n", ladder.what))?;
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
        for ladder in LADDERS {
            for &at in ladder.steps {
                let text = (ladder.scenario)(at);
                let experiment =
                    Experiment::parse("step", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(experiment.warnings(), [""; 0], "{text}");
            }
        }
    }
}
