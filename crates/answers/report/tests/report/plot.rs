//! Plots, as SVG and PNG. `cargo xtask bless report` rewrites the golden files; look at them before you keep
//! them.

use report::plot::{Drawing, Input, KINDS, Lang, Look, PlotKind, Theme, compare, draw};
use result::topology::{PathLink, PathStage};
use result::{
    ElementPoint, ElementResult, ElementSeries, Estimate, FlowPoint, FlowResult, FlowSeries, Repeats, Resent,
    RttSummary, Topology, VariantResult,
};
use roxmltree::{Document, Node};

/// A variant with its series.
#[derive(Clone)]
struct Case {
    variant: VariantResult,
    flows: Vec<FlowSeries>,
    elements: Vec<ElementSeries>,
}

impl Case {
    fn draw(&self, kind: PlotKind, look: &Look) -> Option<Drawing> {
        draw(kind, &self.input("policer"), look)
    }

    fn input<'a>(&'a self, label: &'a str) -> Input<'a> {
        Input { variant: &self.variant, label, flows: &self.flows, elements: &self.elements }
    }
}

/// 8 Mbit/s for 10 s in samples of 100 ms, a timeout at 5 s, and RTTs of 20 ms then 40 ms.
fn flow(name: &str) -> FlowSeries {
    let mut s = FlowSeries::new(name);
    for i in 0..=100u32 {
        let state = match i {
            0..10 => "slow start",
            50..55 => "loss",
            _ => "avoidance",
        };
        let bytes = u64::from(i) * 100_000;
        s.push(FlowPoint {
            time_s: f64::from(i) / 10.0,
            delivered_bytes: bytes,
            sent_bytes: bytes + 20_000,
            acked_bytes: bytes,
            cwnd: u64::from(10 + i % 10),
            inflight: u64::from(8 + i % 10),
            rtt_ms: (i > 0).then(|| [20.0, 40.0][usize::from(i > 50)]),
            state,
            ..FlowPoint::default()
        });
    }
    s.resent = vec![
        Resent { time_s: 2.0, byte: 2_000_000, len: 1448, sender: 0 },
        Resent { time_s: 3.0, byte: 3_000_000, len: 1448, sender: 0 },
        Resent { time_s: 4.95, byte: 5_000_000, len: 1448, sender: 0 },
    ];
    s
}

fn case(flows: usize) -> Case {
    let name = |i| format!("bulk-{}", i + 1);
    let summary = |i| FlowResult {
        name: name(i),
        cc: "cubic".into(),
        goodput_mbps: 8.0,
        delivered_bytes: 10_000_000,
        sent_packets: 7000,
        mss_bytes: Some(1460),
        rtt_ms: RttSummary { min: 20.0, mean: 30.0, p50: 20.0, p95: 40.0, p99: 40.0, max: 40.0 },
        ..FlowResult::default()
    };
    let mut policer = ElementSeries { name: "wan.forward.policer".into(), ..ElementSeries::default() };
    for i in 0..=100 {
        policer.push(ElementPoint {
            time_s: i as f64 / 10.0,
            queue_packets: i % 5,
            queue_bytes: i % 5 * 1500,
            tokens_bytes: Some((i % 10) as f64 * 1000.0),
            dropped: i / 10,
            marked: 0,
        });
    }
    let elements = vec![policer];
    let stage = |kind: &str, settings: &[(&str, &str)]| PathStage {
        name: kind.into(),
        kind: kind.into(),
        settings: settings.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        assumed: false,
    };
    let wan = PathLink {
        name: "wan".into(),
        between: ["office".into(), "dc".into()],
        forward: vec![
            stage("policer", &[("rate", "10Mbit/s"), ("burst", "20kB")]),
            stage("delay", &[("delay", "10ms")]),
        ],
        backward: vec![stage("delay", &[("delay", "10ms")])],
    };
    let element = ElementResult {
        name: "wan.forward.policer".into(),
        kind: "policer".into(),
        dropped_packets: 10,
        max_queue_packets: 4,
        ..ElementResult::default()
    };
    let variant = VariantResult {
        name: "policer".into(),
        duration_s: 10.0,
        flows: (0..flows).map(summary).collect(),
        elements: vec![element],
        total_goodput_mbps: 8.0 * flows as f64,
        limit_mbps: Some(10.0),
        path: Some(Topology { hosts: vec!["office".into(), "dc".into()], links: vec![wan], relays: vec![] }),
        ..VariantResult::default()
    };
    Case { variant, flows: (0..flows).map(|i| flow(&name(i))).collect(), elements }
}

