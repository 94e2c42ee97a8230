//! Cures that a sender can apply alone: what to try, what a fitted simulation predicts of it, and the
//! measurement.

use super::capture::{Captured, test_flow};
use super::model::{Cure, LimiterFound, Measurement, START_SHARE, StreamTest, TestVerdict};
use ::measure::client::StreamOptions;
use capture::{CaptureReader, PacketFilter};
use congestion::Control;
use experiment::BatchRunner;
use fit::FitOptions;
use result::Cause;
use result::diagnosis::SURE;
use scenario::Scenario;
use std::fs;
use std::io::Cursor;
use std::net::SocketAddr;
use transport::App;
use units::{Rate, Span};

/// Share of the limit's payload rate at which a sender is paced: room for acknowledgements and what is sent
/// again.
const PACED_SHARE: f64 = 0.97;
/// Gain of goodput from which on a cure helps.
const MIN_GAIN: f64 = 1.1;
/// Most cures that are measured.
pub const MAX_CURES: usize = 3;
/// Share of the best goodput from which on cures count as equally fast.
const ALIKE_SHARE: f64 = 0.95;
/// Share of the rate that counts as all of it, and the added delay that counts as none, ms.
const ENOUGH_SHARE: f64 = 0.9;
const MAX_ADDED_MS: f64 = 30.0;
/// Gain of several connections over one that shows a limit of the single connection.
const SEVERAL_GAIN: f64 = 1.25;
/// Congestion controls that are tried, in this order, if this host has them.
const CONTROLS: [&str; 2] = ["bbr", "cubic"];
/// Runs of each predicted scenario, and what the fit may simulate.
const SEEDS: u32 = 3;
const FIT_PACKETS: u64 = 1_200_000;
const FIT_SECONDS: f64 = 5.0;
/// Maximum error of the fitted upload, as a share, with which cures are predicted.
const MAX_MISFIT: f64 = 0.3;
/// Maximum predicted goodput, as a multiple of what a measured limit leaves to TCP; data that arrived before
/// the measured interval and waited for what was lost counts in it.
const OVERSHOOT: f64 = 1.15;
/// Duration of a predicted run.
const RUN: Span = Span::from_secs(8);

/// A fault of an upload or download.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Too little goodput: what there is and what there could be, Mbit/s.
    Slow { is: f64, could_be: f64 },
    /// Enough goodput, but a queue delays everything: the added delay, ms.
    Delayed { added_ms: f64 },
}

/// A cure to be tried.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub title: String,
    pub how: String,
    pub options: StreamOptions,
}

/// Returns what is wrong with a direction; `None` where nothing is, or too little is known.
pub fn fault(m: &Measurement, up: bool) -> Option<Fault> {
    let (one, several) = if up { ("up", "up-4") } else { ("down", "down-4") };
    let test = m.test(one)?;
    let (is, could_be) = (test.goodput_mbps, m.capacity_mbps(up)?);
    let verdict = if up { &m.verdict_up } else { &m.verdict_down };
    let is_lossy =
        |v: &TestVerdict| matches!(v.cause, Cause::Policed | Cause::RandomLoss) && v.confidence >= SURE;
    if m.limit_mbps(up).is_none() && verdict.as_ref().is_some_and(is_lossy) {
        return Some(Fault::Slow { is, could_be });
    }
    let enough = if m.limit_mbps(up).is_some() { ENOUGH_SHARE } else { 1.0 / SEVERAL_GAIN };
    if is < enough * could_be {
        return Some(Fault::Slow { is, could_be });
    }
    let idle = m.idle.as_ref()?.rtt_p50_ms;
    let loaded =
        [one, several].into_iter().filter_map(|name| Some(m.test(name)?.loaded.as_ref()?.rtt_p50_ms));
    let added_ms = loaded.fold(0.0, f64::max) - idle;
    (added_ms > MAX_ADDED_MS.max(idle / 2.0)).then_some(Fault::Delayed { added_ms })
}

