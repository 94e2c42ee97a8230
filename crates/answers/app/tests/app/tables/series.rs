//! Series written as Parquet read back unchanged, and files with any damage are errors.

use app::tables::{
    FileOrigin, RepeatFiles, Sampled, SeriesError, VariantSeries, read_series, write_elements, write_flows,
    write_responses, write_retransmissions,
};
use result::{
    CellsMut, Clock, Columns, ElementResult, ElementSeries, FlowPoint, FlowResult, FlowSeries, Outcome,
    Repeats, Resent, Response, Run, VariantResult,
};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

/// A small deterministic random generator (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit
    }

    /// Returns a random number, sometimes a special one.
    fn real(&mut self) -> f64 {
        match self.below(5) {
            0 => [0.0, -0.0, f64::INFINITY, f64::MIN_POSITIVE, 5e-324][self.below(5) as usize],
            _ => self.below(1 << 50) as f64 / 3.0,
        }
    }

    /// Fills every column of a series with `rows` rows: increasing times and random values, some of them
    /// unknown where that is allowed.
    fn fill(&mut self, rows: u64, series: &mut impl Columns) {
        for (column, cells) in series.cells_mut() {
            match cells {
                CellsMut::Real(to) if column.name == "time_s" => {
                    to.extend((0..rows).map(|i| i as f64 / 100.0))
                }
                CellsMut::Int(to) => to.extend((0..rows).map(|_| self.below(1 << 60))),
                CellsMut::IntOrNull(to) => {
                    to.extend((0..rows).map(|_| (self.below(3) > 0).then(|| self.below(1 << 32))))
                }
                CellsMut::Real(to) => to.extend((0..rows).map(|_| self.real())),
                CellsMut::RealOrNull(to) => {
                    to.extend((0..rows).map(|_| (self.below(5) > 0).then(|| self.real())))
                }
            }
        }
    }
}

const STATES: [&str; 4] = ["", "slow start", "avoidance", "PROBE_BW"];

fn flow(name: &str, rows: u64, random: &mut Random) -> FlowSeries {
    let mut states = FlowSeries::default();
    for _ in 0..rows {
        states.push(FlowPoint { state: STATES[random.below(4) as usize], ..FlowPoint::default() });
    }
    let mut s = FlowSeries { state: states.state, states: states.states, ..FlowSeries::new(name) };
    random.fill(rows, &mut s);
    let resent = |i| Resent {
        time_s: i as f64 / 50.0,
        byte: random.below(1 << 40),
        len: 1 + random.below(1448) as u32,
        sender: random.below(3) as u32,
    };
    s.resent = (0..rows / 3).map(resent).collect();
    // Responses are sorted by their end, so that starts may decrease.
    let response = |_| Response {
        start_s: random.below(1 << 40) as f64 / 1e9,
        seconds: random.below(1 << 40) as f64 / 1e9,
        what: ["answer", "html", "object", "page"][random.below(4) as usize].into(),
    };
    s.responses = (0..rows / 4).map(response).collect();
    s
}

fn element(name: &str, rows: u64, random: &mut Random) -> ElementSeries {
    let mut s = ElementSeries { name: name.into(), ..ElementSeries::default() };
    random.fill(rows, &mut s);
    s
}

fn outcome(name: &str, clock: Clock, rows: [u64; 3], seed: u64) -> Outcome {
    let random = &mut Random(seed);
    let flow_series: Vec<FlowSeries> =
        ["bulk", "voice", "idle"].iter().zip(rows).map(|(name, rows)| flow(name, rows, random)).collect();
    let element_series =
        vec![element("wan.forward.link", rows[0], random), element("wan.backward.delay", rows[0], random)];
    let flows = flow_series.iter().map(|s| FlowResult { name: s.name.clone(), ..FlowResult::default() });
    let elements =
        element_series.iter().map(|s| ElementResult { name: s.name.clone(), ..ElementResult::default() });
    let variant = VariantResult {
        name: name.into(),
        clock,
        flows: flows.collect(),
        elements: elements.collect(),
        ..VariantResult::default()
    };
    Outcome { variant, flow_series, element_series }
}

fn run(outcomes: &[Outcome]) -> Run {
    let variants = outcomes.iter().map(|o| o.variant.clone()).collect();
    Run { scenario: "s".into(), seed: 1, variants, ..Run::default() }
}

/// Returns the four files of these runs.
fn files(runs: &[Sampled]) -> [Vec<u8>; 4] {
    let origin = FileOrigin { scenario: "s", seed: 1, run_id: "" };
    let mut files = [const { Vec::new() }; 4];
    write_flows(&mut files[0], origin, runs).unwrap();
    write_elements(&mut files[1], origin, runs).unwrap();
    write_retransmissions(&mut files[2], origin, runs).unwrap();
    write_responses(&mut files[3], origin, runs).unwrap();
    files
}

fn read(files: &[Vec<u8>; 4], run: &Run) -> Result<Vec<VariantSeries>, SeriesError> {
    read_series(&files[0], &files[1], Some(&files[2]), Some(&files[3]), run)
}

