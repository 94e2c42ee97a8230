//! Tests of each clause with a result for which it holds and one for which it does not.

use super::*;
use result::jain;
use result::topology::{PathLink, PathRelay, PathStage, Setting, Topology};
use result::{
    Clock, DelaySummary, ElementResult, FlowKind, FlowResult, Limitation, LimitationEffect, LimitationKind,
    LimitationSilence, Quantity, RealTime, RttSummary, StateTime, Statistic, TimesSummary, TriedSuspect,
    VariantResult,
};
use std::collections::BTreeMap;

fn settings(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}

/// A 20 Mbit/s limiter of `kind` and one flow through it.
fn variant(name: &str, kind: &str, cc: &str, mbps: f64, rtt: f64, drops: u64) -> VariantResult {
    let rtt_ms = RttSummary { min: 30.0, mean: rtt, p50: rtt, p95: rtt, p99: rtt, max: rtt };
    let flow = FlowResult {
        name: "bulk".into(),
        from: "a".into(),
        to: "b".into(),
        cc: cc.into(),
        app: "bulk".into(),
        goodput_mbps: mbps,
        delivered_bytes: 1,
        active_s: 10.0,
        sent_packets: 10_000,
        lost_packets: Some(drops),
        retransmitted_packets: drops,
        rtt_ms,
        limit_mbps: Some(20.0),
        ..FlowResult::default()
    };
    let element = ElementResult {
        name: "wan.forward.limiter".into(),
        kind: kind.into(),
        passed_packets: 10_000 - drops,
        dropped_packets: drops,
        max_queue_packets: 77,
        delay_ms: DelaySummary { mean: 1.0, max: 3000.0 },
        ..ElementResult::default()
    };
    let stage = PathStage {
        name: "limiter".into(),
        kind: kind.into(),
        settings: settings(&[("rate", "20Mbit/s")]),
        assumed: false,
    };
    let between = ["a".into(), "b".into()];
    let link = PathLink { name: "wan".into(), between, forward: vec![stage], backward: vec![] };
    let path = Topology { hosts: vec!["a".into(), "b".into()], links: vec![link], relays: vec![] };
    VariantResult {
        name: name.into(),
        flows: vec![flow],
        elements: vec![element],
        total_goodput_mbps: mbps,
        jain_index: None,
        limit_mbps: Some(20.0),
        path: Some(path),
        ..VariantResult::default()
    }
}

/// Adds a flow of datagrams to a variant.
fn with_udp(mut v: VariantResult, mbps: f64, lost: u64, delay: f64, mos: Option<f64>) -> VariantResult {
    let delay_ms = RttSummary { min: 5.0, mean: delay, p50: delay, p95: delay, p99: delay, max: delay };
    let real_time = RealTime { delay_ms, mos, ..RealTime::default() };
    let cc = "udp".into();
    let name = "call".into();
    let (lost_packets, real_time) = (Some(lost), Some(real_time));
    let app = if mos.is_some() { "voice" } else { "udp" }.into();
    let base = v.flows[0].clone();
    v.flows.push(FlowResult {
        name,
        cc,
        kind: FlowKind::Datagrams,
        app,
        goodput_mbps: mbps,
        lost_packets,
        real_time,
        rtt_ms: RttSummary::default(),
        ..base
    });
    v
}

fn stage(v: &mut VariantResult) -> &mut PathStage {
    &mut v.path.as_mut().unwrap().links[0].forward[0]
}

fn run(goals: &[Goal], baseline: Option<&str>, variants: Vec<VariantResult>) -> Run {
    let (goals, baseline) = (goals.to_vec(), baseline.map(str::to_string));
    Run { scenario: "s".into(), seed: 1, goals, baseline, variants, ..Run::default() }
}

/// Removes direction marks and no-break spaces.
fn plain(text: &str) -> String {
    text.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ")
}

fn text_for(goals: &[Goal], variants: Vec<VariantResult>, lang: Lang) -> String {
    plain(&story(&[("s", &run(goals, None, variants))]).text(lang))
}

fn text_of(variants: Vec<VariantResult>) -> String {
    text_for(&[], variants, Lang::En)
}

/// Asserts that the text contains each part, whatever the case.
fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.to_lowercase().contains(&part.to_lowercase()), "{part}\n{text}");
    }
}

fn lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part}\n{text}");
    }
}

fn three() -> Vec<VariantResult> {
    let mut policed = variant("policed", "policer", "cubic", 4.0, 31.0, 120);
    policed.flows[0].timeout_wait = Some(0.41);
    vec![
        policed,
        variant("shaped", "shaper", "cubic", 18.0, 50.0, 10),
        variant("bbr", "policer", "bbr", 19.0, 31.0, 700),
        variant("slow", "shaper", "bbr", 19.2, 40.0, 0),
    ]
}

#[test]
fn the_story_has_cause_remedy_and_cost() {
    assert_eq!(
        text_of(three()),
        "“policed” achieves 4.00 Mbit/s, 20.0 % of its limit; for goodput, “slow” achieves 19.2 Mbit/s, 4.8 times as much. \
         The policer at wan.forward.limiter dropped 1.20 % of the packets. CUBIC spent 41 % of the time waiting for \
         timeouts. “slow”: a shaper of the same rate with 1000 packets instead of a policer and BBR instead of CUBIC. \
         “slow” also improves: TCP loses 0 % of its packets instead of 1.20 %."
    );
    let chinese = text_for(&[], three(), Lang::Zh);
    assert!(
        chinese.starts_with(
            "“policed”的有效吞吐量为 4.00 Mbit/s，即限速的 20.0 %；按有效吞吐量，“slow”的 TCP 有效吞吐量为 19.2 Mbit/s，是它的 4.8 倍。"
        ),
        "{chinese}"
    );
    has(&chinese, &["“slow”：用同速率的流量整形（1000 个包）代替流量监管，用 BBR 代替 CUBIC。"]);
}

#[test]
fn costs_are_named_and_the_best_variant_without_costs_too() {
    let mut list = three();
    list.pop();
    list[1].flows[0].goodput_mbps = 15.0;
    let text = text_of(list.clone());
    has(
        &text,
        &[
            "BBR instead of CUBIC (“bbr”) achieves 19.0 Mbit/s, 4.8 times as much",
            "“bbr” costs: TCP loses 7.00 % of its packets instead of 1.20 %",
        ],
    );
    // The shaper costs something too (50 ms instead of 31 ms), and loses least.
    has(
        &text,
        &["With “shaped” TCP loses 0.10 % of its packets instead of 1.20 %, but the p95 RTT is 50 ms"],
    );
    list[1].flows[0].rtt_ms.p95 = 35.0;
    let text = text_of(list);
    has(&text, &["“shaped” achieves 15.0 Mbit/s, 3.8 times as much"]);
}

