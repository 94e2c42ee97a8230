//! Variants with the names that the story uses, and which of them are comparable.

use super::NOTICED_SHARE;
use super::group::limit;
use crate::figures::{Row, rows};
use result::Run;

/// A variant with its name in the story. Each flow that was measured one at a time counts as a variant.
pub(super) struct NamedVariant<'a> {
    pub name: String,
    /// Indices of the result and of its variant.
    pub at: [usize; 2],
    pub row: Row<'a>,
}

/// The variants with which the baseline is compared.
pub(super) struct Others<'a, 'b> {
    pub list: Vec<&'b NamedVariant<'a>>,
    /// The list has all other variants on this clock.
    pub all: bool,
}

/// The variants of a result that have flows. With several results, the result's label precedes the name.
pub(super) fn named<'a>(result: usize, label: &str, run: &'a Run, several: bool) -> Vec<NamedVariant<'a>> {
    let prefix = if several { format!("{label}: ") } else { String::new() };
    let with_name = |row: Row<'a>| {
        let flow = row.flow.map_or_else(String::new, |f| format!(" / {}", f.name));
        let variant = run.variants.iter().position(|v| std::ptr::eq(v, row.variant)).unwrap_or(0);
        NamedVariant { at: [result, variant], name: format!("{prefix}{}{flow}", row.variant.name), row }
    };
    rows(run).into_iter().filter(|row| !row.flows().is_empty()).map(with_name).collect()
}

/// The variants on the baseline's clock with the same flows and no higher limit; if there are none, with any
/// limit.
pub(super) fn comparable<'a, 'b>(baseline: &NamedVariant<'a>, all: &'b [NamedVariant<'a>]) -> Others<'a, 'b> {
    let clock = baseline.row.variant.clock;
    let others = all.iter().filter(|n| n.row.variant.clock == clock && !is_same_row(n, baseline));
    let others: Vec<&NamedVariant> = others.collect();
    let alike: Vec<&NamedVariant> =
        others.iter().copied().filter(|n| flows(&n.row) == flows(&baseline.row)).collect();
    let mut list: Vec<&NamedVariant> =
        alike.iter().copied().filter(|n| is_no_wider(&n.row, &baseline.row)).collect();
    if list.is_empty() {
        list = alike;
    }
    let comparable = |n: &&&NamedVariant| {
        baseline.row.flow.is_none() || n.row.flow.map(|f| &f.name) == baseline.row.flow.map(|f| &f.name)
    };
    let all = list.len() == others.iter().filter(comparable).count();
    Others { list, all }
}

fn is_same_row(a: &NamedVariant, b: &NamedVariant) -> bool {
    let flow = |n: &NamedVariant| n.row.flow.map(std::ptr::from_ref);
    std::ptr::eq(a.row.variant, b.row.variant) && flow(a) == flow(b)
}

fn flows<'a>(row: &Row<'a>) -> Vec<(&'a str, &'a str, bool)> {
    row.flows().iter().map(|f| (f.name.as_str(), f.app.as_str(), f.is_udp())).collect()
}

/// Whether no flow has a higher limit than in the baseline, or an unknown one where the baseline's is known.
fn is_no_wider(row: &Row, baseline: &Row) -> bool {
    let pairs = row.flows().into_iter().zip(baseline.flows());
    let mut limits =
        pairs.map(|(a, b)| (a.limit_mbps, b.limit_mbps)).chain([(row.limit(), baseline.limit())]);
    limits.all(|(is, was)| match (limit(is), limit(was)) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(is), Some(was)) => is as f64 <= (1.0 + NOTICED_SHARE) * was as f64,
    })
}