/// Formats the series exactly: `Debug` prints doubles so that they read back unchanged.
fn text(series: &[VariantSeries]) -> String {
    format!("{series:?}")
}

fn series(outcome: &Outcome) -> VariantSeries {
    VariantSeries { flows: outcome.flow_series.clone(), elements: outcome.element_series.clone() }
}

#[test]
fn series_read_back_unchanged() {
    let first = [
        outcome("a", Clock::Sim, [3000, 50, 0], 1),
        outcome("a", Clock::Kernel, [2000, 1, 1], 2),
        outcome("ü \"b\"", Clock::Sim, [0, 0, 0], 3),
    ];
    let again = first.clone().map(|o| outcome(&o.variant.name, o.variant.clock, [700, 7, 70], 9));
    let runs: Vec<Sampled> = first
        .iter()
        .zip(&again)
        .flat_map(|(o, again)| [Sampled { repeat: 1, outcome: o }, Sampled { repeat: 2, outcome: again }])
        .collect();
    let files = files(&runs);
    let got = read(&files, &run(&first)).unwrap();
    let mut wanted: Vec<VariantSeries> = first.iter().map(series).collect();
    // The third variant has no samples, so it has no series.
    wanted[2] = VariantSeries::default();
    assert_eq!(text(&got), text(&wanted));
    let mut other = run(&first);
    other.variants.remove(0);
    other.variants[0].flows.remove(0);
    let got = read(&files, &other).unwrap();
    wanted.remove(0);
    wanted[0].flows.remove(0);
    assert_eq!(text(&got), text(&wanted), "flows and variants that the run does not name are ignored");
    let without = read_series(&files[0], &files[1], None, None, &run(&first)).unwrap();
    assert!(without[0].flows[0].resent.is_empty() && without[0].flows[0].time_s.len() == 3000);
}

#[test]
fn the_repeats_of_a_single_variant_read_back() {
    let first = [outcome("a", Clock::Sim, [3000, 50, 0], 1), outcome("a", Clock::Kernel, [2000, 1, 1], 2)];
    // Long enough that a variant's repeats are in several row groups, and one row group has both variants.
    let again = first.clone().map(|o| outcome(&o.variant.name, o.variant.clock, [70_000, 7, 70], 9));
    let third = first.clone().map(|o| outcome(&o.variant.name, o.variant.clock, [70_000, 7, 70], 11));
    let repeats = |i: usize| [&first[i], &again[i], &third[i]];
    let runs: Vec<Sampled> = [0, 1]
        .into_iter()
        // The second repeat failed, so the numbers are not consecutive.
        .flat_map(|i| [1, 3, 4].into_iter().zip(repeats(i)))
        .map(|(repeat, outcome)| Sampled { repeat, outcome })
        .collect();
    let [flows, elements, ..] = files(&runs);
    let mut run = run(&first);
    run.variants.iter_mut().for_each(|v| v.repeats = Some(Repeats { n: 3, ..Repeats::default() }));
    for i in [0, 1] {
        let got = RepeatFiles::open(&flows, &elements, &run).unwrap().read(i).unwrap();
        let wanted = repeats(i).map(|o| {
            let mut all = series(o);
            all.flows.iter_mut().for_each(|f| (f.resent, f.responses) = (Vec::new(), Vec::new()));
            all
        });
        assert_eq!(text(&got), text(&wanted));
    }
    run.variants[1].repeats = None;
    let error = RepeatFiles::open(&flows, &elements, &run).unwrap().read(1).unwrap_err().to_string();
    assert_eq!(error, "flows.parquet: column `repeat` has 3 repeats of \"a\", more than result.json");
}

/// Several row groups, several pages of 20,000 rows, and columns with too many values for a dictionary.
#[test]
fn long_series_read_back() {
    let o = [outcome("v", Clock::Sim, [140_000, 60_000, 1], 4)];
    let files = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    assert_eq!(text(&read(&files, &run(&o)).unwrap()), text(&[series(&o[0])]));
}

#[test]
fn the_error_names_the_damaged_file() {
    let o = [outcome("v", Clock::Sim, [10, 10, 10], 5)];
    let [flows, elements, resent, responses] = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    let read = |files: [&[u8]; 3], responses: &[u8]| {
        let read = read_series(files[0], files[1], Some(files[2]), Some(responses), &run(&o));
        read.map(|_| ()).unwrap_err().to_string()
    };
    let error = |files| read(files, &responses);
    assert_eq!(error([b"", &elements, &resent]), "flows.parquet is not a Parquet file, or is truncated");
    assert_eq!(
        error([&flows, &elements[..elements.len() - 1], &resent]),
        "elements.parquet is not a Parquet file, or is truncated"
    );
    assert_eq!(error([&flows, &flows, &resent]), "elements.parquet: column `queue_packets` is missing");
    assert_eq!(error([&flows, &elements, &flows]), "retransmissions.parquet: column `byte` is missing");
    let swapped = read([&flows, &elements, &resent], &resent);
    assert_eq!(swapped, "responses.parquet: column `start_s` is missing");
}

