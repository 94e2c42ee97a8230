//! Operating points of a path: goodput and round-trip time of one flow whose window is fixed at
//! fractions and multiples of the bandwidth-delay product (BDP).
//!
//! Below the BDP, the round-trip time is the path's minimum and the rate grows with the window. Between the
//! BDP and a full queue, the rate is the path's and the round-trip time grows. Beyond that, packets are lost.
//! Kleinrock's optimal point maximises the power, rate divided by round-trip time (Kleinrock 1979): full rate
//! at minimum round-trip time, with one BDP in flight.
//!
//! The receive window limits what is in flight, so the flow's congestion control matters only where packets
//! are lost. The BDP is measured: the largest rate over a series of doubling windows, times the minimum
//! round-trip time.

use experiment::{BatchRunner, Unfinished};
use report::plot::{Drawing, Look, XyMark, XyPlot, XySeries, xy};
use report::{Style, Table, TableCell, TableColumn};
use result::{FlowResult, VariantResult};
use scenario::{Experiment, Scenario};
use serde::Serialize;
use std::fmt::Write;
use transport::App;
use units::{Bytes, Span};

/// Number of doubling windows: from two segments, which no delayed ACK holds back, to 759 MB, near the limit
/// of window scaling (RFC 7323: 1 GiB).
const DOUBLED_WINDOWS: u32 = 19;
/// Bytes of a full segment.
const SEGMENT_BYTES: u64 = 1448;
/// Windows that are measured, in units of the BDP.
const WINDOWS_IN_BDPS: [f64; 14] =
    [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0];

/// Samples per run, from which the rate over an interval is computed.
const SAMPLES_PER_RUN: u64 = 200;

/// Name and version of the JSON's schema.
pub const OPERATING_SCHEMA: &str = "longfat-operating-point/1";

/// The operating points of a scenario's variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatingCurves {
    /// Name and version of the schema: `longfat-operating-point/1`.
    pub schema: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// A curve for each variant that has a TCP flow.
    pub variants: Vec<OperatingCurve>,
}

/// The operating points of a variant's flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperatingCurve {
    /// The variant's name.
    pub variant: String,
    /// The flow's name. One connection of it runs alone and without end.
    pub flow: String,
    /// The flow's congestion control.
    pub cc: String,
    /// The largest goodput of any window, in Mbit/s.
    pub most_mbps: f64,
    /// The minimum round-trip time, in ms.
    pub least_rtt_ms: f64,
    /// Product of the two above, in bytes of payload.
    pub bdp_bytes: u64,
    /// The points, by window.
    pub points: Vec<OperatingPoint>,
    /// Index of the point with the largest power: Kleinrock's point.
    pub kleinrock: usize,
}

/// A window and its measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OperatingPoint {
    /// Window in bytes.
    pub window_bytes: u64,
    /// Window in units of the BDP.
    pub bdps: f64,
    /// Goodput in Mbit/s.
    pub rate_mbps: f64,
    /// Mean round-trip time in ms.
    pub rtt_ms: f64,
    /// Mean bytes in flight: rate times round-trip time (Little's law). Smaller than the window where
    /// packets are lost.
    pub inflight_bytes: f64,
    /// Share of the data packets that were retransmissions, 0 to 1.
    pub sent_again: f64,
}

impl OperatingPoint {
    /// Returns rate divided by round-trip time, in units of the largest rate and the minimum round-trip time:
    /// at best 1.
    fn power(&self, most_mbps: f64, least_rtt_ms: f64) -> f64 {
        if self.rtt_ms > 0.0 { self.rate_mbps / most_mbps * least_rtt_ms / self.rtt_ms } else { 0.0 }
    }
}

/// Measures the first TCP flow of each variant, or the one called `flow`.
///
/// # Errors
/// Fails when no variant has such a flow, when a run fails, and when the watcher stops it.
pub fn operating_curves(
    experiment: &Experiment,
    flow: Option<&str>,
    runner: &mut BatchRunner<'_, '_>,
) -> Result<OperatingCurves, Unfinished> {
    let mut variants = Vec::new();
    for variant in &experiment.variants {
        let Some(alone) = alone(&variant.scenario, flow) else { continue };
        variants.push(curve(&variant.name, &alone, runner)?);
    }
    if variants.is_empty() {
        let which =
            flow.map_or_else(|| "a TCP flow".to_string(), |name| format!("a TCP flow called `{name}`"));
        return Err(Unfinished::Failed(format!("no variant has {which}")));
    }
    Ok(OperatingCurves { schema: OPERATING_SCHEMA, scenario: experiment.name.clone(), variants })
}

