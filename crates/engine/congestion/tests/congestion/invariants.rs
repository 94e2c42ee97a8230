//! Invariants of every controller under random sequences of ACKs, losses, timeouts,
//! undos and pauses. All controllers in the registry are tested automatically.

use crate::harness::{Flow, Subject};
use congestion::hsr::{Bound, HsrParameters};
use congestion::{Bbr, CaState, Control, Controller, LostPacket, NAMES, RateSample, make};
use proptest::prelude::*;
use units::{Choices, Span, Stream};

#[derive(Clone, Debug)]
enum Op {
    /// Packets newly delivered and lost, microseconds of RTT and rate interval.
    Ack {
        acked: u32,
        losses: u32,
        rtt_us: Option<u64>,
        interval_us: u64,
        app_limited: bool,
    },
    /// A lost packet: packets in flight when it was sent, packets lost since, its number.
    Lose {
        tx_in_flight: u32,
        lost: u32,
        seq: u64,
        app_limited: bool,
    },
    Send(u32),
    Wait(Span),
    Enter(CaState),
    Leave,
    TimeOut,
    Undo,
    Idle(Span),
    WindowLimited(bool),
}

/// Mostly small values, occasionally extreme ones.
fn count() -> impl Strategy<Value = u32> {
    prop_oneof![6 => 0..40u32, 2 => 0..10_000u32, 1 => Just(u32::MAX / 2)]
}

fn micros() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 1..400_000u64, 2 => 0..2_000u64, 1 => 0..10_000_000_000u64]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        12 => (count(), count(), prop::option::weighted(0.9, micros()), micros(), prop::bool::weighted(0.1))
            .prop_map(|(acked, losses, rtt_us, interval_us, app_limited)| Op::Ack {
                acked, losses: losses / 8, rtt_us, interval_us, app_limited
            }),
        4 => (count(), count(), 0..50u64, prop::bool::weighted(0.1)).prop_map(|(tx_in_flight, lost, seq, app_limited)| {
            Op::Lose { tx_in_flight, lost: lost / 8, seq, app_limited }
        }),
        6 => count().prop_map(Op::Send),
        8 => micros().prop_map(|us| Op::Wait(Span::from_micros(us))),
        1 => prop_oneof![Just(CaState::Recovery), Just(CaState::Cwr), Just(CaState::Disorder)].prop_map(Op::Enter),
        2 => Just(Op::Leave),
        1 => Just(Op::TimeOut),
        1 => Just(Op::Undo),
        1 => micros().prop_map(|us| Op::Idle(Span::from_micros(us))),
        1 => any::<bool>().prop_map(Op::WindowLimited),
    ]
}

fn apply(flow: &mut Flow, op: &Op) {
    match *op {
        Op::Ack { acked, losses, rtt_us, interval_us, app_limited } => {
            let rs = RateSample {
                prior_delivered: flow.s.delivered.saturating_sub(flow.s.inflight as u64),
                delivered: (interval_us % 7 != 0).then_some(acked),
                interval: Span::from_micros(interval_us),
                rtt: rtt_us.map(Span::from_micros),
                losses,
                acked_sacked: acked,
                prior_in_flight: flow.s.inflight,
                is_app_limited: app_limited,
                is_ack_delayed: interval_us % 5 == 0,
                tx_in_flight: flow.s.inflight,
                lost: losses,
                ece: interval_us % 31 == 0,
                ..RateSample::default()
            };
            flow.ack_with(rs);
        }
        Op::Lose { tx_in_flight, lost, seq, app_limited } => {
            let p =
                LostPacket { seq, end: seq + 1, packets: 1, tx_in_flight, lost, is_app_limited: app_limited };
            flow.s.lost += 1;
            flow.c.packet_lost(&flow.s, &mut flow.w, &p);
        }
        Op::Send(packets) => flow.send(packets),
        Op::Wait(span) => flow.wait(span),
        Op::Enter(CaState::Disorder) if flow.s.state > CaState::Disorder => {}
        Op::Enter(CaState::Disorder) => flow.s.state = CaState::Disorder,
        Op::Enter(state) => flow.enter(state),
        Op::Leave => flow.leave(),
        Op::TimeOut => flow.time_out(),
        Op::Undo => flow.undo(),
        Op::Idle(span) => flow.idle(span),
        Op::WindowLimited(limited) => flow.s.is_cwnd_limited = limited,
    }
}

/// Runs the sequence, checks every step, and returns the controller's decisions.
fn run(name: &str, clamp: u32, ops: &[Op]) -> Vec<(u32, u32, u64)> {
    run_with(make(name, 7, "flow").unwrap(), clamp, ops)
}

