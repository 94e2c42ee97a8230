//! `cuts SET COUNT [--from N] [--shown CUT]`: cases of the corpus, their captures cut in every way of
//! `diagnose_test::cut`, and how often the verdict on what is left is right, says that it cannot tell, or is wrong. SET as for
//! `corpus`; `--shown` prints each verdict on cuts whose name has CUT in it.

use super::corpus::{drawer, seed};
use diagnose_test::cut::{Cut, CutSink, EachSink};
use diagnose_test::judge::{Direct, Judge, lines};
use diagnose_test::line::Line;
use diagnose_test::{each, play};
use result::diagnosis::{SURE, UNDECIDED};

const USAGE: &str = "cuts SET COUNT [--from N] [--shown CUT]";

/// How verdicts on one kind of cut turned out.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    right: usize,
    cannot_tell: usize,
    wrong_probably: usize,
    wrong_sure: usize,
    /// Of those in doubt for which several causes are listed, and of these with the right one.
    listed: (usize, usize),
    /// Of those in doubt that are wrong, with the right cause as the first and as the second alternative.
    alternative: [usize; 2],
    /// Wrong in doubt.
    wrong_in_doubt: usize,
}

impl Outcomes {
    fn add(&mut self, line: &Line) {
        let Some(right) = line.is_right() else { return };
        let unknown = matches!(line.said.as_str(), "unknown" | "missing") || line.confidence < UNDECIDED;
        let count = match (right, line.confidence >= SURE) {
            _ if unknown => &mut self.cannot_tell,
            (true, _) => &mut self.right,
            (_, false) => &mut self.wrong_probably,
            _ => &mut self.wrong_sure,
        };
        *count += 1;
        if line.alternatives.is_empty() {
            return;
        }
        let at = line.alternatives.iter().position(|cause| line.right.contains(cause));
        self.listed.0 += 1;
        self.listed.1 += usize::from(right || at.is_some());
        if !right {
            self.wrong_in_doubt += 1;
            at.iter().for_each(|i| self.alternative[*i] += 1);
        }
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
        "| capture | flows | right | cannot tell | wrong, probably | wrong, sure | right one listed |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    let (mut in_doubt, mut alternative) = (0, [0; 2]);
    for (i, cut) in Cut::ALL.into_iter().enumerate() {
        let mut sum = Outcomes::default();
        for line in all.iter().flat_map(|case| &case[i]) {
            sum.add(line);
            let shown = value("--shown").is_some_and(|s| cut.name().contains(s));
            if shown && line.is_right().is_some() {
                println!(
                    "{}: {} {} meant {}: right {}; said {} ({:.2}), or {}",
                    cut.name(),
                    line.case,
                    line.from,
                    line.meant,
                    line.right.join("|"),
                    line.said,
                    line.confidence,
                    line.alternatives.join("|")
                );
            }
        }
        let flows = sum.right + sum.cannot_tell + sum.wrong_probably + sum.wrong_sure;
        println!(
            "| {} | {flows} | {} | {} | {} | {} | {} of {} |",
            cut.name(),
            sum.right,
            sum.cannot_tell,
            sum.wrong_probably,
            sum.wrong_sure,
            sum.listed.1,
            sum.listed.0
        );
        in_doubt += sum.wrong_in_doubt;
        alternative.iter_mut().zip(sum.alternative).for_each(|(all, n)| *all += n);
    }
    println!(
        "\nOf {in_doubt} wrong verdicts in doubt the first alternative is right in {}, the second in {}.",
        alternative[0], alternative[1]
    );
    Ok(())
}
