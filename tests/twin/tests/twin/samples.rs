//! Compares the model's sender with recorded runs of the kernel's, packet by packet (`src/sample`).

use twin::sample::{self, Input, Log};

#[test]
fn recorded_runs_are_identical() {
    let logs = sample::recorded().expect("a log");
    assert_eq!(logs.len(), 60);
    for log in &logs {
        if let Some(d) = sample::replay(log, true) {
            panic!("{}: {} at event {}: {}; model:{}", log.plan, d.what, d.event, d.how, d.model);
        }
    }
}

/// A log that is written and read again is the same.
#[test]
fn a_log_survives_writing_and_reading() {
    let logs = sample::recorded().expect("a log");
    let text: String = logs.iter().map(Log::write).collect();
    assert_eq!(Log::read(&text).expect("reads"), logs);
    assert!(Log::read(&text.replace("\na ", "\nb ")).is_none(), "damaged");
}

/// An ACK that acknowledges one byte less than the kernel received is detected, in every run.
#[test]
fn a_wrong_input_is_detected() {
    for mut log in sample::recorded().expect("a log") {
        let name = log.plan.to_string();
        let acks = log.events.iter_mut().filter(|e| !e.out.is_empty()).map(|e| &mut e.input);
        let ack = acks.filter_map(|i| match i {
            Input::Segment(ack) if ack.ack > 0 => Some(ack),
            _ => None,
        });
        let Some(ack) = ack.into_iter().next() else { continue };
        ack.ack -= 1;
        assert!(sample::replay(&log, true).is_some(), "{name}");
    }
}
