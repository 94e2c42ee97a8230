//! The text of `longfat diagnose` for hand-made diagnoses, one of each cause. `cargo xtask bless report`
//! rewrites the golden files; review the difference before you keep it.

use diagnosis::cause::remedies_of;
use report::diagnosis::{MAX_ROWS, Rows, page, text};
use report::{Lang, Style};
use result::change::{Change, ChangeKind, ChangeUnit, EffectMeasure};
use result::diagnosis::*;
use result::{Cause, Diagnosis, FlowDiagnosis, RttSummary};
use unicode_width::UnicodeWidthStr;

fn check(name: &str, d: &Diagnosis, lang: Lang) -> String {
    let got = text(d, 10, Style::default(), lang);
    for line in got.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
        assert_eq!(line, line.trim_end(), "no trailing spaces");
    }
    // Wireshark writes sets in braces.
    let unfilled = one_line(&got).replace("frame.number in {", "");
    assert!(!unfilled.contains('{') && !got.contains("NaN") && !got.contains("inf"), "{got}");
    xtask::compare(&format!("crates/answers/report/tests/golden/diagnosis/{name}.txt"), &got);
    got
}

/// The text without line breaks and indentation.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A flow of 30 s, limited by `cause` for 91 % of the time and by slow start for 6 %.
fn flow(connection: u32, cause: Cause, mbps: f64) -> FlowDiagnosis {
    let share = |cause, share| CauseShare { cause, share, seconds: share * 30.0 };
    let second = if cause == Cause::SlowStart { Cause::Application } else { Cause::SlowStart };
    let bytes = (mbps * 30.0 * 1e6 / 8.0) as u64;
    let packets = bytes / 1448;
    FlowDiagnosis {
        id: FlowDiagnosis::number(connection, true),
        connection,
        from: format!("10.0.0.1:{}", 40_000 + connection),
        to: "10.0.0.2:5201".into(),
        duration_s: 30.0,
        cause,
        confidence: 0.9,
        causes: vec![share(cause, 0.91), share(second, 0.06), share(Cause::Unknown, 0.03)],
        timeline: vec![
            CauseSpan { from_s: 0.0, to_s: 1.8, cause: second },
            CauseSpan { from_s: 1.8, to_s: 30.0, cause },
        ],
        cc: Guess { name: "cubic".into(), confidence: 0.85 },
        measures: Measures {
            goodput_mbps: mbps,
            max_delivery_mbps: 2.0 * mbps,
            bytes,
            data_packets: packets,
            mss_bytes: 1448,
            rtt_ms: RttSummary { min: 30.0, mean: 31.0, p50: 30.9, p95: 34.2, p99: 36.0, max: 41.0 },
            bdp_bytes: (2.0 * mbps * 30.0 * 125.0) as u64,
            max_inflight_bytes: 180_000,
            acks: packets / 2,
            silence_s: if cause == Cause::Outage { 27.3 } else { 0.0 },
            window_scaling: Some(cause != Cause::ReceiveWindow),
            max_window_bytes: Some(3_145_728),
            ..Measures::default()
        },
        ..FlowDiagnosis::default()
    }
}

fn lossy(mut f: FlowDiagnosis, share: f64) -> FlowDiagnosis {
    let m = &mut f.measures;
    let lost = (share * m.data_packets as f64) as u64;
    (m.lost_down, m.retransmitted_packets, m.fast) = (lost, lost + 12, lost);
    (m.rto, m.tlp, m.spurious, m.timeouts, m.timeout_s) = (10, 2, 2, 4, 1.3);
    f
}

fn limiter(kind: LimiterKind, rate_mbps: f64) -> Limiter {
    Limiter { kind, rate_mbps, confidence: 0.9, ..Limiter::default() }
}

fn of(flows: Vec<FlowDiagnosis>, limiters: Vec<Limiter>) -> Diagnosis {
    let capture = CaptureInfo {
        file: "test.pcap".into(),
        format: "pcap".into(),
        links: vec!["ethernet".into()],
        start_s: 1_760_000_000.0,
        duration_s: 30.2,
        packets: 50_000,
        tcp_packets: 50_000,
        connections: flows.len() as u64,
        ..CaptureInfo::default()
    };
    Diagnosis { schema: result::DIAGNOSIS_SCHEMA.into(), capture, limiters, flows, ..Diagnosis::default() }
}

