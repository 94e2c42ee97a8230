//! The measures that a study compares: any [`result::Measure`], and measures that need time series:
//! `silence`, `variation`, `inflight`, and `entered.STATE`, the number of times that a congestion control
//! entered a state. These apply to all TCP flows, or to one: `up.variation`.

use result::measure::connections;
use result::{FlowKind, FlowResult, FlowSeries, Measure, MeasureUnit, Outcome};

/// A quantity and what it is measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StudyMeasure {
    /// A measure of the run's summary.
    Summary(Measure),
    /// A measure of the time series and states of this flow, or of all TCP flows.
    Series(Option<String>, SeriesQuantity),
}

/// Quantities that need time series or states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeriesQuantity {
    /// The longest time without a byte, in ms; the longest of several flows.
    Silence,
    /// Standard deviation of the goodput per second, in % of its mean; the mean of several flows.
    Variation,
    /// Mean packets in flight; the sum of several flows.
    Inflight,
    /// Number of times that the congestion control entered this state; the sum of several flows.
    Entered(String),
}

impl SeriesQuantity {
    fn named(name: &str) -> Option<SeriesQuantity> {
        match name {
            "silence" => Some(SeriesQuantity::Silence),
            "variation" => Some(SeriesQuantity::Variation),
            "inflight" => Some(SeriesQuantity::Inflight),
            _ => None,
        }
    }
}

impl StudyMeasure {
    /// Parses a measure.
    ///
    /// # Errors
    /// Fails when the text is not a measure. The error says what would be right.
    pub fn parse(text: &str) -> Result<StudyMeasure, String> {
        let (before, last) = text.rsplit_once('.').unwrap_or(("", text));
        let flow_name = |name: &str| (!name.is_empty()).then(|| name.to_string());
        if let Some(quantity) = SeriesQuantity::named(last) {
            return Ok(StudyMeasure::Series(flow_name(before), quantity));
        }
        if let Some(flow) = before.strip_suffix("entered").filter(|f| f.is_empty() || f.ends_with('.')) {
            return Ok(StudyMeasure::Series(
                flow_name(flow.trim_end_matches('.')),
                SeriesQuantity::Entered(last.into()),
            ));
        }
        if last == "entered" {
            return Err(format!("`{text}`: which state? write `entered.PROBE_RTT`"));
        }
        // A study may call one of its flows `tcp`, so every name is taken for a flow's.
        let known = |text: &str| Measure::parse(text, |_| true).map(StudyMeasure::Summary);
        known(text).map_err(|e| {
            format!("`{text}` is not a measure: {e}, silence, variation, inflight or entered.STATE")
        })
    }

    /// Returns the unit: `Mbit/s`, `ms`, `%`, `packets`, `times`; empty for counts and indexes.
    pub fn unit(&self) -> &'static str {
        match self {
            StudyMeasure::Summary(measure) => measure.unit().symbol(),
            StudyMeasure::Series(_, SeriesQuantity::Silence) => MeasureUnit::Millis.symbol(),
            StudyMeasure::Series(_, SeriesQuantity::Variation) => MeasureUnit::Percent.symbol(),
            StudyMeasure::Series(_, SeriesQuantity::Inflight) => MeasureUnit::Packets.symbol(),
            StudyMeasure::Series(_, SeriesQuantity::Entered(_)) => "times",
        }
    }

    /// Returns the number of one run; `None` where it has none.
    pub fn of(&self, outcome: &Outcome) -> Option<f64> {
        let v = &outcome.variant;
        let (flow, quantity) = match self {
            StudyMeasure::Summary(measure) => return measure.of(v),
            StudyMeasure::Series(flow, quantity) => (flow, quantity),
        };
        let flows: Vec<&FlowResult> = match flow {
            Some(name) => connections(&v.flows, name),
            None => v.flows.iter().filter(|f| f.kind == FlowKind::Tcp).collect(),
        };
        let series = |f: &&FlowResult| outcome.flow_series.iter().find(|s| s.name == f.name);
        let each = |number: &dyn Fn(&FlowSeries) -> Option<f64>| -> Option<Vec<f64>> {
            flows.iter().map(|f| series(f).and_then(number)).collect()
        };
        if flows.is_empty() {
            return None;
        }
        match quantity {
            SeriesQuantity::Silence => {
                flows.iter().filter_map(series).filter_map(silence).max_by(f64::total_cmp)
            }
            SeriesQuantity::Variation => {
                each(&|s| variation(s, v.measured_s)).map(|all| all.iter().sum::<f64>() / all.len() as f64)
            }
            SeriesQuantity::Inflight => each(&|s| inflight(s, v.measured_s)).map(|all| all.iter().sum()),
            SeriesQuantity::Entered(state) => {
                let states = flows.iter().flat_map(|f| &f.states).filter(|s| s.state == *state);
                Some(states.map(|s| s.entered).sum::<u64>() as f64)
            }
        }
    }
}