/// The stroked or filled paths of a colour, as absolute points of each subpath.
fn paths(document: &Document, attribute: &str, color: &str) -> Vec<Vec<Vec<(f64, f64)>>> {
    let is_path = |n: &Node| n.has_tag_name("path") && n.attribute(attribute) == Some(color);
    document.descendants().filter(is_path).map(|n| trace(n.attribute("d").unwrap())).collect()
}

/// The points of a path; supports the commands that the plots write: M l h v z.
fn trace(d: &str) -> Vec<Vec<(f64, f64)>> {
    let spaced: String =
        d.chars().map(|c| if c.is_alphabetic() { format!(" {c} ") } else { c.to_string() }).collect();
    let spaced = spaced.replace('-', " -");
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut command = ' ';
    let mut tokens = spaced.split_whitespace().peekable();
    let mut at = (0.0, 0.0);
    while let Some(token) = tokens.peek() {
        if let Some(c) = token.chars().next().filter(|c| c.is_alphabetic()) {
            command = c;
            tokens.next();
            continue;
        }
        let mut number = || tokens.next().unwrap().parse::<f64>().unwrap();
        match command {
            'M' => {
                at = (number(), number());
                runs.push(Vec::new());
            }
            'h' => at.0 += number(),
            'v' => at.1 += number(),
            'l' => at = (at.0 + number(), at.1 + number()),
            c => panic!("a command that plots do not write: {c}"),
        }
        runs.last_mut().unwrap().push(at);
    }
    runs
}

fn texts(document: &Document) -> Vec<String> {
    let is_text = |n: &Node| n.has_tag_name("text");
    document.descendants().filter(is_text).map(|n| n.text().unwrap_or("").to_string()).collect()
}

/// The y position of a label of the left axis: the middle of its text.
fn level(document: &Document, label: &str) -> f64 {
    let is_label = |n: &Node| n.attribute("text-anchor") == Some("end") && n.text() == Some(label);
    let node = document.descendants().find(is_label).unwrap_or_else(|| panic!("no {label}"));
    node.attribute("y").unwrap().parse::<f64>().unwrap() - 4.0
}

const BLUE: &str = "#006dbe";

fn svg(case: &Case, kind: PlotKind) -> String {
    case.draw(kind, &Look::default()).expect("something to show").svg()
}

#[test]
fn a_constant_rate_is_a_horizontal_line_at_its_value() {
    let svg = svg(&case(1), PlotKind::Throughput);
    let document = Document::parse(&svg).unwrap();
    let runs = paths(&document, "stroke", BLUE);
    // The legend's swatch, then the line.
    let line = &runs.last().unwrap()[0];
    let (zero, ten) = (level(&document, "0"), level(&document, "10"));
    let want = zero + (ten - zero) * 0.8;
    assert!(line.iter().all(|p| (p.1 - want).abs() < 0.11), "8 Mbit/s is at {want}: {line:?}");
    assert!(texts(&document).contains(&"limit 10 Mbit/s".to_string()));
    let limit = paths(&document, "stroke", "#3c4043");
    assert!(limit.iter().any(|runs| (runs[0][0].1 - ten).abs() < 0.11), "{limit:?}");
}

#[test]
fn several_flows_have_a_total() {
    let svg = svg(&case(3), PlotKind::Throughput);
    let document = Document::parse(&svg).unwrap();
    let (zero, twenty) = (level(&document, "0"), level(&document, "20"));
    let total = paths(&document, "stroke", "#1a1a1a");
    let want = zero + (twenty - zero) * 1.2;
    assert!(total.last().unwrap()[0].iter().all(|p| (p.1 - want).abs() < 0.11), "24 Mbit/s: {total:?}");
    assert!(texts(&document).contains(&"total".to_string()));
}

