//! Tests the eBPF programs, compiled for this machine, against the shared vectors of `vectors/` and, over
//! random lists of events, against the models of `crates/engine/congestion`: same window and threshold at
//! every step. Needs a C compiler, but no privileges and no clang.
#![cfg(all(unix, target_endian = "little"))]
mod native;

use congestion::{CaState, Control, Probe, RateSample};
use native::Object;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use units::Span;
use vectors::{Action, Flow};

/// Name in models and vectors, and the program's file: one line per program.
const PROGRAMS: &[(&str, &str)] =
    &[("westwood", "westwood"), ("compound", "compound"), ("bbr-hsr", "bbr_hsr")];

/// BBR starts PROBE_BW in one of seven phases.
const PHASES: u64 = 7;

/// Parameters of the random lists, as in a scenario.
fn settings(name: &str) -> &'static [&'static str] {
    match name {
        "bbr-hsr" => &[
            "",
            "T = \"none\"",
            "T = \"none\"\nT1 = \"150ms\"\nT2 = \"140ms\"\nalpha = 1.0",
            "T1 = \"150ms\"\nT2 = \"140ms\"\nbw_rec = \"20Mbit/s\"\nalpha = 0.01",
            "T = \"1us\"\nT1 = \"none\"",
        ],
        _ => &[""],
    }
}

fn control(name: &str, table: toml::Table) -> Result<Control, String> {
    let control = Control::named(name).ok_or_else(|| format!("no algorithm is called {name}"))?;
    control.with(table).map_err(|e| e.to_string())
}

/// Properties that only models report, and programs with `host_probe`.
const MODEL_ONLY: &[&str] = &["state", "btl_bw", "rt_prop", "pacing_gain", "cwnd_gain", "round"];
/// Properties that no program reports.
const NEVER_REPORTED: &[&str] = &["cwnd_gain"];

#[test]
fn every_program_agrees_with_the_hand_computed_vectors() {
    let files = vectors::load().unwrap_or_else(|e| panic!("{e}"));
    for (name, file) in PROGRAMS {
        let object = Object::compile(name, file);
        let not_reported = if object.open().has_probe() { NEVER_REPORTED } else { MODEL_ONLY };
        let (mut checks, mut failures) = (0, Vec::new());
        for mut file in files.iter().filter(|f| f.algorithm == *name).cloned() {
            for step in file.vectors.iter_mut().flat_map(|v| &mut v.steps) {
                if let Action::Expect(wants) = &mut step.action {
                    wants.retain(|(key, _)| !not_reported.contains(key));
                    checks += wants.len();
                }
            }
            failures.extend(file.failures(&mut |v| {
                let mut table = v.cc.as_table().cloned().unwrap_or_default();
                table.remove("name");
                let program = object.open().like(&control(name, table)?, v.start.seed, PHASES);
                Ok(Flow::with(Box::new(program)))
            }));
        }
        assert!(checks > 0, "vectors/{name}-….toml is missing");
        assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    }
}

/// Events of a connection; durations in microseconds, as in the kernel.
#[derive(Clone, Debug)]
enum Moment {
    Ack {
        acked: u32,
        rtt_us: Option<u64>,
        losses: u32,
        bits: u8,
    },
    /// A window is sent and acknowledged in two halves.
    Round {
        rtt_us: u64,
        ece: bool,
    },
    /// Duplicate ACKs, and the ACK that fills the hole, off the fast path.
    Hole {
        duplicates: u32,
        filled: u32,
    },
    /// A loss that is repaired at once.
    Loss,
    Send(u32),
    Wait(u64),
    Enter(CaState),
    Leave,
    TimeOut,
    Undo,
    Idle(u64),
    Restart(u32),
    Limited(bool),
    Window(u32),
    Threshold(u32),
}

/// Events of a long fat path without surprises.
fn calm() -> impl Strategy<Value = Moment> {
    let queued = prop_oneof![3 => 100_000..101_000u64, 1 => 100_000..140_000u64];
    prop_oneof![
        40 => (queued, prop::bool::weighted(0.1)).prop_map(|(rtt_us, ece)| Moment::Round { rtt_us, ece }),
        4 => (0..40u32, 0..40u32).prop_map(|(duplicates, filled)| Moment::Hole { duplicates, filled }),
        8 => Just(Moment::Loss),
        1 => Just(Moment::Undo),
        1 => Just(Moment::TimeOut),
        1 => Just(Moment::Leave),
        1 => (30..60u32).prop_map(Moment::Window),
    ]
}

fn wild() -> impl Strategy<Value = Moment> {
    let acked = prop_oneof![6 => 0..30u32, 2 => 0..2_000u32];
    let rtt = prop_oneof![8 => 20_000..400_000u64, 2 => 0..5_000u64, 1 => 0..30_000_000u64];
    let pause = prop_oneof![8 => 0..120_000u64, 1 => 0..20_000_000u64];
    prop_oneof![
        16 => (acked, prop::option::weighted(0.9, rtt), 0..3u32, any::<u8>()).prop_map(
            |(acked, rtt_us, losses, bits)| Moment::Ack { acked, rtt_us, losses, bits }
        ),
        12 => calm(),
        8 => (0..200u32).prop_map(Moment::Send),
        8 => pause.clone().prop_map(Moment::Wait),
        1 => prop::sample::select(&[CaState::Recovery, CaState::Cwr, CaState::Disorder][..]).prop_map(Moment::Enter),
        2 => Just(Moment::Leave),
        1 => Just(Moment::TimeOut),
        1 => Just(Moment::Undo),
        1 => pause.prop_map(Moment::Idle),
        1 => (1..20u32).prop_map(Moment::Restart),
        1 => any::<bool>().prop_map(Moment::Limited),
        1 => prop_oneof![4 => 1..2_000u32, 1 => 1..20_000_000u32].prop_map(Moment::Window),
        1 => (2..400u32).prop_map(Moment::Threshold),
    ]
}

