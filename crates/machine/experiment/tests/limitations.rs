//! Tests of the limitation search on small paths with a known answer.

use experiment::limitations::{
    LimitationSearchOptions, MAX_RUNS, MAX_STAGE_PACKETS, MIN_GAIN, find_limitations,
};
use result::{Carried, Limitation, LimitationKind, LimitationSearch};
use scenario::Experiment;
use std::num::NonZeroUsize;

fn held_with(text: &str, sets: &[&str], threads: usize) -> (Vec<Limitation>, LimitationSearch) {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let experiment = Experiment::parse("held.toml", text, &sets).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let variant = &experiment.variants[0];
    let goals = experiment.goals();
    let seeds = [variant.scenario.seed];
    let options = LimitationSearchOptions {
        variant,
        seeds: &seeds,
        goals: &goals,
        threads: NonZeroUsize::new(threads),
    };
    find_limitations(&options)
}

fn held(text: &str, sets: &[&str]) -> (Vec<Limitation>, LimitationSearch) {
    held_with(text, sets, 2)
}

/// A download over a path of the given stages.
fn download(forward: &str, backward: &str, more: &str) -> String {
    format!(
        "duration = \"6s\"\n[links.wan]\nbetween = [\"server\", \"home\"]\nforward = [{forward}]\nbackward = [{backward}]\n\
         [flows.download]\nfrom = \"server\"\nto = \"home\"\n{more}\n"
    )
}

const LINE: &str = r#"{ kind = "link", name = "line", rate = "40Mbit/s", delay = "20ms", queue = { kind = "fifo", packets = 150 } }"#;
const BACK: &str = r#"{ kind = "delay", delay = "20ms" }"#;

/// Returns the first limitation, after checking that it is this one.
fn first(text: &str, kind: LimitationKind, place: &str) -> Limitation {
    let (limitations, search) = held(text, &[]);
    let first = limitations.first().unwrap_or_else(|| panic!("no limitation found: {search:?}\n{text}"));
    assert_eq!((first.kind, first.place.as_str()), (kind, place), "{limitations:#?}\n{search:?}");
    assert!(first.gain >= MIN_GAIN && first.runs >= 3, "{first:?}");
    let effect = &first.effects[0];
    assert_eq!(effect.measure, search.measure);
    assert!(effect.with != effect.without, "{first:?}");
    first.clone()
}

/// The outage drops twenty times as many packets as the random loss, but all at once; the random loss holds
/// the flow.
#[test]
fn rare_single_losses_hold_a_flow_and_large_bursts_do_not() {
    let path = r#"
        { kind = "link", name = "line", rate = "100Mbit/s", delay = "20ms", queue = { kind = "fifo", packets = 400 } },
        { kind = "outage", name = "gap", every = "10s", first = "3s", lasts = "60ms" },
        { kind = "loss", name = "noise", probability = 0.0004 }"#;
    let text = download(path, BACK, "").replace("\"6s\"", "\"20s\"");
    let (limitations, search) = held(&text, &[]);
    let noise = &limitations[0];
    assert_eq!(
        (noise.kind, noise.place.as_str()),
        (LimitationKind::Loss, "wan.forward.noise"),
        "{limitations:?}"
    );
    assert!(noise.gain > 2.0 && noise.carries == Some(Carried::Data), "{noise:?}");
    let drops = noise.drops.unwrap();
    assert!(drops.events * 10 >= drops.packets * 7, "each single loss is an event: {drops:?}");
    let gap = limitations.iter().find(|h| h.kind == LimitationKind::Outage);
    if let Some(drops) = gap.and_then(|h| h.drops) {
        assert!(drops.events <= 4 && drops.packets > 40, "a burst is one event: {drops:?}");
    }
    let tried = search.tried.iter().find(|t| t.kind == LimitationKind::Outage).unwrap();
    assert!(tried.gain.unwrap() < noise.gain);
}

