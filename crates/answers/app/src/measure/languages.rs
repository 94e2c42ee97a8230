//! Tests that every sentence of a measurement is in both languages.

use super::model::{
    Direction, EchoSummary, Limiter, Marks, MeasuredPath, Measurement, StreamTest, TestVerdict,
};
use super::segments::{Segment, ViaMeasurement};
use super::series::{MeasurementSeries, SeriesRun, line};
use super::{Cure, compare, facts, headline, page, text, ticket};
use diagnosis::train::{TrainDoubt, TrainFinding};
use report::Lang;
use result::{Cause, sender};
use units::Rate;

const POLICER: TrainFinding = TrainFinding::Policer { rate: 20e6, bucket: 30e3 };
const SHAPER: TrainFinding = TrainFinding::Queue { rate: 20e6, bucket: Some(30e3), queue: 90e3, full: false };
const LINK: TrainFinding = TrainFinding::Queue { rate: 20e6, bucket: None, queue: 90e3, full: true };

fn echoes(rtt_ms: f64) -> EchoSummary {
    EchoSummary { sent: 40, lost_share: 0.05, rtt_min_ms: 40.0, rtt_p50_ms: rtt_ms, ..EchoSummary::default() }
}

fn test(name: &str, mbps: f64, rtt_ms: f64) -> StreamTest {
    StreamTest {
        name: name.into(),
        direction: if name.starts_with("down") { Direction::Down } else { Direction::Up },
        connections: if name.ends_with('4') { 4 } else { 1 },
        goodput_mbps: mbps,
        retransmitted_share: 0.03,
        control: "reno".into(),
        window_limited_share: Some(0.4),
        buffer_limited_share: Some(0.3),
        mss: 1448,
        loaded: Some(echoes(rtt_ms)),
        round_trips_per_minute: Some(900.0),
        ..StreamTest::default()
    }
}

fn verdict(cause: Cause, confidence: f64) -> Option<TestVerdict> {
    Some(TestVerdict { cause, confidence, share: 0.9, limit_mbps: None, headline: "。".into() })
}

/// Measurements that together say everything that one can say, in a language.
fn samples(lang: Lang) -> Vec<Measurement> {
    let measured = |up: f64, down: f64, rtt_ms: f64| Measurement {
        lang,
        at: "2026-11-30T14:00:00Z".into(),
        server: "198.51.100.7:4717".into(),
        client: "10.0.0.1".into(),
        longfat: "0".into(),
        idle: Some(echoes(40.0)),
        tests: ["up", "up-4", "down", "down-4"]
            .into_iter()
            .zip([up, 19.0, down, 19.0])
            .map(|(name, mbps)| test(name, mbps, rtt_ms))
            .collect(),
        ..Measurement::default()
    };
    let cure = |change: result::Change, mbps| Cure { change, test: test("up", mbps, 41.0) };
    let mut all = Vec::new();
    let trains = [POLICER, SHAPER, LINK, TrainFinding::Unlimited { above: 1e9 }];
    let trains = trains.into_iter().chain(TrainDoubt::ALL.map(TrainFinding::Unknown));
    for (i, finding) in trains.enumerate() {
        let mut m = measured(4.0, 4.0, 41.0);
        m.up.limiter = Some(Limiter::of(finding, 2, 8000));
        m.down.limiter = m.up.limiter.clone();
        m.up.verdict = verdict(Cause::Policed, 0.6);
        if i % 2 == 0 {
            let paced = sender::pacing_cap(Some(Rate::from_bps(18_727_000)));
            let more = sender::more_connections("a", "b", 4);
            m.cures = vec![cure(paced, 18.0), cure(sender::congestion_control("bbr"), 17.0), cure(more, 9.0)];
        }
        all.push(m);
    }
    for cause in Cause::ALL {
        for confidence in [0.95, 0.6, 0.2] {
            let mut m = measured(4.0, 19.0, 41.0);
            (m.up.verdict, m.down.verdict) = (verdict(cause, confidence), verdict(cause, confidence));
            all.push(m);
        }
    }
    // A queue in each direction, nothing wrong, and a download that does not fill the path.
    all.extend([measured(19.0, 19.0, 400.0), measured(19.0, 19.0, 41.0), measured(19.0, 4.0, 41.0)]);
    for rtt_ms in [41.0, 60.0, 120.0, 300.0, 900.0] {
        all.push(measured(19.0, 19.0, rtt_ms));
    }
    let mut treated = measured(0.0, 19.0, 41.0);
    let marks = [("ECT(0)", 2, Some(0)), ("EF", 184, Some(0)), ("AF41", 136, None), ("CE", 3, Some(3))];
    let marks = marks.map(|(name, sent, arrived)| Marks { name: name.into(), sent, arrived });
    let path =
        MeasuredPath { mtu: Some(1400), black_hole: true, reordered_share: Some(0.02), marks: marks.into() };
    (treated.up.path, treated.down.path) = (Some(path.clone()), Some(path));
    treated.cures = vec![cure(sender::small_segments("a", "b", 1360, false), 18.0)];
    all.push(treated);
    let mut far = measured(19.0, 19.0, 41.0);
    far.up.path = Some(MeasuredPath { mtu: Some(9000), ..MeasuredPath::default() });
    far.down.path = Some(MeasuredPath::default());
    all.push(far);
    all.push(Measurement { lang, ..Measurement::default() });
    for m in &mut all {
        m.facts = facts(m);
        m.headline = headline(m);
    }
    all
}

