//! Paths observed in logs of `ss -tin`.

use fit::{FitError, SummaryVerdict, VerdictKind, is_ss_log, of_ss_log};
use result::Cause;

const ENDS: &str = "10.0.0.1:40000 10.0.0.2:5201";

/// An output: ms busy, bytes acknowledged, smoothed round trip in ms, retransmissions, ms limited by the
/// window.
fn info(busy: u64, acked: u64, rtt: f64, again: u64, limited: u64) -> String {
    let again = if again > 0 { format!(" retrans:0/{again}") } else { String::new() };
    format!(
        "ts sack cubic wscale:10,10 rto:240 rtt:{rtt}/1.5 mss:1448 pmtu:1500 cwnd:20 bytes_sent:{acked} bytes_acked:{acked} \
         segs_out:{0} segs_in:{0} data_segs_out:{0} send 9.9Mbps lastsnd:4 pacing_rate 12Mbps delivery_rate 9500000bps \
         delivered:{0} busy:{busy}ms rwnd_limited:{limited}ms(50.0%) unacked:18{again} minrtt:20.5 snd_wnd:262144",
        acked / 1448
    )
}

/// Ten seconds at 8 Mbit/s, an output each second.
fn log(stamp: impl Fn(u64) -> String, one_line: bool) -> String {
    let one = |s: u64| {
        let between = if one_line { " " } else { "\n\t " };
        let text = info(s * 1000, s * 1_000_000, 20.0 + s as f64, 3 * s, 500 * s);
        let head = "State Recv-Q Send-Q Local Address:Port Peer Address:Port Process";
        format!("{}{head}\nESTAB 0      123000 {ENDS}{between}{text}\n", stamp(s))
    };
    (1..=10).map(one).collect()
}

#[test]
fn repeated_outputs_show_goodput_round_trips_and_windows() {
    // The flow is older than the first output by what it was busy until then.
    let stamps: [&dyn Fn(u64) -> String; 4] = [
        &|s| format!("17640861{s:02}.500000000\n"),
        &|s| format!("Wed Nov 25 15:36:{s:02} UTC 2026\n"),
        &|s| format!("2026-11-25T23:59:{:02},25+00:00\n", s + 40),
        &|_| String::new(),
    ];
    for (i, stamp) in stamps.into_iter().enumerate() {
        let text = log(stamp, i % 2 == 0);
        assert!(is_ss_log(&text));
        let seen = of_ss_log(&text).unwrap();
        let f = &seen.flows[0].flow;
        assert!((f.measures.goodput_mbps - 8.0).abs() < 0.01, "{i}: {}", f.measures.goodput_mbps);
        assert!((f.duration_s - 10.0).abs() < 0.01, "{i}: {}", f.duration_s);
        assert_eq!((f.measures.rtt_ms.min, f.measures.rtt_ms.max), (20.5, 30.0));
        assert_eq!((f.cc.name.as_str(), f.measures.retransmitted_packets), ("cubic", 30));
        assert!((f.share(Cause::ReceiveWindow) - 0.5).abs() < 0.01);
        assert_eq!(f.measures.max_window_bytes, Some(262_144));
        assert!(seen.summary && seen.limiter.is_none() && seen.flows[0].facts.sack);
    }
}

#[test]
fn prefixes_of_ts_give_the_time_even_past_midnight() {
    let line = |s: u64| {
        let (h, s2) = if s < 5 { (23, 55 + s) } else { (0, s - 5) };
        let m = if s < 5 { 59 } else { 0 };
        format!(
            "Nov 25 {h:02}:{m:02}:{s2:02} ESTAB 0 0 {ENDS} {}\n",
            info(60_000 + s * 1000, s * 1_000_000 + 1, 25.0, 0, 0)
        )
    };
    let seen = of_ss_log(&(0..10).map(line).collect::<String>()).unwrap();
    let f = &seen.flows[0].flow;
    // The connection was a minute old: only the time between the outputs counts.
    assert!((f.duration_s - 9.0).abs() < 0.01, "{}", f.duration_s);
    assert!((f.measures.goodput_mbps - 8.0).abs() < 0.01, "{}", f.measures.goodput_mbps);
}

#[test]
fn a_single_output_gives_a_verdict_and_names_what_is_enough() {
    let text = log(|_| String::new(), true);
    let one: String = text.lines().take(2).map(|l| format!("{l}\n")).collect();
    let Err(FitError::CannotTell(verdict)) = of_ss_log(&one) else { panic!("fitted") };
    assert_eq!(verdict.kind, VerdictKind::ReceiveWindow);
    assert!(verdict.headline.starts_with("The receiver's window of 262 kB"), "{}", verdict.headline);
    assert!(
        verdict.next.iter().any(|n| n.contains("ss -tinO -o dst 10.0.0.2; done > ss.log")),
        "{:?}",
        verdict.next
    );
    assert_eq!(of_ss_log("ESTAB").unwrap_err(), FitError::NoFlow);
    assert!(!is_ss_log("{\"start\": 1}"));
}

/// One output as people post it: resent, RTT, least RTT, congestion window and what is in flight, packets.
fn posted(resent: u64, rtt: f64, least: f64, cwnd: u64, unacked: u64) -> SummaryVerdict {
    let text = format!(
        "ESTAB 0 1426080 198.51.100.5:443 192.0.2.20:51344\n\t cubic wscale:7,7 rto:420 rtt:{rtt}/3.1 mss:1448 cwnd:{cwnd} \
         bytes_acked:51200000 segs_out:36200 segs_in:18000 data_segs_out:36180 delivery_rate 2.5Mbps busy:160000ms \
         unacked:{unacked} retrans:0/{resent} minrtt:{least}\n"
    );
    match of_ss_log(&text) {
        Err(FitError::CannotTell(verdict)) => *verdict,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_output_is_judged_with_caution() {
    let lossy = posted(724, 212.5, 209.1, 48, 47);
    assert_eq!((lossy.kind, lossy.rate_mbps), (VerdictKind::Loss, None));
    for part in
        ["2.56 Mbit/s", "2.00 % retransmitted", "RTT 212 ms over 209 ms", "does not identify a limiter"]
    {
        assert!(lossy.headline.contains(part), "{part}: {}", lossy.headline);
    }
    assert!(lossy.facts.iter().any(|f| f.contains("47 of 48 packets")), "{:?}", lossy.facts);
    let queued = posted(3, 391.0, 40.0, 90, 90);
    assert!(
        queued.headline.starts_with("Perhaps a full queue (RTT 391 ms over 40.0 ms)"),
        "{}",
        queued.headline
    );
    let clean = posted(0, 41.0, 40.0, 90, 10);
    assert!(clean.headline.starts_with("Cannot tell from"), "{}", clean.headline);
}
