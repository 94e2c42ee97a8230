//! Random paths on the live kernel and in the model, compared after each packet: `samples COUNT [--seed S]
//! [--cc reno|cubic] [--paced] [--record FILE | --replay FILE] [--show] [--no-push]`. As root. Prints a line
//! for each run, with the first difference and the events before it, and a count of each kind of difference.

use std::collections::BTreeMap;
use std::path::Path;
use twin::sample::{self, Control, Difference, Event, Input, Log, Plan};

/// Events printed before a difference.
const CONTEXT_EVENTS: usize = 8;

struct Wanted {
    count: u64,
    seed: u64,
    controls: Vec<Control>,
    paced: Vec<bool>,
    record: Option<String>,
    replay: Option<String>,
    show: bool,
    push: bool,
}

fn wanted(args: &[String]) -> Option<Wanted> {
    let mut w = Wanted {
        count: 0,
        seed: 1,
        controls: vec![Control::Reno, Control::Cubic],
        paced: vec![false],
        record: None,
        replay: None,
        show: false,
        push: true,
    };
    let mut args = args.iter().cloned();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seed" => w.seed = args.next()?.parse().ok()?,
            "--cc" => w.controls = vec![Control::parse(&args.next()?)?],
            "--paced" => w.paced = vec![true],
            "--record" => w.record = args.next(),
            "--replay" => w.replay = args.next(),
            "--show" => w.show = true,
            "--no-push" => w.push = false,
            n => w.count = n.parse().ok()?,
        }
    }
    Some(w)
}

pub fn run(args: &[String]) -> Result<(), String> {
    let usage = "usage: samples COUNT [--seed S] [--cc reno|cubic] [--paced] [--record FILE | --replay FILE] [--show] [--no-push]";
    all(&wanted(args).ok_or(usage)?)
}

fn all(w: &Wanted) -> Result<(), String> {
    let mut sorts: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
    let (mut same, mut runs, mut events) = (0, 0, 0);
    let mut judge = |log: &Log| {
        (runs, events) = (runs + 1, events + log.events.len());
        match sample::replay(log, w.push) {
            None => same += 1,
            Some(d) => {
                sorts.entry(d.what).or_default().push(log.plan.seed);
                print_difference(log, &d, w.show);
            }
        }
    };
    if let Some(file) = &w.replay {
        sample::load(Path::new(file)).map_err(|e| format!("{file}: {e}"))?.iter().for_each(&mut judge);
    } else {
        let mut logs = Vec::new();
        for (&control, &paced) in w.controls.iter().flat_map(|c| w.paced.iter().map(move |p| (c, p))) {
            for seed in w.seed..w.seed + w.count {
                let log = sample::run(&Plan::draw(seed, control, paced)).map_err(|e| e.to_string())?;
                judge(&log);
                logs.push(log);
            }
        }
        if let Some(file) = &w.record {
            sample::save(Path::new(file), &logs).map_err(|e| format!("{file}: {e}"))?;
        }
    }
    println!("{same} of {runs} runs identical, {events} events");
    for (what, seeds) in sorts {
        println!("{:4} {what}: {seeds:?}", seeds.len());
    }
    Ok(())
}

fn print_difference(log: &Log, d: &Difference, show: bool) {
    println!("{}: {} at event {} of {}: {}", log.plan, d.what, d.event, log.events.len(), d.how);
    if !show {
        return;
    }
    for (i, e) in log.events.iter().enumerate().take(d.event + 1).skip(d.event.saturating_sub(CONTEXT_EVENTS))
    {
        println!("  {i} {}", line(e));
        for b in &e.out {
            println!("      > {}+{} by {} flags {:#x} ts {}", b.seq, b.len, b.mss, b.flags, b.ts);
        }
        println!("      ={}", e.snapshot);
    }
    println!("  model:{}", d.model);
}

fn line(e: &Event) -> String {
    let at = e.at.as_nanos() as f64 / 1e6;
    let took = e.took / 1000;
    match &e.input {
        Input::Connect => format!("{at:.3} ({took}) connect"),
        Input::Write(n) => format!("{at:.3} ({took}) write {n}"),
        Input::Timer => format!("{at:.3} ({took}) timer"),
        Input::Segment(a) => format!(
            "{at:.3} ({took}) ack {} window {} ts {} {} {:?}",
            a.ack, a.window, a.ts_val, a.ts_ecr, a.sacks
        ),
    }
}
