//! The headline and the facts of a measurement.

use super::fault::{Fault, added_by, fault, helps};
use super::model::{Cure, Direction, Limiter, LimiterFound, Marks, MeasuredPath, Measurement, StreamTest};
use print::three_digits as digits;
use report::{Lang, advice};
use result::Cause;
use result::diagnosis::{SURE, UNDECIDED};

/// The largest probe of the path MTU, bytes.
const LARGEST_PROBE: u32 = 9000;

/// Returns one sentence on what is wrong and what to do.
pub fn headline(m: &Measurement) -> String {
    if m.test("up").is_none() {
        return "The measurement was stopped before its first result.".into();
    }
    if let Some(direction) = Direction::BOTH.into_iter().find(|d| m.has_black_hole(*d)) {
        let mtu = m.direction(direction).path.as_ref().and_then(|p| p.mtu).unwrap_or_default();
        let what = format!(
            "The {} meets an MTU black hole: set the MTU to {mtu} or let ICMP pass",
            direction.load()
        );
        return match advised(m).filter(|_| direction == Direction::Up) {
            Some(cure) => {
                format!("{what}. {}: {} Mbit/s measured.", cure.test.name, digits(cure.test.goodput_mbps))
            }
            None => format!("{what}."),
        };
    }
    let (up, down) = (fault(m, Direction::Up), fault(m, Direction::Down));
    // A limit that was measured is certain; a gain of several connections may be the hosts' own.
    let is_doubtful = matches!(up, Some(Fault::Slow { .. })) && m.limit_mbps(Direction::Up).is_none();
    let is_certain = matches!(down, Some(Fault::Slow { .. })) && m.limit_mbps(Direction::Down).is_some();
    if is_doubtful && is_certain {
        return download(m, down);
    }
    match up {
        Some(Fault::Slow { is, could_be }) => {
            let what = format!("{}: {} of {} Mbit/s", cause(m), digits(is), digits(could_be));
            match advised(m) {
                Some(cure) => {
                    format!(
                        "{what}. {}: {} Mbit/s measured.",
                        what_to_do(cure),
                        digits(cure.test.goodput_mbps)
                    )
                }
                None if m.cures.is_empty() => format!("{what}."),
                None => format!("{what}. No cure that was tried helps."),
            }
        }
        Some(Fault::Delayed { added_ms }) => {
            let what = format!("A queue adds {} ms to every round trip during uploads", digits(added_ms));
            match advised(m).and_then(|cure| Some((cure, added_by(cure, m)?))) {
                Some((cure, left)) => {
                    format!("{what}. {}: {} measured.", what_to_do(cure), milliseconds(left))
                }
                None => format!("{what}."),
            }
        }
        None => download(m, down),
    }
}

/// Returns the headline where the upload has no certain fault.
fn download(m: &Measurement, fault: Option<Fault>) -> String {
    match fault {
        Some(Fault::Slow { is, could_be }) => {
            let what = match &m.down.limiter {
                Some(Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) => {
                    format!("A policer of {} Mbit/s drops the download's bursts", digits(*rate))
                }
                _ => "One download does not fill the path".into(),
            };
            format!(
                "{what}: {} of {} Mbit/s, which only the far end can change.",
                digits(is),
                digits(could_be)
            )
        }
        Some(Fault::Delayed { added_ms }) => format!(
            "The upload is fine; a queue adds {} ms to every round trip during downloads.",
            digits(added_ms)
        ),
        None => {
            let [up, down] = ["up", "down"].map(|n| m.test(n).map_or(0.0, |t| t.goodput_mbps)).map(digits);
            let rates = format!("{up} Mbit/s up and {down} Mbit/s down");
            match m.limit_mbps(Direction::Up) {
                Some(_) => format!("Nothing is wrong: {rates}, all that the path carries."),
                None => {
                    format!("Probably nothing is wrong: {rates}; four connections get hardly more than one.")
                }
            }
        }
    }
}

