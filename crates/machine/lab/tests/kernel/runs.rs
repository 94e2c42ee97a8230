//! Runs on the real kernel. Needs root (or user namespaces and an accessible /dev/net/tun); otherwise prints
//! that it is skipped. One test at a time: two runs on one machine disturb each other.

use lab::{LabError, LabOptions};
use result::{Clock, Outcome, TrustKind};
use scenario::{Experiment, Scenario};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

static ALONE: Mutex<()> = Mutex::new(());

fn scenario(text: &str) -> Scenario {
    Experiment::parse("t.toml", text, &[]).expect("a valid scenario").variants.remove(0).scenario
}

/// Returns `None` and prints the reason if this machine lacks the privileges.
fn run(text: &str) -> Option<Outcome> {
    measured(text, TRIES)
}

fn once(text: &str) -> Option<Outcome> {
    measured(text, 1)
}

/// Repeats a measurement that other load on this machine disturbed, up to `tries` times.
fn measured(text: &str, tries: usize) -> Option<Outcome> {
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut notice = |text: &str| eprintln!("  {text}");
    let measure = || {
        let options = LabOptions { seed: 1, notice: Some(&mut notice), ..LabOptions::default() };
        lab::run("test", &scenario(text), options)
    };
    match lab::trusted(tries, measure) {
        Ok(outcome) => Some(outcome),
        Err(e @ LabError::Permission { .. }) => {
            eprintln!("SKIPPED, this needs root: {e}");
            None
        }
        Err(e) => panic!("{e}"),
    }
}

/// Maximum number of measurements per run.
const TRIES: usize = 5;

fn near(got: f64, want: f64, within: f64) {
    assert!((got / want - 1.0).abs() <= within, "{got} is not within {within} of {want}");
}

const CLEAN: &str = r#"
duration = "4s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", name = "wire", rate = "20Mbit/s", delay = "10ms" }]
backward = [{ kind = "delay", delay = "10ms" }]
[flows.f]
from = "a"
to = "b"
"#;

/// 1448 of each 1500 B packet are payload (RFC 9293, timestamps); slow start costs a little.
#[test]
fn a_clean_link_carries_its_rate() {
    let Some(o) = run(CLEAN) else { return };
    let f = &o.variant.flows[0];
    assert_eq!(o.variant.clock, Clock::Kernel);
    near(f.own_goodput_mbps(), 20.0 * 1448.0 / 1500.0, 0.01);
    assert_eq!((f.retransmitted_packets, f.timeouts), (0, 0));
    assert!(f.rtt_ms.min >= 20.0 && f.rtt_ms.min < 21.0, "{:?}", f.rtt_ms);
    let names: Vec<&str> = o.variant.elements.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["path.forward.wire", "path.backward.delay"]);
    // Series: one point every 10 ms, like the simulator's.
    let s = &o.flow_series[0];
    assert!(s.time_s.len() >= 399 && s.time_s.len() <= 401, "{}", s.time_s.len());
    assert!(s.cwnd.last() > s.cwnd.first() && s.states.iter().any(|s| s == "slow start"));
    assert!(s.pacing_mbps.iter().all(Option::is_none), "CUBIC is not paced unless the stack says so");
    assert!(o.element_series[0].queue_packets.iter().any(|&q| q > 0));
    near(s.delivery_rate_mbps.last().copied().flatten().expect("a rate"), 20.0 * 1448.0 / 1500.0, 0.05);
}