#[test]
fn retransmissions_are_marked_once_and_timeouts_separately() {
    let svg = svg(&case(1), PlotKind::Sequence);
    let document = Document::parse(&svg).unwrap();
    // The swatch and the marks: two ticks, and two strokes for each cross.
    let count = |color| paths(&document, "stroke", color).iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(count("#e8333a"), [1, 2]);
    assert_eq!(count("#8e0b3a"), [2, 2]);
    let want = level(&document, "2");
    let ticks = &paths(&document, "stroke", "#e8333a")[1];
    let middle = (ticks[0][0].1 + ticks[0][1].1) / 2.0;
    assert!((middle - want).abs() < 0.2, "2 MB at {want}, not {middle}");
}

#[test]
fn drops_are_bars_of_their_bin() {
    let svg = svg(&case(1), PlotKind::Drops);
    let document = Document::parse(&svg).unwrap();
    let bars = paths(&document, "fill", "#e8333a");
    assert_eq!(bars.last().unwrap().len(), 10, "a drop a second");
    assert!(texts(&document).contains(&"packets per 200 ms".to_string()));
}

#[test]
fn states_are_as_wide_as_their_duration() {
    let svg = svg(&case(1), PlotKind::States);
    let document = Document::parse(&svg).unwrap();
    let width = |color| {
        let ribbon = paths(&document, "fill", color).last().unwrap().clone();
        ribbon.iter().map(|r| r[1].0 - r[0].0).sum::<f64>()
    };
    let (timeout, slow_start, avoidance) = (width("#8e0b3a"), width("#e69f00"), width("#8fbfe0"));
    let whole = timeout + slow_start + avoidance;
    assert!((timeout / whole - 0.05).abs() < 0.002 && (slow_start / whole - 0.1).abs() < 0.002);
    assert!(texts(&document).contains(&"timeout".to_string()));
}

#[test]
fn the_bdp_is_drawn_with_the_window() {
    // 10 Mbit/s × 20 ms = 25000 B, 16.7 packets of 1500 B.
    let svg = svg(&case(1), PlotKind::Cwnd);
    let document = Document::parse(&svg).unwrap();
    assert!(texts(&document).contains(&"BDP (17 packets)".to_string()));
    let mut far = case(1);
    far.variant.limit_mbps = Some(10_000.0);
    let text = svg_text(&far, PlotKind::Cwnd);
    assert!(text.iter().any(|t| t == "BDP (16667 packets), outside the axis"), "{text:?}");
}

fn svg_text(case: &Case, kind: PlotKind) -> Vec<String> {
    texts(&Document::parse(&svg(case, kind)).unwrap())
}

#[test]
fn the_path_shows_stages_and_their_drops() {
    let text = svg_text(&case(1), PlotKind::Path);
    for want in ["office", "dc", "wan", "policer", "rate 10Mbit/s", "delay 10ms", "drops 10", "queue ≤ 4"] {
        assert!(text.iter().any(|t| t == want), "{want} is missing: {text:?}");
    }
}

#[test]
fn a_stage_missing_from_the_scenario_is_marked_as_assumed() {
    let mut case = case(1);
    let link = &mut case.variant.path.as_mut().unwrap().links[0];
    link.forward[0] =
        PathStage { name: "cable".into(), kind: "link".into(), assumed: true, ..link.forward[0].clone() };
    let texts = svg_text(&case, PlotKind::Path);
    assert!(texts.iter().any(|t| t == "assumed network card"), "{texts:?}");
    assert!(texts.iter().all(|t| !t.contains("cable")), "{texts:?}");
}

