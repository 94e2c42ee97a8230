//! Tracks a whole capture on the caller's thread, a few packets at a time, so that they are still in its
//! processor's cache. A compressed capture is decompressed and decoded on a separate thread where threads
//! exist (not on wasm32).

use crate::udp::{UdpTrack, UdpTracker};
use crate::{PacketRecorder, Totals, Track, Tracker, TrackerOptions};
use capture::{Batch, CaptureReader, FileInfo};

/// Reads all of `reader` and tracks its TCP connections. Returns the tracks in order of connections, the
/// opener's direction first; information about the file; and the totals. `progress` receives the bytes read
/// and the file's length if it is known.
pub fn track_capture(
    reader: CaptureReader,
    options: TrackerOptions,
    recorder: Option<Box<dyn PacketRecorder>>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> (Vec<Track>, FileInfo, Totals) {
    let all = track_capture_with_udp(reader, options, recorder, progress);
    (all.tracks, all.file, all.totals)
}

/// The tracks of a capture.
pub struct CaptureTracks {
    /// TCP tracks in order of connections, the opener's direction first.
    pub tracks: Vec<Track>,
    /// UDP flows in order of their first datagrams.
    pub udp: Vec<UdpTrack>,
    /// UDP flows that were dropped because there were too many.
    pub forgotten_udp: u64,
    pub file: FileInfo,
    /// Totals over all TCP connections.
    pub totals: Totals,
}

/// Reads all of `reader` and tracks its TCP connections and UDP flows. `progress` is as for
/// [`track_capture`].
pub fn track_capture_with_udp(
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
    let mut take = |batch: &Batch, (at, length): (u64, Option<u64>)| {
        tracker.batch(batch);
        batch.datagrams.iter().for_each(|d| datagrams.datagram(d));
        progress(at, length);
    };
    let reader = decode(reader, &mut take);
    let mut tracks = Vec::new();
    let totals = tracker.finish(&mut tracks);
    // Tracks are large, so each is moved once.
    tracks.sort_by_cached_key(|t| (t.connection, !t.opened));
    let (udp, forgotten_udp) = datagrams.finish();
    CaptureTracks { tracks, udp, forgotten_udp, file: reader.info(), totals }
}

/// Receives each batch, with the bytes read so far and the file's length.
type BatchSink<'a> = dyn FnMut(&Batch, (u64, Option<u64>)) + 'a;

/// Reads the capture to its end.
fn decode(mut reader: CaptureReader, take: &mut BatchSink<'_>) -> CaptureReader {
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

/// Reads the capture to its end on a separate thread, a few batches ahead of `take`: decompression takes
/// longer than tracking.
#[cfg(not(target_arch = "wasm32"))]
fn decode_ahead(mut reader: CaptureReader, take: &mut BatchSink<'_>) -> CaptureReader {
    use std::sync::mpsc::sync_channel;
    use std::thread;

    /// Batches that the reader may be ahead.
    const BATCHES_AHEAD: usize = 8;
    /// Calls of [`CaptureReader::fill`] for each batch: handing one over costs as much as tracking a hundred
    /// packets.
    const FILLS_PER_BATCH: usize = 16;

    let (full, filled) = sync_channel::<(Batch, (u64, Option<u64>))>(BATCHES_AHEAD);
    // Batches are sent back to be filled again, so nothing is allocated once they have grown.
    let (empty, emptied) = sync_channel::<Batch>(BATCHES_AHEAD + 2);
    let reader = thread::scope(|scope| {
        let decoding = scope.spawn(move || {
            loop {
                let mut batch = emptied.try_recv().unwrap_or_default();
                batch.clear();
                let more = reader.fill(&mut batch);
                // At the end of the file these calls append nothing.
                (1..FILLS_PER_BATCH).for_each(|_| _ = reader.fill(&mut batch));
                if !more || full.send((batch, reader.progress())).is_err() {
                    return reader;
                }
            }
        });
        for (batch, progress) in filled {
            take(&batch, progress);
            // The channel is full only if the reader has enough empty batches.
            let _ = empty.try_send(batch);
        }
        decoding.join()
    });
    reader.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