fn limited(mut f: FlowDiagnosis) -> FlowDiagnosis {
    f.limiter = Some(0);
    f
}

fn policed() -> Diagnosis {
    let burst_bytes = Some(625_000.0);
    let policer = Limiter { burst_bytes, lost_share: 0.089, ..limiter(LimiterKind::Policer, 20.0) };
    let mut f = limited(lossy(flow(0, Cause::Policed, 4.2), 0.089));
    let slow =
        PacketProof { cause: Some(Cause::SlowStart), packets: vec![4, 5, 9], ..PacketProof::default() };
    f.proofs =
        vec![slow, PacketProof {
        cause: Some(Cause::Policed),
        kind: ProofKind::Lost,
        packets: vec![812, 813, 815, 1_022, 1_023],
        total: 968,
        episodes: Some(212),
        filter: "ip.src == 10.0.0.1 && tcp.srcport == 40000 && ip.dst == 10.0.0.2 && tcp.dstport == 5201 && \
                 (tcp.analysis.retransmission || frame.number in {812, 813, 815, 1022, 1023})"
            .into(),
    }];
    of(vec![f], vec![policer])
}

/// A diagnosis for each cause, with the numbers that its texts need.
fn every() -> Vec<(Cause, Diagnosis)> {
    let queue = |kind| Limiter {
        queue_bytes: Some(250_000.0),
        queue_ms: Some(100.0),
        before_capture: true,
        ..limiter(kind, 20.0)
    };
    let make = |cause: Cause| match cause {
        Cause::Policed => policed(),
        Cause::Shaped => of(vec![limited(flow(0, cause, 18.9))], vec![queue(LimiterKind::Shaper)]),
        Cause::Bottleneck => {
            let short = Limiter { queue_ms: Some(4.0), queue_bytes: None, ..queue(LimiterKind::Bottleneck) };
            of(vec![limited(flow(0, cause, 19.0))], vec![short])
        }
        Cause::Congestion => {
            let short = Limiter { queue_bytes: Some(30_000.0), ..queue(LimiterKind::Bottleneck) };
            let mut f = limited(lossy(flow(0, cause, 14.0), 0.004));
            f.measures.rtt_ms.p95 = 42.0;
            of(vec![f], vec![short])
        }
        Cause::RandomLoss => {
            let mut f = lossy(flow(0, cause, 3.1), 0.01);
            f.proofs = vec![PacketProof {
                cause: Some(cause),
                kind: ProofKind::Lost,
                packets: vec![41, 133],
                total: f.measures.lost_down,
                episodes: Some(75),
                filter: "tcp.srcport == 40000 && tcp.analysis.retransmission".into(),
            }];
            of(vec![f], vec![])
        }
        // 180 kB per 30 ms: the buffer is always full.
        Cause::SendBuffer => {
            let mut f = flow(0, cause, 46.0);
            f.measures.max_delivery_mbps = 48.0;
            of(vec![f], vec![])
        }
        Cause::ReceiveWindow => {
            let mut f = flow(0, cause, 17.0);
            f.measures.max_window_bytes = Some(65_535);
            of(vec![f], vec![])
        }
        Cause::SlowStart => {
            let mut f = flow(0, cause, 3.0);
            (f.duration_s, f.measures.bytes) = (0.17, 64_000);
            of(vec![f], vec![])
        }
        Cause::Application => {
            let mut f = flow(0, cause, 2.0);
            f.measures.idle_s = 27.0;
            of(vec![f], vec![])
        }
        Cause::SetupFailed => {
            let mut f = flow(0, cause, 0.0);
            let failed = Some(SetupEnd::Unanswered);
            f.setup =
                Some(ConnectionSetup { syns: 6, retried_s: 31.0, failed, ..ConnectionSetup::default() });
            f.measures = Measures::default();
            of(vec![f], vec![])
        }
        Cause::Unknown => {
            let mut f = flow(0, cause, 2.0);
            (f.causes[2].share, f.confidence) = (0.0, 0.0);
            f.needs = Some(CaptureNeed::FromTheSyn);
            of(vec![f], vec![])
        }
        other => of(vec![flow(0, other, 8.0)], vec![]),
    };
    Cause::ALL.map(|c| (c, make(c))).into()
}