#[test]
fn the_baseline_is_the_stated_variant_else_the_first() {
    let text_for = |name| plain(&story(&[("s", &run(&[], name, three()))]).text(Lang::En));
    assert!(text_for(Some("shaped")).starts_with("“shaped” achieves 18.0 Mbit/s"));
    assert!(text_for(Some("not run")).starts_with("“policed”"));
    assert!(text_for(None).starts_with("“policed”"));
    // The baseline is not chosen because it has the least goodput.
    let mut list = three();
    list.rotate_left(1);
    assert!(text_of(list).starts_with("“shaped”"));
}

#[test]
fn delay_is_judged_by_its_95th_percentile() {
    let mut fifo = variant("fifo", "rate-trace", "cubic", 10.0, 180.0, 0);
    fifo.flows[0].rtt_ms.p95 = 2290.0;
    let mut codel = variant("codel", "rate-trace", "cubic", 6.7, 170.0, 90);
    codel.flows[0].rtt_ms.p95 = 214.0;
    stage(&mut codel).settings = settings(&[("queue.kind", "codel")]);
    stage(&mut fifo).settings = settings(&[]);
    let text = text_for(&[Goal::Delay], vec![fifo.clone(), codel.clone()], Lang::En);
    assert_eq!(
        text,
        "“fifo” has a p95 RTT of 2290 ms; for delay, CoDel instead of a FIFO of 1000 packets (“codel”) has a p95 RTT of \
         214 ms. RTT grew from 30 to 2290 ms (p95) while up to 77 packets waited in a queue at \
         wan.forward.limiter. “codel” costs: TCP achieves 6.70 Mbit/s instead of 10.0 Mbit/s."
    );
    // By goodput the FIFO is better, and the facts name the cost in delay.
    let text = text_of(vec![codel.clone(), fifo.clone()]);
    has(
        &text,
        &[
            "(“fifo”) achieves 10.0 Mbit/s, 49.3 % more",
            "“fifo” costs: the p95 RTT is 2290 ms instead of 214 ms",
        ],
    );
    // Medians do not count.
    fifo.flows[0].rtt_ms.p95 = 214.0;
    let text = text_for(&[Goal::Delay], vec![fifo, codel], Lang::En);
    has(&text, &["the other variant has no lower delay"]);
}

#[test]
fn rtt_is_judged_by_the_slowest_flow() {
    let flows = |name: &str, slowest: f64| {
        let mut v = variant(name, "shaper", "cubic", 9.0, 125.0, 0);
        let slow = RttSummary { p95: slowest, ..v.flows[0].rtt_ms };
        v.flows.push(FlowResult { name: "late".into(), sent_packets: 9, rtt_ms: slow, ..v.flows[0].clone() });
        v
    };
    let mut fair = flows("fair", 1020.0);
    fair.flows[0].goodput_mbps = 11.0;
    has(
        &text_of(vec![flows("fifo", 130.0), fair.clone()]),
        &["11.1 % more", "“fair” costs: the p95 RTT is 1020 ms instead of 130 ms"],
    );
    lacks(&text_of(vec![flows("fifo", 1010.0), fair]), &["costs"]);
}

#[test]
fn transfers_are_judged_by_completion_time() {
    let times = |name: &str, p95: f64, unfinished| {
        let mut v = variant(name, "policer", "cubic", 4.0, 31.0, 0);
        v.flows[0].unfinished = unfinished > 0;
        v.completion_s = Some(TimesSummary { count: 20 - unfinished, unfinished, p95, ..Default::default() });
        v
    };
    let goal = [Goal::Completion];
    let text = text_for(&goal, vec![times("a", 8.0, 0), times("b", 4.1, 0)], Lang::En);
    has(
        &text,
        &[
            "“a” has transfers that take 8.00 s (p95)",
            "for completion time, “b” has transfers that take 4.10 s (p95)",
        ],
    );
    lacks(&text, &["did not finish"]);
    // One of twenty is within what a 95th percentile leaves out, three are not.
    let text = text_for(&goal, vec![times("a", 8.0, 1), times("b", 4.1, 3)], Lang::En);
    has(
        &text,
        &[
            "8.00 s (p95), 1 of 20 transfers did not finish",
            "the other variant has no shorter completion times",
        ],
    );
    let text = text_for(&goal, vec![times("a", 8.0, 3), times("b", 9.1, 0)], Lang::En);
    has(
        &text,
        &["take longer than the run lasted (p95), 3 of 20", "“b” has transfers that take 9.10 s (p95)"],
    );
    // Later completion is a cost of more goodput.
    let mut faster = times("b", 16.0, 0);
    faster.flows[0].goodput_mbps = 6.0;
    let text = text_of(vec![times("a", 8.0, 0), faster]);
    has(&text, &["“b” costs: transfers take 16.0 s instead of 8.00 s (p95)"]);
}

#[test]
fn responses_and_pages_are_judged_by_their_times() {
    let times = |name: &str, p95: f64, count| {
        let mut v = variant(name, "policer", "cubic", 4.0, 31.0, 0);
        let t = TimesSummary { count, unfinished: 1, p95, ..Default::default() };
        (v.response_s, v.page_s) = (Some(t), Some(TimesSummary { p95: 3.0 * p95, ..t }));
        v
    };
    let list = || vec![times("a", 0.8, 5), times("b", 0.2, 5), times("none", 0.0, 0)];
    let text = text_for(&[Goal::Completion], list(), Lang::En);
    has(
        &text,
        &[
            "“a” has responses that take 0.800 s (p95)",
            "“b” has responses that take 0.200 s (p95).",
            "“b” also improves: pages take 0.600 s instead of 2.40 s (p95)",
        ],
    );
    let text = text_for(&[Goal::Page], list(), Lang::En);
    has(
        &text,
        &["“a” has pages that take 2.40 s (p95)", "for page time, “b” has pages that take 0.600 s (p95)"],
    );
    let text = text_for(&[Goal::Page], vec![times("b", 0.2, 5), times("a", 0.8, 5)], Lang::En);
    has(&text, &["the other variant has no shorter page times"]);
}

