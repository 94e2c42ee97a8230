//! `real DIR [--half build|judge] [--program FILE]` diagnoses the captures below DIR that `real.csv` labels
//! (recognised by their hashes; `real.py DIR` fetches them) and scores the verdicts. The half `judge` is
//! printed only in classes: study `build` to improve the diagnosis.

use diagnose_test::judge::Judge;
use diagnose_test::real;
use std::path::Path;

pub fn run(args: &[String]) -> Result<(), String> {
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let usage = "real DIR [--half build|judge] [--program FILE]";
    let folder = args.first().filter(|a| !a.starts_with("--")).ok_or(usage)?;
    let halves = match value("--half") {
        None => vec!["build", "judge"],
        Some(half @ ("build" | "judge")) => vec![half],
        Some(other) => return Err(format!("--half {other}: expected build or judge")),
    };
    let judge = Judge::new(value("--program"))?;
    let labels = real::labels("tests/diagnose/real.csv", include_str!("../../real.csv"))?;
    for half in halves {
        let labels: Vec<real::Label> = labels.iter().filter(|l| l.half == half).cloned().collect();
        let (rows, missing) = real::read(Path::new(folder), &labels, &judge)?;
        if half == "build" {
            rows.iter().for_each(|r| println!("{}", real::case(r)));
        }
        println!(
            "\nHalf {half}: {} flows; {missing} captures are missing.\n\n{}",
            rows.len(),
            real::tables(&rows)
        );
    }
    Ok(())
}
