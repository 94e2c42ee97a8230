use super::*;
use result::topology::{PathLink, PathStage, Topology};
use result::{ElementResult, RttSummary, StateTime, VariantResult};
use std::collections::BTreeMap;

/// A 20 Mbit/s limiter of `kind` and one flow through it.
fn variant(name: &str, kind: &str, cc: &str, mbps: f64, rtt: f64, drops: u64) -> VariantResult {
    let rtt_ms = RttSummary { min: 30.0, mean: rtt, p50: rtt, p95: rtt, p99: rtt, max: rtt };
    let flow = FlowResult {
        name: "bulk".into(),
        cc: cc.into(),
        goodput_mbps: mbps,
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
        ..ElementResult::default()
    };
    let settings = BTreeMap::from([("rate".to_string(), "20Mbit/s".to_string())]);
    let stage = PathStage { name: "limiter".into(), kind: kind.into(), settings };
    let between = ["a".into(), "b".into()];
    let link = PathLink { name: "wan".into(), between, forward: vec![stage], backward: vec![] };
    let path = Topology { hosts: vec!["a".into(), "b".into()], links: vec![link], relays: vec![] };
    VariantResult {
        name: name.into(),
        flows: vec![flow],
        elements: vec![element],
        total_goodput_mbps: mbps,
        jain_index: 1.0,
        limit_mbps: Some(20.0),
        path: Some(path),
        ..VariantResult::default()
    }
}

fn tell(variants: Vec<VariantResult>, lang: Lang) -> String {
    let run = Run { scenario: "s".into(), seed: 1, variants, ..Run::default() };
    // Without the marks that keep a name's direction and a number's unit in place.
    story(&[("s", &run)], lang).text.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ")
}

fn three() -> Vec<VariantResult> {
    let mut policed = variant("policed", "policer", "cubic", 4.0, 31.0, 120);
    policed.flows[0].timeout_wait = Some(0.41);
    vec![
        policed,
        variant("shaped", "shaper", "cubic", 18.0, 50.0, 10),
        variant("bbr", "policer", "bbr", 19.0, 31.0, 700),
        variant("both", "shaper", "bbr", 19.2, 40.0, 0),
    ]
}

#[test]
fn what_happened_and_what_helps() {
    assert_eq!(
        tell(three(), Lang::En),
        "“policed” carries 4.00 Mbit/s, 20.0 % of its limit: the policer dropped 1.20 % of the packets; CUBIC spent \
         41 % of the time waiting for timeouts; BBR in place of CUBIC (“bbr”) carries 4.8 times as much, losing 7.00 %; a shaper of the same rate in place of a policer (“shaped”) carries 4.5 times as much at 19 ms \
         more delay, losing 0.10 %."
    );
    let chinese = tell(three(), Lang::Zh);
    assert!(chinese.starts_with(
        "“policed”的有效吞吐量为 4.00 Mbit/s，即限速的 20.0 %：流量监管丢弃了 1.20 % 的数据包；"
    ));
    assert!(
        chinese.contains("用同速率的流量整形代替流量监管（“shaped”），有效吞吐量是它的 4.5 倍，时延多 19 ms")
    );
}

#[test]
fn what_does_not_hold_is_not_said() {
    let mut quiet = variant("only", "policer", "cubic", 19.0, 31.0, 0);
    assert_eq!(
        tell(vec![quiet.clone()], Lang::En),
        "“only” carries 19.0 Mbit/s, 95.0 % of its limit: nothing was lost to speak of and no queue stood."
    );
    quiet.limit_mbps = None;
    quiet.flows[0].goodput_mbps = 0.0;
    assert_eq!(tell(vec![quiet], Lang::En), "nothing arrived in “only”.");
    assert_eq!(tell(vec![], Lang::En), "");
    assert_eq!(tell(vec![VariantResult::default()], Lang::En), "", "no flow at all");
}

#[test]
fn where_all_carry_alike_the_first_is_told_and_what_loses_less() {
    let list = vec![
        variant("policer", "policer", "compound", 19.4, 35.0, 915),
        variant("deep", "shaper", "compound", 19.3, 108.0, 0),
        variant("short", "shaper", "compound", 19.3, 48.0, 88),
    ];
    let told = tell(list, Lang::En);
    assert!(told.ends_with(
        "a shaper of the same rate in place of a policer (“short”) carries as much at 13 ms more delay, losing 0.88 %."
    ), "{told}");
}