#[test]
fn a_call_next_to_tcp_is_reported_separately_with_its_cost() {
    let call = |name: &str, tcp: f64, mos: f64, delay: f64| {
        with_udp(variant(name, "link", "cubic", tcp, 31.0, 0), 4.8, 0, delay, Some(mos))
    };
    let list = || vec![call("a", 7.27, 4.3, 20.0), call("b", 10.0, 2.1, 320.0)];
    let text = text_of(list());
    has(
        &text,
        &["“a” achieves 7.27 Mbit/s by TCP and 4.80 Mbit/s in datagrams, together 60.4 % of their limit"],
    );
    has(&text, &["37.6 % more", "“b” costs: the worst call has a MOS of 2.1 instead of 4.3"]);
    let text = text_for(
        &[Goal::Delay],
        {
            let mut l = list();
            l.reverse();
            l
        },
        Lang::En,
    );
    has(
        &text,
        &[
            "“b” has a p95 one-way delay of 320 ms",
            "for delay, “a” has a p95 one-way delay of 20 ms",
            "“a” also improves: the worst call has a MOS of 4.3 instead of 2.1",
            "“a” costs: TCP achieves 7.27 Mbit/s instead of 10.0 Mbit/s",
        ],
    );
    // The delay of datagrams that are not a call counts only without a call.
    let mut flood = with_udp(variant("a", "link", "cubic", 5.0, 31.0, 0), 1.0, 0, 900.0, None);
    assert_eq!(
        value_of(&Measure::at(Quantity::Delay, Statistic::P95), &Row { variant: &flood, flow: None }),
        Some(900.0)
    );
    flood.flows.push(call("x", 1.0, 4.0, 25.0).flows.remove(1));
    assert_eq!(
        value_of(&Measure::at(Quantity::Delay, Statistic::P95), &Row { variant: &flood, flow: None }),
        Some(25.0)
    );
}

#[test]
fn lost_datagrams_are_a_cost() {
    let with_loss = |name: &str, tcp, lost| {
        let mut v = with_udp(variant(name, "link", "cubic", tcp, 31.0, 0), 4.8, 0, 20.0, None);
        v.flows[1].real_time = v.flows[1].real_time.map(|r| RealTime { lost, ..r });
        v
    };
    has(
        &text_of(vec![with_loss("a", 4.0, 0.001), with_loss("b", 8.0, 0.273)]),
        &["2.0 times as much", "“b” costs: 27.3 % of the datagrams are lost instead of 0.10 %"],
    );
    lacks(
        &text_of(vec![with_loss("a", 4.0, 0.001), with_loss("b", 8.0, 0.008)]),
        &["of the datagrams are lost"],
    );
}

#[test]
fn only_flows_of_one_direction_and_limit_are_unfair() {
    let two = |limit: f64, back: bool, active: f64| {
        let mut v = variant("v", "shaper", "cubic", 30.0, 31.0, 0);
        let (from, to) = if back { ("b", "a") } else { ("a", "b") };
        v.flows.push(FlowResult {
            name: "small".into(),
            from: from.into(),
            to: to.into(),
            goodput_mbps: 6.0,
            limit_mbps: Some(limit),
            active_s: active,
            ..v.flows[0].clone()
        });
        v.jain_index = Some(jain(&[30.0, 6.0]));
        v
    };
    let unfair = "“bulk” got 30.0 Mbit/s, “small” only 6.00";
    has(&text_of(vec![two(20.0, false, 10.0)]), &[unfair]);
    for other in [two(50.0, false, 10.0), two(20.0, true, 10.0), two(20.0, false, 5.0)] {
        lacks(&text_of(vec![other]), &["“small” only"]);
    }
    // A flow that requests, ends or pauses did not want more.
    let mut asks = two(20.0, false, 10.0);
    asks.flows[1].app = "request".into();
    lacks(&text_of(vec![asks]), &["“small” only"]);
    let mut fair = two(20.0, false, 10.0);
    fair.name = "fair".into();
    (fair.flows[0].goodput_mbps, fair.flows[1].goodput_mbps, fair.jain_index) = (18.0, 18.0, Some(1.0));
    let text = text_for(&[Goal::Fairness], vec![two(20.0, false, 10.0), fair.clone()], Lang::En);
    has(&text, &["“v” has a Jain index of 0.69", unfair, "for fairness, “fair” has a Jain index of 1.00"]);
    let text = text_for(&[Goal::Goodput], vec![fair, two(20.0, false, 10.0)], Lang::En);
    has(&text, &["the other variant has no higher goodput"]);
}

#[test]
fn two_ends_of_a_dumbbell_share_its_middle() {
    let link = |name: &str, a: &str, b: &str| PathLink {
        name: name.into(),
        between: [a.into(), b.into()],
        forward: vec![],
        backward: vec![],
    };
    let mut v = variant("v", "link", "cubic", 9.0, 31.0, 0);
    v.path.as_mut().unwrap().links = vec![
        link("a", "a", "m"),
        link("c", "c", "m"),
        link("x", "m", "n"),
        link("b", "n", "b"),
        link("d", "n", "d"),
    ];
    let (from, to, name) = ("c".into(), "d".into(), "other".into());
    v.flows.push(FlowResult { name, from, to, goodput_mbps: 1.0, ..v.flows[0].clone() });
    has(&text_of(vec![v.clone()]), &["“bulk” got 9.00 Mbit/s, “other” only 1.00"]);
    v.flows[1].from = "d".into();
    v.flows[1].to = "c".into();
    lacks(&text_of(vec![v]), &["“other” got"]);
}

#[test]
fn clauses_that_do_not_hold_are_left_out() {
    let mut quiet = variant("only", "policer", "cubic", 19.0, 31.0, 0);
    assert_eq!(
        text_of(vec![quiet.clone()]),
        "“only” achieves 19.0 Mbit/s, 95.0 % of its limit. Almost no loss and no standing queue."
    );
    let mut silent = quiet.clone();
    silent.flows.push(FlowResult { name: "idle".into(), delivered_bytes: 0, ..quiet.flows[0].clone() });
    lacks(&text_of(vec![silent]), &["almost no loss"]);
    quiet.limit_mbps = None;
    quiet.flows[0].goodput_mbps = 0.0;
    assert_eq!(text_of(vec![quiet]), "Nothing arrived in “only”.");
    assert_eq!(text_of(vec![]), "");
    assert_eq!(text_of(vec![VariantResult::default()]), "", "no flow at all");
    assert_eq!(headline(&run(&[], None, vec![])), (None, Vec::new()));
}

#[test]
fn losses_recovery_and_queues_are_reported() {
    let mut v = variant("v", "shaper", "cubic", 10.0, 130.0, 30);
    v.elements[0].dropped_packets = 0;
    v.flows[0].states = vec![StateTime { state: "recovery".into(), share: 0.4, entered: 3 }];
    let text = text_of(vec![v.clone()]);
    has(
        &text,
        &[
            "CUBIC spent 40 % of the time in loss recovery",
            "RTT grew from 30 to 130 ms (p95) while up to 77 packets waited in the shaper's queue at wan.forward.limiter",
        ],
    );
    v.flows[0].states[0].share = 0.2;
    v.flows[0].rtt_ms.p95 = 44.0;
    let text = text_of(vec![v.clone()]);
    has(&text, &["limit. 0.30 % of the packets were lost."]);
    lacks(&text, &["loss recovery", "RTT grew"]);
    v.flows[0].timeout_wait = Some(0.02);
    lacks(&text_of(vec![v]), &["timeouts"]);
}

