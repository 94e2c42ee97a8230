//! BBR v3 on whole paths. Each test calculates what the draft (draft-ietf-ccwg-bbr-06) implies for its path,
//! and compares the run with that. The usual path: 50 Mbit/s and 40 ms, a BDP of 167 packets.

use crate::common::*;
use result::{FlowSeries, Outcome};

const PAYLOAD: f64 = 1448.0 / 1500.0;
/// BDP of 50 Mbit/s and 40 ms, packets of 1500 B.
const BDP: f64 = 50e6 * 0.04 / 12e3;

/// One flow over 50 Mbit/s with a queue of this many packets.
fn alone(cc: &str, seconds: u32, sample: &str, rtt_ms: f64, queue: u32, before: &str) -> Outcome {
    let head = format!("duration = \"{seconds}s\"\nsample = \"{sample}\"");
    let link = format!(
        "{before}{{ kind = \"link\", rate = \"50Mbit/s\", queue = {{ kind = \"fifo\", packets = {queue} }} }}"
    );
    run(&path(&head, &link, rtt_ms, &bulk(cc)))
}

fn share(o: &Outcome, name: &str) -> f64 {
    flow(o, name).goodput_mbps / (50.0 * PAYLOAD)
}

fn loss(o: &Outcome, name: &str) -> f64 {
    let f = flow(o, name);
    f.lost_packets.unwrap() as f64 / f.sent_packets as f64
}

/// An interval in one state: its name, begin and end, and the samples in it.
struct StateInterval<'a> {
    state: &'a str,
    from: f64,
    to: f64,
    at: std::ops::Range<usize>,
}

fn state_intervals(s: &FlowSeries) -> Vec<StateInterval<'_>> {
    let name = |i: usize| s.states[s.state[i] as usize].as_str();
    let mut intervals: Vec<StateInterval<'_>> = Vec::new();
    for i in 0..s.state.len() {
        match intervals.last_mut() {
            Some(last) if last.state == name(i) => (last.to, last.at.end) = (s.time_s[i], i + 1),
            _ => {
                if let Some(last) = intervals.last_mut() {
                    last.to = s.time_s[i];
                }
                intervals.push(StateInterval {
                    state: name(i),
                    from: s.time_s[i],
                    to: s.time_s[i],
                    at: i..i + 1,
                });
            }
        }
    }
    intervals.retain(|interval| !interval.state.is_empty()); // before it was established
    intervals
}

/// Intervals in a state that the end of the run did not truncate.
fn whole<'s, 'a>(
    intervals: &'s [StateInterval<'a>],
    state: &'s str,
) -> impl Iterator<Item = &'s StateInterval<'a>> {
    intervals[..intervals.len() - 1].iter().filter(move |interval| interval.state == state)
}

/// STARTUP doubles from 10 packets past 167 in about four rounds of 40 ms, and ends after three rounds
/// without growth, with the queue's RTT: before 0.7 s. DRAIN, at half the bandwidth, takes 2 RTTs to send one
/// BDP less than it delivers. It ends by the same condition as DOWN, so DOWN is skipped, and one BDP, a burst
/// and the change within a sample (1 ms: 4 packets) are in flight. The bandwidth is known to 2 % (the draft's
/// appendix).
#[test]
fn startup_finds_the_rate_and_drain_empties_the_queue() {
    let o = alone("bbr3", 4, "1ms", 40.0, 1700, "");
    let s = series(&o, "f");
    let intervals = state_intervals(s);
    let order: Vec<&str> = intervals.iter().take(3).map(|interval| interval.state).collect();
    assert_eq!(order, ["STARTUP", "DRAIN", "PROBE_BW_CRUISE"]);
    println!(
        "STARTUP {:.3} s, DRAIN {:.3} s",
        intervals[0].to - intervals[0].from,
        intervals[1].to - intervals[1].from
    );
    assert!(intervals[0].to - intervals[0].from < 0.7);
    assert!((0.04..=0.12).contains(&(intervals[1].to - intervals[1].from)));
    let after = s.inflight[intervals[2].at.start] as f64;
    println!("{after} in flight after DRAIN, BDP {BDP:.0}");
    assert!(after <= BDP + 4.0 + 8.0, "{after}");
    // The pacing rate is 1 % below the estimate.
    let paced = mean(s.pacing_mbps[intervals[2].at.clone()].iter().flatten().copied());
    close("pacing in CRUISE, Mbit/s", paced, 50.0 * PAYLOAD * 0.99, 2.0);
    assert_eq!(flow(&o, "f").lost_packets, Some(0));
}