#[test]
fn only_the_same_flows_under_the_same_limit_are_compared() {
    let mut list = three();
    let mut free = variant("free", "link", "cubic", 0.1, 31.0, 0);
    free.flows[0].limit_mbps = None;
    free.limit_mbps = None;
    list.insert(0, free);
    assert!(tell(list, Lang::En).starts_with("“policed”"));
}

#[test]
fn two_clocks_are_set_side_by_side() {
    let mut list = vec![
        variant("v", "policer", "cubic", 4.0, 31.0, 120),
        variant("v", "policer", "cubic", 4.1, 31.0, 120),
    ];
    list[1].clock = Clock::Kernel;
    assert!(tell(list, Lang::En).ends_with("; simulation and kernel differ by 2.44 % at most (“v”)."));
}

#[test]
fn repairing_queues_and_unfairness_are_seen() {
    let mut v = variant("v", "shaper", "cubic", 10.0, 130.0, 0);
    v.flows[0].states = vec![StateTime { state: "recovery".into(), share: 0.4, entered: 3 }];
    v.flows.push(FlowResult { goodput_mbps: 2.0, name: "small".into(), ..v.flows[0].clone() });
    v.jain_index = 0.6;
    let told = tell(vec![v], Lang::En);
    for part in [
        "CUBIC spent 40 % of the time repairing losses",
        "100 ms in the median",
        "got 5.0 times the smallest",
    ] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn settings_and_relays_are_told_as_such() {
    let a = variant("a", "policer", "cubic", 4.0, 31.0, 120);
    let mut b = variant("b", "policer", "cubic", 8.0, 31.0, 20);
    let setting = |v: &mut VariantResult| {
        let path = v.path.as_mut().unwrap();
        path.links[0].forward[0].settings.insert("burst".into(), "60kB".into());
    };
    setting(&mut b);
    let told = tell(vec![a.clone(), b], Lang::En);
    assert!(
        told.contains("a policer with burst 60kB instead of – (“b”) carries 2.0 times as much"),
        "{told}"
    );
    let queue = |v: &VariantResult, settings: &[(&str, &str)]| {
        let mut v = v.clone();
        let stage = &mut v.path.as_mut().unwrap().links[0].forward[0];
        stage.settings.extend(settings.iter().map(|(k, v)| (k.to_string(), v.to_string())));
        v
    };
    let fifo = queue(&a, &[("queue.kind", "fifo"), ("queue.packets", "100")]);
    let fair = queue(&variant("f", "policer", "cubic", 8.0, 31.0, 20), &[("queue.kind", "fq-codel")]);
    let told = tell(vec![fifo, fair], Lang::En);
    assert!(told.contains("a policer whose queue is FQ-CoDel instead of FIFO (“f”)"), "{told}");
    let mut c = variant("c", "policer", "cubic", 8.0, 31.0, 20);
    c.path.as_mut().unwrap().relays =
        vec![result::topology::PathRelay { name: "r".into(), host: "edge".into() }];
    assert!(tell(vec![a, c], Lang::En).contains("a relay at edge (“c”) carries 2.0 times"), "relay");
}

#[test]
fn a_name_is_text_of_bounded_length() {
    let name = format!("{}\u{202e}</script>", "x".repeat(10_000));
    let told = tell(vec![variant(&name, "policer", "cubic", 4.0, 31.0, 120)], Lang::En);
    assert!(told.len() < 400 && !told.contains('\u{202e}'), "{told}");
}

#[test]
fn the_story_names_the_variants_it_is_about() {
    let run = |variants| Run { scenario: "s".into(), seed: 1, variants, ..Run::default() };
    assert_eq!(story(&[("s", &run(three()))], Lang::En).about, [[0, 0], [0, 2], [0, 1]]);
    let (a, b) = (run(vec![three().remove(1)]), run(vec![three().remove(0)]));
    let told = story(&[("first", &a), ("second", &b)], Lang::En);
    assert_eq!(told.about, [[1, 0], [0, 0]]);
    assert!(told.text.contains("second: policed") && told.text.contains("first: shaped"), "{}", told.text);
}