#[test]
fn the_largest_of_many_flows_are_drawn_and_the_rest_counted() {
    let mut many = case(20);
    for (i, flow) in many.variant.flows.iter_mut().enumerate() {
        flow.delivered_bytes = 1_000_000 + (i as u64 % 10) * 1000;
    }
    let text = svg_text(&many, PlotKind::Rtt);
    assert!(text.contains(&"and 12 more".to_string()), "{text:?}");
    let drawn: Vec<&String> = text.iter().filter(|t| t.starts_with("bulk-")).collect();
    assert_eq!(drawn, ["bulk-7", "bulk-8", "bulk-9", "bulk-10", "bulk-17", "bulk-18", "bulk-19", "bulk-20"]);
}

#[test]
fn without_data_there_is_no_plot() {
    let empty = Case { variant: VariantResult::default(), flows: vec![], elements: vec![] };
    let mut nothing = case(1);
    nothing.flows[0] = FlowSeries::new("bulk-1");
    nothing.elements[0] = ElementSeries::default();
    nothing.variant.path = None;
    let mut odd = case(1);
    odd.variant.duration_s = f64::NAN;
    odd.flows[0].time_s = vec![f64::NAN, f64::INFINITY];
    odd.elements.clear();
    for kind in KINDS {
        assert!(empty.draw(kind, &Look::default()).is_none(), "{}", kind.name());
        assert!(nothing.draw(kind, &Look::default()).is_none(), "{}", kind.name());
        if let Some(drawing) = odd.draw(kind, &Look::default()) {
            Document::parse(&drawing.svg()).unwrap();
        }
    }
    assert!(compare(&[], &Look::default()).is_none());
    assert!(compare(&[empty.input("idle")], &Look::default()).is_some(), "nothing moved: that is a result");
}

#[test]
fn hostile_names_stay_text_in_their_place() {
    let long = "x".repeat(10_000);
    let names =
        ["</script><script>alert(1)</script>", "a\"b'c&d", "\u{0}\u{1b}[2J", "\u{202e}evil\u{2066}", &long];
    for name in names {
        let mut case = case(1);
        case.variant.flows[0].name = name.into();
        case.flows[0].name = name.into();
        case.flows[0].states = vec![name.into(), "avoidance".into(), "loss".into()];
        case.elements[0].name = name.into();
        let path = case.variant.path.as_mut().unwrap();
        path.hosts[0] = name.into();
        path.links[0].between[0] = name.into();
        path.links[0].name = name.into();
        path.links[0].forward[0].kind = name.into();
        path.links[0].forward[1].settings.insert("rate".into(), name.into());
        let drawings = KINDS.iter().map(|&k| draw(k, &case.input(name), &Look::default()).unwrap());
        for drawing in drawings.chain(compare(&[case.input(name)], &Look::default())) {
            let svg = drawing.svg();
            let document = Document::parse(&svg).expect("valid XML");
            assert!(document.descendants().all(|n| !n.has_tag_name("script")));
            assert!(
                !svg.contains('\u{202e}') && !svg.contains('\u{1b}') && svg.len() < 60_000,
                "{}",
                svg.len()
            );
            assert!(drawing.size().0 < 1100.0, "{:?}", drawing.size());
            assert!(document.root_element().attribute("viewBox").is_some() && !svg.contains("href"));
            assert!(drawing.png(1.0).len() > 1000);
        }
    }
}

#[test]
fn both_themes_and_languages_draw_everything() {
    for theme in [Theme::Light, Theme::Dark] {
        for lang in [Lang::En, Lang::Zh] {
            for width in [320.0, 900.0, 1600.0] {
                let look = Look { theme, lang, width };
                let case = case(3);
                let all = KINDS.iter().map(|&k| case.draw(k, &look).unwrap());
                for drawing in all.chain(compare(&[case.input("a"), case.input("b")], &look)) {
                    inside(&drawing);
                    if width == 900.0 {
                        check_png(&drawing, theme);
                    }
                }
            }
        }
    }
}

/// Checks that no point and no text anchor lies outside the drawing.
fn inside(drawing: &Drawing) {
    let svg = drawing.svg();
    let document = Document::parse(&svg).unwrap();
    let (width, height) = drawing.size();
    let fits = |(x, y): (f64, f64)| x >= 0.0 && y >= 0.0 && x <= width + 0.1 && y <= height + 0.1;
    for node in document.descendants() {
        if node.has_tag_name("text") {
            let number = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
            assert!(fits((number("x"), number("y"))), "{:?} of {width} × {height}", node.text());
        }
        if let Some(d) = node.attribute("d").filter(|_| node.attribute("stroke").is_some()) {
            assert!(trace(d).iter().flatten().all(|&p| fits(p)), "{d}");
        }
    }
}

