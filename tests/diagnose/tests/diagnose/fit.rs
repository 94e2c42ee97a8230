//! Fits of captures from a known path.

use capture::{CaptureReader, PcapWriter};
use diagnose_test::{PcapSink, Vantage, fit::fitted, play};
use result::Cause;
use std::io::Cursor;

/// Captures one CUBIC flow at the sender over the `forward` elements and a round trip of 20 ms.
fn capture(forward: &str) -> CaptureReader {
    let text = format!(
        "name = \"t\"\nduration = \"8s\"\nsample = \"7300us\"\n[hosts.a]\n[hosts.m]\n[hosts.b]\n[links.l1]\nbetween = [\"a\", \"m\"]\n\
         forward = [{forward}]\nbackward = [{{ kind = \"delay\", delay = \"10ms\" }}]\n[links.l2]\nbetween = [\"m\", \"b\"]\n\
         forward = [{{ kind = \"delay\", delay = \"10ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n"
    );
    let case = diagnose_test::Case {
        number: 0,
        seed: 5,
        intended: Cause::Unknown,
        vantage: Vantage::Sender,
        offload: false,
        rate: 1e7,
        rtt: 0.02,
        text,
        outages: Vec::new(),
    };
    let mut file = Vec::new();
    let mut sink = PcapSink::new(&mut file).unwrap();
    play(&case, &mut sink).unwrap();
    sink.finish().unwrap();
    CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").unwrap()
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value / expected - 1.0).abs() < tolerance
}

#[test]
fn a_policer_is_found_with_its_rate_and_bucket() {
    let result = fitted(capture(
        "{ kind = \"link\", rate = \"100Mbit/s\" }, { kind = \"policer\", rate = \"10Mbit/s\", burst = \"50kB\" }",
    ))
    .unwrap();
    assert_eq!(result.fit.limiter, "policer");
    assert!(near(result.path.rate, 1e7, 0.02) && near(result.path.bucket, 5e4, 0.1), "{:?}", result.path);
    assert!(near(result.path.rtt, 0.02, 0.05), "{:?}", result.path);
    let c = result.fit.compared;
    assert!(near(c.fitted.goodput_mbps, c.captured.goodput_mbps, 0.08), "{c:?}");
    assert!(near(c.fitted.rtt_p95_ms, c.captured.rtt_p95_ms, 0.1), "{c:?}");
    // The scenario as text describes the same path as the scenario that was run.
    let read = scenario::Experiment::parse("f.toml", &result.fit.scenario, &[]).unwrap();
    assert_eq!(read.variants[0].scenario.links, result.scenario.links);
    assert_eq!(read.variants[0].scenario.flows, result.scenario.flows);
}

#[test]
fn a_link_is_found_with_its_queue() {
    let result = fitted(capture(
        "{ kind = \"link\", rate = \"20Mbit/s\", queue = { kind = \"fifo\", packets = 60 } }",
    ))
    .unwrap();
    assert_eq!(result.fit.limiter, "link");
    assert!(near(result.path.rate, 2e7, 0.02) && near(result.path.queue, 9e4, 0.15), "{:?}", result.path);
}

#[test]
fn a_capture_without_packets_fits_nothing() {
    let mut file = Vec::new();
    PcapWriter::new(&mut file).unwrap().finish().unwrap();
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").unwrap();
    assert!(fitted(reader).unwrap_err().contains("no TCP flow"));
}
