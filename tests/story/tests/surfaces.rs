//! Every surface gives a measure the same value: `--expect`, the page's figures, sweeps, studies, repeats and
//! the headline.
//!
//! `LONGFAT_SURFACES=200 cargo test -p longfat-story-test --test surfaces` checks more scenarios,
//! `LONGFAT_SURFACES_FROM=1001` others.

use app::reproduce::StudyMeasure;
use app::sweep::CellFigures;
use experiment::{Hooks, Order, Outcomes};
use report::story::story;
use report::{Lang, Shown, page_data};
use result::measure::connections;
use result::{FlowKind, Measure, MeasureUnit, Quantity, Run, Statistic, Subject, VariantResult};
use scenario::Experiment;
use serde_json::Value;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use story_test::draw::draw;

/// Number of scenarios by default.
const DEFAULT_SCENARIOS: u64 = 60;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// Differences found, and the number of values compared for each surface.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    compared: BTreeMap<&'static str, u64>,
}

impl Found {
    /// Compares a surface's value of a measure with its definition.
    fn compare(&mut self, surface: &'static str, of: &str, is: Option<f64>, want: Option<f64>) {
        *self.compared.entry(surface).or_insert(0) += 1;
        if !same(is, want) {
            self.wrong.push(format!("{surface}: {of} is {is:?}, by its definition {want:?}"));
        }
    }
}

/// Returns whether the values agree to the last digit.
fn same(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs()),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// All measures of a variant: of the run, of both kinds of flows, of each flow and connection, of each stage.
fn measures(v: &VariantResult, experiment: &Experiment) -> Vec<Measure> {
    let mut subjects = vec![Subject::Run, Subject::Tcp, Subject::Datagrams];
    let flows = experiment.variants.iter().flat_map(|x| &x.scenario.flows).map(|f| f.name.clone());
    let mut names: Vec<String> = flows.chain(v.flows.iter().map(|f| f.name.clone())).collect();
    names.sort();
    names.dedup();
    subjects.extend(names.into_iter().map(Subject::Flow));
    let mut stages: Vec<&str> = v.elements.iter().filter_map(|e| e.name.split('@').next()).collect();
    stages.sort_unstable();
    stages.dedup();
    subjects.extend(stages.into_iter().map(|name| Subject::Element(name.into())));
    let mut all = Vec::new();
    for subject in subjects {
        for quantity in Quantity::ALL {
            let fits = match subject {
                Subject::Run => true,
                Subject::Element(_) => quantity.of_elements(),
                _ => quantity.of_flows(),
            };
            let statistics = Statistic::ALL.into_iter().filter(|s| match quantity {
                Quantity::Goodput => [Statistic::Min, Statistic::Mean, Statistic::Max].contains(s),
                other => other.has_distribution(),
            });
            let each = std::iter::once(None).chain(statistics.map(Some));
            all.extend(each.filter(|_| fits).map(|statistic| Measure {
                subject: subject.clone(),
                quantity,
                statistic,
            }));
        }
    }
    all
}

/// A bound in the measure's unit.
fn bound(measure: &Measure) -> &'static str {
    match measure.unit() {
        MeasureUnit::Mbps => "1Mbit/s",
        MeasureUnit::Millis => "1ms",
        MeasureUnit::Seconds => "1s",
        MeasureUnit::Percent => "1%",
        MeasureUnit::Packets | MeasureUnit::Plain => "1",
    }
}

/// Returns whether `--expect` refuses the measure, because results do not contain it.
fn is_refused(measure: &Measure, experiment: &Experiment) -> bool {
    let single = |name: &str| {
        experiment.variants.iter().flat_map(|v| &v.scenario.flows).any(|f| f.name == name && f.count == 1)
    };
    match (&measure.subject, measure.quantity, measure.statistic) {
        (Subject::Flow(name), Quantity::Completion, Some(_)) => single(name),
        (_, Quantity::Response | Quantity::Page, Some(Statistic::Min)) => true,
        // The simulator's own network card is not a stage of the scenario.
        (Subject::Element(name), ..) => !experiment.variants.iter().any(|v| {
            let links = v.scenario.links.iter();
            let mut names = links.flat_map(|l| {
                let names_in = |direction: &'static str, list: &'_ [scenario::NamedStage]| -> Vec<String> {
                    list.iter().map(|s| format!("{}.{direction}.{}", l.name, s.name)).collect()
                };
                [names_in("forward", &l.forward), names_in("backward", &l.backward)].concat()
            });
            names.any(|n| n == *name)
        }),
        _ => false,
    }
}