/// Returns the scenario with only one connection of this flow, which always has data to send.
fn alone(scenario: &Scenario, flow: Option<&str>) -> Option<Scenario> {
    let tcp = |f: &&scenario::Flow| !f.app.is_datagrams() && flow.is_none_or(|name| f.name == name);
    let mut one = scenario.flows.iter().find(tcp)?.clone();
    // A client receives more than it sends, so the flow is turned around to measure the direction of the
    // responses.
    if matches!(one.app, App::Request { .. } | App::Page { .. }) {
        (one.from, one.to) = (one.to, one.from);
        one.via.reverse();
    }
    one.app = App::Bulk { duration: None, bytes: None };
    (one.count, one.start, one.stagger, one.tool) = (1, Span::ZERO, Span::ZERO, None);
    // Rates are measured over the second half of the run, after slow start.
    let (end, half) = (scenario.duration, scenario.duration / 2);
    let measure = scenario.measure.or(Some([half, end]));
    let sample = (end / SAMPLES_PER_RUN).max(Span::from_nanos(1));
    Some(Scenario { flows: vec![one], measure, sample, one_at_a_time: false, ..scenario.clone() })
}

/// Returns the scenario with the receive window limited to `window` bytes.
fn with_window(scenario: &Scenario, window: u64) -> Scenario {
    let mut limited = scenario.clone();
    let to = limited.flows[0].to;
    limited.hosts[to].stack.receive_window = Some(Bytes::new(window));
    limited
}

fn curve(
    name: &str,
    scenario: &Scenario,
    runner: &mut BatchRunner<'_, '_>,
) -> Result<OperatingCurve, Unfinished> {
    let doubled = (0..DOUBLED_WINDOWS).map(|i| with_window(scenario, SEGMENT_BYTES << (i + 1))).collect();
    let doubled = flows(runner.run(doubled, 1)?);
    let most_mbps = doubled.iter().map(|f| f.goodput_mbps).fold(0.0, f64::max);
    let least_rtt_ms =
        doubled.iter().map(|f| f.rtt_ms.min).filter(|&ms| ms > 0.0).fold(f64::INFINITY, f64::min);
    if most_mbps <= 0.0 || !least_rtt_ms.is_finite() {
        return Err(Unfinished::Failed(format!("{name}: nothing arrives on this path")));
    }
    // Mbit/s × ms = kbit.
    let bdp = most_mbps * least_rtt_ms * 1000.0 / 8.0;
    let windows: Vec<u64> =
        WINDOWS_IN_BDPS.iter().map(|share| ((share * bdp) as u64).max(SEGMENT_BYTES)).collect();
    let measured = flows(runner.run(windows.iter().map(|&w| with_window(scenario, w)).collect(), 1)?);
    let point = |(&window_bytes, f): (&u64, &FlowResult)| OperatingPoint {
        window_bytes,
        bdps: window_bytes as f64 / bdp,
        rate_mbps: f.goodput_mbps,
        rtt_ms: f.rtt_ms.mean,
        inflight_bytes: f.goodput_mbps * f.rtt_ms.mean * 1000.0 / 8.0,
        sent_again: f.retransmitted_packets as f64 / f.sent_packets.max(1) as f64,
    };
    let points: Vec<OperatingPoint> = windows.iter().zip(&measured).map(point).collect();
    let power = |i: &usize| points[*i].power(most_mbps, least_rtt_ms);
    let kleinrock = (0..points.len()).max_by(|a, b| power(a).total_cmp(&power(b))).unwrap_or(0);
    let (flow, cc) =
        (scenario.flows[0].name.clone(), measured.first().map_or_else(String::new, |f| f.cc.clone()));
    let bdp_bytes = bdp as u64;
    Ok(OperatingCurve {
        variant: name.into(),
        flow,
        cc,
        most_mbps,
        least_rtt_ms,
        bdp_bytes,
        points,
        kleinrock,
    })
}

/// Returns the single flow of each scenario.
fn flows(results: Vec<Vec<VariantResult>>) -> Vec<FlowResult> {
    results.into_iter().flatten().filter_map(|v| v.flows.into_iter().next()).collect()
}

/// Formats the curves as tables.
pub fn operating_text(curves: &OperatingCurves) -> String {
    let three = print::three_digits;
    let mut text = String::new();
    for c in &curves.variants {
        let _ = writeln!(
            text,
            "{}: {} ({}) alone, with a fixed window; at most {} Mbit/s, at least {} ms, BDP {} kB",
            c.variant,
            c.flow,
            c.cc,
            three(c.most_mbps),
            three(c.least_rtt_ms),
            three(c.bdp_bytes as f64 / 1000.0)
        );
        let numbers = TableColumn::numbers;
        let mut table = Table::of(vec![
            numbers("window", "kB"),
            numbers("BDP", ""),
            numbers("rate", "Mbit/s"),
            numbers("RTT", "ms"),
            numbers("resent", "%"),
            numbers("power", ""),
            TableColumn::names(""),
        ]);
        for (i, p) in c.points.iter().enumerate() {
            let mark = if i == c.kleinrock { "Kleinrock's point" } else { "" };
            let cells = [
                three(p.window_bytes as f64 / 1000.0),
                three(p.bdps),
                three(p.rate_mbps),
                three(p.rtt_ms),
                format!("{:.2}", p.sent_again * 100.0),
                format!("{:.2}", p.power(c.most_mbps, c.least_rtt_ms)),
                mark.into(),
            ];
            table.row(cells.map(TableCell::from));
        }
        text += &table.text(Style::default());
        text.push('\n');
    }
    text
}