#[test]
fn without_a_better_variant_an_equal_one_with_gains_is_named() {
    let list = || {
        vec![
            variant("policer", "policer", "compound", 19.4, 35.0, 915),
            variant("deep", "shaper", "compound", 19.3, 108.0, 0),
            variant("short", "shaper", "compound", 19.3, 36.0, 88),
        ]
    };
    has(
        &text_of(list()),
        &["“short” achieves the same goodput, and TCP loses 0.88 % of its packets instead of 9.15 %."],
    );
    let mut list = list();
    list.swap(0, 2);
    has(&text_of(list), &["none of the other 2 variants has higher goodput."]);
}

#[test]
fn variants_in_which_nothing_arrived_are_named_in_the_headline() {
    let idle = |name: &str| {
        let mut v = variant(name, "policer", "cubic", 0.0, 0.0, 5);
        v.flows[0].delivered_bytes = 0;
        v
    };
    let list = vec![variant("icmp", "policer", "cubic", 18.8, 31.0, 0), idle("black-hole"), idle("closed")];
    let headline = |baseline| plain(&story(&[("s", &run(&[], baseline, list.clone()))]).headline(Lang::En));
    let said = headline(None);
    assert!(said.ends_with("; nothing arrived in “black-hole” and “closed”."), "{said}");
    // The baseline itself is named first.
    let said = headline(Some("black-hole"));
    assert!(said.starts_with("Nothing arrived in “black-hole”"), "{said}");
    assert!(said.ends_with("; nothing arrived in “closed”."), "{said}");
}

#[test]
fn only_variants_with_the_same_flows_and_no_higher_limit_are_compared() {
    let mut list = three();
    let mut free = variant("free", "link", "cubic", 90.0, 31.0, 0);
    (free.flows[0].limit_mbps, free.limit_mbps) = (None, None);
    list.push(free.clone());
    lacks(&text_of(list), &["free"]);
    // A variant with a higher limit is compared if there is no other.
    has(&text_of(vec![three().remove(0), free.clone()]), &["“free” achieves 90.0 Mbit/s"]);
    free.flows[0].name = "another".into();
    lacks(&text_of(vec![three().remove(0), free.clone()]), &["free"]);
    let text = text_of(vec![
        variant("v", "policer", "cubic", 4.0, 31.0, 0),
        variant("w", "policer", "cubic", 4.0, 31.0, 0),
        free,
    ]);
    has(&text, &["“w” gives exactly the same numbers as “v”"]);
}

#[test]
fn several_goals_are_a_table() {
    let goals = [Goal::Goodput, Goal::Delay];
    let run = run(&goals, None, three());
    let found = story(&[("s", &run)]);
    let rows = found.rows(Lang::En);
    let cells =
        |i: usize| [&rows[i].goal, &rows[i].baseline, &rows[i].best, &rows[i].value].map(|s| plain(s));
    assert_eq!(cells(0), ["goodput", "4.00 Mbit/s", "slow", "19.2 Mbit/s"]);
    assert_eq!(cells(1), ["p95 delay", "31 ms", "", ""]);
    // The headline is about the first goal; the other goals are in the table.
    has(&plain(&found.headline(Lang::En)), &["for goodput, “slow” achieves 19.2 Mbit/s"]);
    lacks(&plain(&found.text(Lang::En)), &["for delay"]);
    let table = plain(&table(&found, crate::Style::default()));
    has(&table, &["goal", "best", "19.2 Mbit/s\n  TCP loses 0 % of its packets instead of 1.20 %\n"]);
    // A single goal has no table.
    assert!(story(&[("s", &Run { goals: vec![Goal::Delay], ..run })]).rows(Lang::Zh).is_empty());
}

#[test]
fn unmeasured_goals_are_left_out() {
    let text = text_for(&[Goal::Page, Goal::Delay], three(), Lang::En);
    assert!(text.starts_with("“policed” has a p95 RTT of 31 ms"), "{text}");
    assert!(text_for(&[Goal::Page], three(), Lang::En).starts_with("“policed” achieves"));
}

#[test]
fn simulator_and_kernel_are_compared_flow_by_flow() {
    let mut sim = variant("v", "policer", "cubic", 4.0, 31.0, 120);
    sim.flows.push(FlowResult { name: "small".into(), goodput_mbps: 1.0, ..sim.flows[0].clone() });
    let mut kernel = sim.clone();
    kernel.clock = Clock::Kernel;
    kernel.flows[0].goodput_mbps = 4.02;
    kernel.flows[1].goodput_mbps = 1.06;
    let text = text_of(vec![sim.clone(), kernel.clone()]);
    has(&text, &["simulator and kernel differ most in “small” of “v”: 1.00 and 1.06 Mbit/s."]);
    (sim.elements[0].dropped_packets, kernel.elements[0].dropped_packets) = (271, 136);
    has(&text_of(vec![sim.clone(), kernel.clone()]), &["271 and 136 packets were dropped in “v”"]);
    // Differences within chance.
    (sim.elements[0].dropped_packets, kernel.elements[0].dropped_packets) = (9, 4);
    lacks(&text_of(vec![sim.clone(), kernel.clone()]), &["packets were dropped"]);
    kernel.flows[0].retransmitted_packets = 700;
    has(&text_of(vec![sim, kernel]), &["240 and 820 packets were retransmitted in “v”"]);
}

#[test]
fn a_change_is_named_with_its_settings() {
    let a = variant("a", "policer", "cubic", 4.0, 31.0, 0);
    let better = |change: &dyn Fn(&mut VariantResult)| {
        let mut b = variant("b", "policer", "cubic", 8.0, 31.0, 0);
        change(&mut b);
        text_of(vec![a.clone(), b])
    };
    let text = better(&|v| drop(stage(v).settings.insert("burst".into(), "625kB".into())));
    has(&text, &["the policer with burst 625 kB"]);
    let text = better(&|v| {
        let name = "first".to_string();
        let settings = settings(&[("rate", "19.6Mbit/s"), ("queue.packets", "40")]);
        v.path.as_mut().unwrap().links[0]
            .forward
            .insert(0, PathStage { name, kind: "shaper".into(), settings, assumed: false });
    });
    has(&text, &["a shaper of 19.6 Mbit/s with 40 packets before the policer"]);
    let text = better(&|v| v.path.as_mut().unwrap().links[0].forward.clear());
    has(&text, &["the path without the policer"]);
    let text = better(&|v| {
        v.path.as_mut().unwrap().relays = vec![PathRelay { name: "r".into(), host: "edge".into() }];
    });
    has(&text, &["a relay at edge"]);
    // Unknown changes are named by the variant alone.
    has(&better(&|_| ()), &["for goodput, “b” achieves 8.00"]);
}

