//! A grid: a scenario, what is varied, and the cells that come of it.
//!
//! A *point* is one value of each axis; a *cell* is a point, a variant and a repeat: one row of the dataset. A cell's
//! name is a hash of all that determines its figures: program, scenario text, files that it names, overrides, variant,
//! repeat's seed. So a cell that is there need not be run again, whoever ran it and in whatever order.

use crate::CommandError;
use crate::sweep::Axis;
use crate::sweep::columns::COLUMNS;
use scenario::{AskedScenario, DocumentError, Experiment};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// FNV-1a with 128 bits: offset basis and prime of the reference (draft-eastlake-fnv, table of sizes). Among 10^8 cells
/// two of the same name have a chance of 10^-23.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// The key of a run's seed, and its column.
const SEED: &str = "seed";

/// The most cells of a grid: what a list of rows in memory has room for.
pub const MOST_CELLS: usize = 20_000_000;

/// What to run. It holds all that a batch of cells needs, on whatever machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepGrid {
    /// The program, to the commit where that is known: another one may simulate otherwise.
    pub program: String,
    /// The scenario's file, for errors.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Files that its stages name, as they are named there.
    pub files: BTreeMap<String, String>,
    /// What every cell overrides, as `--set` takes it.
    pub sets: Vec<String>,
    /// What is varied; the last one fastest.
    pub axes: Vec<Axis>,
    /// The scenario's variants that are run; all when there are none.
    pub variants: Vec<String>,
    /// Seed of each cell's first repeat; `None`: the scenario's.
    pub seed: Option<u64>,
    /// Repeats of a cell, each with the next seed; at least one.
    pub repeats: u32,
}

/// Why there is no grid.
#[derive(Debug)]
pub enum GridError {
    /// The scenario is wrong, or no value of an axis fits it.
    Scenario(Box<DocumentError>),
    /// What is asked for does not fit together; says what would be right.
    Asked(String),
}

impl From<GridError> for CommandError {
    fn from(e: GridError) -> CommandError {
        match e {
            GridError::Scenario(e) => CommandError::Scenario(e),
            GridError::Asked(why) => CommandError::Usage(why),
        }
    }
}

impl SweepGrid {
    /// Checks the grid as a whole, before anything is run: the scenario, that each axis has a value that fits it, and how
    /// many cells there are. Files that stages name are read through `read` and kept in the grid.
    ///
    /// A value that does not fit is no error here: its cells become rows that say why.
    ///
    /// # Errors
    /// The scenario is wrong; no value of an axis fits it; an axis' name stands twice, or is a column's; there are too
    /// many cells.
    pub fn check(
        &mut self,
        read: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Experiment, GridError> {
        self.check_axes().map_err(GridError::Asked)?;
        let wrong = |e| GridError::Scenario(Box::new(e));
        let names = self.asked(&[], &[]).variant_names().map_err(wrong)?;
        experiment::known_variants(&names, &self.variants)
            .map_err(|e| GridError::Asked(format!("--variant: {e}")))?;
        let mut files = std::mem::take(&mut self.files);
        let mut keep = |name: &str| {
            if let Some(text) = files.get(name) {
                return Ok(text.clone());
            }
            let text = read(name)?;
            files.insert(name.into(), text.clone());
            Ok(text)
        };
        // A key that the scenario lacks may be one that an axis gives: only with some value of each axis it is read.
        let mut first: Vec<usize> = vec![0; self.axes.len()];
        let mut read_at = |at: &[usize]| self.asked(&self.varied_at(at), &self.variants).parse(&mut keep);
        if read_at(&first).is_err() {
            for axis in 0..first.len() {
                first[axis] = fitting(&first, axis, self.axes[axis].values.len(), &mut read_at);
            }
        }
        let experiment = read_at(&first).map_err(wrong)?;
        let runs = experiment.variants.len() * self.repeats.max(1) as usize;
        if self.points().and_then(|p| p.checked_mul(runs)).is_none_or(|cells| cells > MOST_CELLS) {
            return Err(GridError::Asked(format!(
                "more than {MOST_CELLS} cells: leave values out, or sweep in several folders"
            )));
        }
        // Files that other values name; numbers name none.
        for (axis, of) in self.axes.iter().enumerate().filter(|(_, of)| of.numbers().is_none()) {
            for value in 0..of.values.len() {
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
                    "{}: an axis of seeds, --seed and --repeat each choose the runs' seeds: give one of them",
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

    /// What is read of the scenario.
    fn asked<'a>(&'a self, varied: &'a [String], variants: &'a [String]) -> AskedScenario<'a> {
        AskedScenario { file: &self.file, text: &self.text, sets: &self.sets, varied, variants }
    }

    /// These variants at a point, from the grid alone.
    pub(crate) fn read_at(&self, point: usize, variants: &[String]) -> Result<Experiment, DocumentError> {
        let mut read = |name: &str| self.files.get(name).cloned().ok_or_else(|| "is not there".to_string());
        self.asked(&self.varied_at(&self.place(point)), variants).parse(&mut read)
    }

    /// The variants that are run, in the scenario's order.
    pub fn variant_names(&self) -> Vec<String> {
        // A grid that was checked has names.
        let mut all = self.asked(&[], &[]).variant_names().unwrap_or_default();
        all.retain(|name| self.variants.is_empty() || self.variants.contains(name));
        all
    }

    /// How many points there are; `None` where they cannot be counted.
    pub fn points(&self) -> Option<usize> {
        self.axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()))
    }