fn expectations(found: &mut Found, experiment: &Experiment, run: &Run, v: &VariantResult) {
    for measure in measures(v, experiment) {
        let name = measure.name();
        let read = Measure::parse(&name, |_| false);
        if read.as_ref() != Ok(&measure) {
            found.wrong.push(format!("{name} is read as {read:?}"));
        }
        let text = format!("{}/{name} < {}", v.name, bound(&measure));
        match app::expect::read(std::slice::from_ref(&text), experiment) {
            Ok(expected) => {
                let held = app::expect::hold(&expected, run);
                // A probe's delay is its round trip, under either name.
                let there = match &measure.subject {
                    Subject::Flow(flow) => connections(&v.flows, flow),
                    _ => Vec::new(),
                };
                let probes =
                    measure.quantity == Quantity::Delay && there.iter().any(|f| f.kind == FlowKind::Probe);
                let quantity = if probes { Quantity::Probe } else { measure.quantity };
                let want = Measure { quantity, ..measure.clone() }.of(v);
                if is_refused(&measure, experiment) {
                    found.wrong.push(format!("{text} should be refused"));
                }
                for held in held {
                    found.compare("--expect", &text, held.measured, want);
                }
            }
            Err(error) if !is_refused(&measure, experiment) => found.wrong.push(format!("{text}: {error}")),
            Err(_) => {}
        }
    }
}

/// Checks the figures in the page's tables, of a variant or of one of its flows.
fn figures(
    found: &mut Found,
    of: &str,
    shown: &Value,
    value: &dyn Fn(Quantity, Option<Statistic>) -> Option<f64>,
) {
    use Quantity::*;
    use Statistic::{Mean, P50, P95};
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    let list: [(&str, Quantity, Option<Statistic>, f64); 19] = [
        ("rtt_p50_ms", Rtt, Some(P50), 1.0),
        ("rtt_p95_ms", Rtt, Some(P95), 1.0),
        ("rtt_mean_ms", Rtt, Some(Mean), 1.0),
        ("completion_p50_s", Completion, Some(P50), 1.0),
        ("completion_p95_s", Completion, Some(P95), 1.0),
        ("response_p50_s", Response, Some(P50), 1.0),
        ("response_p95_s", Response, Some(P95), 1.0),
        ("page_p50_s", Page, Some(P50), 1.0),
        ("page_p95_s", Page, Some(P95), 1.0),
        ("delay_p50_ms", Delay, Some(P50), 1.0),
        ("delay_p95_ms", Delay, Some(P95), 1.0),
        ("probe_p50_ms", Probe, Some(P50), 1.0),
        ("probe_p95_ms", Probe, Some(P95), 1.0),
        ("mos", Mos, None, 1.0),
        ("jitter_ms", Jitter, None, 1.0),
        ("goodput_mbps", Goodput, None, 1.0),
        ("share", LimitShare, None, 100.0),
        ("jain_index", Jain, None, 1.0),
        ("lost", Lost, None, 100.0),
    ];
    for (key, quantity, statistic, scale) in list {
        let Some(is) = shown.get(key).map(|x| x.as_f64()) else {
            // A measure without a value is left out; some measures are in no table, such as the sum of flows
            // measured alone.
            let left_out = [Goodput, LimitShare, Jain, Lost, Jitter];
            if !left_out.contains(&quantity) {
                found.compare("table", &format!("{of} {key}"), None, finite(value(quantity, statistic)));
            }
            continue;
        };
        found.compare(
            "table",
            &format!("{of} {key}"),
            is.map(|x| x * scale),
            finite(value(quantity, statistic)),
        );
    }
    for (key, quantity) in [("resent", Resent), ("timeouts", Timeouts)] {
        found.compare(
            "table",
            &format!("{of} {key}"),
            shown[key].as_f64(),
            Some(value(quantity, None).unwrap_or(0.0)),
        );
    }
}

