//! Scores a public set of traces from a real network device (USC-NSL/policing-detection, Apache-2.0), next to
//! the set's own detector.
//!
//! A trace's name has the device's settings: `PCIR` and `PBC` are a policer's rate and bucket, `SCIR` and
//! `SBC` a shaper's. A client requests five chunks of 2 MB, and the capture is taken at the server. As in the
//! paper, a flow is policed if the device policed and the trace shows loss (by the detector's own count).
//!
//! The device counts Ethernet frames: the detector's rate is that of payload, and in undisturbed traces of
//! one connection it is 0.9536, 0.9535 and 0.9530 of 0.5, 1.5 and 3 Mbit/s (medians), while 1448 bytes of
//! payload are 0.9539 of 1518, the frame with its checksum (and 0.9653 of 1500, the IP packet). So the true
//! rate and bucket in IP bytes are 1500/1518 of the numbers in the name, and the detector's payload is
//! converted by 1500/1448.

use crate::judge::Judge;
use crate::line::{Limit, Line};
use crate::score::{Tally, near, quantile};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const IP_OF_FRAME: f64 = 1500.0 / 1518.0;
const IP_OF_PAYLOAD: f64 = 1500.0 / 1448.0;

/// A trace's first connection: truth, the detector, the diagnosis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Truth and verdict.
    pub line: Line,
    /// Bucket in the name, bytes; `None` for the device's default.
    pub named_burst: Option<f64>,
    /// Chunks that the detector saw, chunks with loss, and chunks that it calls policed.
    pub chunks: [usize; 3],
    /// Medians of the detector's rates (Mbit/s of IP bytes) and buckets (IP bytes).
    pub detector: Limit,
}

/// A chunk's row of `validation.csv.gz`.
struct Chunk {
    losses: u64,
    policed: Option<(f64, f64)>,
}

/// Returns the text after `key` in a trace's name, up to the next dash.
fn parameter<'a>(name: &'a str, key: &str) -> Option<&'a str> {
    name.split('-').find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| values[(values.len() - 1) / 2])
}

fn chunks(folder: &Path) -> Result<BTreeMap<String, Vec<Chunk>>, String> {
    let out = Command::new("gzip").arg("-dc").arg(folder.join("validation.csv.gz")).output();
    let out = out.map_err(|e| format!("gzip: {e}"))?;
    let mut all = BTreeMap::<String, Vec<Chunk>>::new();
    for line in String::from_utf8_lossy(&out.stdout).lines() {
        let f: Vec<&str> = line.split(',').collect();
        let [name, _, _, _, _, losses, policed, _, rate, burst, ..] = f[..] else { continue };
        let number = |s: &str| s.trim().split(' ').next().and_then(|n| n.parse::<f64>().ok());
        let found = (policed == "True").then(|| Some((number(rate)?, number(burst)?))).flatten();
        let name = name.trim_end_matches(".filtered").to_string();
        let losses = losses.parse().unwrap_or(0);
        all.entry(name).or_default().push(Chunk { losses, policed: found });
    }
    if all.is_empty() { Err("validation.csv.gz: no rows".into()) } else { Ok(all) }
}

fn row(name: &str, chunks: &[Chunk], judge: &Judge, path: &Path) -> Result<Row, String> {
    let number = |key| parameter(name, key).and_then(|v| v.parse::<f64>().ok());
    let port = parameter(name, "CP").or(parameter(name, "CP1")).ok_or(format!("{name}: no port"))?;
    let diagnosis = judge.diagnose(path)?;
    let (suffix, policer) = (format!(":{port}"), number("PCIR"));
    let flow = diagnosis.flows.iter().find(|f| f.to.ends_with(&suffix));
    let found = flow.and_then(|f| f.limiter).and_then(|i| diagnosis.limiters.get(i));
    let rate = policer.or(number("SCIR")).ok_or(format!("{name}: no rate"))? / 1e6 * IP_OF_FRAME;
    let named_burst = number("PBC").or(number("SBC"));
    let policed = policer.is_some() && chunks.iter().any(|c| c.losses > 0);
    let mut rates: Vec<f64> =
        chunks.iter().filter_map(|c| Some(c.policed?.0 / 1e6 * IP_OF_PAYLOAD)).collect();
    let mut bursts: Vec<f64> = chunks.iter().filter_map(|c| Some(c.policed?.1 * IP_OF_PAYLOAD)).collect();
    let line = Line {
        case: name.into(),
        from: flow.map_or(String::new(), |f| f.from.clone()),
        vantage: "sender".into(),
        flows: 1 + usize::from(number("CP2").is_some()) + usize::from(number("XT").is_some()),
        intended: if policer.is_some() { "policed" } else { "shaped" }.into(),
        rate,
        right: Vec::new(),
        verdict: flow.map_or("missing", |f| f.cause.name()).into(),
        confidence: flow.map_or(0.0, |f| f.confidence),
        policed: Some(policed),
        limiter: Limit {
            kind: if policer.is_some() { "policer" } else { "shaper" }.into(),
            rate: Some(rate),
            burst: named_burst.map(|b| b * IP_OF_FRAME),
            ..Limit::default()
        },
        found: found.map(Limit::from).unwrap_or_default(),
        ..Line::default()
    };
    let lossy = chunks.iter().filter(|c| c.losses > 0).count();
    let policed_chunks = chunks.iter().filter(|c| c.policed.is_some()).count();
    let kind = if policed_chunks > 0 { "policer" } else { "" }.to_string();
    let detector = Limit { kind, rate: median(&mut rates), burst: median(&mut bursts), ..Limit::default() };
    Ok(Row { line, named_burst, chunks: [chunks.len(), lossy, policed_chunks], detector })
}

