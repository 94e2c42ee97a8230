//! Cures that a sender can apply alone: what to try, and what a simulation that was fitted to the captured
//! upload predicts of it.

use super::capture::{Captured, test_flow};
use super::fault::Fault;
use super::model::{Direction, Limiter, LimiterFound, MeasuredPath, Measurement, StreamTest, cure_name};
use super::stream_test::START_SHARE;
use crate::provenance::proc_sys;
use ::measure::client::StreamOptions;
use capture::{CaptureReader, PacketFilter};
use congestion::Control;
use experiment::BatchRunner;
use fit::FitOptions;
use path::link::Link;
use path::policer::Policer;
use path::queue::fifo::Fifo;
use path::shaper::Shaper;
use path::{QueueConfig, Stage};
use report::Lang;
use result::{Change, sender};
use scenario::Scenario;
use std::io::Cursor;
use std::net::SocketAddr;
use transport::App;
use units::{Bytes, Rate, Span};

/// Share of the limit's payload rate at which a sender is paced: room for acknowledgements and
/// retransmissions.
const PACED_SHARE: f64 = 0.97;
/// Maximum number of cures that are measured.
pub const MAX_CURES: usize = 3;
/// Connections of the cure that uses several.
const CONNECTIONS: u32 = 4;
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
/// Factor of a faster link, and the gain of a cure on it from which on the cure's goodput depends on the
/// link.
const FASTER: u64 = 3;
const MAX_LINK_GAIN: f64 = 1.1;
/// Duration of a predicted run.
const RUN: Span = Span::from_secs(8);
/// The host that cures are applied to, in their commands, and its peer.
const HERE: &str = "this host";
const THERE: &str = "the far end";

/// A cure to be tried.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The change with its commands.
    pub change: Change,
    /// The test that applies it to its own connections.
    pub options: StreamOptions,
}

impl Candidate {
    /// The name in tables.
    pub fn name(&self) -> String {
        cure_name(&self.change)
    }
}

