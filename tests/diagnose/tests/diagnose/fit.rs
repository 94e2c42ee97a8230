//! Fits of captures whose path is known.

use capture::{CaptureReader, PcapWriter};
use diagnose_test::{PcapSink, Vantage, fit::fitted, play};
use result::Cause;
use std::io::Cursor;

/// The capture of a path: rate, limiter and what else there is, with one CUBIC flow.
fn capture(forward: &str) -> CaptureReader {
    let text = format!(
        "name = \"t\"\nduration = \"8s\"\nsample = \"7300us\"\n[hosts.a]\n[hosts.m]\n[hosts.b]\n[links.l1]\nbetween = [\"a\", \"m\"]\n\
         forward = [{forward}]\nbackward = [{{ kind = \"delay\", delay = \"10ms\" }}]\n[links.l2]\nbetween = [\"m\", \"b\"]\n\
         forward = [{{ kind = \"delay\", delay = \"10ms\" }}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n"
    );
    let case = diagnose_test::Case {
        number: 0,
        seed: 5,
        meant: Cause::Unknown,
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

fn near(value: f64, wanted: f64, share: f64) -> bool {
    (value / wanted - 1.0).abs() < share
}

#[test]
fn a_policer_is_found_with_its_rate_and_bucket() {
    let made = fitted(capture(
        "{ kind = \"link\", rate = \"100Mbit/s\" }, { kind = \"policer\", rate = \"10Mbit/s\", burst = \"50kB\" }",
    ))
    .unwrap();
    assert_eq!(made.fit.limiter, "policer");
    assert!(near(made.path.rate, 1e7, 0.02) && near(made.path.bucket, 5e4, 0.1), "{:?}", made.path);
    assert!(near(made.path.rtt, 0.02, 0.05), "{:?}", made.path);
    let c = made.fit.compared;
    assert!(near(c.fitted.goodput_mbps, c.captured.goodput_mbps, 0.08), "{c:?}");
    assert!(near(c.fitted.rtt_p95_ms, c.captured.rtt_p95_ms, 0.1), "{c:?}");
    // The file says the same as what was run.
    let read = scenario::Experiment::parse("f.toml", &made.fit.scenario, &[]).unwrap();
    assert_eq!(read.variants[0].scenario.links, made.scenario.links);
    assert_eq!(read.variants[0].scenario.flows, made.scenario.flows);
}

#[test]
fn a_line_is_found_with_its_queue() {
    let made = fitted(capture(
        "{ kind = \"link\", rate = \"20Mbit/s\", queue = { kind = \"fifo\", packets = 60 } }",
    ))
    .unwrap();
    assert_eq!(made.fit.limiter, "link");
    assert!(near(made.path.rate, 2e7, 0.02) && near(made.path.queue, 9e4, 0.15), "{:?}", made.path);
}

#[test]
fn a_capture_without_packets_fits_nothing() {
    let mut file = Vec::new();
    PcapWriter::new(&mut file).unwrap().finish().unwrap();
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").unwrap();
    assert!(fitted(reader).unwrap_err().contains("no TCP flow"));
}