fn check_png(drawing: &Drawing, theme: Theme) {
    let png = drawing.png(1.5);
    let map = tiny_skia::Pixmap::decode_png(&png).expect("a PNG");
    let (width, height) = drawing.size();
    let want = ((width * 1.5).round() as u32, (height * 1.5).round() as u32);
    assert_eq!((map.width(), map.height()), want);
    let ground = map.pixel(0, 0).unwrap();
    assert_eq!(ground.red() > 128, theme == Theme::Light);
    let inked = map.pixels().iter().filter(|&&p| p != ground).count();
    let share = inked as f64 / map.pixels().len() as f64;
    assert!((0.005..0.9).contains(&share), "{share} of the picture is drawn");
}

#[test]
fn extreme_scales_are_clamped() {
    let drawing = case(1).draw(PlotKind::Rtt, &Look::default()).unwrap();
    for scale in [f64::NAN, -1.0, 0.0] {
        assert!(tiny_skia::Pixmap::decode_png(&drawing.png(scale)).is_ok());
    }
}

#[test]
fn repeats_have_intervals_and_single_flows_have_rows() {
    let mut repeated = case(1);
    let total_goodput_mbps = Estimate { mean: 8.0, ci95: 0.5 };
    repeated.variant.repeats = Some(Repeats { n: 5, total_goodput_mbps, ..Repeats::default() });
    let mut alone = case(2);
    alone.variant.one_at_a_time = true;
    let drawing = compare(&[repeated.input("five"), alone.input("alone")], &Look::default()).unwrap();
    let svg = drawing.svg();
    let text = texts(&Document::parse(&svg).unwrap());
    for want in ["five", "8.0 ± 0.5", "alone · bulk-1", "alone · bulk-2", "20 – 40"] {
        assert!(text.iter().any(|t| t == want), "{want} is missing: {text:?}");
    }
}

#[test]
fn a_million_samples_are_a_small_file() {
    let mut big = case(1);
    let n = 1_000_000u32;
    let s = &mut big.flows[0];
    *s = FlowSeries::new("bulk-1");
    for i in 0..n {
        let noise = i.wrapping_mul(2_654_435_761) >> 20;
        s.push(FlowPoint {
            time_s: f64::from(i) * 1e-5,
            delivered_bytes: u64::from(i) * 10,
            sent_bytes: u64::from(i) * 10 + u64::from(noise),
            acked_bytes: u64::from(i) * 10,
            cwnd: u64::from(10 + noise),
            inflight: u64::from(noise),
            rtt_ms: Some(20.0 + f64::from(noise) / 100.0),
            state: if noise % 3 == 0 { "avoidance" } else { "recovery" },
            ..FlowPoint::default()
        });
    }
    s.resent = (0..n)
        .map(|i| Resent { time_s: f64::from(i) * 1e-5, byte: u64::from(i) * 10, len: 10, sender: 0 })
        .collect();
    for kind in KINDS {
        let size = svg(&big, kind).len();
        assert!(size < 300_000, "{}: {size} bytes", kind.name());
    }
}

fn golden(name: &str, got: &str) {
    xtask::compare(&format!("crates/answers/report/tests/golden/plot/{name}.svg"), got);
}

#[test]
fn drawings_match_the_golden_files() {
    let look = Look { width: 480.0, ..Look::default() };
    let zh = Look { lang: Lang::Zh, theme: Theme::Dark, ..look };
    golden("throughput", &case(2).draw(PlotKind::Throughput, &look).unwrap().svg());
    golden("path", &case(1).draw(PlotKind::Path, &zh).unwrap().svg());
    golden("compare", &compare(&[case(1).input("policer"), case(2).input("shaper")], &look).unwrap().svg());
}
