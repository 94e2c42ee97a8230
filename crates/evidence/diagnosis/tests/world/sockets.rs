//! Counters of the sender's kernel take precedence over inference from packets; packets decide where counters
//! are missing.

use crate::link::Transfer;
use capture::{Addr, CaptureReader, Endpoint};
use diagnosis::socket::{SocketFacts, diagnose_sockets_alone};
use diagnosis::{capture_info, diagnose_with_sockets};
use result::diagnosis::{CaptureInfo, CaptureNeed, SocketSample, UNDECIDED};
use result::{Cause, FlowDiagnosis};
use std::io::Cursor;
use track::{TrackerOptions, track_capture};
use units::{Span, Time};

/// A flow that keeps 20 segments in flight on an empty path of 50 ms. Its packets leave open whether the send
/// buffer, an unannounced window or the application is the limit.
fn packets() -> Vec<u8> {
    let t = Transfer {
        segments: 2000,
        initial_window: 10,
        max_window: 20,
        packet_us: 12,
        rtt: 50_000,
        handshake: true,
        timestamps: true,
        ..Transfer::default()
    };
    t.talk().pcap(|_| true)
}

/// Ten samples per second for `seconds` from `first` on. `busy` is the share of busy time; `window` and
/// `buffer` are the shares of it that were limited by the receive window and the send buffer.
fn socket(first: Time, seconds: u64, busy: f64, window: f64, buffer: f64) -> SocketFacts {
    let sample = |i: u64| {
        let us = i as f64 * 1e5 * busy;
        SocketSample {
            at: first + Span::from_millis(100 * i),
            times_us: Some([us as u64, (us * window) as u64, (us * buffer) as u64]),
            acked: i * 100_000,
            rtt_us: Some(50_000),
            app_limited: Some(false),
            notsent: Some(0),
            buffer_full: Some(false),
        }
    };
    SocketFacts {
        local: Endpoint { addr: Addr::v4([10, 0, 0, 1]), port: 40_000 },
        remote: Endpoint { addr: Addr::v4([10, 0, 0, 2]), port: 80 },
        samples: (0..=10 * seconds).map(sample).collect(),
        control: Some("cubic".into()),
        window: Some(60_000),
        min_rtt_us: Some(50_000),
        ..SocketFacts::default()
    }
}

/// Diagnoses the client's flow with the socket facts that `make` returns for the capture's start.
fn diagnose(make: impl Fn(Time) -> Option<SocketFacts>) -> FlowDiagnosis {
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(packets())), "-").expect("a capture");
    let (tracks, file, totals) = track_capture(reader, TrackerOptions::default(), None, &mut |_, _| {});
    let first = file.times.expect("packets").0;
    let sockets = make(first).into_iter().collect();
    let d = diagnose_with_sockets(tracks, capture_info(file, &totals), &sockets);
    let flow = d.flows.into_iter().find(|f| f.from == "10.0.0.1:40000").expect("the client's");
    println!("{:?} {:.2} {:?} {:?}", flow.cause, flow.confidence, flow.causes, flow.socket);
    flow
}

