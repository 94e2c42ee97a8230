//! The table of several goals: for each the baseline's value, the best variant, its value, and what else
//! changes.

use super::Story;
use super::clause::{Better, Clause};
use super::phrases::{joined, value};
use super::words::name;
use crate::strings::Lang;
use crate::style::Style;
use crate::table::{TableCell, TableColumn, render};
use crate::width::printable;
use print::wrap;
use result::Measure;
use serde::Serialize;
use units::Goal;

/// A row of the table of goals, as text.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct GoalRow {
    /// Name of the goal.
    pub goal: String,
    /// The baseline's value with its unit; empty if it was not measured.
    pub baseline: String,
    /// The best variant; empty if that is the baseline.
    pub best: String,
    /// The best variant's value with its unit; empty if that is the baseline.
    pub value: String,
    /// Other noticeable changes in the best variant.
    pub costs: String,
}

impl Story {
    /// The table's rows; empty with a single goal, or if several flows that were measured one at a time are
    /// reported.
    pub(crate) fn rows(&self, lang: Lang) -> Vec<GoalRow> {
        let several = self.goals.len() > 1 && !self.alone;
        let goals = self.goals.iter().filter(|_| several);
        goals.map(|g| self.row(g.goal, &g.measure, g.baseline, lang)).collect()
    }

    fn row(&self, goal: Goal, measure: &Measure, baseline: Option<f64>, lang: Lang) -> GoalRow {
        let clause = self.clauses.iter().find(|c| c.goal() == Some(goal));
        // A variant that is as good is not the best: the baseline may have the better number.
        let best = match clause {
            Some(Clause::Better(b)) => Some(b),
            _ => None,
        };
        GoalRow {
            goal: name(goal, lang).into(),
            baseline: baseline.map(|v| value(measure, v, lang)).unwrap_or_default(),
            best: best.map(|b| printable(&b.variant)).unwrap_or_default(),
            value: best.map(|b| value(measure, b.effect.is, lang)).unwrap_or_default(),
            costs: best.map(|b| costs(b, lang)).unwrap_or_default(),
        }
    }
}

/// The other changes, in words.
fn costs(b: &Better, lang: Lang) -> String {
    joined(super::words::effects(b, lang), lang)
}

/// The table for the terminal; empty with a single goal. Other changes are printed below each row.
pub(crate) fn table(story: &Story, style: Style) -> String {
    let rows = story.rows(Lang::En);
    if rows.is_empty() {
        return String::new();
    }
    let mut columns = Vec::new();
    let mut add = |head, text, cell: &dyn Fn(&GoalRow) -> &str| {
        let cells = rows.iter().map(|r| TableCell::from(if cell(r).is_empty() { "–" } else { cell(r) }));
        columns.push(TableColumn { head, text, cells: cells.collect(), ..TableColumn::default() });
    };
    add(["goal", ""], true, &|r| &r.goal);
    add(["baseline", ""], false, &|r| &r.baseline);
    add(["best", "variant"], true, &|r| &r.best);
    add(["value", ""], false, &|r| &r.value);
    let rendered = render(columns, style);
    let (head, body) = rendered.split_at(rendered.match_indices('\n').nth(2).map_or(0, |(at, _)| at + 1));
    let mut text = head.to_string();
    for (line, row) in body.lines().zip(&rows) {
        text += line;
        text.push('\n');
        text += &wrap(&row.costs, style.columns(), "  ");
    }
    text
}