/// Bits of an ACK: ECN echo, application-limited packets, delayed ACK.
const ECE: u8 = 1;

fn ack(flow: &mut Flow, acked: u32, rtt: Option<Span>, losses: u32, bits: u8) {
    flow.ack_with(RateSample {
        prior_delivered: flow.s.delivered.saturating_sub(flow.s.inflight as u64),
        delivered: rtt.map(|_| acked),
        interval: rtt.unwrap_or(Span::ZERO),
        rtt,
        losses,
        acked_sacked: acked,
        prior_in_flight: flow.s.inflight,
        ece: bits & ECE != 0,
        is_app_limited: bits & 0b1110 == 0,
        is_ack_delayed: bits & 0b111_0000 == 0,
        ..RateSample::default()
    });
}

fn apply(flow: &mut Flow, moment: &Moment) {
    match *moment {
        Moment::Ack { acked, rtt_us, losses, bits } => {
            ack(flow, acked, rtt_us.map(Span::from_micros), losses, bits);
        }
        Moment::Round { rtt_us, ece } => {
            let window = flow.w.cwnd.min(2_000);
            flow.send(window);
            for part in [window / 2, window - window / 2] {
                flow.wait(Span::from_micros(rtt_us / 2));
                ack(flow, part, Some(Span::from_micros(rtt_us)), 0, if ece { ECE } else { !ECE });
            }
        }
        Moment::Hole { duplicates, filled } => {
            for _ in 0..duplicates {
                flow.wait(Span::from_micros(500));
                ack(flow, 0, None, 0, !ECE);
            }
            ack(flow, filled, None, 0, ECE);
        }
        Moment::Loss => flow.lose(),
        Moment::Send(packets) => flow.send(packets),
        Moment::Wait(us) => flow.wait(Span::from_micros(us)),
        Moment::Enter(CaState::Disorder) if flow.s.state > CaState::Disorder => {}
        Moment::Enter(state) if state < flow.s.state => {}
        Moment::Enter(CaState::Disorder) => flow.s.state = CaState::Disorder,
        Moment::Enter(state) => flow.enter(state),
        Moment::Leave => flow.leave(),
        Moment::TimeOut => flow.time_out(),
        Moment::Undo => flow.undo(),
        Moment::Idle(us) => flow.idle(Span::from_micros(us)),
        Moment::Restart(packets) => flow.restart(packets),
        Moment::Limited(limited) => flow.s.is_cwnd_limited = limited,
        Moment::Window(packets) => flow.w.cwnd = packets,
        Moment::Threshold(packets) => flow.w.ssthresh = packets,
    }
}

#[test]
fn every_program_agrees_with_its_model_on_random_events() {
    for (name, file) in PROGRAMS {
        let object = Object::compile(name, file);
        let config = Config { failure_persistence: None, ..Config::with_cases(300) };
        // The same lists on every machine and in every run.
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let lists = prop_oneof![prop::collection::vec(calm(), 1..300), prop::collection::vec(wild(), 1..300)];
        let setting = prop::sample::select(settings(name));
        let outcome = TestRunner::new_with_rng(config, rng).run(
            &(lists, any::<bool>(), setting, 0..50u64),
            |(list, clamped, setting, seed)| {
                let control = control(name, setting.parse().unwrap()).unwrap();
                let mut model = Flow::with(control.make(seed, "flow"));
                let mut program = Flow::with(Box::new(object.open().like(&control, seed, PHASES)));
                for flow in [&mut model, &mut program] {
                    vectors::Subject::start(flow, &vectors::Start::default());
                    flow.w.cwnd_clamp = if clamped { 500 } else { u32::MAX };
                }
                prop_assert_eq!(model.c.owns_window(), program.c.owns_window());
                for (i, moment) in list.iter().enumerate() {
                    apply(&mut model, moment);
                    apply(&mut program, moment);
                    prop_assert_eq!(&model.w, &program.w, "{}: moment {}, {:?}", name, i, moment);
                    prop_assert_eq!(model.c.min_tso_segs(&model.w), program.c.min_tso_segs(&program.w));
                    let (expected, seen) = (model.c.probe(), program.c.probe());
                    if !seen.state.is_empty() {
                        let seen = Probe { cwnd_gain: expected.cwnd_gain, ..seen };
                        prop_assert_eq!(expected, seen, "{}: event {}, {:?}", name, i, moment);
                    }
                }
                prop_assert_eq!(model.c.sndbuf_expand(), program.c.sndbuf_expand());
                Ok(())
            },
        );
        outcome.unwrap_or_else(|e| panic!("{e}"));
    }
}
