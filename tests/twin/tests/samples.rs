//! The model's sender held to recorded runs of the kernel's, packet by packet (`src/sample`).

use twin::sample::{self, Input, Log};

/// Runs that differ (control, paced, seed), and why.
const DIFFER: [(&str, bool, u64, &str); 0] = [];

fn differs(log: &Log) -> bool {
    let p = &log.plan;
    DIFFER
        .iter()
        .any(|&(control, paced, seed, _)| (control, paced, seed) == (p.control.name(), p.paced, p.seed))
}

#[test]
fn recorded_runs_are_identical() {
    let logs = sample::recorded().expect("a log");
    assert_eq!(logs.len(), 60);
    for log in logs.iter().filter(|log| !differs(log)) {
        if let Some(d) = sample::replay(log, true) {
            panic!("{}: {} at event {}: {}; model:{}", log.plan, d.what, d.event, d.how, d.model);
        }
    }
}

/// What is written down reads back.
#[test]
fn a_log_is_its_text() {
    let logs = sample::recorded().expect("a log");
    let text: String = logs.iter().map(Log::write).collect();
    assert_eq!(Log::read(&text).expect("reads"), logs);
    assert!(Log::read(&text.replace("\na ", "\nb ")).is_none(), "damaged");
}

/// An ACK that acknowledges a packet more than the kernel was told of is found out, in every run.
#[test]
fn a_wrong_input_is_found() {
    for mut log in sample::recorded().expect("a log").into_iter().filter(|log| !differs(log)) {
        let name = log.plan.to_string();
        let second = |e: &&mut sample::Event| match &e.input {
            Input::Segment(a) => a.ack > 0 && !e.out.is_empty(),
            _ => false,
        };
        let Some(event) = log.events.iter_mut().find(second) else { continue };
        let Input::Segment(ack) = &mut event.input else { continue };
        ack.ack -= 1;
        assert!(sample::replay(&log, true).is_some(), "{name}");
    }
}