/// Asserts that the retransmissions seen by the path equal the kernel's count, and that the series contains
/// the kernel's counters.
fn assert_kernel_retransmissions(o: &Outcome) {
    let (f, s) = (&o.variant.flows[0], &o.flow_series[0]);
    let resent = s.resent.len() as u64;
    assert!(resent.abs_diff(f.retransmitted_packets) <= 3, "{resent} of {}", f.retransmitted_packets);
    assert!(s.resent.is_sorted_by(|a, b| a.time_s <= b.time_s));
    let (sent, delivered) = (*s.sent_bytes.last().unwrap(), *s.delivered_bytes.last().unwrap());
    for r in &s.resent {
        assert!(r.byte % 1448 == 0 && r.len == 1448 && r.byte < sent, "{r:?}");
        // The data had not been acknowledged before (20 ms tolerance: the sampling thread may be late).
        let later = s.time_s.partition_point(|&t| t < r.time_s - 0.02).saturating_sub(1);
        assert!(s.acked_bytes[later] <= r.byte, "{r:?}: {}", s.acked_bytes[later]);
    }
    assert!(s.sent_bytes.is_sorted() && s.acked_bytes.is_sorted());
    assert!(s.acked_bytes.iter().zip(&s.sent_bytes).all(|(acked, sent)| acked <= sent));
    let acked = *s.acked_bytes.last().unwrap();
    assert!(
        acked % 1448 == 0 && delivered.abs_diff(acked) < 100_000 && sent - acked < 200_000,
        "{acked} {delivered} {sent}"
    );
    assert_eq!(f.mss_bytes, Some(1448));
    assert_eq!(
        o.variant.path.as_ref().map(|p| p.links[0].forward[0].settings["burst"].as_str()),
        Some("32kB")
    );
}

/// Measured on Linux 6.18 by an independent emulator: 9.60 Mbit/s, 221 retransmissions, paced.
#[test]
fn a_policed_flow_agrees_with_an_independent_emulator() {
    let text = r#"
        duration = "10s"
        [hosts.a]
        stack = { pacing = true }
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "policer", rate = "10Mbit/s", burst = "32kB" }, { kind = "delay", delay = "10ms" }]
        backward = [{ kind = "delay", delay = "10ms" }]
        [flows.f]
        from = "a"
        to = "b"
    "#;
    let Some(o) = run(text) else { return };
    let f = &o.variant.flows[0];
    near(f.own_goodput_mbps(), 9.60, 0.03);
    near(f.retransmitted_packets as f64, 221.0, 0.35);
    near(f.rtt_ms.mean, 20.5, 0.03);
    assert_kernel_retransmissions(&o);
    assert!(o.flow_series[0].pacing_mbps.iter().any(Option::is_some));
}

/// Pacing is off unless the stack enables it, even if this machine's default is BBR: with a bucket of four
/// packets unpaced CUBIC carries 0.9 Mbit/s in three seconds, paced CUBIC 3.4.
#[test]
fn cubic_is_unpaced_by_default() {
    let text = r#"
        duration = "3s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "policer", rate = "10Mbit/s", burst = "6kB" }, { kind = "delay", delay = "30ms" }]
        backward = [{ kind = "delay", delay = "30ms" }]
        [flows.f]
        from = "a"
        to = "b"
    "#;
    let Some(o) = run(text) else { return };
    assert!(o.variant.flows[0].goodput_mbps < 2.0, "{:?}", o.variant.flows[0]);
}

/// Uses Reno, because CUBIC's HyStart mistakes a busy machine's late packets for a queue and leaves slow
/// start far below the rate.
#[test]
fn datagrams_see_the_path_delay_next_to_a_bulk_flow() {
    let text = r#"
        duration = "3s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "delay", delay = "20ms" }]
        backward = [{ kind = "delay", delay = "20ms" }]
        [flows.ping]
        from = "a"
        to = "b"
        app = { kind = "udp", rate = "160kbit/s", size = 200 }
        [flows.load]
        from = "b"
        to = "a"
        cc = "reno"
        max_pacing_rate = "50Mbit/s"
    "#;
    let Some(o) = run(text) else { return };
    let (ping, load) = (&o.variant.flows[0], &o.variant.flows[1]);
    assert_eq!(ping.sent_packets, 300);
    let delay = ping.real_time.expect("a real-time summary").delay_ms;
    assert!(delay.min >= 20.0 && delay.p50 < 20.5, "{delay:?}");
    // Pacing counts whole packets, goodput their payload.
    near(load.own_goodput_mbps(), 50.0 * 1448.0 / 1514.0, 0.06);
}

