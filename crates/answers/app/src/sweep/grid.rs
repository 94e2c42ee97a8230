//! A grid: a scenario, the axes that are varied, and the resulting cells.
//!
//! A *point* is one value of each axis. A *cell* is a point, a variant and a repeat: one row of the dataset.
//! A cell's name is a hash of all that determines its figures: the program, the scenario's text and the files
//! it names, the overrides, the variant, and the seed of the repeat. A stored cell therefore need not run
//! again, no matter where and in which order it ran.

use crate::CommandError;
use crate::sweep::Axis;
use crate::sweep::columns::COLUMNS;
use scenario::{DocumentError, Experiment, ScenarioRequest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Offset basis of FNV-1a with 128 bits (draft-eastlake-fnv). Among 10^8 cells, the probability that two have
/// the same name is 10^-23.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
/// Prime of FNV-1a with 128 bits.
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Key of a run's seed, and name of its column.
const SEED: &str = "seed";

/// Limit of a grid's cells: their rows must fit in memory.
pub const MAX_CELLS: usize = 20_000_000;

/// A grid with all that a batch of cells needs on another machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepGrid {
    /// The program, with its commit where that is known: another version may simulate differently.
    pub program: String,
    /// The scenario's file name, for errors.
    pub file: String,
    /// The scenario's text.
    pub text: String,
    /// Files that the scenario's stages name: name and text.
    pub files: BTreeMap<String, String>,
    /// Overrides of every cell, as `--set` takes them.
    pub sets: Vec<String>,
    /// The axes; the last one varies fastest.
    pub axes: Vec<Axis>,
    /// The variants to run; all of the scenario's if empty.
    pub variants: Vec<String>,
    /// Seed of each cell's first repeat; `None` for the scenario's.
    pub seed: Option<u64>,
    /// Repeats of each cell, with consecutive seeds; 0 counts as 1.
    pub repeats: u32,
}

/// Why a grid was refused.
#[derive(Debug)]
pub enum GridError {
    /// The scenario is wrong, or no value of an axis fits it.
    Scenario(Box<DocumentError>),
    /// The options do not fit together. The message says what would be right.
    Request(String),
}

impl From<GridError> for CommandError {
    fn from(e: GridError) -> CommandError {
        match e {
            GridError::Scenario(e) => CommandError::Scenario(e),
            GridError::Request(why) => CommandError::Usage(why),
        }
    }
}

