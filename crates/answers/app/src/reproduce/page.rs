//! What was reproduced as a page of its own: tables, bars, lines over time, claims. No script, nothing loaded.

use crate::reproduce::model::{
    ClaimVerdict, JudgedClaim, ReproducedPlot, ReproducedStudy, ReproducedTable, Reproduction,
};
use crate::reproduce::plot::{bars, curve, escaped, lines};
use crate::reproduce::text::{counted, long, ours, published};
use result::Clock;
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}\
table{border-collapse:collapse;margin:.7rem 0}td,th{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child,.claims td,.claims th{text-align:left;vertical-align:top}svg{max-width:100%;height:auto;display:block}\
.p{color:#666}.holds{color:#176b2c}.direction{color:#8a6100}.not{color:#a11}.none{color:#666}.scroll{overflow-x:auto}.scroll td:first-child{white-space:nowrap}";

/// The page.
pub fn page(reproduction: &Reproduction) -> String {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\"><title>Published numbers beside ours</title><style>{STYLE}</style></head>\n<body><h1>Published \
         numbers beside ours</h1>\n"
    );
    for counts in &reproduction.counts {
        let _ = writeln!(html, "<p>{}</p>", escaped(&counted(counts)));
    }
    html += "<p class=\"p\">* an unknown was fitted on it; ? the kernel's measurement is not to be trusted; ± the 95 % interval of \
             the mean</p>\n";
    reproduction.studies.iter().for_each(|s| study_part(&mut html, s, &reproduction.clocks));
    html + "</body></html>\n"
}

fn study_part(html: &mut String, study: &ReproducedStudy, clocks: &[Clock]) {
    let _ = writeln!(
        html,
        "<h2 id=\"{0}\">{1}</h2>\n<p class=\"p\">{2}</p>\n<p>{3}</p>",
        escaped(&study.name),
        escaped(&study.title),
        escaped(&study.source),
        escaped(&study.about)
    );
    if !study.fitted.is_empty() {
        html.push_str("<ul>\n");
        for fit in &study.fitted {
            let told = format!("fitted on {}: {}, {}", fit.on, fit.unknown, fit.value);
            let _ = writeln!(html, "<li>{}</li>", escaped(&told));
        }
        html.push_str("</ul>\n");
    }
    if !study.claims.is_empty() {
        html.push_str("<table class=\"claims\"><tr><th>claim</th><th>verdict</th></tr>\n");
        study.claims.iter().for_each(|claim| claim_part(html, claim));
        html.push_str("</table>\n");
    }
    study.tables.iter().for_each(|table| table_part(html, table, clocks));
    for part in &study.unrun {
        let _ = writeln!(html, "<p>Not run: {}: {}</p>", escaped(&part.what), escaped(&part.why));
    }
}

fn table_part(html: &mut String, table: &ReproducedTable, clocks: &[Clock]) {
    let _ = writeln!(
        html,
        "<h3>{}</h3>\n<p class=\"p\">{}; {}</p>",
        escaped(&table.title),
        escaped(&table.name),
        escaped(&table.place)
    );
    if let Some(note) = &table.note {
        let _ = writeln!(html, "<p>{}</p>", escaped(note));
    }
    let wide = 1 + clocks.len();
    html.push_str("<div class=\"scroll\"><table><tr><th></th>");
    for column in &table.columns {
        let _ =
            write!(html, "<th colspan=\"{wide}\">{} {}</th>", escaped(&column.title), escaped(&column.unit));
    }
    html.push_str("</tr>\n<tr><th></th>");
    for _ in &table.columns {
        html.push_str("<th class=\"p\">published</th>");
        clocks.iter().for_each(|c| html.push_str(&format!("<th>{}</th>", long(*c))));
    }
    html.push_str("</tr>\n");
    for row in &table.rows {
        let _ = write!(html, "<tr><td>{}</td>", escaped(&row.title));
        for cell in &row.cells {
            let _ = write!(html, "<td class=\"p\">{}</td>", escaped(&published(cell)));
            for value in &cell.ours {
                let _ = write!(html, "<td>{}</td>", escaped(&ours(cell, value.as_ref())));
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
    (0..table.columns.len()).filter_map(|c| bars(table, c, clocks)).for_each(|svg| html.push_str(&svg));
    table.curves.iter().filter_map(|c| curve(table, c, clocks)).for_each(|svg| html.push_str(&svg));
    table.plots.iter().filter_map(lines).for_each(|svg| html.push_str(&svg));
}

fn claim_part(html: &mut String, claim: &JudgedClaim) {
    let _ = write!(
        html,
        "<tr><td>{} <span class=\"p\">({})</span></td><td>",
        escaped(&claim.says),
        escaped(&claim.place)
    );
    if let Some(why) = &claim.cannot {
        let _ = write!(html, "<span class=\"none\">cannot be judged here</span>: {}", escaped(why));
    }
    for judged in &claim.judged {
        let class = match judged.verdict {
            Some(ClaimVerdict::Holds) => "holds",
            Some(ClaimVerdict::HoldsInDirection) => "direction",
            Some(ClaimVerdict::DoesNotHold) => "not",
            None => "none",
        };
        let _ = write!(
            html,
            "<div>{}: <b class=\"{class}\">{}</b>: {}</div>",
            long(judged.clock),
            judged.name(),
            escaped(&judged.told())
        );
        if let Some(trace) = &judged.trace {
            let title = format!("{} {}", trace.row, trace.flow);
            let shown = lines(&ReproducedPlot { title, series: vec![trace.clone()] });
            html.push_str(&shown.unwrap_or_default());
        }
    }
    html.push_str("</td></tr>\n");
}
