//! The effect of a scenario's faults on flows, in simulated and real runs.
//!
//! The span of a fault lasts from its start to the start of the next fault, or to the end of the run. The
//! flow's series gives the longest time without a delivered byte in the span; datagrams that were due in the
//! span and did not arrive are counted. Whether the fault caused that silence is decided by comparison with
//! the flow's silences outside of faults ([`OrdinarySilences`]).

use crate::tally::FlowTally;
use result::{FaultResult, FlowOutage, FlowSeries};
use scenario::Scenario;
use transport::UdpSource;
use units::{Span, Time};

/// The faults in the form of the result.
pub fn faults(scenario: &Scenario) -> Vec<FaultResult> {
    let result = |f: &scenario::ScheduledFault| FaultResult {
        name: f.name.clone(),
        kind: f.kind.name().into(),
        of: f.host.map_or_else(
            || f.links.first().map(|&l| scenario.links[l].name.clone()).unwrap_or_default(),
            |host| scenario.hosts[host].name.clone(),
        ),
        at_s: f.at.as_secs_f64(),
        duration_s: f.lasts.as_secs_f64(),
    };
    scenario.faults.iter().map(result).collect()
}

/// The span of each fault: from its start to the start of the next fault or the end of the run.
pub fn spans(scenario: &Scenario) -> Vec<[Time; 2]> {
    let begins = || scenario.faults.iter().map(|f| f.at);
    let until = |at: Span| begins().filter(|next| *next > at).min().unwrap_or(scenario.duration);
    begins().map(|at| [at, until(at)].map(|t| Time::ZERO + t)).collect()
}

/// For each span the sequence numbers of the datagrams that a source will send in it: first, and last plus
/// one. The source must not have sent anything.
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

/// The effect of each fault on a flow, in a run that lasted until `end`.
pub fn outages(
    scenario: &Scenario,
    tally: &FlowTally,
    series: Option<&FlowSeries>,
    end: Time,
) -> Vec<FlowOutage> {
    let last = end.min(tally.done.unwrap_or(end));
    let ordinary = series.map(|s| OrdinarySilences::new(s, scenario, last)).unwrap_or_default();
    let outage = |(i, (fault, [from, until])): (usize, (&scenario::ScheduledFault, [Time; 2]))| {
        let until = until.min(last);
        let silence = series.and_then(|s| silence(s, tally.start, from, until));
        let lasts = [from.max(tally.start), (from + fault.lasts).min(until)].map(Time::as_secs_f64);
        let caused = silence.filter(|s| ordinary.is_exceeded(s, lasts));
        let ms = |t: f64| (t * 1e6).round() / 1e3;
        FlowOutage {
            fault: fault.name.clone(),
            silence_ms: silence.map(|s| ms(s.len())),
            ordinary_silence_ms: ordinary.longest().map(ms),
            caused_silence: caused.is_some(),
            recovery_ms: caused.filter(|s| s.ended).map(|s| ms(s.to - from.as_secs_f64())),
            lost_packets: tally.lost_in_faults.get(i).copied(),
        }
    };
    scenario.faults.iter().zip(spans(scenario)).enumerate().map(outage).collect()
}

/// An interval in which a flow delivered nothing, in seconds since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Silence {
    from: f64,
    to: f64,
    /// Whether something was delivered afterwards.
    ended: bool,
}

impl Silence {
    fn len(self) -> f64 {
        self.to - self.from
    }

    fn touches(self, [from, to]: [f64; 2]) -> bool {
        self.from < to && self.to > from
    }
}

/// Probability that a fault is reported as noticed by a flow that it does not affect.
const FALSE_POSITIVE_RATE: f64 = 0.05;

/// The silences between a flow's deliveries, from which those that no fault caused are known.
#[derive(Default)]
struct OrdinarySilences {
    /// Lengths of the silences that touch no fault, seconds.
    outside: Vec<f64>,
    /// The silences that touch a fault.
    within: Vec<Silence>,
    /// Resolution of the lengths, seconds: the sampling interval.
    sample: f64,
}

impl OrdinarySilences {
    fn new(series: &FlowSeries, scenario: &Scenario, end: Time) -> OrdinarySilences {
        let faults: Vec<[f64; 2]> =
            scenario.faults.iter().map(|f| [f.at, f.at + f.lasts].map(Span::as_secs_f64)).collect();
        let mut this = OrdinarySilences { sample: scenario.sample.as_secs_f64(), ..Default::default() };
        let mut last: Option<f64> = None;
        let samples = series.time_s.iter().zip(&series.delivered_bytes);
        let mut before = 0;
        for (&time, &bytes) in samples.take_while(|(time, _)| **time <= end.as_secs_f64()) {
            if bytes > before {
                if let Some(from) = last {
                    let silence = Silence { from, to: time, ended: true };
                    match faults.iter().any(|&f| silence.touches(f)) {
                        true => this.within.push(silence),
                        false => this.outside.push(silence.len()),
                    }
                }
                (last, before) = (Some(time), bytes);
            }
        }
        this
    }

