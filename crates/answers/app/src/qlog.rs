//! `--qlog`: logs that QUIC endpoints wrote.

use crate::CommandError;
use print::escape::value;
use result::Diagnosis;
use result::diagnosis::{CaptureInfo, CaptureNeed, UdpLoss};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use track::Track;
use track::qlog::{LONGEST_FILE, QlogTrace, QlogTracks, QlogVantage, read_qlog, track_qlog};
use units::{Span, Time};

/// A trace's absolute time is trusted if it is at most this many seconds away from the capture: hosts' clocks
/// differ.
const MAX_CLOCK_OFFSET_S: f64 = 3_600.0;

/// A trace, and the tracks built from it.
pub struct QlogEndpoint {
    trace: QlogTrace,
    tracks: QlogTracks,
}

/// Reads log files. `capture` is the start and the duration of the capture in seconds: traces without a
/// usable time of their own are moved to its start.
pub fn read(paths: &[PathBuf], capture: Option<(f64, f64)>) -> Result<Vec<QlogEndpoint>, CommandError> {
    let mut all = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let io = |e| CommandError::Io(name.clone(), e);
        let mut bytes = Vec::new();
        let mut file = fs::File::open(path).map_err(io)?.take(LONGEST_FILE as u64 + 1);
        file.read_to_end(&mut bytes).map_err(io)?;
        if bytes.len() > LONGEST_FILE {
            return Err(CommandError::Usage(format!("{}: longer than {LONGEST_FILE} bytes", value(&name))));
        }
        // A truncated log may end in the middle of a character.
        let text = String::from_utf8_lossy(&bytes);
        let traces = read_qlog(&text).map_err(|e| CommandError::Usage(format!("{}: {e}", value(&name))))?;
        for mut trace in traces {
            set_time(&mut trace, capture);
            all.push(QlogEndpoint { tracks: track_qlog(&trace), trace });
        }
    }
    Ok(all)
}

/// Moves a trace to the start of the capture if the trace has no absolute time, or one that is far from the
/// capture.
fn set_time(trace: &mut QlogTrace, capture: Option<(f64, f64)>) {
    let (Some((start, lasts)), Some(first)) = (capture, trace.events.first().map(|e| e.time)) else { return };
    let at = first.as_secs_f64();
    if trace.dated && at > start - MAX_CLOCK_OFFSET_S && at < start + lasts + MAX_CLOCK_OFFSET_S {
        return;
    }
    trace.begin_at(Time::ZERO + Span::from_secs_f64(start));
}

/// Appends the traces' tracks to those of a capture. Returns the connection numbers that they got.
pub fn append(tracks: &mut Vec<Track>, endpoints: &[QlogEndpoint]) -> Vec<u32> {
    let next = tracks.iter().map(|t| t.connection + 1).max().unwrap_or(0);
    let mut numbers = Vec::new();
    for (number, t) in (next..).zip(endpoints.iter().flat_map(|e| &e.tracks.tracks)) {
        tracks.push(Track { connection: number, ..t.clone() });
        numbers.push(number);
    }
    numbers
}

/// Completes the flows that come from a qlog, and copies the losses of a qlog to the UDP flows that it
/// belongs to. `numbers` are the connection numbers from [`append`].
pub fn mark(d: &mut Diagnosis, endpoints: &[QlogEndpoint], numbers: &[u32]) {
    // One trace per track, in the order of [`append`].
    let traces = endpoints.iter().flat_map(|e| e.tracks.tracks.iter().map(move |_| &e.trace));
    for (number, trace) in numbers.iter().zip(traces) {
        for i in (0..d.flows.len()).filter(|i| d.flows[*i].connection == *number).collect::<Vec<_>>() {
            // Notes about TCP's options and windows do not apply to QUIC.
            d.flows[i].notes = diagnosis::qlog_notes(trace);
            d.flows[i].qlog = diagnosis::qlog_account(trace, d.capture.start_s);
            // A log's packets have no numbers in a capture. The packet size is QUIC's own choice, so no
            // shrinking MSS is reported.
            d.flows[i].proofs = Vec::new();
            d.flows[i].measures.mss_before_bytes = None;
            diagnosis::revise_certainty(d, i, diagnosis::qlog_certainty(trace, d.flows[i].cause));
            // QUIC is encrypted: a capture elsewhere would not decide, only more of the same would.
            d.flows[i].needs = d.flows[i].needs.filter(|need| *need == CaptureNeed::Longer);
        }
    }
    for e in endpoints {
        let Some(id) = &e.trace.original_id else { continue };
        let from_client = match e.trace.vantage {
            // A receiver cannot know for certain which packets were lost before they reached it.
            _ if e.trace.is_of_receiver() => continue,
            QlogVantage::Client => true,
            QlogVantage::Server => false,
            QlogVantage::Other => continue,
        };
        let same = |q: &result::diagnosis::QuicFacts| q.destination_id == *id && q.from_client == from_client;
        for f in d.udp_flows.iter_mut().filter(|f| f.quic.as_ref().is_some_and(same)) {
            (f.loss, f.lost_packets) = (UdpLoss::Qlog, Some(e.tracks.lost_packets));
        }
    }
}

/// Diagnoses traces alone, without a capture.
pub fn alone(paths: &[PathBuf]) -> Result<Diagnosis, CommandError> {
    let endpoints = read(paths, None)?;
    let mut tracks = Vec::new();
    let numbers = append(&mut tracks, &endpoints);
    let times = || endpoints.iter().flat_map(|e| &e.trace.events).map(|e| e.time);
    let start = times().min().unwrap_or_default();
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let info = CaptureInfo {
        file: names.join(", "),
        format: "qlog".into(),
        start_s: start.as_secs_f64(),
        duration_s: times().max().unwrap_or_default().since(start).as_secs_f64(),
        packets: endpoints.iter().map(|e| e.trace.events.len() as u64).sum(),
        udp_packets: endpoints.iter().map(|e| e.tracks.sent_packets).sum(),
        connections: numbers.len() as u64,
        ..CaptureInfo::default()
    };
    let mut d = diagnosis::diagnose_tracks(tracks, info);
    mark(&mut d, &endpoints, &numbers);
    Ok(d)
}