    /// The number of each axis' value at a point.
    pub fn place(&self, point: usize) -> Vec<usize> {
        place(&self.axes, point)
    }

    /// The values at a point, as they are written.
    pub fn values(&self, point: usize) -> Vec<String> {
        self.axes.iter().zip(self.place(point)).map(|(axis, at)| axis.values[at].clone()).collect()
    }

    /// What the axes override at a point.
    pub fn varied(&self, point: usize) -> Vec<String> {
        self.varied_at(&self.place(point))
    }

    fn varied_at(&self, place: &[usize]) -> Vec<String> {
        self.axes.iter().zip(place).flat_map(|(axis, &at)| axis.overrides(at)).collect()
    }

    /// What all names have in common, hashed once.
    pub fn basis(&self) -> u128 {
        let mut hash = BASIS;
        [&self.program, &self.text].into_iter().for_each(|part| hash = hashed(hash, part));
        self.files.iter().for_each(|(name, text)| hash = hashed(hashed(hash, name), text));
        self.sets.iter().for_each(|set| hash = hashed(hash, set));
        // Hosts are restless where there are repeats.
        hashed(hash, if self.repeats > 1 { "repeats" } else { "once" })
    }

    /// The names of all cells, hashed: two grids of the same are the same dataset.
    pub fn digest(&self) -> String {
        let mut hash = hashed(self.basis(), &self.repeats.to_string());
        self.variants.iter().for_each(|v| hash = hashed(hash, v));
        hash = hashed(hash, &format!("{:?}", self.seed));
        for axis in &self.axes {
            let parts = [&axis.name].into_iter().chain(&axis.keys).chain(&axis.values);
            parts.for_each(|part| hash = hashed(hash, part));
        }
        format!("{hash:032x}")
    }

    /// The name of a cell, 32 hexadecimal digits; `basis` is [`SweepGrid::basis`].
    pub fn name(&self, basis: u128, point: usize, variant: &str, repeat: u32) -> String {
        let mut hash = basis;
        // By what an axis sets, whatever it is called and wherever it stands.
        let mut sets = self.varied(point);
        sets.sort();
        sets.iter().for_each(|set| hash = hashed(hash, set));
        let seed = self.seed.map_or_else(String::new, |seed| seed.to_string());
        format!("{:032x}", hashed(hashed(hashed(hash, variant), &seed), &repeat.to_string()))
    }
}