fn run_with(c: Box<dyn Controller>, clamp: u32, ops: &[Op]) -> Vec<(u32, u32, u64)> {
    let name = c.name();
    let control = Control::named(name).unwrap();
    let mut flow = Flow::with(c);
    flow.start(&vectors::Start::default());
    flow.w.cwnd_clamp = clamp;
    flow.w.cwnd = flow.w.cwnd.min(clamp);
    flow.s.max_pacing_rate = 1 << 40;
    ops.iter()
        .map(|op| {
            let before = flow.w.clone();
            apply(&mut flow, op);
            let (s, w) = (&flow.s, &flow.w);
            assert!(w.cwnd >= 1 && w.cwnd <= clamp, "{name}: {op:?} made the window {}", w.cwnd);
            if !flow.c.owns_window() {
                assert!(w.ssthresh >= 2, "{name}: {op:?} made ssthresh {}", w.ssthresh);
                if let Op::Ack { acked, .. } = *op {
                    let (least, most) = control.reach(&before, acked);
                    assert!(w.cwnd >= least && w.cwnd <= most, "{name}: {before:?} to {}", w.cwnd);
                }
            } else {
                assert!(w.pacing && w.pacing_rate <= s.max_pacing_rate);
            }
            assert!((1..=2).contains(&flow.c.min_tso_segs(w)) && flow.c.sndbuf_expand() >= 2);
            let probe = flow.c.probe();
            assert!(probe.pacing_gain.is_none_or(|gain| gain > 0.0));
            (w.cwnd, w.ssthresh, w.pacing_rate)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn windows_stay_in_bounds_and_runs_are_reproducible(
        clamp in prop_oneof![Just(u32::MAX), 1..200u32],
        ops in prop::collection::vec(op(), 1..200),
    ) {
        for name in NAMES {
            prop_assert_eq!(run(name, clamp, &ops), run(name, clamp, &ops), "{} replays", name);
        }
    }

    /// The invariants with random parameters, for controls that have any.
    #[test]
    fn the_invariants_hold_for_random_parameters(
        bytes in prop::collection::vec(any::<u8>(), 16),
        ops in prop::collection::vec(op(), 1..100),
    ) {
        for plain in NAMES.iter().filter_map(|name| Control::named(name)) {
            let control = plain.draw(&mut Choices(&bytes));
            prop_assert_eq!(control.check(), Ok(()));
            if control != plain {
                let once = || run_with(control.make(7, "flow"), u32::MAX, &ops);
                prop_assert_eq!(once(), once(), "{:?} replays", control);
            }
        }
    }

    /// BBR-HSR with a bound that RTprop always exceeds and no handovers is BBR.
    #[test]
    fn bbr_hsr_without_its_additions_equals_bbr(ops in prop::collection::vec(op(), 1..200)) {
        let t = Bound::At(Span::from_nanos(1));
        let parameters = HsrParameters { t, t1: Bound::None, ..HsrParameters::default() };
        let hsr = Bbr::hsr(Stream::new(7, "flow"), &parameters);
        prop_assert_eq!(run_with(Box::new(hsr), u32::MAX, &ops), run("bbr", u32::MAX, &ops));
    }
}

/// A loss reduces the window of every loss-based controller, and an undo restores it.
#[test]
fn a_loss_reduces_the_window_and_an_undo_restores_it() {
    for name in NAMES {
        let mut flow = Flow::new(name, 1);
        flow.w.cwnd = 100;
        flow.send(100);
        flow.wait(Span::from_millis(50));
        flow.ack(1, Span::from_millis(50));
        let before = flow.w.cwnd;
        flow.enter(CaState::Recovery);
        if !flow.c.owns_window() {
            assert!(flow.w.ssthresh < before, "{name}");
            flow.w.cwnd = flow.w.ssthresh;
        }
        flow.undo();
        assert_eq!(flow.w.cwnd, before, "{name}");
    }
}

/// Controls with parameters are drawn with values other than the published ones, and their schemas describe
/// each parameter.
#[test]
fn parameters_are_drawn_and_described() {
    let mut generator = schemars::SchemaGenerator::default();
    for (name, schema) in Control::schemas(&mut generator) {
        for (key, of) in schema.get("properties").and_then(|p| p.as_object()).into_iter().flatten() {
            assert!(of["description"].is_string(), "{name}: {key}");
        }
        let plain = Control::named(name).unwrap();
        let others =
            (0..100u8).filter(|&n| plain.draw(&mut Choices(&[n, n, 1, n, 1, n, n, 1])) != plain).count();
        assert!(others > 50, "{name}: {others}");
    }
}

#[test]
fn every_control_has_a_name_and_a_description() {
    let mut seen: Vec<&str> = Vec::new();
    for control in NAMES.iter().filter_map(|name| Control::named(name)) {
        let (label, about) = (control.label(), control.about());
        for text in [label.en, label.zh] {
            assert!(!text.is_empty() && text.trim() == text && !text.contains(['{', '}']), "{text:?}");
        }
        assert!(about.len() > 20 && about.ends_with('.'), "{}: {about}", control.name());
        assert!(!seen.contains(&label.en), "{label:?} twice");
        seen.push(label.en);
    }
}