#[test]
fn a_policer_holds_what_a_shaper_of_its_rate_would_not() {
    let path = r#"{ kind = "policer", name = "cap", rate = "20Mbit/s", burst = "9kB" }, { kind = "delay", delay = "20ms" }"#;
    let limitation = first(&download(path, BACK, ""), LimitationKind::Policer, "wan.forward.cap");
    assert_eq!(limitation.rate_mbps, Some(20.0));
    let each = r#"{ kind = "policer", name = "cap", rate = "8Mbit/s", burst = "9kB", per_flow = true }, { kind = "delay", delay = "20ms" }"#;
    first(&download(each, BACK, "count = 3"), LimitationKind::Policer, "wan.forward.cap");
}

#[test]
fn a_full_line_holds_by_its_rate_and_an_idle_one_does_not() {
    let limitation = first(&download(LINE, BACK, ""), LimitationKind::Rate, "wan.forward.line");
    assert!((1.8..=2.05).contains(&limitation.gain) && limitation.rate_mbps == Some(40.0), "{limitation:?}");
    let text =
        download(LINE, BACK, "app = { kind = \"onoff\", on = \"4s\", off = \"10ms\", rate = \"5Mbit/s\" }");
    let (_, search) = held(&text, &[]);
    assert!(search.tried.iter().all(|t| t.kind != LimitationKind::Rate), "{search:?}");
    first(&text, LimitationKind::Application, "download");
}

#[test]
fn windows_and_buffers_hold_alone_and_together() {
    let window = "[hosts.home]\nstack = { receive_window = \"64kB\" }";
    first(&download(LINE, BACK, window), LimitationKind::ReceiveWindow, "home");
    let buffer = "[hosts.server]\nstack = { send_buffer = \"128kB\" }";
    first(&download(LINE, BACK, buffer), LimitationKind::SendBuffer, "server");
    // Removing either alone has no gain.
    let both = "[hosts.home]\nstack = { receive_window = \"64kB\" }\n[hosts.server]\nstack = { send_buffer = \"90kB\" }";
    let limitation = first(&download(LINE, BACK, both), LimitationKind::Buffers, "home");
    assert_eq!(limitation.also, ["server"]);
}

#[test]
fn a_short_queue_holds_goodput_and_a_long_one_delay() {
    let short = LINE.replace("packets = 150", "packets = 8");
    first(&download(&short, BACK, ""), LimitationKind::QueueLimit, "wan.forward.line");
    let long = LINE.replace("packets = 150", "packets = 1500");
    let call = "[flows.call]\nfrom = \"server\"\nto = \"home\"\napp = { kind = \"voice\", codec = \"g711\" }";
    let limitation = first(&download(&long, BACK, call), LimitationKind::StandingQueue, "wan.forward.line");
    let delay = &limitation.effects[0];
    assert!(
        delay.measure == "delay.p95" && delay.with.unwrap() > 2.0 * delay.without.unwrap(),
        "{limitation:?}"
    );
}

#[test]
fn waiting_acks_are_distinguished_from_data() {
    let slow = r#"{ kind = "link", name = "up", rate = "300kbit/s", delay = "20ms", queue = { kind = "fifo", packets = 20 } }"#;
    let (limitations, search) = held(&download(LINE, slow, ""), &[]);
    let first = limitations.first().unwrap_or_else(|| panic!("{search:?}"));
    assert!(first.place == "wan.backward.up" && first.carries == Some(Carried::Acks), "{first:?}");
}

/// An upload's queue delays the ACKs of a download: for the download it carries no data.
#[test]
fn acks_of_one_flow_wait_behind_data_of_another() {
    let up = r#"{ kind = "link", name = "up", rate = "10Mbit/s", delay = "10ms", queue = { kind = "fifo", packets = 1000 } }"#;
    let upload = "[flows.upload]\nfrom = \"home\"\nto = \"server\"";
    let (limitations, search) = held(&download(LINE, up, upload), &[]);
    let at_up = |flow: &str| {
        limitations.iter().find(|h| h.place == "wan.backward.up" && h.flow.as_deref() == Some(flow))
    };
    let of_download = at_up("download").unwrap_or_else(|| panic!("{limitations:#?}\n{search:?}"));
    assert_eq!(of_download.carries, Some(Carried::Acks), "{of_download:?}");
    assert!(at_up("upload").is_none_or(|h| h.carries != Some(Carried::Acks)), "{limitations:?}");
}

