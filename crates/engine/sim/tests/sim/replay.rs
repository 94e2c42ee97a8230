//! The same seed gives the same bytes, each element and flow has its own random stream, and packet accounts
//! balance in a hundred random scenarios.

use crate::common::*;
use proptest::prelude::*;
use result::Outcome;

fn json(o: &Outcome) -> String {
    serde_json::to_string(&o.variant).expect("a variant is JSON")
}

const RANDOM: &str = r#"duration = "10s"
[links.path]
between = ["a", "b"]
forward = [
    { kind = "loss", probability = 0.01 },
    { kind = "jitter", delay = "5ms", jitter = "2ms" },
    { kind = "link", rate = "20Mbit/s", delay = "10ms", queue = { kind = "red" } },
    { kind = "reorder", probability = 0.01, delay = "3ms" },
]
backward = [{ kind = "delay", delay = "10ms" }]
[flows]
cubic = { from = "a", to = "b" }
bbr = { from = "a", to = "b", cc = "bbr" }
noise = { from = "a", to = "b", app = { kind = "udp", rate = "2Mbit/s", arrival = "poisson" } }
"#;

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let (a, b) = (run_seed(RANDOM, 7), run_seed(RANDOM, 7));
    assert_eq!(json(&a), json(&b));
    assert_eq!(format!("{:?}", a.flow_series), format!("{:?}", b.flow_series));
    assert_ne!(json(&a), json(&run_seed(RANDOM, 8)));
}

/// Without random elements the seed has no effect.
#[test]
fn seeds_matter_only_with_random_elements() {
    let text = path("duration = \"5s\"", "{ kind = \"link\", rate = \"10Mbit/s\" }", 20.0, &bulk("cubic"));
    assert_eq!(json(&run_seed(&text, 1)), json(&run_seed(&text, 2)));
}

/// The lost packets follow from the seed and the element's name alone.
#[test]
fn the_seed_chooses_the_losses() {
    let dropped = |seed| {
        let udp = "[flows.f]\nfrom = \"a\"\nto = \"b\"\napp = { kind = \"udp\", rate = \"5Mbit/s\" }\n";
        let o =
            run_seed(&path("duration = \"5s\"", "{ kind = \"loss\", probability = 0.1 }", 10.0, udp), seed);
        element_series(&o, "loss").dropped.clone()
    };
    assert_eq!(dropped(1), dropped(1));
    assert_ne!(dropped(1), dropped(2));
}

/// Adding a link, a stage after the element, or another flow changes no other random draw.
#[test]
fn additions_do_not_shift_other_random_streams() {
    let text = |stage: &str, more: &str| {
        format!(
            r#"duration = "5s"
[links.path]
between = ["a", "b"]
forward = [{{ kind = "loss", probability = 0.05 }}, {{ kind = "delay", delay = "5ms" }}{stage}]
backward = [{{ kind = "delay", delay = "5ms" }}]
{more}
[flows.x]
from = "a"
to = "b"
[flows.y]
from = "a"
to = "b"
app = {{ kind = "udp", rate = "1Mbit/s", arrival = "poisson" }}
"#
        )
    };
    let alone = run(&text("", ""));
    let other = "[links.other]\nbetween = [\"c\", \"d\"]\nforward = [{ kind = \"loss\", probability = 0.5 }]\n[flows.z]\nfrom = \"c\"\nto = \"d\"\ncc = \"bbr\"\n";
    for more in [run(&text("", other)), run(&text(", { kind = \"loss\", probability = 0.0 }", ""))] {
        for name in ["x", "y"] {
            assert_eq!(format!("{:?}", flow(&alone, name)), format!("{:?}", flow(&more, name)));
            let same = format!("{:?}", series(&alone, name)) == format!("{:?}", series(&more, name));
            assert!(same, "the series of {name}");
        }
    }
}

fn stage() -> impl Strategy<Value = String> {
    let queue = prop_oneof![
        (1u32..200).prop_map(|n| format!("{{ kind = \"fifo\", packets = {n} }}")),
        Just("{ kind = \"codel\", ecn = true }".to_string()),
        prop::sample::select(path::QueueConfig::KINDS).prop_map(|kind| format!("{{ kind = \"{kind}\" }}")),
    ];
    prop_oneof![
        (100u32..100_000, 0u32..60, queue, any::<bool>()).prop_map(|(rate, delay, queue, small)| {
            let mtu = if small { ", mtu = 1300" } else { "" };
            format!(
                "{{ kind = \"link\", rate = \"{rate}kbit/s\", delay = \"{delay}ms\", queue = {queue}{mtu} }}"
            )
        }),
        (0u32..80).prop_map(|ms| format!("{{ kind = \"delay\", delay = \"{ms}ms\" }}")),
        (0u32..20, 0u32..10).prop_map(|(d, j)| {
            format!("{{ kind = \"jitter\", delay = \"{}ms\", jitter = \"{j}ms\" }}", d + j)
        }),
        (100u32..50_000, 1500u32..100_000)
            .prop_map(|(r, b)| format!("{{ kind = \"policer\", rate = \"{r}kbit/s\", burst = \"{b}B\" }}")),
        (100u32..50_000).prop_map(|r| format!("{{ kind = \"shaper\", rate = \"{r}kbit/s\" }}")),
        (0u32..40).prop_map(|p| format!("{{ kind = \"loss\", probability = {} }}", p as f64 / 100.0)),
        (0u32..40).prop_map(|p| format!("{{ kind = \"duplicate\", probability = {} }}", p as f64 / 100.0)),
        (0u32..40, 1u32..100).prop_map(|(p, ms)| {
            format!("{{ kind = \"reorder\", probability = {}, delay = \"{ms}ms\" }}", p as f64 / 100.0)
        }),
        (1u32..1500, 1u32..900)
            .prop_map(|(at, d)| format!("{{ kind = \"outage\", at = [\"{at}ms\"], lasts = \"{d}ms\" }}")),
        any::<bool>()
            .prop_map(|f| { format!("{{ kind = \"tunnel\", overhead = 60, mtu = 1500, fragment = {f} }}") }),
    ]
}