fn tables(found: &mut Found, run: &Run) {
    let shown = Shown { label: "", run, series: &[] };
    let data: Value = serde_json::from_str(&page_data(&[shown], Lang::En).json).expect("JSON");
    for (v, shown) in run.variants.iter().zip(data["results"][0]["figures"].as_array().expect("figures")) {
        let of = |quantity, statistic| {
            let measure = Measure { subject: Subject::Run, quantity, statistic };
            // The table's loss is TCP's, its jitter that of the worst datagram flow.
            match quantity {
                Quantity::Lost => measure.of_subject(Subject::Tcp).of(v),
                Quantity::Jitter => measure.of_subject(Subject::Datagrams).of(v),
                _ => measure.of(v),
            }
        };
        figures(found, &v.name, &shown["all"], &of);
        let all = &shown["all"];
        for (key, measure) in [
            ("tcp_mbps", Measure::new(Quantity::Goodput).of_subject(Subject::Tcp)),
            ("dropped", Measure::new(Quantity::Drops)),
            ("max_queue", Measure::new(Quantity::Queue)),
        ] {
            if let Some(is) = all.get(key) {
                found.compare("table", &format!("{} {key}", v.name), is.as_f64(), measure.of(v));
            }
        }
        for (flow, shown) in v.flows.iter().zip(shown["flows"].as_array().expect("flows")) {
            let of = |quantity, statistic| {
                Measure { subject: Subject::Flow(flow.name.clone()), quantity, statistic }.of(v)
            };
            figures(found, &format!("{}/{}", v.name, flow.name), shown, &of);
        }
        for (stage, shown) in shown["stages"].as_object().expect("stages") {
            for (key, quantity) in [("dropped", Quantity::Drops), ("max_queue", Quantity::Queue)] {
                let measure = Measure::new(quantity).of_subject(Subject::Element(stage.clone()));
                found.compare("table", &format!("{stage} {key}"), shown[key].as_f64(), measure.of(v));
            }
        }
    }
}

fn sweeps(found: &mut Found, v: &VariantResult) {
    let cell = CellFigures::of(v, 1);
    let finite = |m: Measure| m.of(v).filter(|x| x.is_finite());
    let one = |quantity| finite(Measure::new(quantity));
    let percent = |share: Option<f64>| share.map(|x| x * 100.0);
    for (what, is, want) in [
        ("total_goodput_mbps", Some(cell.total_goodput_mbps), one(Quantity::Goodput)),
        ("jain_index", cell.jain_index, one(Quantity::Jain)),
        ("sent_again", percent(cell.sent_again), one(Quantity::ResentShare)),
        ("rtt_p95_ms", cell.rtt_p95_ms, finite(Measure::at(Quantity::Rtt, Statistic::P95))),
        ("completion_s", cell.completion_s, finite(Measure::at(Quantity::Completion, Statistic::Mean))),
        ("dropped_packets", Some(cell.dropped_packets as f64), one(Quantity::Drops)),
        ("marked_packets", Some(cell.marked_packets as f64), one(Quantity::Marks)),
        ("max_queue_packets", Some(cell.max_queue_packets as f64), one(Quantity::Queue)),
    ] {
        found.compare("sweep", &format!("{} {what}", v.name), is, want);
    }
    for (flow, swept) in v.flows.iter().zip(&cell.flows) {
        let of = |quantity, statistic| {
            let subject = Subject::Flow(flow.name.clone());
            Measure { subject, quantity, statistic }.of(v).filter(|x| x.is_finite())
        };
        let delay = if flow.kind == FlowKind::Probe { Quantity::Probe } else { Quantity::Delay };
        let statistics = [Statistic::Min, Statistic::Mean, Statistic::P50, Statistic::P95];
        let mut list = vec![
            ("goodput_mbps", Some(swept.goodput_mbps), of(Quantity::Goodput, None)),
            ("completion_s", swept.completion_s, of(Quantity::Completion, None)),
            ("response_p95_s", swept.response_p95_s, of(Quantity::Response, Some(Statistic::P95))),
        ];
        for (i, statistic) in statistics.into_iter().enumerate() {
            list.push(("rtt_ms", swept.rtt_ms.map(|r| r[i]), of(Quantity::Rtt, Some(statistic))));
            list.push(("delay_ms", swept.delay_ms.map(|r| r[i]), of(delay, Some(statistic))));
        }
        for (what, is, want) in list {
            found.compare("sweep", &format!("{}/{} {what}", v.name, flow.name), is, want);
        }
    }
}

