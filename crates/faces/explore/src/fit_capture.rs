//! Fits a scenario to a capture for the page, like `longfat fit` but with the page's own limit on simulated
//! packets.

use crate::request::{CaptureFitRequest, Refusal};
use crate::{OnProgress, json};
use capture::CaptureReader;
use diagnosis::{capture_info, diagnose_tracks};
use experiment::Progress;
use fit::{Fit, FitError, FitOptions, FitWords, MadeFit, ObservedPath};
use serde::Serialize;
use std::io::Read;
use track::TrackerOptions;
use units::Label;

/// The answer to a fit.
#[derive(Serialize)]
struct CaptureFitReply {
    /// The fit as `longfat fit --json` prints it.
    fit: Fit,
    /// All numbers of the path, including those without a range.
    numbers: Vec<PathNumber>,
    /// Facts that the capture does not show, in both languages.
    not_shown: Vec<FitWords>,
}

/// A number of the path.
#[derive(Serialize)]
struct PathNumber {
    /// The name in [`fit::FitValue::name`].
    name: &'static str,
    /// The label for the reader.
    label: FitWords,
    /// The value in `unit`.
    value: f64,
    unit: &'static str,
    /// The range that fits nearly as well; `None` if it was not searched.
    range: Option<[f64; 2]>,
}

/// Finds a scenario that behaves like the capture's path. `on_progress` gets the approximate number of
/// simulated packets and their limit.
pub(crate) fn fit_capture(
    request: &CaptureFitRequest,
    on_progress: &mut OnProgress<'_>,
    file: Box<dyn Read + Send>,
) -> Result<Vec<Vec<u8>>, Refusal> {
    let reader =
        CaptureReader::from_reader(file, &request.file).map_err(|e| Refusal::plain(e.to_string()))?;
    let all = track::track_capture_with_udp(reader, TrackerOptions::default(), None, &mut |_, _| ());
    let facts = fit::facts(&all.tracks);
    let diagnosis = diagnose_tracks(all.tracks, capture_info(all.file, &all.totals));
    let seen = ObservedPath::of(&diagnosis, &facts).map_err(|e| refused(&e))?;
    let options = FitOptions { packets: request.packets, ..FitOptions::default() };
    let mut estimate = PacketEstimate::of(&seen);
    let mut watch = |p: &Progress| on_progress(estimate.packets(p), request.packets as f64);
    let made: MadeFit = fit::fit(&seen, &options, Some(&mut watch)).map_err(|e| refused(&e))?;
    let numbers = numbers(&made);
    Ok(vec![json(&CaptureFitReply { fit: made.fit, numbers, not_shown: made.not_shown })])
}

fn refused(why: &FitError) -> Refusal {
    let FitWords { en, zh } = why.words();
    Refusal::in_both(en, zh)
}

/// Returns the numbers that were searched.
fn numbers(made: &MadeFit) -> Vec<PathNumber> {
    let number = |parameter: fit::FitParameter| {
        let (name, unit) = parameter.title();
        let Label { en, zh } = parameter.label();
        let label = FitWords { en: en.into(), zh: zh.into() };
        let range = made.fit.values.iter().find(|v| v.name == name).map(|v| v.range);
        PathNumber { name, label, value: parameter.in_reported_unit(made.path.get(parameter)), unit, range }
    };
    made.path.numbers().map(number).collect()
}

/// Estimates the number of simulated packets from the simulated time. A search reports the time of each batch
/// of runs separately.
struct PacketEstimate {
    /// Captured data packets per second; simulated runs send about as many.
    packets_per_s: f64,
    /// Simulated time of earlier batches, ms.
    before_ms: u64,
    /// Simulated time of the present batch, ms.
    now_ms: u64,
}

impl PacketEstimate {
    fn of(seen: &ObservedPath) -> PacketEstimate {
        let packets: u64 = seen.flows.iter().map(|f| f.flow.measures.data_packets).sum();
        PacketEstimate { packets_per_s: packets as f64 / seen.span_s, before_ms: 0, now_ms: 0 }
    }

    fn packets(&mut self, p: &Progress) -> f64 {
        // The time decreases only when a new batch begins.
        if p.played_ms < self.now_ms {
            self.before_ms += self.now_ms;
        }
        self.now_ms = p.played_ms;
        (self.before_ms + self.now_ms) as f64 / 1e3 * self.packets_per_s
    }
}

#[cfg(test)]
mod tests {
    use crate::answer;
    use capture::PcapWriter;
    use path::Packet;
    use scenario::{Experiment, Scenario};
    use serde_json::Value;
    use sim::wire::Encoder;
    use std::io::Cursor;
    use std::ops::ControlFlow;
    use transport::Segment;
    use units::Time;

    /// Captures a policed upload at its sender.
    fn policed(seconds: f64, burst: &str) -> Vec<u8> {
        let text = format!(
            r#"
            name = "policed"
            duration = "{seconds}s"
            [links.path]
            between = ["sender", "receiver"]
            forward = [
                {{ kind = "link", rate = "1Gbit/s" }},
                {{ kind = "policer", rate = "20Mbit/s", burst = "{burst}" }},
                {{ kind = "delay", delay = "15ms" }},
            ]
            backward = [{{ kind = "delay", delay = "15ms" }}]
            [flows.upload]
            from = "sender"
            to = "receiver"
            cc = "cubic"
            "#
        );
        let scenario = Experiment::parse("policed.toml", &text, &[]).unwrap().variants.remove(0).scenario;
        let mut tap = SenderTap::new(&scenario);
        let hooks = sim::SimOptions { tap: Some(&mut tap), ..sim::SimOptions::default() };
        sim::run("policed", &scenario, hooks);
        tap.out.finish().unwrap().into_inner()
    }

