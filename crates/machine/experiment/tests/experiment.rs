//! Tests of whole experiments: which results are kept, which progress is reported, and that nothing depends
//! on the order in which runs finish.

use experiment::{
    CaptureSink, CaptureTap, Captured, Failure, Hooks, Order, Outcomes, Progress, RunJob, choose, run,
};
use result::{Clock, Outcome, Packer, Unpacker, to_json};
use scenario::Experiment;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SMALL: &str = r#"
name = "small"
description = "Three rates."
duration = "1s"
seed = 7
sample = "50ms"
[links.wan]
between = ["office", "dc"]
forward = [{ kind = "loss", probability = 0.01 }, { kind = "link", rate = "20Mbit/s", delay = "5ms" }]
backward = [{ kind = "delay", delay = "5ms" }]
[flows.up]
from = "office"
to = "dc"
[flows.down]
from = "dc"
to = "office"
[variants.slow]
"links.wan.forward.link.rate" = "5Mbit/s"
[variants.middle]
[variants.fast]
"links.wan.forward.link.rate" = "50Mbit/s"
"#;

fn parse(text: &str) -> Experiment {
    Experiment::parse("small.toml", text, &[]).unwrap()
}

fn order(repeats: u32, threads: usize) -> Order {
    Order { repeats, threads: NonZeroUsize::new(threads), ..Order::default() }
}

/// All of the outcomes as text: summary and every sample.
fn bytes(outcomes: &Outcomes) -> String {
    format!("{}{:?}", to_json(&outcomes.run()), outcomes.variants)
}

#[test]
fn the_number_of_threads_does_not_change_the_output() {
    let experiment = parse(SMALL);
    let one = run(&experiment, &order(3, 1), Hooks::default());
    let four = run(&experiment, &order(3, 4), Hooks::default());
    assert!(one.is_complete() && four.is_complete());
    assert!(bytes(&one).len() > 100_000, "the samples are included");
    assert!(bytes(&one) == bytes(&four));
}

#[test]
fn repeats_have_the_next_seeds_and_become_means() {
    let experiment = parse(SMALL);
    let outcomes = run(&experiment, &order(3, 2), Hooks::default());
    let names: Vec<&str> = outcomes.variants.iter().map(|v| v.variant.as_str()).collect();
    assert_eq!((names, outcomes.seed), (vec!["slow", "middle", "fast"], 7));
    for v in &outcomes.variants {
        assert_eq!((&v.repeats, &v.seeds, v.clock), (&vec![0, 1, 2], &vec![7, 8, 9], Clock::Sim));
        let sent: Vec<u64> = v.outcomes.iter().map(|o| o.variant.flows[0].sent_packets).collect();
        assert!(sent[0] != sent[1] || sent[1] != sent[2], "seeds matter: {sent:?}");
    }
    let summary = outcomes.run();
    let repeats = summary.variants[1].repeats.as_ref().unwrap();
    assert_eq!((repeats.n, &repeats.seeds[..]), (3, &[7, 8, 9][..]));
    let mean = outcomes.variants[1].outcomes.iter().map(|o| o.variant.total_goodput_mbps).sum::<f64>() / 3.0;
    assert!((summary.variants[1].total_goodput_mbps - mean).abs() < 1e-9);
    let other = Order { seed: Some(100), ..order(2, 2) };
    assert_eq!(run(&experiment, &other, Hooks::default()).variants[0].seeds, [100, 101]);
    // A single run equals the repeat with its seed if both have the same host jitter.
    for (host_jitter, same) in [("never", true), ("always", true), ("repeats", false)] {
        let experiment = parse(&SMALL.replace("seed = 7", &format!("seed = 7\nunrest = \"{host_jitter}\"")));
        let repeated = run(&experiment, &order(3, 2), Hooks::default());
        let eight = run(&experiment, &Order { seed: Some(8), ..order(1, 1) }, Hooks::default());
        let [alone, second] =
            [(&eight, 0), (&repeated, 1)].map(|(o, i)| format!("{:?}", o.variants[2].outcomes[i]));
        assert_eq!(alone == second, same, "{host_jitter}");
    }
}

/// Nothing on this path is random.
const NO_LOSS: &str = "{ kind = \"policer\", rate = \"10Mbit/s\", burst = \"20kB\" }";

#[test]
fn repeats_without_loss_differ_only_by_host_jitter() {
    let without_loss = SMALL.replace("{ kind = \"loss\", probability = 0.01 }", NO_LOSS);
    for (host_jitter, identical) in [("never", true), ("repeats", false), ("always", false)] {
        let experiment =
            parse(&without_loss.replace("seed = 7", &format!("seed = 7\nunrest = \"{host_jitter}\"")));
        let summary = run(&experiment, &order(3, 2), Hooks::default()).run();
        let said = summary.variants[2].repeats.as_ref().unwrap();
        assert_eq!(said.identical, identical, "{host_jitter}");
        assert_eq!(said.total_goodput_mbps.ci95 == 0.0, identical, "{host_jitter}");
    }
}

