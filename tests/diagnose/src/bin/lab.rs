//! `lab SET COUNT [--from N] [--rows FILE]`: cases of the corpus up to 100 Mbit/s on this machine's kernel, ten
//! seconds each, diagnosed and scored. As root, on a quiet machine. SET as in `corpus`.

use diagnose_test::lab::{Went, case, run};
use diagnose_test::line::{COLUMNS, Line};
use diagnose_test::score;
use std::process::ExitCode;

fn go() -> Result<(), String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let usage = "lab SET COUNT [--from N] [--rows FILE]";
    let [set, count, ..] = &args[..] else { return Err(usage.into()) };
    let set = if set == "build" { 1 } else { set.parse().map_err(|_| usage)? };
    let count: usize = count.parse().map_err(|_| usage)?;
    let from: u64 = value("--from").map_or(Ok(0), str::parse).map_err(|_| usage)?;
    let folder = std::env::temp_dir().join(format!("longfat-lab-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let (mut lines, mut apart) = (Vec::<Line>::new(), 0);
    for case in (from..).filter_map(|n| case(set, n)).take(count) {
        match run(&case, &folder) {
            Ok(Went::Scored(more)) => {
                for l in &more {
                    let right = if l.is_right() == Some(false) { "WRONG " } else { "" };
                    println!(
                        "{right}{} {} {}: {} said {}",
                        l.case,
                        l.vantage,
                        l.from,
                        l.right.join("|"),
                        l.said
                    );
                }
                lines.extend(more);
            }
            Ok(Went::Apart(why)) => {
                println!("{} meant {}: left out, {why}", case.number, case.meant.name());
                apart += 1;
            }
            Err(e) => println!("{}: {e}", case.number),
        }
    }
    std::fs::remove_dir_all(&folder).map_err(|e| e.to_string())?;
    if let Some(file) = value("--rows") {
        let rows: String = lines.iter().map(|l| l.csv() + "\n").collect();
        std::fs::write(file, format!("{COLUMNS}\n{rows}")).map_err(|e| format!("{file}: {e}"))?;
    }
    println!("\n{apart} of {count} cases left out.\n\n{}", score::tables(&lines.iter().collect::<Vec<_>>()));
    Ok(())
}

fn main() -> ExitCode {
    match go() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(2)
        }
    }
}
