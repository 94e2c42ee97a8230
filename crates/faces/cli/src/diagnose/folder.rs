//! Diagnoses a folder of captures, one by one.

use super::{exit_code, filter, read, write};
use crate::args::DiagnoseArgs;
use crate::escape::{eprint_escaped, value};
use crate::problem::CliProblem;
use crate::progress::terminal;
use app::diagnose::{CaptureSource, listing, none};
use capture::CaptureReader;
use console::{Alignment, pad_str};
use report::diagnosis::text;
use report::{Lang, Style, wrap};
use result::Diagnosis;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// The largest width of a file name in the table, in columns.
const MAX_NAME_WIDTH: usize = 34;
/// The number of skipped files that are listed by name.
const MAX_SKIPPED_LINES: usize = 8;

/// Lists the skipped files with the reason, one per line.
pub fn skipped_lines(skipped: &[String], style: Style) -> String {
    let mut text: String = skipped
        .iter()
        .take(MAX_SKIPPED_LINES)
        .map(|why| wrap(&format!("Skipped: {}", value(why)), style.width, ""))
        .collect();
    let more = skipped.len().saturating_sub(MAX_SKIPPED_LINES);
    if more > 0 {
        let _ = writeln!(text, "Skipped: {more} more");
    }
    text
}

/// Diagnoses each capture of a folder.
pub fn diagnose(args: &DiagnoseArgs, dir: &Path) -> Result<ExitCode, CliProblem> {
    for (given, option, instead) in [
        (!args.flow.is_empty(), "--flow", "each capture numbers its own flows"),
        (args.report.is_some(), "--report", "a page shows one capture"),
        (!args.qlog.is_empty(), "--qlog", "a log belongs to one connection"),
    ] {
        if given {
            let what = "needs a single capture, or --joined";
            return Err(CliProblem::usage(format!("{option} {what}: {instead}")));
        }
    }
    let (files, mut skipped) = listing(dir)?;
    let (mut all, mut written, mut missed) = (Vec::new(), String::new(), 0);
    for path in &files {
        let reader = match CaptureReader::open(path) {
            Ok(reader) => reader,
            Err(why) => {
                skipped.push(why.to_string());
                continue;
            }
        };
        let out = args.out.as_ref().zip(path.file_name()).map(|(out, name)| out.join(name));
        let (d, kept) = read(args, CaptureSource::One(Box::new(reader)), path, out.as_deref())?;
        if let Some(left) = filter::unmatched(args, &d) {
            missed += left;
            skipped.push(format!("{}: the filter matches none of its {left} TCP packets", path.display()));
            continue;
        }
        written += &write(args, out.as_deref(), &d, kept)?;
        all.push(d);
    }
    if all.is_empty() {
        return Err(if missed > 0 {
            filter::nothing_matched(missed)
        } else {
            super::other(dir, none(dir, &skipped).into())
        });
    }
    let style = terminal();
    if args.json {
        let list: Vec<String> = all.iter().map(diagnosis::diagnosis_json).collect();
        let list: Vec<&str> = list.iter().map(|json| json.trim_end()).collect();
        crate::print_json(&format!("[\n{}\n]\n", list.join(",\n")))?;
        eprint_escaped!("{}{written}", skipped_lines(&skipped, style));
    } else {
        let lang = args.lang.into();
        let heads: String = all.iter().map(|d| head(d, style, lang)).collect();
        crate::print(&format!("{heads}{}\n{}{written}", table(&all, lang), skipped_lines(&skipped, style)))?;
    }
    Ok(ExitCode::from(all.iter().map(exit_code).max().unwrap_or(0)))
}

/// Returns a capture's name and the first sentences of its diagnosis.
fn head(d: &Diagnosis, style: Style, lang: Lang) -> String {
    let text = text(d, 0, style, lang);
    let first = text.lines().take_while(|line| !line.is_empty() && !line.starts_with("  - "));
    let mut head = format!("{}\n", value(&d.capture.file));
    for line in first {
        head += line;
        head.push('\n');
    }
    head + "\n"
}

/// One row per capture: its number of flows, and the measurements and main cause of the flow with most bytes.
fn table(all: &[Diagnosis], lang: Lang) -> String {
    let titles = match lang {
        Lang::En => ["file", "flows", "Mbit/s", "RTT ms", "retrans", "main cause"],
        Lang::Zh => ["文件", "流数", "Mbit/s", "RTT ms", "重传数", "主要原因"],
    };
    let mut rows = vec![titles.map(String::from)];
    rows.extend(all.iter().map(|d| row(d, lang)));
    let wide = |at: usize, max| {
        rows.iter().map(|row| console::measure_text_width(&row[at])).max().unwrap_or(0).min(max)
    };
    let widths = [wide(0, MAX_NAME_WIDTH), wide(1, 9), wide(2, 9), wide(3, 9), wide(4, 9)];
    let mut text = String::new();
    for row in &rows {
        for (i, (cell, width)) in row.iter().zip(widths).enumerate() {
            let side = if i == 0 { Alignment::Left } else { Alignment::Right };
            text += &pad_str(cell, width, side, Some("…"));
            text += "  ";
        }
        text += &row[5];
        text.push('\n');
    }
    text
}

fn row(d: &Diagnosis, lang: Lang) -> [String; 6] {
    let path = Path::new(&d.capture.file);
    let name = path.file_name().map_or(d.capture.file.clone(), |name| name.to_string_lossy().into_owned());
    let name = value(&name).into_owned();
    let Some(lead) = d.flows.iter().max_by_key(|f| (f.measures.bytes, std::cmp::Reverse(f.id))) else {
        return [name, "0".into(), "-".into(), "-".into(), "-".into(), "-".into()];
    };
    let cause = report::diagnosis::cause_label(lead.cause, lang);
    let rtt = lead.measures.rtt_ms.p50;
    [
        name,
        d.flows.len().to_string(),
        format!("{:.2}", lead.measures.goodput_mbps),
        if rtt > 0.0 { format!("{rtt:.0}") } else { "-".into() },
        lead.measures.retransmitted_packets.to_string(),
        format!("{cause} {:.0}%", lead.share(lead.cause) * 100.0),
    ]
}
