//! Times of transfers, exchanges and pages, worked out anew from the series and from the rows of each answer.

use result::{FlowResult, FlowSeries, Response, TimesSummary, VariantResult};
use scenario::{Flow, Scenario};
use transport::App;
use units::Awaited;

/// Holds one flow's times against its rows.
pub fn hold(
    flow: &FlowResult,
    of: &Flow,
    scenario: &Scenario,
    series: &FlowSeries,
    complain: &mut impl FnMut(String),
) {
    for (told, page) in [(flow.response_s, false), (flow.page_s, true)] {
        let found = seconds(scenario, &series.responses, page);
        complain_of(&flow.name, page, told, found, complain);
    }
    if let App::Bulk { bytes: Some(bytes), duration: None } = of.app {
        transfer(flow, of, bytes.get(), series, complain);
    }
}

/// Holds the times of all flows together against the rows of each.
pub fn hold_together(
    variant: &VariantResult,
    scenario: &Scenario,
    series: &[FlowSeries],
    complain: &mut impl FnMut(String),
) {
    // Where flows were measured alone their times stand with each.
    if variant.one_at_a_time {
        return;
    }
    for (told, page) in [(variant.response_s, false), (variant.page_s, true)] {
        let found = series.iter().flat_map(|s| seconds(scenario, &s.responses, page)).collect();
        complain_of("all flows", page, told, found, complain);
    }
    let found = variant.flows.iter().filter_map(|f| f.completion_s).collect();
    let unfinished = variant.flows.iter().filter(|f| f.unfinished).count() as u64;
    if variant.completion_s.is_some_and(|t| t.unfinished != unfinished) {
        complain(format!("{unfinished} transfers did not end, told: {:?}", variant.completion_s));
    }
    complain_of("transfers", false, variant.completion_s, found, complain);
}

/// How long those took that began while it was measured.
fn seconds(scenario: &Scenario, rows: &[Response], page: bool) -> Vec<f64> {
    let [from, to] = scenario.measure.map_or([0.0, f64::MAX], |m| m.map(|t| t.as_secs_f64()));
    let counts = |r: &&Response| (r.what == Awaited::Page.name()) == page && (from..=to).contains(&r.start_s);
    rows.iter().filter(counts).map(|r| r.seconds).collect()
}

fn complain_of(
    of: &str,
    page: bool,
    told: Option<TimesSummary>,
    mut found: Vec<f64>,
    complain: &mut impl FnMut(String),
) {
    found.sort_by(f64::total_cmp);
    let told = told.unwrap_or_default();
    // The smallest that so many per cent are not above.
    let rank = |percent: usize| found.get((found.len() * percent).div_ceil(100).saturating_sub(1)).copied();
    let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
    let want = [
        (told.count as f64, found.len() as f64),
        (told.mean, mean),
        (told.p50, rank(50).unwrap_or(0.0)),
        (told.p95, rank(95).unwrap_or(0.0)),
        (told.max, found.last().copied().unwrap_or(0.0)),
    ];
    if let Some((is, was)) = want.into_iter().find(|(a, b)| (a - b).abs() > 1e-6) {
        complain(format!("{of}, pages: {page}: {is} by the summary, {was} by its rows"));
    }
}

/// A transfer of so many bytes came to its end between the sample that has its last byte and the one before.
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
        (Some([low, high]), Some(told)) => (low..=high).contains(&told) && !flow.unfinished,
        (None, None) => flow.unfinished,
        // It may have come to its end with the run, behind the last sample.
        (None, Some(_)) => flow.delivered_bytes == bytes,
        (Some(_), None) => false,
    };
    if !fits {
        let (name, told) = (&flow.name, flow.completion_s);
        complain(format!("{name}: ended within {ended:?} s by its series, {told:?} told"));
    }
}
