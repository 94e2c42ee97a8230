//! Verdicts on summaries of transfers whose truth is known.

use fit::{FitError, SummaryVerdict, VerdictKind, of_iperf_text, of_iperf3};
use serde_json::{Value, json};

/// An interval of a stream: bytes, retransmits, congestion window in bytes, RTT in ms.
type Row = (f64, u64, f64, f64);

/// Returns iperf3's JSON for streams with one interval per second; `more` goes into `start.test_start`.
fn iperf3(streams: &[Vec<Row>], cc: &str, more: Value) -> String {
    let one = |i: usize, s: usize, r: &Row| {
        json!({"socket": 5 + s, "start": i, "end": i + 1, "seconds": 1.0, "bytes": r.0, "retransmits": r.1, "snd_cwnd": r.2,
               "rtt": (r.3 * 1e3) as u64, "omitted": false, "sender": true})
    };
    let count = streams.iter().map(Vec::len).max().unwrap_or(0);
    let intervals: Vec<Value> = (0..count)
        .map(|i| json!({"streams": streams.iter().enumerate().map(|(s, rows)| one(i, s, &rows[i])).collect::<Vec<_>>()}))
        .collect();
    let ends: Vec<Value> = (0..streams.len())
        .map(|s| {
            let bytes: f64 = streams[s].iter().map(|r| r.0).sum();
            let again: u64 = streams[s].iter().map(|r| r.1).sum();
            json!({"sender": {"socket": 5 + s, "seconds": count, "bytes": bytes, "retransmits": again},
                   "receiver": {"socket": 5 + s, "seconds": count, "bytes": bytes}})
        })
        .collect();
    let mut test = json!({"protocol": "TCP", "num_streams": streams.len(), "blksize": 131072});
    for (key, value) in more.as_object().into_iter().flatten() {
        test[key] = value.clone();
    }
    json!({"start": {"connecting_to": {"host": "192.0.2.9"}, "tcp_mss_default": 1448, "test_start": test}, "intervals": intervals,
           "end": {"streams": ends, "sender_tcp_congestion": cc}})
    .to_string()
}

fn verdict(read: Result<fit::ObservedPath, FitError>) -> SummaryVerdict {
    match read {
        Ok(seen) => seen.verdict.expect("a summary has a verdict"),
        Err(FitError::CannotTell(verdict)) => *verdict,
        Err(other) => panic!("{other:?}"),
    }
}

fn of(streams: &[Vec<Row>]) -> SummaryVerdict {
    verdict(of_iperf3(&iperf3(streams, "cubic", json!({}))))
}

/// Bytes a second of Mbit/s.
fn mbps(rate: f64) -> f64 {
    rate * 1e6 / 8.0
}

#[test]
fn a_constant_window_is_the_limit_in_one_flow_and_in_four() {
    for (window, rtt, flows) in [(822e3, 69.5, 1), (250e3, 60.0, 4), (64e3, 180.0, 2)] {
        let row = (window / rtt * 1e3, 0, window, rtt);
        let verdict = of(&vec![vec![row; 10]; flows]);
        assert_eq!((verdict.kind, verdict.rate_mbps), (VerdictKind::Window, None), "{}", verdict.headline);
        assert!((verdict.window_bytes.unwrap() / window - 1.0).abs() < 0.02);
        assert!(verdict.headline.contains("not a rate limiter"), "{}", verdict.headline);
    }
    // The congestion window grew to twice what the receiver's window allows, and stays there.
    let verdict = of(&[vec![(mbps(79.3), 0, 1.2e6, 60.2); 10]]);
    assert_eq!(verdict.kind, VerdictKind::Window);
    assert!((verdict.window_bytes.unwrap() / 597e3 - 1.0).abs() < 0.02);
}

#[test]
fn a_window_that_fills_a_queue_is_a_full_queue() {
    let mut rows = vec![(mbps(232.0), 0, 3.98e6, 99.0)];
    rows.extend(vec![(mbps(232.0), 0, 3.98e6, 124.0); 9]);
    let verdict = of(&[rows]);
    assert_eq!((verdict.kind, verdict.delays), (VerdictKind::Queue, Some(true)), "{}", verdict.headline);
    let [low, high] = verdict.rate_mbps.unwrap();
    assert!(low < 232.0 && high > 240.0, "{low} {high}");
}

