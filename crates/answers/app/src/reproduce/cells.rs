//! The numbers of one study: measured and published, by cell.

use crate::reproduce::expression::{CellName, CellNumbers};
use crate::reproduce::study::Study;
use result::TrustKind;
use std::collections::BTreeMap;

/// The repeats of each cell of a study, measured on one clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasuredCells {
    /// Repeats by cell. A cell without a measurement is absent.
    pub values: BTreeMap<CellName, Vec<f64>>,
    /// Reasons why a row's (`table.row`) measurements are not to be trusted.
    pub doubts: BTreeMap<String, Vec<TrustKind>>,
}

/// The numbers that a claim is judged on: the means, or one repeat.
pub(crate) struct CellView<'a> {
    pub study: &'a Study,
    pub measured: &'a MeasuredCells,
    /// The repeat; `None` for the means.
    pub repeat: Option<usize>,
}

impl CellNumbers for CellView<'_> {
    fn ours(&self, cell: &CellName) -> Option<f64> {
        let values = self.measured.values.get(cell).filter(|v| !v.is_empty())?;
        match self.repeat {
            None => Some(values.iter().sum::<f64>() / values.len() as f64),
            // A row that ran once has the same number in every repeat.
            Some(_) if values.len() == 1 => Some(values[0]),
            Some(repeat) => values.get(repeat).copied(),
        }
    }

    fn published(&self, cell: &CellName) -> Option<f64> {
        self.study.published(cell)
    }
}

/// Uses the published numbers as if they were measured. A claim must hold on them if it says what the study
/// says.
pub struct PublishedNumbers<'a>(pub &'a Study);

impl CellNumbers for PublishedNumbers<'_> {
    fn ours(&self, cell: &CellName) -> Option<f64> {
        self.published(cell)
    }

    fn published(&self, cell: &CellName) -> Option<f64> {
        self.0.published(cell)
    }
}