#[test]
fn every_job_has_a_unique_label() {
    let mut experiment = parse(&SMALL.replace("seed = 7", "seed = 7\none_at_a_time = true"));
    choose(&mut experiment, &["fast".into(), "slow".into()]).unwrap();
    let unknown = choose(&mut experiment, &["middle".into()]).unwrap_err();
    assert_eq!(unknown.to_string(), "no variant is called `middle`; there are: slow, fast");
    let both = Order { clocks: vec![Clock::Sim, Clock::Kernel], ..order(2, 1) };
    let jobs = both.jobs(&experiment);
    assert_eq!(jobs.len(), 2 * 2 * 2 * 2);
    let mut labels: Vec<String> = jobs.iter().map(|j| both.label(&experiment, j)).collect();
    assert_eq!((&labels[0][..], &labels[15][..]), ("slow-sim-repeat1-up", "fast-kernel-repeat2-down"));
    labels.sort();
    labels.dedup();
    assert_eq!(labels.len(), jobs.len());
    let one = order(1, 1);
    let plain = parse(SMALL);
    assert_eq!(one.label(&plain, &one.jobs(&plain)[0]), "slow");
}

#[test]
fn stopping_an_experiment_keeps_the_finished_runs() {
    // The last variant's runs would take all day.
    let experiment = parse(&(SMALL.to_string() + "duration = \"24h\"\nsample = \"0s\"\n"));
    let mut most = 0;
    let mut progress = |p: &Progress| {
        assert_eq!((p.clock, p.runs, p.duration_ms), (Clock::Sim, 6, 4000 + 2 * 86_400_000));
        assert!(p.played_ms >= 1000 * p.finished.min(4) as u64 && p.played_ms <= p.duration_ms);
        most = most.max(p.finished);
        if p.finished >= 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcomes =
        run(&experiment, &order(2, 1), Hooks { progress: Some(&mut progress), ..Hooks::default() });
    let finished: usize = outcomes.variants.iter().map(|v| v.outcomes.len()).sum();
    assert!((2..=4).contains(&finished), "{finished}");
    assert_eq!((finished + outcomes.stopped.len(), outcomes.failed.len()), (6, 0));
    assert!(most >= 2 && !outcomes.is_complete());
    // The finished runs are the same as without stopping.
    let mut first = experiment.clone();
    choose(&mut first, &["slow".into()]).unwrap();
    let first = run(&first, &order(2, 1), Hooks::default());
    assert_eq!(format!("{:?}", outcomes.variants[0]), format!("{:?}", first.variants[0]));
    assert_eq!(outcomes.run().variants[0], first.run().variants[0]);
    assert!(outcomes.run().variants.len() < 3);
}

#[test]
fn the_caller_can_stop_a_very_long_run() {
    let experiment = parse(&SMALL.replace("\"1s\"", "\"24h\"").replace("\"50ms\"", "\"0s\""));
    let mut stop = |_: &Progress| ControlFlow::Break(());
    let outcomes = run(&experiment, &order(1, 2), Hooks { progress: Some(&mut stop), ..Hooks::default() });
    assert_eq!((outcomes.stopped.len(), outcomes.run().variants.len()), (3, 0));
}

/// Counts packets. Fails for the variant `bad`, or only for that variant's flow `flow`.
struct Counts {
    bad: &'static str,
    flow: Option<usize>,
    packets: AtomicUsize,
    finished: AtomicUsize,
}

impl Counts {
    fn new(bad: &'static str) -> Counts {
        Counts { bad, flow: None, packets: AtomicUsize::new(0), finished: AtomicUsize::new(0) }
    }
}

struct Count<'a>(&'a Counts);

impl sim::Tap for Count<'_> {
    fn packet(
        &mut self,
        _: units::Time,
        _: usize,
        _: bool,
        _: &path::Packet<transport::Segment>,
        _: usize,
        _: usize,
    ) {
        self.0.packets.fetch_add(1, Relaxed);
    }
}

impl CaptureTap for Count<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        self.0.finished.fetch_add(1, Relaxed);
        Ok(())
    }
}

