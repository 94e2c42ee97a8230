//! Speed of the simulator on a dumbbell (N CUBIC flows over one link with a drop-tail queue of one
//! bandwidth-delay product) or on the first variant of a scenario file. Prints one line of JSON: delivered
//! data packets, CPU seconds of the run alone, peak memory.
//!
//! `dumbbell FLOWS MBPS RTT_MS SECONDS [SEED]`, `dumbbell SCENARIO.toml [SEED]`

use scenario::Experiment;

const MSS: u64 = 1448;

fn cpu_seconds() -> f64 {
    // The first field: nanoseconds that this thread, the only one, has run.
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|n| n.parse::<f64>().ok()).unwrap_or(f64::NAN) * 1e-9
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// A dumbbell as a scenario.
fn dumbbell([flows, mbps, rtt_ms, seconds]: [u64; 4]) -> String {
    let queue = mbps * 1_000_000 * rtt_ms / 1000 / 8 / 1500;
    let half = rtt_ms as f64 / 2.0;
    format!(
        r#"duration = "{seconds}s"
sample = "0s"
[links.bottleneck]
between = ["a", "b"]
forward = [{{ kind = "link", rate = "{mbps}Mbit/s", delay = "{half}ms", queue = {{ kind = "fifo", packets = {queue} }} }}]
backward = [{{ kind = "link", rate = "{mbps}Mbit/s", delay = "{half}ms", queue = {{ kind = "fifo", packets = {queue} }} }}]
[hosts.a]
stack = {{ send_buffer = "64MB" }}
[hosts.b]
stack = {{ receive_buffer = "64MB" }}
[flows.f]
from = "a"
to = "b"
cc = "cubic"
count = {flows}
"#
    )
}

/// Name and text of the scenario that the arguments choose, and the arguments after it.
fn scenario(args: &[String]) -> Option<(&str, String, &[String])> {
    if let [file, rest @ ..] = args
        && file.ends_with(".toml")
    {
        return Some((file, std::fs::read_to_string(file).ok()?, rest));
    }
    let (numbers, rest) = args.split_at_checked(4)?;
    let numbers: Vec<u64> = numbers.iter().filter_map(|a| a.parse().ok()).collect();
    Some(("dumbbell.toml", dumbbell(numbers.try_into().ok()?), rest))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, text, rest)) = scenario(&args) else {
        eprintln!("usage: dumbbell FLOWS MBPS RTT_MS SECONDS [SEED] | dumbbell SCENARIO.toml [SEED]");
        std::process::exit(2);
    };
    let seed = rest.first().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let experiment = match Experiment::parse(name, &text, &[]) {
        Ok(e) => e,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    let variant = &experiment.variants[0];
    let before = cpu_seconds();
    let out =
        sim::run(&variant.name, &variant.scenario, sim::SimOptions { seed, ..sim::SimOptions::default() });
    let cpu = cpu_seconds() - before;
    let delivered: u64 = out.variant.flows.iter().map(|f| f.delivered_bytes).sum::<u64>() / MSS;
    println!(
        "{{\"simulator\":\"longfat\",\"delivered_packets\":{delivered},\"goodput_mbps\":{:.1},\"cpu_seconds\":{cpu:.4},\"packets_per_cpu_second\":{:.0},\"max_rss_kb\":{}}}",
        out.variant.total_goodput_mbps,
        delivered as f64 / cpu,
        peak_kb()
    );
}
