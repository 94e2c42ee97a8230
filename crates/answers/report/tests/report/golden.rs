//! The terminal's text compared with golden files. `cargo xtask bless report` rewrites them; review the
//! difference before you keep it.

use report::{GroupBy, Grouping, Style, text};
use result::{
    DelaySummary, ElementResult, Estimate, FlowKind, FlowRepeats, FlowResult, FlowSeries, Outcome, RealTime,
    Repeats, RttSummary, Run, TimesSummary, VariantResult,
};

/// A flow with a saw-tooth goodput around `mbps` with a period of `period` seconds.
fn flow(name: &str, cc: &str, mbps: f64, period: f64) -> (FlowResult, FlowSeries) {
    let time_s: Vec<f64> = (0..=300).map(|i| i as f64 / 10.0).collect();
    let rate = |t: f64| if period > 0.0 { mbps * (0.4 + 1.2 * (t / period).fract()) } else { mbps };
    let mut sum = 0.0;
    let delivered_bytes = time_s.iter().map(|&t| {
        sum += rate(t) * 1e6 / 8.0 / 10.0;
        sum as u64
    });
    let series = FlowSeries {
        name: name.into(),
        delivered_bytes: delivered_bytes.collect(),
        time_s,
        ..Default::default()
    };
    let sent = (mbps * 30.0 * 1e6 / 8.0 / 1448.0) as u64;
    let flow = FlowResult {
        name: name.into(),
        from: "office".into(),
        to: "dc".into(),
        cc: cc.into(),
        kind: if cc == "udp" { FlowKind::Datagrams } else { FlowKind::Tcp },
        goodput_mbps: mbps,
        sent_packets: sent,
        retransmitted_packets: sent / 200,
        rtt_ms: match cc {
            "udp" => RttSummary::default(),
            _ => RttSummary { min: 30.0, mean: 33.0, p50: 31.4, p95: 48.2, p99: 55.0, max: 61.0 },
        },
        timeouts: (mbps < 5.0) as u64 * 3,
        lost_packets: Some(sent / 210),
        ..Default::default()
    };
    (flow, series)
}

fn element(name: &str, dropped: u64, queue: u64) -> ElementResult {
    ElementResult {
        name: name.into(),
        kind: name.rsplit('.').next().unwrap_or_default().into(),
        passed_packets: 50_000,
        dropped_packets: dropped,
        max_queue_packets: queue,
        delay_ms: DelaySummary { mean: 2.0, max: 60.0 },
        ..Default::default()
    }
}

fn outcome(name: &str, flows: Vec<(FlowResult, FlowSeries)>, elements: Vec<ElementResult>) -> Outcome {
    let (flows, flow_series): (Vec<FlowResult>, Vec<FlowSeries>) = flows.into_iter().unzip();
    let shares: Vec<f64> = flows.iter().filter(|f| f.kind == FlowKind::Tcp).map(|f| f.goodput_mbps).collect();
    let variant = VariantResult {
        name: name.into(),
        duration_s: 30.0,
        total_goodput_mbps: flows.iter().map(|f| f.goodput_mbps).sum(),
        jain_index: (shares.len() > 1).then(|| result::jain(&shares)),
        flows,
        elements,
        ..Default::default()
    };
    Outcome { variant, flow_series, element_series: vec![] }
}

fn print(outcomes: &[Outcome], style: Style) -> String {
    let variants = outcomes.iter().map(|o| o.variant.clone()).collect();
    let run = Run { scenario: "test".into(), seed: 1, variants, ..Run::default() };
    let series: Vec<&[FlowSeries]> = outcomes.iter().map(|o| o.flow_series.as_slice()).collect();
    text(&run, &series, style)
}

fn check(name: &str, got: &str, width: usize) {
    use unicode_width::UnicodeWidthStr;
    for line in got.lines() {
        assert!(line.width() <= width, "{} columns: {line}", line.width());
        assert_eq!(line, line.trim_end(), "no trailing spaces");
    }
    xtask::compare(&format!("crates/answers/report/tests/golden/{name}.txt"), got);
}