/// Names the cause of a slow upload, with its doubt first.
fn cause(m: &Measurement) -> String {
    let limiter = m.up.limiter.as_ref();
    if let Some(Limiter { kind: LimiterFound::Policer, rate_mbps: Some(rate), .. }) = limiter {
        return format!("A policer of {} Mbit/s drops the upload's bursts", digits(*rate));
    }
    match &m.up.verdict {
        Some(v) if v.confidence >= SURE => words(v.cause).into(),
        Some(v) if v.confidence >= UNDECIDED => format!("Probably: {}", words(v.cause)),
        _ => match m.limit_mbps(Direction::Up) {
            Some(rate) => format!("The upload leaves a limit of {} Mbit/s unused", digits(rate)),
            None => "One connection does not fill the path upwards".into(),
        },
    }
}

/// Says what a cause does to the upload.
fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::Policed => "A policer drops the upload's packets",
        Cause::RandomLoss => "Losses that no queue or limit explains slow the upload",
        Cause::ReceiveWindow | Cause::ReceiverStalled => "The receiver's window limits the upload",
        Cause::SendBuffer => "This host's send buffer limits the upload",
        Cause::Congestion => "Losses at a short queue slow the upload",
        Cause::SlowStart => "The upload spends its time in slow start",
        Cause::Bottleneck | Cause::Shaped => "A full link limits the upload",
        Cause::Outage => "Outages interrupt the upload",
        Cause::AckPath => "The ACKs' path slows the upload",
        _ => "The upload is slow",
    }
}

/// Returns the cure that the headline advises: the best one, if it helps.
pub fn advised(m: &Measurement) -> Option<&Cure> {
    m.cures.first().filter(|cure| helps(cure, m))
}

/// Formats a delay; below a millisecond the echoes' own variation is larger.
fn milliseconds(ms: f64) -> String {
    if ms < 1.0 { "under 1 ms".into() } else { format!("{} ms", digits(ms)) }
}

/// The advice to apply a cure, as the begin of a sentence.
fn what_to_do(cure: &Cure) -> String {
    advice(std::slice::from_ref(&cure.change), Lang::En)
}

/// Returns what the headline rests on, a sentence each.
pub fn facts(m: &Measurement) -> Vec<String> {
    let mut facts = Vec::new();
    if let Some(idle) = &m.idle {
        facts.push(format!(
            "idle RTT min {} ms, median {} ms; {:.1} % of {} echoes lost",
            digits(idle.rtt_min_ms),
            digits(idle.rtt_p50_ms),
            100.0 * idle.lost_share,
            idle.sent
        ));
    }
    for d in Direction::BOTH {
        facts.extend(m.direction(d).limiter.as_ref().map(|l| format!("{}: {}", d.name(), limit(l))));
    }
    if !m.cures.is_empty()
        && let Some(up) = m.test("up")
    {
        facts.push(comparison(m, up));
    }
    for d in Direction::BOTH {
        let verdict = m.direction(d).verdict.as_ref();
        facts.extend(verdict.map(|v| format!("{}, from its packets: {}", d.load(), v.headline)));
    }
    for d in Direction::BOTH {
        facts.extend(m.test(d.several()).and_then(|t| responsiveness(m, t)));
    }
    for d in Direction::BOTH {
        let Some(path) = &m.direction(d).path else { continue };
        let reordered = path.reordered_share.filter(|share| *share > 0.0);
        let reordered =
            reordered.map_or(String::new(), |share| format!("; {:.2} % reordered", 100.0 * share));
        facts.push(format!("{}: {}{reordered}", d.name(), treatment(path)));
    }
    facts
}