impl SweepGrid {
    /// Checks the grid before anything runs: the scenario, that each axis has a value that fits it, and the
    /// number of cells. Files that stages name are read through `read` and kept in the grid.
    ///
    /// A single value that does not fit is not an error: its cells become rows that say why.
    ///
    /// # Errors
    /// Fails when the scenario is wrong, when no value of an axis fits it, when two axes have the same name
    /// or one has the name of a column, and when there are too many cells.
    pub fn check(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, GridError> {
        self.check_axes().map_err(GridError::Request)?;
        let wrong = |e| GridError::Scenario(Box::new(e));
        let names = self.request(&[], &[]).variant_names().map_err(wrong)?;
        experiment::known_variants(&names, &self.variants)
            .map_err(|e| GridError::Request(format!("--variant: {e}")))?;
        let mut files = std::mem::take(&mut self.files);
        let mut keep = |name: &str| {
            if let Some(text) = files.get(name) {
                return Ok(text.clone());
            }
            let text = read(name)?;
            files.insert(name.into(), text.clone());
            Ok(text)
        };
        // An axis may set a key that the scenario needs, so the scenario is parsed with a value of each axis.
        let mut first: Vec<usize> = vec![0; self.axes.len()];
        let mut read_at = |at: &[usize]| self.request(&self.varied_at(at), &self.variants).parse(&mut keep);
        if read_at(&first).is_err() {
            for axis in 0..first.len() {
                first[axis] = first_fitting(&first, axis, self.axes[axis].values.len(), &mut read_at);
            }
        }
        let experiment = read_at(&first).map_err(wrong)?;
        let runs = experiment.variants.len() * self.repeats.max(1) as usize;
        if self.points().and_then(|p| p.checked_mul(runs)).is_none_or(|cells| cells > MAX_CELLS) {
            return Err(GridError::Request(format!(
                "more than {MAX_CELLS} cells: use fewer values, or several sweeps"
            )));
        }
        // Also read the files that other values name. Numbers do not name files.
        for (axis, varied) in self.axes.iter().enumerate().filter(|(_, varied)| varied.numbers().is_none()) {
            for value in 0..varied.values.len() {
                let mut at = first.clone();
                at[axis] = value;
                drop(read_at(&at));
            }
        }
        self.files = files;
        Ok(experiment)
    }

    fn check_axes(&self) -> Result<(), String> {
        let mut names: Vec<&str> = COLUMNS.iter().map(|c| c.name).collect();
        for axis in &self.axes {
            axis.check().map_err(|why| format!("{}: {why}", axis.name))?;
            if axis.keys.iter().any(|key| key == SEED) && (self.seed.is_some() || self.repeats > 1) {
                return Err(format!(
                    "{}: an axis of seeds, --seed and --repeat each set the seeds: use only one of them",
                    axis.name
                ));
            }
            if axis.is_seed() {
                names.retain(|name| *name != SEED);
            }
            if names.contains(&axis.name.as_str()) {
                return Err(format!(
                    "`{0}` is the name of another column: write ANOTHER-NAME:KEY=…",
                    axis.name
                ));
            }
            names.push(&axis.name);
        }
        Ok(())
    }

    /// Describes the scenario to parse, with these overrides and variants.
    fn request<'a>(&'a self, varied: &'a [String], variants: &'a [String]) -> ScenarioRequest<'a> {
        ScenarioRequest { file: &self.file, text: &self.text, sets: &self.sets, varied, variants }
    }

    /// Parses the given variants at a point; files come from the grid alone.
    pub(crate) fn read_at(&self, point: usize, variants: &[String]) -> Result<Experiment, DocumentError> {
        let mut read =
            |name: &str| self.files.get(name).cloned().ok_or_else(|| "is not in the grid".to_string());
        self.request(&self.varied_at(&self.place(point)), variants).parse(&mut read)
    }

    /// Returns the names of the variants that run, in the scenario's order.
    pub fn variant_names(&self) -> Vec<String> {
        // A checked grid has valid names.
        let mut all = self.request(&[], &[]).variant_names().unwrap_or_default();
        all.retain(|name| self.variants.is_empty() || self.variants.contains(name));
        all
    }

    /// Returns the number of points; `None` on overflow.
    pub fn points(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()))
    }

    /// Returns the index of each axis' value at a point.
    pub fn place(&self, point: usize) -> Vec<usize> {
        place(&self.axes, point)
    }

    /// Returns the values at a point, as written.
    pub fn values(&self, point: usize) -> Vec<String> {
        self.axes.iter().zip(self.place(point)).map(|(axis, at)| axis.values[at].clone()).collect()
    }

    /// Returns the overrides of the axes at a point.
    pub fn varied(&self, point: usize) -> Vec<String> {
        self.varied_at(&self.place(point))
    }

    fn varied_at(&self, place: &[usize]) -> Vec<String> {
        self.axes.iter().zip(place).flat_map(|(axis, &at)| axis.overrides(at)).collect()
    }

    /// Returns the hash of what all cell names have in common.
    pub fn basis(&self) -> u128 {
        let mut hash = BASIS;
        [&self.program, &self.text].into_iter().for_each(|part| hash = hash_with(hash, part));
        self.files.iter().for_each(|(name, text)| hash = hash_with(hash_with(hash, name), text));
        self.sets.iter().for_each(|set| hash = hash_with(hash, set));
        // Repeats have random host jitter, single runs do not.
        hash_with(hash, if self.repeats > 1 { "repeats" } else { "once" })
    }

    /// Returns a hash that identifies the dataset: two grids with the same cells have the same hash.
    pub fn digest(&self) -> String {
        let mut hash = hash_with(self.basis(), &self.repeats.to_string());
        self.variants.iter().for_each(|v| hash = hash_with(hash, v));
        hash = hash_with(hash, &format!("{:?}", self.seed));
        for axis in &self.axes {
            let parts = [&axis.name].into_iter().chain(&axis.keys).chain(&axis.values);
            parts.for_each(|part| hash = hash_with(hash, part));
        }
        format!("{hash:032x}")
    }

    /// Returns the name of a cell, 32 hexadecimal digits. `basis` is the value of [`SweepGrid::basis`].
    pub fn name(&self, basis: u128, point: usize, variant: &str, repeat: u32) -> String {
        let mut hash = basis;
        // Only the overrides count, not the name or the order of the axes.
        let mut sets = self.varied(point);
        sets.sort();
        sets.iter().for_each(|set| hash = hash_with(hash, set));
        let seed = self.seed.map_or_else(String::new, |seed| seed.to_string());
        format!("{:032x}", hash_with(hash_with(hash_with(hash, variant), &seed), &repeat.to_string()))
    }
}