#[test]
fn changed_settings_of_flows_hosts_and_the_run_are_named() {
    type Settings<'a> = &'a [(&'a str, &'a str, &'a str, &'a str)];
    let with = |name: &str, mbps, stated: Settings| {
        let mut v = variant(name, "policer", "cubic", mbps, 31.0, 0);
        let relay = |name: &str| PathRelay { name: name.into(), host: "m".into() };
        v.path.as_mut().unwrap().relays = vec![relay("box"), relay("far")];
        let always =
            [("", "", "duration", "10s"), ("flows", "bulk", "from", "a"), ("flows", "call", "from", "a")];
        let mut all: BTreeMap<[&str; 3], &str> = always.map(|(s, n, k, v)| ([s, n, k], v)).into();
        all.extend(stated.iter().map(|&(s, n, k, v)| ([s, n, k], v)));
        let one = |([section, name, key], value): ([&str; 3], &str)| Setting {
            section: section.into(),
            name: name.into(),
            key: key.into(),
            value: value.into(),
        };
        v.settings = all.into_iter().map(one).collect();
        v
    };
    let both = |was: Settings, is: Settings| {
        let list = || vec![with("a", 4.0, was), with("b", 8.0, is)];
        (text_of(list()), text_for(&[], list(), Lang::Zh))
    };
    let cases: [(Settings, Settings, &str, &str); 12] = [
        (
            &[],
            &[("flows", "bulk", "start", "5s")],
            "start 5 s instead of 0 s for “bulk”",
            "“bulk”开始时间取 5 s 而不是 0 s",
        ),
        (
            &[],
            &[("flows", "bulk", "via", "box")],
            "a path via the relay “box” for “bulk”",
            "“bulk”经由中继“box”",
        ),
        (
            &[("flows", "bulk", "via", "box")],
            &[],
            "a path without the relay “box” for “bulk”",
            "不经由中继“box”",
        ),
        (
            &[("flows", "bulk", "via", "box")],
            &[("flows", "bulk", "via", "box, far")],
            "a path via the relay “box” and “far” instead of “box” for “bulk”",
            "经由中继“box”，“far”而不是“box”",
        ),
        (
            &[("flows", "bulk", "app.rate", "1Mbit/s"), ("flows", "call", "app.rate", "1Mbit/s")],
            &[("flows", "bulk", "app.rate", "2Mbit/s"), ("flows", "call", "app.rate", "2Mbit/s")],
            "the application's rate 2 Mbit/s instead of 1 Mbit/s",
            "应用速率取 2 Mbit/s 而不是 1 Mbit/s",
        ),
        (&[], &[("hosts", "a", "stack.ecn", "true")], "ECN switched on at “a”", "“a”启用 ECN"),
        (
            &[],
            &[("hosts", "a", "stack.sack", "false"), ("hosts", "b", "stack.sack", "false")],
            "SACK switched off",
            "停用 SACK",
        ),
        (
            &[],
            &[("hosts", "a", "stack.send_buffer", "1MB")],
            "send buffer 1 MB instead of the default at “a”",
            "发送缓冲区取 1 MB 而不是默认值",
        ),
        (
            &[],
            &[("relays", "box", "cc", "bbr")],
            "the relay's congestion control BBR instead of the default at “box”",
            "中继的拥塞控制取 BBR",
        ),
        (
            &[],
            &[("", "", "duration", "20s")],
            "duration of the run 20 s instead of 10 s",
            "运行时长取 20 s 而不是 10 s",
        ),
        (
            &[],
            &[("flows", "bulk", "cc.T", "40ms")],
            "the key cc.T 40 ms instead of the default for “bulk”",
            "参数 cc.T 取 40 ms",
        ),
        (
            &[("links", "wan", "between", "a, b")],
            &[("links", "wan", "between", "a, c")],
            "ends “a” and “c” instead of “a” and “b” at “wan”",
            "“wan”两端取“a”，“c”而不是“a”，“b”",
        ),
    ];
    for (was, is, en, zh) in cases {
        let (english, chinese) = both(was, is);
        has(&english, &[en]);
        has(&chinese, &[zh]);
        // Equal settings are not a change, nor are the missing settings of an older result.
        let (same, _) = both(is, is);
        has(&same, &["for goodput, “b” achieves 8.00"]);
        let mut older = with("b", 8.0, is);
        older.settings.clear();
        has(&text_of(vec![with("a", 4.0, was), older]), &["for goodput, “b” achieves 8.00"]);
    }
    // Congestion controls and added relays are changes of other kinds.
    let (text, _) = both(&[], &[("flows", "bulk", "cc", "bbr"), ("relays", "new", "buffer", "1MB")]);
    has(&text, &["for goodput, “b” achieves 8.00"]);
}

#[test]
fn queues_of_both_directions_are_named_together() {
    let queue = |name: &str, mbps, there: &[(&str, &str)], back: &[(&str, &str)]| {
        let mut v = variant(name, "link", "cubic", mbps, 31.0, 0);
        stage(&mut v).settings.extend(settings(there));
        let mut other = stage(&mut v).clone();
        other.settings = settings(back);
        v.path.as_mut().unwrap().links[0].backward.push(other);
        v
    };
    let fifo = queue("a", 4.0, &[("queue.packets", "250")], &[]);
    let fair = queue("f", 8.0, &[("queue.kind", "fq-codel")], &[("queue.kind", "fq-codel")]);
    has(
        &text_of(vec![fifo, fair]),
        &["FQ-CoDel instead of a FIFO of 250 packets and a FIFO of 1000 packets"],
    );
}

#[test]
fn a_name_is_text_of_bounded_length() {
    let name = format!("{}\u{202e}</script>", "x".repeat(10_000));
    let text = text_of(vec![variant(&name, "policer", "cubic", 4.0, 31.0, 120)]);
    assert!(text.len() < 400 && !text.contains('\u{202e}'), "{text}");
}

#[test]
fn the_story_lists_its_variants() {
    assert_eq!(story(&[("s", &run(&[], None, three()))]).about, [[0, 0], [0, 3]]);
    let single = |v| run(&[], None, vec![v]);
    let (a, b) = (single(three().remove(0)), single(three().remove(1)));
    let found = story(&[("first", &a), ("second", &b)]);
    assert_eq!(found.about, [[0, 0], [1, 0]]);
    has(&plain(&found.text(Lang::En)), &["first: policed", "second: shaped"]);
}

