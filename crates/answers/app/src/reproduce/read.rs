//! Parses a study and refuses one that cannot be run or judged. Errors name file, line, column and key, as
//! those of scenarios do.

use crate::reproduce::expression::{CellName, ClaimExpression};
use crate::reproduce::study::{Study, StudyClaim, StudyTable};
use crate::reproduce::trace::COLUMNS;
use document::{DocumentError, RefusalCause, SettingsFile};
use std::fmt::Display;

/// Limit of the repeats of a row.
const MAX_REPEATS: u32 = 1000;

impl Study {
    /// Parses a study. `name` is the study's name, `file` the file's name in errors.
    ///
    /// # Errors
    /// Fails on invalid TOML, an unknown key, a duplicate or unknown name, and a measure or claim that cannot
    /// be parsed. The error gives the place and what would be right.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Study, DocumentError> {
        let settings = SettingsFile::parse(file, text)?;
        let mut study: Study = settings.read()?;
        study.name = name.into();
        let check = StudyCheck { file: &settings, study: &study };
        check.tables()?;
        check.fits()?;
        check.claims()?;
        Ok(study)
    }
}

struct StudyCheck<'a> {
    file: &'a SettingsFile<'a>,
    study: &'a Study,
}

type Check = Result<(), DocumentError>;

/// Builds a path of keys and indexes.
macro_rules! at {
    ($($step:expr),*) => { &[$(&$step as &dyn Display),*] };
}

