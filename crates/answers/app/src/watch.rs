//! Diagnoses live connections as captures are, with the kernel's counters of their sockets, or exports
//! metrics of them.

mod exporter;
mod metrics;

pub use exporter::Exporter;
pub use metrics::{METRICS, WatchMetric, WatchTotals};

use crate::CommandError;
use capture::CaptureReader;
use diagnosis::socket::{SocketFacts, diagnose_sockets_alone};
use live::{LiveAccount, LiveCapture, PacketSource, SocketLife};
pub use live::{LiveFilter, LiveOptions, LiveTarget, NoPackets, OnReport, Restorer, terminate};
use report::{Lang, say};
use result::Diagnosis;
use result::diagnosis::CaptureInfo;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use track::{Addr, Endpoint, PacketRecorder, TrackerOptions};
use units::Span;

/// Limits of the tracker's memory for a run of any length, and of the memory of the final diagnosis.
const LIMITS: TrackerOptions =
    TrackerOptions { idle: Span::from_secs(120), budget: 16 << 20, max_open: 1 << 13, max_tracks: 1_000 };

/// A running watch of packets and sockets.
pub struct Watch {
    capture: LiveCapture,
    account: Arc<Mutex<LiveAccount>>,
    always_writes: Arc<AtomicBool>,
}

/// The result of a watch.
pub struct Watched {
    /// The diagnosis of the connections.
    pub diagnosis: Diagnosis,
    /// Why no packets could be captured; `None` where they were.
    pub without_packets: Option<NoPackets>,
    /// Number of sockets that were watched.
    pub sockets: usize,
    /// Why the capture file is incomplete, if one was to be written.
    pub write_error: Option<String>,
}

impl Watch {
    /// Starts watching packets and sockets.
    ///
    /// # Errors
    /// Fails when the device or process does not exist, or its namespace cannot be entered.
    pub fn open(options: LiveOptions) -> Result<Watch, CommandError> {
        let (capture, account) =
            LiveCapture::open(options).map_err(|e| CommandError::Usage(e.to_string()))?;
        Ok(Watch { capture, account, always_writes: Arc::default() })
    }

    /// Returns a flag to be set if the watched programs had data all along and waited for their sockets to
    /// take it. The diagnosis reads it when the watch has ended.
    pub(crate) fn always_writes(&self) -> Arc<AtomicBool> {
        self.always_writes.clone()
    }

    /// Returns why no packets are captured; `None` where they are.
    pub fn without_packets(&self) -> Option<NoPackets> {
        match &self.account.lock().unwrap_or_else(PoisonError::into_inner).packets {
            PacketSource::Ring => None,
            PacketSource::Nowhere(why) => Some(why.clone()),
        }
    }

    /// Watches to the end and diagnoses the connections; each packet goes to `recorder`. `name` names what is
    /// watched. Packets are parsed on a thread that has dropped its privileges and can open or start nothing.
    ///
    /// # Errors
    /// Fails when the thread cannot drop its privileges. [`Watched`] says what could not be captured.
    pub fn diagnosed(
        self,
        name: &str,
        recorder: Option<Box<dyn PacketRecorder>>,
    ) -> Result<Watched, CommandError> {
        let work = || {
            live::confine_parser().map_err(|e| CommandError::Io("dropping privileges".into(), e))?;
            self.read(name, recorder)
        };
        let done = std::thread::scope(|scope| scope.spawn(work).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn read(self, name: &str, recorder: Option<Box<dyn PacketRecorder>>) -> Result<Watched, CommandError> {
        let without_packets = self.without_packets();
        let reader = CaptureReader::from_reader(Box::new(self.capture), name)
            .map_err(|e| CommandError::Usage(e.to_string()))?;
        let mut all = track::track_capture_with_udp(reader, LIMITS, recorder, &mut |_, _| ());
        let account = std::mem::take(&mut *self.account.lock().unwrap_or_else(PoisonError::into_inner));
        all.file.dropped = Some(account.drops);
        all.file.format = "live".into();
        let always_writes = self.always_writes.load(Relaxed);
        let sockets = account.sockets.iter().map(|life| facts(life, always_writes));
        let diagnosis = match &without_packets {
            None => {
                let info = diagnosis::capture_info(all.file, &all.totals);
                let (udp_flows, left) = diagnosis::diagnose_udp(&all.udp, &info);
                let mut d = diagnosis::diagnose_with_sockets(all.tracks, info, &sockets.collect());
                (d.udp_flows, d.capture.omitted_udp_flows) = (udp_flows, 2 * all.forgotten_udp + left);
                d
            }
            Some(_) => {
                let info = CaptureInfo {
                    file: name.into(),
                    format: "live".into(),
                    start_s: account.begin.as_secs_f64(),
                    duration_s: account.end.since(account.begin).as_secs_f64(),
                    connections: account.sockets.len() as u64,
                    omitted_flows: account.forgotten,
                    ..CaptureInfo::default()
                };
                diagnose_sockets_alone(&sockets.collect::<Vec<_>>(), info)
            }
        };
        let (sockets, write_error) = (account.sockets.len(), account.write_error);
        Ok(Watched { diagnosis, without_packets, sockets, write_error })
    }
}

/// Says why there are no packets, as a part of a sentence.
pub fn why_without_packets(why: &NoPackets, lang: Lang) -> String {
    match why {
        NoPackets::Unwanted => say(lang, "watch.no-packets.unwanted", &[]),
        NoPackets::NotPermitted => say(lang, "watch.no-packets.not-permitted", &[]),
        NoPackets::NoRing(error) => say(lang, "watch.no-packets.no-ring", &[("error", error)]),
    }
}

/// Converts a socket for the diagnosis.
fn facts(life: &SocketLife, always_writes: bool) -> SocketFacts {
    let i = &life.info;
    SocketFacts {
        local: endpoint(life.local),
        remote: endpoint(life.remote),
        samples: life.samples.clone(),
        control: Some(life.control.clone()).filter(|name| !name.is_empty()),
        mss: Some(i.snd_mss).filter(|mss| *mss > 0),
        min_rtt_us: i.reported_min_rtt_us(),
        segments: i.data_segments_out(),
        retransmitted: Some(i.total_retrans.into()),
        received: i.bytes_received,
        cwnd: Some(i.cwnd.into()).filter(|cwnd| *cwnd > 0),
        pacing_rate: i.pacing_rate,
        delivery_rate: life.fastest,
        window: i.peer_window().map(u64::from),
        send_buffer: life.memory.map(|m| m.send_limit.into()),
        always_writes,
    }
}

fn endpoint(end: SocketAddr) -> Endpoint {
    Endpoint { addr: Addr::of(end.ip()), port: end.port() }
}
