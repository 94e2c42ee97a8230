//! The numbers of one study: what was measured of each cell, and what is published.

use crate::reproduce::expression::{CellName, CellNumbers};
use crate::reproduce::study::Study;
use result::TrustKind;
use std::collections::BTreeMap;

/// What was measured of a study on one clock: the repeats of each cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasuredCells {
    /// By cell; a cell that nothing was measured of is not in it.
    pub values: BTreeMap<CellName, Vec<f64>>,
    /// Why measurements of a row (`table.row`) are not to be trusted.
    pub doubts: BTreeMap<String, Vec<TrustKind>>,
}

/// The means, or one repeat alone.
pub(crate) struct CellView<'a> {
    pub study: &'a Study,
    pub measured: &'a MeasuredCells,
    /// Which repeat; `None`: the means.
    pub repeat: Option<usize>,
}

impl CellNumbers for CellView<'_> {
    fn ours(&self, cell: &CellName) -> Option<f64> {
        let values = self.measured.values.get(cell).filter(|v| !v.is_empty())?;
        match self.repeat {
            None => Some(values.iter().sum::<f64>() / values.len() as f64),
            // What was run once only is the same in every repeat.
            Some(_) if values.len() == 1 => Some(values[0]),
            Some(repeat) => values.get(repeat).copied(),
        }
    }

    fn published(&self, cell: &CellName) -> Option<f64> {
        self.study.published(cell)
    }
}

/// Published numbers in the place of measured ones: what a claim must hold on if it says what the study says.
pub struct PublishedNumbers<'a>(pub &'a Study);

impl CellNumbers for PublishedNumbers<'_> {
    fn ours(&self, cell: &CellName) -> Option<f64> {
        self.published(cell)
    }

    fn published(&self, cell: &CellName) -> Option<f64> {
        self.0.published(cell)
    }
}
