//! A run played in steps equals the run played at once; a caller's controllers replace those of the scenario.

use crate::common::{parse, path};
use congestion::{Controller, Socket, Window};
use sim::{OwnControls, SimOptions, SimSession};
use std::borrow::Cow;
use transport::Side;
use units::{Span, Time};

fn policed(cc: &str) -> String {
    let flows = format!(
        "[flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = \"{cc}\"\n[flows.g]\nfrom = \"b\"\nto = \"a\"\ncount = 2\nstart = \"300ms\"\n"
    );
    let stages = "{ kind = \"policer\", rate = \"10Mbit/s\", burst = \"40kB\" }";
    path("duration = \"4s\"\nseed = 7", stages, 30.0, &flows)
}

#[test]
fn a_run_is_the_same_to_the_byte_however_it_is_divided() {
    for (cc, host_jitter) in [("cubic", false), ("bbr", true)] {
        let scenario = parse(&policed(cc));
        let options = || SimOptions { seed: 3, host_jitter, ..SimOptions::default() };
        let whole = sim::run("v", &scenario, options());
        for step in [Span::from_micros(730), Span::from_millis(10), Span::from_secs(9)] {
            let mut session = SimSession::new(Cow::Borrowed(&scenario), options());
            let mut steps = 0u64;
            while !session.is_over() {
                let until = Time::ZERO + step * (steps + 1);
                assert_eq!(session.play_until(until), until.min(Time::ZERO + scenario.duration));
                steps += 1;
            }
            assert_eq!(steps, scenario.duration.as_nanos().div_ceil(step.as_nanos()));
            let cut = session.finish("v");
            assert!(whole == cut, "{cc}, steps of {step}");
        }
    }
}

/// A congestion control with a constant window.
struct Steady;

impl Controller for Steady {
    fn name(&self) -> &'static str {
        "steady"
    }
    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        w.cwnd
    }
    fn owns_window(&self) -> bool {
        true
    }
}

#[test]
fn a_callers_controller_drives_only_its_flow_and_names_it() {
    let scenario = parse(&path(
        "duration = \"3s\"",
        "",
        100.0,
        &policed("cubic").split_once("[flows.f]").map_or(String::new(), |(_, f)| format!("[flows.f]{f}")),
    ));
    let own: &OwnControls<'_> =
        &|flow, side| (flow == 0 && side == Side::Client).then(|| Box::new(Steady) as Box<dyn Controller>);
    let options = SimOptions { seed: 1, controls: Some(own), ..SimOptions::default() };
    let outcome = sim::run("v", &scenario, options);
    let flows = &outcome.variant.flows;
    assert_eq!(flows.iter().map(|f| f.cc.as_str()).collect::<Vec<_>>(), ["steady", "cubic", "cubic"]);
    // Ten packets of 1448 bytes, the initial window, per RTT of 100 ms.
    let rate = 10.0 * 1448.0 * 8.0 / 0.1 * 1e-6;
    assert!((flows[0].goodput_mbps / rate - 1.0).abs() < 0.1, "{} instead of {rate}", flows[0].goodput_mbps);
    assert!(flows[1].goodput_mbps > 2.0 * rate);
}

#[test]
fn a_window_set_between_steps_takes_effect() {
    let scenario = parse(&path("duration = \"4s\"", "", 100.0, "[flows.f]\nfrom = \"a\"\nto = \"b\"\n"));
    let own: &OwnControls<'_> = &|_, _| Some(Box::new(Steady));
    let options = SimOptions { seed: 1, controls: Some(own), ..SimOptions::default() };
    let mut session = SimSession::new(Cow::Borrowed(&scenario), options);
    let end = session.sending_end(0).expect("a connection");
    session.play_until(Time::ZERO + Span::from_secs(2));
    let slow = session.delivered_bytes(0);
    session.end_mut(end).expect("the connection exists").tx.w.cwnd = 40;
    session.play_until(Time::ZERO + Span::from_secs(4));
    let fast = session.delivered_bytes(0) - slow;
    let more = fast as f64 / slow as f64;
    assert!((3.8..4.4).contains(&more), "{more} times as much");
}
