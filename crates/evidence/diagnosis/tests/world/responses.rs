//! The server's response time, separated from the network's share.

use crate::talk::{CLIENT, SERVER, Talk, read};
use crate::tshark;
use result::diagnosis::{FlowDiagnosis, ProofKind};

const RTT: u64 = 20_000;

/// A hundred requests, answered after 180 ms, every tenth after 400 ms, captured at the client or at the
/// server. `acked`: the request is acknowledged before the response.
fn requests(at_server: bool, acked: bool) -> Talk {
    let mut t = Talk { timestamps: false, ..Talk::default() };
    t.open(RTT, [Some(7); 2], [1460; 2]);
    let network_us = if at_server { 0 } else { RTT };
    if at_server {
        t.packets[1].time = t.packets[0].time + units::Span::from_micros(20);
        t.packets[2].time = t.packets[1].time + units::Span::from_micros(RTT);
    }
    for n in 0..100u64 {
        let at = 100_000 + n * 500_000;
        let took = if n % 10 == 9 { 400_000 } else { 180_000 };
        t.data(at, CLIENT, 300, true);
        if acked {
            t.ack(at + network_us + 10, SERVER);
        }
        t.acked[SERVER] = t.sent[CLIENT];
        t.data(at + network_us + took, SERVER, 900, true);
        t.ack(at + 2 * RTT + took, CLIENT);
    }
    t
}

fn server_flow(file: Vec<u8>) -> FlowDiagnosis {
    let d = read(file);
    d.flows.into_iter().find(|f| f.from == "10.0.0.2:80").expect("the responses")
}

#[test]
fn server_time_is_separated_from_network_time() {
    for (at_server, acked) in [(false, true), (false, false), (true, true), (true, false)] {
        let t = requests(at_server, acked);
        let file = t.pcap(|_| true);
        let f = server_flow(file.clone());
        let r = f.responses.as_ref().expect("responses");
        let near = |ms: f64, want: f64| (ms - want).abs() < 0.02 * want;
        assert!(near(r.server_ms.p50, 180.0) && near(r.server_ms.p95, 400.0), "{at_server} {acked}: {r:?}");
        assert!(r.network_ms.is_some_and(|ms| near(ms, 20.0)), "{r:?}");
        assert_eq!(r.exchanges, 100);
        assert!(near(r.server_s, 0.9 * 18.0 + 0.1 * 40.0), "{r:?}");
        assert!(near(r.share, r.server_s / f.duration_s), "{r:?} {}", f.duration_s);
        let proof = f.proofs.iter().find(|p| p.kind == ProofKind::Response).expect("a proof");
        let each = if acked { 4 } else { 3 };
        assert_eq!(proof.packets, [4 + 9 * each, 4 + 9 * each + if acked { 2 } else { 1 }], "the tenth");
        if tshark::is_installed("server_time_is_separated_from_network_time") {
            assert!(tshark::check_proofs(&file, &read(file.clone())) > 0);
        }
    }
}

/// The client's flow answers no requests.
#[test]
fn only_the_server_has_response_times() {
    let d = read(requests(false, true).pcap(|_| true));
    assert!(d.flows.iter().all(|f| f.responses.is_some() == (f.from == "10.0.0.2:80")));
}

/// A retransmitted request is excluded, since its time is the network's, and so is a request sent during a
/// response, since the following data do not answer it.
#[test]
fn retransmitted_and_pipelined_requests_are_excluded() {
    let mut t = requests(false, true);
    let at = 60_000_000;
    t.data(at, CLIENT, 300, true);
    t.retransmit(at + 230_000, CLIENT, 300, 300);
    t.acked[SERVER] = t.sent[CLIENT];
    t.data(at + 230_000 + RTT + 180_000, SERVER, 900, true);
    t.ack(at + 500_000, CLIENT);
    // A request between two segments of a response.
    let at = at + 1_000_000;
    t.data(at, CLIENT, 300, true);
    t.acked[SERVER] = t.sent[CLIENT];
    t.data(at + RTT + 180_000, SERVER, 900, false);
    t.data(at + RTT + 180_010, CLIENT, 300, true);
    t.data(at + RTT + 180_020, SERVER, 900, true);
    t.ack(at + 500_000, CLIENT);
    let r = server_flow(t.pcap(|_| true)).responses.expect("responses");
    assert_eq!(r.exchanges, 101);
    assert!(r.server_ms.min > 170.0 && r.server_ms.max < 410.0, "{r:?}");
}
