//! Fits of captures of simulated paths: what the diagnosis measured stays, no element is added, and
//! retransmissions are predicted.

use fit::{FitOptions, MadeFit, ObservedPath};
use path::Packet;
use result::diagnosis::CaptureInfo;
use scenario::Experiment;
use sim::{SimOptions, Tap, wire::Encoder};
use track::{Tracker, TrackerOptions};
use transport::Segment;
use units::Time;

/// A capture at the first host.
struct SenderTap {
    encoder: Encoder,
    tracker: Tracker,
}

impl Tap for SenderTap {
    fn packet(&mut self, now: Time, host: usize, _: bool, packet: &Packet<Segment>, from: usize, to: usize) {
        let frame = self.encoder.frame(now, packet, from, to).filter(|_| host == 0);
        if let Some(packet) = frame.and_then(|f| f.seen()) {
            self.tracker.packet(&packet);
        }
    }
}

/// Returns what a capture at the sender shows of eight seconds of one flow through these stages.
fn captured(stages: &str, cc: &str) -> ObservedPath {
    let text = format!(
        "name = \"t\"\nduration = \"8s\"\n[links.path]\nbetween = [\"sender\", \"receiver\"]\n\
         forward = [{stages}, {{ kind = \"delay\", delay = \"10ms\" }}]\nbackward = [{{ kind = \"delay\", delay = \"10ms\" }}]\n\
         [flows.f]\nfrom = \"sender\"\nto = \"receiver\"\ncc = \"{cc}\"\n"
    );
    captured_text(&text)
}

/// Returns what a capture at the first host of a scenario shows.
pub(crate) fn captured_text(text: &str) -> ObservedPath {
    let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
    let mut tap =
        SenderTap { encoder: Encoder::new(&scenario), tracker: Tracker::new(TrackerOptions::default()) };
    sim::run("t", &scenario, SimOptions { tap: Some(&mut tap), ..SimOptions::default() });
    let mut tracks = Vec::new();
    tap.tracker.finish(&mut tracks);
    let facts = fit::facts(&tracks);
    ObservedPath::of(&diagnosis::diagnose_tracks(tracks, CaptureInfo::default()), &facts).unwrap()
}

fn fitted(seen: &ObservedPath) -> MadeFit {
    fit::fit(seen, &FitOptions { packets: 1_000_000, ..FitOptions::default() }, None).unwrap()
}

const POLICER: &str = r#"{ kind = "policer", rate = "10Mbit/s", burst = "24kB" }"#;

#[test]
fn a_policer_keeps_the_rate_and_the_bucket_of_the_diagnosis_and_gets_no_line() {
    let seen = captured(POLICER, "cubic");
    let made = fitted(&seen);
    let limiter = seen.limiter.unwrap();
    assert_eq!(made.fit.limiter, "policer");
    assert_eq!(made.path.rate, limiter.rate_mbps * 1e6);
    assert_eq!(Some(made.path.bucket), limiter.burst_bytes);
    assert!((made.path.bucket / 24e3 - 1.0).abs() < 0.01, "{}", made.path.bucket);
    assert_eq!((made.path.access, made.path.loss, made.path.jitter), (None, 0.0, 0.0));
    assert!(!made.fit.scenario.contains("kind = \"link\""), "{}", made.fit.scenario);
}

/// Losses of a single episode leave a policer's rate open. The fit then has the diagnosis's range, and
/// scenarios at both ends of it.
#[test]
fn a_rate_that_the_diagnosis_leaves_open_stays_open() {
    let seen = captured_text(
        "name = \"t\"\nduration = \"5s\"\n[links.path]\nbetween = [\"sender\", \"receiver\"]\n\
         forward = [{ kind = \"policer\", rate = \"31.8Mbit/s\", burst = \"117kB\" }, { kind = \"delay\", delay = \"26ms\" }]\n\
         backward = [{ kind = \"delay\", delay = \"26ms\" }]\n\
         [flows.f]\nfrom = \"sender\"\nto = \"receiver\"\ncc = \"reno\"\n",
    );
    let [low, high] = seen.limiter.as_ref().unwrap().rate_range_mbps.expect("an open range");
    assert!(low < 31.8 && 31.8 < high, "{low} {high}");
    let made = fitted(&seen);
    let rate = made.fit.values.iter().find(|v| v.name == "rate").unwrap();
    assert!(rate.range[0] <= low && high <= rate.range[1], "{rate:?}");
    assert!(made.fit.not_shown.iter().any(|why| why.starts_with("rate:")), "{:?}", made.fit.not_shown);
    assert!(made.alternatives.len() >= 2);
    let [captured, fitted] = [&made.fit.compared.captured, &made.fit.compared.fitted].map(|f| f.goodput_mbps);
    assert!((fitted / captured - 1.0).abs() < 0.1, "{captured} {fitted}");
}

#[test]
fn a_line_before_a_policer_is_added_where_it_shows() {
    let line = r#"{ kind = "link", rate = "15Mbit/s", queue = { kind = "fifo", packets = 200 } }"#;
    let made = fitted(&captured(&format!("{line}, {POLICER}"), "cubic"));
    let line = made.path.access.unwrap();
    assert!((line / 15e6).ln().abs() < 0.25, "{line}");
}

#[test]
fn retransmissions_of_bbr_on_a_lossy_line_are_predicted() {
    let stages = r#"{ kind = "link", rate = "20Mbit/s", queue = { kind = "fifo", packets = 150 } },
                    { kind = "loss", probability = 0.01 }"#;
    let made = fitted(&captured(stages, "bbr"));
    let (captured, fitted) =
        (made.fit.compared.captured.retransmitted_share, made.fit.compared.fitted.retransmitted_share);
    // Two in three of a binomial count of 130 are within 9 %.
    assert!((fitted / captured - 1.0).abs() < 0.25, "{captured} {fitted}");
    assert!((made.path.loss / 0.01 - 1.0).abs() < 0.25, "{}", made.path.loss);
}