/// Reads all traces of the set that are in `folder`, in the order of their names.
///
/// # Errors
/// Fails if the folder has none, or one cannot be diagnosed.
pub fn read(folder: &Path, judge: &Judge) -> Result<Vec<Row>, String> {
    let chunks = chunks(folder)?;
    let list = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut names: Vec<String> = list.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    names.retain(|n| n.ends_with(".pcap.xz"));
    names.sort();
    let mut rows = crate::each(0..names.len() as u64, |i| {
        let file = &names[i as usize];
        let name = file.trim_end_matches(".pcap.xz");
        let chunks = chunks.get(name).ok_or(format!("{name}: not in validation.csv.gz"))?;
        row(name, chunks, judge, &folder.join(file))
    })?;
    rows.sort_by(|a, b| a.line.case.cmp(&b.line.case));
    Ok(rows)
}

impl Row {
    /// Returns the row as CSV: the line's columns, then the detector's.
    pub fn csv(&self) -> String {
        let number = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.6}"));
        let [chunks, lossy, policed] = self.chunks;
        format!(
            "{},{},{chunks},{lossy},{policed},{},{}",
            self.line.csv(),
            number(self.named_burst),
            number(self.detector.rate),
            number(self.detector.burst)
        )
    }

    /// Parses a row of CSV; `None` for the header.
    pub fn parse(text: &str) -> Option<Row> {
        let f: Vec<&str> = text.split(',').collect();
        let line = Line::parse(&f.get(..18)?.join(","))?;
        let count = |i: usize| f.get(i)?.parse().ok();
        let number = |i: usize| f.get(i).and_then(|f| f.parse().ok());
        let chunks = [count(19)?, count(20)?, count(21)?];
        let kind = if chunks[2] > 0 { "policer" } else { "" }.to_string();
        let detector = Limit { kind, rate: number(22), burst: number(23), ..Limit::default() };
        Some(Row { line, named_burst: number(18), chunks, detector })
    }

    fn error(&self, found: Option<f64>, truth: Option<f64>) -> Option<f64> {
        (self.line.policed == Some(true)).then(|| Some(found? / truth? - 1.0)).flatten()
    }
}

/// The columns after [`crate::line::COLUMNS`].
pub const COLUMNS: &str =
    "named_burst,chunks,lossy_chunks,detector_chunks,detector_rate_mbps,detector_burst_bytes";

