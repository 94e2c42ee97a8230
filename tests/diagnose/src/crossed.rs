//! Fits of links with and without intermittent unresponsive cross traffic, from the capture of one flow.
//!
//! The score is how much of the cross traffic the fit finds, and how well it predicts another congestion
//! control next to it.

use crate::fit::fitted;
use crate::{Case, PcapSink, Vantage, play};
use capture::CaptureReader;
use congestion::Control;
use result::Cause;
use scenario::Scenario;
use std::fmt::Write as _;
use std::io::Cursor;
use units::Stream;

/// One in this many cases has no cross traffic.
const NO_CROSS_TRAFFIC_EVERY: u64 = 4;
/// Seeds of a prediction.
const SEEDS: u64 = 3;
/// Steps at which two rates over time are compared.
const STEPS: usize = 200;

/// Spans of cross traffic: start and end in seconds, rate in bit/s.
type Spans = Vec<(f64, f64, f64)>;

/// The result of a case.
#[derive(Clone, Debug, Default)]
pub struct CrossRow {
    pub number: u64,
    /// The link's rate, Mbit/s.
    pub rate_mbps: f64,
    /// Mean rate of the cross traffic, as a share of the link's.
    pub cross: f64,
    /// Mean rate of the fitted cross traffic, as a share of the link's.
    pub found: f64,
    /// Mean absolute difference of the two rates over time, as a share of the link's.
    pub difference: f64,
    /// Goodput of truth and fit with the other congestion control, Mbit/s.
    pub goodput: [f64; 2],
    /// Why there is no fit.
    pub why: String,
}

impl CrossRow {
    /// Header of the table.
    pub const HEAD: &'static str =
        "case,rate_mbps,others,found,apart,goodput_mbps,predicted_goodput_mbps,why\n";

    /// Returns the row of the table.
    pub fn line(&self) -> String {
        let [truth, guess] = self.goodput;
        format!(
            "{},{:.3},{:.3},{:.3},{:.3},{truth:.3},{guess:.3},{}\n",
            self.number, self.rate_mbps, self.cross, self.found, self.difference, self.why
        )
    }
}

/// Draws a link and its cross traffic.
fn draw(master: u64, number: u64) -> (Case, Spans) {
    let mut draw = Stream::new(master, &format!("crossed {number}"));
    let mut scale = |low: f64, high: f64| low * (high / low).powf(draw.unit());
    let (rate, rtt, queue) = (scale(2e6, 1e8), scale(0.01, 0.1), scale(1.0, 4.0));
    let seconds = 16.0;
    let packets = (rate * rtt / 8.0 * queue / 1500.0).max(30.0) as u64;
    let mut spans = Spans::new();
    let mut at = 1.5 + 3.0 * draw.unit();
    while at < seconds - 1.0 && !number.is_multiple_of(NO_CROSS_TRAFFIC_EVERY) {
        let lasts = 1.0 + 4.0 * draw.unit();
        spans.push((at, (at + lasts).min(seconds), rate * (0.2 + 0.5 * draw.unit())));
        at += lasts + 1.0 + 3.0 * draw.unit();
    }
    let cc = ["cubic", "cubic", "bbr"][draw.below(3) as usize];
    let mut text = format!(
        "name = \"crossed\"\nduration = \"{seconds}s\"\n[hosts.a]\nstack = {{ profile = \"linux\", send_buffer = \"20MB\" }}\n\
         [hosts.b]\nstack = {{ profile = \"linux\", receive_buffer = \"40MB\" }}\n[links.l]\nbetween = [\"a\", \"b\"]\n\
         forward = [{{ kind = \"link\", name = \"limiter\", rate = \"{}bit/s\", queue = {{ kind = \"fifo\", packets = {packets} }} }}, \
         {{ kind = \"delay\", delay = \"{}us\" }}]\nbackward = [{{ kind = \"delay\", delay = \"{}us\" }}]\n\
         [flows.f]\nfrom = \"a\"\nto = \"b\"\ncc = \"{cc}\"\n",
        rate as u64,
        (rtt * 5e5) as u64,
        (rtt * 5e5) as u64
    );
    for (i, (from, to, rate)) in spans.iter().enumerate() {
        let _ = write!(
            text,
            "[flows.o{i}]\nfrom = \"a\"\nto = \"b\"\nstart = \"{}us\"\napp = {{ kind = \"udp\", rate = \"{}bit/s\", arrival = \"poisson\", duration = \"{}us\" }}\n",
            (from * 1e6) as u64,
            *rate as u64,
            ((to - from) * 1e6) as u64
        );
    }
    let case = Case {
        number,
        seed: draw.bits() >> 1,
        intended: Cause::Bottleneck,
        vantage: [Vantage::Sender, Vantage::Middle][draw.below(2) as usize],
        offload: false,
        rate,
        rtt,
        text,
        outages: Vec::new(),
    };
    (case, spans)
}

