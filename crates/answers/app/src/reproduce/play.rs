//! Runs the rows of a study's tables. Rows of one scenario with the same overrides form one experiment, so
//! that all cores have work.
//!
//! Only a number per cell is kept of each run, and the few series that plots and claims show.

use crate::reproduce::cells::MeasuredCells;
use crate::reproduce::expression::CellName;
use crate::reproduce::gather::gathered;
use crate::reproduce::judge::judge;
use crate::reproduce::model::{
    CellValue, ClaimTrace, JudgedClaim, ReproducedCell, ReproducedColumn, ReproducedCurve, ReproducedFit,
    ReproducedPlot, ReproducedRow, ReproducedStudy, ReproducedTable, Reproduction, UnrunPart,
};
use crate::reproduce::study::{Selection, Study, StudyClaim, StudyRow, StudyTable};
use crate::reproduce::trace::traces;
use experiment::{Hooks, Order, Outcomes, VariantOutcomes, Watcher};
use result::{Clock, TrustKind};
use scenario::{DocumentError, Experiment, ScenarioRequest};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// Returns the text of a scenario by the name that a study gives it, or the reason why there is none.
pub type ScenarioSource<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// How to run a study.
#[derive(Clone, Debug)]
pub struct ReproduceOptions {
    /// The clocks, in order.
    pub clocks: Vec<Clock>,
    /// Number of simulated runs at a time; `None` for one per core.
    pub threads: Option<NonZeroUsize>,
    /// Limit of the repeats of a row, for a quick look; `None` for the study's number.
    pub max_repeats: Option<u32>,
}

/// Why a reproduction ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// A scenario that a study names is wrong, or its overrides are.
    #[error("{0}")]
    Scenario(Box<DocumentError>),
    /// A study names a scenario or variant that does not exist.
    #[error("{0}")]
    Missing(String),
    /// The caller stopped the runs.
    #[error("stopped")]
    Stopped,
}

/// Runs the selected part of each study and judges the claims over it.
///
/// # Errors
/// Fails when a study names a scenario or variant that does not exist or is wrong, and when the caller stops
/// the runs. Runs that fail on the kernel are not an error: their cells are empty, and the study lists the
/// reason.
pub fn reproduce(
    studies: &[(Study, Selection)],
    options: &ReproduceOptions,
    source: &ScenarioSource<'_>,
    mut progress: Option<&mut Watcher<'_>>,
) -> Result<Reproduction, ReproduceError> {
    let mut done = Vec::new();
    for (study, selection) in studies {
        let mut player =
            StudyPlayer { study, selection, options, source, kept: Vec::new(), unrun: Vec::new() };
        for &clock in &options.clocks {
            let kept = player.run_on(clock, &mut progress)?;
            player.kept.push(kept);
        }
        done.push(player.into_study());
    }
    Ok(gathered(options.clocks.clone(), done))
}

/// Measurements of a study on one clock.
#[derive(Default)]
struct KeptStudy {
    cells: MeasuredCells,
    /// Series by `table.row`, flow (empty for all flows) and column.
    traces: BTreeMap<(String, String, String), Vec<ClaimTrace>>,
}

struct StudyPlayer<'a> {
    study: &'a Study,
    selection: &'a Selection,
    options: &'a ReproduceOptions,
    source: &'a ScenarioSource<'a>,
    kept: Vec<KeptStudy>,
    unrun: Vec<UnrunPart>,
}

/// Rows that run as one experiment.
struct RowGroup<'a> {
    scenario: &'a str,
    set: Vec<String>,
    repeats: u32,
    rows: Vec<(&'a StudyTable, &'a StudyRow)>,
}

impl<'a> StudyPlayer<'a> {
    fn run_on(
        &mut self,
        clock: Clock,
        progress: &mut Option<&mut Watcher<'_>>,
    ) -> Result<KeptStudy, ReproduceError> {
        let mut kept = KeptStudy::default();
        for group in self.groups(clock) {
            let (experiment, first) = self.experiment(&group)?;
            let order = Order {
                clocks: vec![clock],
                repeats: group.repeats,
                threads: self.options.threads,
                keep_going: true,
                ..Order::default()
            };
            let hooks = Hooks { progress: progress.as_deref_mut().map(|p| p as _), ..Hooks::default() };
            let outcomes = experiment::run(&experiment, &order, hooks);
            if !outcomes.stopped.is_empty() {
                return Err(ReproduceError::Stopped);
            }
            for (table, row) in &group.rows {
                let variant = row.variant.as_deref().unwrap_or(&first);
                self.keep(&mut kept, (table, row), variant, &outcomes, clock);
            }
        }
        Ok(kept)
    }