/// Checks the values that a study reads and that the summary keeps, for each repeat.
fn repeats(found: &mut Found, experiment: &Experiment, outcomes: &Outcomes, run: &Run) {
    for (v, of) in run.variants.iter().zip(&outcomes.variants) {
        for measure in measures(v, experiment) {
            let name = measure.name();
            let each: Vec<Option<f64>> = of.outcomes.iter().map(|o| measure.of(&o.variant)).collect();
            // In a study `tcp` and `udp` are names of flows.
            if !matches!(measure.subject, Subject::Tcp | Subject::Datagrams) {
                let study = StudyMeasure::parse(&name).expect("a measure");
                for (outcome, want) in of.outcomes.iter().zip(&each) {
                    found.compare("study", &name, study.of(outcome), *want);
                }
            }
            let Some(kept) = v.repeats.as_ref().and_then(|r| r.values.get(&name)) else { continue };
            for (is, want) in kept.iter().zip(&each) {
                found.compare("repeats", &name, Some(*is), *want);
            }
            if kept.len() != each.len() {
                found.wrong.push(format!("{name}: {} values of {} repeats", kept.len(), each.len()));
            }
        }
    }
}

/// Checks the measures by which the headline judges the baseline.
fn headlines(found: &mut Found, run: &Run) {
    let stated = story(&[("", run)]);
    if stated.alone {
        return;
    }
    let Some(baseline) = stated.about.first().map(|at| &run.variants[at[1]]) else { return };
    if baseline.one_at_a_time {
        return;
    }
    for judged in &stated.goals {
        found.compare("headline", &judged.measure.name(), judged.baseline, judged.measure.of(baseline));
    }
}

#[test]
fn every_surface_has_one_value_for_each_name() {
    let (count, first) = (number("LONGFAT_SURFACES", DEFAULT_SCENARIOS), number("LONGFAT_SURFACES_FROM", 1));
    let mut found = Found::default();
    for seed in first..first + count {
        let (text, few) = draw(seed);
        let repeats_of = if seed.is_multiple_of(6) { 3 } else { few };
        let experiment =
            Experiment::parse("drawn.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let order = Order { repeats: repeats_of, threads: NonZeroUsize::new(1), ..Order::default() };
        let outcomes = experiment::run(&experiment, &order, Hooks::default());
        assert!(outcomes.is_complete(), "{:?}\n{text}", outcomes.failed);
        let run = outcomes.run();
        let before = found.wrong.len();
        for v in &run.variants {
            expectations(&mut found, &experiment, &run, v);
            sweeps(&mut found, v);
        }
        tables(&mut found, &run);
        repeats(&mut found, &experiment, &outcomes, &run);
        headlines(&mut found, &run);
        for wrong in &mut found.wrong[before..] {
            *wrong = format!("seed {seed}: {wrong}");
        }
    }
    println!("{count} scenarios from seed {first}: {:?}", found.compared);
    let wrong = &found.wrong;
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
    for surface in ["--expect", "table", "sweep", "study", "repeats", "headline"] {
        assert!(found.compared.get(surface).is_some_and(|&n| n >= 10), "{surface}: {:?}", found.compared);
    }
}