#[test]
fn fast_at_first_is_a_bucket_with_its_size() {
    // Rate in Mbit/s, bucket in bytes, line before it, flows, whether it delays.
    for (rate, bucket, line, flows, delays) in
        [(10.5, 268.4e6, 2000.0, 1, true), (40.0, 100e6, 300.0, 1, true), (20.0, 60e6, 300.0, 2, false)]
    {
        let (mut left, mut rows) = (bucket, Vec::new());
        for _ in 0..20 {
            let extra = (mbps(line - rate)).min(left);
            left -= extra;
            let slow = extra <= 0.0;
            let share = (mbps(rate) + extra) / f64::from(flows);
            let rtt = if slow && delays { 900.0 } else { 20.0 };
            rows.push((share, u64::from(slow && !delays) * 9, 4e5, rtt));
        }
        let verdict = of(&vec![rows; flows as usize]);
        assert_eq!(
            (verdict.kind, verdict.delays),
            (VerdictKind::Bucket, Some(delays)),
            "{}",
            verdict.headline
        );
        let within =
            |[low, high]: [f64; 2], truth: f64| low <= 1.001 * truth && high >= truth && high < 1.25 * low;
        assert!(within(verdict.rate_mbps.unwrap(), rate), "{:?} {rate}", verdict.rate_mbps);
        assert!(within(verdict.bucket_bytes.unwrap(), bucket), "{:?} {bucket}", verdict.bucket_bytes);
    }
    // A window that grew until the first loss fills no bucket.
    let mut rows = vec![(9e6, 0, 6e6, 40.0)];
    rows.extend(vec![(5e6, 9, 3e6, 40.0); 9]);
    assert_ne!(of(&[rows]).kind, VerdictKind::Bucket);
    // Nor does one that grew for seconds until the first of few random losses: nothing waits and little is
    // dropped.
    let mut rows = vec![(mbps(1040.0), 0, 4e6, 20.2); 3];
    rows.extend((0..9).map(|i| (mbps(159.0), u64::from(i % 3 == 0), 4e5, 20.2)));
    let grew = of(&[rows]);
    assert_ne!(grew.kind, VerdictKind::Bucket, "{}", grew.headline);
}

#[test]
fn intervals_without_data_are_an_interruption_or_a_black_hole() {
    let data = (3e6, 0, 256e3, 40.0);
    let nothing = (0.0, 1, 1448.0, 40.0);
    let first = (98e3, 5, 8.8e3, 40.0);
    let hole = of(&[[vec![first], vec![nothing; 6], vec![data; 6]].concat()]);
    assert_eq!(hole.kind, VerdictKind::BlackHole, "{}", hole.headline);
    assert!(hole.headline.contains("No rate limiter can be identified"), "{}", hole.headline);
    let cures = hole.facts.join("\n");
    assert!(cures.contains("tcp_mtu_probing=1") && cures.contains("MSS clamp"), "{cures}");
    let never = of(&[[vec![first], vec![nothing; 9]].concat()]);
    assert_eq!(never.kind, VerdictKind::BlackHole, "{}", never.headline);
    let gap = of(&[[vec![data; 6], vec![nothing; 4], vec![data; 6]].concat()]);
    assert_eq!(gap.kind, VerdictKind::Interruption, "{}", gap.headline);
    assert!(gap.headline.contains("of 4 s (from 6 s to 10 s)"), "{}", gap.headline);
    // At 0.4 Mbit/s a block of 128 KiB leaves the application every 2.6 s.
    let slow: Vec<Row> = (0..20).map(|i| (if i % 3 == 0 { 131_072.0 } else { 0.0 }, 0, 30e3, 40.0)).collect();
    assert!(!matches!(of(&[slow]).kind, VerdictKind::Interruption | VerdictKind::BlackHole));
}

#[test]
fn random_losses_are_distinguished_from_policing() {
    // Uneven, and as fast as CUBIC can be with 0.05 % of single losses.
    let rates = [28.7, 24.9, 26.2, 18.8, 15.8, 12.8, 8.5, 8.9, 7.8, 9.1, 10.6, 12.2];
    let rows: Vec<Row> = rates.iter().map(|r| (mbps(*r), 1, mbps(*r) * 0.06, 60.2)).collect();
    let random = of(&[rows]);
    assert_eq!((random.kind, random.rate_mbps), (VerdictKind::Loss, None), "{}", random.headline);
    assert!(random.headline.contains("no rate limiter shows"), "{}", random.headline);
    // Even, many losses, no queue.
    let policed = of(&[(0..12).map(|i| (mbps(45.0), 30, 330e3 + f64::from(i % 3) * 3e4, 60.2)).collect()]);
    assert!(policed.headline.starts_with("Perhaps a policer of about 45.0 Mbit/s"), "{}", policed.headline);
    assert_eq!(policed.delays, Some(false));
}

