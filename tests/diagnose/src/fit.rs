//! Scores fits on paths with known truth: a fit to the capture of a case alone must predict the path with
//! another congestion control and another number of flows.

use crate::judge::read_tracks;
use crate::score::{self, Tally, nearest_rank, quantile};
use crate::{Case, PcapSink, draw, play};
use ::fit::{FitError, FitOptions, MadeFit, ObservedPath};
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

/// Causes whose cases show their path because something on it limits.
pub const PATHS: [Cause; 5] =
    [Cause::Policed, Cause::Shaped, Cause::Bottleneck, Cause::Congestion, Cause::RandomLoss];
/// Seeds of a prediction.
const SEEDS: u64 = 3;

/// Other buckets for which policed paths are predicted, relative to the captured one.
pub const BUCKETS: [f64; 2] = [4.0, 0.5];

/// The result of a case.
#[derive(Clone, Debug, Default)]
pub struct FitRow {
    /// `simulator` or `kernel`.
    pub clock: &'static str,
    /// Number of the case.
    pub number: u64,
    /// The intended cause.
    pub intended: &'static str,
    /// Place of the capture.
    pub vantage: &'static str,
    /// `policer`, `shaper` or `link`, as the scenario has it.
    pub kind: String,
    /// The fitted kind; empty where there is no fit.
    pub found: String,
    /// Kinds that the fit lists, joined by a plus.
    pub listed: String,
    /// The fit's probability of the found kind, 0 to 1.
    pub confidence: f64,
    /// Congestion control of capture and prediction.
    pub cc: [String; 2],
    /// Flows of capture and prediction.
    pub count: [u32; 2],
    /// Goodput of truth and prediction, Mbit/s.
    pub goodput: [f64; 2],
    /// 95th percentile of RTTs of truth and prediction, ms.
    pub p95: [f64; 2],
    /// Goodput of truth and prediction with each of [`BUCKETS`] and the captured flows, Mbit/s; zero where
    /// nothing is policed.
    pub buckets: [[f64; 2]; 2],
    /// The fit's own misfit.
    pub misfit: f64,
    /// Seconds that the fit took.
    pub seconds: f64,
    /// Why there is no fit.
    pub why: String,
}

impl FitRow {
    /// Header of the table.
    pub const HEAD: &'static str = "clock,case,intended,vantage,kind,found,listed,confidence,cc,predicted_cc,flows,predicted_flows,\
                                    goodput_mbps,predicted_goodput_mbps,p95_ms,predicted_p95_ms,bucket_x4_mbps,\
                                    predicted_bucket_x4_mbps,bucket_half_mbps,predicted_bucket_half_mbps,misfit,fit_s,why\n";

    /// Returns the row of the table.
    pub fn line(&self) -> String {
        let texts = |all: &[&str]| all.join(",");
        let pair = |p: [f64; 2], digits: usize| format!("{:.digits$},{:.digits$}", p[0], p[1]);
        let bucket = |p: [f64; 2]| if p[0] > 0.0 { pair(p, 4) } else { ",".into() };
        format!(
            "{},{},{},{:.3},{},{},{},{},{},{},{},{:.2},{:.1},{}\n",
            self.clock,
            self.number,
            texts(&[self.intended, self.vantage, &self.kind, &self.found, &self.listed]),
            self.confidence,
            texts(&[&self.cc[0], &self.cc[1]]),
            self.count[0],
            self.count[1],
            pair(self.goodput, 4),
            pair(self.p95, 3),
            bucket(self.buckets[0]),
            bucket(self.buckets[1]),
            self.misfit,
            self.seconds,
            self.why.replace(',', ";")
        )
    }

    /// Returns the error of a prediction, as a share of the truth.
    pub fn error(pair: [f64; 2]) -> f64 {
        (pair[1] / pair[0].max(1e-9) - 1.0).abs()
    }

    /// Predicts the case's question on the fitted path and measures it on the true path.
    pub(crate) fn predict(
        &mut self,
        case: &Case,
        scenario: &Scenario,
        model: &MadeFit,
        mut run: impl FnMut(&Scenario, u64) -> Result<[f64; 2], String>,
    ) -> Result<(), String> {
        let first = &scenario.flows[0];
        let (cc, count) = question(case, first);
        let changed = |path: &Scenario| other(path, cc, count, scenario.duration);
        let (truth, guess) = (run(&changed(scenario), SEEDS)?, predicted(&changed(&model.scenario), SEEDS));
        (self.goodput, self.p95) = ([truth[0], guess[0]], [truth[1], guess[1]]);
        (self.found, self.misfit, self.confidence) =
            (model.fit.limiter.clone(), model.fit.misfit, model.fit.confidence);
        // A fitted shaper with a negligible bucket counts as a link.
        if kind(&model.scenario) == "link" && self.found == "shaper" {
            self.found = "link".into();
        }
        let others = model.fit.other_kinds.iter().map(|k| match k.bucket_kb * 1e3 {
            bucket if k.limiter == "shaper" && bucket < MIN_BUCKET.get() as f64 => "link",
            _ => k.limiter.as_str(),
        });
        self.listed = std::iter::once(self.found.as_str()).chain(others).collect::<Vec<_>>().join("+");
        if self.kind == "policer" {
            let with_times = |path: &Scenario, times| {
                with_bucket(&other(path, first.cc, first.count, scenario.duration), times)
            };
            for (pair, times) in self.buckets.iter_mut().zip(BUCKETS) {
                *pair = [
                    run(&with_times(scenario, times), 1)?[0],
                    predicted(&with_times(&model.scenario, times), 1)[0],
                ];
            }
        }
        Ok(())
    }

