//! Variants under the names to tell of them, and which of them can be compared.

use super::ALIKE;
use super::group::limit;
use crate::figures::{Row, rows};
use result::Run;

/// A variant under the name to tell of it; of flows measured one at a time each is one for itself.
pub(super) struct NamedVariant<'a> {
    pub name: String,
    /// Which result's, and which of its variants.
    pub at: [usize; 2],
    pub row: Row<'a>,
}

/// The variants that a baseline is compared with.
pub(super) struct Others<'a, 'b> {
    pub list: Vec<&'b NamedVariant<'a>>,
    /// There are no others on this clock.
    pub all: bool,
}

/// The variants of a result that have flows, each with its name; before it the result's label where there are several.
pub(super) fn named<'a>(result: usize, label: &str, run: &'a Run, several: bool) -> Vec<NamedVariant<'a>> {
    let before = if several { format!("{label}: ") } else { String::new() };
    let one = |row: Row<'a>| {
        let of = row.flow.map_or_else(String::new, |f| format!(" / {}", f.name));
        let variant = run.variants.iter().position(|v| std::ptr::eq(v, row.variant)).unwrap_or(0);
        NamedVariant { at: [result, variant], name: format!("{before}{}{of}", row.variant.name), row }
    };
    rows(run).into_iter().filter(|row| !row.flows().is_empty()).map(one).collect()
}

/// Those on the baseline's clock with the same flows under no higher limit; where there is none, whatever the limit.
pub(super) fn comparable<'a, 'b>(baseline: &NamedVariant<'a>, all: &'b [NamedVariant<'a>]) -> Others<'a, 'b> {
    let clock = baseline.row.variant.clock;
    let others = all.iter().filter(|n| n.row.variant.clock == clock && !is(n, baseline));
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

fn is(a: &NamedVariant, b: &NamedVariant) -> bool {
    let flow = |n: &NamedVariant| n.row.flow.map(std::ptr::from_ref);
    std::ptr::eq(a.row.variant, b.row.variant) && flow(a) == flow(b)
}

fn flows<'a>(row: &Row<'a>) -> Vec<(&'a str, &'a str, bool)> {
    row.flows().iter().map(|f| (f.name.as_str(), f.app.as_str(), f.is_udp())).collect()
}

/// No flow meets a limit that is higher, or not known where the baseline's is.
fn is_no_wider(row: &Row, baseline: &Row) -> bool {
    let pairs = row.flows().into_iter().zip(baseline.flows());
    let mut limits =
        pairs.map(|(a, b)| (a.limit_mbps, b.limit_mbps)).chain([(row.limit(), baseline.limit())]);
    limits.all(|(is, was)| match (limit(is), limit(was)) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(is), Some(was)) => is as f64 <= (1.0 + ALIKE) * was as f64,
    })
}
