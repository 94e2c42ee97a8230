//! Any text as a qlog: gives tracks or an error, without a panic, and with no more packets lost than sent.
#![no_main]

use libfuzzer_sys::fuzz_target;
use track::qlog::{read_qlog, track_qlog};

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    match read_qlog(&text) {
        Ok(traces) => {
            for trace in &traces {
                let all = track_qlog(trace);
                assert!(all.lost_packets <= all.sent_packets);
                diagnosis::qlog_notes(trace);
                diagnosis::qlog_account(trace, 0.0);
                diagnosis::diagnose_tracks(all.tracks, result::diagnosis::CaptureInfo::default());
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
