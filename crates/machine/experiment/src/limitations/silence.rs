//! Measures for how long a flow received nothing. This time is the real cost of an outage or a black hole,
//! not the lost packets: a sender that waits for a timeout does not send any.

use super::case::Case;
use result::measure::connections;
use result::{FlowSeries, Limitation, LimitationKind, LimitationSilence, Outcome};
use transport::App;

/// Shorter pauses also result from ordinary losses: this is the shortest timeout of Linux (`TCP_RTO_MIN`), s.
const MIN_SILENCE_S: f64 = 0.2;

/// Whether a limitation of this kind costs time in which nothing passes.
pub(super) fn interrupts(kind: LimitationKind) -> bool {
    use LimitationKind::{Fault, Handover, Mtu, Outage};
    matches!(kind, Fault | Handover | Mtu | Outage)
}

/// The flow with the longest silence among those that always have something to send.
pub(super) fn silence(
    limitation: &Limitation,
    case: &Case<'_>,
    outcome: &Outcome,
) -> Option<LimitationSilence> {
    if !interrupts(limitation.kind) {
        return None;
    }
    let greedy =
        |app: &App| matches!(app, App::Bulk { duration: None, .. } | App::Udp { duration: None, .. });
    let flows = case.flows().filter(|(_, f)| greedy(&f.app));
    let all = flows.flat_map(|(_, f)| connections(&outcome.variant.flows, &f.name));
    let silence = |f: &result::FlowResult| {
        let series = outcome.flow_series.iter().find(|s| s.name == f.name)?;
        Some(LimitationSilence { flow: f.name.clone(), silence_s: silence_s(series), active_s: f.active_s })
    };
    let longest = all.filter_map(silence).max_by(|a, b| a.silence_s.total_cmp(&b.silence_s))?;
    (longest.silence_s >= MIN_SILENCE_S).then_some(longest)
}

/// The total time between the flow's first row and its last byte, or the run's end, spent in gaps of at least
/// [`MIN_SILENCE_S`].
fn silence_s(series: &FlowSeries) -> f64 {
    let (mut silent, mut since) = (0.0, None);
    let mut before = 0;
    let mut end_stretch = |since: Option<f64>, at: f64| {
        silent += since.map(|since| at - since).filter(|&s| s >= MIN_SILENCE_S).unwrap_or(0.0);
    };
    for (&at, &bytes) in series.time_s.iter().zip(&series.delivered_bytes) {
        if bytes > before {
            end_stretch(since, at);
            since = Some(at);
        }
        since = since.or(Some(at));
        before = bytes;
    }
    let end = series.time_s.last().copied().unwrap_or(0.0);
    end_stretch(since, end);
    silent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_gaps_do_not_count_as_silence() {
        let silence = |delivered: &[u64]| {
            let time_s = (0..delivered.len()).map(|i| i as f64 * 0.1).collect();
            silence_s(&FlowSeries { time_s, delivered_bytes: delivered.to_vec(), ..FlowSeries::default() })
        };
        assert_eq!(silence(&[0, 1, 2, 3, 4]), 0.0);
        assert!((silence(&[0, 1, 1, 1, 1, 2, 3]) - 0.4).abs() < 1e-9);
        assert!((silence(&[0, 0, 0, 0, 0, 0]) - 0.5).abs() < 1e-9, "a flow that never received anything");
        assert!((silence(&[0, 1, 2, 2, 2, 2]) - 0.3).abs() < 1e-9, "to the end of the run");
        assert_eq!(silence(&[]), 0.0);
    }
}