#[test]
fn caps_of_senders_are_found() {
    first(&download(LINE, BACK, "max_pacing_rate = \"10Mbit/s\""), LimitationKind::PacingCap, "download");
    let request = "app = { kind = \"request\", request = \"200B\", response = \"400kB\", think = \"1s\" }";
    let text = download(LINE, BACK, request)
        .replace("from = \"server\"\nto = \"home\"", "from = \"home\"\nto = \"server\"");
    first(&text, LimitationKind::SlowStart, "server");
}

#[test]
fn packets_out_of_order_or_too_big_are_found() {
    let path =
        format!("{LINE}, {{ kind = \"reorder\", name = \"paths\", probability = 0.02, delay = \"15ms\" }}");
    let old = "[hosts.server]\nstack = { profile = \"rfc\" }\n[hosts.home]\nstack = { profile = \"rfc\" }";
    first(&download(&path, BACK, old), LimitationKind::Reordering, "wan.forward.paths");
    let path = format!("{{ kind = \"link\", name = \"port\", rate = \"1Gbit/s\" }}, {LINE}");
    let tunnel = path.replace("rate = \"1Gbit/s\"", "rate = \"1Gbit/s\", mtu = 1400, icmp = false");
    let text = format!(
        "{}\n[links.lan]\nbetween = [\"home\", \"pc\"]\nforward = [{{ kind = \"link\", rate = \"1Gbit/s\" }}]\nbackward = [{{ kind = \"link\", rate = \"1Gbit/s\" }}]\n",
        download(BACK, BACK, "").replace("to = \"home\"", "to = \"pc\"")
    );
    let text = text.replace("[links.wan]\nbetween = [\"server\", \"home\"]", "[links.near]\nbetween = [\"server\", \"edge\"]\nforward = [{ kind = \"link\", rate = \"1Gbit/s\" }]\nbackward = [{ kind = \"link\", rate = \"1Gbit/s\" }]\n[links.wan]\nbetween = [\"edge\", \"home\"]");
    let text = text.replacen(&format!("forward = [{BACK}]"), &format!("forward = [{tunnel}]"), 1);
    first(&text, LimitationKind::Mtu, "wan.forward.port");
}

#[test]
fn a_flood_holds_the_flows_on_its_link() {
    let flood =
        "[flows.flood]\nfrom = \"server\"\nto = \"home\"\napp = { kind = \"udp\", rate = \"60Mbit/s\" }";
    first(&download(LINE, BACK, flood), LimitationKind::CompetingFlow, "flood");
    // Two flows that share a link do not hold each other, and neither does a narrow stream.
    let second = "[flows.second]\nfrom = \"server\"\nto = \"home\"\n[flows.call]\nfrom = \"server\"\nto = \"home\"\napp = { kind = \"udp\", rate = \"2Mbit/s\" }";
    let text = format!("goal = \"goodput\"\n{}", download(LINE, BACK, second));
    first(&text, LimitationKind::Rate, "wan.forward.line");
}

#[test]
fn different_controls_hold_fairness() {
    let text = download(LINE, BACK, "[flows.other]\nfrom = \"server\"\nto = \"home\"\ncc = \"bbr\"");
    let text = format!("goal = \"fairness\"\n{}", text.replace("packets = 150", "packets = 30"));
    // The flow that would take the other's control.
    let limitation = first(&text, LimitationKind::CongestionControl, "download");
    assert!(
        limitation.effects[0].measure == "jain" && limitation.effects[0].without.unwrap() > 0.9,
        "{limitation:?}"
    );
}