/// The longest time without delivered bytes between the first byte and the end, in ms, at the resolution of
/// the samples.
fn silence(series: &FlowSeries) -> Option<f64> {
    let mut since = None;
    let mut longest: f64 = 0.0;
    let mut before = 0;
    for (&t, &bytes) in series.time_s.iter().zip(&series.delivered_bytes) {
        if bytes > before {
            if let Some(since) = since {
                longest = longest.max(t - since);
            }
            since = Some(t);
            before = bytes;
        }
    }
    let (since, end) = (since?, series.time_s.last()?);
    Some(1e3 * longest.max(end - since))
}

/// Standard deviation of the goodput per second (iperf3's interval), in % of its mean. `None` for less than
/// two seconds, and where nothing was delivered.
fn variation(series: &FlowSeries, [from, to]: [f64; 2]) -> Option<f64> {
    let seconds = (to - from) as usize;
    let until = |t: f64| {
        let passed = series.time_s.partition_point(|&at| at <= t + 1e-9);
        passed.checked_sub(1).map_or(0, |last| series.delivered_bytes[last])
    };
    let marks: Vec<u64> = (0..=seconds).map(|i| until(from + i as f64)).collect();
    let each: Vec<f64> = marks.windows(2).map(|w| w[1].saturating_sub(w[0]) as f64).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let square = each.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (each.len() as f64 - 1.0);
    (each.len() >= 2 && mean > 0.0).then(|| 100.0 * square.sqrt() / mean)
}

/// Mean packets in flight over the measured interval.
fn inflight(series: &FlowSeries, [from, to]: [f64; 2]) -> Option<f64> {
    let rows = series.time_s.iter().zip(&series.inflight).filter(|(t, _)| (from..=to).contains(*t));
    let (sum, count) = rows.fold((0, 0u32), |(sum, count), (_, n)| (sum + n, count + 1));
    (count > 0).then(|| sum as f64 / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Subject;

    #[test]
    fn measures_are_parsed_from_their_end() {
        let read = |text: &str| StudyMeasure::parse(text).expect(text);
        assert_eq!((read("up.rtt.p95").unit(), read("wan.forward.limiter.drops").unit()), ("ms", "packets"));
        let entered = SeriesQuantity::Entered("PROBE_RTT".into());
        assert_eq!(read("up.entered.PROBE_RTT"), StudyMeasure::Series(Some("up".into()), entered));
        assert_eq!(read("variation"), StudyMeasure::Series(None, SeriesQuantity::Variation));
        let StudyMeasure::Summary(tcp) = read("tcp.lost") else { panic!("a summary") };
        assert_eq!(tcp.subject, Subject::Flow("tcp".into()), "a study's flow of that name");
        for wrong in ["", "up", "up.speed", "up.resent.p95", "up.entered", "goodput.p42"] {
            assert!(StudyMeasure::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn silence_is_the_longest_time_without_a_byte() {
        let mut series = FlowSeries::new("up");
        // Nothing before the first byte at 0.2 s; then 0.3 s without a byte, and 0.1 s at the end.
        series.time_s = vec![0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        series.delivered_bytes = vec![0, 0, 10, 10, 10, 30, 30];
        assert!((silence(&series).expect("moved") - 300.0).abs() < 1e-6);
        series.inflight = vec![9, 9, 2, 4, 6, 9, 9];
        assert_eq!(inflight(&series, [0.2, 0.4]), Some(4.0));
        assert_eq!(inflight(&series, [2.0, 3.0]), None);
        series.delivered_bytes = vec![0; 7];
        assert_eq!(silence(&series), None);
    }

    #[test]
    fn variation_is_of_whole_seconds() {
        let mut series = FlowSeries::new("up");
        // 10, 20, 10, 20 bytes in four seconds: a deviation of 5.77 around 15. The distribution within a
        // second does not count.
        series.time_s = (0..=8).map(|i| 0.5 * f64::from(i)).collect();
        series.delivered_bytes = vec![0, 9, 10, 10, 30, 40, 40, 60, 60];
        let deviation = |span| variation(&series, span);
        assert!(
            (deviation([0.0, 4.0]).expect("moved") - 100.0 * (100.0f64 / 3.0).sqrt() / 15.0).abs() < 1e-9
        );
        assert_eq!(deviation([0.0, 1.0]), None);
        series.delivered_bytes = vec![7; 9];
        assert_eq!(variation(&series, [1.0, 4.0]), None);
    }
}