impl Axis {
    /// Whether the axis sets the runs' seed under its own name. The column `seed` is then this axis.
    pub(crate) fn is_seed(&self) -> bool {
        self.name == SEED && self.keys == [SEED]
    }
}

/// Returns the index of each axis' value at a point.
pub(crate) fn place(axes: &[Axis], point: usize) -> Vec<usize> {
    let mut left = point;
    let mut place = vec![0; axes.len()];
    for (at, axis) in place.iter_mut().zip(axes).rev() {
        *at = left % axis.values.len();
        left /= axis.values.len();
    }
    place
}

/// Returns the first value of an axis with which the scenario can be parsed while the others stay; 0 if there
/// is none.
fn first_fitting(
    place: &[usize],
    axis: usize,
    values: usize,
    read_at: &mut dyn FnMut(&[usize]) -> Result<Experiment, DocumentError>,
) -> usize {
    let mut at = place.to_vec();
    (0..values)
        .find(|&value| {
            at[axis] = value;
            read_at(&at).is_ok()
        })
        .unwrap_or(0)
}

/// Returns the hash of the texts, 32 hexadecimal digits.
pub(crate) fn hash_of(texts: &[&str]) -> String {
    format!("{:032x}", texts.iter().fold(BASIS, |hash, text| hash_with(hash, text)))
}

/// Adds a text and a terminator to the hash.
fn hash_with(hash: u128, text: &str) -> u128 {
    let bytes = text.bytes().chain([0xff]);
    bytes.fold(hash, |h, b| (h ^ u128::from(b)).wrapping_mul(PRIME))
}