#[test]
fn every_kind_of_flow_runs_over_two_hops_and_a_relay() {
    let text = r#"
        duration = "4s"
        [links.lan]
        between = ["client", "router"]
        forward = [{ kind = "delay", delay = "1ms" }]
        backward = [{ kind = "delay", delay = "1ms" }]
        [links.wan]
        between = ["router", "server"]
        forward = [{ kind = "link", rate = "20Mbit/s", delay = "10ms" }]
        backward = [{ kind = "delay", delay = "10ms" }]
        [relays.pep]
        host = "router"
        buffer = "200kB"
        cc = "reno"
        [flows.split]
        from = "client"
        to = "server"
        via = ["pep"]
        [flows.rpc]
        from = "server"
        to = "client"
        app = { kind = "request", request = "1kB", response = "1kB", count = 3 }
        [flows.file]
        from = "server"
        to = "client"
        count = 2
        stagger = "100ms"
        app = { kind = "bulk", bytes = "200kB" }
        [flows.burst]
        from = "server"
        to = "client"
        app = { kind = "onoff", on = "100ms", off = "400ms", rate = "5Mbit/s" }
        [flows.voip]
        from = "client"
        to = "server"
        dscp = 46
        app = { kind = "udp", rate = "100kbit/s", size = 200, arrival = "poisson" }
    "#;
    let Some(o) = run(text) else { return };
    let flow = |name: &str| o.variant.flows.iter().find(|f| f.name == name).expect("a flow of this name");
    assert!(flow("split").goodput_mbps > 15.0, "{:?}", flow("split"));
    // The relay terminates the client's connection: its RTT is that of the first link.
    assert!(flow("split").rtt_ms.min < 5.0);
    assert_eq!(flow("rpc").completed, Some(3));
    assert_eq!(flow("file-1").delivered_bytes, 200_000);
    assert_eq!(flow("file-2").delivered_bytes, 200_000);
    // At most 200 kB are unacknowledged: about 140 packets, and the other flows' ACKs.
    let queue = o.variant.elements.iter().find(|e| e.name == "wan.forward.link").expect("the link");
    assert!(queue.dropped_packets == 0 && queue.max_queue_packets < 600, "{queue:?}");
    // Eight bursts of 62,500 B.
    near(flow("burst").delivered_bytes as f64, 8.0 * 62_500.0, 0.05);
    assert!(flow("voip").real_time.is_some_and(|real_time| real_time.delay_ms.min >= 11.0));
}

#[test]
fn oversized_packets_get_icmp_and_fragments_are_reassembled() {
    let text = |fragment: bool| {
        format!(
            r#"
            duration = "1s"
            [links.path]
            between = ["a", "b"]
            forward = [
                {{ kind = "tunnel", overhead = "esp-aes-gcm", mtu = 1500, fragment = {fragment} }},
                {{ kind = "delay", delay = "5ms" }},
            ]
            backward = [{{ kind = "delay", delay = "5ms" }}]
            [flows.f]
            from = "a"
            to = "b"
            app = {{ kind = "bulk", bytes = "1MB" }}
            "#
        )
    };
    for fragment in [false, true] {
        let Some(o) = run(&text(fragment)) else { return };
        let (f, tunnel) = (&o.variant.flows[0], &o.variant.elements[0]);
        assert_eq!(f.delivered_bytes, 1_000_000, "fragment = {fragment}: {f:?}");
        if fragment {
            assert!(tunnel.passed_packets > 1300, "{tunnel:?}");
        } else {
            assert!(tunnel.too_big_packets > 0 && tunnel.dropped_packets == 0, "{tunnel:?}");
        }
    }
}

#[test]
fn ecn_marks_reach_the_sender() {
    let text = r#"
        duration = "3s"
        [hosts.a]
        stack = { ecn = true }
        [hosts.b]
        stack = { ecn = true }
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "link", rate = "10Mbit/s", delay = "10ms", queue = { kind = "codel", ecn = true } }]
        backward = [{ kind = "delay", delay = "10ms" }]
        [flows.f]
        from = "a"
        to = "b"
    "#;
    let Some(o) = run(text) else { return };
    let marked = o.variant.elements[0].marked_packets;
    assert!(marked > 0, "{:?}", o.variant.elements[0]);
    let series = &o.element_series[0].marked;
    assert!(series.is_sorted() && series.last().is_some_and(|&n| n > 0 && n <= marked));
    assert_eq!(o.variant.flows[0].retransmitted_packets, 0);
    near(o.variant.flows[0].own_goodput_mbps(), 9.6, 0.05);
}

