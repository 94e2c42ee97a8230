//! Series written as Parquet read back as they were; what is broken is an error, whatever is broken.

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

/// A small generator of numbers (xorshift64*): the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % below
    }

    /// A number, now and then a rare one.
    fn real(&mut self) -> f64 {
        match self.roll(5) {
            0 => [0.0, -0.0, f64::INFINITY, f64::MIN_POSITIVE, 5e-324][self.roll(5) as usize],
            _ => self.roll(1 << 50) as f64 / 3.0,
        }
    }

    /// Fills every column of a series with `rows` rows: time goes on, the rest is anything, or unknown where that may
    /// be.
    fn fill(&mut self, rows: u64, series: &mut impl Columns) {
        for (column, cells) in series.cells_mut() {
            match cells {
                CellsMut::Real(to) if column.name == "time_s" => {
                    to.extend((0..rows).map(|i| i as f64 / 100.0))
                }
                CellsMut::Int(to) => to.extend((0..rows).map(|_| self.roll(1 << 60))),
                CellsMut::IntOrNull(to) => {
                    to.extend((0..rows).map(|_| (self.roll(3) > 0).then(|| self.roll(1 << 32))))
                }
                CellsMut::Real(to) => to.extend((0..rows).map(|_| self.real())),
                CellsMut::RealOrNull(to) => {
                    to.extend((0..rows).map(|_| (self.roll(5) > 0).then(|| self.real())))
                }
            }
        }
    }
}

const STATES: [&str; 4] = ["", "slow start", "avoidance", "PROBE_BW"];

fn flow(name: &str, rows: u64, dice: &mut Dice) -> FlowSeries {
    let mut states = FlowSeries::default();
    for _ in 0..rows {
        states.push(FlowPoint { state: STATES[dice.roll(4) as usize], ..FlowPoint::default() });
    }
    let mut s = FlowSeries { state: states.state, states: states.states, ..FlowSeries::new(name) };
    dice.fill(rows, &mut s);
    let resent = |i| Resent {
        time_s: i as f64 / 50.0,
        byte: dice.roll(1 << 40),
        len: 1 + dice.roll(1448) as u32,
        sender: dice.roll(3) as u32,
    };
    s.resent = (0..rows / 3).map(resent).collect();
    // In the order in which they ended: starts may fall.
    let response = |_| Response {
        start_s: dice.roll(1 << 40) as f64 / 1e9,
        seconds: dice.roll(1 << 40) as f64 / 1e9,
        what: ["answer", "html", "object", "page"][dice.roll(4) as usize].into(),
    };
    s.responses = (0..rows / 4).map(response).collect();
    s
}

fn element(name: &str, rows: u64, dice: &mut Dice) -> ElementSeries {
    let mut s = ElementSeries { name: name.into(), ..ElementSeries::default() };
    dice.fill(rows, &mut s);
    s
}