fn policer_and_shaper() -> Vec<Outcome> {
    let mut all = vec![
        outcome(
            "policer",
            vec![flow("bulk", "cubic", 4.1, 5.0)],
            vec![element("wan.forward.policer", 812, 0)],
        ),
        outcome(
            "policer-bbr",
            vec![flow("bulk", "bbr", 13.4, 8.0)],
            vec![element("wan.forward.policer", 12_345, 0)],
        ),
        outcome(
            "shaper",
            vec![flow("bulk", "cubic", 19.1, 0.0)],
            vec![element("wan.forward.shaper", 61, 254)],
        ),
    ];
    for o in &mut all {
        o.variant.limit_mbps = Some(20.0);
    }
    all
}

#[test]
fn variants_side_by_side() {
    check("variants", &print(&policer_and_shaper(), Style::default()), 80);
}

#[test]
fn several_flows_all_columns_still_fit() {
    let mut o = outcome(
        "three-senders-through-one-policer",
        vec![flow("cubic", "cubic", 4.1, 5.0), flow("bbr", "bbr", 13.4, 8.0), flow("voice", "udp", 0.1, 0.0)],
        vec![element("wan.forward.policer", 12_345, 1000)],
    );
    o.variant.limit_mbps = Some(20.0);
    let text = print(&[o], Style::default());
    for head in ["total", "limit", "per flow", "Jain", "lost", "resent", "RTO", "p50/p95", "drops", "queue"] {
        assert!(text.contains(head), "{head} is missing:\n{text}");
    }
    check("flows", &text, 80);
}

#[test]
fn many_flows_are_summed_up() {
    let flows = (1..=24).map(|i| flow(&format!("bulk-{i}"), "cubic", 0.5 + i as f64 / 50.0, 5.0)).collect();
    check("many", &print(&[outcome("crowd", flows, vec![])], Style::default()), 80);
}

/// Twelve flows with each of two congestion controls; all of them complete.
fn two_controls(name: &str) -> Outcome {
    let numbered = |i: u32| {
        let (name, cc) = if i < 12 { ("a", "cubic") } else { ("b", "bbr") };
        let (mut f, s) = flow(&format!("{name}-{}", i % 12 + 1), cc, 0.4 + f64::from(i) / 50.0, 5.0);
        f.completion_s = Some(4.0 + f64::from(i) / 10.0);
        (f, s)
    };
    let mut o = outcome(name, (0..24).map(numbered).collect(), vec![element("wan.forward.policer", 812, 0)]);
    o.variant.limit_mbps = Some(20.0);
    o
}