#[test]
fn a_fixed_window_bounds_the_flow() {
    for window in [64_000, 155_000] {
        let text = format!(
            r#"
            duration = "3s"
            [hosts.b]
            stack = {{ receive_window = "{window}B" }}
            [links.path]
            between = ["a", "b"]
            forward = [{{ kind = "delay", delay = "20ms" }}]
            backward = [{{ kind = "delay", delay = "20ms" }}]
            [flows.f]
            from = "a"
            to = "b"
            "#
        );
        let Some(o) = run(&text) else { return };
        // Window / RTT; whole segments only, and the first round trips cost a little.
        near(o.variant.flows[0].own_goodput_mbps(), window as f64 * 8.0 / 0.04 / 1e6, 0.06);
    }
}

#[test]
fn every_stack_key_is_applied() {
    let text = r#"
        duration = "1s"
        [hosts.a]
        stack = { initial_window = 20, mss = 1200, timestamps = false, sack = false, rto_min = "100ms", tso = false, send_buffer = "1MB" }
        [hosts.b]
        stack = { delayed_ack = "10ms", receive_buffer = "2MB" }
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "delay", delay = "100ms" }]
        backward = [{ kind = "delay", delay = "100ms" }]
        [flows.f]
        from = "a"
        to = "b"
        app = { kind = "bulk", bytes = "24kB" }
    "#;
    let Some(o) = run(text) else { return };
    let f = &o.variant.flows[0];
    // 20 segments of 1200 B in one flight, which is there 100 ms after the connection; ten of 1448 take two.
    assert_eq!((f.sent_packets, f.delivered_bytes), (20, 24_000), "{f:?}");
    near(f.own_goodput_mbps(), 24_000.0 * 8.0 / 0.1 / 1e6, 0.1);
}

