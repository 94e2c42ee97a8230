//! What text and page both take of a sweep's rows.

use crate::CellRow;

/// Indexes of `n` values, `most` at most (two or more): all, or as many evenly picked, the first and the last among them.
pub(crate) fn picked(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = n.min(most);
    (0..shown).map(move |i| if shown < n { i * (n - 1) / (shown - 1) } else { i })
}

/// The variants in the order of the rows, and the number of each row's.
pub(crate) fn variants(rows: &[CellRow]) -> (Vec<String>, Vec<usize>) {
    let mut names: Vec<String> = Vec::new();
    let number = |row: &CellRow| {
        names.iter().position(|v| *v == row.variant).unwrap_or_else(|| {
            names.push(row.variant.clone());
            names.len() - 1
        })
    };
    let of = rows.iter().map(number).collect();
    (names, of)
}

/// The quantile of sorted numbers: the smallest that at least this share does not exceed.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let at = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied()
}
