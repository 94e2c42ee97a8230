//! `cuts SET COUNT [--from N] [--shown CUT]`: cases of the corpus, their captures cut in every way of
//! `diagnose_test::cut`, and how often the verdict on what is left is right, says that it cannot tell, or is wrong. SET as for
//! `corpus`; `--shown` prints each verdict on cuts whose name has CUT in it.

use super::corpus::{drawer, seed};
use diagnose_test::cut::{Cut, CutSink, EachSink};
use diagnose_test::judge::{Direct, Judge, lines};
use diagnose_test::line::Line;
use diagnose_test::{each, play};

const USAGE: &str = "cuts SET COUNT [--from N] [--shown CUT]";

/// A verdict below this is one of several that may be: its headline begins with doubt.
const SURE: f64 = 0.5;

/// How verdicts on one kind of cut turned out.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    right: usize,
    cannot_tell: usize,
    wrong_unsure: usize,
    wrong_sure: usize,
}

impl Outcomes {
    fn add(&mut self, line: &Line) {
        let Some(right) = line.is_right() else { return };
        let count = match (right, line.said.as_str(), line.confidence >= SURE) {
            (true, ..) => &mut self.right,
            (_, "unknown" | "missing", _) => &mut self.cannot_tell,
            (_, _, false) => &mut self.wrong_unsure,
            _ => &mut self.wrong_sure,
        };
        *count += 1;
    }
}

pub fn run(args: &[String]) -> Result<(), String> {
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let [set, count, ..] = args else { return Err(USAGE.into()) };
    let (case, set) = drawer(set);
    let (set, count) = (seed(set)?, count.parse::<u64>().map_err(|_| USAGE)?);
    let from = value("--from").map_or(Ok(0), str::parse::<u64>).map_err(|_| USAGE)?;
    let all = each(from..from + count, |n| {
        let case = case(set, n);
        let sinks = Cut::ALL.map(|cut| CutSink::new(cut, Direct::default()));
        let mut each = EachSink(sinks.into());
        let truth = play(&case, &mut each)?;
        let of_cut = |sink: CutSink<Direct>| lines(&truth, &Judge::said(sink.into_inner().0));
        Ok(each.0.into_iter().map(of_cut).collect::<Vec<_>>())
    })?;
    println!(
        "| capture | flows | right | cannot tell | wrong, unsure | wrong, sure |\n|---|---:|---:|---:|---:|---:|"
    );
    for (i, cut) in Cut::ALL.into_iter().enumerate() {
        let mut sum = Outcomes::default();
        for line in all.iter().flat_map(|case| &case[i]) {
            sum.add(line);
            let shown = value("--shown").is_some_and(|s| cut.name().contains(s));
            if shown && line.is_right().is_some() {
                println!(
                    "{}: {} {} meant {}: right {}; said {} ({:.2})",
                    cut.name(),
                    line.case,
                    line.from,
                    line.meant,
                    line.right.join("|"),
                    line.said,
                    line.confidence
                );
            }
        }
        let flows = sum.right + sum.cannot_tell + sum.wrong_unsure + sum.wrong_sure;
        println!(
            "| {} | {flows} | {} | {} | {} | {} |",
            cut.name(),
            sum.right,
            sum.cannot_tell,
            sum.wrong_unsure,
            sum.wrong_sure
        );
    }
    Ok(())
}