    fn longest(&self) -> Option<f64> {
        self.outside.iter().copied().max_by(f64::total_cmp)
    }

    /// Whether a silence is so long that the fault, which was active for the time `lasts`, must have caused
    /// it: see [`FlowOutage::caused_silence`].
    ///
    /// Model: silences are exponentially distributed with mean u. The longest of n has a length of about u ln
    /// n. One silence is k times as long with probability n^-k, one of m silences with at most m n^-k. This
    /// equals [`FALSE_POSITIVE_RATE`] for k = ln(m / FALSE_POSITIVE_RATE) / ln n. Regular traffic has no such
    /// tail; there the factor only hides silences that are hardly longer than ordinary ones. A factor below 1
    /// is not used, because silences of ordinary length would be reported.
    fn is_exceeded(&self, silence: &Silence, lasts: [f64; 2]) -> bool {
        if !silence.touches(lasts) {
            return false;
        }
        let Some(longest) = self.longest().filter(|_| self.outside.len() > 1) else {
            return silence.len() >= lasts[1] - lasts[0];
        };
        let within = self.within.iter().filter(|s| s.touches(lasts)).count().max(1) as f64;
        let factor = libm::log(within / FALSE_POSITIVE_RATE) / libm::log(self.outside.len() as f64);
        silence.len() > factor.max(1.0) * longest + self.sample
    }
}