/// Returns the cures to try on the upload, the most promising first. `own` is the congestion control of the
/// upload as it is.
pub fn candidates(m: &Measurement, fault: Fault, own: &str) -> Vec<Candidate> {
    let mut all = Vec::new();
    // Nothing else helps where no full segment arrives.
    if let Some(MeasuredPath { black_hole: true, mtu: Some(mtu), .. }) = m.up.path {
        let v6 = m.client.contains(':');
        let mss = mtu.saturating_sub(if v6 { 60 } else { 40 });
        let options = StreamOptions { mss: Some(mss), ..StreamOptions::default() };
        return vec![Candidate { change: sender::small_segments(HERE, THERE, mss, v6), options }];
    }
    if let (Some(_), Some(capacity)) = (m.limit_mbps(Direction::Up), m.capacity_mbps(Direction::Up)) {
        // What exceeds the limit is dropped, or delays everything.
        if loses(m) || matches!(fault, Fault::Delayed { .. }) {
            let bytes_per_s = (PACED_SHARE * capacity * 1e6 / 8.0) as u64;
            let rate = Rate::from_bps(8 * bytes_per_s);
            let commands = sender::pacing_cap_in_program(HERE, rate);
            let commands = commands.into_iter().chain([sender::pacing_cap_at_interface(HERE, rate)]);
            all.push(Candidate {
                change: sender::pacing_cap(Some(rate)).by(commands),
                options: StreamOptions { pacing: Some(rate.as_bps()), ..StreamOptions::default() },
            });
        }
    }
    // Neither a window nor a buffer depends on the congestion control, and of those only BBR avoids a queue.
    let helps = |name: &String| match fault {
        Fault::Slow { .. } => !is_window_limited(m),
        Fault::Delayed { .. } => name == "bbr",
    };
    let now = proc_sys("net.ipv4.tcp_congestion_control");
    for control in available_controls().into_iter().filter(|name| name != own && helps(name)) {
        let commands = sender::congestion_control_commands(HERE, &control, now.as_deref(), None);
        all.push(Candidate {
            change: sender::congestion_control(&control).by(commands),
            options: StreamOptions { control: Some(control), ..StreamOptions::default() },
        });
    }
    if matches!(fault, Fault::Slow { .. }) {
        all.push(Candidate {
            change: sender::more_connections(HERE, THERE, CONNECTIONS),
            options: StreamOptions { connections: CONNECTIONS, ..StreamOptions::default() },
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
    let is_policed = m.up.limiter.as_ref().is_some_and(|l| l.kind == LimiterFound::Policer);
    is_policed || m.test("up").is_some_and(|t| t.retransmitted_share > 0.005)
}

/// Returns the congestion controls to try that every program of this host may select.
fn available_controls() -> Vec<String> {
    let read = |name: &str| proc_sys(&format!("net.ipv4.tcp_{name}")).unwrap_or_default();
    // CAP_NET_ADMIN may select any that is loaded; the kernel refuses others, and the cure is skipped.
    let listed = format!("{} {}", read("allowed_congestion_control"), read("available_congestion_control"));
    let has = |name: &&str| listed.split_whitespace().any(|word| word == *name);
    CONTROLS.into_iter().filter(has).map(str::to_string).collect()
}

/// Predictions of a simulation that was fitted to the captured upload.
pub struct Predictions {
    /// Goodput of the upload as it is, Mbit/s.
    pub as_is: f64,
    /// Goodput with each candidate, Mbit/s; `None` where it depends on how much the path carries, which the
    /// capture does not show.
    pub cures: Vec<Option<f64>>,
}

/// Fits a scenario to the captured upload and predicts the goodput with each candidate. `limiter` is what the
/// trains found: it replaces the limit of the fitted scenario, which one connection shows less exactly, or
/// not at all. `capacity_mbps` is what a known limit leaves to TCP. The reason is in the given language.
///
/// # Errors
/// Fails with the reason why there is no prediction.
pub fn predict(
    captured: &Captured,
    server: SocketAddr,
    test: &StreamTest,
    limiter: Option<&Limiter>,
    capacity_mbps: Option<f64>,
    (all, lang): (&[Candidate], Lang),
) -> Result<Predictions, String> {
    if captured.pcap.is_empty() {
        return Err(say!(lang, "measure.prediction.too-large"));
    }
    // Of the connections to the server only that of the test.
    let flow = test_flow(captured, server, Direction::Up)
        .ok_or_else(|| say!(lang, "measure.prediction.no-upload"))?;
    let port = flow.from.rsplit(':').next().and_then(|port| port.parse().ok());
    let only = PacketFilter { ports: port.into_iter().collect(), ..PacketFilter::default() };
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(captured.pcap.clone())), "upload");
    let reader = reader.map_err(|e| e.to_string())?;
    let seen = crate::fit::captured(reader, only, &mut |_, _| ());
    let options = FitOptions { packets: FIT_PACKETS, seconds: FIT_SECONDS, ..FitOptions::default() };
    let made = seen.and_then(|seen| fit::fit(&seen, &options, None)).map_err(|e| e.to_string())?;
    let mut fitted = made.scenario.clone();
    let has_limit = limiter.is_some_and(|limiter| set_limiter(&mut fitted, limiter));
    let with = |options: &StreamOptions| -> Option<Scenario> {
        let mut scenario = fitted.clone();
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
    let candidates = || all.iter().map(|c| &c.options);
    let scenarios: Option<Vec<Scenario>> =
        std::iter::once(&StreamOptions::default()).chain(candidates()).map(with).collect();
    let mut scenarios =
        scenarios.ok_or_else(|| say!(lang, "measure.prediction.no-control", control = test.control))?;
    // Where the capture shows no limit, the fitted link is faster than the upload by a fixed factor. What
    // fills that link would fill a faster one too.
    if made.fit.limiter == "none" && !has_limit {
        let faster: Vec<Scenario> = scenarios[1..].iter().map(with_faster_link).collect();
        scenarios.extend(faster);
    }
    let runs = BatchRunner::new(None, None).run(scenarios, SEEDS).map_err(|e| format!("{e:?}"))?;
    let mean = |results: &Vec<result::VariantResult>| {
        results.iter().map(|r| r.total_goodput_mbps).sum::<f64>() / results.len().max(1) as f64
    };
    let mut goodputs = runs.iter().map(mean);
    let as_is = goodputs.next().ok_or_else(|| say!(lang, "measure.prediction.nothing"))?;
    if (as_is / test.goodput_mbps - 1.0).abs() > MAX_MISFIT {
        let [predicted, measured] = [as_is, test.goodput_mbps].map(print::three_digits);
        return Err(say!(lang, "measure.prediction.misfit", predicted = predicted, measured = measured));
    }
    let goodputs: Vec<f64> = goodputs.collect();
    let (cures, faster) = goodputs.split_at(all.len().min(goodputs.len()));
    if let Some(too_much) =
        cures.iter().find(|mbps| capacity_mbps.is_some_and(|most| **mbps > OVERSHOOT * most))
    {
        let mbps = print::three_digits(*too_much);
        return Err(say!(lang, "measure.prediction.no-limit", mbps = mbps));
    }
    let known = |(i, mbps): (usize, &f64)| {
        let depends = faster.get(i).is_some_and(|faster| faster / mbps > MAX_LINK_GAIN);
        Some(*mbps).filter(|_| !depends)
    };
    Ok(Predictions { as_is, cures: cures.iter().enumerate().map(known).collect() })
}

/// Puts the limit that the trains found in the place of the fitted scenario's. Returns whether there is one.
fn set_limiter(scenario: &mut Scenario, found: &Limiter) -> bool {
    let Some(rate) = found.limit_mbps().map(|mbps| Rate::from_bps((1e6 * mbps) as u64)) else { return false };
    let bytes = |bytes: Option<f64>| bytes.map(|bytes| Bytes::new(bytes as u64));
    let burst = bytes(found.bucket_bytes);
    let is_limiter = |stage: &Stage| {
        let is_link = matches!(stage, Stage::Link(Link { rate: Some(_), .. }));
        is_link || matches!(stage, Stage::Policer(_) | Stage::Shaper(_))
    };
    let mut stages = scenario.links.iter_mut().flat_map(|link| &mut link.forward);
    let Some(named) = stages.find(|named| is_limiter(&named.stage)) else { return false };
    // A queue that was not full says only how long it is at least.
    let queue = bytes(found.queue_bytes.filter(|_| found.queue_full == Some(true)));
    let queue = queue.map(|bytes| QueueConfig::Fifo(Fifo { packets: None, bytes: Some(bytes) }));
    let queue = queue.or_else(|| match &named.stage {
        Stage::Link(link) => Some(link.queue.clone()),
        Stage::Shaper(shaper) => shaper.queue.clone(),
        _ => None,
    });
    let delay = if let Stage::Link(link) = &named.stage { link.delay } else { Span::ZERO };
    if !delay.is_zero() && found.kind != LimiterFound::Link {
        return false;
    }
    named.stage = match found.kind {
        LimiterFound::Policer => Stage::Policer(Policer::single(rate, burst)),
        LimiterFound::Shaper => Stage::Shaper(Shaper { burst, queue, ..Shaper::new(rate) }),
        _ => {
            let queue = queue.unwrap_or_default();
            Stage::Link(Link { rate: Some(rate), delay, queue, ..Link::default() })
        }
    };
    true
}

/// The scenario with a faster link in the place of the limiter, and with the queue that belongs to it.
fn with_faster_link(scenario: &Scenario) -> Scenario {
    let mut faster = scenario.clone();
    for named in faster.links.iter_mut().flat_map(|link| &mut link.forward) {
        if let Stage::Link(Link { rate: Some(rate), queue, .. }) = &mut named.stage {
            *rate = Rate::from_bps(rate.as_bps().saturating_mul(FASTER));
            if let QueueConfig::Fifo(Fifo { bytes: Some(bytes), .. }) = queue {
                *bytes = Bytes::new(bytes.get().saturating_mul(FASTER));
            }
        }
    }
    faster
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::model::MeasuredDirection;
    use diagnosis::train::TrainFinding;
    use scenario::Experiment;

    fn scenario(stage: &str) -> Scenario {
        let text = format!(
            "[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{{ {stage} }}, {{ kind = \"delay\", delay = \"9ms\" }}]\n\
             [flows.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let mut file = Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        file.variants.remove(0).scenario
    }

    #[test]
    fn the_measured_limit_replaces_the_fitted_one() {
        let policer = Limiter::of(TrainFinding::Policer { rate: 20e6, bucket: 30e3 }, 1, 100);
        let mut s = scenario("kind = \"link\", rate = \"3Mbit/s\"");
        assert!(set_limiter(&mut s, &policer));
        let expected = Policer::single(Rate::from_bps(20_000_000), Some(Bytes::new(30_000)));
        assert_eq!(s.links[0].forward[0].stage, Stage::Policer(expected));
        let queue = |full| TrainFinding::Queue { rate: 20e6, bucket: None, queue: 50e3, full };
        let fifo = |s: &Scenario| match &s.links[0].forward[0].stage {
            Stage::Link(Link { rate, queue: QueueConfig::Fifo(fifo), .. }) => (*rate, fifo.bytes),
            other => panic!("{other:?}"),
        };
        let mut s = scenario("kind = \"policer\", rate = \"3Mbit/s\"");
        assert!(set_limiter(&mut s, &Limiter::of(queue(true), 1, 100)));
        assert_eq!(fifo(&s), (Some(Rate::from_bps(20_000_000)), Some(Bytes::new(50_000))));
        let mut s =
            scenario("kind = \"link\", rate = \"3Mbit/s\", queue = { kind = \"fifo\", bytes = \"90kB\" }");
        assert!(set_limiter(&mut s, &Limiter::of(queue(false), 1, 100)));
        assert_eq!(fifo(&s).1, Some(Bytes::new(90_000)), "a queue that was not full is longer than was seen");
        let mut s = scenario("kind = \"loss\", probability = 0.01");
        assert!(!set_limiter(&mut s, &policer), "no limit to replace");
        let mut s = scenario("kind = \"link\", rate = \"3Mbit/s\", delay = \"5ms\"");
        assert!(!set_limiter(&mut s, &policer), "its delay would be lost");
        assert!(!set_limiter(&mut s, &Limiter::of(TrainFinding::Unlimited { above: 9e8 }, 1, 100)));
    }

    #[test]
    fn only_smaller_segments_are_tried_at_a_black_hole() {
        let path = Some(MeasuredPath { mtu: Some(1400), black_hole: true, ..MeasuredPath::default() });
        let up = MeasuredDirection { path, ..MeasuredDirection::default() };
        let m = Measurement { client: "192.0.2.1".into(), up, ..Measurement::default() };
        let all = candidates(&m, Fault::Slow { is: 0.0, could_be: 20.0 }, "reno");
        assert_eq!(all.iter().map(Candidate::name).collect::<Vec<_>>(), ["MSS 1360"]);
        assert_eq!(all[0].options.mss, Some(1360));
    }
}