/// Returns the cures to try on the upload, the most promising first.
pub fn candidates(m: &Measurement, fault: Fault, own: &str) -> Vec<Candidate> {
    let mut all = Vec::new();
    if let (Some(_), Some(capacity)) = (m.limit_mbps(true), m.capacity_mbps(true)) {
        let rate = PACED_SHARE * capacity;
        let bytes = (rate * 1e6 / 8.0) as u64;
        // What exceeds the limit is dropped, or delays everything.
        if loses(m) || matches!(fault, Fault::Delayed { .. }) {
            all.push(Candidate {
                title: format!("paced at {} Mbit/s", print::three_digits(rate)),
                how: format!("setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, {bytes} bytes/s); with sch_fq: tc qdisc replace dev DEV root fq maxrate {}bit", bytes * 8),
                options: StreamOptions { pacing: Some(bytes * 8), ..StreamOptions::default() },
            });
        }
    }
    // Neither a window nor a buffer depends on the congestion control, and of those only BBR avoids a queue.
    let helps = |name: &String| match fault {
        Fault::Slow { .. } => !is_window_limited(m),
        Fault::Delayed { .. } => name == "bbr",
    };
    for control in available_controls().into_iter().filter(|name| name != own && helps(name)) {
        all.push(Candidate {
            title: control.to_uppercase(),
            how: format!("sysctl -w net.ipv4.tcp_congestion_control={control}, or setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"{control}\")"),
            options: StreamOptions { control: Some(control), ..StreamOptions::default() },
        });
    }
    if matches!(fault, Fault::Slow { .. }) {
        all.push(Candidate {
            title: "4 connections".into(),
            how: "send over 4 connections in parallel".into(),
            options: StreamOptions { connections: 4, ..StreamOptions::default() },
        });
    }
    all.truncate(MAX_CURES);
    all
}

/// Whether the receiver's window or the send buffer holds the upload back most of its time.
fn is_window_limited(m: &Measurement) -> bool {
    let share = |share: Option<f64>| share.unwrap_or_default();
    m.test("up").is_some_and(|t| share(t.window_limited_share) + share(t.buffer_limited_share) > 0.5)
}

/// Whether the limit drops packets of the upload.
fn loses(m: &Measurement) -> bool {
    let is_policed = m.limiter_up.as_ref().is_some_and(|l| l.kind == LimiterFound::Policer);
    is_policed || m.test("up").is_some_and(|t| t.retransmitted_share > 0.005)
}

/// Returns the congestion controls to try that every program of this host may select.
fn available_controls() -> Vec<String> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/tcp_{name}")).unwrap_or_default();
    // CAP_NET_ADMIN may select any that is loaded; the kernel refuses others, and the cure is skipped.
    let listed = format!("{} {}", read("allowed_congestion_control"), read("available_congestion_control"));
    let has = |name: &&str| listed.split_whitespace().any(|word| word == *name);
    CONTROLS.into_iter().filter(has).map(str::to_string).collect()
}

/// Sorts cures, the best first: for more goodput by goodput, and where that differs little by
/// retransmissions; against delay by the delay under load, those first that keep the goodput.
pub fn rank(cures: &mut [Cure], fault: Fault, up_mbps: f64) {
    if let Fault::Delayed { .. } = fault {
        let loaded = |c: &Cure| c.test.loaded.as_ref().map_or(f64::INFINITY, |l| l.rtt_p50_ms);
        let costs = |c: &Cure| c.test.goodput_mbps < ENOUGH_SHARE * up_mbps;
        return cures.sort_by(|a, b| costs(a).cmp(&costs(b)).then(loaded(a).total_cmp(&loaded(b))));
    }
    cures.sort_by(|a, b| b.test.goodput_mbps.total_cmp(&a.test.goodput_mbps));
    let Some(most) = cures.first().map(|c| c.test.goodput_mbps) else { return };
    let alike = cures.iter().take_while(|c| c.test.goodput_mbps >= ALIKE_SHARE * most).count();
    cures[..alike].sort_by(|a, b| a.test.retransmitted_share.total_cmp(&b.test.retransmitted_share));
}

/// Whether a cure helps: it gains goodput, or it halves the added delay at hardly less goodput.
pub fn helps(cure: &Cure, m: &Measurement) -> bool {
    let (Some(up), Some(fault)) = (m.test("up"), fault(m, true)) else { return false };
    match fault {
        Fault::Slow { is, .. } => cure.test.goodput_mbps >= MIN_GAIN * is,
        Fault::Delayed { added_ms } => {
            let left = added_by(cure, m).unwrap_or(f64::INFINITY);
            left < added_ms / 2.0 && cure.test.goodput_mbps >= ENOUGH_SHARE * up.goodput_mbps
        }
    }
}

