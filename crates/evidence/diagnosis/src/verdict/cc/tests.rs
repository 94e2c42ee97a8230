//! Synthetic flows that follow a control's law in whole segments, and the guesses at them.

use super::*;

const MSS: f64 = 1000.0;
const RTT: f64 = 0.1;

fn facts() -> FlowFacts {
    FlowFacts { mss: MSS, min_rtt: RTT, base: RTT, ..FlowFacts::default() }
}

fn round(from: f64, flight: f64, rtt: f64) -> RoundTripSpan {
    RoundTripSpan {
        from,
        width: rtt,
        packets: 1,
        inflight: flight.floor() * MSS,
        acked: flight.floor() * MSS,
        rtt_min: Some(rtt),
        rtt: Some(rtt),
        ..RoundTripSpan::default()
    }
}

/// A flow with losses at `peak` segments, each repaired in a round trip. A loss leaves the share `begin` of
/// the window, which then grows by `grows` as a function of seconds and round trips. Packets wait beyond
/// `holds` segments.
fn sawtooth(peak: f64, begin: f64, holds: f64, grows: impl Fn(f64, f64) -> f64) -> Vec<RoundTripSpan> {
    let mut out = Vec::new();
    let (mut now, mut start) = (0.0, begin * peak);
    for _ in 0..12 {
        let (mut seconds, mut rounds) = (0.0, 0.0);
        loop {
            let flight = start + grows(seconds, rounds);
            let rtt = RTT * (flight / holds).max(1.0);
            out.push(round(now, flight, rtt));
            (now, seconds, rounds) = (now + rtt, seconds + rtt, rounds + 1.0);
            if flight >= peak {
                let last = out.len() - 1;
                out[last].lost = 1;
                out.push(RoundTripSpan { resent: MSS, ..round(now, flight, rtt) });
                now += rtt;
                start = begin * flight;
                break;
            }
        }
    }
    out
}

fn guess(rounds: &[RoundTripSpan]) -> Guess {
    guess_by_window(rounds, &facts(), None)
}

fn assert_guess(rounds: &[RoundTripSpan], name: &str) {
    let guess = guess(rounds);
    assert!(guess.name == name && guess.confidence > 0.8, "{guess:?}, expected {name}");
}

#[test]
fn each_control_is_recognised_by_its_law() {
    // With a queue of a third of the path Westwood leaves three quarters.
    assert_guess(&sawtooth(80.0, 0.5, 60.0, |_, rounds| rounds), "reno");
    let cubic = |t: f64, _: f64| 0.4 * ((t - (60f64).cbrt()).powi(3) + 60.0);
    assert_guess(&sawtooth(80.0, 0.7, 200.0, cubic), "cubic");
    assert_guess(&sawtooth(80.0, 0.25, 20.0, |_, rounds| rounds), "westwood");
}

#[test]
fn a_window_that_follows_no_named_law_is_another_control() {
    assert_guess(&sawtooth(80.0, 0.8, 200.0, |_, rounds| 3.0 * rounds), "other");
}

#[test]
fn vegas_is_recognised_by_three_queued_segments() {
    let stands = |flight: f64, rtt: f64| {
        let mut rounds: Vec<RoundTripSpan> =
            (0..9).map(|i| round(i as f64 * RTT, 20.0 + i as f64, RTT)).collect();
        rounds.extend((0..200).map(|i| round(0.9 + i as f64 * rtt, flight, rtt)));
        guess(&rounds)
    };
    let vegas = stands(29.0, RTT * 29.0 / 26.0);
    assert!(vegas.name == "vegas" && vegas.confidence > 0.5, "{vegas:?}");
    // Vegas keeps neither half of its window queued nor nothing.
    assert_ne!(stands(29.0, RTT * 2.0).name, "vegas");
    assert_ne!(stands(29.0, RTT).name, "vegas");
}

/// A flow with BBR's cycle: six flat round trips, one with a quarter more, and four segments every ten
/// seconds.
fn probing(losses: bool) -> Vec<RoundTripSpan> {
    let cycle = |i: usize| match i {
        _ if i % 100 == 99 => 4.0,
        _ if i % 8 == 7 => 50.0,
        _ => 40.0,
    };
    let lost = |i: usize| losses && i % 24 == 20;
    let resent = |i: usize| if losses && i % 24 == 21 { MSS } else { 0.0 };
    (0..300)
        .map(|i| RoundTripSpan {
            lost: u32::from(lost(i)),
            resent: resent(i),
            ..round(i as f64 * RTT, cycle(i), RTT)
        })
        .collect()
}

#[test]
fn bbr_is_recognised_with_and_without_losses() {
    assert_guess(&probing(false), "bbr");
    assert_guess(&probing(true), "bbr");
}

#[test]
fn constant_inflight_names_no_control() {
    let flat: Vec<RoundTripSpan> = (0..200).map(|i| round(i as f64 * RTT, 40.0, RTT)).collect();
    assert!(!["bbr", "vegas", "cubic", "reno", "westwood"].contains(&guess(&flat).name.as_str()));
}

#[test]
fn a_flow_that_something_else_limits_names_no_control() {
    let mut held = sawtooth(80.0, 0.5, 60.0, |_, rounds| rounds);
    held.iter_mut().for_each(|r| r.window_full = r.width);
    assert_eq!(guess(&held), Guess { name: "other".into(), confidence: 0.0 });
    assert_eq!(guess(&[]), Guess { name: "other".into(), confidence: 0.0 });
}

/// Round trips of `flight` segments; every `each`-th loses a packet.
fn losing(flight: f64, each: usize) -> Vec<RoundTripSpan> {
    let lost = |i: usize| u32::from(i % each == 0);
    (0..200).map(|i| RoundTripSpan { lost: lost(i), ..round(i as f64 * RTT, flight, RTT) }).collect()
}

#[test]
fn a_sender_with_more_in_flight_than_losses_allow_does_not_respond_to_them() {
    // With a loss every fourth round trip Reno peaks at eight segments, and CUBIC lower.
    assert!(loss_law::holds_more(&losing(40.0, 4), MSS));
    assert_eq!(guess(&losing(40.0, 4)).name, "bbr");
    assert!(!loss_law::holds_more(&losing(8.0, 4), MSS));
    // Losses in every round trip, as behind a policer.
    assert_eq!(guess(&losing(40.0, 1)).name, "bbr");
    // Neither two losses nor a flow that follows the law show it.
    assert!(!loss_law::holds_more(&losing(40.0, 100), MSS));
    assert!(!loss_law::holds_more(&sawtooth(80.0, 0.5, 60.0, |_, rounds| rounds), MSS));
    let cubic = |t: f64, _: f64| 0.4 * ((t - (60f64).cbrt()).powi(3) + 60.0);
    assert!(!loss_law::holds_more(&sawtooth(80.0, 0.7, 200.0, cubic), MSS));
}