    /// Whether the kind is that of the path. A link that was never full may be fitted without a limiter.
    pub fn is_kind_right(&self) -> bool {
        self.is_kind(&self.found)
    }

    /// Whether the path's kind is among those that the fit lists.
    pub fn is_kind_listed(&self) -> bool {
        self.listed.split('+').any(|k| self.is_kind(k))
    }

    fn is_kind(&self, found: &str) -> bool {
        self.kind == found || self.kind == "link" && found == "none"
    }
}

/// Draws case `number` of those with a path to fit.
pub fn case(set: u64, number: u64) -> Option<Case> {
    let case = draw::case(set, number);
    PATHS.contains(&case.intended).then_some(case)
}

/// Smallest bucket of a shaper that matters: a host sends ten packets at once anyway (RFC 6928).
const MIN_BUCKET: Bytes = Bytes::new(15_000);

/// Returns the kind of the stage `limiter`. A shaper with a negligible bucket counts as a link.
fn kind(scenario: &Scenario) -> String {
    let stages = scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
    let kind_of = |stage: &Stage| match stage {
        Stage::Shaper(shaper) if shaper.burst() < MIN_BUCKET => "link".to_string(),
        stage => stage.kind().to_string(),
    };
    stages.filter(|s| s.name == "limiter").map(|s| kind_of(&s.stage)).next().unwrap_or_default()
}

/// Returns the scenario with the limiting policer's bucket multiplied by `times`.
pub fn with_bucket(scenario: &Scenario, times: f64) -> Scenario {
    let mut s = scenario.clone();
    let stages = s.links.iter_mut().flat_map(|l| l.forward.iter_mut().chain(&mut l.backward));
    for stage in stages.filter(|s| s.name == "limiter") {
        if let Stage::Policer(policer) = &mut stage.stage {
            let now = policer.largest().unwrap_or_default().get() as f64;
            policer.burst = Some(Bytes::new((now * times).max(1600.0) as u64));
        }
    }
    s
}

/// Returns the scenario of a prediction: its first flow with this congestion control and this many
/// connections.
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

/// Returns the goodput of all flows, Mbit/s, and their 95th percentile of RTTs, ms (geometric mean, weighted
/// by packets).
pub fn figures(v: &VariantResult) -> [f64; 2] {
    let (mut log, mut weight) = (0.0, 0.0);
    for f in v.flows.iter().filter(|f| f.rtt_acks_ms.p95 > 0.0) {
        log += f.sent_packets as f64 * f.rtt_acks_ms.p95.ln();
        weight += f.sent_packets as f64;
    }
    [v.total_goodput_mbps, if weight > 0.0 { (log / weight).exp() } else { 0.0 }]
}

/// Returns the means of [`figures`] over this many seeds, with a thread for each.
pub fn predicted(s: &Scenario, seeds: u64) -> [f64; 2] {
    let run = |seed| {
        let options = sim::SimOptions { seed, host_jitter: true, ..Default::default() };
        figures(&sim::run("v", s, options).variant)
    };
    let all: Vec<[f64; 2]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=seeds).map(|seed| scope.spawn(move || run(seed))).collect();
        threads.into_iter().filter_map(|t| t.join().ok()).collect()
    });
    let mean = |i: usize| all.iter().map(|f| f[i]).sum::<f64>() / all.len().max(1) as f64;
    [mean(0), mean(1)]
}

/// Fits an opened capture.
///
/// # Errors
/// States why there is no fit.
pub fn fitted(reader: CaptureReader) -> Result<MadeFit, String> {
    let (tracks, info) = read_tracks(reader);
    let facts = ::fit::facts(&tracks);
    let diagnosis = diagnosis::diagnose_tracks(tracks, info);
    fitted_to(ObservedPath::of(&diagnosis, &facts))
}

/// Fits an observed path.
///
/// # Errors
/// States why there is no fit.
pub fn fitted_to(observed: Result<ObservedPath, FitError>) -> Result<MadeFit, String> {
    let model = observed.and_then(|path| ::fit::fit(&path, &FitOptions::default(), None));
    model.map_err(|e| e.to_string())
}