/// The delay that a cure's own load adds to the median round trip, ms.
pub fn added_by(cure: &Cure, m: &Measurement) -> Option<f64> {
    Some((cure.test.loaded.as_ref()?.rtt_p50_ms - m.idle.as_ref()?.rtt_p50_ms).max(0.0))
}

/// Predictions of a simulation that was fitted to the captured upload.
pub struct Predictions {
    /// Goodput of the upload as it is, Mbit/s.
    pub as_is: f64,
    /// Goodput with each candidate, Mbit/s.
    pub cures: Vec<f64>,
}

/// Fits a scenario to the captured upload and predicts the goodput with each candidate. `capacity_mbps` is
/// what a limit that was measured otherwise leaves to TCP.
///
/// # Errors
/// Fails with the reason why there is no prediction.
pub fn predict(
    captured: &Captured,
    server: SocketAddr,
    test: &StreamTest,
    capacity_mbps: Option<f64>,
    all: &[Candidate],
) -> Result<Predictions, String> {
    if captured.pcap.is_empty() {
        return Err("the capture is too large to keep".into());
    }
    // Of the connections to the server only that of the test.
    let flow = test_flow(captured, server, true).ok_or("the capture lacks the upload")?;
    let port = flow.from.rsplit(':').next().and_then(|port| port.parse().ok());
    let only = PacketFilter { ports: port.into_iter().collect(), ..PacketFilter::default() };
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(captured.pcap.clone())), "upload");
    let reader = reader.map_err(|e| e.to_string())?;
    let seen = crate::fit::captured(reader, only, &mut |_, _| ());
    let options = FitOptions { packets: FIT_PACKETS, seconds: FIT_SECONDS, ..FitOptions::default() };
    let made = seen.and_then(|seen| fit::fit(&seen, &options, None)).map_err(|e| e.to_string())?;
    let with = |options: &StreamOptions| -> Option<Scenario> {
        let mut scenario = made.scenario.clone();
        // As the tests: without the begin, in which connections start.
        scenario.duration = RUN;
        scenario.sample = Span::from_millis(100);
        scenario.measure = Some([Span::from_nanos(RUN.as_nanos() / START_SHARE), RUN]);
        let changed = scenario.flows.first_mut()?;
        // The fitted flow ends with its capture.
        changed.app = App::Bulk { duration: None, bytes: None };
        changed.count = options.connections.max(1);
        changed.max_pacing_rate = options.pacing.map(Rate::from_bps);
        // The kernel says which congestion control it was; the capture only suggests it.
        changed.cc = Control::named(options.control.as_deref().unwrap_or(&test.control))?;
        Some(scenario)
    };
    let scenarios: Option<Vec<Scenario>> =
        std::iter::once(&StreamOptions::default()).chain(all.iter().map(|c| &c.options)).map(with).collect();
    let scenarios = scenarios.ok_or_else(|| format!("the simulator has no {}", test.control))?;
    let runs = BatchRunner::new(None, None).run(scenarios, SEEDS).map_err(|e| format!("{e:?}"))?;
    let mean = |results: &Vec<result::VariantResult>| {
        results.iter().map(|r| r.total_goodput_mbps).sum::<f64>() / results.len().max(1) as f64
    };
    let mut goodputs = runs.iter().map(mean);
    let as_is = goodputs.next().ok_or("nothing was simulated")?;
    if (as_is / test.goodput_mbps - 1.0).abs() > MAX_MISFIT {
        let [predicted, measured] = [as_is, test.goodput_mbps].map(print::three_digits);
        return Err(format!("the fitted scenario carries {predicted} Mbit/s where {measured} were measured"));
    }
    let cures: Vec<f64> = goodputs.collect();
    if let Some(too_much) =
        cures.iter().find(|mbps| capacity_mbps.is_some_and(|most| **mbps > OVERSHOOT * most))
    {
        let mbps = print::three_digits(*too_much);
        return Err(format!(
            "the fitted scenario lacks the limit that was measured: it carries {mbps} Mbit/s"
        ));
    }
    Ok(Predictions { as_is, cures })
}
