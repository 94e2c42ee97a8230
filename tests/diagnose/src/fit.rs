//! A fit held against paths whose truth is known: fitted to the capture of a case alone, it must predict what the path does
//! with another congestion control and another number of flows.

use crate::judge::read_tracks;
use crate::{Case, PcapSink, draw, play};
use ::fit::{FitWish, MadeFit, ObservedPath};
use capture::CaptureReader;
use congestion::Control;
use path::Stage;
use result::Cause;
use result::VariantResult;
use scenario::{Scenario, Variant};
use std::fmt::Write as _;
use std::io::Cursor;
use std::time::Instant;
use units::{Bytes, Span};

/// Causes whose cases tell of their path: something on it limits.
pub const PATHS: [Cause; 5] =
    [Cause::Policed, Cause::Shaped, Cause::Bottleneck, Cause::Congestion, Cause::RandomLoss];
/// Seeds of each prediction.
const SEEDS: u64 = 3;

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct FitRow {
    /// Of the case.
    pub number: u64,
    /// What the case was meant to be limited by.
    pub meant: &'static str,
    /// Where it was captured.
    pub vantage: &'static str,
    /// `policer`, `shaper` or `link`, as the scenario has it.
    pub kind: String,
    /// As it was fitted; empty where there is no fit.
    pub found: String,
    /// Congestion control of capture and prediction.
    pub cc: [String; 2],
    /// Flows of capture and prediction.
    pub count: [u32; 2],
    /// Mbit/s of truth and fit, predicted.
    pub goodput: [f64; 2],
    /// ms of truth and fit, predicted.
    pub p95: [f64; 2],
    /// The fit's own misfit.
    pub misfit: f64,
    /// Seconds that the fit took.
    pub seconds: f64,
    /// Why there is no fit.
    pub why: String,
}

impl FitRow {
    /// Head of the table.
    pub const HEAD: &'static str = "case,meant,vantage,kind,found,cc,predicted_cc,flows,predicted_flows,goodput_mbps,\
                                    predicted_goodput_mbps,p95_ms,predicted_p95_ms,misfit,fit_s,why\n";

    /// A line of the table.
    pub fn line(&self) -> String {
        format!(
            "{},{},{},{},{},{},{},{},{},{:.4},{:.4},{:.3},{:.3},{:.2},{:.1},{}\n",
            self.number,
            self.meant,
            self.vantage,
            self.kind,
            self.found,
            self.cc[0],
            self.cc[1],
            self.count[0],
            self.count[1],
            self.goodput[0],
            self.goodput[1],
            self.p95[0],
            self.p95[1],
            self.misfit,
            self.seconds,
            self.why.replace(',', ";")
        )
    }

    /// How far the prediction of these two is off, as a share of the truth.
    pub fn error(pair: [f64; 2]) -> f64 {
        (pair[1] / pair[0].max(1e-9) - 1.0).abs()
    }

    /// What the fit predicts of the case's question, beside what the true path yields.
    fn predict(
        &mut self,
        case: &Case,
        scenario: &Scenario,
        made: &MadeFit,
        truth: impl FnOnce(&Scenario) -> Result<[f64; 2], String>,
    ) -> Result<(), String> {
        let (cc, count) = question(case, &scenario.flows[0]);
        let asked = |path: &Scenario| other(path, cc, count, scenario.duration);
        let (truth, guess) = (truth(&asked(scenario))?, predicted(&asked(&made.scenario)));
        (self.goodput, self.p95) = ([truth[0], guess[0]], [truth[1], guess[1]]);
        (self.found, self.misfit) = (made.fit.limiter.clone(), made.fit.misfit);
        Ok(())
    }

    /// Whether the kind is that of the path; one that was not reached cannot be told from a line.
    pub fn kind_right(&self) -> bool {
        self.kind == self.found || self.kind == "link" && self.found == "none"
    }
}

/// The case `number` of those whose path is to be fitted.
pub fn case(set: u64, number: u64) -> Option<Case> {
    let case = draw::case(set, number);
    PATHS.contains(&case.meant).then_some(case)
}

/// A shaper's bucket below this is as good as none: ten packets, which a host sends at once anyway (RFC 6928).
const LEAST_BUCKET: Bytes = Bytes::new(15_000);