fn app() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{ kind = \"bulk\" }".to_string()),
        (1u32..500_000).prop_map(|n| format!("{{ kind = \"bulk\", bytes = \"{n}B\" }}")),
        (1u32..1500).prop_map(|n| format!("{{ kind = \"bulk\", duration = \"{n}ms\" }}")),
        (1u32..20_000, 1u32..50_000, 0u32..50).prop_map(|(q, r, t)| format!(
            "{{ kind = \"request\", request = \"{q}B\", response = \"{r}B\", think = \"{t}ms\" }}"
        )),
        (1u32..20, 1u32..20_000, 1u32..7, 0u32..50).prop_map(|(n, size, connections, t)| format!(
            "{{ kind = \"page\", objects = {n}, size = \"{size}B\", connections = {connections}, html = \"{size}B\", think = \"{t}ms\" }}"
        )),
        (10u32..500, 10u32..500, 50u32..5000).prop_map(|(on, off, r)| format!(
            "{{ kind = \"onoff\", on = \"{on}ms\", off = \"{off}ms\", rate = \"{r}kbit/s\" }}"
        )),
        (50u32..5000, 100u32..1500).prop_map(|(r, s)| format!(
            "{{ kind = \"udp\", rate = \"{r}kbit/s\", size = {s}, arrival = \"poisson\" }}"
        )),
    ]
}

fn stack() -> impl Strategy<Value = String> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0u32..3).prop_map(
        |(linux, sack, timestamps, ecn, pacing, window)| {
            let profile = if linux { "linux" } else { "rfc" };
            let window = match window {
                0 => ", receive_window = \"3kB\"",
                1 => ", receive_window = \"100kB\"",
                _ => "",
            };
            format!(
                "{{ profile = \"{profile}\", sack = {sack}, timestamps = {timestamps}, ecn = {ecn}, pacing = {pacing}{window} }}"
            )
        },
    )
}

fn world() -> impl Strategy<Value = String> {
    let stages = || prop::collection::vec(stage(), 0..4).prop_map(|s| s.join(", "));
    let cc = prop::sample::select(congestion::NAMES);
    let flow = (app(), cc, any::<bool>(), 1u32..4);
    (stack(), stack(), stages(), stages(), stages(), prop::collection::vec(flow, 1..4)).prop_map(
        |(a, b, there, back, more, flows)| {
            let mut text = format!(
                "duration = \"2s\"\nsample = \"100ms\"\n[hosts]\na = {{ stack = {a} }}\nb = {{ stack = {b} }}\n[links]\none = {{ between = [\"a\", \"m\"], forward = [{there}], backward = [{back}] }}\ntwo = {{ between = [\"m\", \"b\"], forward = [{more}] }}\n[relays.r]\nhost = \"m\"\nbuffer = \"20kB\"\n[flows]\n"
            );
            for (i, (app, cc, relayed, count)) in flows.into_iter().enumerate() {
                let via = if relayed && !app.contains("udp") { ", via = [\"r\"]" } else { "" };
                text += &format!(
                    "f{i} = {{ from = \"a\", to = \"b\", cc = \"{cc}\", count = {count}, app = {app}{via} }}\n"
                );
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two seconds of any small scenario: no panic, packet accounts balance (debug assertions at the end of
    /// the run), nothing is delivered that was not sent, and a second run gives the same bytes.
    #[test]
    fn any_world_balances_and_replays(text in world(), seed in any::<u64>()) {
        let o = run_seed(&text, seed);
        for f in &o.variant.flows {
            // Duplicates of datagrams are delivered, too.
            let copies = if f.is_udp() { 1 << text.matches("duplicate").count() } else { 1 };
            let most = f.sent_packets * 1500 * copies;
            prop_assert!(f.delivered_bytes <= most, "{}: {} of {most}", f.name, f.delivered_bytes);
            prop_assert!(f.retransmitted_packets <= f.sent_packets);
        }
        prop_assert_eq!(json(&o), json(&run_seed(&text, seed)));
    }
}
