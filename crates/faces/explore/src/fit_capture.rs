//! A capture fitted, as the page takes it up: what `longfat fit` does, with a budget of its own.

use crate::request::{CaptureFitRequest, Refusal};
use crate::{Told, json};
use capture::CaptureReader;
use diagnosis::{capture_info, diagnose_tracks};
use experiment::Progress;
use fit::{Fit, FitError, FitWish, FitWords, MadeFit, ObservedPath};
use serde::Serialize;
use std::io::Read;
use track::TrackerOptions;
use units::Label;

/// What the page is told of a fit.
#[derive(Serialize)]
struct CaptureFitReply {
    /// As `longfat fit --json` prints it.
    fit: Fit,
    /// The path's numbers, those too whose range the search did not come to.
    numbers: Vec<PathNumber>,
    /// What the capture could not tell, in both languages.
    untold: Vec<FitWords>,
}

/// A number of the path.
#[derive(Serialize)]
struct PathNumber {
    /// As [`fit::FitValue::name`].
    name: &'static str,
    /// What people call it.
    label: FitWords,
    /// In `unit`.
    value: f64,
    unit: &'static str,
    /// What fits nearly as well; `None`: the search did not come so far.
    range: Option<[f64; 2]>,
}

/// Reads the capture, finds a scenario that behaves as its path did, and gives the fit. `told` is told of
/// packets: those that are simulated, about, and how many these may be.
pub(crate) fn fit_capture(
    asked: &CaptureFitRequest,
    told: &mut Told<'_>,
    file: Box<dyn Read + Send>,
) -> Result<Vec<Vec<u8>>, Refusal> {
    let reader = CaptureReader::from_reader(file, &asked.file).map_err(|e| Refusal::plain(e.to_string()))?;
    let all = track::track_datagrams_too(reader, TrackerOptions::default(), None, &mut |_, _| ());
    let facts = fit::facts(&all.tracks);
    let diagnosis = diagnose_tracks(all.tracks, capture_info(all.file, &all.totals));
    let seen = ObservedPath::of(&diagnosis, &facts).map_err(|e| refused(&e))?;
    let wish = FitWish { packets: asked.packets, ..FitWish::default() };
    let mut gauge = SearchGauge::of(&seen);
    let mut watch = |p: &Progress| told(gauge.packets(p), asked.packets as f64);
    let made: MadeFit = fit::fit(&seen, &wish, Some(&mut watch)).map_err(|e| refused(&e))?;
    let numbers = numbers(&made);
    Ok(vec![json(&CaptureFitReply { fit: made.fit, numbers, untold: made.untold })])
}

fn refused(why: &FitError) -> Refusal {
    let FitWords { en, zh } = why.words();
    Refusal::in_both(en, zh)
}

/// What was searched.
fn numbers(made: &MadeFit) -> Vec<PathNumber> {
    let one = |parameter: fit::FitParameter| {
        let (name, unit) = parameter.title();
        let Label { en, zh } = parameter.label();
        let label = FitWords { en: en.into(), zh: zh.into() };
        let range = made.fit.values.iter().find(|v| v.name == name).map(|v| v.range);
        PathNumber { name, label, value: parameter.in_reported_unit(made.path.get(parameter)), unit, range }
    };
    made.path.numbers().map(one).collect()
}

/// How many packets a search has simulated, about: it is told of one batch of runs after the other, of each its time.
struct SearchGauge {
    /// Data packets that were captured a second: runs send about as many.
    a_second: f64,
    /// Milliseconds of batches before this one, and of this one.
    before_ms: u64,
    now_ms: u64,
}

impl SearchGauge {
    fn of(seen: &ObservedPath) -> SearchGauge {
        let packets: u64 = seen.flows.iter().map(|f| f.flow.measures.data_packets).sum();
        SearchGauge { a_second: packets as f64 / seen.span_s, before_ms: 0, now_ms: 0 }
    }

    fn packets(&mut self, p: &Progress) -> f64 {
        // Within a batch time only grows.
        if p.played_ms < self.now_ms {
            self.before_ms += self.now_ms;
        }
        self.now_ms = p.played_ms;
        (self.before_ms + self.now_ms) as f64 / 1e3 * self.a_second
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

    /// What the sender captures of a policed upload.
    fn policed(seconds: f64) -> Vec<u8> {
        let text = format!(
            r#"
            name = "policed"
            duration = "{seconds}s"
            [links.path]
            between = ["sender", "receiver"]
            forward = [
                {{ kind = "link", rate = "1Gbit/s" }},
                {{ kind = "policer", rate = "20Mbit/s", burst = "100kB" }},
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

    /// Writes what the first host sees.
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
        let asked = format!(r#"{{"do": "fit", "file": "up.pcap", "packets": {packets}}}"#);
        let mut told = Vec::new();
        let mut watch = |now, all| {
            told.push((now, all));
            ControlFlow::Continue(())
        };
        let pieces = answer(asked.as_bytes(), &mut watch, Box::new(Cursor::new(capture)));
        assert_eq!(pieces.len(), 1);
        (serde_json::from_slice(&pieces[0]).unwrap(), told)
    }

    #[test]
    fn a_policed_capture_becomes_a_scenario_with_its_policer() {
        let (reply, told) = fitted(policed(5.0), 200_000);
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
        // The policer counts IP bytes, as the scenario has them: within what a fit of a few seconds is off.
        assert!((number("rate") - 20.0).abs() < 0.5, "{} {policer}", number("rate"));
        assert!((number("bucket") - 100.0).abs() < 20.0, "{} {policer}", number("bucket"));
        assert!((number("base RTT") - 30.0).abs() < 1.0, "{}", number("base RTT"));
        assert!(told.windows(2).all(|w| w[0].0 <= w[1].0), "progress falls");
        assert!(told.last().is_some_and(|(now, all)| *now > 20_000.0 && *all == 200_000.0), "{told:?}");
    }

    #[test]
    fn a_search_that_ends_before_its_first_round_names_no_number() {
        let (reply, _) = fitted(policed(5.0), 1);
        let headline = reply["fit"]["headline"].as_str().unwrap();
        assert!(headline.starts_with("The path is a policer: simulated, "), "{headline}");
        assert!(reply["numbers"].as_array().unwrap().iter().all(|n| n["range"].is_null()));
        let untold = reply["untold"].as_array().unwrap();
        let english: Vec<_> = untold.iter().map(|words| words["en"].clone()).collect();
        assert_eq!(reply["fit"]["not_told"].as_array().unwrap(), &english);
        assert!(untold.iter().any(|w| w["en"].as_str().unwrap().contains("first guesses")), "{untold:?}");
        let han = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        assert!(untold.iter().all(|w| han(w["zh"].as_str().unwrap())), "{untold:?}");
        assert!(reply["numbers"].as_array().unwrap().iter().all(|n| han(n["label"]["zh"].as_str().unwrap())));
    }

    #[test]
    fn what_cannot_be_fitted_says_why() {
        let why = |capture| fitted(capture, 1000).0["refused"]["message"].as_str().unwrap().to_string();
        assert!(why(b"hello, this is no capture".to_vec()).contains("not a pcap"));
        let empty = PcapWriter::new(Cursor::default()).unwrap().finish().unwrap().into_inner();
        assert_eq!(why(empty), fit::FitError::NoFlow.to_string());
        let short = why(policed(0.055));
        assert!(short.contains("data packets"), "{short}");
    }
}