/// The cycle is DOWN, CRUISE, REFILL, UP. From DOWN (or the end of PROBE_RTT) to REFILL it takes two to three
/// seconds, but at most 63 rounds: with 40.3 ms that is 2.54 s, a little more while a queue lasts. REFILL
/// takes one round, UP at least three and with a growing queue at most five. PROBE_RTT begins 5 s after the
/// last one, and takes 200 ms and up to two rounds.
#[test]
fn probe_bw_cycles_at_the_drafts_intervals() {
    let o = alone("bbr3", 40, "2ms", 40.0, 1700, "");
    let intervals = state_intervals(series(&o, "f"));
    let next = |state| match state {
        "PROBE_BW_DOWN" => "PROBE_BW_CRUISE",
        "PROBE_BW_CRUISE" => "PROBE_BW_REFILL",
        "PROBE_BW_REFILL" => "PROBE_BW_UP",
        "PROBE_BW_UP" => "PROBE_BW_DOWN",
        _ => "",
    };
    let (mut start, mut waits) = (0.0, Vec::new());
    for (i, w) in intervals.windows(2).enumerate() {
        let from_probe_rtt = w[0].state == "PROBE_RTT";
        assert!(
            w[1].state == next(w[0].state)
                || w[1].state == "PROBE_RTT"
                || from_probe_rtt && w[1].state == "PROBE_BW_CRUISE"
                || i == 0 && w[1].state == "DRAIN"
                || i == 1 && w[1].state == "PROBE_BW_CRUISE",
            "{} after {}",
            w[1].state,
            w[0].state
        );
        match w[1].state {
            "PROBE_BW_DOWN" => start = w[1].from,
            "PROBE_BW_CRUISE" if from_probe_rtt || i == 1 => start = w[1].from,
            "PROBE_BW_REFILL" => waits.push(w[1].from - start),
            _ => {}
        }
    }
    println!("waits {waits:.3?}");
    assert!(waits.len() >= 8 && waits.iter().all(|wait| (2.0..2.75).contains(wait)), "{waits:?}");
    let spread =
        waits.iter().fold(0.0, |a: f64, &b| a.max(b)) - waits.iter().fold(9.0, |a: f64, &b| a.min(b));
    assert!(spread > 0.05, "waits are random, {waits:?}");
    for (state, least, most) in
        [("PROBE_BW_REFILL", 0.036, 0.06), ("PROBE_BW_UP", 0.12, 0.26), ("PROBE_RTT", 0.2, 0.34)]
    {
        // PROBE_RTT may occur in between.
        let ended = intervals.windows(2).filter(|w| w[0].state == state && w[1].state != "PROBE_RTT");
        let lengths: Vec<f64> = ended.map(|w| w[0].to - w[0].from).collect();
        println!("{state} {lengths:.3?}");
        assert!(
            lengths.len() >= 5 && lengths.iter().all(|l| (least..most).contains(l)),
            "{state}: {lengths:?}"
        );
    }
    let probes: Vec<f64> = whole(&intervals, "PROBE_RTT").map(|interval| interval.from).collect();
    for pair in probes.windows(2) {
        let interval = pair[1] - pair[0];
        assert!((5.0..5.5).contains(&interval), "PROBE_RTT at {probes:?}");
    }
    assert!(share(&o, "f") > 0.95, "{}", share(&o, "f"));
}

/// At 10 ms the BDP is 42 packets, so Reno would need 42 rounds to grow by it: 0.43 s of rounds of 10.3 ms,
/// the last ones a little longer.
#[test]
fn short_paths_probe_as_often_as_reno() {
    let o = alone("bbr3", 10, "1ms", 10.0, 1700, "");
    let intervals = state_intervals(series(&o, "f"));
    let mut waits = Vec::new();
    for w in intervals.windows(3) {
        if w[0].state == "PROBE_BW_DOWN" && w[2].state == "PROBE_BW_REFILL" {
            waits.push(w[2].from - w[0].from);
        }
    }
    println!("waits {waits:.3?}");
    assert!(waits.len() >= 10 && waits.iter().all(|wait| (0.40..0.56).contains(wait)), "{waits:?}");
}

/// PROBE_RTT keeps half a BDP in flight, v1 only four packets: while PROBE_RTT lasts, half the rate arrives.
#[test]
fn probe_rtt_keeps_half_the_rate_and_v1_stops() {
    let lowest = |cc: &str, seconds: u32| {
        let o = alone(cc, seconds, "2ms", 40.0, 1700, "");
        let s = series(&o, "f");
        let intervals = state_intervals(s);
        let interval = whole(&intervals, "PROBE_RTT").next().expect("PROBE_RTT");
        let least = s.inflight[interval.at.clone()].iter().copied().min().unwrap();
        (least as f64, goodput(s, interval.from, interval.to) / (50.0 * PAYLOAD))
    };
    let (v3, rate3) = lowest("bbr3", 8);
    let (v1, rate1) = lowest("bbr", 13);
    println!("v3 {v3} packets, {rate3:.2} of the rate; v1 {v1} packets, {rate1:.2}");
    assert!((BDP * 0.45..BDP * 0.52).contains(&v3) && v1 <= 4.0);
    assert!(rate3 > 0.45 && rate1 < 0.35);
}

