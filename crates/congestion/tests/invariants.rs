//! What must hold for every controller whatever happens: random lists of ACKs, losses, timeouts,
//! undos and pauses. A controller in the registry is tested here without another line.
mod harness;

use congestion::hsr::{Bound, Parameters};
use congestion::{Bbr, CaState, Controller, NAMES, RateSample, make};
use harness::{Flow, Subject};
use proptest::prelude::*;
use units::{Span, Stream};

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
    Send(u32),
    Wait(Span),
    Enter(CaState),
    Leave,
    TimeOut,
    Undo,
    Idle(Span),
    WindowLimited(bool),
}

/// Small values mostly, now and then absurd ones.
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
                ..RateSample::default()
            };
            flow.ack_with(rs);
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

/// From where to where an ACK may take the window: open it by what it delivers, and one for saved-up
/// credit. Compound's delay window may also go, and grows by the 3/4th power over eight.
fn reach(name: &str, before: u32, acked: u32) -> (u32, u32) {
    let most = before.saturating_add(acked).saturating_add(1);
    match name {
        "compound" => (1, most.saturating_add(libm::pow(most as f64, 0.75) as u32 / 8)),
        _ => (before, most),
    }
}

/// Runs the list, checks every step, and returns what was decided.
fn run(name: &str, clamp: u32, ops: &[Op]) -> Vec<(u32, u32, u64)> {
    run_with(make(name, 7, "flow").unwrap(), clamp, ops)
}

fn run_with(c: Box<dyn Controller>, clamp: u32, ops: &[Op]) -> Vec<(u32, u32, u64)> {
    let name = c.name();
    let mut flow = Flow::with(c);
    flow.start(&vectors::Start::default());
    flow.w.cwnd_clamp = clamp;
    flow.w.cwnd = flow.w.cwnd.min(clamp);
    flow.s.max_pacing_rate = 1 << 40;
    ops.iter()
        .map(|op| {
            let before = flow.w.cwnd;
            apply(&mut flow, op);
            let (s, w) = (&flow.s, &flow.w);
            assert!(w.cwnd >= 1 && w.cwnd <= clamp, "{name}: {op:?} made the window {}", w.cwnd);
            if !flow.c.owns_window() {
                assert!(w.ssthresh >= 2, "{name}: {op:?} made ssthresh {}", w.ssthresh);
                if let Op::Ack { acked, .. } = *op {
                    let (least, most) = reach(name, before, acked);
                    assert!(w.cwnd >= least && w.cwnd <= most, "{name}: {before} to {}", w.cwnd);
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
    fn windows_stay_in_bounds_and_the_same_seed_decides_the_same(
        clamp in prop_oneof![Just(u32::MAX), 1..200u32],
        ops in prop::collection::vec(op(), 1..200),
    ) {
        for name in NAMES {
            prop_assert_eq!(run(name, clamp, &ops), run(name, clamp, &ops), "{} replays", name);
        }
    }

    /// BBR-HSR with a bound that RTprop always exceeds and no handovers is BBR.
    #[test]
    fn bbr_hsr_without_its_parts_is_bbr(ops in prop::collection::vec(op(), 1..200)) {
        let t = Bound::At(Span::from_nanos(1));
        let parameters = Parameters { t, t1: Bound::None, ..Parameters::default() };
        let hsr = Bbr::hsr(Stream::new(7, "flow"), &parameters);
        prop_assert_eq!(run_with(Box::new(hsr), u32::MAX, &ops), run("bbr", u32::MAX, &ops));
    }
}

/// A loss costs every loss-based controller something, and an undo gives it back.
#[test]
fn a_loss_costs_and_an_undo_returns_it() {
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