#[test]
fn limits_of_the_test_itself_are_not_the_path() {
    let row = (mbps(50.0), 0, 4e5, 20.0);
    let own = verdict(of_iperf3(&iperf3(&[vec![row; 10]], "cubic", json!({"target_bitrate": 50_000_000}))));
    assert_eq!(own.kind, VerdictKind::Application, "{}", own.headline);
    // BBR's window is a multiple of what it measured, and holds nothing.
    let bbr = verdict(of_iperf3(&iperf3(&[vec![(mbps(80.0), 0, 1.0e6, 50.0); 10]], "bbr", json!({}))));
    assert!(bbr.headline.starts_with("Perhaps a line or a limiter"), "{}", bbr.headline);
    // A receiver's JSON (-R) has bytes alone.
    let text = iperf3(&[vec![row; 10]], "cubic", json!({"reverse": 1}));
    let bare = text
        .replace("snd_cwnd", "x")
        .replace("\"rtt\"", "\"y\"")
        .replace("retransmits", "z")
        .replace("\"sender\":true", "\"sender\":false");
    let reversed = verdict(of_iperf3(&bare));
    assert_eq!(reversed.kind, VerdictKind::Unknown, "{}", reversed.headline);
    assert!(reversed.next.iter().any(|n| n.starts_with("iperf3 -s -J")), "{:?}", reversed.next);
}

#[test]
fn datagrams_show_only_the_rate_of_arrival() {
    for (lost, begins) in
        [(400, "Perhaps a limiter of about 48.0 Mbit/s"), (0, "Cannot tell whether there is a rate limiter")]
    {
        let intervals: Vec<Value> = (0..5)
            .map(|i| json!({"streams": [{"socket": 5, "start": i, "end": i + 1, "bytes": mbps(80.0), "packets": 200, "sender": true}]}))
            .collect();
        let text = json!({"start": {"test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 1448}}, "intervals": intervals,
                          "end": {"streams": [{"udp": {"socket": 5}}], "sum": {"packets": 1000, "lost_packets": lost, "jitter_ms": 0.4}}});
        let verdict = verdict(of_iperf3(&text.to_string()));
        assert!(verdict.headline.starts_with(begins), "{}", verdict.headline);
    }
}

#[test]
fn iperf_text_gives_a_verdict_and_names_what_is_enough() {
    let rows = |rates: &[f64], end: &str| {
        let row = |(i, r): (usize, &f64)| {
            format!(
                "[  5]  {i:3}.00-{}.00   sec  {:.3} MBytes  {r} Mbits/sec    0   {end}\n",
                i + 1,
                mbps(*r) / 1_048_576.0
            )
        };
        let all: String = rates.iter().enumerate().map(row).collect();
        format!(
            "Connecting to host 192.0.2.9, port 5201\n[ ID] Interval  Transfer  Bitrate  Retr  Cwnd\n{all}"
        )
    };
    let slow = [[2000.0, 176.0].to_vec(), [10.5; 8].to_vec()].concat();
    let bucket = verdict(of_iperf_text(&rows(&slow, "7.92 MBytes")));
    assert_eq!(bucket.kind, VerdictKind::Bucket, "{}", bucket.headline);
    let window = verdict(of_iperf_text(&rows(&[94.6; 10], "803 KBytes")));
    assert!(window.headline.starts_with("Perhaps a window, not a rate limiter"), "{}", window.headline);
    assert!(window.next.iter().any(|n| n.starts_with("iperf3 -c 192.0.2.9 -t 30 -J")), "{:?}", window.next);
    let old = "[  3]  0.0- 1.0 sec  11.2 MBytes  94.4 Mbits/sec\n[  3]  1.0- 2.0 sec  11.1 MBytes  93.3 Mbits/sec\n";
    assert!(verdict(of_iperf_text(old)).headline.starts_with("Cannot tell"), "{:?}", of_iperf_text(old));
}
