//! Paths with an MTU below Ethernet's: the diagnosis reports the effects of packet size there, and on no
//! other path.

use diagnose_test::judge::Judge;
use diagnose_test::{Case, Vantage};
use result::{Cause, FlowDiagnosis};

/// Diagnoses an upload over 10 Mbit/s and 30 ms, with `tunnel` before the link and `stack` at the sender.
fn diagnose(tunnel: &str, stack: &str, app: &str, offload: bool) -> FlowDiagnosis {
    let text = format!(
        r#"duration = "12s"
[hosts.a]
stack = {{ {stack} }}
[hosts.m]
[hosts.b]
[links.lan]
between = ["a", "m"]
forward = [{{ kind = "link", rate = "100Mbit/s" }}]
backward = [{{ kind = "link", rate = "100Mbit/s" }}]
[links.wan]
between = ["m", "b"]
forward = [{tunnel}{{ kind = "link", rate = "10Mbit/s", delay = "15ms", queue = {{ kind = "fifo", packets = 80 }} }}, {{ kind = "tunnel-end" }}]
backward = [{{ kind = "link", rate = "10Mbit/s", delay = "15ms" }}]
[flows.f]
from = "a"
to = "b"
app = {app}
"#
    );
    let case = Case {
        number: 1,
        seed: 1,
        intended: Cause::Bottleneck,
        vantage: Vantage::Sender,
        offload,
        rate: 10e6,
        rtt: 0.03,
        text,
        outages: Vec::new(),
    };
    let (_, diagnosis, _) = Judge::new(None).expect("needs nothing").score(&case).expect("parses");
    diagnosis.flows.into_iter().max_by_key(|f| f.measures.data_packets).expect("a flow")
}

fn share(f: &FlowDiagnosis, cause: Cause) -> f64 {
    f.causes.iter().find(|c| c.cause == cause).map_or(0.0, |c| c.share)
}

const BULK: &str = "{ kind = \"bulk\" }";
/// A tunnel that answers with ICMP "fragmentation needed".
const ICMP: &str = "{ kind = \"tunnel\", overhead = 24, mtu = 1500 }, ";
/// A tunnel that drops large packets without an ICMP message.
const BLACK_HOLE: &str = "{ kind = \"tunnel\", overhead = 24, mtu = 1500, icmp = false }, ";
/// A tunnel that fragments large packets.
const FRAGMENT: &str = "{ kind = \"tunnel\", overhead = 24, mtu = 1500, fragment = true }, ";

/// The link is the bottleneck. Segments of the reduced MSS count as full although they no longer fill an
/// Ethernet frame.
#[test]
fn segments_of_a_reduced_mss_are_full() {
    for offload in [false, true] {
        let f = diagnose(ICMP, "", BULK, offload);
        assert_eq!(f.cause, Cause::Bottleneck, "{:?}", f.causes);
        assert!(f.confidence > 0.8 && share(&f, Cause::Application) < 0.02, "{:?}", f.causes);
        let m = &f.measures;
        assert_eq!((m.mss_before_bytes, m.mss_bytes), (Some(1448), 1424), "offload {offload}");
        assert_eq!(m.icmp_too_big, 10, "one for each packet of the first window");
        assert_eq!(m.path_mtu_bytes, Some(1476));
    }
}

/// A short transfer loses a noticeable share of its time to packets that did not fit.
#[test]
fn packets_too_big_are_a_cause_in_a_short_transfer() {
    let f = diagnose(ICMP, "", "{ kind = \"bulk\", bytes = \"14kB\" }", false);
    assert!(share(&f, Cause::PacketTooBig) > 0.3, "{:?}", f.causes);
    assert_eq!(share(&f, Cause::BlackHole), 0.0);
    let clamp = f.remedies.iter().find_map(|r| r.setting.filter(|s| s.to == 1436.0));
    assert!(f.cause != Cause::PacketTooBig || clamp.is_some(), "{:?}", f.remedies);
}

#[test]
fn a_black_hole_is_found_with_and_without_mtu_probing() {
    let f = diagnose(BLACK_HOLE, "", BULK, false);
    assert_eq!((f.cause, f.measures.mss_before_bytes), (Cause::BlackHole, None), "{:?}", f.causes);
    assert!(share(&f, Cause::BlackHole) > 0.9, "{:?}", f.causes);
    assert_eq!(f.measures.icmp_too_big, 0);
    let f = diagnose(BLACK_HOLE, "mtu_probing = \"on-blackhole\"", BULK, false);
    assert!(share(&f, Cause::BlackHole) > 0.2, "{:?}", f.causes);
    assert_eq!(share(&f, Cause::Outage), 0.0, "{:?}", f.causes);
    let m = &f.measures;
    assert_eq!((m.mss_before_bytes, m.mss_bytes, m.path_mtu_bytes), (Some(1448), 1421, None));
}

/// Full packets that fit, fragments that a capture at the sender does not see, an outage, random loss, and
/// small writes.
#[test]
fn other_problems_are_not_attributed_to_packet_size() {
    let outage = "{ kind = \"outage\", at = [\"3s\"], lasts = \"4s\" }, ";
    let loss = "{ kind = \"loss\", probability = 0.02 }, ";
    for (stages, app) in [
        ("", BULK),
        (FRAGMENT, BULK),
        (outage, BULK),
        (loss, BULK),
        ("", "{ kind = \"onoff\", on = \"50ms\", off = \"50ms\", rate = \"2Mbit/s\" }"),
    ] {
        for offload in [false, true] {
            let f = diagnose(stages, "", app, offload);
            let size_share = share(&f, Cause::BlackHole) + share(&f, Cause::PacketTooBig);
            assert_eq!(
                (size_share, f.measures.mss_before_bytes),
                (0.0, None),
                "{stages} {app} {:?}",
                f.causes
            );
        }
    }
}