#[test]
fn starved_flows_are_named() {
    let two = |name: &str, mbps: f64, bytes: u64, active: f64| {
        let mut v = variant("v", "shaper", "cubic", 12.0, 31.0, 0);
        let f = FlowResult {
            name: name.into(),
            goodput_mbps: mbps,
            delivered_bytes: bytes,
            active_s: active,
            ..v.flows[0].clone()
        };
        v.flows.push(f);
        v
    };
    let nothing = "“b” carried nothing in 9.80 s while “bulk” carried 12.0 Mbit/s";
    let text = text_of(vec![two("b", 0.0, 0, 9.8)]);
    has(&text, &[nothing]);
    lacks(&text, &["got 12.0", "almost no loss"]);
    // A starved flow is reported whatever the goal.
    has(&text_for(&[Goal::Delay], vec![two("b", 0.0, 0, 9.8)], Lang::En), &[nothing]);
    has(
        &text_for(&[], vec![two("b", 0.0, 0, 9.8)], Lang::Zh),
        &["“b”在 9.80 s 内没有传送任何数据，而“bulk”为 12.0 Mbit/s"],
    );
    has(
        &text_of(vec![two("b", 0.05, 1, 9.8)]),
        &["“b” carried 50.0 kbit/s while “bulk” carried 12.0 Mbit/s"],
    );
    has(
        &text_for(&[], vec![two("b", 0.05, 1, 9.8)], Lang::Zh),
        &["“b”只有 50.0 kbit/s，而“bulk”为 12.0 Mbit/s"],
    );
    // A thirtieth is unfair but not starved; a flow that just started had no time; a flow measured alone has
    // no competitor.
    has(&text_of(vec![two("b", 0.4, 1, 9.8)]), &["“bulk” got 12.0 Mbit/s, “b” only 0.400"]);
    for other in [two("b", 0.4, 1, 9.8), two("b", 0.0, 0, 0.9), {
        let mut v = two("b", 0.0, 0, 9.8);
        v.one_at_a_time = true;
        v
    }] {
        lacks(&text_of(vec![other]), &["“b” carried"]);
    }
    // A flow that pauses and sent nothing had nothing to send; a low limit of its own is not starvation.
    let mut quiet = two("b", 0.0, 0, 9.8);
    (quiet.flows[1].app, quiet.flows[1].sent_packets) = ("onoff".into(), 0);
    lacks(&text_of(vec![quiet]), &["carried nothing"]);
    let mut narrow = two("b", 0.05, 1, 9.8);
    narrow.flows[1].limit_mbps = Some(0.05);
    lacks(&text_of(vec![narrow]), &["“b” carried"]);
    let mut many = two("b", 0.0, 0, 9.8);
    for name in ["c", "d"] {
        many.flows.push(FlowResult { name: name.into(), active_s: 9.6, ..many.flows[1].clone() });
    }
    has(&text_of(vec![many.clone()]), &["“b” and 2 more carried nothing in 9.60 s while “bulk” carried"]);
    many.flows[3].goodput_mbps = 0.07;
    many.flows[3].delivered_bytes = 1;
    has(&text_of(vec![many]), &["“b” and 2 more carried at most 70.0 kbit/s each while"]);
}

#[test]
fn completed_transfers_do_not_compete() {
    let mut v = variant("v", "shaper", "cubic", 19.0, 31.0, 0);
    v.flows.push(FlowResult { name: "file".into(), goodput_mbps: 0.5, ..v.flows[0].clone() });
    has(&text_of(vec![v.clone()]), &["“file” only 0.500"]);
    v.flows[1].completion_s = Some(10.0);
    lacks(&text_of(vec![v]), &["“file”"]);
}

/// A variant with flows that were measured one at a time, each with its goodput.
fn alone(name: &str, each: &[(&str, f64)]) -> VariantResult {
    let mut v = variant(name, "policer", "cubic", 0.0, 31.0, 120);
    let (flow, element) = (v.flows.remove(0), v.elements.remove(0));
    v.one_at_a_time = true;
    v.limit_mbps = None;
    for &(name, goodput_mbps) in each {
        v.flows.push(FlowResult { name: name.into(), goodput_mbps, ..flow.clone() });
        v.elements.push(ElementResult { name: format!("{}@{name}", element.name), ..element.clone() });
    }
    v
}

#[test]
fn flows_measured_alone_are_all_reported() {
    let list =
        || vec![alone("v", &[("up", 4.0), ("down", 18.0)]), alone("w", &[("up", 8.0), ("down", 18.0)])];
    assert_eq!(
        text_of(list()),
        "“v / up” achieves 4.00 Mbit/s, 20.0 % of its limit; for goodput, “w / up” achieves 8.00 Mbit/s, 2.0 times as \
         much. The policer at wan.forward.limiter dropped 1.20 % of the packets. “v / down” achieves 18.0 Mbit/s, 90.0 % \
         of its limit. The policer at wan.forward.limiter dropped 1.20 % of the packets. The other variant has no \
         higher goodput."
    );
    has(&text_for(&[], list(), Lang::Zh), &["。“v / down”的有效吞吐量为 18.0"]);
    // Each flow has its own remedies for each goal, so there is no table.
    let found = story(&[("s", &run(&[Goal::Goodput, Goal::Delay], None, list()))]);
    assert!(found.rows(Lang::En).is_empty());
    has(&plain(&found.text(Lang::En)), &["“v / down” achieves", "for goodput, “w / up”"]);
    let text = text_of(vec![alone("v", &[("a", 4.0), ("b", 18.0), ("c", 1.0), ("d", 7.0)])]);
    has(
        &text,
        &[
            "“v / c” achieves 1.00",
            "“v / b” achieves 18.0",
            "these are the worst and the best of 4 flows by goodput, each measured alone.",
        ],
    );
    lacks(&text, &["v / a", "v / d"]);
    lacks(&text_of(list()), &["these are"]);
}

#[test]
fn a_trace_is_named_without_its_list_of_rates() {
    let mut other = variant("b", "rate-trace", "cubic", 8.0, 31.0, 0);
    stage(&mut other).settings = settings(&[("steps", "[{\"at\":\"0ns\"}]"), ("period", "400ms")]);
    let text = text_of(vec![variant("a", "policer", "cubic", 4.0, 31.0, 0), other]);
    has(&text, &["a link of varying rate with period 400 ms instead of a policer of 20 Mbit/s"]);
}

#[test]
fn a_varying_limit_is_reported_as_a_mean() {
    let text = text_of(vec![variant("v", "train", "cubic", 19.0, 31.0, 0)]);
    has(&text, &["“v” achieves 19.0 Mbit/s, 95.0 % of the mean of its varying limit"]);
    lacks(&text_of(vec![variant("v", "link", "cubic", 19.0, 31.0, 0)]), &["varying"]);
}