/// Describes a limit.
pub fn limit(l: &Limiter) -> String {
    let rate = digits(l.rate_mbps.unwrap_or_default());
    let kilobytes = |bytes: Option<f64>| digits(bytes.unwrap_or_default() / 1e3);
    match l.kind {
        LimiterFound::Policer => {
            format!("a policer of {rate} Mbit/s with a bucket of {} kB", kilobytes(l.bucket_bytes))
        }
        LimiterFound::Shaper => format!(
            "a shaper of {rate} Mbit/s with a bucket of {} kB and a queue of {}{} kB",
            kilobytes(l.bucket_bytes),
            if l.queue_full == Some(true) { "" } else { "at least " },
            kilobytes(l.queue_bytes)
        ),
        LimiterFound::Link => format!(
            "a link of {rate} Mbit/s with a queue of {}{} kB",
            if l.queue_full == Some(true) { "" } else { "at least " },
            kilobytes(l.queue_bytes)
        ),
        LimiterFound::None => format!("no limit below {rate} Mbit/s"),
        LimiterFound::Unknown => {
            format!("cannot tell what limits the rate: {}", l.why_unknown.as_deref().unwrap_or_default())
        }
    }
}

/// Compares the cures with the upload as it is.
fn comparison(m: &Measurement, up: &StreamTest) -> String {
    let predicted = |p: Option<f64>| p.map_or(String::new(), |p| format!(" ({} predicted)", digits(p)));
    let lost = |t: &StreamTest| match t.retransmitted_share {
        share if share >= 0.001 => format!(" with {} % retransmitted", digits(100.0 * share)),
        _ => String::new(),
    };
    let one = |title: &str, t: &StreamTest, p: Option<f64>| {
        format!("{title} {} Mbit/s{}{}", digits(t.goodput_mbps), predicted(p), lost(t))
    };
    let is_predicted = m.cures.iter().find_map(|c| Some(c.predicted_mbps()?[0]));
    let as_is = one(&format!("upload as it is ({})", up.control), up, is_predicted);
    let cures = m.cures.iter().map(|c| one(&c.test.name, &c.test, c.predicted_mbps().map(|[_, with]| with)));
    std::iter::once(as_is).chain(cures).collect::<Vec<_>>().join("; ")
}

/// Describes delay under load. The grade is that of the delay which load adds.
fn responsiveness(m: &Measurement, test: &StreamTest) -> Option<String> {
    let (loaded, idle) = (test.loaded.as_ref()?, m.idle.as_ref()?);
    let added = (loaded.rtt_p50_ms - idle.rtt_p50_ms).max(0.0);
    Some(format!(
        "{}: {:.0} round trips per minute under load, {} added to a round trip: {}",
        test.direction.name(),
        test.round_trips_per_minute?,
        milliseconds(added),
        grade(added)
    ))
}

/// Grades the delay that load adds to a round trip, ms.
pub fn grade(added_ms: f64) -> &'static str {
    match added_ms {
        ms if ms < 5.0 => "excellent, games and calls do not notice",
        ms if ms < 30.0 => "good, calls do not notice",
        ms if ms < 100.0 => "fair, games suffer",
        ms if ms < 300.0 => "poor, calls suffer",
        _ => "bad, everything feels slow",
    }
}

/// Describes what passes in a direction: MTU, ECN and DSCP.
pub fn treatment(path: &MeasuredPath) -> String {
    let mtu = path.mtu.map_or("no probe of the MTU arrived".into(), |mtu| {
        format!("path MTU {mtu}{}", if mtu >= LARGEST_PROBE { " or more" } else { "" })
    });
    format!("{mtu}; {}", marks(path))
}

