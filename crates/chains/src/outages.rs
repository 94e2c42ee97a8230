//! What flows notice of a scenario's faults, whatever clock drove the run.
//!
//! A fault's time goes from its begin to the begin of the next one, or to the end of the run. In it the longest time without
//! a byte is looked for in the flow's series; datagrams that were due in it and did not arrive are counted.

use crate::FlowTally;
use result::{FaultResult, FlowOutage, FlowSeries};
use scenario::Scenario;
use transport::UdpSource;
use units::{Span, Time};

/// The faults as a result tells them.
pub fn faults(scenario: &Scenario) -> Vec<FaultResult> {
    let of = |f: &scenario::ScheduledFault| FaultResult {
        name: f.name.clone(),
        kind: f.kind.name().into(),
        of: f.host.map_or_else(
            || f.links.first().map(|&l| scenario.links[l].name.clone()).unwrap_or_default(),
            |host| scenario.hosts[host].name.clone(),
        ),
        at_s: f.at.as_secs_f64(),
        lasts_s: f.lasts.as_secs_f64(),
    };
    scenario.faults.iter().map(of).collect()
}

/// Of each fault its begin, and the begin of the next or the end of the run.
pub fn spans(scenario: &Scenario) -> Vec<[Time; 2]> {
    let begins = || scenario.faults.iter().map(|f| f.at);
    let until = |at: Span| begins().filter(|next| *next > at).min().unwrap_or(scenario.duration);
    begins().map(|at| [at, until(at)].map(|t| Time::ZERO + t)).collect()
}

/// The numbers of the datagrams that a source, which has sent none yet, has due in each span: the first, and one more than
/// the last.
pub fn due(source: &UdpSource, spans: &[[Time; 2]]) -> Vec<[u64; 2]> {
    let Some(end) = spans.iter().map(|s| s[1]).max() else { return Vec::new() };
    let mut times = Vec::new();
    let (mut source, mut out) = (source.clone(), Vec::new());
    while let Some(at) = source.next_wake().filter(|&at| at < end) {
        source.handle_wake(at, &mut out);
        out.clear();
        times.push(at);
    }
    let before = |t: Time| times.partition_point(|&at| at < t) as u64;
    spans.iter().map(|s| s.map(before)).collect()
}

/// What a flow noticed of each fault of a run that came to `end`.
pub fn outages(
    scenario: &Scenario,
    tally: &FlowTally,
    series: Option<&FlowSeries>,
    end: Time,
) -> Vec<FlowOutage> {
    let of = |(i, (fault, [from, until])): (usize, (&scenario::ScheduledFault, [Time; 2]))| {
        let until = until.min(end).min(tally.done.unwrap_or(end));
        let silence = series.and_then(|s| silence(s, tally.start, from, until));
        let ms = |t: f64| (t * 1e6).round() / 1e3;
        FlowOutage {
            fault: fault.name.clone(),
            silence_ms: silence.map(|s| ms(s.to - s.from)),
            back_ms: silence.filter(|s| s.ended).map(|s| ms(s.to - from.as_secs_f64())),
            lost_packets: tally.lost_in_faults.get(i).copied(),
        }
    };
    scenario.faults.iter().zip(spans(scenario)).enumerate().map(of).collect()
}

/// A time in which a flow delivered nothing, seconds since the run began.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Silence {
    from: f64,
    to: f64,
    /// Something came after it.
    ended: bool,
}

