//! Which congestion control the sender seems to use.
//!
//! By how much it lets its window fall at a loss: Reno to 0.5 (RFC 5681 section 3.1), CUBIC to 0.7 (RFC 9438 section
//! 4.6), BBR not at all but four segments in flight for 200 ms every ten seconds (ProbeRTT) and a quarter more for one
//! round trip in eight. Where the window is not what limits, nothing can be said.

use super::evidence::FlowFacts;
use super::round_trips::RoundTripSpan;
use result::diagnosis::Guess;
use track::Track;

/// A guess less sure is none.
const LEAST: f64 = 0.3;
/// Decreases needed for an opinion.
const FEWEST: usize = 2;

/// When Linux first had BBR (4.9, 2016-12-11) and CUBIC (2.6.13, 2005-08-29), seconds since 1970: no capture from before
/// shows them.
const SINCE: [(&str, f64); 2] = [("bbr", 1_481_414_400.0), ("cubic", 1_125_273_600.0)];

/// 1988-01-01, the year of the first tcpdump: a clock that says less has no date, as that of a simulator.
const DATED: f64 = 567_993_600.0;

/// The flight falls to less than this at a loss that a sender answers: halfway between CUBIC's share and all.
const ANSWERED: f64 = 0.85;

/// Whether the sender keeps its window at losses, as those seen say that it had to answer.
pub(crate) fn are_losses_unanswered(rounds: &[RoundTripSpan], mss: f64) -> bool {
    let mut falls = falls(rounds, mss, |_| false);
    falls.sort_by(f64::total_cmp);
    falls.len() >= FEWEST && falls[falls.len() / 2] > ANSWERED
}

/// The guess.
pub(crate) fn guess(t: &Track, rounds: &[RoundTripSpan], facts: &FlowFacts) -> Guess {
    let begun = t.first.as_secs_f64();
    let guess = guess_by_window(rounds, facts);
    let too_old = SINCE.iter().any(|(name, since)| guess.name == *name && (DATED..*since).contains(&begun));
    if too_old || facts.inflight_unknown { Guess { name: "other".into(), confidence: 0.0 } } else { guess }
}

fn guess_by_window(rounds: &[RoundTripSpan], facts: &FlowFacts) -> Guess {
    let guess = |name: &str, confidence: f64| Guess { name: name.into(), confidence };
    let dips = probe_rtts(rounds, facts.mss);
    // Where something else held it back, the window shows nothing.
    let held = |r: &RoundTripSpan| r.idle + r.ended + r.window_full + r.window_shut > 0.2 * r.width;
    let mut falls = falls(rounds, facts.mss, held);
    if falls.len() < FEWEST {
        return match dips {
            0 => guess("other", 0.0),
            n => guess("bbr", 1.0 - 0.4f64.powi(n as i32)),
        };
    }
    falls.sort_by(f64::total_cmp);
    let middle = falls[falls.len() / 2];
    let near = |to: f64, reach: f64| {
        falls.iter().filter(|f| (*f - to).abs() < reach).count() as f64 / falls.len() as f64
    };
    let guess = |name: &str, confidence: f64| {
        if confidence < LEAST { guess("other", 0.0) } else { guess(name, confidence) }
    };
    // The more decreases, the surer; half of them elsewhere is no opinion.
    let sure = 1.0 - 0.6f64.powi(falls.len() as i32);
    match middle {
        m if m > ANSWERED || dips > 0 && m > 0.75 => {
            guess("bbr", sure * (near(1.0, 0.2) + 0.3 * dips as f64).min(1.0))
        }
        m if m > 0.6 => guess("cubic", sure * near(0.7, 0.1)),
        m if m > 0.35 => guess("reno", sure * near(0.5, 0.1)),
        _ => guess("other", 0.3),
    }
}

/// To which share the amount in flight fell at each loss that no timeout followed, but near rounds that something else `held`.
fn falls(rounds: &[RoundTripSpan], mss: f64, held: impl Fn(&RoundTripSpan) -> bool) -> Vec<f64> {
    let mut out = Vec::new();
    let mut i = 1;
    while i < rounds.len() {
        if rounds[i].lost == 0 {
            i += 1;
            continue;
        }
        let end = (i..rounds.len()).find(|j| rounds[*j].lost == 0 && rounds[*j].resent == 0.0);
        let Some(end) = end else { break };
        let before = rounds[i - 1].inflight.max(rounds[i].inflight);
        let after =
            rounds[end..(end + 3).min(rounds.len())].iter().map(|r| r.inflight).fold(f64::INFINITY, f64::min);
        let waited = rounds[i..end].iter().any(|r| r.timeout > 0.0 || r.silence > 0.0)
            || rounds[i - 1..(end + 3).min(rounds.len())].iter().any(&held);
        if !waited && before > 8.0 * mss && after.is_finite() {
            out.push((after / before).min(1.5));
        }
        i = end + 1;
    }
    out
}

/// Times the flight sank to a few segments and came back without loss or pause.
fn probe_rtts(rounds: &[RoundTripSpan], mss: f64) -> usize {
    let calm = |r: &RoundTripSpan| {
        r.lost == 0 && r.idle + r.ended < 0.2 * r.width && r.timeout == 0.0 && r.window_full == 0.0
    };
    let mut times: Vec<f64> = Vec::new();
    for w in rounds.windows(9) {
        let (low, around) = (w[4].inflight, w[0].inflight.min(w[8].inflight));
        let deep = low < 7.0 * mss && around > 3.0 * low.max(1.0) && w.iter().all(calm);
        if deep && times.last().is_none_or(|t| w[4].from - t > 5.0) {
            times.push(w[4].from);
        }
    }
    times.len()
}
