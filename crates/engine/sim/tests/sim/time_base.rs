//! All rates of a run count over one interval, so no total exceeds the path's capacity, whenever flows start
//! and end.

use crate::common::*;
use proptest::prelude::*;

/// 200 short transfers next to a long flow: over each flow's own lifetime, the rates would add up to three
/// times the link's.
#[test]
fn goodputs_of_successive_short_transfers_add_up_to_the_link() {
    let flows = r#"
[flows.short]
from = "a"
to = "b"
count = 200
stagger = "40ms"
app = { kind = "bulk", bytes = "20kB" }
[flows.long]
from = "a"
to = "b"
"#;
    let link = "{ kind = \"link\", rate = \"50Mbit/s\" }";
    let o = run(&path("duration = \"10s\"\nsample = \"0s\"", link, 20.0, flows));
    let v = &o.variant;
    assert_eq!((v.measured_s, v.limit_mbps), ([0.0, 10.0], Some(50.0)));
    let own: f64 = v.flows.iter().map(|f| f.own_goodput_mbps()).sum();
    println!("total {:.1} Mbit/s, of each flow's own time {own:.1}", v.total_goodput_mbps);
    assert!(v.total_goodput_mbps > 40.0 && v.total_goodput_mbps < 50.0, "{}", v.total_goodput_mbps);
    assert!(own > 150.0, "{own}");
    let delivered: u64 = v.flows.iter().map(|f| f.delivered_bytes).sum();
    close("payload in ten seconds", v.total_goodput_mbps * 10.0, delivered as f64 * 8e-6, 1e-6);
}

/// Traffic outside of the interval counts in no rate: the parts of a run add up to the whole.
#[test]
fn intervals_of_a_run_add_up() {
    let link = "{ kind = \"link\", rate = \"10Mbit/s\" }, { kind = \"loss\", probability = 0.001 }";
    let flows = format!("{}start = \"700ms\"\n", bulk("cubic"));
    let goodputs = |measure: &str| {
        let head = format!("duration = \"6s\"\nsample = \"30ms\"\nmeasure = \"{measure}\"");
        let o = run(&path(&head, link, 40.0, &flows));
        let [from, to] = o.variant.measured_s;
        (o.variant.total_goodput_mbps * (to - from), flow(&o, "f").clone())
    };
    let (whole, f) = goodputs("all");
    close("all", whole, f.delivered_bytes as f64 * 8e-6, 1e-9);
    let parts: f64 = ["0s..1.234s", "1.234s..4.99s", "4.99s..6s"].iter().map(|m| goodputs(m).0).sum();
    close("in three parts", parts, whole, 1e-6);
    // RTTs of slow start are not among those of the interval.
    let (settled, late) = goodputs("3s..6s");
    assert!(settled > 25.0 && settled < 30.0, "{settled}");
    assert!(late.rtt_ms.min > f.rtt_ms.min, "{:?} {:?}", late.rtt_ms, f.rtt_ms);
    assert_eq!((late.delivered_bytes, late.sent_packets), (f.delivered_bytes, f.sent_packets));
}

/// Flows measured one at a time: each rate counts over the interval of its own run.
#[test]
fn one_at_a_time_each_has_its_own_interval() {
    let transfer = |name: &str, start: &str| {
        format!(
            "[flows.{name}]\nfrom = \"a\"\nto = \"b\"\nstart = \"{start}\"\napp = {{ kind = \"bulk\", bytes = \"1MB\" }}\n"
        )
    };
    let flows = [transfer("early", "0s"), transfer("late", "5s")].concat();
    let text = path("duration = \"10s\"", "{ kind = \"link\", rate = \"10Mbit/s\" }", 20.0, &flows);
    let alone = |only| {
        let options = sim::SimOptions { only_flow: Some(only), ..sim::SimOptions::default() };
        sim::run("v", &parse(&text), options)
    };
    let (early, late) = (alone(0), alone(1));
    assert_eq!((early.variant.measured_s[0], late.variant.measured_s[0]), (0.0, 5.0));
    close("late as early", flow(&late, "late").goodput_mbps, flow(&early, "early").goodput_mbps, 1e-6);
    let last = late.variant.measured_s[1];
    let both = result::concat(vec![("early".into(), early), ("late".into(), late)]);
    assert_eq!(both.variant.measured_s, [0.0, last]);
    assert!(last > 5.8 && last < 6.1, "{last}");
}

