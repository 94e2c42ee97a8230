//! A plan as a page of its own: the sentence, the plot, the table, what to type. No script, nothing loaded.

use crate::chart::{escaped, pareto_svg};
use crate::model::{CureEffect, Plan, RankedCure};
use crate::story::advised;
use print::three_digits;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse}td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child,td:nth-child(2),th:nth-child(2){text-align:left}pre{background:#f4f4f4;padding:.7rem;overflow-x:auto}\
.same,.worse{color:#777}svg{max-width:100%;height:auto}";

/// The plan as HTML: finalists in the table and the plot, the commands of the cure that is advised.
pub fn page(plan: &Plan) -> String {
    let title = escaped(&format!("Plan for {}", plan.scenario));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body><h1>{title}</h1>\n<p><strong>{}</strong></p>\n{}",
        escaped(&plan.advice),
        pareto_svg(plan)
    );
    html += "<table><tr><th>cure</th><th>who</th><th>Mbit/s</th><th>better by (95 %)</th><th>p95 ms</th><th>resent</th></tr>\n";
    let now = &plan.now;
    let _ = writeln!(
        html,
        "<tr><td>as it is</td><td></td><td>{}</td><td></td><td>{}</td><td>{:.1} %</td></tr>",
        three_digits(now.goodput_mbps.mean),
        three_digits(now.p95_delay_ms.mean),
        100.0 * now.resent
    );
    plan.cures.iter().filter(|c| c.finalist).for_each(|c| row(&mut html, c));
    html += "</table>\n";
    if advised(plan).is_some()
        && let Some(commands) = crate::commands(plan, None)
    {
        let _ = writeln!(html, "<h2>What to type</h2>\n<pre>{}</pre>", escaped(&commands));
    }
    html + "</body></html>\n"
}

fn row(html: &mut String, cure: &RankedCure) {
    let class = match cure.effect {
        CureEffect::Gains => "gains",
        CureEffect::NoDifference => "same",
        CureEffect::Loses => "worse",
    };
    let who: Vec<&str> = cure.by.iter().map(|a| a.name()).collect();
    let _ = writeln!(
        html,
        "<tr class=\"{class}\"><td title=\"{}\">{}</td><td>{}</td><td>{}</td><td>{} … {}</td><td>{}</td><td>{:.1} %</td></tr>",
        escaped(&cure.title),
        escaped(&cure.name),
        who.join(", "),
        three_digits(cure.figures.goodput_mbps.mean),
        three_digits(cure.gain.low),
        three_digits(cure.gain.high),
        three_digits(cure.figures.p95_delay_ms.mean),
        100.0 * cure.figures.resent
    );
}
