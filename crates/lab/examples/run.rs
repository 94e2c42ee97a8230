//! A scenario on the kernel and in the simulator, side by side: `run FILE [KEY=VALUE …]`.

use scenario::Experiment;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(file) = args.next() else {
        eprintln!("usage: run SCENARIO.toml [KEY=VALUE ...]");
        return ExitCode::from(2);
    };
    let overrides: Vec<String> = args.collect();
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(e) => {
            eprintln!("{file}: {e}");
            return ExitCode::from(2);
        }
    };
    let experiment = match Experiment::parse(&file, &text, &overrides) {
        Ok(experiment) => experiment,
        Err(e) => {
            eprintln!("{}", e.render());
            return ExitCode::from(2);
        }
    };
    for v in &experiment.variants {
        let mut notice = |text: &str| eprintln!("  {text}");
        let options =
            lab::Options { seed: v.scenario.seed, notice: Some(&mut notice), ..lab::Options::default() };
        let kernel = match lab::run(&v.name, &v.scenario, options) {
            Ok(outcome) => outcome.variant,
            Err(e) => {
                eprintln!("error: {e}");
                return ExitCode::from(2);
            }
        };
        let options = sim::Options { seed: v.scenario.seed, ..sim::Options::default() };
        let sim = sim::run(&v.name, &v.scenario, options).variant;
        println!("{}: kernel | simulator | ratio", v.name);
        for (k, s) in kernel.flows.iter().zip(&sim.flows) {
            println!(
                "  {:12} {:6} goodput {:9.3} | {:9.3} | {:5.3}   retransmits {:5} | {:5}   sent {:7} | {:7}   rto {:2} | {:2}   rtt mean {:7.2} | {:7.2}   p95 {:7.2} | {:7.2}   p50/p99 {:.3}/{:.3}   min {:6.2} | {:6.2}{}",
                k.name,
                k.cc,
                k.goodput_mbps,
                s.goodput_mbps,
                s.goodput_mbps / k.goodput_mbps,
                k.retransmitted_packets,
                s.retransmitted_packets,
                k.sent_packets,
                s.sent_packets,
                k.timeouts,
                s.timeouts,
                k.rtt_ms.mean,
                s.rtt_ms.mean,
                k.rtt_ms.p95,
                s.rtt_ms.p95,
                k.rtt_ms.p50,
                k.rtt_ms.p99,
                k.rtt_ms.min,
                s.rtt_ms.min,
                k.completed
                    .map_or(String::new(), |n| format!("   completed {n} | {}", s.completed.unwrap_or(0))),
            );
        }
        for (k, s) in kernel.elements.iter().zip(&sim.elements) {
            println!(
                "  {:30} passed {:7} | {:7}   dropped {:5} | {:5}   max queue {:4} | {:4}",
                k.name,
                k.passed_packets,
                s.passed_packets,
                k.dropped_packets,
                s.dropped_packets,
                k.max_queue_packets,
                s.max_queue_packets
            );
        }
    }
    ExitCode::SUCCESS
}
