//! `--qlog`: logs of QUIC endpoints.

use crate::CommandError;
use print::escape::value;
use result::Diagnosis;
use result::diagnosis::{CaptureInfo, UdpLoss};
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use track::Track;
use track::qlog::{LONGEST_FILE, QlogTrace, QlogTracks, QlogVantage, read_qlog, track_qlog};
use units::{Span, Time};

/// A trace's own clock is believed if it is within so many seconds of the capture's time: clocks of hosts differ.
const SAME_TIME: f64 = 3_600.0;

/// A trace, and what was made of it.
pub struct QlogEndpoint {
    trace: QlogTrace,
    tracks: QlogTracks,
}

/// Reads the files. `capture`: when it began and how long it is, seconds: traces that are of no known time begin with it.
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
        // A log that is cut may end in the middle of a character.
        let text = String::from_utf8_lossy(&bytes);
        let traces = read_qlog(&text).map_err(|e| CommandError::Usage(format!("{}: {e}", value(&name))))?;
        for mut trace in traces {
            set_time(&mut trace, capture);
            all.push(QlogEndpoint { tracks: track_qlog(&trace), trace });
        }
    }
    Ok(all)
}

/// Moves a trace to the capture's time where its own is none, or another.
fn set_time(trace: &mut QlogTrace, capture: Option<(f64, f64)>) {
    let (Some((start, lasts)), Some(first)) = (capture, trace.events.first().map(|e| e.time)) else { return };
    let at = first.as_secs_f64();
    if trace.dated && at > start - SAME_TIME && at < start + lasts + SAME_TIME {
        return;
    }
    trace.begin_at(Time::ZERO + Span::from_secs_f64(start));
}

/// Adds their tracks to a capture's; the numbers of their connections.
pub fn append(tracks: &mut Vec<Track>, endpoints: &[QlogEndpoint]) -> Vec<u32> {
    let next = tracks.iter().map(|t| t.connection + 1).max().unwrap_or(0);
    let mut own = Vec::new();
    for (number, t) in (next..).zip(endpoints.iter().flat_map(|e| &e.tracks.tracks)) {
        tracks.push(Track { connection: number, ..t.clone() });
        own.push(number);
    }
    own
}

/// Marks the flows that come from a qlog, and gives the UDP flows that are in one their losses.
pub fn mark(d: &mut Diagnosis, endpoints: &[QlogEndpoint], own: &[u32]) {
    // A number a track, in the order of [`append`].
    let traces = endpoints.iter().flat_map(|e| e.tracks.tracks.iter().map(move |_| &e.trace));
    for (number, trace) in own.iter().zip(traces) {
        for i in (0..d.flows.len()).filter(|i| d.flows[*i].connection == *number).collect::<Vec<_>>() {
            // What stands for TCP's options and windows is not QUIC's.
            d.flows[i].notes = diagnosis::qlog_notes(trace);
            d.flows[i].qlog = diagnosis::qlog_account(trace, d.capture.start_s);
            // Packets of a log have no numbers in a capture, and no MSS that could shrink: their sizes are QUIC's to choose.
            d.flows[i].proofs = Vec::new();
            d.flows[i].measures.mss_before_bytes = None;
            diagnosis::revise_certainty(d, i, diagnosis::qlog_certainty(trace, d.flows[i].cause));
        }
    }
    for e in endpoints {
        let Some(id) = &e.trace.original_id else { continue };
        let from_client = match e.trace.vantage {
            // A receiver does not know what was lost before it for sure.
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

/// A diagnosis of traces alone, without a capture.
pub fn alone(paths: &[PathBuf]) -> Result<Diagnosis, CommandError> {
    let endpoints = read(paths, None)?;
    let mut tracks = Vec::new();
    let own = append(&mut tracks, &endpoints);
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
        connections: own.len() as u64,
        ..CaptureInfo::default()
    };
    let mut d = diagnosis::diagnose_tracks(tracks, info);
    mark(&mut d, &endpoints, &own);
    Ok(d)
}