/// The longest silence of a flow that began at `start` which lies between two times or reaches into it; it is over at
/// `until` at the latest. `None` where the flow had not begun, or was done.
fn silence(series: &FlowSeries, start: Time, from: Time, until: Time) -> Option<Silence> {
    if start >= until || from >= until {
        return None;
    }
    let [from, until] = [from, until].map(Time::as_secs_f64);
    let (times, bytes) = (&series.time_s, &series.delivered_bytes);
    let mut last = start.as_secs_f64();
    let mut longest: Option<Silence> = None;
    let mut note = |s: Silence| {
        if s.to > from && s.to > s.from && longest.is_none_or(|l| s.to - s.from > l.to - l.from) {
            longest = Some(s);
        }
    };
    for i in 1..times.len().min(bytes.len()) {
        if times[i] > until {
            break;
        }
        if bytes[i] > bytes[i - 1] {
            note(Silence { from: last, to: times[i], ended: true });
            last = last.max(times[i]);
        }
    }
    note(Silence { from: last, to: until, ended: false });
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::FlowPoint;
    use scenario::Experiment;
    use transport::DatagramPattern;
    use units::Stream;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// A byte a second, but for the seconds that `quiet` names.
    fn series(quiet: impl Fn(u32) -> bool) -> FlowSeries {
        let mut s = FlowSeries::new("f");
        let mut delivered_bytes = 0;
        for t in 0..50 {
            delivered_bytes += u64::from(t > 2 && !quiet(t));
            s.push(FlowPoint { time_s: f64::from(t), delivered_bytes, ..FlowPoint::default() });
        }
        s
    }

    #[test]
    fn the_longest_silence_is_found_and_whether_it_ended() {
        let s = series(|t| (10..15).contains(&t) || (20..28).contains(&t) || t >= 40);
        let of = |from, until| silence(&s, at(0), at(from), at(until));
        assert_eq!(of(9, 20), Some(Silence { from: 9.0, to: 15.0, ended: true }));
        assert_eq!(of(19, 35), Some(Silence { from: 19.0, to: 28.0, ended: true }));
        // Over when the next fault begins: that one's share is not this one's.
        assert_eq!(of(19, 25), Some(Silence { from: 19.0, to: 25.0, ended: false }));
        assert_eq!(of(38, 49), Some(Silence { from: 39.0, to: 49.0, ended: false }));
        assert_eq!(silence(&s, at(35), at(20), at(35)), None, "had not begun");
        assert_eq!(silence(&s, at(0), at(20), at(20)), None, "was done");
        // What begins during a fault waits from its own begin on.
        assert_eq!(silence(&s, at(22), at(20), at(30)), Some(Silence { from: 22.0, to: 28.0, ended: true }));
    }

    #[test]
    fn a_flow_that_is_done_is_not_silent() {
        let text = "duration = \"40s\"\n[links.l]\nbetween = [\"a\", \"b\"]\n[faults]\n\
                    one = { kind = \"link\", link = \"l\", at = \"9s\", lasts = \"5s\" }\n\
                    two = { kind = \"link\", link = \"l\", at = \"20s\", lasts = \"8s\" }\n";
        let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        assert_eq!(spans(&scenario), [[at(9), at(20)], [at(20), at(40)]]);
        assert_eq!((faults(&scenario)[1].of.as_str(), faults(&scenario)[1].lasts_s), ("l", 8.0));
        let s = series(|t| (10..15).contains(&t) || t >= 18);
        let of = |done| {
            let tally = FlowTally { done, lost_in_faults: vec![3, 4], ..FlowTally::default() };
            outages(&scenario, &tally, Some(&s), at(40))
        };
        let done = of(Some(at(18)));
        assert_eq!(
            (done[0].silence_ms, done[0].back_ms, done[0].lost_packets),
            (Some(6e3), Some(6e3), Some(3))
        );
        assert_eq!((done[1].silence_ms, done[1].back_ms), (None, None));
        let cut = of(None);
        assert_eq!((cut[1].silence_ms, cut[1].back_ms, cut[1].lost_packets), (Some(23e3), None, Some(4)));
    }

    #[test]
    fn datagrams_are_due_in_spans_by_their_source() {
        let app: transport::App =
            serde_json::from_value(serde_json::json!({ "kind": "voice", "codec": "g711" })).unwrap();
        let pattern: DatagramPattern = app.datagrams().unwrap();
        let source = UdpSource::new(&pattern, at(1), Stream::new(1, "f"));
        // 50 packets a second from 1 s on.
        assert_eq!(due(&source, &[[at(0), at(2)], [at(2), at(4)]]), [[0, 50], [50, 150]]);
        assert!(due(&source, &[]).is_empty());
    }
}