/// Two directions, and two separate paths, each with its own cause. The sum would hide the slower one.
#[test]
fn flows_that_share_no_link_are_judged_separately() {
    let noisy = format!("{LINE}, {{ kind = \"loss\", name = \"noise\", probability = 0.01 }}");
    let up = LINE.replace("name = \"line\"", "name = \"up\"").replace("40Mbit/s", "60Mbit/s");
    let upload = "[flows.upload]\nfrom = \"home\"\nto = \"server\"";
    let (limitations, search) = held(&download(&noisy, &up, upload), &[]);
    let of = |flow: &str| {
        let first = limitations.iter().find(|h| h.flow.as_deref() == Some(flow));
        first.map(|h| (h.kind, h.place.as_str())).unwrap_or_else(|| panic!("{flow}: {search:#?}"))
    };
    assert_eq!(of("download"), (LimitationKind::Loss, "wan.forward.noise"));
    assert_eq!(of("upload"), (LimitationKind::Rate, "wan.backward.up"));
    // Gains and effects are those of this part only.
    let noise = limitations.iter().find(|h| h.kind == LimitationKind::Loss).unwrap();
    assert!(noise.gain > 3.0 && noise.effects[0].without.unwrap() < 40.0, "{noise:?}");
    let window = "[links.two]\nbetween = [\"far\", \"near\"]\nforward = [{ kind = \"link\", rate = \"30Mbit/s\", delay = \"20ms\" }]\n\
                  backward = [{ kind = \"delay\", delay = \"20ms\" }]\n[hosts.near]\nstack = { receive_window = \"20kB\" }\n\
                  [flows.other]\nfrom = \"far\"\nto = \"near\"\ncount = 2";
    let (limitations, search) = held(&download(LINE, BACK, window), &[]);
    let other = limitations.iter().find(|h| h.flow.as_deref() == Some("other"));
    let other = other.unwrap_or_else(|| panic!("{search:#?}"));
    assert_eq!((other.kind, other.place.as_str()), (LimitationKind::ReceiveWindow, "near"));
}

/// A delay line that holds 60 packets carries at most 60 packets every 40 ms, however fast the link behind it
/// is.
#[test]
fn a_full_delay_line_holds_like_a_full_queue() {
    for delay in
        ["kind = \"delay\", delay = \"40ms\"", "kind = \"jitter\", delay = \"40ms\", jitter = \"1ms\""]
    {
        let path = format!("{{ {delay}, name = \"netem\", packets = 60 }}, {LINE}");
        first(&download(&path, BACK, ""), LimitationKind::QueueLimit, "wan.forward.netem");
    }
}

/// On a link mostly used by a flood, doubling the rate gains more than removing the flood. The flood is still
/// the cause.
#[test]
fn a_flood_is_the_cause_rather_than_the_link_rate() {
    for rate in ["26Mbit/s", "34Mbit/s", "39Mbit/s"] {
        let flood = format!(
            "[flows.flood]\nfrom = \"server\"\nto = \"home\"\napp = {{ kind = \"udp\", rate = \"{rate}\" }}"
        );
        let (limitations, search) =
            held(&format!("goal = \"goodput\"\n{}", download(LINE, BACK, &flood)), &[]);
        assert_eq!(
            limitations.first().map(|h| h.kind),
            Some(LimitationKind::CompetingFlow),
            "{rate}: {search:#?}"
        );
    }
}