/// An idle second shrinks a window that a second of sending opened, unless the host disables this. An initial
/// receive buffer of 16 KiB takes more round trips than one of 512 KiB.
#[test]
fn idle_restart_and_initial_receive_buffer_are_applied() {
    let received = |milliseconds: u32, stack: &str, app: &str| {
        let text = format!(
            r#"
            duration = "{milliseconds}ms"
            [hosts.a]
            stack = {{ {stack} }}
            [hosts.b]
            stack = {{ {stack} }}
            [links.path]
            between = ["a", "b"]
            forward = [{{ kind = "link", rate = "200Mbit/s", queue = {{ kind = "fifo", packets = 5000 }} }}, {{ kind = "delay", delay = "50ms" }}]
            backward = [{{ kind = "delay", delay = "50ms" }}]
            [flows.f]
            from = "a"
            to = "b"
            app = {{ {app} }}
            "#
        );
        Some(run(&text)?.variant.flows[0].delivered_bytes)
    };
    let pauses = r#"kind = "onoff", on = "700ms", off = "1s""#;
    let Some(shrinks) = received(2500, "idle_restart = true", pauses) else { return };
    let Some(stays) = received(2500, "idle_restart = false", pauses) else { return };
    assert!(stays as f64 > 1.2 * shrinks as f64, "{stays} against {shrinks}");
    let short = r#"kind = "bulk", duration = "500ms""#;
    let Some(small) = received(1000, r#"initial_receive_buffer = "16KiB""#, short) else { return };
    let Some(large) = received(1000, r#"initial_receive_buffer = "512KiB""#, short) else { return };
    assert!(large as f64 > 1.5 * small as f64, "{large} against {small}");
}

#[test]
fn a_run_can_be_stopped() {
    let stop = std::sync::atomic::AtomicBool::new(false);
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let mut progress = |now: units::Time| {
        if now.as_micros() > 200_000 {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let options = LabOptions { progress: Some(&mut progress), stop: Some(&stop), ..LabOptions::default() };
    match lab::run("test", &scenario(CLEAN), options) {
        Err(LabError::Permission { .. }) => eprintln!("SKIPPED, this needs root"),
        got => assert!(matches!(got, Err(LabError::Stopped)), "{got:?}"),
    }
}

#[test]
fn an_unavailable_congestion_control_is_named() {
    let mut s = scenario(CLEAN);
    s.flows[0].cc = congestion::Control::named("tahoe").expect("the simulator implements tahoe");
    let e = lab::run("test", &s, LabOptions::default()).expect_err("an error").to_string();
    assert!(e.contains("tahoe") && e.contains("reno"), "{e}");
}

/// Network namespaces of all processes, and of all threads.
fn namespaces() -> std::collections::BTreeSet<String> {
    let mut all = std::collections::BTreeSet::new();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        for task in std::fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            if let Ok(ns) = std::fs::read_link(task.path().join("ns/net")) {
                all.insert(ns.display().to_string());
            }
        }
    }
    all
}

/// `kill -9` at any moment of a run leaves no process, namespace or file. The child process is this test,
/// selected by an environment variable.
#[test]
fn nothing_is_left_behind() {
    if std::env::var_os("LAB_TEST_CHILD").is_some() {
        let endless = CLEAN.replace("4s", "60s");
        let _ = lab::run("test", &scenario(&endless), LabOptions::default());
        return;
    }
    if run(&CLEAN.replace("4s", "100ms")).is_none() {
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(|e| e.into_inner());
    let before = namespaces();
    for delay in [5, 20, 60, 150, 400] {
        let mut child = Command::new(std::env::current_exe().expect("the test executable's path"))
            .args(["runs::nothing_is_left_behind", "--exact", "--nocapture"])
            .env("LAB_TEST_CHILD", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        std::thread::sleep(Duration::from_millis(delay));
        if delay == 400 {
            let tasks: Vec<_> = std::fs::read_dir(format!("/proc/{}/task", child.id()))
                .expect("the child's task list")
                .collect();
            assert!(tasks.len() > 3, "it runs: engine and hosts");
        }
        child.kill().expect("kill -9");
        child.wait().expect("the child's exit status");
    }
    std::thread::sleep(Duration::from_millis(300));
    let after = namespaces();
    let left: Vec<_> = after.difference(&before).collect();
    assert!(left.is_empty(), "namespaces left behind: {left:?}");
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    assert!(!devices.contains("tun0:"), "the machine's own namespace was touched: {devices}");
}

/// No ICMP reaches the sender; with `tcp_mtu_probing` it reduces its MSS after timeouts.
#[test]
fn an_mtu_black_hole_lasts_until_mtu_probing_starts() {
    let text = |probing: &str, seconds: u32| {
        format!(
            r#"
            duration = "{seconds}s"
            [hosts.a]
            stack = {{ mtu_probing = "{probing}" }}
            [links.lan]
            between = ["a", "r"]
            [links.path]
            between = ["r", "s"]
            forward = [{{ kind = "link", rate = "20Mbit/s", delay = "10ms", mtu = 1400, icmp = false }}]
            backward = [{{ kind = "delay", delay = "10ms" }}]
            # A host at the end of the narrow link would know its MTU, and say so in its MSS.
            [links.far]
            between = ["s", "b"]
            [flows.f]
            from = "a"
            to = "b"
            "#
        )
    };
    for (probing, seconds) in [("off", 2), ("on-blackhole", 6)] {
        let Some(o) = run(&text(probing, seconds)) else { return };
        let link = o.variant.elements.iter().find(|e| e.name == "path.forward.link").expect("the link");
        let (f, too_big) = (&o.variant.flows[0], link.too_big.expect("a count of too large packets"));
        assert_eq!((too_big.mtu_bytes, too_big.largest_bytes, too_big.icmp_sent), (1400, 1500, false));
        assert_eq!((link.dropped_packets, f.lost_packets), (0, Some(link.too_big_packets)));
        if probing == "off" {
            assert_eq!((f.delivered_bytes, f.mss_bytes), (0, Some(1448)));
        } else {
            assert!(f.delivered_bytes > 2_000_000 && f.timeouts >= 4, "{f:?}");
            // Probing starts at 1024 bytes and then searches upwards.
            assert!(f.mss_bytes.is_some_and(|mss| (1024..=1348).contains(&mss)), "{f:?}");
        }
    }
}

/// A call and a probe on an empty path: every datagram takes the path's delay and arrives.
#[test]
fn datagrams_take_the_path_delay() {
    let text = r#"
duration = "2s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "2Mbit/s", delay = "20ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.call]
from = "a"
to = "b"
app = { kind = "voice", codec = "g711" }
[flows.ping]
from = "a"
to = "b"
start = "5ms"
app = { kind = "probe", interval = "50ms", size = 250 }
[flows.short]
from = "b"
to = "a"
app = { kind = "udp", rate = "32kbit/s", size = 40 }
"#;
    let Some(o) = run(text) else { return };
    let [call, ping, short] = &o.variant.flows[..] else { panic!("expected three flows") };
    let real_time = call.real_time.expect("a real-time summary");
    // 200 bytes at 2 Mbit/s, and the delay.
    near(real_time.delay_ms.p50, 20.8, 0.05);
    assert_eq!((real_time.lost, real_time.loss_bursts, call.lost_packets), (0.0, 0, Some(0)));
    assert!(real_time.jitter_ms < 1.0 && real_time.late.unwrap() < 0.02, "{real_time:?}");
    near(real_time.mos.unwrap(), 4.36, 0.02);
    let back = ping.real_time.expect("a real-time summary");
    near(back.delay_ms.p50, 41.0, 0.05);
    assert_eq!((back.lost, back.mos), (0.0, None));
    assert!(ping.rtt_ms.is_empty(), "{:?}", ping.rtt_ms);
    assert!((38..=40).contains(&ping.sent_packets), "{}", ping.sent_packets);
    near(ping.delivered_bytes as f64, ping.sent_packets as f64 * 222.0, 0.03);
    // No room for a number next to the time.
    assert!(short.real_time.is_none() && short.rtt_ms.is_empty() && short.delivered_bytes > 0, "{short:?}");
    let last = |i: usize| o.flow_series[i].delay_ms.iter().rev().flatten().next().copied();
    near(last(0).unwrap(), 20.8, 0.2);
    near(last(1).unwrap(), 41.0, 0.2);
    assert_eq!(last(2), None);
}

/// Three of four datagrams are dropped in a queue, and the losses are known by sequence number.
#[test]
fn datagram_losses_agree_with_the_paths_drops() {
    let text = r#"
duration = "2s"
[links.path]
between = ["a", "b"]
forward = [{ kind = "link", rate = "1Mbit/s", queue = { kind = "fifo", packets = 20 } }]
[flows.f]
from = "a"
to = "b"
app = { kind = "udp", rate = "4Mbit/s", size = 1000 }
"#;
    let Some(o) = run(text) else { return };
    let f = &o.variant.flows[0];
    let (real_time, lost) = (f.real_time.unwrap(), f.lost_packets.unwrap() as f64);
    near(real_time.lost, lost / (lost + f.delivered_bytes as f64 / 972.0), 0.01);
    near(real_time.loss_burst_mean, 3.0, 0.15);
}

/// Linux's default TTL is 64; a longer chain of links needs a larger one.
#[test]
fn a_chain_of_seventy_links_works() {
    let mut text = String::from("duration = \"1s\"\n");
    for i in 0..70 {
        text += &format!(
            "[links.l{i}]\nbetween = [\"h{i}\", \"h{}\"]\nforward = [{{ kind = \"delay\", delay = \"100us\" }}]\n\
             backward = [{{ kind = \"delay\", delay = \"100us\" }}]\n",
            i + 1
        );
    }
    text += "[flows.f]\nfrom = \"h0\"\nto = \"h70\"\napp = { kind = \"probe\" }\n";
    let Some(o) = once(&text) else { return };
    assert!(o.variant.flows[0].delivered_bytes > 0, "{:?}", o.variant.flows[0]);
}

#[test]
fn an_overloaded_emulator_is_reported_as_unreliable() {
    let text = r#"
        duration = "2s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "link", rate = "100Gbit/s", delay = "2500us" }]
        backward = [{ kind = "delay", delay = "2500us" }]
        [flows.f]
        from = "a"
        to = "b"
        app = { kind = "udp", rate = "8Gbit/s" }
        "#;
    let Some(o) = once(text) else { return };
    let trust = o.variant.trust.expect("a verdict on the measurement");
    assert!(!trust.reliable && !trust.reasons.is_empty(), "{trust:?}");
}

/// A server that does not read: its socket has room for a few datagrams, and the kernel drops the others.
#[test]
fn drops_in_kernel_queues_make_a_measurement_unreliable() {
    let text = r#"
        duration = "2s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "delay", delay = "1ms" }]
        backward = [{ kind = "delay", delay = "1ms" }]
        [flows.f]
        from = "a"
        to = "b"
        app = { kind = "udp", rate = "1Mbit/s" }
        tool = """perl -MSocket -e 'socket(S,PF_INET,SOCK_DGRAM,0); ($to,$port)=@ARGV;             send(S,"x"x900,0,sockaddr_in($port,inet_aton($to))), select(undef,undef,undef,.002) for 1..600' {to} {port}"""
        server = """perl -MSocket -e 'socket(S,PF_INET,SOCK_DGRAM,0); setsockopt(S,SOL_SOCKET,SO_RCVBUF,pack("l",2048));             bind(S,sockaddr_in(shift,INADDR_ANY)); sleep 9' {port}"""
        "#;
    let Some(o) = once(text) else { return };
    let trust = o.variant.trust.expect("a verdict on the measurement");
    let lost = trust.reasons.iter().find(|r| r.kind == TrustKind::KernelLoss).expect("a reason");
    // All but the first few datagrams.
    assert!(lost.measured > 0.5 && lost.measured <= 1.0, "{trust:?}");
    assert!(trust.kernel_lost_packets <= trust.offered_packets, "{trust:?}");
}

/// Random loss does not make a measurement unreliable, however late packets are: on this path no bucket and
/// no queue is ever full.
#[test]
fn random_loss_does_not_make_a_measurement_unreliable() {
    let text = r#"
        duration = "2s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "link", rate = "20Mbit/s", delay = "5ms", queue = { kind = "fifo", packets = 10000 } }, { kind = "loss", probability = 0.002 }]
        backward = [{ kind = "delay", delay = "5ms" }]
        [links.other]
        between = ["b", "c"]
        forward = [{ kind = "policer", rate = "20Mbit/s", burst = "3kB" }]
        [flows.f]
        from = "a"
        to = "b"
        "#;
    let Some(o) = once(text) else { return };
    let trust = o.variant.trust.expect("a verdict on the measurement");
    assert!(o.variant.elements.iter().any(|e| e.dropped_packets > 0), "{:?}", o.variant.elements);
    assert_eq!(trust.emulator_burst_drops, 0, "{trust:?}");
    assert!(trust.reasons.iter().all(|r| r.kind != TrustKind::Bunched), "{trust:?}");
    assert!(trust.kernel_lost_packets == 0 && trust.offered_packets > 1000, "{trust:?}");
}

/// A policer with a burst of a tenth of a millisecond behind an overloaded emulator: it drops packets that
/// the emulator delayed.
#[test]
fn drops_after_emulator_delays_make_a_measurement_unreliable() {
    let text = r#"
        duration = "2s"
        [links.path]
        between = ["a", "b"]
        forward = [{ kind = "delay", delay = "1ms" }]
        [links.next]
        between = ["b", "c"]
        forward = [{ kind = "policer", rate = "1Gbit/s", burst = "12kB" }]
        [flows.f]
        from = "a"
        to = "c"
        app = { kind = "udp", rate = "8Gbit/s" }
        "#;
    let Some(o) = once(text) else { return };
    let trust = o.variant.trust.expect("a verdict on the measurement");
    let bunched = trust.reasons.iter().find(|r| r.kind == TrustKind::Bunched).expect("a reason");
    assert!(bunched.measured <= 1.0 && trust.emulator_burst_drops > 0, "{trust:?}");
}
