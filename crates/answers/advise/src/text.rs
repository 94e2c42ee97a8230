//! A plan for people: the sentence, the table, what to type.

use crate::model::{CureEffect, Plan, PlanFigures, RankedCure};
use crate::story::advised;
use print::{three_digits, wrap};
use std::fmt::Write;
use units::Goal;

/// Rows of what was only screened.
const SCREENED: usize = 5;

/// The sentence, the table, what was simulated, what was proved; names of cures are cut to fit `width` columns.
pub fn text(plan: &Plan, width: usize) -> String {
    let mut out = String::new();
    let width = width.max(60);
    out += &wrap(&plan.advice, width, "");
    out.push('\n');
    out += &table(plan, width);
    let s = &plan.simulated;
    let scenarios = if s.scenarios > 1 { format!(" of {} scenarios", s.scenarios) } else { String::new() };
    let told = format!(
        "Simulated: {} options{scenarios} for {:.1} s with {} seeds; {} finalists for {:.1} s with {} seeds; a call beside \
         each of them; {} runs in all.",
        s.screened, s.screen_s, s.screen_seeds, s.finalists, s.final_s, s.final_seeds, s.runs
    );
    out.push('\n');
    out += &wrap(&told, width, "");
    out += &proofs(plan);
    out
}

/// What the kernel came to, beside what was predicted.
fn proofs(plan: &Plan) -> String {
    let mut out = String::new();
    let proved = plan.cures.iter().filter_map(|c| Some((c, c.proof.as_ref()?)));
    for (i, (cure, proof)) in proved.enumerate() {
        if i == 0 {
            let _ = writeln!(
                out,
                "\non this machine's kernel: {} Mbit/s as it is",
                three_digits(proof.kernel_now_mbps)
            );
        }
        let _ = writeln!(
            out,
            "  {}: {} Mbit/s, predicted {}",
            cure.name,
            three_digits(proof.kernel_mbps),
            three_digits(proof.predicted_mbps)
        );
        for line in &proof.ran {
            let _ = writeln!(out, "    {line}");
        }
        for what in &proof.set {
            let _ = writeln!(out, "    set without a command: {what}");
        }
        for doubt in &proof.doubts {
            let _ = writeln!(out, "    not to be trusted: {doubt}");
        }
    }
    out
}

/// A row: what it is, who acts, the figures.
struct PlanRow {
    cells: Vec<String>,
    title: String,
}

fn table(plan: &Plan, width: usize) -> String {
    let head = ["", "who", "Mbit/s", unit(plan.objective), "p95 ms", "resent", "call ms", "MOS"];
    let mut rows = vec![PlanRow { cells: cells("", &plan.now), title: "as it is".into() }];
    let finalists = plan.cures.iter().filter(|c| c.finalist);
    rows.extend(finalists.map(row));
    let screened: Vec<&RankedCure> = plan.cures.iter().filter(|c| !c.finalist).collect();
    let shown = screened.iter().take(SCREENED).copied().map(row);
    rows.extend(shown);
    let columns = head.len();
    let widths: Vec<usize> = (1..columns)
        .map(|i| {
            rows.iter()
                .map(|r| r.cells[i - 1].chars().count())
                .max()
                .unwrap_or(0)
                .max(head[i].chars().count())
        })
        .collect();
    let rest = widths.iter().map(|w| w + 1).sum::<usize>();
    let name = width.saturating_sub(rest).max(20);
    let line = |title: &str, cells: &[String]| {
        let mut line = format!("{:<name$}", cut(title, name));
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, " {cell:>width$}");
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    };
    let head: Vec<String> = head.iter().skip(1).map(|h| h.to_string()).collect();
    let mut out = line("", &head);
    out += &"─".repeat(name + rest);
    out.push('\n');
    for row in &rows {
        out += &line(&row.title, &row.cells);
    }
    if screened.len() > SCREENED {
        let _ =
            writeln!(out, "and {} more that were screened only (--json has all)", screened.len() - SCREENED);
    }
    out
}

fn unit(goal: Goal) -> &'static str {
    match goal {
        Goal::Goodput => "more",
        Goal::Delay => "less ms",
        Goal::Completion | Goal::Page => "less s",
        Goal::Fairness => "fairer",
    }
}

fn row(c: &RankedCure) -> PlanRow {
    let who: Vec<&str> = c.by.iter().map(|a| a.name()).collect();
    let mut cells = cells(&who.join("+"), &c.figures);
    cells[2] = format!("{}…{}", Signed(c.gain.low), Signed(c.gain.high));
    let mark = match c.effect {
        CureEffect::Gains => "",
        CureEffect::NoDifference => "= ",
        CureEffect::Loses => "- ",
    };
    let screened = if c.finalist { "" } else { "~ " };
    PlanRow { cells, title: format!("{mark}{screened}{}", c.name) }
}

/// A number of three digits with its sign.
struct Signed(f64);

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0.0 { "-" } else { "+" };
        write!(f, "{sign}{}", three_digits(self.0.abs()))
    }
}

fn cells(who: &str, f: &PlanFigures) -> Vec<String> {
    let mut cells = vec![who.into(), three_digits(f.goodput_mbps.mean), String::new()];
    cells.push(three_digits(f.p95_delay_ms.mean));
    cells.push(percent(f.resent));
    match f.voice {
        Some(v) => {
            cells.extend([three_digits(v.p95_delay_ms), v.mos.map_or("–".into(), |m| format!("{m:.1}"))])
        }
        None => cells.extend(["–".to_string(), "–".into()]),
    }
    cells
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// What to type for the advised cure, or for the one called `name`; `None` where there is none of that name, or nothing
/// is advised.
pub fn commands(plan: &Plan, name: Option<&str>) -> Option<String> {
    let cure = match name {
        Some(name) => plan.cures.iter().find(|c| c.name == name)?,
        None => advised(plan)?,
    };
    let mut out = format!("{}: {}\n", cure.name, cure.title);
    if !cure.changes.is_empty() {
        out += "in the scenario:\n";
        for change in &cure.changes {
            let _ = writeln!(out, "  --set '{}'", change.replace('\'', "'\\''"));
        }
    }
    for step in &cure.steps {
        let _ = writeln!(out, "it hurts: {}", step.hurts);
        for set in &step.commands {
            let towards = set.towards.as_ref().map(|t| format!(", towards {t}")).unwrap_or_default();
            let _ = writeln!(out, "\n{} at {}{towards} ({}):", set.platform.label(), set.at, set.needs);
            for line in &set.apply {
                let _ = writeln!(out, "  {line}");
            }
            let _ = writeln!(out, "  undo:");
            for line in &set.undo {
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    Some(out)
}