#[test]
fn a_sender_of_datagrams_that_has_not_ended_is_active_until_the_run_ends() {
    let udp = "[flows.f]\nfrom = \"a\"\nto = \"b\"\nstart = \"1s\"\napp = { kind = \"udp\", rate = \"50kbit/s\", size = 100, duration = \"1s\" }\n";
    let text =
        path("duration = \"1500ms\"\nsample = \"0s\"", "{ kind = \"link\", rate = \"1Mbit/s\" }", 1.0, udp);
    close("until the end", flow(&run(&text), "f").active_s, 0.5, 1e-9);
}

/// Stages that all flows pass, the last being the limit, and the largest burst that the limit passes, bytes.
fn limit() -> impl Strategy<Value = (String, f64, f64)> {
    let rate = 200u32..50_000;
    prop_oneof![
        (rate.clone(), 2u32..300).prop_map(|(r, n)| {
            let queue = format!("{{ kind = \"fifo\", packets = {n} }}");
            (format!("{{ kind = \"link\", rate = \"{r}kbit/s\", queue = {queue} }}"), r, 0)
        }),
        (rate.clone(), 3000u32..200_000).prop_map(|(r, b)| (
            format!("{{ kind = \"policer\", rate = \"{r}kbit/s\", burst = \"{b}B\" }}"),
            r,
            b
        )),
        (rate, 3000u32..50_000).prop_map(|(r, b)| (
            format!("{{ kind = \"shaper\", rate = \"{r}kbit/s\", burst = \"{b}B\" }}"),
            r,
            b
        )),
    ]
    .prop_map(|(stage, kbit, burst)| (stage, kbit as f64 / 1e3, burst as f64))
}

fn flows() -> impl Strategy<Value = String> {
    let app = prop_oneof![
        Just("{ kind = \"bulk\" }".to_string()),
        (1u32..300_000).prop_map(|n| format!("{{ kind = \"bulk\", bytes = \"{n}B\" }}")),
        (1u32..900).prop_map(|n| format!("{{ kind = \"bulk\", duration = \"{n}ms\" }}")),
        (1u32..60_000, 1u32..60_000).prop_map(|(q, r)| {
            // Requests go in the direction of the other flows' data.
            format!("{{ kind = \"request\", request = \"{}B\", response = \"{}B\" }}", q.max(r), q.min(r))
        }),
        (50u32..60_000, 100u32..1500, 100u32..900).prop_map(|(r, s, d)| {
            format!("{{ kind = \"udp\", rate = \"{r}kbit/s\", size = {s}, duration = \"{d}ms\" }}")
        }),
    ];
    let flow = (app, 1u32..20, 0u32..500, 0u32..30);
    prop::collection::vec(flow, 1..5).prop_map(|list| {
        let one = |(i, (app, count, start, stagger)): (usize, (String, u32, u32, u32))| {
            format!(
                "[flows.f{i}]\nfrom = \"a\"\nto = \"b\"\ncount = {count}\nstart = \"{start}ms\"\nstagger = \"{stagger}ms\"\napp = {app}\n"
            )
        };
        list.into_iter().enumerate().map(one).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn no_total_is_above_the_limit((stage, rate, burst) in limit(), flows in flows(), rtt in 1u32..80) {
        let stages = format!("{{ kind = \"loss\", probability = 0.003 }}, {stage}");
        let text = path("duration = \"1500ms\"\nsample = \"0s\"", &stages, rtt.into(), &flows);
        let o = run(&text);
        let v = &o.variant;
        prop_assert_eq!(v.limit_mbps, Some(rate));
        let [from, to] = v.measured_s;
        prop_assert!((0.0..=1.5).contains(&from) && to <= 1.5 && from <= to, "{:?}", v.measured_s);
        // In Mbit; a packet may be in flight in the limiter when it fills.
        let most = rate * (to - from) + (burst + 1514.0) * 8e-6;
        let total = v.total_goodput_mbps * (to - from);
        prop_assert!(total <= most, "{} Mbit of {}\n{}", total, most, text);
        for f in &v.flows {
            prop_assert!(f.active_s <= to - from + 1e-9, "{} {:?}\n{}", f.active_s, v.measured_s, text);
        }
        let delivered: u64 = v.flows.iter().map(|f| f.delivered_bytes).sum();
        prop_assert!((total - delivered as f64 * 8e-6).abs() < 1e-6 || to == from);
    }
}