/// Returns the question of a prediction: a congestion control that the capture does not have, and another
/// number of flows.
pub fn question(case: &Case, first: &scenario::Flow) -> (Control, u32) {
    let name = if first.cc.name().starts_with("bbr") { "cubic" } else { "bbr" };
    let count = if first.count > 1 { 1 } else { 2 + (case.number % 3) as u32 };
    (Control::named(name).unwrap_or_default(), count)
}

/// Plays a case, fits its capture, and predicts.
///
/// # Errors
/// Fails if the case cannot be played.
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
    let started = Instant::now();
    let model = fitted(reader);
    let seconds = started.elapsed().as_secs_f64();
    let mut row = FitRow { clock: "simulator", ..row_without_fit(case, &scenario, seconds) };
    match model {
        Ok(model) => {
            row.predict(case, &scenario, &model, |scenario, seeds| Ok(predicted(scenario, seeds)))?;
            if let Some(folder) = keep {
                let text = format!("{}\n{}", ::fit::text(&model.fit, 100), model.fit.scenario);
                std::fs::write(folder.join(format!("{}.fit", case.number)), text)
                    .map_err(|e| e.to_string())?;
            }
        }
        Err(why) => row.why = why,
    }
    Ok(row)
}

/// Returns the row of a case without its results.
pub fn row_without_fit(case: &Case, scenario: &Scenario, seconds: f64) -> FitRow {
    let first = &scenario.flows[0];
    let (cc, count) = question(case, first);
    FitRow {
        number: case.number,
        intended: case.intended.name(),
        vantage: case.vantage.name(),
        kind: kind(scenario),
        cc: [first.cc.name().to_string(), cc.name().to_string()],
        count: [first.count, count],
        seconds,
        ..FitRow::default()
    }
}

/// Returns the tables: all cases, by intended cause, by kind of prediction.
pub fn tables(rows: &[FitRow]) -> String {
    let mut out = String::from(
        "| captures | | no fit | limiter kind right | right kind listed | goodput error: median / p90 | p95 RTT error: median / p90 \
         | time to fit: median / longest |\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut line = |name: &str, pick: &dyn Fn(&FitRow) -> bool| {
        let all: Vec<&FitRow> = rows.iter().filter(|r| pick(r)).collect();
        let fit: Vec<&&FitRow> = all.iter().filter(|r| r.why.is_empty()).collect();
        if fit.is_empty() {
            return;
        }
        let values = |value: &dyn Fn(&FitRow) -> f64| fit.iter().map(|r| value(r)).collect::<Vec<f64>>();
        let goodput = values(&|r| FitRow::error(r.goodput));
        let p95 = values(&|r| FitRow::error(r.p95));
        let time = values(&|r| r.seconds);
        let seconds = |q| nearest_rank(&time, q).unwrap_or_default();
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} | {} | {} / {} | {} / {} | {:.1} s / {:.1} s |",
            all.len(),
            all.len() - fit.len(),
            Tally::count(fit.iter(), |r| r.is_kind_right()).percent(),
            Tally::count(fit.iter(), |r| r.is_kind_listed()).percent(),
            quantile(&goodput, 0.5),
            quantile(&goodput, 0.9),
            quantile(&p95, 0.5),
            quantile(&p95, 0.9),
            seconds(0.5),
            seconds(1.0),
        );
    };
    line("all", &|_| true);
    for cause in PATHS {
        line(cause.name(), &|r| r.intended == cause.name());
    }
    line("predicted BBR", &|r| r.cc[1] == "bbr");
    line("predicted CUBIC", &|r| r.cc[1] == "cubic");
    for vantage in ["sender", "middle", "receiver"] {
        line(&format!("captured at {vantage}"), &|r| r.vantage == vantage);
    }
    out + &buckets(rows) + &reliability(rows)
}

/// Returns the table of predictions for other buckets.
fn buckets(rows: &[FitRow]) -> String {
    let mut out = String::from(
        "\n| bucket | captures | goodput error: median / p90 | where the fit is a policer |\n|---|---:|---:|---:|\n",
    );
    for (i, times) in BUCKETS.iter().enumerate() {
        let errors = |pick: &dyn Fn(&FitRow) -> bool| {
            let predicted = rows.iter().filter(|r| r.buckets[i][0] > 0.0 && pick(r));
            predicted.map(|r| FitRow::error(r.buckets[i])).collect::<Vec<f64>>()
        };
        let (all, found) = (errors(&|_| true), errors(&FitRow::is_kind_right));
        let _ = writeln!(
            out,
            "| x {times} | {} | {} / {} | {} / {} ({}) |",
            all.len(),
            quantile(&all, 0.5),
            quantile(&all, 0.9),
            quantile(&found, 0.5),
            quantile(&found, 0.9),
            found.len()
        );
    }
    out
}

/// Returns the table of the kind's probability and the share of right kinds.
fn reliability(rows: &[FitRow]) -> String {
    let verdicts: Vec<(f64, bool)> =
        rows.iter().filter(|r| r.why.is_empty()).map(|r| (r.confidence, r.is_kind_right())).collect();
    format!("\n{}", score::reliability(&verdicts))
}