/// The longest silence of a flow with start `start` that overlaps the interval from `from` to `until`; it is
/// cut at `until`. `None` if the flow had not started or was already done.
fn silence(series: &FlowSeries, start: Time, from: Time, until: Time) -> Option<Silence> {
    if start >= until || from >= until {
        return None;
    }
    let [from, until] = [from, until].map(Time::as_secs_f64);
    let (times, bytes) = (&series.time_s, &series.delivered_bytes);
    let mut last = start.as_secs_f64();
    let mut longest: Option<Silence> = None;
    let mut note = |s: Silence| {
        if s.to > from && s.to > s.from && longest.is_none_or(|l| s.len() > l.len()) {
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

    /// Delivers a byte per second, except in the seconds for which `quiet` is true.
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
    fn the_longest_silence_is_found_with_its_end() {
        let s = series(|t| (10..15).contains(&t) || (20..28).contains(&t) || t >= 40);
        let longest = |from, until| silence(&s, at(0), at(from), at(until));
        assert_eq!(longest(9, 20), Some(Silence { from: 9.0, to: 15.0, ended: true }));
        assert_eq!(longest(19, 35), Some(Silence { from: 19.0, to: 28.0, ended: true }));
        // Cut at the start of the next fault, which has its own result.
        assert_eq!(longest(19, 25), Some(Silence { from: 19.0, to: 25.0, ended: false }));
        assert_eq!(longest(38, 49), Some(Silence { from: 39.0, to: 49.0, ended: false }));
        assert_eq!(silence(&s, at(35), at(20), at(35)), None, "not started");
        assert_eq!(silence(&s, at(0), at(20), at(20)), None, "already done");
        // The silence of a flow that starts during a fault begins with the flow.
        assert_eq!(silence(&s, at(22), at(20), at(30)), Some(Silence { from: 22.0, to: 28.0, ended: true }));
    }

    #[test]
    fn a_flow_that_is_done_is_not_silent() {
        let text = "duration = \"40s\"\n[links.l]\nbetween = [\"a\", \"b\"]\n[faults]\n\
                    one = { kind = \"link\", link = \"l\", at = \"9s\", lasts = \"5s\" }\n\
                    two = { kind = \"link\", link = \"l\", at = \"20s\", lasts = \"8s\" }\n";
        let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        assert_eq!(spans(&scenario), [[at(9), at(20)], [at(20), at(40)]]);
        assert_eq!((faults(&scenario)[1].of.as_str(), faults(&scenario)[1].duration_s), ("l", 8.0));
        let s = series(|t| (10..15).contains(&t) || t >= 18);
        let outages_of = |done| {
            let tally = FlowTally { done, lost_in_faults: vec![3, 4], ..FlowTally::default() };
            outages(&scenario, &tally, Some(&s), at(40))
        };
        let done = outages_of(Some(at(18)));
        assert_eq!(
            (done[0].silence_ms, done[0].recovery_ms, done[0].lost_packets),
            (Some(6e3), Some(6e3), Some(3))
        );
        assert_eq!(
            (done[0].ordinary_silence_ms, done[0].caused_silence, done[1].caused_silence),
            (Some(1e3), true, false)
        );
        assert_eq!((done[1].silence_ms, done[1].recovery_ms), (None, None));
        let cut = outages_of(None);
        assert_eq!((cut[1].silence_ms, cut[1].recovery_ms, cut[1].lost_packets), (Some(23e3), None, Some(4)));
        assert!(cut[1].caused_silence, "the flow never recovered");
    }

    /// A fault from 20 s to 22 s of 50.
    fn one_fault() -> Scenario {
        let text = "duration = \"50s\"\n[links.l]\nbetween = [\"a\", \"b\"]\n[faults]\n\
                    cut = { kind = \"link\", link = \"l\", at = \"20s\", lasts = \"2s\" }\n";
        Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario
    }

    /// A series with samples every 100 ms of the bytes delivered by each time.
    fn sampled(times: impl Fn(f64) -> u64) -> FlowSeries {
        let mut s = FlowSeries::new("f");
        for i in 0..=500 {
            let time_s = f64::from(i) / 10.0;
            s.push(FlowPoint { time_s, delivered_bytes: times(time_s), ..FlowPoint::default() });
        }
        s
    }

    fn noticed(s: &FlowSeries) -> FlowOutage {
        let tally = FlowTally::default();
        outages(&one_fault(), &tally, Some(s), at(50)).remove(0)
    }

    #[test]
    fn a_flow_that_the_fault_does_not_affect_has_no_recovery_time() {
        // A byte every 0.7 s throughout the run.
        let o = noticed(&sampled(|t| (t / 0.7) as u64));
        assert_eq!((o.silence_ms, o.ordinary_silence_ms), (Some(700.0), Some(700.0)));
        assert_eq!((o.caused_silence, o.recovery_ms), (false, None));
        // The longest silence is after the fault.
        let o = noticed(&sampled(|t| if (30.0..35.0).contains(&t) { 300 } else { (t * 10.0) as u64 }));
        assert_eq!(
            (o.silence_ms.map(f64::round), o.caused_silence, o.recovery_ms),
            (Some(5000.0), false, None)
        );
    }

    #[test]
    fn a_flow_that_the_fault_silences_recovers_with_its_next_byte() {
        let quiet = |from: f64, to: f64| {
            move |t: f64| if t < from || t >= to { (t / 0.7) as u64 } else { (from / 0.7) as u64 }
        };
        let o = noticed(&sampled(quiet(20.0, 22.4)));
        assert!(o.caused_silence && o.silence_ms > Some(2000.0), "{o:?}");
        assert_eq!(o.recovery_ms.map(f64::round), Some(2400.0));
        let o = noticed(&sampled(quiet(20.0, 90.0)));
        assert_eq!((o.caused_silence, o.recovery_ms), (true, None), "no recovery");
    }

    /// Silences of exponential length with a mean of 0.2 s. One of 20 flows may be reported by chance; the
    /// limit is higher, because a silence that straddles the start or end of the fault tends to be a long
    /// one.
    #[test]
    fn the_false_positive_rate_is_as_stated() {
        let mut stream = Stream::new(27, "outages");
        let drawn = 2000;
        let reported = (0..drawn).filter(|_| {
            let mut times = Vec::new();
            let mut t = 0.0;
            while t < 50.0 {
                t -= (1.0 - stream.unit()).ln() * 0.2;
                times.push(t);
            }
            noticed(&sampled(|t| times.partition_point(|&at| at <= t) as u64)).caused_silence
        });
        let reported = reported.count();
        assert!(
            reported > 0 && reported as f64 <= 1.5 * FALSE_POSITIVE_RATE * f64::from(drawn),
            "{reported} of {drawn}"
        );
    }

    #[test]
    fn due_gives_the_datagrams_that_the_source_sends_in_each_span() {
        let app: transport::App =
            serde_json::from_value(serde_json::json!({ "kind": "voice", "codec": "g711" })).unwrap();
        let pattern: DatagramPattern = app.datagrams(transport::UDP_HEADER).unwrap();
        let source = UdpSource::new(&pattern, at(1), Stream::new(1, "f"));
        // 50 packets a second from 1 s on.
        assert_eq!(due(&source, &[[at(0), at(2)], [at(2), at(4)]]), [[0, 50], [50, 150]]);
        assert!(due(&source, &[]).is_empty());
    }
}