impl StudyCheck<'_> {
    fn refuse(&self, path: &[&dyn Display], cause: RefusalCause) -> DocumentError {
        let steps: Vec<String> = path.iter().map(|step| step.to_string()).collect();
        self.file.refuse(&steps.iter().map(String::as_str).collect::<Vec<_>>(), cause)
    }

    fn error(&self, path: &[&dyn Display], message: String) -> DocumentError {
        self.refuse(path, RefusalCause::BadValue { message })
    }

    /// Checks that a name can be used in expressions and is unique among its kind.
    fn name(&self, path: &[&dyn Display], what: &'static str, name: &str, before: &[&str]) -> Check {
        let fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(fit) || name.starts_with(|c: char| c.is_ascii_digit()) {
            let message = format!(
                "`{name}` cannot be a name: use lower-case letters, digits and `_`, beginning with a letter"
            );
            return Err(self.error(path, message));
        }
        if before.contains(&name) {
            return Err(self.refuse(path, RefusalCause::DuplicateName { what, name: name.into() }));
        }
        Ok(())
    }

    fn tables(&self) -> Check {
        let mut names: Vec<&str> = Vec::new();
        for (i, table) in self.study.tables.iter().enumerate() {
            self.name(at!["tables", i, "name"], "table", &table.name, &names)?;
            names.push(&table.name);
            for (key, count) in [("repeat", table.repeat), ("kernel_repeat", table.kernel_repeat)] {
                if !(1..=MAX_REPEATS).contains(&count) {
                    let allowed = format!("1 to {MAX_REPEATS}");
                    let cause = RefusalCause::OutOfRange { found: count.to_string(), allowed };
                    return Err(self.refuse(at!["tables", i, key], cause));
                }
            }
            self.columns(i, table)?;
            self.rows(i, table)?;
            for (c, curve) in table.curves.iter().enumerate() {
                let columns = || table.columns.iter().map(|c| c.name.as_str());
                self.known(at!["tables", i, "curves", c, "x"], "column", &curve.x, columns())?;
                self.known(at!["tables", i, "curves", c, "y"], "column", &curve.y, columns())?;
                if let Some([row, _]) = &curve.mark {
                    let rows = table.rows.iter().map(|r| r.name.as_str());
                    self.known(at!["tables", i, "curves", c, "mark"], "row", row, rows)?;
                }
            }
            for (p, plot) in table.plots.iter().enumerate() {
                let path: &[&dyn Display] = at!["tables", i, "plots", p, "row"];
                self.known(path, "row", &plot.row, table.rows.iter().map(|r| r.name.as_str()))?;
                self.shown(at!["tables", i, "plots", p, "column"], &plot.column)?;
            }
        }
        Ok(())
    }

    fn columns(&self, i: usize, table: &StudyTable) -> Check {
        let mut names: Vec<&str> = Vec::new();
        for (c, column) in table.columns.iter().enumerate() {
            self.name(at!["tables", i, "columns", c, "name"], "column", &column.name, &names)?;
            names.push(&column.name);
            crate::reproduce::StudyMeasure::parse(&column.measure)
                .map_err(|why| self.error(at!["tables", i, "columns", c, "measure"], why))?;
        }
        Ok(())
    }

    fn rows(&self, i: usize, table: &StudyTable) -> Check {
        let mut names: Vec<&str> = Vec::new();
        let columns = || table.columns.iter().map(|c| c.name.as_str());
        for (r, row) in table.rows.iter().enumerate() {
            self.name(at!["tables", i, "rows", r, "name"], "row", &row.name, &names)?;
            names.push(&row.name);
            for column in row.published.keys() {
                self.known(at!["tables", i, "rows", r, "published", column], "column", column, columns())?;
            }
            for column in row.between.keys() {
                self.known(at!["tables", i, "rows", r, "between", column], "column", column, columns())?;
            }
            for (column, measure) in &row.measure {
                let path: &[&dyn Display] = at!["tables", i, "rows", r, "measure", column];
                self.known(path, "column", column, columns())?;
                crate::reproduce::StudyMeasure::parse(measure).map_err(|why| self.error(path, why))?;
            }
            if row.cannot.is_none() && row.scenario.is_none() && table.scenario.is_none() {
                let cause = RefusalCause::MissingKey { key: "scenario".into() };
                return Err(self.refuse(at!["tables", i, "rows", r, "name"], cause));
            }
        }
        Ok(())
    }

    fn known<'n>(
        &self,
        path: &[&dyn Display],
        what: &'static str,
        name: &str,
        mut known: impl Iterator<Item = &'n str> + Clone,
    ) -> Check {
        let all = known.clone().map(str::to_string).collect();
        if known.any(|n| n == name) {
            return Ok(());
        }
        Err(self.refuse(path, RefusalCause::UnknownName { what, name: name.into(), known: all }))
    }

    fn shown(&self, path: &[&dyn Display], column: &str) -> Check {
        self.known(path, "column", column, COLUMNS.iter().map(|(name, _)| *name))
    }

    /// Checks that a cell exists and, if `published`, that a number is published for it.
    fn cell(&self, path: &[&dyn Display], cell: &CellName, published: bool) -> Check {
        let tables = self.study.tables.iter().map(|t| t.name.as_str());
        self.known(path, "table", &cell.table, tables)?;
        let Some(table) = self.study.table(&cell.table) else { return Ok(()) };
        self.known(path, "row", &cell.row, table.rows.iter().map(|r| r.name.as_str()))?;
        self.known(path, "column", &cell.column, table.columns.iter().map(|c| c.name.as_str()))?;
        let has = table.row(&cell.row).is_some_and(|r| r.published.contains_key(&cell.column));
        if published && !has {
            return Err(self.error(path, format!("nothing is published for {cell}")));
        }
        Ok(())
    }

    /// Checks that each fit names a published number or a claim. A claim that is fitted on tests nothing, so
    /// it must not be judged.
    fn fits(&self) -> Check {
        for (f, fit) in self.study.fitted.iter().enumerate() {
            let path: &[&dyn Display] = at!["fitted", f, "on"];
            match self.study.claims.iter().find(|claim| claim.name == fit.on) {
                Some(claim) if claim.cannot.is_none() => {
                    let message = format!("`{}` is judged: a claim that is fitted on needs `cannot`", fit.on);
                    return Err(self.refuse(path, RefusalCause::Conflict { message }));
                }
                Some(_) => {}
                None => self.published_cell(path, &fit.on)?,
            }
            for (a, other) in fit.also.iter().enumerate() {
                self.published_cell(at!["fitted", f, "also", a], other)?;
            }
        }
        Ok(())
    }

    fn published_cell(&self, path: &[&dyn Display], text: &str) -> Check {
        let wrong = || self.error(path, "expected a cell, table.row.column, or the name of a claim".into());
        self.cell(path, &CellName::parse(text).ok_or_else(wrong)?, true)
    }

    fn claims(&self) -> Check {
        let mut names: Vec<&str> = Vec::new();
        for (c, claim) in self.study.claims.iter().enumerate() {
            self.name(at!["claims", c, "name"], "claim", &claim.name, &names)?;
            names.push(&claim.name);
            match (claim.cannot.is_some(), claim.holds.is_empty()) {
                (true, true) => continue,
                (false, false) => {}
                _ => {
                    let message = "a claim needs either `holds` or `cannot`".into();
                    return Err(self.refuse(at!["claims", c, "name"], RefusalCause::Conflict { message }));
                }
            }
            self.expression(at!["claims", c, "holds"], &claim.holds)?;
            if let Some(direction) = &claim.direction {
                self.expression(at!["claims", c, "direction"], direction)?;
            }
            self.trace(c, claim)?;
        }
        Ok(())
    }

    fn expression(&self, path: &[&dyn Display], text: &str) -> Check {
        let claim = ClaimExpression::parse(text).map_err(|e| self.error(path, e.to_string()))?;
        let (ours, published) = claim.cells();
        for cell in ours {
            self.cell(path, cell, false)?;
        }
        published.into_iter().try_for_each(|cell| self.cell(path, cell, true))
    }

    fn trace(&self, c: usize, claim: &StudyClaim) -> Check {
        let Some(trace) = &claim.trace else { return Ok(()) };
        self.shown(at!["claims", c, "trace", "column"], &trace.column)?;
        let path: &[&dyn Display] = at!["claims", c, "trace", "row"];
        let rows = self
            .study
            .tables
            .iter()
            .flat_map(|t| t.rows.iter().map(move |r| format!("{}.{}", t.name, r.name)));
        let rows: Vec<String> = rows.collect();
        self.known(path, "row", &trace.row, rows.iter().map(String::as_str))
    }
}