impl Axis {
    /// Whether it is the runs' seed under its own name: then the dataset's column `seed` is this axis.
    pub(crate) fn is_seed(&self) -> bool {
        self.name == SEED && self.keys == [SEED]
    }
}

/// The number of each axis' value at a point.
pub(crate) fn place(axes: &[Axis], point: usize) -> Vec<usize> {
    let mut left = point;
    let mut place = vec![0; axes.len()];
    for (at, axis) in place.iter_mut().zip(axes).rev() {
        *at = left % axis.values.len();
        left /= axis.values.len();
    }
    place
}

/// The first value of an axis with which the scenario is read while the others stay; else the first of all.
fn fitting(
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

/// These texts, hashed: 32 hexadecimal digits.
pub(crate) fn hash_of(texts: &[&str]) -> String {
    format!("{:032x}", texts.iter().fold(BASIS, |hash, text| hashed(hash, text)))
}

/// A text and its end, hashed.
fn hashed(hash: u128, text: &str) -> u128 {
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
    fn points_go_through_the_last_axis_first() {
        let g = grid(&["flows.up.cc=cubic,bbr", "links.wan.forward.policer.rate=1Mbit/s,2Mbit/s,3Mbit/s"]);
        assert_eq!(g.points(), Some(6));
        assert_eq!(g.values(0), ["cubic", "1Mbit/s"]);
        assert_eq!(g.values(2), ["cubic", "3Mbit/s"]);
        assert_eq!(g.values(4), ["bbr", "2Mbit/s"]);
        assert_eq!(g.varied(4), ["flows.up.cc=bbr", "links.wan.forward.policer.rate=2Mbit/s"]);
    }

    #[test]
    fn names_are_of_what_determines_a_cell() {
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
        // The order and the names of axes change nothing; one value more leaves the others' names as they are.
        let h = grid(&["r:links.wan.forward.policer.rate=2Mbit/s,1Mbit/s,7Mbit/s", "flows.up.cc=bbr,cubic"]);
        assert_eq!(h.values(3), ["1Mbit/s", "cubic"]);
        assert_eq!(h.name(h.basis(), 3, "one", 1), all[0]);
        let other = SweepGrid { seed: Some(9), ..g.clone() };
        assert_ne!(other.name(other.basis(), 0, "one", 1), all[0]);
        let other = SweepGrid { text: format!("{TEXT}\n"), ..g };
        assert_ne!(other.name(other.basis(), 0, "one", 1), all[0]);
    }

    #[test]
    fn seeds_are_an_axis_and_nothing_else_chooses_them() {
        let once = |axis: &str| SweepGrid { repeats: 1, ..grid(&[axis]) };
        for axis in ["seed=1,2,3", "run:seed=4,5"] {
            assert!(once(axis).check(&mut none).is_ok(), "{axis}");
            for mut other in [grid(&[axis]), SweepGrid { seed: Some(1), ..once(axis) }] {
                let Err(GridError::Asked(why)) = other.check(&mut none) else { panic!("{axis}") };
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
        // One value that does not fit becomes rows; none that fits is a mistake.
        assert!(grid(&["flows.up.cc=nonsense,bbr"]).check(&mut none).is_ok());
        let told = |axes: &[&str]| match grid(axes).check(&mut none) {
            Err(GridError::Scenario(e)) => e.render(),
            Err(GridError::Asked(why)) => why,
            Ok(_) => panic!("{axes:?}"),
        };
        assert!(told(&["flows.up.cc=nonsense,more"]).contains("nonsense"));
        assert!(told(&["flows.down.cc=bbr,cubic"]).contains("down"));
        assert!(told(&["variant:flows.up.cc=bbr,cubic"]).contains("another column"));
        assert!(told(&["seed:flows.up.count=1,2"]).contains("another column"));
        let long = "links.wan.forward.policer.rate=1..90000kbit/s:lin:90000";
        let axes = [long, "flows.up.count=1..90000:lin:90000"];
        assert!(told(&axes).contains("more than 20000000 cells"));
    }
}