    /// Groups the rows to run on this clock, and notes why others are not run.
    fn groups(&mut self, clock: Clock) -> Vec<RowGroup<'a>> {
        let mut groups: Vec<RowGroup> = Vec::new();
        let study = self.study;
        for table in study.tables.iter().filter(|t| self.selection.has(&t.name)) {
            for row in &table.rows {
                let left_out = match &row.not_on_kernel {
                    Some(why) if clock == Clock::Kernel => Some(why),
                    _ => row.cannot.as_ref(),
                };
                if let Some(why) = left_out {
                    let on = if row.cannot.is_none() { ", kernel" } else { "" };
                    self.note_unrun(format!("{}.{}{on}", table.name, row.name), why.clone());
                    continue;
                }
                let Some(scenario) = table.scenario_of(row) else { continue };
                let set = table.overrides_of(row);
                let repeats = if clock == Clock::Sim { table.repeat } else { table.kernel_repeat };
                let repeats = repeats.min(self.options.max_repeats.unwrap_or(repeats));
                let same = |g: &&mut RowGroup| g.scenario == scenario && g.set == set && g.repeats == repeats;
                match groups.iter_mut().find(same) {
                    Some(group) => group.rows.push((table, row)),
                    None => groups.push(RowGroup { scenario, set, repeats, rows: vec![(table, row)] }),
                }
            }
        }
        groups
    }

    fn note_unrun(&mut self, what: String, why: String) {
        let part = UnrunPart { what, why };
        if !self.unrun.contains(&part) {
            self.unrun.push(part);
        }
    }

    /// Parses the scenario with the overrides and the variants that the rows need. Also returns the name of
    /// the scenario's first variant.
    fn experiment(&self, group: &RowGroup<'_>) -> Result<(Experiment, String), ReproduceError> {
        let missing = |what: String| ReproduceError::Missing(format!("study {}: {what}", self.study.name));
        let text =
            (self.source)(group.scenario).map_err(|why| missing(format!("{}: {why}", group.scenario)))?;
        let file = format!("{}.toml", group.scenario.trim_end_matches(".toml"));
        let wrong = |e| ReproduceError::Scenario(Box::new(e));
        let all =
            ScenarioRequest { file: &file, text: &text, sets: &group.set, ..ScenarioRequest::default() };
        let names = all.variant_names().map_err(wrong)?;
        let first = names.first().cloned().unwrap_or_default();
        let wanted = group.rows.iter().map(|(_, row)| row.variant.clone().unwrap_or(first.clone()));
        let wanted: Vec<String> = wanted.collect();
        experiment::known_variants(&names, &wanted)
            .map_err(|e| missing(format!("{}: {e}", group.scenario)))?;
        let wanted_only = ScenarioRequest { variants: &wanted, ..all };
        Ok((wanted_only.parse_without_files().map_err(wrong)?, first))
    }

    /// Keeps a row's numbers and series, or notes why there are none.
    fn keep(
        &mut self,
        kept: &mut KeptStudy,
        (table, row): (&StudyTable, &StudyRow),
        variant: &str,
        outcomes: &Outcomes,
        clock: Clock,
    ) {
        let place = format!("{}.{}", table.name, row.name);
        for failed in outcomes.failed.iter().filter(|f| f.variant == variant) {
            self.note_unrun(
                format!("{place}, {}", clock.name()),
                failed.failure.to_string().trim().to_string(),
            );
        }
        let found = outcomes.variants.iter().find(|v| v.variant == variant);
        let Some(found) = found.filter(|v| !v.outcomes.is_empty()) else { return };
        for column in &table.columns {
            let Ok(measure) = row.measured(column) else { continue };
            let values: Option<Vec<f64>> =
                found.outcomes.iter().map(|o| measure.of(o).map(|x| x * column.scale)).collect();
            if let Some(values) = values {
                let cell = CellName {
                    table: table.name.clone(),
                    row: row.name.clone(),
                    column: column.name.clone(),
                };
                kept.cells.values.insert(cell, values);
            }
        }
        kept.cells.doubts.insert(place.clone(), untrusted_kinds(found));
        let plots = table.plots.iter().filter(|p| p.row == row.name);
        let plots = plots.map(|p| (p.flow.as_deref(), p.column.as_str()));
        let shown = self.study.claims.iter().filter_map(|c| c.trace.as_ref()).filter(|t| t.row == place);
        let shown = shown.map(|t| (Some(t.flow.as_str()), t.column.as_str()));
        for (flow, column) in plots.chain(shown) {
            let series = traces(&found.outcomes[0], &place, clock, flow, column);
            kept.traces.insert((place.clone(), flow.unwrap_or_default().into(), column.into()), series);
        }
    }

    fn into_study(self) -> ReproducedStudy {
        let study = self.study;
        let tables: Vec<&StudyTable> = study.tables.iter().filter(|t| self.selection.has(&t.name)).collect();
        let fit = |f: &crate::reproduce::StudyFit| ReproducedFit {
            unknown: f.unknown.clone(),
            value: f.value.clone(),
            on: f.on.clone(),
        };
        let whole = self.selection.table.is_none();
        let wanted = |c: &&StudyClaim| match c.expressions().0 {
            Some(holds) => holds.cells().0.iter().all(|cell| self.selection.has(&cell.table)),
            None => whole,
        };
        ReproducedStudy {
            name: study.name.clone(),
            title: study.title.clone(),
            source: study.source.clone(),
            about: study.about.clone(),
            clocks: self.options.clocks.clone(),
            fitted: study.fitted.iter().map(fit).collect(),
            tables: tables.iter().map(|t| self.table(t)).collect(),
            claims: study.claims.iter().filter(wanted).map(|c| self.claim(c)).collect(),
            unrun: self.unrun,
        }
    }

    fn table(&self, table: &StudyTable) -> ReproducedTable {
        let column = |c: &crate::reproduce::StudyColumn| {
            let own = crate::reproduce::StudyMeasure::parse(&c.measure).map_or("", |m| m.unit());
            let unit = c.unit.clone().unwrap_or_else(|| own.into());
            ReproducedColumn { name: c.name.clone(), title: c.title.clone(), unit }
        };
        let plot = |p: &crate::reproduce::StudyPlot| {
            let flow = p.flow.clone().unwrap_or_default();
            let key = (format!("{}.{}", table.name, p.row), flow, p.column.clone());
            let series = self.kept.iter().filter_map(|k| k.traces.get(&key)).flatten().cloned().collect();
            ReproducedPlot { title: p.title.clone(), series }
        };
        let curve = |c: &crate::reproduce::StudyCurve| ReproducedCurve {
            title: c.title.clone(),
            x: c.x.clone(),
            y: c.y.clone(),
            mark: c.mark.clone(),
        };
        ReproducedTable {
            name: table.name.clone(),
            title: table.title.clone(),
            place: table.place.clone(),
            note: table.note.clone(),
            columns: table.columns.iter().map(column).collect(),
            rows: table.rows.iter().map(|row| self.row(table, row)).collect(),
            plots: table.plots.iter().map(plot).collect(),
            curves: table.curves.iter().map(curve).collect(),
        }
    }

    fn row(&self, table: &StudyTable, row: &StudyRow) -> ReproducedRow {
        let cell = |column: &crate::reproduce::StudyColumn| {
            let name =
                CellName { table: table.name.clone(), row: row.name.clone(), column: column.name.clone() };
            let place = format!("{}.{}", table.name, row.name);
            let fitted = self.study.fitted.iter().find(|f| f.is_of(&name.to_string()));
            let value = |kept: &KeptStudy| {
                let values = kept.cells.values.get(&name)?.clone();
                let estimate = result::estimate(&values);
                let doubts = kept.cells.doubts.get(&place).cloned().unwrap_or_default();
                Some(CellValue { mean: estimate.mean, ci95: estimate.ci95, values, doubts })
            };
            ReproducedCell {
                published: row.published.get(&column.name).copied(),
                between: row.between.get(&column.name).copied(),
                fitted: fitted.map(|f| f.unknown.clone()),
                ours: self.kept.iter().map(value).collect(),
            }
        };
        ReproducedRow {
            name: row.name.clone(),
            title: row.title.clone(),
            scenario: table.scenario_of(row).unwrap_or_default().into(),
            variant: row.variant.clone(),
            set: table.overrides_of(row),
            cells: table.columns.iter().map(cell).collect(),
        }
    }

    fn claim(&self, claim: &StudyClaim) -> JudgedClaim {
        let on = |(clock, kept): (&Clock, &KeptStudy)| {
            let trace = claim.trace.as_ref().and_then(|t| {
                let key = (t.row.clone(), t.flow.clone(), t.column.clone());
                kept.traces.get(&key)?.first().cloned()
            });
            judge(self.study, claim, *clock, &kept.cells, trace)
        };
        JudgedClaim {
            name: claim.name.clone(),
            says: claim.says.clone(),
            place: claim.place.clone(),
            holds_if: claim.holds.clone(),
            in_direction_if: claim.direction.clone(),
            cannot: claim.cannot.clone(),
            judged: self.options.clocks.iter().zip(&self.kept).filter_map(on).collect(),
        }
    }
}

/// Returns the reasons, each once, why a variant's measurements on the kernel are not to be trusted.
fn untrusted_kinds(found: &VariantOutcomes) -> Vec<TrustKind> {
    let trust = found.outcomes.iter().filter_map(|o| o.variant.trust.as_ref()).filter(|t| !t.reliable);
    let mut kinds = Vec::new();
    for reason in trust.flat_map(|t| &t.reasons) {
        if !kinds.contains(&reason.kind) {
            kinds.push(reason.kind);
        }
    }
    kinds
}
