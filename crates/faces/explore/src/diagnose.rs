//! A capture diagnosed, as the page shows it: what `longfat diagnose --report` does, with fewer packets kept.

use crate::request::Refusal;
use capture::CaptureReader;
use diagnosis::{capture_info, diagnose_tracks, diagnose_udp};
use report::diagnosis::{Rows, page_data};
use report::{Lang, PageData};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use track::{PacketRecorder, PacketRow, TrackerOptions};

/// Flows whose packets are shown: their curves can still be told apart (as `longfat diagnose` has it).
const SHOWN: usize = 8;
/// Packets kept for the curves: a quarter of what a page of the command line keeps, some 6 MB.
const MOST_ROWS: usize = report::diagnosis::MOST_ROWS / 4;

/// The reader owns who records, so what is recorded is shared.
struct SharedRows(Arc<Mutex<Rows>>);

impl PacketRecorder for SharedRows {
    fn row(&mut self, row: &PacketRow) {
        // Nobody else holds it while packets come.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).row(row);
    }
}

/// Reads the capture `name` and gives an empty head, the data as the page of a capture has them, and the columns of each flow
/// that is shown.
pub(crate) fn diagnose(name: &str, file: Box<dyn Read + Send>) -> Result<Vec<Vec<u8>>, Refusal> {
    let reader = CaptureReader::from_reader(file, name).map_err(|e| Refusal::plain(e.to_string()))?;
    let rows = Arc::new(Mutex::new(Rows::new(SHOWN, &[], MOST_ROWS)));
    let recorder = Box::new(SharedRows(rows.clone()));
    let all = track::track_datagrams_too(reader, TrackerOptions::default(), Some(recorder), &mut |_, _| ());
    let info = capture_info(all.file, &all.totals);
    let (udp_flows, left) = diagnose_udp(&all.udp, &info);
    let mut d = diagnose_tracks(all.tracks, info);
    d.capture.forgotten_udp_flows = 2 * all.forgotten_udp + left;
    d.udp_flows = udp_flows;
    let rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
    let PageData { json, series } = page_data(&d, &rows, Lang::En);
    Ok([b"{}".to_vec(), json.into_bytes()].into_iter().chain(series).collect())
}