impl CaptureSink for Counts {
    fn simulated(&self, run: &Captured<'_>) -> io::Result<Option<Box<dyn CaptureTap + '_>>> {
        assert!(run.label.starts_with(&run.variant.name));
        if run.variant.name == self.bad && (self.flow.is_none() || run.job.flow == self.flow) {
            return Err(io::Error::other("the disk is full"));
        }
        Ok(Some(Box::new(Count(self))))
    }

    #[cfg(target_os = "linux")]
    fn on_kernel(&self, _: &Captured<'_>) -> io::Result<Option<lab::Captures>> {
        Ok(None)
    }
}

#[test]
fn the_sink_receives_all_packets_without_changing_the_results() {
    let (experiment, counts) = (parse(SMALL), Counts::new("none"));
    let hooks = || Hooks { captures: Some(&counts), ..Hooks::default() };
    let captured = run(&experiment, &order(1, 2), hooks());
    assert_eq!(counts.finished.load(Relaxed), 3);
    assert!(counts.packets.load(Relaxed) > 5000);
    assert_eq!(
        bytes(&captured),
        bytes(&run(&experiment, &order(1, 2), Hooks::default())),
        "capturing does not change the outcomes"
    );
}

#[test]
fn other_variants_finish_if_one_fails() {
    let (experiment, counts) = (parse(SMALL), Counts::new("middle"));
    let hooks = || Hooks { captures: Some(&counts), ..Hooks::default() };
    let on = Order { keep_going: true, ..order(2, 2) };
    let outcomes = run(&experiment, &on, hooks());
    let names: Vec<String> = outcomes.run().variants.into_iter().map(|v| v.name).collect();
    assert_eq!(names, ["slow", "fast"]);
    assert_eq!(outcomes.stopped, []);
    let failed: Vec<(&str, u32)> = outcomes.failed.iter().map(|f| (&f.variant[..], f.job.repeat)).collect();
    assert_eq!(failed, [("middle", 0), ("middle", 1)]);
    assert!(
        matches!(&outcomes.failed[0].failure, Failure::Capture(e) if e.to_string() == "the disk is full")
    );
    assert!(outcomes.failed[0].to_string().starts_with("middle, sim, repeat 1: "), "{}", outcomes.failed[0]);

    // By default, nothing is started after a failure.
    let outcomes = run(&experiment, &order(2, 1), hooks());
    assert_eq!((outcomes.variants[0].outcomes.len(), outcomes.variants[2].outcomes.len()), (2, 0));
    assert_eq!((outcomes.failed.len(), outcomes.stopped.len()), (1, 3));
}

#[test]
fn flows_measured_alone_are_combined_only_if_complete() {
    let text = SMALL.replace("seed = 7", "seed = 7\none_at_a_time = true");
    let experiment = parse(&text);
    let whole = run(&experiment, &order(1, 2), Hooks::default());
    assert!(whole.apart.is_empty() && whole.is_complete());
    let first = &whole.variants[0].outcomes[0].variant;
    assert!(first.one_at_a_time && first.flows.len() == 2);
    // Only one flow of the second variant finishes.
    let counts = Counts { flow: Some(1), ..Counts::new("middle") };
    let on = Order { keep_going: true, ..order(1, 2) };
    let some = run(&experiment, &on, Hooks { captures: Some(&counts), ..Hooks::default() });
    let complete: Vec<usize> = some.variants.iter().map(|v| v.outcomes.len()).collect();
    assert_eq!((complete, some.failed.len(), some.apart.len()), (vec![1, 0, 1], 1, 1));
    let (job, outcome) = &some.apart[0];
    assert_eq!((job.variant, job.flow, outcome.variant.flows.len()), (1, Some(0), 1));
}

#[test]
fn finished_runs_are_not_repeated() {
    let requests = "app = { kind = \"request\", request = \"1kB\", response = \"50kB\" }\n";
    let text = SMALL.replace("[variants.slow]", &format!("{requests}[variants.slow]"));
    for text in [text.clone(), text.replace("seed = 7", "seed = 7\none_at_a_time = true")] {
        let experiment = parse(&text);
        let handed = Mutex::new(Vec::new());
        let keep = |job: &RunJob, outcome: &Outcome| {
            // Kept as bytes, as a caller does.
            let mut bytes = Packer::default();
            bytes.outcome(outcome);
            handed.lock().unwrap().push((*job, bytes.0));
        };
        let whole = run(&experiment, &order(2, 2), Hooks { finished: Some(&keep), ..Hooks::default() });
        let handed = handed.into_inner().unwrap();
        assert_eq!(handed.len(), order(2, 2).jobs(&experiment).len(), "each once");
        let some = handed.iter().step_by(2).map(|(job, bytes)| (*job, Unpacker(bytes).outcome().unwrap()));
        let some: Vec<(RunJob, Outcome)> = some.collect();
        let (there, again) = (some.len(), AtomicUsize::new(0));
        let count = |job: &RunJob, _: &Outcome| {
            assert!(handed.iter().step_by(2).all(|(there, _)| there != job), "{job:?} is already finished");
            again.fetch_add(1, Relaxed);
        };
        let hooks = Hooks { finished: Some(&count), done: some, ..Hooks::default() };
        let resumed = run(&experiment, &order(2, 2), hooks);
        assert_eq!(again.into_inner() + there, handed.len());
        assert!(bytes(&whole) == bytes(&resumed));
    }
}
