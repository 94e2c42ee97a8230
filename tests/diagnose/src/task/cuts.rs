//! `cuts SET COUNT [--from N] [--shown CUT]` cuts the captures of corpus cases in every way of
//! `diagnose_test::cut`, and counts verdicts that are right, that cannot tell, and that are wrong. It also
//! counts sure verdicts on a longer prefix that contradict those on a shorter one. SET is as for `corpus`;
//! `--shown` prints each verdict on cuts with CUT in their name, and `--shown flips` the contradictions.
//!
//! `cuts ends SET COUNT [--from N]` compares verdicts from captures at the sender and at the receiver, and
//! counts flows for which both are sure and name different causes.

use super::corpus::{Drawer, drawer, seed};
use diagnose_test::cut::{Cut, cut_lines, flips};
use diagnose_test::line::Line;
use diagnose_test::{Case, Vantage, each};
use result::diagnosis::{SURE, UNDECIDED};

const USAGE: &str = "cuts SET COUNT [--from N] [--shown CUT|flips]\ncuts ends SET COUNT [--from N]";

/// Prefixes of captures, the whole capture last.
const PREFIXES: [Cut; 6] =
    [Cut::Prefix(1), Cut::Prefix(2), Cut::Prefix(4), Cut::Prefix(8), Cut::Prefix(16), Cut::Whole];

/// Outcomes of verdicts on one kind of cut.
#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    right: usize,
    cannot_tell: usize,
    wrong_probably: usize,
    wrong_sure: usize,
    /// Uncertain verdicts that list several causes, and those that list the right one.
    listed: (usize, usize),
    /// Wrong uncertain verdicts with the right cause as the first and as the second alternative.
    alternative: [usize; 2],
    /// Wrong uncertain verdicts.
    wrong_uncertain: usize,
}

impl Outcomes {
    fn add(&mut self, line: &Line) {
        let Some(right) = line.is_right() else { return };
        let unknown = matches!(line.verdict.as_str(), "unknown" | "missing") || line.confidence < UNDECIDED;
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
            self.wrong_uncertain += 1;
            at.iter().for_each(|i| self.alternative[*i] += 1);
        }
    }
}

/// Runs `work` for the cases `numbers` of a set.
fn of_cases<T: Send>(
    set: &str,
    numbers: std::ops::Range<u64>,
    work: impl Fn(&Case) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let (case, set): (Drawer, &str) = drawer(set);
    let set = seed(set)?;
    each(numbers, |n| work(&case(set, n)))
}

/// Formats a verdict.
fn format_verdict(line: &Line) -> String {
    let right = line.right.join("|");
    format!(
        "{} {} {}: right {right}; verdict {} ({:.2})",
        line.case, line.vantage, line.from, line.verdict, line.confidence
    )
}

/// Prints how often verdicts on prefixes of a capture contradict each other.
fn print_flips(all: &[Vec<Vec<Line>>], shown: bool) {
    let at = PREFIXES.map(|cut| Cut::ALL.iter().position(|c| *c == cut));
    let (mut flows, mut flipped, mut by_pair) = (0, 0, 0);
    for case in all {
        let prefixes: Vec<&Vec<Line>> = at.iter().flatten().map(|i| &case[*i]).collect();
        for i in 0..prefixes.last().map_or(0, |whole| whole.len()) {
            let lines: Vec<&Line> = prefixes.iter().map(|lines| &lines[i]).collect();
            let sure = |l: &&&Line| l.confidence >= SURE && l.is_right().is_some();
            if lines.iter().filter(sure).count() < 2 {
                continue;
            }
            let pairs = (0..lines.len()).flat_map(|a| (a + 1..lines.len()).map(move |b| (a, b)));
            let wrong: Vec<(usize, usize)> = pairs.filter(|(a, b)| flips(lines[*a], lines[*b])).collect();
            (flows, flipped, by_pair) =
                (flows + 1, flipped + usize::from(!wrong.is_empty()), by_pair + wrong.len());
            for (a, b) in wrong.into_iter().filter(|_| shown) {
                println!("{}: {}", PREFIXES[a].name(), format_verdict(lines[a]));
                println!("    {}: {}", PREFIXES[b].name(), format_verdict(lines[b]));
            }
        }
    }
    println!(
        "\nOf {flows} flows with sure verdicts on at least two prefixes, {flipped} have a longer prefix that contradicts a shorter one \
         ({by_pair} pairs of prefixes)."
    );
}

/// Compares verdicts from both ends of the same flows.
fn ends(set: &str, numbers: std::ops::Range<u64>) -> Result<(), String> {
    let all = of_cases(set, numbers, |case| {
        let at = |vantage| cut_lines(&Case { vantage, ..case.clone() }, &[Cut::Whole]);
        let [sender, receiver] = [at(Vantage::Sender)?, at(Vantage::Receiver)?].map(|lines| lines.concat());
        let other = |line: &Line| receiver.iter().find(|l| l.from == line.from).cloned();
        Ok(sender.iter().filter_map(|line| Some((line.clone(), other(line)?))).collect::<Vec<_>>())
    })?;
    let (mut sure, mut agree) = (0, 0);
    let all: Vec<(Line, Line)> = all.concat();
    for (here, there) in &all {
        if here.confidence < SURE || there.confidence < SURE {
            continue;
        }
        sure += 1;
        agree += usize::from(here.verdict == there.verdict);
        if here.verdict != there.verdict {
            println!("{}\n    {}", format_verdict(here), format_verdict(there));
        }
    }
    println!(
        "\nOf {} flows, {sure} have a sure verdict at both ends, and {agree} of these name the same cause.",
        all.len()
    );
    Ok(())
}

pub fn run(args: &[String]) -> Result<(), String> {
    let value =
        |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).map(String::as_str);
    let (compare_ends, rest) = match args {
        [first, rest @ ..] if first == "ends" => (true, rest),
        rest => (false, rest),
    };
    let [set, count, ..] = rest else { return Err(USAGE.into()) };
    let count = count.parse::<u64>().map_err(|_| USAGE)?;
    let from = value("--from").map_or(Ok(0), str::parse::<u64>).map_err(|_| USAGE)?;
    if compare_ends {
        return ends(set, from..from + count);
    }
    let all = of_cases(set, from..from + count, |case| cut_lines(case, &Cut::ALL))?;
    println!(
        "| capture | flows | right | cannot tell | probably wrong | surely wrong | right cause listed |\n\
         |---|---:|---:|---:|---:|---:|---:|"
    );
    let (mut uncertain, mut alternative) = (0, [0; 2]);
    for (i, cut) in Cut::ALL.into_iter().enumerate() {
        let mut sum = Outcomes::default();
        for line in all.iter().flat_map(|case| &case[i]) {
            sum.add(line);
            let shown = value("--shown").is_some_and(|s| cut.name().contains(s));
            if shown && line.is_right().is_some() {
                println!(
                    "{}: {} {} intended {}: right {}; verdict {} ({:.2}), or {}",
                    cut.name(),
                    line.case,
                    line.from,
                    line.intended,
                    line.right.join("|"),
                    line.verdict,
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
        uncertain += sum.wrong_uncertain;
        alternative.iter_mut().zip(sum.alternative).for_each(|(all, n)| *all += n);
    }
    println!(
        "\nOf {uncertain} uncertain wrong verdicts, the first alternative is right in {}, the second in {}.",
        alternative[0], alternative[1]
    );
    print_flips(&all, value("--shown") == Some("flips"));
    Ok(())
}
