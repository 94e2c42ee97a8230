//! What the sender's kernel counted goes before what the packets let infer, and what it does not count is
//! left to them.

use crate::link::Transfer;
use capture::{Addr, CaptureReader, Endpoint};
use diagnosis::socket::{SocketFacts, diagnose_sockets_alone};
use diagnosis::{capture_info, diagnose_with_sockets};
use result::diagnosis::{CaptureInfo, SocketSample, UNDECIDED};
use result::{Cause, FlowDiagnosis};
use std::io::Cursor;
use track::{TrackerOptions, track_capture};
use units::{Span, Time};

/// A flow that keeps 20 segments in flight on an empty path of 50 ms: by its packets it may be a send buffer,
/// a window that the receiver does not announce, or the application.
fn packets() -> Vec<u8> {
    let t = Transfer {
        segments: 2000,
        initial: 10,
        most: 20,
        packet_us: 12,
        rtt: 50_000,
        handshake: true,
        timestamps: true,
        ..Transfer::default()
    };
    t.talk().pcap(|_| true)
}

/// Ten samples a second, from `first` on for `seconds`: of the busy time these shares.
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

/// What is said of the client's flow with a socket that `change` makes of the usual one.
fn said(make: impl Fn(Time) -> Option<SocketFacts>) -> FlowDiagnosis {
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
fn the_kernels_counters_decide_between_what_looks_alike() {
    let inferred = said(|_| None);
    assert_eq!(inferred.cause, Cause::SendBuffer, "by packets");
    assert_eq!(inferred.socket, None);
    let buffer = said(|first| Some(socket(first, 6, 1.0, 0.0, 0.9)));
    assert_eq!(buffer.cause, Cause::SendBuffer);
    assert!(buffer.share(Cause::SendBuffer) >= inferred.share(Cause::SendBuffer), "{:?}", buffer.causes);
    assert_eq!((buffer.cc.name.as_str(), buffer.cc.confidence), ("cubic", 1.0));
    let account = buffer.socket.expect("an account");
    assert!((account.buffer_limited_s.unwrap() / account.busy_s.unwrap() - 0.9).abs() < 0.01);
    let neither = said(|first| Some(socket(first, 6, 1.0, 0.0, 0.0)));
    assert_eq!(neither.share(Cause::SendBuffer), 0.0, "{:?}", neither.causes);
    assert_eq!(neither.share(Cause::ReceiveWindow), 0.0, "{:?}", neither.causes);
    // The counter is a lower bound: a full buffer of which all is sent says the same.
    let full = said(|first| {
        let mut s = socket(first, 6, 1.0, 0.0, 0.0);
        s.samples.iter_mut().for_each(|s| (s.buffer_full, s.app_limited) = (Some(true), Some(true)));
        Some(s)
    });
    assert_eq!(full.cause, Cause::SendBuffer);
    let writer = said(|first| {
        let mut s = socket(first, 6, 1.0, 0.0, 0.0);
        s.samples.iter_mut().for_each(|s| s.app_limited = Some(true));
        Some(s)
    });
    assert_eq!(writer.cause, Cause::Application, "it had always written less than could be sent");
}

#[test]
fn what_the_kernel_does_not_say_changes_nothing() {
    let inferred = said(|_| None);
    let same = |f: FlowDiagnosis, why: &str| {
        assert_eq!(
            (f.cause, &f.causes, f.confidence),
            (inferred.cause, &inferred.causes, inferred.confidence),
            "{why}"
        );
    };
    let without = |change: fn(&mut SocketFacts)| {
        said(|first| {
            let mut s = socket(first, 6, 1.0, 0.0, 0.0);
            change(&mut s);
            Some(s)
        })
    };
    same(without(|s| s.samples.iter_mut().for_each(|s| s.times_us = None)), "a kernel before 4.10");
    same(without(|s| s.samples.clear()), "it was never looked at");
    same(without(|s| s.remote.port = 81), "another socket");
    let hours = Span::from_secs(7_200);
    same(said(|first| Some(socket(first + hours, 6, 1.0, 0.0, 0.0))), "the same ends, hours later");
}

#[test]
fn by_counters_alone_a_wait_is_named_and_the_rest_is_not_known() {
    let of = |busy, window, buffer| {
        let s = socket(Time::ZERO + Span::from_secs(1_700_000_000), 10, busy, window, buffer);
        let info = CaptureInfo { start_s: 1.7e9, duration_s: 10.0, ..CaptureInfo::default() };
        let f = diagnose_sockets_alone(&[s], info).flows.remove(0);
        println!("{:?} {:.2} {:?}", f.cause, f.confidence, f.causes);
        assert!(f.has_note("no-packets"));
        assert!((f.causes.iter().map(|c| c.share).sum::<f64>() - 1.0).abs() < 1e-6);
        f
    };
    assert_eq!(of(1.0, 0.9, 0.0).cause, Cause::ReceiveWindow);
    assert_eq!(of(1.0, 0.0, 0.8).cause, Cause::SendBuffer);
    assert_eq!(of(0.2, 0.0, 0.0).cause, Cause::Application);
    let path = of(1.0, 0.05, 0.05);
    assert_eq!(path.cause, Cause::Unknown, "the network, the sender's window, or whatever");
    assert!(path.confidence < UNDECIDED && path.needs.is_some());
}
