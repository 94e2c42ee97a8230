//! Times of transfers, exchanges and pages, recomputed from the series and from the rows of each response.

use result::{FlowResult, FlowSeries, Response, TimesSummary, VariantResult};
use scenario::{Flow, Scenario};
use transport::App;
use units::ExchangeKind;

/// Checks one flow's times against its rows.
pub fn check_flow(
    flow: &FlowResult,
    of: &Flow,
    scenario: &Scenario,
    series: &FlowSeries,
    complain: &mut impl FnMut(String),
) {
    for (reported, page) in [(flow.response_s, false), (flow.page_s, true)] {
        let found = seconds(scenario, &series.responses, page);
        check_times(&flow.name, page, reported, found, complain);
    }
    if let App::Bulk { bytes: Some(bytes), duration: None } = of.app {
        transfer(flow, of, bytes.get(), series, complain);
    }
}

/// Checks the times of all flows together against their rows.
pub fn check_all_flows(
    variant: &VariantResult,
    scenario: &Scenario,
    series: &[FlowSeries],
    complain: &mut impl FnMut(String),
) {
    // If flows were measured alone, the times are in each flow.
    if variant.one_at_a_time {
        return;
    }
    for (reported, page) in [(variant.response_s, false), (variant.page_s, true)] {
        let found = series.iter().flat_map(|s| seconds(scenario, &s.responses, page)).collect();
        check_times("all flows", page, reported, found, complain);
    }
    let found = variant.flows.iter().filter_map(|f| f.completion_s).collect();
    let unfinished = variant.flows.iter().filter(|f| f.unfinished).count() as u64;
    if variant.completion_s.is_some_and(|t| t.unfinished != unfinished) {
        complain(format!("{unfinished} transfers did not end, reported: {:?}", variant.completion_s));
    }
    check_times("transfers", false, variant.completion_s, found, complain);
}

/// Durations of the responses that began in the measured interval.
fn seconds(scenario: &Scenario, rows: &[Response], page: bool) -> Vec<f64> {
    let [from, to] = scenario.measure.map_or([0.0, f64::MAX], |m| m.map(|t| t.as_secs_f64()));
    let counts =
        |r: &&Response| (r.what == ExchangeKind::Page.name()) == page && (from..=to).contains(&r.start_s);
    rows.iter().filter(counts).map(|r| r.seconds).collect()
}

fn check_times(
    of: &str,
    page: bool,
    reported: Option<TimesSummary>,
    mut found: Vec<f64>,
    complain: &mut impl FnMut(String),
) {
    found.sort_by(f64::total_cmp);
    let reported = reported.unwrap_or_default();
    // The smallest value that is not below this percentage of the values.
    let rank = |percent: usize| found.get((found.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
    let want = [
        (reported.count as f64, found.len() as f64),
        (reported.mean, mean),
        (reported.p50, rank(50).unwrap_or(0.0)),
        (reported.p95, rank(95).unwrap_or(0.0)),
        (reported.max, found.last().copied().unwrap_or(0.0)),
    ];
    if let Some((is, was)) = want.into_iter().find(|(a, b)| (a - b).abs() > 1e-6) {
        complain(format!("{of}, pages: {page}: {is} by the summary, {was} by its rows"));
    }
}

/// Checks a transfer of `bytes`: it ended between the first sample that has its last byte and the one before.
fn transfer(
    flow: &FlowResult,
    of: &Flow,
    bytes: u64,
    series: &FlowSeries,
    complain: &mut impl FnMut(String),
) {
    let number = flow.name.strip_prefix(&of.name).and_then(|n| n.strip_prefix('-')?.parse::<u64>().ok());
    let start = (of.start + of.stagger * number.map_or(0, |n| n - 1)).as_secs_f64();
    let last = series.delivered_bytes.iter().position(|&n| n >= bytes);
    let ended = last.map(|i| {
        let before = i.checked_sub(1).map_or(0.0, |j| series.time_s[j]);
        [before - start - 1e-6, series.time_s[i] - start + 1e-6]
    });
    let fits = match (ended, flow.completion_s) {
        (Some([low, high]), Some(reported)) => (low..=high).contains(&reported) && !flow.unfinished,
        (None, None) => flow.unfinished,
        // It may have ended with the run, after the last sample.
        (None, Some(_)) => flow.delivered_bytes == bytes,
        (Some(_), None) => false,
    };
    if !fits {
        let (name, reported) = (&flow.name, flow.completion_s);
        complain(format!("{name}: ended within {ended:?} s by its series, {reported:?} reported"));
    }
}