#[cfg(test)]
pub(crate) const TEXT: &str = r#"
duration = "1s"
[links.wan]
between = ["a", "b"]
forward = [
    { kind = "policer", rate = "5Mbit/s", burst = "30kB" },
    { kind = "delay", delay = "10ms" },
]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.up]
from = "a"
to = "b"
[variants.one]
[variants.two]
"flows.up.cc" = "reno"
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(axes: &[&str]) -> SweepGrid {
        SweepGrid {
            program: "longfat test".into(),
            file: "t.toml".into(),
            text: TEXT.into(),
            files: BTreeMap::new(),
            sets: Vec::new(),
            axes: axes.iter().map(|a| Axis::parse(a).unwrap()).collect(),
            variants: Vec::new(),
            seed: None,
            repeats: 2,
        }
    }

    fn none(_: &str) -> Result<String, String> {
        Err("no files here".into())
    }

    #[test]
    fn the_last_axis_varies_fastest() {
        let g = grid(&["flows.up.cc=cubic,bbr", "links.wan.forward.policer.rate=1Mbit/s,2Mbit/s,3Mbit/s"]);
        assert_eq!(g.points(), Some(6));
        assert_eq!(g.values(0), ["cubic", "1Mbit/s"]);
        assert_eq!(g.values(2), ["cubic", "3Mbit/s"]);
        assert_eq!(g.values(4), ["bbr", "2Mbit/s"]);
        assert_eq!(g.varied(4), ["flows.up.cc=bbr", "links.wan.forward.policer.rate=2Mbit/s"]);
    }

    #[test]
    fn a_cells_name_depends_only_on_its_inputs() {
        let g = grid(&["flows.up.cc=cubic,bbr", "links.wan.forward.policer.rate=1Mbit/s,2Mbit/s"]);
        let mut all: Vec<String> = Vec::new();
        for point in 0..4 {
            for variant in ["one", "two"] {
                all.extend((1..=2).map(|repeat| g.name(g.basis(), point, variant, repeat)));
            }
        }
        let mut different = all.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 16);
        // The order and the names of the axes do not matter. Another value leaves the other cells' names as
        // they are.
        let h = grid(&["r:links.wan.forward.policer.rate=2Mbit/s,1Mbit/s,7Mbit/s", "flows.up.cc=bbr,cubic"]);
        assert_eq!(h.values(3), ["1Mbit/s", "cubic"]);
        assert_eq!(h.name(h.basis(), 3, "one", 1), all[0]);
        let other = SweepGrid { seed: Some(9), ..g.clone() };
        assert_ne!(other.name(other.basis(), 0, "one", 1), all[0]);
        let other = SweepGrid { text: format!("{TEXT}\n"), ..g };
        assert_ne!(other.name(other.basis(), 0, "one", 1), all[0]);
    }

    #[test]
    fn an_axis_of_seeds_excludes_other_settings_of_the_seed() {
        let once = |axis: &str| SweepGrid { repeats: 1, ..grid(&[axis]) };
        for axis in ["seed=1,2,3", "run:seed=4,5"] {
            assert!(once(axis).check(&mut none).is_ok(), "{axis}");
            for mut other in [grid(&[axis]), SweepGrid { seed: Some(1), ..once(axis) }] {
                let Err(GridError::Request(why)) = other.check(&mut none) else { panic!("{axis}") };
                assert!(why.contains("--seed and --repeat"), "{why}");
            }
        }
        let g = once("seed=1,2,3");
        let seeds = (0..3).map(|point| g.read_at(point, &[]).unwrap().variants[0].scenario.seed);
        assert_eq!(seeds.collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_grid_is_checked_before_anything_runs() {
        assert_eq!(grid(&["flows.up.cc=bbr"]).check(&mut none).unwrap().variants.len(), 2);
        // A single value that does not fit becomes rows with an error; an axis without any fitting value is
        // refused.
        assert!(grid(&["flows.up.cc=nonsense,bbr"]).check(&mut none).is_ok());
        let refusal = |axes: &[&str]| match grid(axes).check(&mut none) {
            Err(GridError::Scenario(e)) => e.render(),
            Err(GridError::Request(why)) => why,
            Ok(_) => panic!("{axes:?}"),
        };
        assert!(refusal(&["flows.up.cc=nonsense,more"]).contains("nonsense"));
        assert!(refusal(&["flows.down.cc=bbr,cubic"]).contains("down"));
        assert!(refusal(&["variant:flows.up.cc=bbr,cubic"]).contains("another column"));
        assert!(refusal(&["seed:flows.up.count=1,2"]).contains("another column"));
        let long = "links.wan.forward.policer.rate=1..90000kbit/s:lin:90000";
        let axes = [long, "flows.up.count=1..90000:lin:90000"];
        assert!(refusal(&axes).contains("more than 20000000 cells"));
    }
}