#[test]
fn every_cause_has_a_headline_with_advice_and_evidence() {
    for (cause, d) in every() {
        let en = check(cause.name(), &d, Lang::En);
        let first = en.split("\n\n").next().unwrap();
        let has_share = cause == Cause::Unknown || first.contains("91 %");
        assert!(has_share && first.contains("10.0.0.1:40000"), "{first}");
        check(&format!("{}-zh", cause.name()), &d, Lang::Zh);
    }
}

/// A line of the first paragraph: the headline (0), the evidence for its cause (1).
fn line(d: &Diagnosis, n: usize) -> String {
    let text = text(d, 10, Style::plain(2000), Lang::En);
    text.split("\n\n").next().unwrap_or_default().lines().nth(n).unwrap_or_default().to_string()
}

fn headline(d: &Diagnosis) -> String {
    line(d, 0)
}

#[test]
fn evidence_is_of_one_flow_or_of_one_limiter() {
    for (cause, alone) in every().into_iter().filter(|(c, _)| *c != Cause::SetupFailed) {
        // A smaller flow with the same cause and different numbers.
        let mut both = alone.clone();
        let mut other = both.flows[0].clone();
        (other.connection, other.id) = (7, FlowDiagnosis::number(7, true));
        other.duration_s *= 0.5;
        other.causes.iter_mut().for_each(|c| (c.share, c.seconds) = (c.share * 0.5, c.seconds * 0.3));
        let m = &mut other.measures;
        (m.goodput_mbps, m.max_delivery_mbps, m.bytes) = (m.goodput_mbps * 0.7, 900.0, m.bytes / 3);
        (m.lost_down, m.acks, m.largest_burst_bytes) = (m.data_packets / 2, m.acks / 9, 77_777);
        (m.rtt_ms.min, m.rtt_ms.p50, m.rtt_ms.p95) = (3.0, 400.0, 900.0);
        (m.silence_s, m.max_inflight_bytes, m.max_window_bytes) = (1.11, 9_999, Some(123_456));
        both.flows.push(other);
        let why = |d: &Diagnosis| line(d, 1);
        // The goodput through a limiter is that of all flows that it limits.
        let without_sum = |text: String| {
            let kept = |word: &&str| word.parse::<f64>().is_err();
            text.split_whitespace().filter(kept).collect::<Vec<_>>().join(" ")
        };
        match alone.limiters.is_empty() {
            true => assert_eq!(why(&alone), why(&both), "{}", cause.name()),
            false => assert_eq!(without_sum(why(&alone)), without_sum(why(&both)), "{}", cause.name()),
        }
        if cause != Cause::Unknown {
            assert!(headline(&both).contains("for 91 % of the time"), "{}", headline(&both));
        }
    }
}

#[test]
fn loss_without_a_queue_is_reported_only_if_there_was_none() {
    let (_, d) = every().into_iter().find(|(c, _)| *c == Cause::RandomLoss).unwrap();
    assert!(line(&d, 1).contains("lost without a queue"), "{}", line(&d, 1));
    let mut queued = d.clone();
    queued.flows[0].measures.rtt_ms.p50 = 50.0;
    assert!(!line(&queued, 1).contains("without a queue"), "{}", line(&queued, 1));
}

#[test]
fn the_rate_at_a_loss_is_of_its_episodes_and_left_out_where_the_goodput_refutes_it() {
    let (_, d) = every().into_iter().find(|(c, _)| *c == Cause::RandomLoss).unwrap();
    assert!(line(&d, 1).contains("CUBIC and Reno reach about 4.75 Mbit/s"), "{}", line(&d, 1));
    // A thousand packets of one overflow among the other losses are one episode more.
    let mut burst = d.clone();
    (burst.flows[0].proofs[0].total, burst.flows[0].proofs[0].episodes) = (1080, Some(76));
    assert!(line(&burst, 1).contains("about 4.72 Mbit/s"), "{}", line(&burst, 1));
    let mut faster = d;
    faster.flows[0].measures.goodput_mbps = 20.0;
    assert!(line(&faster, 1).contains("without a queue"), "{}", line(&faster, 1));
    assert!(!line(&faster, 1).contains("reach"), "{}", line(&faster, 1));
}

