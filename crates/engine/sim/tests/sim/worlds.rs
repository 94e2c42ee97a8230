//! Worlds run the simulator unchanged: with a passive actor, with a classic control, and with consistent
//! measurements.

use congestion::Control;
use scenario::{Experiment, Scenario};
use sim::world::{SCHEMES, World, WorldError, WorldOptions};
use units::Span;

fn policed(flow: &str) -> Scenario {
    let text = format!(
        r#"
duration = "4s"
[links.wan]
between = ["a", "b"]
forward = [{{ kind = "policer", rate = "10Mbit/s", burst = "40kB" }}, {{ kind = "delay", delay = "15ms" }}]
backward = [{{ kind = "delay", delay = "15ms" }}]
[flows.f]
from = "a"
to = "b"
{flow}"#
    );
    let read = Experiment::parse("t.toml", &text, &[]);
    read.unwrap_or_else(|e| panic!("{}", e.render())).variants.remove(0).scenario
}

fn options(scheme: &str) -> WorldOptions {
    let step = Span::from_millis(10);
    WorldOptions { flow: 0, seed: 1, step, scheme: scheme.into(), classic: None, host_jitter: false }
}

#[test]
fn a_classic_control_delivers_as_much_as_in_a_run() {
    for name in ["reno", "cubic", "bbr"] {
        let mut scenario = policed("");
        scenario.flows[0].cc = Control::named(name).unwrap();
        // The random stream differs, on which BBR's phases depend.
        let near = if name == "bbr" { 0.2 } else { 1e-9 };
        let outcome = sim::run("v", &scenario, sim::SimOptions { seed: 1, ..Default::default() });
        let mut world =
            World::new(scenario, WorldOptions { classic: Control::named(name), ..options("direct") })
                .unwrap();
        let mut delivered = 0.0;
        while !world.step(None).unwrap().over {
            delivered += world.figures().delivered;
        }
        let bytes = world.delivered_bytes() as f64;
        let whole = outcome.variant.flows[0].delivered_bytes as f64;
        assert!((bytes / whole - 1.0).abs() <= near, "{name}: {bytes} instead of {whole}");
        // Delivery as reported by ACKs is at most half an RTT behind the arrivals.
        let acknowledged = delivered * world.figures().mss;
        assert!(
            acknowledged / bytes > 0.98 && acknowledged / bytes < 1.01,
            "{name}: {acknowledged} of {bytes}"
        );
    }
}

#[test]
fn observations_are_bounded_and_actions_are_clamped() {
    for &(name, about, _) in SCHEMES {
        assert!(!about.is_empty());
        let mut worlds = [1e9, 1.0].map(|_| World::new(policed(""), options(name)).unwrap());
        let (len, high) = match worlds[0].action_space() {
            sim::world::ActionSpace::Box { len, high, .. } => (len, high),
            sim::world::ActionSpace::Discrete(n) => (1, n as f64 - 1.0),
        };
        let mut lost = 0.0;
        for _ in 0..100 {
            let far = worlds[0].step(Some(&vec![high * 100.0; len])).unwrap();
            let near = worlds[1].step(Some(&vec![high; len])).unwrap();
            assert_eq!(far, near, "{name}");
            let seen = worlds[0].observation();
            assert_eq!(seen, worlds[1].observation());
            lost += worlds[0].figures().lost;
            assert!(seen.iter().all(|x| x.is_finite() && x.abs() <= 10.0), "{name}: {seen:?}");
        }
        assert!(lost > 0.0, "{name}: the largest window through a policer loses");
    }
}

#[test]
fn impossible_options_and_actions_are_rejected() {
    let error = |flow: &str, w: WorldOptions| World::new(policed(flow), w).err();
    assert_eq!(error("count = 2", options("orca")), Some(WorldError::NoSender(0)));
    assert_eq!(error("", WorldOptions { flow: 1, ..options("orca") }), Some(WorldError::NoSender(1)));
    let udp = "app = { kind = \"udp\", rate = \"1Mbit/s\" }";
    assert_eq!(error(udp, options("orca")), Some(WorldError::NoSender(0)));
    assert_eq!(error("start = \"3990ms\"", options("orca")), Some(WorldError::NeverEstablished));
    assert_eq!(error("", WorldOptions { step: Span::ZERO, ..options("orca") }), Some(WorldError::NoStep));
    assert_eq!(error("", options("x")), Some(WorldError::Scheme("x".into())));
    let mut world = World::new(policed(""), options("direct")).unwrap();
    for wrong in [&[1.0][..], &[1.0, f64::NAN], &[]] {
        assert!(matches!(world.step(Some(wrong)), Err(WorldError::Action(_))));
    }
}

#[test]
fn a_finished_flow_is_reported() {
    let mut world =
        World::new(policed("app = { kind = \"bulk\", bytes = \"200kB\" }"), options("orca")).unwrap();
    let mut steps = 0;
    while !world.step(None).unwrap().done {
        steps += 1;
        assert!(steps < 390);
    }
    assert_eq!(world.delivered_bytes(), 200_000);
}
