//! `doc SEED COUNT LAB.csv USC.csv` prints `docs/measured/diagnosis-accuracy.md`. It plays and scores the
//! corpus of SEED; `lab` and `usc` recorded the kernel's cases and the public traces.

use diagnose_test::judge::Judge;
use diagnose_test::line::Line;
use diagnose_test::{draw, each, score, usc};

const HEAD: &str = include_str!("../../diagnose-head.md");

pub fn run(args: &[String]) -> Result<(), String> {
    let usage = "doc SEED COUNT LAB.csv USC.csv";
    let [seed, count, lab, public] = args else { return Err(usage.into()) };
    let (seed, count) = (seed.parse::<u64>().map_err(|_| usage)?, count.parse::<u64>().map_err(|_| usage)?);
    let file = |name: &str| std::fs::read_to_string(name).map_err(|e| format!("{name}: {e}"));
    let lab: Vec<Line> = file(lab)?.lines().filter_map(Line::parse).collect();
    let public: Vec<usc::Row> = file(public)?.lines().filter_map(usc::Row::parse).collect();
    let judge = Judge::new(None)?;
    let scored = each(0..count, |n| judge.score(&draw::case(seed, n)))?;
    let mut lines: Vec<Line> = scored.into_iter().flat_map(|(_, _, lines)| lines).collect();
    lines.sort_by_key(|l| (l.case.parse::<u64>().unwrap_or(0), l.from.clone()));
    let all: Vec<&Line> = lines.iter().collect();
    println!("{}", HEAD.trim_end().replace("{causes}", score::causes().trim_end()));
    println!(
        "\n## The corpus\n\n`corpus score {seed} {count}`: {count} cases of the simulator. {}",
        score::tables(&all)
    );
    println!("\n### The most frequent mistakes\n\n{}", score::mistakes(&all));
    println!(
        "\n### Confidence\n\nConfidence and success. The weights were learned on other cases, half of them real captures, which are \
         harder.\n\n{}",
        score::calibration(&all)
    );
    println!("\n## Cases run by the kernel\n\n{}", score::tables(&lab.iter().collect::<Vec<_>>()));
    println!(
        "\n## Traces of a real device\n\n{} traces.\n\n{}",
        public.len(),
        usc::tables(&public).trim_end()
    );
    Ok(())
}
