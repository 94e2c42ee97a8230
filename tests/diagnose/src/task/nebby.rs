//! `nebby DIR [--half build|judge]` diagnoses the traces of NUS-SNL/Nebby below DIR (`nebby.py DIR` fetches
//! them) and scores the guesses at the sender's congestion control. The half `judge` is printed only in
//! classes.

use diagnose_test::{controls, nebby};
use std::path::Path;

pub fn run(args: &[String]) -> Result<(), String> {
    let usage = "nebby DIR [--half build|judge]";
    let folder = args.first().filter(|a| !a.starts_with("--")).ok_or(usage)?;
    let half = args.iter().position(|a| a == "--half").and_then(|i| args.get(i + 1)).map(String::as_str);
    let halves = match half {
        None => vec!["build", "judge"],
        Some(half @ ("build" | "judge")) => vec![half],
        Some(other) => return Err(format!("--half {other}: expected build or judge")),
    };
    for half in halves {
        let rows = nebby::read(Path::new(folder), half)?;
        if half == "build" {
            for r in &rows {
                println!("{} {} {:.2} {:?}", r.name, r.guess.name, r.guess.confidence, r.outcome());
            }
        }
        println!("\nHalf {half}: {} traces.\n\n{}", rows.len(), controls::tables(&rows));
    }
    Ok(())
}