/// Returns the rate at a time.
fn at(spans: &Spans, t: f64) -> f64 {
    spans.iter().filter(|s| t >= s.0 && t < s.1).map(|s| s.2).sum()
}

/// Returns the goodput of the first flow with this congestion control and unchanged cross traffic.
fn goodput(scenario: &Scenario, cc: Control) -> f64 {
    let mut s = scenario.clone();
    s.flows[0].cc = cc;
    let run = |seed| {
        let options = sim::SimOptions { seed, host_jitter: true, ..Default::default() };
        let mut variant = sim::run("v", &s, options).variant;
        variant.flows.truncate(1);
        variant.flows[0].own_goodput_mbps()
    };
    (1..=SEEDS).map(run).sum::<f64>() / SEEDS as f64
}

/// Plays a case, fits the capture of its TCP flow alone, and predicts.
///
/// # Errors
/// Fails if the case cannot be played.
pub fn judge_cross(master: u64, number: u64) -> Result<CrossRow, String> {
    let (case, spans) = draw(master, number);
    let mut file = Vec::new();
    let mut sink = PcapSink::new(&mut file).map_err(|e| e.to_string())?;
    play(&case, &mut sink)?;
    sink.finish().map_err(|e| e.to_string())?;
    let scenario = play::variant(&case)?.scenario;
    let seconds = scenario.duration.as_secs_f64();
    let mut row = CrossRow { number, rate_mbps: case.rate / 1e6, ..CrossRow::default() };
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").map_err(|e| e.to_string())?;
    let model = match fitted(reader) {
        Ok(model) => model,
        Err(why) => return Ok(CrossRow { why, ..row }),
    };
    let found: Spans = model.path.cross.iter().map(|c| (c.from, c.to, c.rate)).collect();
    for i in 0..STEPS {
        let t = (i as f64 + 0.5) / STEPS as f64 * seconds;
        let (a, b) = (at(&spans, t) / case.rate, at(&found, t) / case.rate);
        row.cross += a / STEPS as f64;
        row.found += b / STEPS as f64;
        row.difference += (a - b).abs() / STEPS as f64;
    }
    let other = if scenario.flows[0].cc.name() == "bbr" { "cubic" } else { "bbr" };
    let other = Control::named(other).unwrap_or_default();
    row.goodput = [goodput(&scenario, other), goodput(&model.scenario, other)];
    Ok(row)
}

/// Returns the table of all cases.
pub fn cross_table(rows: &[CrossRow]) -> String {
    use crate::score::{Tally, quantile};
    let fit: Vec<&CrossRow> = rows.iter().filter(|r| r.why.is_empty()).collect();
    let mut out = String::from(
        "| link | captures | cross traffic found | error of its rate, share of the link: median / p90 | goodput error: median / p90 |\n\
         |---|---:|---:|---:|---:|\n",
    );
    for (name, with) in [("with cross traffic", true), ("without", false)] {
        let group: Vec<&&CrossRow> = fit.iter().filter(|r| (r.cross > 0.0) == with).collect();
        let rate: Vec<f64> = group.iter().map(|r| r.difference).collect();
        let goodput: Vec<f64> = group.iter().map(|r| r.goodput[1] / r.goodput[0].max(1e-9) - 1.0).collect();
        let _ = writeln!(
            out,
            "| {name} | {} | {} | {} / {} | {} / {} |",
            group.len(),
            Tally::count(group.iter(), |r| r.found > 0.0).percent(),
            quantile(&rate, 0.5),
            quantile(&rate, 0.9),
            quantile(&goodput, 0.5),
            quantile(&goodput, 0.9)
        );
    }
    out
}
