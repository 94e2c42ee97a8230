//! `controls [--seed N] [--cases N] [--list]` plays flows of each congestion control over paths drawn from
//! the seed, captures them at the sender, in the middle and at the receiver, and scores the guesses at the
//! control.

use diagnose_test::controls;
use diagnose_test::judge::Judge;
use diagnose_test::{Vantage, each};

pub fn run(args: &[String]) -> Result<(), String> {
    let number = |name: &str, default: u64| match args.iter().position(|a| a == name) {
        None => Ok(default),
        Some(i) => args.get(i + 1).and_then(|a| a.parse().ok()).ok_or(format!("{name}: expected a number")),
    };
    let (seed, cases) = (number("--seed", 1)?, number("--cases", 65)?);
    let judge = Judge::new(None)?;
    for vantage in [Vantage::Sender, Vantage::Middle, Vantage::Receiver] {
        let rows = each(0..cases, |n| controls::row(seed, n, vantage, &judge))?;
        if args.iter().any(|a| a == "--list") {
            for r in &rows {
                println!(
                    "{} {} {:.2} {:?} {}",
                    r.truth,
                    r.guess.name,
                    r.guess.confidence,
                    r.outcome(),
                    r.name
                );
            }
        }
        println!("\nCaptured at the {}: {cases} flows.\n\n{}", vantage.name(), controls::tables(&rows));
    }
    Ok(())
}