#[test]
fn many_flows_are_shown_in_groups() {
    let names = ["through-the-same-long-policer-10ms", "through-the-same-long-policer-100ms"];
    let all = names.map(two_controls);
    let text = print(&all, Style::default());
    check("groups", &text, 80);
    for part in ["…10ms", "…100ms", "12 cubic", "12 bbr", "done s"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let none = print(&all, Style { grouping: Grouping::None, ..Style::default() });
    assert!(!none.contains("12 bbr"), "{none}");
    let by_name = print(&all, Style { grouping: Grouping::By(GroupBy::Name), ..Style::default() });
    assert!(by_name.contains("12 a") && by_name.contains("12 b"), "{by_name}");
    let wide = print(&all, Style { width: 160, ..Style::default() });
    assert!(names.iter().all(|n| wide.contains(n)) && wide.contains("drops"), "{wide}");
}

#[test]
fn calls_pages_and_both_protocols_have_columns() {
    let spread = |p50| TimesSummary { count: 9, p50, p95: 3.0 * p50, ..TimesSummary::default() };
    let mut o = outcome("mixed", vec![flow("web", "cubic", 4.1, 5.0), flow("call", "udp", 0.1, 0.0)], vec![]);
    let v = &mut o.variant;
    (v.tcp_goodput_mbps, v.udp_goodput_mbps) = (Some(4.1), Some(0.1));
    (v.response_s, v.page_s) = (Some(spread(0.21)), Some(spread(1.4)));
    v.flows[0].unfinished = true;
    let delay_ms = RttSummary { p50: 21.0, p95: 48.0, max: 60.0, ..RttSummary::default() };
    v.flows[1].real_time =
        Some(RealTime { delay_ms, jitter_ms: 3.4, lost: 0.012, mos: Some(3.9), ..RealTime::default() });
    let text = print(&[o], Style { width: 200, ..Style::default() });
    check("mixed", &text, 200);
    let head = text.lines().find(|line| line.starts_with("variant")).unwrap_or_default();
    for column in ["TCP", "UDP", "MOS", "page s", "resp. s", "not", "delay ms", "jitter"] {
        assert!(head.contains(column), "{column} is missing:\n{text}");
    }
}

#[test]
fn flows_measured_one_at_a_time_have_their_own_rows() {
    let one = |variant: &str, name: &str, mbps: f64, drops: u64| {
        let mut o = outcome(
            variant,
            vec![flow(name, "cubic", mbps, 5.0)],
            vec![element("wan.stage", drops, drops / 9)],
        );
        o.variant.limit_mbps = Some(20.0);
        (name.to_string(), o)
    };
    let all = [
        result::concat(vec![one("policed", "up", 4.1, 900), one("policed", "down", 18.9, 9)]),
        result::concat(vec![one("shaped", "up", 19.0, 90), one("shaped", "down", 19.1, 18)]),
    ];
    check("one-at-a-time", &print(&all, Style::default()), 80);
}

#[test]
fn repeats_show_intervals() {
    let mut all = policer_and_shaper();
    for o in &mut all {
        let e = Estimate { mean: o.variant.total_goodput_mbps, ci95: 0.31 };
        o.variant.repeats =
            Some(Repeats { n: 5, seeds: vec![1, 2, 3, 4, 5], total_goodput_mbps: e, ..Default::default() });
        o.variant.flows[0].repeats = Some(FlowRepeats { goodput_mbps: e, ..Default::default() });
    }
    check("repeats", &print(&all, Style::default()), 80);
}

#[test]
fn identical_runs_have_no_interval() {
    let mut all = policer_and_shaper();
    for o in &mut all {
        o.variant.repeats = Some(Repeats { n: 5, identical: true, ..Default::default() });
    }
    let text = print(&all, Style::default());
    assert!(text.contains("\n5 identical runs, as nothing in them is random\n"), "{text}");
    assert!(!text.contains('±'), "{text}");
    let e = Estimate { mean: all[0].variant.total_goodput_mbps, ci95: 0.31 };
    all[0].variant.repeats = Some(Repeats { n: 5, total_goodput_mbps: e, ..Default::default() });
    let text = print(&all, Style::default());
    let name = &all[1].variant.name;
    assert!(text.contains("means of 5 repeats, ± the 95 % interval\n"), "{text}");
    assert!(text.contains(&format!("5 identical runs, as nothing in them is random: {name}")), "{text}");
    assert!(text.contains("±0."), "{text}");
}

#[test]
fn strange_names_and_nothing_to_show() {
    let odd = outcome(
        "\x1b[2J日本語の回線シミュレーションとても長い名前",
        vec![flow("\u{7}bell", "cubic", 4.1, 5.0)],
        vec![],
    );
    check("odd", &print(&[odd, outcome("idle", vec![], vec![])], Style::default()), 80);
}

#[test]
fn colour_does_not_change_the_text() {
    let plain = print(&policer_and_shaper(), Style::default());
    let colored = print(&policer_and_shaper(), Style { color: true, ..Style::default() });
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once("\x1b[") {
        stripped += before;
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(stripped + rest, plain);
}