/// Kind of the stage called `limiter`. A shaper without a bucket to speak of is a line.
fn kind(scenario: &Scenario) -> String {
    let stages = scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
    let of = |stage: &Stage| match stage {
        Stage::Shaper(shaper) if shaper.burst() < LEAST_BUCKET => "link".to_string(),
        stage => stage.kind().to_string(),
    };
    stages.filter(|s| s.name == "limiter").map(|s| of(&s.stage)).next().unwrap_or_default()
}

/// What is predicted: the first flow of a scenario with this congestion control and so many connections.
pub fn other(scenario: &Scenario, cc: Control, count: u32, duration: Span) -> Scenario {
    let mut s = scenario.clone();
    s.duration = duration;
    s.sample = Span::ZERO;
    s.flows.truncate(1);
    for f in &mut s.flows {
        (f.cc, f.count, f.start, f.stagger) = (cc, count, Span::ZERO, Span::from_millis(30));
    }
    s
}

/// Goodput of all flows, Mbit/s, and their 95th percentile of round trips, ms (geometric mean, weighted by packets).
pub fn figures(v: &VariantResult) -> [f64; 2] {
    let (mut log, mut weight) = (0.0, 0.0);
    for f in v.flows.iter().filter(|f| f.rtt_ms.p95 > 0.0) {
        log += f.sent_packets as f64 * f.rtt_ms.p95.ln();
        weight += f.sent_packets as f64;
    }
    [v.total_goodput_mbps, if weight > 0.0 { (log / weight).exp() } else { 0.0 }]
}

/// The mean over seeds of what a scenario yields.
pub fn predicted(s: &Scenario) -> [f64; 2] {
    let mut sum = [0.0; 2];
    for seed in 1..=SEEDS {
        let options = sim::SimOptions { seed, unrest: true, ..Default::default() };
        let [goodput, p95] = figures(&sim::run("v", s, options).variant);
        sum = [sum[0] + goodput, sum[1] + p95];
    }
    sum.map(|x| x / SEEDS as f64)
}

/// The fit of an opened capture.
///
/// # Errors
/// Why there is none.
pub fn fitted(reader: CaptureReader) -> Result<MadeFit, String> {
    let (tracks, info) = read_tracks(reader);
    let facts = ::fit::facts(&tracks);
    let diagnosis = diagnosis::diagnose_tracks(tracks, info);
    let seen = ObservedPath::of(&diagnosis, &facts).map_err(|e| e.to_string())?;
    ::fit::fit(&seen, &FitWish::default(), None).map_err(|e| e.to_string())
}

/// What a prediction is about: the congestion control that the capture does not have, and another number of flows.
pub fn question(case: &Case, first: &scenario::Flow) -> (Control, u32) {
    let name = if first.cc.name().starts_with("bbr") { "cubic" } else { "bbr" };
    let count = if first.count > 1 { 1 } else { 2 + (case.number % 3) as u32 };
    (Control::named(name).unwrap_or_default(), count)
}

/// Plays a case, fits its capture, and predicts.
///
/// # Errors
/// The case cannot be played.
pub fn judge(case: &Case, keep: Option<&std::path::Path>) -> Result<FitRow, String> {
    let mut file = Vec::new();
    let mut sink = PcapSink::new(&mut file).map_err(|e| e.to_string())?;
    play(case, &mut sink)?;
    sink.finish().map_err(|e| e.to_string())?;
    let Variant { scenario, .. } = play::variant(case)?;
    if let Some(folder) = keep {
        let write =
            |name: &str, bytes: &[u8]| std::fs::write(folder.join(format!("{}{name}", case.number)), bytes);
        write(".pcap", &file)
            .and_then(|()| write(".toml", case.text.as_bytes()))
            .map_err(|e| e.to_string())?;
    }
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").map_err(|e| e.to_string())?;
    let began = Instant::now();
    let made = fitted(reader);
    let seconds = began.elapsed().as_secs_f64();
    let mut row = begun(case, &scenario, seconds);
    match made {
        Ok(made) => {
            row.predict(case, &scenario, &made, |asked| Ok(predicted(asked)))?;
            if let Some(folder) = keep {
                let text = format!("{}\n{}", ::fit::text(&made.fit, 100), made.fit.scenario);
                std::fs::write(folder.join(format!("{}.fit", case.number)), text)
                    .map_err(|e| e.to_string())?;
            }
        }
        Err(why) => row.why = why,
    }
    Ok(row)
}