/// Draws each variant's curve as SVG. Returns pairs of the variant's name and the SVG.
pub fn operating_plots(curves: &OperatingCurves) -> Vec<(String, String)> {
    curves.variants.iter().filter_map(|c| Some((c.variant.clone(), c.plot()?.svg()))).collect()
}

impl OperatingCurve {
    /// Draws rate and round-trip time over the window, with Kleinrock's point on both.
    fn plot(&self) -> Option<Drawing> {
        let rate = |p: &OperatingPoint| (p.bdps, p.rate_mbps);
        let rtt = |p: &OperatingPoint| (p.bdps, p.rtt_ms);
        let best = &self.points.get(self.kleinrock)?;
        let on_right = |series: XySeries| XySeries { on_right: true, ..series };
        let new = XySeries::new;
        let series = [
            XySeries::line("goodput", self.points.iter().map(rate).collect()),
            on_right(new(XyMark::Dashed, Some(1), "RTT", self.points.iter().map(rtt).collect())),
            new(XyMark::Cross, None, "Kleinrock's point", vec![rate(best)]),
            on_right(new(XyMark::Cross, None, "", vec![rtt(best)])),
        ];
        let plot = XyPlot {
            title: &format!("Operating points — {}", self.variant),
            x: "window, in bandwidth-delay products",
            y: "goodput (Mbit/s)",
            right: "RTT (ms)",
            series: &series,
        };
        xy(&plot, &Look::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(stage: &str, more: &str) -> OperatingCurve {
        let text = format!(
            "duration = \"10s\"\n[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{stage}, {{ kind = \"delay\", delay = \
             \"20ms\" }}]\nbackward = [{{ kind = \"delay\", delay = \"20ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\ncount = \
             3\n{more}"
        );
        let experiment = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
        let mut runner = BatchRunner::new(None, None);
        operating_curves(&experiment, None, &mut runner).unwrap().variants.remove(0)
    }

    /// A link of 10 Mbit/s and 40 ms with a queue of three BDPs, computed by hand: goodput 10 × 1448 / 1500 =
    /// 9.65 Mbit/s. A window of two segments is acknowledged when the second segment has arrived, 2 × 1.2 ms
    /// after the path's 40 ms. The BDP is 51 kB.
    #[test]
    fn the_rtt_of_a_link_grows_with_its_queue() {
        let c = curves(
            "{ kind = \"link\", rate = \"10Mbit/s\", queue = { kind = \"fifo\", packets = 100 } }",
            "",
        );
        assert!((c.most_mbps - 9.65).abs() < 0.05, "{c:?}");
        assert!((c.least_rtt_ms - 42.4).abs() < 0.1, "{c:?}");
        let best = &c.points[c.kleinrock];
        assert!((0.85..=1.3).contains(&best.bdps), "{best:?}");
        for p in &c.points {
            let share = p.bdps.min(1.0);
            assert!((p.rate_mbps / c.most_mbps - share).abs() < 0.15, "{p:?}");
            assert!(p.bdps > 3.2 || p.sent_again == 0.0, "{p:?}");
        }
        // The round-trip time grows with the queue: at three BDPs, two of them are queued.
        let three = c.points.iter().find(|p| p.bdps > 2.9).unwrap();
        assert!((three.rtt_ms / c.least_rtt_ms - 3.0).abs() < 0.25, "{three:?}");
    }

    /// A policer has no queue: the round-trip time stays constant, and packets above the BDP are lost.
    #[test]
    fn a_policer_loses_packets_but_adds_no_delay() {
        let c = curves("{ kind = \"policer\", rate = \"10Mbit/s\", burst = \"15kB\" }", "");
        let last = c.points.last().unwrap();
        assert!(last.rtt_ms < 1.3 * c.least_rtt_ms && last.sent_again > 0.0, "{last:?}");
    }

    #[test]
    fn an_unknown_flow_is_refused() {
        let text = "[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{ kind = \"delay\", delay = \"1ms\" }]\n[flows.f]\nfrom = \
                    \"a\"\nto = \"b\"\n";
        let experiment = Experiment::parse("t.toml", text, &[]).unwrap_or_else(|e| panic!("{}", e.render()));
        let none = operating_curves(&experiment, Some("g"), &mut BatchRunner::new(None, None));
        assert_eq!(none, Err(Unfinished::Failed("no variant has a TCP flow called `g`".into())));
    }
}