/// A run that would take minutes to simulate is shortened and still shows the same cause.
#[test]
fn a_shortened_run_of_a_fast_path_shows_the_cause() {
    let fast = |queue: &str, more: &str| {
        let line = format!(
            r#"{{ kind = "link", name = "line", rate = "10Gbit/s", delay = "2ms", queue = {{ kind = "fifo", bytes = "{queue}" }} }}"#
        );
        let text = download(&line, &BACK.replace("20ms", "2ms"), more).replace("\"6s\"", "\"60s\"");
        format!(
            "{text}[hosts.home]\nstack = {{ receive_buffer = \"100MB\" }}\n[hosts.server]\nstack = {{ send_buffer = \"100MB\" }}\n"
        )
    };
    let cap = "max_pacing_rate = \"3Gbit/s\"\n";
    let all = [
        (
            fast("10MB", "").replace("receive_buffer = \"100MB\"", "receive_window = \"1MB\""),
            LimitationKind::ReceiveWindow,
        ),
        (
            fast("10MB", "").replace("send_buffer = \"100MB\"", "send_buffer = \"2MB\""),
            LimitationKind::SendBuffer,
        ),
        (fast("10MB", cap), LimitationKind::PacingCap),
        (fast("150kB", ""), LimitationKind::QueueLimit),
    ];
    for (text, kind) in all {
        let (limitations, search) = held(&text, &[]);
        let first = limitations.first().unwrap_or_else(|| panic!("no limitation found: {search:#?}\n{text}"));
        assert_eq!(first.kind, kind, "{limitations:#?}\n{search:#?}");
        assert!(first.simulated_s.is_some_and(|s| (1.0..60.0).contains(&s)), "{first:?}");
        assert!(search.untried.is_empty() && search.stage_packets < 2 * MAX_STAGE_PACKETS, "{search:?}");
    }
}

/// An outage of 6 s in a run of 30 s loses only about a hundred packets. Its cost is the time.
#[test]
fn an_outage_and_a_black_hole_are_measured_in_time() {
    let path = format!("{LINE}, {{ kind = \"outage\", name = \"gap\", at = [\"10s\"], lasts = \"6s\" }}");
    let text = download(&path, BACK, "").replace("\"6s\"\n", "\"30s\"\n");
    let limitation = first(&text, LimitationKind::Outage, "wan.forward.gap");
    let silence = limitation.silence.expect("nothing arrived for six seconds");
    // Since the retransmission timeout doubles each time, the silence may last up to twice as long as the
    // outage.
    assert!((6.0..13.0).contains(&silence.silence_s) && silence.flow == "download", "{silence:?}");
    let tunnel = format!(
        "{{ kind = \"tunnel\", name = \"vpn\", overhead = \"esp-aes-gcm\", mtu = 1500, icmp = false }}, {LINE}, {{ kind = \"tunnel-end\" }}"
    );
    let probing = "[hosts.server]\nstack = { mtu_probing = \"on-blackhole\" }";
    let text = download(&tunnel, BACK, probing).replace("\"6s\"", "\"20s\"");
    let silence =
        first(&text, LimitationKind::Mtu, "wan.forward.vpn").silence.expect("a silence after the black hole");
    assert!((1.0..10.0).contains(&silence.silence_s), "{silence:?}");
}

/// If only the full run will do, the budget may be too small.
#[test]
fn suspects_beyond_the_budget_are_reported() {
    let text = download(
        &LINE.replace("40Mbit/s", "40Gbit/s").replace("packets = 150", "packets = 100000"),
        BACK,
        "count = 20",
    )
    .replace("\"6s\"", "\"1500ms\"");
    let big = format!(
        "{text}\n[hosts.home]\nstack = {{ receive_buffer = \"400MB\" }}\n[hosts.server]\nstack = {{ send_buffer = \"400MB\" }}"
    );
    let (_, search) = held(&big, &[]);
    assert!(search.runs <= MAX_RUNS && !search.untried.is_empty(), "{search:?}");
    // A run that has started continues to its end.
    assert!(search.stage_packets < 3 * MAX_STAGE_PACKETS, "{search:?}");
}

#[test]
fn limitations_do_not_depend_on_the_number_of_threads() {
    let path = format!("{LINE}, {{ kind = \"loss\", name = \"noise\", probability = 0.001 }}");
    let text = download(&path, BACK, "");
    assert_eq!(held_with(&text, &[], 1), held_with(&text, &[], 5));
    assert!(held(&text, &["flows={}"]).1.unknown.is_some());
}
