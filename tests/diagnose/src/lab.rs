//! Cases of the corpus on this machine's kernel.
//!
//! The kernel does not tell what kept it from sending, so the truth is that of the simulator for the same
//! scenario, and a case counts only where both agree on what happened: all flows together carried the same within
//! a quarter, and policers dropped on both or on neither. The others are counted and left out.

use crate::judge::read;
use crate::line::Line;
use crate::play::{outcome, variant};
use crate::watch::Sink;
use crate::{Case, FlowTruth, Truth, draw};
use capture::{Packet, Reader};
use result::{Diagnosis, Outcome};
use std::fs::{self, File};
use std::path::Path;

/// What the lab carries without a doubt on two shared cores, bit/s.
const MOST_RATE: f64 = 100e6;
/// How long a case takes at most, seconds.
const SECONDS: f64 = 10.0;
/// First port of those that listen, and of those that connect in the simulator.
const LISTENS: u16 = 5201;
const CONNECTS: u16 = 40_000;

struct Nobody;

impl Sink for Nobody {
    fn packet(&mut self, _: &Packet) {}
}

/// How a case went.
#[derive(Debug)]
pub enum Went {
    /// The flows, scored.
    Scored(Vec<Line>),
    /// On the kernel something else happened than in the simulator.
    Apart(String),
}

/// Case `number` of a set, cut to what the lab carries; `None`: it is too fast.
pub fn case(set: u64, number: u64) -> Option<Case> {
    let case = draw::case(set, number);
    (case.rate <= MOST_RATE).then(|| case.within(SECONDS))
}

/// Runs a case; captures lie in `folder` for a moment.
///
/// # Errors
/// The lab says why it cannot; missing privileges as [`lab::Error::Permission`].
pub fn run(case: &Case, folder: &Path) -> Result<Went, lab::Error> {
    let unsupported = |why: String| lab::Error::Unsupported { key: format!("case {}", case.number), why };
    let (truth, simulated) = outcome(case, &mut Nobody).map_err(unsupported)?;
    let scenario = variant(case).map_err(unsupported)?.scenario;
    let path = |host: &str| folder.join(format!("{}-{host}.pcap", case.number));
    let files: std::io::Result<Vec<File>> =
        scenario.hosts.iter().map(|h| File::create(path(&h.name))).collect();
    let hosts = files.map_err(|e| unsupported(e.to_string()))?;
    let pcap = Some(lab::Captures { hosts, stages: Vec::new() });
    let run = lab::run("kernel", &scenario, lab::Options { seed: case.seed, pcap, ..Default::default() });
    let name = &scenario.hosts[case.vantage.host()].name;
    let diagnosis = Reader::open(&path(name)).map(read).map_err(|e| unsupported(e.to_string()));
    for host in &scenario.hosts {
        let _ = fs::remove_file(path(&host.name));
    }
    let measured = run?;
    Ok(match apart(&simulated, &measured) {
        Some(why) => Went::Apart(why),
        None => Went::Scored(lines(&truth, diagnosis?)),
    })
}

/// What happened on the kernel and not in the simulator.
fn apart(simulated: &Outcome, measured: &Outcome) -> Option<String> {
    let (a, b) = (simulated.variant.total_goodput_mbps, measured.variant.total_goodput_mbps);
    if (b / a - 1.0).abs() > 0.25 {
        return Some(format!("{b:.2} Mbit/s, simulated {a:.2}"));
    }
    let drops = |o: &Outcome| -> u64 {
        o.variant.elements.iter().filter(|e| e.kind == "policer").map(|e| e.dropped_packets).sum()
    };
    let (a, b) = (drops(simulated), drops(measured));
    ((a == 0) != (b == 0)).then(|| format!("policer drops {b}, simulated {a}"))
}

/// The flows scored. The lab's connection c listens on port 5201 + c, the simulator's connects from 40000 + c.
fn lines(truth: &Truth, mut diagnosis: Diagnosis) -> Vec<Line> {
    let port = |end: &str| end.rsplit(':').next().and_then(|p| p.parse::<u16>().ok()).unwrap_or(0);
    let mut lines = Vec::new();
    for flow in &truth.flows {
        let opens = port(&flow.from) >= CONNECTS;
        let number = port(if opens { &flow.from } else { &flow.to }).saturating_sub(CONNECTS);
        let there = LISTENS + number;
        let is = |from: &str, to: &str| port(if opens { to } else { from }) == there;
        // As the simulator names them, so that they are found.
        let named = diagnosis.flows.iter_mut().find(|f| is(&f.from, &f.to));
        if let Some(f) = named {
            (f.from, f.to) = (flow.from.clone(), flow.to.clone());
        }
        lines.push(line(truth, flow, &diagnosis));
    }
    lines
}

fn line(truth: &Truth, flow: &FlowTruth, diagnosis: &Diagnosis) -> Line {
    Line {
        case: truth.number.to_string(),
        vantage: truth.vantage.clone(),
        flows: truth.flows.len(),
        meant: truth.meant.clone(),
        rate: truth.rate_mbps,
        ..Line::of(flow, diagnosis)
    }
}
