//! `fit [lab|ss] SET COUNT [--from N] [--rows FILE] [--keep DIR]` scores the predictions of fits.
//!
//! The task takes the first COUNT corpus cases from number N on that their path limits, fits the capture of
//! each, and predicts another congestion control, another number of flows, and other buckets of policers. SET
//! is a number that seeds the cases; `--keep` keeps captures, scenarios and fits. `fit lab SET COUNT` runs
//! cases and predictions on the kernel, as root on a quiet machine, 25 s a case; kept runs are not repeated.
//! `fit ss SET COUNT` does the same with the output of `ss` on the sender's host instead of a capture. `fit
//! cross SET COUNT` draws links with cross traffic (`crossed.rs`).

use diagnose_test::crossed::{CrossRow, cross_table, judge_cross};
use diagnose_test::fit::{FitRow, case, judge, tables};
use diagnose_test::fit_kernel::{judge_on_kernel, judge_ss_on_kernel};
use diagnose_test::{Case, lab};
use std::fs;
use std::path::Path;

const USAGE: &str = "fit SET COUNT [--from N] [--rows FILE] [--keep DIR]\nfit lab|ss|cross SET COUNT [--from N] [--rows FILE]";

/// A function that scores a case in a folder, by its captures or by the output of `ss`.
type FolderJudge = fn(&Case, &Path) -> Result<FitRow, String>;

pub fn run(args: &[String]) -> Result<(), String> {
    let mut args = args.to_vec();
    let mode = args.first().filter(|a| ["lab", "ss", "cross"].contains(&a.as_str())).cloned();
    if mode.is_some() {
        args.remove(0);
    }
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let [set, count, ..] = &args[..] else { return Err(USAGE.into()) };
    let number = |text: &str| text.parse::<u64>().map_err(|_| USAGE.to_string());
    let (set, count) = (number(set)?, number(count)?);
    let from = value("--from").map_or(Ok(0), number)?;
    if mode.as_deref() == Some("cross") {
        return score_crossed(set, from..from + count, value("--rows"));
    }
    let keep = value("--keep").map(Path::new);
    if let Some(folder) = keep {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let on_kernel: Option<FolderJudge> = match mode.as_deref() {
        Some("lab") => Some(judge_on_kernel),
        Some(_) => Some(judge_ss_on_kernel),
        None => None,
    };
    let mut rows: Vec<FitRow> = Vec::new();
    // One at a time, so that a fit has both cores, as for a user.
    let drawn = |n| case(set, n).filter(|_| on_kernel.is_none() || lab::case(set, n).is_some());
    for case in (from..).filter_map(drawn).take(count as usize) {
        let row = match on_kernel {
            Some(judge) => on_the_kernel(set, &case, keep, judge)?,
            None => judge(&case, keep)?,
        };
        print!("{}", row.line());
        rows.push(row);
    }
    write(value("--rows"), FitRow::HEAD, rows.iter().map(FitRow::line))?;
    println!("\n{}", tables(&rows));
    Ok(())
}

/// Writes rows to a file, if one is named.
fn write(file: Option<&str>, head: &str, rows: impl Iterator<Item = String>) -> Result<(), String> {
    let Some(file) = file else { return Ok(()) };
    let text: String = rows.collect();
    fs::write(file, format!("{head}{text}")).map_err(|e| format!("{file}: {e}"))
}

/// Scores links with cross traffic.
fn score_crossed(set: u64, numbers: std::ops::Range<u64>, file: Option<&str>) -> Result<(), String> {
    let mut rows = Vec::new();
    for n in numbers {
        let row = judge_cross(set, n)?;
        print!("{}", row.line());
        rows.push(row);
    }
    write(file, CrossRow::HEAD, rows.iter().map(CrossRow::line))?;
    println!("\n{}", cross_table(&rows));
    Ok(())
}

/// Scores a case, shortened for the lab, with a folder for its captures.
fn on_the_kernel(set: u64, drawn: &Case, keep: Option<&Path>, judge: FolderJudge) -> Result<FitRow, String> {
    let case = lab::case(set, drawn.number).ok_or("too fast for the lab")?;
    if let Some(folder) = keep {
        return judge(&case, folder);
    }
    let folder = std::env::temp_dir().join(format!("longfat-fit-{}-{}", std::process::id(), case.number));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let row = judge(&case, &folder);
    let _ = fs::remove_dir_all(&folder);
    row
}
