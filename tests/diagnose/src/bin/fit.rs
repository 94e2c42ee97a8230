//! How well a fit predicts: `fit SET COUNT [--from N] [--rows FILE] [--keep DIR]`.
//!
//! Takes the first COUNT cases of the corpus from number N on whose path is what limits, fits the capture of each, and
//! predicts another congestion control and another number of flows. SET is a number that seeds the cases; `--keep` leaves
//! captures, scenarios and fits. `fit lab SET COUNT` has the kernel play cases that it carries, and what is predicted as well:
//! as root, on a quiet machine, 25 s a case.

use diagnose_test::fit::{FitRow, case, judge, judge_on_kernel, tables};
use diagnose_test::{Case, exit, lab};
use std::fs;
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str =
    "fit SET COUNT [--from N] [--rows FILE] [--keep DIR]\nfit lab SET COUNT [--from N] [--rows FILE]";

fn run() -> Result<(), String> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let on_kernel = args.first().is_some_and(|a| a == "lab");
    if on_kernel {
        args.remove(0);
    }
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let [set, count, ..] = &args[..] else { return Err(USAGE.into()) };
    let number = |text: &str| text.parse::<u64>().map_err(|_| USAGE.to_string());
    let (set, count) = (number(set)?, number(count)?);
    let from = value("--from").map_or(Ok(0), number)?;
    let keep = value("--keep").map(Path::new);
    if let Some(folder) = keep {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut rows: Vec<FitRow> = Vec::new();
    // One after the other: a fit has both cores, as a user's has.
    let drawn = |n| case(set, n).filter(|_| !on_kernel || lab::case(set, n).is_some());
    for case in (from..).filter_map(drawn).take(count as usize) {
        let row = match on_kernel {
            true => on_the_kernel(set, &case)?,
            false => judge(&case, keep)?,
        };
        print!("{}", row.line());
        rows.push(row);
    }
    if let Some(file) = value("--rows") {
        let text: String = rows.iter().map(FitRow::line).collect();
        fs::write(file, format!("{}{text}", FitRow::HEAD)).map_err(|e| format!("{file}: {e}"))?;
    }
    println!("\n{}", tables(&rows));
    Ok(())
}

/// A case cut to what the lab carries, with a folder for its captures.
fn on_the_kernel(set: u64, drawn: &Case) -> Result<FitRow, String> {
    let case = lab::case(set, drawn.number).ok_or("the lab does not carry it")?;
    let folder = std::env::temp_dir().join(format!("longfat-fit-{}-{}", std::process::id(), case.number));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let row = judge_on_kernel(&case, &folder);
    let _ = fs::remove_dir_all(&folder);
    row
}

fn main() -> ExitCode {
    exit(run())
}