fn outcome(name: &str, clock: Clock, rows: [u64; 3], seed: u64) -> Outcome {
    let dice = &mut Dice(seed);
    let flow_series: Vec<FlowSeries> =
        ["bulk", "voice", "idle"].iter().zip(rows).map(|(name, rows)| flow(name, rows, dice)).collect();
    let element_series =
        vec![element("wan.forward.link", rows[0], dice), element("wan.backward.delay", rows[0], dice)];
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

/// The four files of these runs.
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

/// Everything of them, to the last bit: `Debug` writes doubles so that they read back.
fn text(series: &[VariantSeries]) -> String {
    format!("{series:?}")
}

fn series(outcome: &Outcome) -> VariantSeries {
    VariantSeries { flows: outcome.flow_series.clone(), elements: outcome.element_series.clone() }
}

#[test]
fn what_was_written_reads_back_to_the_last_bit() {
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
    // Sampled nothing at all: no series.
    wanted[2] = VariantSeries::default();
    assert_eq!(text(&got), text(&wanted));
    let mut other = run(&first);
    other.variants.remove(0);
    other.variants[0].flows.remove(0);
    let got = read(&files, &other).unwrap();
    wanted.remove(0);
    wanted[0].flows.remove(0);
    assert_eq!(text(&got), text(&wanted), "what the run does not name is passed over");
    let without = read_series(&files[0], &files[1], None, None, &run(&first)).unwrap();
    assert!(without[0].flows[0].resent.is_empty() && without[0].flows[0].time_s.len() == 3000);
}

#[test]
fn the_repeats_of_one_variant_read_back_alone() {
    let first = [outcome("a", Clock::Sim, [3000, 50, 0], 1), outcome("a", Clock::Kernel, [2000, 1, 1], 2)];
    // Long enough that a variant's repeats are in several row groups, and one row group has both variants.
    let again = first.clone().map(|o| outcome(&o.variant.name, o.variant.clock, [70_000, 7, 70], 9));
    let third = first.clone().map(|o| outcome(&o.variant.name, o.variant.clock, [70_000, 7, 70], 11));
    let repeats = |i: usize| [&first[i], &again[i], &third[i]];
    let runs: Vec<Sampled> = [0, 1]
        .into_iter()
        // The second repeat failed: numbers need not follow each other.
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

/// Row groups, pages of 20,000 rows, dictionaries too large to be one.
#[test]
fn long_series_read_back() {
    let o = [outcome("v", Clock::Sim, [140_000, 60_000, 1], 4)];
    let files = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    assert_eq!(text(&read(&files, &run(&o)).unwrap()), text(&[series(&o[0])]));
}

#[test]
fn the_wrong_file_is_named() {
    let o = [outcome("v", Clock::Sim, [10, 10, 10], 5)];
    let [flows, elements, resent, responses] = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    let read = |files: [&[u8]; 3], responses: &[u8]| {
        let read = read_series(files[0], files[1], Some(files[2]), Some(responses), &run(&o));
        read.map(|_| ()).unwrap_err().to_string()
    };
    let said = |files| read(files, &responses);
    assert_eq!(said([b"", &elements, &resent]), "flows.parquet is no Parquet file, or was cut");
    assert_eq!(
        said([&flows, &elements[..elements.len() - 1], &resent]),
        "elements.parquet is no Parquet file, or was cut"
    );
    assert_eq!(said([&flows, &flows, &resent]), "elements.parquet: column `queue_packets` is missing");
    assert_eq!(said([&flows, &elements, &flows]), "retransmissions.parquet: column `byte` is missing");
    let swapped = read([&flows, &elements, &resent], &resent);
    assert_eq!(swapped, "responses.parquet: column `start_s` is missing");
}

/// One of the files broken: bits turned, bytes lost, the end cut off, or bytes put in between.
fn broken(whole: &[Vec<u8>; 4], dice: &mut Dice) -> [Vec<u8>; 4] {
    let mut files = whole.clone();
    let file = &mut files[dice.roll(4) as usize];
    // The footer is where most goes wrong: half of the places are in it.
    let len = file.len() as u64;
    let at = if dice.roll(2) == 0 { dice.roll(len) } else { len - 1 - dice.roll(len.min(3000)) } as usize;
    let to = (at + 1 + dice.roll(40) as usize).min(file.len());
    let telling = |dice: &mut Dice| [0, 0x7f, 0x80, 0xff][dice.roll(4) as usize];
    match dice.roll(6) {
        0 => file.truncate(at),
        1 => file[at] ^= 1 << dice.roll(8),
        2 => file[at] = telling(dice),
        3 => drop(file.drain(at..to)),
        4 => drop(file.splice(at..at, (at..to).map(|_| dice.roll(256) as u8).collect::<Vec<_>>())),
        // Numbers of many bytes are large ones.
        _ => drop(file.splice(at..at, vec![telling(dice); 1 + dice.roll(5) as usize])),
    }
    files
}

/// Reads the `count` files broken by the seeds from `first` on; says of each how it went.
fn read_broken(first: u64, count: u64, rows: u64) {
    let o = [outcome("v", Clock::Sim, [rows, rows / 3, 3], 6)];
    let run = run(&o);
    let whole = files(&[Sampled { repeat: 1, outcome: &o[0] }]);
    for seed in first..first + count {
        let files = broken(&whole, &mut Dice(seed * 2 + 1));
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

/// What a parent asks of [`the_child`]: the first seed, how many, rows.
const ASKED: &str = "BROKEN_FILES";

/// Not a test: reads broken files where [`broken_files_are_errors`] sees it die.
#[test]
fn the_child() {
    let Ok(asked) = std::env::var(ASKED) else { return };
    let asked: Vec<u64> = asked.split(' ').map(|n| n.parse().unwrap()).collect();
    read_broken(asked[0], asked[1], asked[2]);
}

/// How often each came of `count` broken files, read in children of 1 GB and 5 minutes at most; what ended one
/// is a "death".
fn breakages(mut first: u64, count: u64, rows: u64) -> BTreeMap<String, u64> {
    let mut tally = BTreeMap::new();
    let end = first + count;
    while first < end {
        let shell =
            r#"ulimit -v 1048576; exec timeout 300 "$0" tables::series::the_child --exact --nocapture"#;
        let mut child = Command::new("sh");
        child.args(["-c", shell]).arg(std::env::current_exe().unwrap());
        child.env(ASKED, format!("{first} {} {rows}", (end - first).min(500)));
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

/// At thousands of places a byte is another, or the file ends: an error or other numbers, and an end to it.
#[test]
#[cfg(target_os = "linux")]
fn broken_files_are_errors() {
    let tally = breakages(0, 2000, 60);
    println!("{tally:?}");
    assert_eq!((tally.get("death"), tally.get("slow")), (None, None));
    assert!(tally["error"] > 1000 && tally["numbers"] > 100);
}

/// `cargo test -p longfat-result --features parquet many_broken -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn many_broken_files() {
    for (count, rows) in [(20_000, 60), (5_000, 2000), (500, 30_000)] {
        println!("{count} of {rows} rows: {:?}", breakages(10_000, count, rows));
    }
}

/// `cargo test --release -p longfat-result --features parquet -- --ignored --nocapture`
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
