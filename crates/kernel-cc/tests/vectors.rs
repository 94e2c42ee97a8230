//! The programs for the kernel, compiled for this machine, against the shared vectors of `vectors/`
//! and, over random lists of moments, against the models of `crates/congestion`: the same window
//! and threshold at every step. No privileges, no clang; a C compiler.
#![cfg(all(unix, target_endian = "little"))]
mod native;

use congestion::{CaState, RateSample};
use native::Object;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use units::Span;
use vectors::{Action, Flow};

/// The name that models and vectors have for it, and the program's file: one line a program.
const PROGRAMS: &[(&str, &str)] = &[("westwood", "westwood"), ("compound", "compound")];

/// What only the models tell about themselves.
const UNSEEN: &[&str] = &["state", "btl_bw", "rt_prop", "pacing_gain", "cwnd_gain", "round"];

#[test]
fn every_program_decides_as_worked_out_by_hand() {
    let files = vectors::load().unwrap_or_else(|e| panic!("{e}"));
    for (name, file) in PROGRAMS {
        let object = Object::compile(name, file);
        let (mut checks, mut failures) = (0, Vec::new());
        for mut file in files.iter().filter(|f| f.algorithm == *name).cloned() {
            for step in file.vectors.iter_mut().flat_map(|v| &mut v.steps) {
                if let Action::Expect(wants) = &mut step.action {
                    wants.retain(|(key, _)| !UNSEEN.contains(key));
                    checks += wants.len();
                }
            }
            failures.extend(file.failures(&mut |v| {
                let plain = v.cc.as_str().is_some();
                plain
                    .then(|| Flow::with(Box::new(object.open())))
                    .ok_or_else(|| format!("{name}: parameters are not understood here"))
            }));
        }
        assert!(checks > 0, "vectors/{name}-….toml is missing");
        assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    }
}

/// What may happen to a connection; spans in microseconds, as the kernel counts.
#[derive(Clone, Debug)]
enum Moment {
    Ack { acked: u32, rtt_us: Option<u64>, losses: u32, app_limited: bool, delayed: bool },
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

fn moment() -> impl Strategy<Value = Moment> {
    let acked = prop_oneof![6 => 0..30u32, 2 => 0..2_000u32];
    let rtt = prop_oneof![8 => 20_000..400_000u64, 2 => 0..5_000u64, 1 => 0..30_000_000u64];
    let pause = prop_oneof![8 => 0..120_000u64, 1 => 0..20_000_000u64];
    prop_oneof![
        16 => (acked, prop::option::weighted(0.9, rtt), 0..3u32, any::<u8>()).prop_map(
            |(acked, rtt_us, losses, bits)| Moment::Ack {
                acked,
                rtt_us,
                losses,
                app_limited: bits % 16 == 0,
                delayed: bits % 8 == 1,
            }
        ),
        8 => (0..200u32).prop_map(Moment::Send),
        8 => pause.clone().prop_map(Moment::Wait),
        1 => prop_oneof![Just(CaState::Recovery), Just(CaState::Cwr), Just(CaState::Disorder)]
            .prop_map(Moment::Enter),
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

fn apply(flow: &mut Flow, moment: &Moment) {
    match *moment {
        Moment::Ack { acked, rtt_us, losses, app_limited, delayed } => {
            let rtt = rtt_us.map(Span::from_micros);
            flow.ack_with(RateSample {
                prior_delivered: flow.s.delivered.saturating_sub(flow.s.inflight as u64),
                delivered: rtt.map(|_| acked),
                interval: rtt.unwrap_or(Span::ZERO),
                rtt,
                losses,
                acked_sacked: acked,
                prior_in_flight: flow.s.inflight,
                is_app_limited: app_limited,
                is_ack_delayed: delayed,
                ..RateSample::default()
            });
        }
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
fn every_program_decides_as_its_model_whatever_happens() {
    for (name, file) in PROGRAMS {
        let object = Object::compile(name, file);
        let config = Config { failure_persistence: None, ..Config::with_cases(300) };
        // The same lists on every machine and in every run.
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let lists = prop::collection::vec(moment(), 1..300);
        let outcome =
            TestRunner::new_with_rng(config, rng).run(&(lists, any::<bool>()), |(list, clamped)| {
                let mut model = Flow::new(name, 1);
                let mut program = Flow::with(Box::new(object.open()));
                vectors::Subject::start(&mut program, &vectors::Start::default());
                for flow in [&mut model, &mut program] {
                    flow.w.cwnd_clamp = if clamped { 500 } else { u32::MAX };
                }
                prop_assert_eq!(model.c.owns_window(), program.c.owns_window());
                for (i, moment) in list.iter().enumerate() {
                    apply(&mut model, moment);
                    apply(&mut program, moment);
                    prop_assert_eq!(&model.w, &program.w, "{}: moment {}, {:?}", name, i, moment);
                    prop_assert_eq!(model.c.min_tso_segs(&model.w), program.c.min_tso_segs(&program.w));
                }
                prop_assert_eq!(model.c.sndbuf_expand(), program.c.sndbuf_expand());
                Ok(())
            });
        outcome.unwrap_or_else(|e| panic!("{e}"));
    }
}