#[test]
fn stated_and_unset_keys_are_put_into_words() {
    let better = |was: &[(&str, &str)], is: &[(&str, &str)], lang: Lang| {
        let mut list =
            [variant("a", "policer", "cubic", 4.0, 31.0, 0), variant("b", "policer", "cubic", 8.0, 31.0, 0)];
        stage(&mut list[0]).settings.extend(settings(was));
        stage(&mut list[1]).settings.extend(settings(is));
        text_for(&[], list.to_vec(), lang)
    };
    let en = |was: &[(&str, &str)], is: &[(&str, &str)]| better(was, is, Lang::En);
    has(&en(&[], &[("icmp", "false")]), &["the policer without icmp"]);
    has(&en(&[("icmp", "false")], &[]), &["the policer with icmp"]);
    has(&en(&[("ecn", "true")], &[]), &["the policer without ecn"]);
    has(&en(&[("ecn", "false")], &[("ecn", "true")]), &["the policer with ecn"]);
    has(&en(&[("burst", "9kB")], &[]), &["the policer with burst unset instead of 9 kB"]);
    has(&en(&[("burst", "9kB")], &[("burst", "90kB")]), &["burst 90 kB instead of 9 kB of the policer"]);
    has(&en(&[("steps", "[{1}]")], &[("steps", "[{2}]")]), &["the policer with other steps"]);
    has(&better(&[], &[("icmp", "false")], Lang::Zh), &["流量监管停用 icmp"]);
    has(&better(&[("burst", "9kB")], &[], Lang::Zh), &["流量监管不指定 burst（原为 9 kB）"]);
}

#[test]
fn a_queue_without_enough_delay_is_not_named() {
    let mut v = variant("v", "shaper", "cubic", 10.0, 130.0, 0);
    // A long queue of a fast link, which adds almost no delay.
    let fast = DelaySummary { mean: 0.01, max: 0.4 };
    v.elements.push(ElementResult {
        name: "lan.forward.port".into(),
        kind: "link".into(),
        max_queue_packets: 500,
        delay_ms: fast,
        ..ElementResult::default()
    });
    let text = text_of(vec![v.clone()]);
    has(
        &text,
        &[
            "from 30 to 130 ms (p95) while up to 77 packets waited in the shaper's queue at wan.forward.limiter",
        ],
    );
    lacks(&text, &["lan.forward.port"]);
    // Of the 71 ms in the element, 40 ms are propagation delay.
    let mut far = v.clone();
    far.elements[0].delay_ms.max = 71.0;
    has(&text_of(vec![far.clone()]), &["waited in the shaper's queue"]);
    stage(&mut far).settings.insert("delay".into(), "40ms".into());
    lacks(&text_of(vec![far]), &["waited in"]);
    v.elements[0].delay_ms = fast;
    lacks(&text_of(vec![v]), &["waited in"]);
}

/// A flow with 10 ms next to one with 120 ms: no RTT grew.
#[test]
fn paths_of_different_length_are_not_rtt_growth() {
    let two = |p95: f64| {
        let mut v = variant("v", "shaper", "cubic", 10.0, 120.0, 0);
        let near = RttSummary { min: 10.0, mean: 10.0, p50: 10.0, p95: 10.0, p99: 10.0, max: 10.0 };
        v.flows[0].rtt_ms = RttSummary { min: 120.0, mean: p95, p50: p95, p95, p99: p95, max: p95 };
        v.flows.push(FlowResult { name: "near".into(), rtt_ms: near, ..v.flows[0].clone() });
        v
    };
    lacks(&text_of(vec![two(120.0)]), &["grew"]);
    has(&text_of(vec![two(320.0)]), &["RTT grew from 120 to 320 ms (p95)"]);
}

#[test]
fn a_goal_without_a_baseline_value_has_no_better_variant() {
    let mut fair = variant("fair", "shaper", "cubic", 9.0, 31.0, 0);
    fair.flows.push(FlowResult { name: "other".into(), ..fair.flows[0].clone() });
    let mut short = fair.clone();
    short.name = "short".into();
    short.flows[1].completion_s = Some(1.0);
    fair.jain_index = Some(1.0);
    lacks(&text_for(&[Goal::Fairness], vec![short.clone(), fair.clone()], Lang::En), &["Jain"]);
    has(&text_for(&[Goal::Fairness], vec![fair, short], Lang::En), &["“fair” has a Jain index of 1.00"]);
}

#[test]
fn a_headline_begins_with_untrusted_measurements() {
    let mut kernel = variant("v", "policer", "cubic", 4.0, 31.0, 120);
    let trusted = headline(&run(&[], None, vec![kernel.clone()])).0.unwrap();
    let reason = result::TrustReason { kind: result::TrustKind::EngineBusy, measured: 0.97, bound: 0.9 };
    kernel.trust = Some(result::Trust { reasons: vec![reason], ..result::Trust::default() });
    let untrusted = headline(&run(&[], None, vec![kernel])).0.unwrap();
    assert!(
        untrusted.starts_with("Do not trust the kernel run of \"v\"") && untrusted.ends_with(&trusted),
        "{untrusted}"
    );
}

#[test]
fn a_stage_removed_here_and_added_there_is_not_replaced() {
    let shaper = PathStage {
        name: "front".into(),
        kind: "shaper".into(),
        settings: settings(&[("rate", "9Mbit/s")]),
        assumed: false,
    };
    let loss =
        PathStage { name: "loss".into(), kind: "loss".into(), settings: settings(&[]), assumed: false };
    let mut was = variant("a", "link", "cubic", 4.0, 31.0, 0);
    let mut is = variant("b", "link", "cubic", 8.0, 31.0, 0);
    fn link_of(v: &mut VariantResult) -> &mut PathLink {
        &mut v.path.as_mut().unwrap().links[0]
    }
    link_of(&mut was).forward.push(loss.clone());
    link_of(&mut is).forward.insert(0, shaper);
    let text = text_of(vec![was.clone(), is.clone()]);
    has(&text, &["a shaper of 9 Mbit/s with 1000 packets before the link", "the path without random loss"]);
    lacks(&text, &["instead of random loss"]);
    // Removed in one direction and added in the other: only the name is printed.
    link_of(&mut is).backward.push(loss);
    let text = text_of(vec![was, is]);
    has(&text, &["for goodput, “b” achieves 8.00 Mbit/s"]);
    lacks(&text, &["without random loss"]);
}