/// Returns everything that is shown of measurements in a language.
fn shown(lang: Lang) -> Vec<String> {
    let mut out = Vec::new();
    let all = samples(lang);
    for m in &all {
        let one = MeasurementSeries::from(m.clone());
        // The commands are the same in each language.
        let text = text(m, 80);
        out.push(text.split("：\n\n").next().unwrap_or_default().to_string());
        let html = page(&one);
        let body = html.split_once("<main").map_or("", |(_, body)| body);
        out.push(body.split("<pre").next().unwrap_or_default().replace(['<', '>'], "\n"));
        out.push(ticket(&one, false));
    }
    let run = |m: &Measurement| SeriesRun { at: m.at.clone(), measurement: Some(m.clone()), error: None };
    let failed = SeriesRun { at: "2026-11-30T15:00:00Z".into(), measurement: None, error: None };
    let runs = |from: usize| all[from..from + 5].iter().map(run).chain([failed.clone()]).collect::<Vec<_>>();
    let [before, after] = [0, 6].map(|from| MeasurementSeries::of(runs(from)));
    for series in [&before, &after] {
        out.extend([series.text(100, true), series.text(100, false), ticket(series, false)]);
        out.extend(series.runs.iter().map(|run| line(run, lang)));
    }
    let none = MeasurementSeries::of(vec![failed]).in_language(lang);
    out.extend([none.text(80, true), ticket(&none, false)]);
    let single = MeasurementSeries::from(all[0].clone());
    for (a, b) in
        [(&before, &after), (&after, &before), (&single, &single), (&single, &none), (&before, &before)]
    {
        out.push(compare(a, b).text(80));
    }
    for whole in &all {
        for part in [&all[0], &all[2], whole] {
            let parts = [
                Segment::of("甲", "乙", Ok(part.clone())),
                Segment::of("乙", "丙", Ok(all[3].clone())),
                Segment::of("丙", "丁", Err("。".into())),
            ];
            for n in [2, 3] {
                let via = ViaMeasurement::of(String::new(), 60.0, whole.clone(), parts[..n].to_vec());
                out.push(via.text(100));
            }
        }
    }
    out
}

/// Returns two English words in a row, which no name, unit or command is.
fn english(text: &str) -> Option<String> {
    let is_word = |w: &&str| w.len() > 1 && w.bytes().all(|b| b.is_ascii_lowercase());
    let lines = text.lines().filter(|line| !line.contains("longfat ") && !line.contains("iperf3 -"));
    // A full stop within a word is that of an identifier.
    let words = lines.map(|line| line.split([' ', ',', ';', ':']).map(|w| w.trim_end_matches('.')));
    let words = words.map(Iterator::collect::<Vec<_>>);
    words.flat_map(|words| words.windows(2).map(|w| w.join(" ")).collect::<Vec<_>>()).find(|pair| {
        let pair: Vec<&str> = pair.split(' ').collect();
        pair.iter().all(is_word)
    })
}

#[test]
fn a_measurement_in_chinese_has_no_english_sentence() {
    assert_eq!(english("the upload"), Some("the upload".into()));
    assert_eq!(english("把 MTU 设为 1400，reno，RTT 40 ms"), None);
    let all = shown(Lang::Zh);
    assert!(all.len() > 300, "{}", all.len());
    for text in &all {
        assert_eq!(english(text), None, "{text}");
        assert!(!text.contains('{') && !text.contains('}'), "{text}");
        assert!(text.chars().any(|c| ('\u{4e00}'..'\u{9fff}').contains(&c)), "{text}");
    }
}

#[test]
fn a_measurement_in_english_has_no_chinese() {
    for text in shown(Lang::En) {
        let found = text.chars().find(|c| ('\u{4e00}'..'\u{9fff}').contains(c) && !"甲乙丙丁".contains(*c));
        assert_eq!(found, None, "{text}");
    }
}

/// The keys of the table that the sources of the two commands name. Those of limits and of columns are put
/// together.
#[test]
fn each_text_of_the_table_is_used_and_each_used_one_is_there() {
    let table: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(include_str!("../../../report/live.json")).expect("JSON");
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources =
        vec![crates.join("answers/app/src/watch.rs"), crates.join("answers/report/src/watch.rs")];
    for folder in ["answers/app/src/measure", "faces/cli/src/watch"] {
        let files = std::fs::read_dir(crates.join(folder)).expect("a folder");
        sources.extend(files.map(|file| file.expect("a file").path()));
    }
    let text: String = sources.iter().map(|file| std::fs::read_to_string(file).expect("a source")).collect();
    let starts = ["watch.", "measure.", "ticket."];
    let used: std::collections::BTreeSet<&str> =
        text.split('"').filter(|part| starts.iter().any(|start| part.starts_with(start))).collect();
    let missing: Vec<_> = used
        .iter()
        .filter(|key| !key.ends_with('.') && !key.contains(['{', ' ']) && !table.contains_key(**key))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let composed = ["watch.limit.", "watch.head."];
    let unused: Vec<_> = table
        .keys()
        .filter(|key| !used.contains(key.as_str()) && !composed.iter().any(|start| key.starts_with(start)))
        .collect();
    assert!(unused.is_empty(), "{unused:?}");
}
