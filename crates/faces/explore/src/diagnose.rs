//! Diagnoses a capture for the page, like `longfat diagnose --report` but with fewer packets kept.

use crate::request::Refusal;
use capture::CaptureReader;
use diagnosis::{capture_info, diagnose_tracks, diagnose_udp};
use report::diagnosis::{Rows, page_data};
use report::{Lang, PageData};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use track::{PacketRecorder, PacketRow, TrackerOptions};

/// The number of flows that are plotted, as in `longfat diagnose`: as many as have distinct colours.
const PLOTTED_FLOWS: usize = 8;
/// Packets kept for the curves, about 6 MB: a quarter of those of a page of the command line.
const MAX_ROWS: usize = report::diagnosis::MAX_ROWS / 4;

/// The recorder of packets. The reader owns the recorder, so the rows are shared.
struct SharedRows(Arc<Mutex<Rows>>);

impl PacketRecorder for SharedRows {
    fn row(&mut self, row: &PacketRow) {
        // The lock is free while packets are read.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).row(row);
    }
}

/// Diagnoses the capture `name` and returns an empty head, the data of the capture's page, and the columns of
/// each plotted flow.
pub(crate) fn diagnose(name: &str, file: Box<dyn Read + Send>) -> Result<Vec<Vec<u8>>, Refusal> {
    let reader = CaptureReader::from_reader(file, name).map_err(|e| Refusal::plain(e.to_string()))?;
    let rows = Arc::new(Mutex::new(Rows::new(PLOTTED_FLOWS, &[], MAX_ROWS)));
    let recorder = Box::new(SharedRows(rows.clone()));
    let all =
        track::track_capture_with_udp(reader, TrackerOptions::default(), Some(recorder), &mut |_, _| ());
    let info = capture_info(all.file, &all.totals);
    let (udp_flows, left) = diagnose_udp(&all.udp, &info);
    let mut d = diagnose_tracks(all.tracks, info);
    d.capture.omitted_udp_flows = 2 * all.forgotten_udp + left;
    d.udp_flows = udp_flows;
    let rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
    let PageData { json, series } = page_data(&d, &rows, Lang::En);
    Ok([b"{}".to_vec(), json.into_bytes()].into_iter().chain(series).collect())
}
