//! `usc DIR [--program FILE] [--rows FILE]` diagnoses the traces of USC-NSL/policing-detection
//! (`data/validation`, unchanged) and compares the scores with those of the authors' detector;
//! `--rows` keeps the rows as CSV.

use diagnose_test::judge::Judge;
use diagnose_test::{line, usc};
use std::path::Path;

pub fn run(args: &[String]) -> Result<(), String> {
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let folder = args.first().ok_or("usc DIR [--program FILE] [--rows FILE]")?;
    let rows = usc::read(Path::new(folder), &Judge::new(value("--program"))?)?;
    if let Some(file) = value("--rows") {
        let text: String = rows.iter().map(|r| r.csv() + "\n").collect();
        let text = format!("{},{}\n{text}", line::COLUMNS, usc::COLUMNS);
        std::fs::write(file, text).map_err(|e| format!("{file}: {e}"))?;
    }
    for r in rows.iter().filter(|r| r.line.policed != Some(r.line.names_policer())) {
        let l = &r.line;
        println!(
            "wrong: {}: verdict {} ({:.2}), found {:?}, detector {:?}",
            l.case, l.verdict, l.confidence, l.found, r.chunks
        );
    }
    println!("\n{} traces.\n\n{}", rows.len(), usc::tables(&rows));
    Ok(())
}