#[test]
fn kernel_counters_decide_between_causes_that_packets_cannot_separate() {
    let inferred = diagnose(|_| None);
    assert_eq!(inferred.cause, Cause::SendBuffer, "inferred from packets");
    assert_eq!(inferred.socket, None);
    let buffer = diagnose(|first| Some(socket(first, 6, 1.0, 0.0, 0.9)));
    assert_eq!(buffer.cause, Cause::SendBuffer);
    assert!(buffer.share(Cause::SendBuffer) >= inferred.share(Cause::SendBuffer), "{:?}", buffer.causes);
    assert_eq!((buffer.cc.name.as_str(), buffer.cc.confidence), ("cubic", 1.0));
    let account = buffer.socket.expect("an account");
    assert!((account.buffer_limited_s.unwrap() / account.busy_s.unwrap() - 0.9).abs() < 0.01);
    let neither = diagnose(|first| Some(socket(first, 6, 1.0, 0.0, 0.0)));
    assert_eq!(neither.share(Cause::SendBuffer), 0.0, "{:?}", neither.causes);
    assert_eq!(neither.share(Cause::ReceiveWindow), 0.0, "{:?}", neither.causes);
    // The counter is a lower bound: a full buffer whose data are all sent is limited by its size too.
    let full = diagnose(|first| {
        let mut s = socket(first, 6, 1.0, 0.0, 0.0);
        s.samples.iter_mut().for_each(|s| (s.buffer_full, s.app_limited) = (Some(true), Some(true)));
        Some(s)
    });
    assert_eq!(full.cause, Cause::SendBuffer);
    // As measured on paths with a small buffer: it is counted as full for 39 to 50 % of the busy time.
    let counted_in_part = diagnose(|first| {
        let mut s = socket(first, 6, 1.0, 0.0, 0.4);
        s.samples.iter_mut().for_each(|s| s.app_limited = Some(true));
        Some(s)
    });
    assert_eq!(counted_in_part.cause, Cause::SendBuffer);
    let writer = |always_writes| {
        diagnose(|first| {
            let mut s = SocketFacts { always_writes, ..socket(first, 6, 1.0, 0.0, 0.0) };
            s.samples.iter_mut().for_each(|s| s.app_limited = Some(true));
            Some(s)
        })
    };
    assert_eq!(writer(false).cause, Cause::Application, "it always wrote less than could be sent");
    // The kernel counts no full buffer between two wake-ups of a program that waits for room.
    let waits = writer(true);
    assert_eq!((waits.cause, waits.share(Cause::Application)), (Cause::SendBuffer, 0.0));
}

#[test]
fn missing_kernel_counters_change_nothing() {
    let inferred = diagnose(|_| None);
    let same = |f: FlowDiagnosis, why: &str| {
        assert_eq!(
            (f.cause, &f.causes, f.confidence),
            (inferred.cause, &inferred.causes, inferred.confidence),
            "{why}"
        );
    };
    let without = |change: fn(&mut SocketFacts)| {
        diagnose(|first| {
            let mut s = socket(first, 6, 1.0, 0.0, 0.0);
            change(&mut s);
            Some(s)
        })
    };
    same(without(|s| s.samples.iter_mut().for_each(|s| s.times_us = None)), "a kernel before 4.10");
    same(without(|s| s.samples.clear()), "no samples");
    same(without(|s| s.remote.port = 81), "another socket");
    let hours = Span::from_secs(7_200);
    same(diagnose(|first| Some(socket(first + hours, 6, 1.0, 0.0, 0.0))), "the same endpoints, hours later");
}

#[test]
fn counters_alone_name_a_wait_and_leave_the_rest_unknown() {
    let diagnose_alone = |busy, window, buffer| {
        let s = socket(Time::ZERO + Span::from_secs(1_700_000_000), 10, busy, window, buffer);
        let info = CaptureInfo { start_s: 1.7e9, duration_s: 10.0, ..CaptureInfo::default() };
        let f = diagnose_sockets_alone(&[s], info).flows.remove(0);
        println!("{:?} {:.2} {:?}", f.cause, f.confidence, f.causes);
        assert!(f.has_note("no-packets"));
        assert!((f.causes.iter().map(|c| c.share).sum::<f64>() - 1.0).abs() < 1e-6);
        f
    };
    assert_eq!(diagnose_alone(1.0, 0.9, 0.0).cause, Cause::ReceiveWindow);
    assert_eq!(diagnose_alone(1.0, 0.0, 0.8).cause, Cause::SendBuffer);
    assert_eq!(diagnose_alone(0.2, 0.0, 0.0).cause, Cause::Application);
    let path = diagnose_alone(1.0, 0.05, 0.05);
    assert_eq!(path.cause, Cause::Unknown, "the network or the congestion window");
    assert!(path.confidence < UNDECIDED && path.needs == Some(CaptureNeed::Packets));
}

#[test]
fn counters_of_a_request_name_no_cause() {
    let mut s = socket(Time::ZERO + Span::from_secs(1_700_000_000), 10, 0.01, 0.0, 0.0);
    s.segments = Some(1);
    let info = CaptureInfo { start_s: 1.7e9, duration_s: 10.0, ..CaptureInfo::default() };
    let f = diagnose_sockets_alone(&[s], info).flows.remove(0);
    assert!(f.cause == Cause::Unknown && f.has_few_packets() && f.needs.is_none(), "{f:?}");
}