    /// Captures packets at the first host.
    struct SenderTap {
        encoder: Encoder,
        out: PcapWriter<Cursor<Vec<u8>>>,
    }

    impl SenderTap {
        fn new(scenario: &Scenario) -> SenderTap {
            SenderTap { encoder: Encoder::new(scenario), out: PcapWriter::new(Cursor::default()).unwrap() }
        }
    }

    impl sim::Tap for SenderTap {
        fn packet(
            &mut self,
            now: Time,
            host: usize,
            _: bool,
            packet: &Packet<Segment>,
            from: usize,
            to: usize,
        ) {
            if host == 0
                && let Some(frame) = self.encoder.frame(now, packet, from, to)
            {
                self.out.write(&frame).unwrap();
            }
        }
    }

    fn fitted(capture: Vec<u8>, packets: u64) -> (Value, Vec<(f64, f64)>) {
        let question = format!(r#"{{"do": "fit", "file": "up.pcap", "packets": {packets}}}"#);
        let mut progress = Vec::new();
        let mut watch = |done, total| {
            progress.push((done, total));
            ControlFlow::Continue(())
        };
        let pieces = answer(question.as_bytes(), &mut watch, Box::new(Cursor::new(capture)));
        assert_eq!(pieces.len(), 1);
        (serde_json::from_slice(&pieces[0]).unwrap(), progress)
    }

    #[test]
    fn a_policed_capture_becomes_a_scenario_with_its_policer() {
        let (reply, progress) = fitted(policed(5.0, "100kB"), 200_000);
        assert_eq!(reply["fit"]["limiter"], "policer", "{reply:#}");
        let text = reply["fit"]["scenario"].as_str().unwrap();
        let scenario = Experiment::parse("fit.toml", text, &[]).unwrap().variants.remove(0).scenario;
        let tables = scenario.to_json();
        let stages = tables["links"]["path"]["forward"].as_array().unwrap();
        let policer = stages.iter().find(|s| s["kind"] == "policer").unwrap();
        let number = |name: &str| {
            let all = reply["numbers"].as_array().unwrap();
            all.iter().find(|n| n["name"] == name).unwrap()["value"].as_f64().unwrap()
        };
        // Rate and bucket count IP bytes, as in the scenario; the tolerance is that of a fit to a few
        // seconds.
        assert!((number("rate") - 20.0).abs() < 0.5, "{} {policer}", number("rate"));
        assert!((number("bucket") - 100.0).abs() < 20.0, "{} {policer}", number("bucket"));
        assert!((number("base RTT") - 30.0).abs() < 1.0, "{}", number("base RTT"));
        assert!(progress.windows(2).all(|w| w[0].0 <= w[1].0), "progress decreases");
        let last = progress.last();
        assert!(last.is_some_and(|(done, total)| *done > 20_000.0 && *total == 200_000.0), "{progress:?}");
    }

    #[test]
    fn a_search_that_ends_before_its_first_round_keeps_what_was_measured() {
        let (reply, _) = fitted(policed(5.0, "100kB"), 1);
        let headline = reply["fit"]["headline"].as_str().unwrap();
        assert!(
            headline.starts_with("The path is a policer of 20.0 Mbit/s with a bucket of 100 kB"),
            "{headline}"
        );
        // A number that the diagnosis measured has a range without a search.
        for number in reply["numbers"].as_array().unwrap() {
            let [low, high] = [0, 1].map(|i| number["range"][i].as_f64().unwrap());
            assert!((low..=high).contains(&number["value"].as_f64().unwrap()), "{number}");
        }
        let not_shown = reply["not_shown"].as_array().unwrap();
        let english: Vec<_> = not_shown.iter().map(|words| words["en"].clone()).collect();
        assert_eq!(reply["fit"]["not_shown"].as_array().unwrap(), &english);
        assert_labels_are_translated(&reply);
    }

    /// Losses of a bucket of six packets leave the rate open.
    #[test]
    fn a_number_that_was_to_be_searched_is_a_first_guess_if_the_search_ends_before() {
        let (reply, _) = fitted(policed(10.0, "9kB"), 1);
        let numbers = reply["numbers"].as_array().unwrap();
        assert!(numbers.iter().any(|n| n["name"] == "rate" && n["range"].is_null()), "{numbers:?}");
        let not_shown = reply["not_shown"].as_array().unwrap();
        assert!(
            not_shown.iter().any(|w| w["en"].as_str().unwrap().contains("first guesses")),
            "{not_shown:?}"
        );
        assert_labels_are_translated(&reply);
    }

    fn assert_labels_are_translated(reply: &Value) {
        let is_han =
            |text: &Value| text.as_str().unwrap().chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        assert!(reply["not_shown"].as_array().unwrap().iter().all(|w| is_han(&w["zh"])), "{reply}");
        assert!(reply["numbers"].as_array().unwrap().iter().all(|n| is_han(&n["label"]["zh"])), "{reply}");
    }

    #[test]
    fn a_capture_that_cannot_be_fitted_is_refused_with_the_reason() {
        let why = |capture| fitted(capture, 1000).0["refused"]["message"].as_str().unwrap().to_string();
        assert!(why(b"hello, this is no capture".to_vec()).contains("not a pcap"));
        let empty = PcapWriter::new(Cursor::default()).unwrap().finish().unwrap().into_inner();
        assert_eq!(why(empty), fit::FitError::NoFlow.to_string());
        let short = why(policed(0.055, "100kB"));
        assert!(short.contains("data packets"), "{short}");
    }
}