/// The row of a case before it is known what came of it.
pub fn begun(case: &Case, scenario: &Scenario, seconds: f64) -> FitRow {
    let first = &scenario.flows[0];
    let (cc, count) = question(case, first);
    FitRow {
        number: case.number,
        meant: case.meant.name(),
        vantage: case.vantage.name(),
        kind: kind(scenario),
        cc: [first.cc.name().to_string(), cc.name().to_string()],
        count: [first.count, count],
        seconds,
        ..FitRow::default()
    }
}

/// The `q`-quantile.
fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let i = ((values.len() as f64 * q) as usize).min(values.len().saturating_sub(1));
    values.get(i).copied().unwrap_or(f64::NAN)
}

/// The tables: all, by what was meant, by kind of prediction.
pub fn tables(rows: &[FitRow]) -> String {
    let mut out = String::from(
        "| captures | | no fit | limiter kind right | goodput off: median / 90 % | p95 RTT off: median / 90 % | fit: median / longest |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut line = |name: &str, pick: &dyn Fn(&FitRow) -> bool| {
        let all: Vec<&FitRow> = rows.iter().filter(|r| pick(r)).collect();
        let fit: Vec<&&FitRow> = all.iter().filter(|r| r.why.is_empty()).collect();
        if fit.is_empty() {
            return;
        }
        let mut goodput: Vec<f64> = fit.iter().map(|r| FitRow::error(r.goodput)).collect();
        let mut p95: Vec<f64> = fit.iter().map(|r| FitRow::error(r.p95)).collect();
        let mut time: Vec<f64> = fit.iter().map(|r| r.seconds).collect();
        let right = fit.iter().filter(|r| r.kind_right()).count();
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {:.1} % ({right} of {}) | {:.1} % / {:.1} % | {:.1} % / {:.1} % | {:.1} s / {:.1} s |",
            all.len(),
            all.len() - fit.len(),
            100.0 * right as f64 / fit.len() as f64,
            fit.len(),
            100.0 * quantile(&mut goodput, 0.5),
            100.0 * quantile(&mut goodput, 0.9),
            100.0 * quantile(&mut p95, 0.5),
            100.0 * quantile(&mut p95, 0.9),
            quantile(&mut time, 0.5),
            quantile(&mut time, 1.0),
        );
    };
    line("all", &|_| true);
    for cause in PATHS {
        line(cause.name(), &|r| r.meant == cause.name());
    }
    line("predicted BBR", &|r| r.cc[1] == "bbr");
    line("predicted CUBIC", &|r| r.cc[1] == "cubic");
    for vantage in ["sender", "middle", "receiver"] {
        line(&format!("captured at {vantage}"), &|r| r.vantage == vantage);
    }
    out
}

/// The same of a case that the kernel plays, in real time, as root; its prediction is held against a run of the kernel too.
///
/// # Errors
/// The lab cannot play it.
pub fn judge_on_kernel(case: &Case, folder: &std::path::Path) -> Result<FitRow, String> {
    let scenario = play::variant(case)?.scenario;
    let stages: usize = scenario.links.iter().map(|l| l.forward.len() + l.backward.len()).sum();
    let create = |name: String| std::fs::File::create(folder.join(name)).map_err(|e| e.to_string());
    let hosts: Result<Vec<_>, _> =
        scenario.hosts.iter().map(|h| create(format!("{}.pcap", h.name))).collect();
    let stages: Result<Vec<_>, _> = (0..stages).map(|i| create(format!("stage-{i}.pcap"))).collect();
    let pcap = Some(lab::Captures { hosts: hosts?, stages: stages? });
    let options = lab::LabOptions { seed: case.seed, pcap, ..Default::default() };
    lab::run("kernel", &scenario, options).map_err(|e| e.to_string())?;
    let host = &scenario.hosts[case.vantage.host()].name;
    let reader = CaptureReader::open(&folder.join(format!("{host}.pcap"))).map_err(|e| e.to_string())?;
    let began = Instant::now();
    let made = fitted(reader);
    let mut row = begun(case, &scenario, began.elapsed().as_secs_f64());
    match made {
        Ok(made) => row.predict(case, &scenario, &made, |asked| {
            let options = lab::LabOptions { seed: case.seed + 1, ..Default::default() };
            let truth = lab::run("kernel", asked, options).map_err(|e| e.to_string())?;
            Ok(figures(&truth.variant))
        })?,
        Err(why) => row.why = why,
    }
    Ok(row)
}