#[test]
fn an_uncertain_headline_says_so_in_its_first_word() {
    let (_, certain) = every().into_iter().find(|(c, _)| *c == Cause::RandomLoss).unwrap();
    let uncertain = |confidence| {
        let mut d = certain.clone();
        let f = &mut d.flows[0];
        f.confidence = confidence;
        f.alternatives = vec![
            AlternativeCause { cause: Cause::Congestion, probability: 0.2 },
            AlternativeCause { cause: Cause::Application, probability: 0.08 },
        ];
        f.needs = Some(CaptureNeed::AtTheReceiver);
        d
    };
    let said = headline(&uncertain(0.62));
    assert!(said.starts_with("Probably 10.0.0.1:40000"), "{said}");
    assert!(said.contains("capture at the receiver too"), "{said}");
    let confidence = line(&uncertain(0.62), 2);
    for part in ["confidence 62 %", "congestion 20 %", "application 8 %"] {
        assert!(confidence.contains(part), "{part}: {confidence}");
    }
    let undecided = uncertain(0.45);
    let said = headline(&undecided);
    assert!(said.starts_with("Cannot tell what limited 10.0.0.1:40000"), "{said}");
    assert!(said.contains("random loss 45 %, congestion 20 %"), "{said}");
    let remedies = remedies_of(&undecided, &undecided.flows[0]);
    assert!(remedies.iter().all(|r| r.kind == ChangeKind::CaptureAgain), "{remedies:?}");
    assert!(!said.contains("BBR"), "{said}");
    for need in CaptureNeed::ALL {
        assert_eq!(serde_json::to_value(need).unwrap(), need.name());
        let mut d = uncertain(0.45);
        d.flows[0].needs = Some(need);
        assert!(headline(&d).contains("To decide, "), "{}", headline(&d));
    }
}