/// A named test for whether a trace is policed.
type Detector = (&'static str, fn(&Row) -> bool);

const DETECTORS: [Detector; 4] = [
    ("longfat, policer named", |r| r.line.names_policer()),
    ("longfat, policer the main cause", |r| r.line.verdict == "policed"),
    ("detector, any chunk", |r| r.chunks[2] > 0),
    ("detector, most lossy chunks", |r| r.chunks[2] > 0 && 2 * r.chunks[2] >= r.chunks[1]),
];

/// A group of traces, by name.
type Group = (String, Box<dyn Fn(&Row) -> bool>);

fn groups() -> Vec<Group> {
    let mut all: Vec<Group> = vec![
        ("all".into(), Box::new(|_| true)),
        ("one connection".into(), Box::new(|r| r.line.flows == 1)),
        ("two connections or cross traffic".into(), Box::new(|r| r.line.flows > 1)),
    ];
    for burst in [Some(8e3), Some(1e5), Some(1e6), Some(2e6), None] {
        let name = burst.map_or("default bucket".into(), |b| format!("bucket of {} kB", b / 1e3));
        all.push((
            format!("one connection, {name}"),
            Box::new(move |r| r.line.flows == 1 && r.named_burst == burst),
        ));
        all.push((
            format!("several connections, {name}"),
            Box::new(move |r| r.line.flows > 1 && r.named_burst == burst),
        ));
    }
    all
}

/// Scores the detector by chunk, as its authors do.
fn by_chunk(rows: &[Row]) -> String {
    let mut out = String::new();
    for several in [false, true] {
        let some = || rows.iter().filter(|r| (r.line.flows > 1) == several);
        let sum = |policer: bool, column: usize| -> usize {
            some().filter(|r| (r.line.intended == "policed") == policer).map(|r| r.chunks[column]).sum()
        };
        let recall = Tally { total: sum(true, 1), right: sum(true, 2) };
        let _ = writeln!(
            out,
            "The detector by chunk, as its authors count, {}: recall {} on chunks with loss through a policer; {} chunks \
             through a shaper, of which {} are reported as policed.\n",
            if several { "several connections" } else { "one connection" },
            recall.percent(),
            sum(false, 0),
            sum(false, 2)
        );
    }
    out
}

/// Returns precision and recall of longfat and the detector by group, then errors of rate and bucket.
pub fn tables(rows: &[Row]) -> String {
    let names: Vec<&str> = DETECTORS.iter().map(|d| d.0).collect();
    let mut out = format!(
        "| traces | policed | {} |\n|---|---:|{}\n",
        names.join(" | "),
        "---:|".repeat(DETECTORS.len())
    );
    for (name, belongs) in groups() {
        let some: Vec<&Row> = rows.iter().filter(|r| belongs(r)).collect();
        let positive = some.iter().filter(|r| r.line.policed == Some(true)).count();
        let cell = |(_, reports): &Detector| {
            let reported = some.iter().filter(|r| reports(r));
            let precision = Tally::count(reported, |r| r.line.policed == Some(true));
            let recall = Tally::count(some.iter().filter(|r| r.line.policed == Some(true)), |r| reports(r));
            let percent = |t: Tally| if t.total == 0 { "–".into() } else { format!("{:.1} %", t.share()) };
            format!("{} / {}", percent(precision), percent(recall))
        };
        let cells: Vec<String> = DETECTORS.iter().map(cell).collect();
        let _ = writeln!(out, "| {name} ({}) | {positive} | {} |", some.len(), cells.join(" | "));
    }
    out += "\nCells are precision / recall.\n\n";
    out += &by_chunk(rows);
    out += "| policed traces | rate given | rate error: median / p90 | within 3 % | bucket given | bucket error: median / p90 | within 20 % |\n|---|---:|---:|---:|---:|---:|---:|\n";
    for several in [false, true] {
        let some: Vec<&Row> =
            rows.iter().filter(|r| (r.line.flows > 1) == several && r.line.policed == Some(true)).collect();
        for (name, limit) in [
            ("longfat", (|r| r.line.found.clone()) as fn(&Row) -> Limit),
            ("detector", |r| r.detector.clone()),
        ] {
            let found: Vec<(&Row, Limit)> =
                some.iter().map(|&r| (r, limit(r))).filter(|f| f.1.kind == "policer").collect();
            let error = |(r, l): &(&Row, Limit)| r.error(l.rate, r.line.limiter.rate);
            let rates: Vec<f64> = found.iter().filter_map(error).collect();
            let error = |(r, l): &(&Row, Limit)| r.error(l.burst, r.line.limiter.burst);
            let bursts: Vec<f64> = found.iter().filter_map(error).collect();
            let _ = writeln!(
                out,
                "| {}: {name} | {} of {} | {} / {} | {} | {} | {} / {} | {} |",
                if several { "several connections" } else { "one connection" },
                rates.len(),
                some.len(),
                quantile(&rates, 0.5),
                quantile(&rates, 0.9),
                near(&rates, 0.03),
                bursts.len(),
                quantile(&bursts, 0.5),
                quantile(&bursts, 0.9),
                near(&bursts, 0.2)
            );
        }
    }
    out
}