/// Upload and download share nothing: their goodputs are reported separately and never as a sum.
#[test]
fn goodputs_of_separate_paths_are_not_added_up() {
    let mut both = variant("box", "shaper", "cubic", 18.9, 31.0, 0);
    let down = FlowResult { name: "down".into(), from: "b".into(), to: "a".into(), ..both.flows[0].clone() };
    both.flows.push(FlowResult { goodput_mbps: 41.0, limit_mbps: Some(200.0), ..down });
    (both.limit_mbps, both.total_goodput_mbps) = (None, 59.9);
    let text = text_of(vec![both.clone()]);
    has(
        &text,
        &[
            "“box” achieves 18.9 Mbit/s by “bulk” (94.5 % of its limit) and 41.0 Mbit/s by “down” (20.5 % of its limit)",
        ],
    );
    lacks(&text, &["59.9"]);
    // Flows in the same direction are summed up.
    (both.flows[1].from, both.flows[1].to) = ("a".into(), "b".into());
    has(&text_of(vec![both.clone()]), &["“box” achieves 59.9 Mbit/s"]);
    // A better variant is compared by the sum, and the sentence says so.
    (both.flows[1].from, both.flows[1].to) = ("b".into(), "a".into());
    let mut better = both.clone();
    (better.name, better.flows[1].goodput_mbps) = ("better".into(), 150.0);
    has(&text_of(vec![both, better]), &["achieves 169 Mbit/s, 2.8 times as much in total"]);
}

/// "Almost no loss" is reported only for flows that are at their bound.
#[test]
fn a_flow_below_its_limit_is_not_clean() {
    let clean = "almost no loss and no standing queue";
    has(&text_of(vec![variant("v", "shaper", "cubic", 18.9, 31.0, 0)]), &[clean]);
    let slow = variant("v", "shaper", "cubic", 8.0, 31.0, 0);
    let text = text_of(vec![slow.clone()]);
    has(&text, &["the limiting factor was not searched for"]);
    lacks(&text, &[clean]);
    // The loss of 3 of 10,000 packets may cost more than half of the rate.
    let mut lossy = slow.clone();
    lossy.flows[0].lost_packets = Some(3);
    has(&text_of(vec![lossy]), &["0.03 % of the packets were lost"]);
    // The rate at which a pausing application sends is a bound too, if no other limit was found.
    let mut paused = slow;
    paused.flows[0].app = "onoff".into();
    lacks(&text_of(vec![paused.clone()]), &[clean]);
    paused.limitation_search = Some(result::LimitationSearch::default());
    has(&text_of(vec![paused.clone()]), &[clean]);
    paused.limitation_search.as_mut().unwrap().untried.push(suspect(LimitationKind::SendBuffer, "a", None));
    let text = text_of(vec![paused]);
    has(&text, &["the scenario is too large to simulate again without each suspect"]);
    lacks(&text, &[clean]);
}

fn suspect(kind: LimitationKind, place: &str, gain: Option<f64>) -> TriedSuspect {
    TriedSuspect { kind, place: place.into(), also: Vec::new(), flow: None, gain }
}

fn limitation(kind: LimitationKind, place: &str, [with, without]: [f64; 2]) -> Limitation {
    let effect = LimitationEffect {
        measure: "tcp.goodput".into(),
        unit: "Mbit/s".into(),
        with: Some(with),
        without: Some(without),
    };
    Limitation {
        kind,
        place: place.into(),
        also: Vec::new(),
        flow: None,
        carries: None,
        drops: None,
        silence: None,
        simulated_s: None,
        rate_mbps: None,
        gain: without / with,
        min_gain: without / with,
        runs: 5,
        effects: vec![effect],
    }
}

/// Each of several paths has its own cause in the headline, with its own numbers.
#[test]
fn separate_paths_have_a_cause_each() {
    let mut both = variant("box", "shaper", "cubic", 5.5, 31.0, 0);
    let down = FlowResult { name: "down".into(), from: "b".into(), to: "a".into(), ..both.flows[0].clone() };
    both.flows.push(FlowResult { goodput_mbps: 95.0, limit_mbps: Some(100.0), ..down });
    (both.limit_mbps, both.total_goodput_mbps) = (None, 100.5);
    let of_flow = |flow: &str, limitation: Limitation| Limitation { flow: Some(flow.into()), ..limitation };
    both.limited_by = vec![
        of_flow("bulk", limitation(LimitationKind::Loss, "l.forward.noise", [5.5, 18.0])),
        of_flow("down", limitation(LimitationKind::Rate, "l.backward.line", [95.0, 188.0])),
    ];
    let text = text_of(vec![both.clone()]);
    has(
        &text,
        &[
            "5.50 Mbit/s by “bulk” (27.5 % of its limit, limited by random loss at l.forward.noise)",
            "95.0 Mbit/s by “down” (95.0 % of its limit, limited by the rate of l.backward.line)",
            "Random loss at l.forward.noise: goodput of “bulk” 18.0 Mbit/s without it, 5.50 Mbit/s as is",
        ],
    );
    lacks(&text, &["limited by random loss at l.forward.noise; ", "the rate of l.backward.line: goodput"]);
}

/// An outage costs time, so its duration is reported and not the packets that it dropped.
#[test]
fn an_interruption_is_reported_by_its_duration() {
    let mut cut = variant("v", "shaper", "cubic", 8.0, 31.0, 0);
    let silence = LimitationSilence { flow: "bulk".into(), silence_s: 6.2, active_s: 30.0 };
    let drops = Some(result::LimitationDrops { packets: 14, events: 2 });
    let outage = limitation(LimitationKind::Outage, "l.forward.gap", [8.0, 16.0]);
    cut.limited_by = vec![Limitation { drops, silence: Some(silence), ..outage }];
    let text = text_of(vec![cut.clone()]);
    has(&text, &["8.00 Mbit/s as is (simulated); “bulk” received nothing for 6.20 of 30.0 s"]);
    lacks(&text, &["it dropped"]);
    cut.limited_by[0].silence = None;
    has(&text_of(vec![cut.clone()]), &["it dropped 14 packets in 2 loss events"]);
    cut.limited_by[0].simulated_s = Some(2.5);
    has(&text_of(vec![cut]), &["as is (simulated, the first 2.50 s)"]);
}

/// A suspect whose removal gains on average, but not beyond chance, is a "perhaps" in the headline.
#[test]
fn a_gain_within_chance_is_a_perhaps() {
    let mut slow = variant("v", "shaper", "cubic", 8.0, 31.0, 0);
    let tried = vec![
        suspect(LimitationKind::SendBuffer, "a", Some(1.0)),
        suspect(LimitationKind::CongestionControl, "bulk", Some(1.8)),
    ];
    slow.limitation_search = Some(result::LimitationSearch { tried, ..Default::default() });
    let text = text_of(vec![slow.clone()]);
    has(
        &text,
        &["perhaps limited by the congestion control of “bulk”", "1.8 times better on average without it"],
    );
    lacks(&text, &["improves nothing"]);
    slow.limitation_search.as_mut().unwrap().tried[1].gain = Some(1.04);
    has(&text_of(vec![slow]), &["removing any one of 2 suspects improves nothing beyond chance"]);
}