/// Describes what happens to ECN and DSCP.
fn marks(path: &MeasuredPath) -> String {
    let (ecn, dscp): (Vec<_>, Vec<_>) = path.marks.iter().partition(|m| m.sent & 0b11 != 0);
    let changed = |all: &[&Marks], what: &str| {
        let wrong = all.iter().filter(|m| m.arrived != Some(m.sent)).map(|m| match m.arrived {
            Some(tos) if m.sent & 0b11 != 0 => format!("{} arrives as {:#04b}", m.name, tos & 0b11),
            Some(tos) => format!("{} arrives as DSCP {}", m.name, tos >> 2),
            None => format!("{} is lost", m.name),
        });
        let wrong: Vec<String> = wrong.collect();
        if wrong.is_empty() { format!("{what} passes") } else { wrong.join(", ") }
    };
    format!("{}, {}", changed(&ecn, "ECN"), changed(&dscp, "DSCP"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::EchoSummary;
    use result::{Change, sender};
    use units::Rate;

    fn test(name: &str, mbps: f64, rtt: f64) -> StreamTest {
        let loaded =
            Some(EchoSummary { rtt_p50_ms: rtt, rtt_trimmed_mean_ms: rtt, ..EchoSummary::default() });
        let direction = if name.starts_with("up") { Direction::Up } else { Direction::Down };
        StreamTest {
            name: name.into(),
            direction,
            goodput_mbps: mbps,
            mss: 1448,
            loaded,
            ..StreamTest::default()
        }
    }

    fn measured(up: [f64; 2], rtt: f64) -> Measurement {
        Measurement {
            idle: Some(EchoSummary { rtt_p50_ms: 20.0, ..EchoSummary::default() }),
            tests: vec![
                test("up", up[0], rtt),
                test("up-4", up[1], rtt),
                test("down", 50.0, 20.0),
                test("down-4", 50.0, 20.0),
            ],
            ..Measurement::default()
        }
    }

    fn limiter(kind: LimiterFound) -> Option<Limiter> {
        let finding = diagnosis::train::TrainFinding::Policer { rate: 20e6, bucket: 30e3 };
        Some(Limiter { kind, ..Limiter::of(finding, 1, 100) })
    }

    #[test]
    fn a_policed_upload_names_its_policer_and_the_best_cure() {
        let mut m = measured([4.1, 8.0], 21.0);
        m.up.limiter = limiter(LimiterFound::Policer);
        let without = headline(&m);
        assert_eq!(without, "A policer of 20.0 Mbit/s drops the upload's bursts: 4.10 of 19.3 Mbit/s.");
        let paced = sender::pacing_cap(Some(Rate::from_bps(18_727_000)));
        let bbr = sender::congestion_control("bbr");
        let cure = |change: &Change, mbps| Cure { change: change.clone(), test: test("up", mbps, 20.0) };
        m.cures = vec![cure(&paced, 18.6), cure(&bbr, 18.1)];
        let text = headline(&m);
        assert!(text.ends_with("Pace each connection at 18.7 Mbit/s: 18.6 Mbit/s measured."), "{text}");
        assert!(text.split_whitespace().count() <= 24, "{text}");
        m.cures = vec![cure(&bbr, 4.0)];
        assert!(headline(&m).ends_with("No cure that was tried helps."), "{}", headline(&m));
    }

    #[test]
    fn a_policed_download_comes_before_a_doubtful_upload() {
        let mut m = measured([690.0, 1856.0], 21.0);
        m.tests[2].goodput_mbps = 9.88;
        m.down.limiter = limiter(LimiterFound::Policer);
        let text = headline(&m);
        assert!(
            text.starts_with("A policer of 20.0 Mbit/s drops the download's bursts: 9.88 of 19.3"),
            "{text}"
        );
    }

    #[test]
    fn a_full_queue_is_a_fault_and_a_clean_path_is_not() {
        let mut m = measured([19.0, 19.2], 320.0);
        m.up.limiter = limiter(LimiterFound::Link);
        assert_eq!(headline(&m), "A queue adds 300 ms to every round trip during uploads.");
        let mut clean = measured([19.0, 19.2], 22.0);
        let rates = "19.0 Mbit/s up and 50.0 Mbit/s down";
        let doubt = format!("Probably nothing is wrong: {rates}; four connections get hardly more than one.");
        assert_eq!(headline(&clean), doubt);
        clean.up.limiter = limiter(LimiterFound::Link);
        assert_eq!(headline(&clean), format!("Nothing is wrong: {rates}, all that the path carries."));
    }
}