#[test]
fn the_policers_numbers_are_reported() {
    let text = one_line(&text(&policed(), 10, Style::default(), Lang::En));
    for part in ["625 kB", "20.0 Mbit/s", "8.90 %", "4.20 Mbit/s", "Shape to 19.6 Mbit/s"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let mut bbr = policed();
    bbr.flows[0].cc.name = "bbr".into();
    assert!(!report::diagnosis::text(&bbr, 10, Style::default(), Lang::En).contains("use BBR"));
}

#[test]
fn an_uncertain_rate_is_a_range_and_advice_does_not_name_it() {
    let mut d = policed();
    d.limiters[0].rate_range_mbps = Some([2.03, 12.9]);
    let text = one_line(&text(&d, 10, Style::default(), Lang::En));
    for part in ["2.03–12.9 Mbit/s", "Ask for the policer's rate", "policer 2.03–12.9"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("20.0") && !text.contains("19.6"), "{text}");
    assert!(remedies_of(&d, &d.flows[0]).iter().all(|r| r.setting.is_none() && r.effects.is_empty()));
}

#[test]
fn remedies_rest_on_measures_and_advice_rests_on_remedies() {
    for (cause, d) in every() {
        let (f, limiter) = (&d.flows[0], d.limiters.first());
        let remedies = remedies_of(&d, f);
        assert!(!remedies.is_empty(), "{}", cause.name());
        let said = one_line(&text(&d, 10, Style::default(), Lang::En));
        for r in &remedies {
            let json = serde_json::to_string(r).unwrap();
            assert_eq!(serde_json::from_str::<Change>(&json).unwrap(), *r);
            assert!(r.why.len() > 15, "{json}");
            let to = r.setting.map_or(f64::NAN, |s| s.to);
            for e in &r.effects {
                let m = &f.measures;
                let rate = limiter.map_or(f64::NAN, |l| l.rate_mbps);
                let (now, then) = match (e.measure, r.kind) {
                    (EffectMeasure::TotalGoodput, ChangeKind::Shape) => (None, to * 1448.0 / 1488.0),
                    (EffectMeasure::TotalGoodput, _) => (None, rate * 1448.0 / 1488.0),
                    (EffectMeasure::Goodput, ChangeKind::SendingApplication) => {
                        (Some(m.goodput_mbps), m.max_delivery_mbps)
                    }
                    // Half of a buffer holds payload.
                    (EffectMeasure::Goodput, _) => {
                        (Some(m.goodput_mbps), to / 2.0 * 8.0 / 1e3 / m.rtt_ms.min)
                    }
                    (EffectMeasure::QueueDelay, _) => (limiter.and_then(|l| l.queue_ms), 5.0),
                    (EffectMeasure::ZeroWindows, _) => (Some(m.zero_windows as f64), 0.0),
                    (EffectMeasure::AnswerTime, _) => unreachable!("no capture's remedy is about answers"),
                };
                assert_eq!(e.now, now, "{json}");
                assert!((e.then - then).abs() < 1e-9 * then.max(1.0), "{then} {json}");
            }
            // The value to set is in the text.
            if let Some(s) = r.setting {
                let value = match s.unit {
                    ChangeUnit::Mbps => format!("{:.1} Mbit/s", s.to),
                    _ => format!("{:.0} kB", s.to / 1e3),
                };
                assert!(said.contains(&value), "{value}: {said}");
            }
        }
    }
}

#[test]
fn a_flow_with_bbr_is_not_advised_to_use_bbr() {
    for (cause, mut d) in every() {
        d.flows[0].cc.name = "bbr".into();
        let named = |d: &Diagnosis| {
            remedies_of(d, &d.flows[0]).iter().filter(|r| r.kind == ChangeKind::CongestionControl).count()
        };
        let said = text(&d, 10, Style::default(), Lang::En);
        assert!(named(&d) == 0 && !said.contains("BBR at"), "{}: {said}", cause.name());
    }
}

#[test]
fn a_buffer_filled_in_bursts_carries_less_than_its_size() {
    let d = of(vec![flow(0, Cause::SendBuffer, 8.0)], vec![]);
    let said = |lang| one_line(&text(&d, 10, Style::default(), lang));
    let en = said(Lang::En);
    assert!(en.contains("bursts of at most 180 kB") && en.contains("goodput 8.00 Mbit/s"), "{en}");
    assert!(said(Lang::Zh).contains("180 kB"));
}

#[test]
fn flows_with_the_same_cause_share_a_headline() {
    let mut flows: Vec<FlowDiagnosis> =
        (0..12).map(|i| limited(lossy(flow(i, Cause::Policed, 1.0 + f64::from(i) / 10.0), 0.03))).collect();
    flows.extend((12..15).map(|i| flow(i, Cause::Application, 0.3)));
    for (i, cause) in
        [Cause::SlowStart, Cause::Outage, Cause::Unknown, Cause::AckPath].into_iter().enumerate()
    {
        flows.push(flow(20 + i as u32, cause, 0.2 - i as f64 / 20.0));
    }
    flows.sort_by_key(|f| std::cmp::Reverse(f.measures.bytes));
    let policer = Limiter { lost_share: 0.03, ..limiter(LimiterKind::Policer, 20.0) };
    let mut d = of(flows, vec![policer]);
    d.flows[0].from = "[2001:db8:1234:5678:9abc:def0:1234:5678]:40000".into();
    let text = one_line(&check("many", &d, Lang::En));
    assert!(text.contains("12 flows") && text.contains("18.6 Mbit/s"), "{text}");
    check("many-zh", &d, Lang::Zh);
}

#[test]
fn setups_resets_and_responses_name_their_packets() {
    let mut f = flow(0, Cause::Application, 2.0);
    f.setup = Some(ConnectionSetup { syns: 3, syn_acks: 1, retried_s: 3.0, ..ConnectionSetup::default() });
    f.reset = Some(ConnectionReset {
        by: ConnectionEnd::Server,
        at_s: 12.34,
        client_bytes: 1_200_000,
        outstanding: true,
        ..ConnectionReset::default()
    });
    f.responses = Some(ResponseTimes {
        exchanges: 100,
        server_ms: RttSummary { p50: 180.0, p95: 400.0, ..RttSummary::default() },
        network_ms: Some(20.0),
        server_s: 20.2,
        share: 0.67,
    });
    let proof =
        |kind, packets: &[u32]| PacketProof { kind, packets: packets.into(), ..PacketProof::default() };
    f.proofs = vec![
        proof(ProofKind::Setup, &[1, 2, 3, 4]),
        proof(ProofKind::Resets, &[912]),
        proof(ProofKind::Response, &[40, 42]),
    ];
    let d = of(vec![f], vec![]);
    let text = one_line(&check("events", &d, Lang::En));
    for part in [
        "3 SYNs and 1 SYN/ACKs",
        "packets 1, 2, 3, 4",
        "reset by the server after 12 s",
        "packets 912",
        "server response time: median 180 ms, p95 400 ms (network 20 ms)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    check("events-zh", &d, Lang::Zh);
}

#[test]
fn shares_of_a_link_are_listed_and_control_connections_are_folded() {
    let mut flows: Vec<FlowDiagnosis> =
        (0..7).map(|i| limited(flow(i, Cause::Bottleneck, if i < 2 { 476.0 } else { 7.2 }))).collect();
    flows[..2].iter_mut().for_each(|f| f.cc.name = "bbr".into());
    // FTP's control connection: it starts before the transfers and has both directions.
    let mut control = [flow(9, Cause::Application, 0.001), flow(9, Cause::Application, 0.002)];
    control[0].to = "10.0.0.2:21".into();
    (control[1].from, control[1].to) = (control[0].to.clone(), control[0].from.clone());
    control[1].id += 1;
    flows.extend(control);
    // Flows as small, but one is of other hosts and one starts later.
    let mut others = [flow(11, Cause::Application, 0.003), flow(12, Cause::Application, 0.003)];
    others[0].to = "10.0.0.3:80".into();
    others[1].start_s = 3.0;
    flows.extend(others);
    let share_of = |cc: &str, flows, mbps, share| CcShare { cc: cc.into(), flows, mbps, share };
    let shares_by_cc = vec![share_of("bbr", 2, 952.0, 0.964), share_of("cubic", 5, 36.0, 0.036)];
    let d = of(flows, vec![Limiter { shares_by_cc, ..limiter(LimiterKind::Bottleneck, 1000.0) }]);
    let text = check("shared", &d, Lang::En);
    assert!(one_line(&text).contains("2 × BBR 952 Mbit/s (96 %), 5 × CUBIC 36.0 Mbit/s (4 %)"), "{text}");
    assert!(
        text.contains("Control connections of these transfers: 1,") && text.contains("10.0.0.3:80"),
        "{text}"
    );
    assert_eq!(text.matches("10.0.0.2:21").count(), 1, "{text}");
    assert!(text.contains("40012"), "{text}");
    check("shared-zh", &d, Lang::Zh);
}

#[test]
fn notes_report_what_a_capture_lacks() {
    let mut d = policed();
    d.capture.damage = Some(Damage { offset: 123_456, what: "a record longer than the file\x1b[2J".into() });
    d.capture.dropped = Some(12);
    d.capture.missed_bytes = 1_250_000;
    d.capture.duplicate_records = 7;
    d.capture.fragments = 3;
    d.capture.tunnels = vec![Counted { name: "gre".into(), count: 49_000 }];
    d.capture.other = (0..12).map(|i| Counted { name: format!("ethertype {i}"), count: 5 }).collect();
    let notes = ["no-handshake", "window-scale-unknown", "one-way", "no-sack", "duplicate-records", "news"];
    d.flows[0].notes = notes.map(String::from).into();
    let text = check("notes", &d, Lang::En);
    assert!(!text.contains('\x1b') && text.contains("byte 123456"));
    check("notes-zh", &d, Lang::Zh);
    check("nothing", &of(vec![], vec![]), Lang::En);
}

#[test]
fn missing_or_odd_numbers_print_without_nan_or_placeholders() {
    for cause in Cause::ALL {
        // Nothing is known, and the flow names a limiter that is not in the list.
        let bare = FlowDiagnosis { cause, limiter: Some(7), ..FlowDiagnosis::default() };
        for d in [of(vec![bare.clone()], vec![]), of(vec![limited(bare)], vec![Limiter::default()])] {
            for lang in [Lang::En, Lang::Zh] {
                let got = text(&d, 10, Style::default(), lang);
                assert!(!got.contains("NaN") && !got.contains("inf") && !got.contains('{'), "{got}");
                assert!(got.lines().all(|l| l.width() <= 80), "{got}");
            }
        }
    }
}

#[test]
fn the_page_has_the_same_headlines_in_both_languages() {
    let d = policed();
    let html = page(&d, &Rows::new(8, &[], MAX_ROWS), Lang::En);
    let begin = html.find("id=\"data\">").unwrap() + 10;
    let data = &html[begin..begin + html[begin..].find("</script>").unwrap()];
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["format"], result::DIAGNOSIS_SCHEMA);
    assert!(
        data["summaries"]["en"][0]["text"].as_str().unwrap().contains("was policed for 91 % of the time")
    );
    assert!(data["summaries"]["zh"][0]["text"].as_str().unwrap().contains("91 %"));
    assert_eq!(data["flows"][0]["ribbon"], serde_json::json!({"at": [0.0, 1.8, 30.0], "cause": [4, 8, 8]}));
    assert!(data["flows"][0].get("timeline").is_none() && data["flows"][0]["packets"].is_null());
    assert_eq!(data["flows"][0]["measures"]["goodput_mbps"], 4.2);
}