/// Damages one of the files: flips bits, drops bytes, truncates it, or inserts bytes.
fn broken(whole: &[Vec<u8>; 4], random: &mut Random) -> [Vec<u8>; 4] {
    let mut files = whole.clone();
    let file = &mut files[random.below(4) as usize];
    // Most errors occur in the footer, so half of the damage is there.
    let len = file.len() as u64;
    let at =
        if random.below(2) == 0 { random.below(len) } else { len - 1 - random.below(len.min(3000)) } as usize;
    let to = (at + 1 + random.below(40) as usize).min(file.len());
    let extreme = |random: &mut Random| [0, 0x7f, 0x80, 0xff][random.below(4) as usize];
    match random.below(6) {
        0 => file.truncate(at),
        1 => file[at] ^= 1 << random.below(8),
        2 => file[at] = extreme(random),
        3 => drop(file.drain(at..to)),
        4 => drop(file.splice(at..at, (at..to).map(|_| random.below(256) as u8).collect::<Vec<_>>())),
        // In a variable-length encoding, many bytes make a large number.
        _ => drop(file.splice(at..at, vec![extreme(random); 1 + random.below(5) as usize])),
    }
    files
}

/// Reads `count` files damaged with the seeds from `first` on, and prints the outcome of each.
fn read_broken(first: u64, count: u64, rows: u64) {
    let o = [outcome("v", Clock::Sim, [rows, rows / 3, 3], 6)];
    let run = run(&o);
    let whole = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    for seed in first..first + count {
        let files = broken(&whole, &mut Random(seed * 2 + 1));
        println!("{seed}");
        let begun = Instant::now();
        let how = match read(&files, &run) {
            Err(e) => {
                assert!(e.to_string().starts_with(e.file), "{e}");
                "error"
            }
            Ok(series) => {
                for s in series.iter().flat_map(|s| &s.flows) {
                    let rows = s.time_s.len();
                    assert!(s.cwnd.len() == rows && s.state.len() == rows && s.rtt_ms.len() == rows);
                    assert!(s.state.iter().all(|&i| (i as usize) < s.states.len()));
                }
                "numbers"
            }
        };
        println!("{how}{}", if begun.elapsed().as_secs() > 5 { "\nslow" } else { "" });
    }
}

/// Environment variable for [`child_reads_broken_files`]: first seed, number of files, rows.
const CHILD_ORDER: &str = "BROKEN_FILES";

/// Not a test of its own: [`broken_files_are_errors`] runs it as a child process, to survive crashes.
#[test]
fn child_reads_broken_files() {
    let Ok(order) = std::env::var(CHILD_ORDER) else { return };
    let order: Vec<u64> = order.split(' ').map(|n| n.parse().unwrap()).collect();
    read_broken(order[0], order[1], order[2]);
}

/// Counts the outcomes of reading `count` damaged files in child processes with at most 1 GB and 5 minutes
/// each. A crash of a child is a "death".
fn count_outcomes(mut first: u64, count: u64, rows: u64) -> BTreeMap<String, u64> {
    let mut tally = BTreeMap::new();
    let end = first + count;
    while first < end {
        let shell = r#"ulimit -v 1048576; exec timeout 300 "$0" tables::series::child_reads_broken_files --exact --nocapture"#;
        let mut child = Command::new("sh");
        child.args(["-c", shell]).arg(std::env::current_exe().unwrap());
        child.env(CHILD_ORDER, format!("{first} {} {rows}", (end - first).min(500)));
        let child = child.output().unwrap();
        let mut last = None;
        for line in String::from_utf8(child.stdout).unwrap().lines() {
            match line.parse() {
                Ok(seed) => last = Some(seed),
                Err(_) if ["error", "numbers", "slow"].contains(&line) => {
                    *tally.entry(line.to_string()).or_default() += 1
                }
                Err(_) => {}
            }
        }
        let last: u64 = last.expect("a child that reads");
        if !child.status.success() {
            println!("seed {last}: {}: {}", child.status, String::from_utf8_lossy(&child.stderr).trim());
            *tally.entry("death".into()).or_default() += 1;
        }
        first = last + 1;
    }
    tally
}

/// Thousands of files with a changed byte, a truncation and the like yield an error or other numbers, within
/// bounded time.
#[test]
#[cfg(target_os = "linux")]
fn broken_files_are_errors() {
    let tally = count_outcomes(0, 2000, 60);
    println!("{tally:?}");
    assert_eq!((tally.get("death"), tally.get("slow")), (None, None));
    assert!(tally["error"] > 1000 && tally["numbers"] > 100);
}

/// `cargo test -p longfat-app many_broken -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn many_broken_files() {
    for (count, rows) in [(20_000, 60), (5_000, 2000), (500, 30_000)] {
        println!("{count} of {rows} rows: {:?}", count_outcomes(10_000, count, rows));
    }
}

/// `cargo test --release -p longfat-app -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn a_million_rows() {
    let o = [outcome("v", Clock::Sim, [500_000, 500_000, 0], 8)];
    let files = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    let begun = Instant::now();
    let got = read(&files, &run(&o)).unwrap();
    println!("{:.2} s for {} bytes", begun.elapsed().as_secs_f64(), files[0].len());
    assert_eq!(got[0].flows[0].time_s.len(), 500_000);
}
