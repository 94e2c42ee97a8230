//! A whole capture: decoded and tracked on the caller's thread, a few packets at a time, which then are still in its processor's
//! cache. A packed one is unpacked and decoded on a thread of its own, where there are threads (not on wasm32).

use crate::udp::{UdpTrack, UdpTracker};
use crate::{PacketRecorder, Totals, Track, Tracker, TrackerOptions};
use capture::{Batch, CaptureReader, FileInfo};

/// Reads all of `reader` and follows its connections. Returns the tracks in the order of connections, the opener's
/// first, what was read of the file, and the totals. `progress` gets the bytes read, and the file's length if known.
pub fn track_capture(
    reader: CaptureReader,
    options: TrackerOptions,
    recorder: Option<Box<dyn PacketRecorder>>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> (Vec<Track>, FileInfo, Totals) {
    let all = track_datagrams_too(reader, options, recorder, progress);
    (all.tracks, all.file, all.totals)
}

/// What a capture holds.
pub struct CaptureTracks {
    /// Of TCP, in the order of connections, the opener's first.
    pub tracks: Vec<Track>,
    /// Of UDP, in the order of first datagrams.
    pub udp: Vec<UdpTrack>,
    /// Flows of UDP that were forgotten because there were too many.
    pub forgotten_udp: u64,
    /// What was read of the file.
    pub file: FileInfo,
    /// Of TCP.
    pub totals: Totals,
}

/// The same, and the flows of UDP.
pub fn track_datagrams_too(
    reader: CaptureReader,
    options: TrackerOptions,
    recorder: Option<Box<dyn PacketRecorder>>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> CaptureTracks {
    let mut datagrams = UdpTracker::default();
    let mut tracker = Tracker::new(options);
    if let Some(recorder) = recorder {
        tracker.set_recorder(recorder);
    }
    let mut take = |batch: &Batch, (at, of): (u64, Option<u64>)| {
        tracker.batch(batch);
        batch.datagrams.iter().for_each(|d| datagrams.datagram(d));
        progress(at, of);
    };
    let reader = decode(reader, &mut take);
    let mut tracks = Vec::new();
    let totals = tracker.finish(&mut tracks);
    tracks.sort_by_key(|t| (t.connection, !t.opened));
    let (udp, forgotten_udp) = datagrams.finish();
    CaptureTracks { tracks, udp, forgotten_udp, file: reader.info(), totals }
}

/// Is given batch after batch, with the bytes read so far and the file's length.
type Taker<'a> = dyn FnMut(&Batch, (u64, Option<u64>)) + 'a;

/// Reads to the end.
fn decode(mut reader: CaptureReader, take: &mut Taker<'_>) -> CaptureReader {
    #[cfg(not(target_arch = "wasm32"))]
    if reader.is_packed() {
        return decode_ahead(reader, take);
    }
    let mut batch = Batch::default();
    while reader.fill(&mut batch) {
        take(&batch, reader.progress());
        batch.clear();
    }
    reader
}

/// Reads to the end on a thread of its own, a few batches ahead of `take`: unpacking takes longer than following connections does.
#[cfg(not(target_arch = "wasm32"))]
fn decode_ahead(mut reader: CaptureReader, take: &mut Taker<'_>) -> CaptureReader {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// Batches on their way: the reader may be so far ahead.
    const AHEAD: usize = 8;
    /// [`CaptureReader::fill`] so often for each batch: handing one over costs as much as a hundred packets do.
    const FILLS: usize = 16;

    let (full, filled) = sync_channel::<(Batch, (u64, Option<u64>))>(AHEAD);
    // Batches go back to be filled again: no allocation once they have their size.
    let (empty, emptied) = sync_channel::<Batch>(AHEAD + 2);
    let reader = thread::scope(|scope| {
        let decoding = scope.spawn(move || {
            loop {
                let mut batch = emptied.try_recv().unwrap_or_default();
                batch.clear();
                let more = reader.fill(&mut batch);
                // At the end these append nothing.
                (1..FILLS).for_each(|_| _ = reader.fill(&mut batch));
                if !more || full.send((batch, reader.progress())).is_err() {
                    return reader;
                }
            }
        });
        for (batch, progress) in filled {
            take(&batch, progress);
            // Full only if the reader has enough of them.
            let _ = empty.try_send(batch);
        }
        decoding.join()
    });
    reader.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
