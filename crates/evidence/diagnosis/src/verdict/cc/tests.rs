//! Flows made by rule: what the laws say of themselves, in whole segments, and what the guess says of them.

use super::*;

const MSS: f64 = 1000.0;
const RTT: f64 = 0.1;

fn facts() -> FlowFacts {
    FlowFacts { mss: MSS, least: RTT, base: RTT, ..FlowFacts::default() }
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

/// Losses at `most` segments, each repaired in a round trip; the window is `begin` of what it was, and then what `grows`
/// says after so many seconds and round trips. Beyond `holds` segments packets wait.
fn sawtooth(most: f64, begin: f64, holds: f64, grows: impl Fn(f64, f64) -> f64) -> Vec<RoundTripSpan> {
    let mut out = Vec::new();
    let (mut now, mut start) = (0.0, begin * most);
    for _ in 0..12 {
        let (mut seconds, mut rounds) = (0.0, 0.0);
        loop {
            let flight = start + grows(seconds, rounds);
            let rtt = RTT * (flight / holds).max(1.0);
            out.push(round(now, flight, rtt));
            (now, seconds, rounds) = (now + rtt, seconds + rtt, rounds + 1.0);
            if flight >= most {
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

fn said(rounds: &[RoundTripSpan]) -> Guess {
    guess_by_window(rounds, &facts(), None)
}

fn is_sure_of(rounds: &[RoundTripSpan], name: &str) {
    let said = said(rounds);
    assert!(said.name == name && said.confidence > 0.8, "{said:?}, wanted {name}");
}

#[test]
fn each_law_is_known_by_its_course() {
    // A queue of a third of the path: Westwood would leave three quarters.
    is_sure_of(&sawtooth(80.0, 0.5, 60.0, |_, rounds| rounds), "reno");
    let cubic = |t: f64, _: f64| 0.4 * ((t - (60f64).cbrt()).powi(3) + 60.0);
    is_sure_of(&sawtooth(80.0, 0.7, 200.0, cubic), "cubic");
    is_sure_of(&sawtooth(80.0, 0.25, 20.0, |_, rounds| rounds), "westwood");
}

#[test]
fn what_grows_as_none_of_them_is_another() {
    is_sure_of(&sawtooth(80.0, 0.8, 200.0, |_, rounds| 3.0 * rounds), "other");
}

#[test]
fn vegas_keeps_three_segments_waiting() {
    let stands = |flight: f64, rtt: f64| {
        let mut rounds: Vec<RoundTripSpan> =
            (0..9).map(|i| round(i as f64 * RTT, 20.0 + i as f64, RTT)).collect();
        rounds.extend((0..200).map(|i| round(0.9 + i as f64 * rtt, flight, rtt)));
        said(&rounds)
    };
    let vegas = stands(29.0, RTT * 29.0 / 26.0);
    assert!(vegas.name == "vegas" && vegas.confidence > 0.5, "{vegas:?}");
    // A window of which half waits is not one that Vegas keeps, and neither is one that waits nowhere.
    assert_ne!(stands(29.0, RTT * 2.0).name, "vegas");
    assert_ne!(stands(29.0, RTT).name, "vegas");
}

/// A flight that cycles: six round trips flat, one with a quarter more, and every ten seconds four segments.
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
fn bbr_probes_whether_it_loses_or_not() {
    is_sure_of(&probing(false), "bbr");
    is_sure_of(&probing(true), "bbr");
}

#[test]
fn a_flat_flight_is_nobodys() {
    let flat: Vec<RoundTripSpan> = (0..200).map(|i| round(i as f64 * RTT, 40.0, RTT)).collect();
    assert!(!["bbr", "vegas", "cubic", "reno", "westwood"].contains(&said(&flat).name.as_str()));
}

#[test]
fn what_something_else_held_says_nothing() {
    let mut held = sawtooth(80.0, 0.5, 60.0, |_, rounds| rounds);
    held.iter_mut().for_each(|r| r.window_full = r.width);
    assert_eq!(said(&held), Guess { name: "other".into(), confidence: 0.0 });
    assert_eq!(said(&[]), Guess { name: "other".into(), confidence: 0.0 });
}

/// Round trips of `flight` segments, of which every `each`-th loses a packet.
fn losing(flight: f64, each: usize) -> Vec<RoundTripSpan> {
    let lost = |i: usize| u32::from(i % each == 0);
    (0..200).map(|i| RoundTripSpan { lost: lost(i), ..round(i as f64 * RTT, flight, RTT) }).collect()
}

#[test]
fn who_holds_more_than_losses_leave_does_not_respond_to_them() {
    // A loss every fourth round trip leaves Reno eight segments at its peak, and CUBIC fewer.
    assert!(loss_law::holds_more(&losing(40.0, 4), MSS));
    assert_eq!(said(&losing(40.0, 4)).name, "bbr");
    assert!(!loss_law::holds_more(&losing(8.0, 4), MSS));
    // Losses in every round trip, as behind a policer.
    assert_eq!(said(&losing(40.0, 1)).name, "bbr");
    // Two losses say nothing, and neither does what the laws themselves give.
    assert!(!loss_law::holds_more(&losing(40.0, 100), MSS));
    assert!(!loss_law::holds_more(&sawtooth(80.0, 0.5, 60.0, |_, rounds| rounds), MSS));
    let cubic = |t: f64, _: f64| 0.4 * ((t - (60f64).cbrt()).powi(3) + 60.0);
    assert!(!loss_law::holds_more(&sawtooth(80.0, 0.7, 200.0, cubic), MSS));
}