/// A queue of a tenth of a BDP overflows in every probe. UP sends a quarter more for the round until losses
/// are reported, so a probe loses 42 packets minus the 17 that the queue holds, and some more because pacing
/// is bursty. Probes are at least 2 s apart, 8300 packets: at most 0.5 % loss. v1 loses packets in every
/// eighth round, since its window is two BDPs. In CRUISE the window is 0.85 of the amount that was too much,
/// BDP plus queue: 156.
#[test]
fn a_shallow_queue_is_found_and_respected() {
    let (o, old) = (alone("bbr3", 30, "10ms", 40.0, 17, ""), alone("bbr", 30, "10ms", 40.0, 17, ""));
    let (v3, v1) = (loss(&o, "f"), loss(&old, "f"));
    let s = series(&o, "f");
    let intervals = state_intervals(s);
    let ups = intervals.iter().filter(|interval| interval.state == "PROBE_BW_UP").count();
    println!(
        "loss: v3 {:.3} %, v1 {:.3} %; {ups} probes; share {:.3}",
        v3 * 100.0,
        v1 * 100.0,
        share(&o, "f")
    );
    assert!(v3 < 0.005 && v1 > 0.02 && v1 > 5.0 * v3);
    assert!(ups >= 8 && share(&o, "f") > 0.88);
    let cruise = whole(&intervals, "PROBE_BW_CRUISE").filter(|interval| interval.from > 5.0);
    for interval in cruise {
        let cwnd = s.cwnd[interval.at.end - 1] as f64;
        let bound = 0.85 * (BDP + 17.0);
        assert!((bound * 0.85..bound * 1.1).contains(&cwnd), "{cwnd} of {bound:.0} at {}", interval.from);
    }
}

/// 1 % of random loss is below the loss threshold of a probe. In CRUISE the rate falls by at most 1 % of loss
/// and 1 % of pacing margin per round, 0.98^63 = 0.28, and less as the bounds follow the best sample of a
/// round. Each probe restores it, so more than half of the rate remains. 5 % is above the threshold: every
/// probe fails, and the flow falls far below v1, which has no such bound.
#[test]
fn one_percent_of_loss_is_tolerated_and_five_are_not() {
    let random = |cc: &str, p: f64| {
        let before = format!("{{ kind = \"loss\", probability = {p} }}, ");
        share(&alone(cc, 30, "10ms", 40.0, 170, &before), "f")
    };
    let (one, five) = (random("bbr3", 0.01), random("bbr3", 0.05));
    let (one_v1, five_v1, one_cubic) = (random("bbr", 0.01), random("bbr", 0.05), random("cubic", 0.01));
    println!("1 %: v3 {one:.3}, v1 {one_v1:.3}, CUBIC {one_cubic:.3}; 5 %: v3 {five:.3}, v1 {five_v1:.3}");
    assert!(one > 0.7 && one > 4.0 * one_cubic, "{one}");
    assert!(five < 0.35 && five_v1 > 0.8, "{five} {five_v1}");
}

/// A queue of one BDP shared with a loss-based flow: v1 leaves that flow a tenth, v3 at least twice as much.
#[test]
fn bbr3_leaves_loss_based_flows_more_than_v1() {
    for other in ["cubic", "reno"] {
        let left = |cc: &str| {
            let link = "{ kind = \"link\", rate = \"50Mbit/s\", queue = { kind = \"fifo\", packets = 167 } }";
            let flows = format!("{}[flows.g]\nfrom = \"a\"\nto = \"b\"\ncc = \"{other}\"\n", bulk(cc));
            let o = run(&path("duration = \"60s\"\nsample = \"0s\"", link, 40.0, &flows));
            (share(&o, "g"), share(&o, "f") + share(&o, "g"))
        };
        let ((v3, total), (v1, _)) = (left("bbr3"), left("bbr"));
        println!("{other} keeps {v3:.3} next to v3, {v1:.3} next to v1; together {total:.3}");
        assert!(v3 > 2.0 * v1 && v3 < 0.6 && total > 0.95);
    }
}

/// Ten times the bandwidth at 10 s: the next probe begins after at most 33 rounds (the BDP was 33 packets),
/// 1.4 s, and UP then grows by a quarter per round, ln 10 / ln 1.24 = 11 rounds, 0.5 s. When the bandwidth is
/// reduced again at 20 s, the maximum expires after two cycles of at most 3 s and a PROBE_RTT each; until
/// then the short-term bounds follow the losses.
#[test]
fn bbr3_follows_a_tenfold_change() {
    let stage = "{ kind = \"rate-trace\", steps = [{ at = \"0s\", rate = \"10Mbit/s\" }, { at = \"10s\", rate = \"100Mbit/s\" }, { at = \"20s\", rate = \"10Mbit/s\" }], queue = { kind = \"fifo\", packets = 330 } }";
    let o = run(&path("duration = \"34s\"\nsample = \"10ms\"", stage, 40.0, &bulk("bbr3")));
    let s = series(&o, "f");
    for (from, to, rate) in [(4.0, 10.0, 10.0), (13.0, 20.0, 100.0), (28.0, 34.0, 10.0)] {
        let share = goodput(s, from, to) / (rate * PAYLOAD);
        let at = s.time_s.partition_point(|&t| t < to - 0.5);
        let paced = s.pacing_mbps[at].expect("BBR paces");
        println!("{from} to {to} s: {share:.3} of {rate} Mbit/s, paced at {paced:.1}");
        assert!(share > 0.9, "{share} of {rate}");
        assert!(paced < rate * 1.3, "paced at {paced} of {rate}");
    }
}
