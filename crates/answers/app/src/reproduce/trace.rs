//! Time series of a run for plots and claims.

use crate::reproduce::model::ClaimTrace;
use result::measure::is_connection_of;
use result::{Clock, FlowSeries, Outcome};

/// Limit of the points of a series.
const MAX_POINTS: usize = 240;

/// The series that can be shown, and their units.
pub(crate) const COLUMNS: [(&str, &str); 5] = [
    ("goodput", "Mbit/s"),
    ("cwnd", "packets"),
    ("inflight", "packets"),
    ("rtt", "ms"),
    ("btl_bw", "Mbit/s"),
];

/// Returns the series of a flow, or of all flows, of one run. `column` is one of [`COLUMNS`].
pub(crate) fn traces(
    outcome: &Outcome,
    row: &str,
    clock: Clock,
    flow: Option<&str>,
    column: &str,
) -> Vec<ClaimTrace> {
    let Some((column, unit)) = COLUMNS.iter().find(|(name, _)| *name == column) else { return Vec::new() };
    let wanted = |s: &&FlowSeries| flow.is_none_or(|name| is_connection_of(&s.name, name));
    let one = |series: &FlowSeries| {
        let (time_s, values) = thinned(series, column);
        ClaimTrace {
            row: row.into(),
            clock,
            flow: series.name.clone(),
            column: (*column).into(),
            unit: (*unit).into(),
            time_s,
            values,
        }
    };
    outcome.flow_series.iter().filter(wanted).map(one).collect()
}

/// Thins a series to at most [`MAX_POINTS`] intervals. Returns the time at each interval's end and the value
/// there; for goodput, the mean over the interval.
fn thinned(series: &FlowSeries, column: &str) -> (Vec<f64>, Vec<Option<f64>>) {
    let rows = series.time_s.len();
    let step = rows.div_ceil(MAX_POINTS).max(1);
    let ends = (1..).map(|i| i * step).take_while(|end| *end < rows);
    let value = |end: usize| {
        let begin = end - step;
        let packets = |list: &[u64]| list.get(end).map(|n| *n as f64);
        match column {
            "goodput" => {
                let bytes = series.delivered_bytes[end].checked_sub(series.delivered_bytes[begin])?;
                let seconds = series.time_s[end] - series.time_s[begin];
                (seconds > 0.0).then(|| bytes as f64 * 8e-6 / seconds)
            }
            "cwnd" => packets(&series.cwnd),
            "inflight" => packets(&series.inflight),
            "rtt" => series.rtt_ms.get(end).copied().flatten(),
            _ => series.btl_bw_mbps.get(end).copied().flatten(),
        }
    };
    ends.map(|end| (rounded(series.time_s[end]), value(end).map(rounded))).unzip()
}

/// Rounds to three decimals, more than a plot shows.
fn rounded(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_is_averaged_over_each_interval_of_a_thinned_series() {
        let mut series = FlowSeries::new("up");
        for i in 0..1000u64 {
            series.time_s.push(i as f64 * 0.01);
            series.delivered_bytes.push(i * 12_500);
            series.cwnd.push(i);
        }
        let (times, values) = thinned(&series, "goodput");
        assert!(times.len() <= MAX_POINTS && times.len() > MAX_POINTS / 2, "{}", times.len());
        // 12.5 kB in 10 ms are 10 Mbit/s.
        assert!(values.iter().all(|v| (v.expect("moves") - 10.0).abs() < 1e-3));
        assert_eq!(thinned(&series, "cwnd").1[0], Some(5.0));
        assert!(thinned(&FlowSeries::new("none"), "rtt").0.is_empty());
    }
}
