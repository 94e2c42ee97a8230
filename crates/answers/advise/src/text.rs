//! Formats a plan for the terminal: the advice, the table, the commands.

use crate::model::{CureEffect, Plan, PlanFigures, PlanRange, RankedCure};
use crate::story::advised;
use print::{three_digits, wrap};
use report::{Style, Table, TableCell, TableColumn, Tone};
use std::fmt::Write;
use units::Goal;

/// Limit of the other variants that are named.
const MAX_VARIANTS: usize = 6;
/// Limit of the screened cures that are named.
const MAX_SCREENED: usize = 12;

/// Returns the advice, its facts, the table, what was simulated and what was measured on the kernel, in lines
/// of at most `width` columns; a `width` below 60 counts as 60. `chosen` is the cure whose commands the user
/// chose to see.
pub fn text(plan: &Plan, chosen: Option<&str>, width: usize) -> String {
    let mut out = String::new();
    let width = width.max(60);
    out += &wrap(&plan.advice, width, "");
    let notes = [other_variants(plan), chosen.and_then(|name| other_commands(plan, name))];
    for fact in plan.facts.iter().chain(notes.iter().flatten()) {
        out += "- ";
        out += wrap(fact, width.saturating_sub(2), "  ").trim_start();
    }
    out.push('\n');
    out += &table(plan).text(Style::plain(width));
    out += &screened(plan, width);
    let s = &plan.simulated;
    let scenarios = if s.scenarios > 1 { format!(" of {} scenarios", s.scenarios) } else { String::new() };
    let simulated = format!(
        "Simulated: {} options{scenarios} for {:.1} s with {} seeds; {} finalists for {:.1} s with {} seeds{}; {} runs in all.",
        s.screened,
        s.screen_s,
        s.screen_seeds,
        s.finalists,
        s.final_s,
        s.final_seeds,
        if plan.calls.is_empty() { ", and again with an added call" } else { "" },
        s.runs
    );
    out.push('\n');
    out += &wrap(&simulated, width, "");
    out += &proofs(plan);
    out
}

/// Says which variant was planned for, where the user did not choose among several.
fn other_variants(plan: &Plan) -> Option<String> {
    let others = &plan.other_variants;
    (!others.is_empty()).then(|| {
        let names: Vec<String> = others.iter().take(MAX_VARIANTS).map(|name| format!("“{name}”")).collect();
        let more = match others.len() - names.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let to_choose = "`--variant NAME` selects another one";
        format!("This plan is for the variant “{}”; {to_choose}: {}{more}.", plan.variant, names.join(", "))
    })
}

/// Says that the printed commands are not those of the advised cure, where the user chose others.
fn other_commands(plan: &Plan, chosen: &str) -> Option<String> {
    (plan.advised.as_deref() != Some(chosen)).then(|| {
        let advised = plan.advised.as_ref().map(|name| format!(", not of the advised {name}"));
        format!("The commands below are those of {chosen}{}.", advised.unwrap_or_default())
    })
}

/// Names the cures that were only screened; their figures come from shorter runs.
fn screened(plan: &Plan, width: usize) -> String {
    if plan.screened.is_empty() {
        return String::new();
    }
    let names: Vec<&str> = plan.screened.iter().take(MAX_SCREENED).map(|c| c.name.as_str()).collect();
    let more = match plan.screened.len() - names.len() {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    wrap(&format!("Screened only: {}{more}.", names.join(", ")), width, "")
}

/// Lists the measurements on the kernel and the predictions.
fn proofs(plan: &Plan) -> String {
    let mut out = String::new();
    let proved = plan.cures.iter().filter_map(|c| Some((c, c.proof.as_ref()?)));
    for (i, (cure, proof)) in proved.enumerate() {
        if i == 0 {
            let _ = writeln!(
                out,
                "\non this machine's kernel: {} Mbit/s without a cure",
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
        for line in &proof.commands_run {
            let _ = writeln!(out, "    {line}");
        }
        for what in &proof.set {
            let _ = writeln!(out, "    changed without a command: {what}");
        }
        for doubt in &proof.distrust {
            let _ = writeln!(out, "    not to be trusted: {doubt}");
        }
    }
    out
}

/// Builds the table: the figures as they are and those of the finalists, all for the same time and seeds.
pub(crate) fn table(plan: &Plan) -> Table<'static> {
    let numbers = TableColumn::numbers;
    let mut table = Table::of(vec![
        // `--commands` takes the name, so it must be whole.
        TableColumn::names("cure").uncut(),
        TableColumn::names("who"),
        numbers("goodput", "Mbit/s"),
        numbers("gain, 95 %", unit(plan.objective)),
        numbers("p95 delay", "ms").ranked(90),
        numbers("resent", "%").ranked(80),
        numbers("call p95", "ms").ranked(60),
        numbers("call", "MOS").ranked(70),
    ]);
    table.row(cells("as it is", "", None, &plan.now));
    plan.cures.iter().for_each(|c| table.row(row(c)));
    table
}

fn unit(goal: Goal) -> &'static str {
    match goal {
        Goal::Goodput => "Mbit/s",
        Goal::Delay => "ms",
        Goal::Completion | Goal::Page => "s",
        Goal::Fairness => "Jain",
    }
}

fn row(c: &RankedCure) -> [TableCell; 8] {
    let who: Vec<String> = c.by.iter().map(|p| p.name()).collect();
    let (mark, tone) = match c.effect {
        CureEffect::Gains => ("", Tone::Plain),
        CureEffect::NoDifference => ("= ", Tone::Dim),
        CureEffect::Loses => ("- ", Tone::Dim),
    };
    let mark = if c.ruined_flows.is_empty() { mark } else { "! " };
    let name = format!("{mark}{}", c.name);
    cells(&name, &who.join("+"), Some(c.gain), &c.figures).map(|cell| TableCell { tone, ..cell })
}

/// A number with its sign and three significant digits.
struct Signed(f64);

impl std::fmt::Display for Signed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.0 < 0.0 { "-" } else { "+" };
        write!(f, "{sign}{}", three_digits(self.0.abs()))
    }
}

fn cells(name: &str, who: &str, gain: Option<PlanRange>, f: &PlanFigures) -> [TableCell; 8] {
    let gain = gain.map(|g| format!("{}…{}", Signed(g.low), Signed(g.high)));
    let call = f.voice.map(|v| three_digits(v.p95_delay_ms));
    let mos = f.voice.and_then(|v| Some(format!("{:.1}", v.mos?)));
    let known = |text: Option<String>| TableCell::from(text.unwrap_or_else(|| "–".into()));
    [
        name.into(),
        who.into(),
        three_digits(f.goodput_mbps.mean).into(),
        gain.unwrap_or_default().into(),
        known(Some(f.p95_delay_ms.mean).filter(|ms| *ms > 0.0).map(three_digits)),
        format!("{:.1}", 100.0 * f.retransmitted_share).into(),
        known(call),
        known(mos),
    ]
}

/// Returns the commands of the advised cure, or of the one called `name`; `None` if there is no such cure, or
/// none is advised.
pub fn commands(plan: &Plan, name: Option<&str>) -> Option<String> {
    let cure = match name {
        Some(name) => plan.cures.iter().chain(&plan.screened).find(|c| c.name == name)?,
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
        let _ = writeln!(out, "drawback: {}", step.hurts_when);
        out += &report::commands(step.remedies.iter().flat_map(|r| &r.commands));
    }
    Some(out)
}
