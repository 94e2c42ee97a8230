//! Captures a test connection's own packets and diagnoses it, as `longfat watch` does.

use super::model::{Direction, StreamTest, TestVerdict};
use crate::watch::{LiveFilter, LiveOptions, LiveTarget, NoPackets, Watch, Watched, why_without_packets};
use report::{Lang, diagnosis::headlines};
use result::diagnosis::SURE;
use result::{Diagnosis, FlowDiagnosis};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Most bytes of captured headers that are kept for the fit.
const MAX_KEPT: usize = 256 << 20;

/// A program that waits for room in the send buffer for this share of the time does not limit its connections.
const ALWAYS_WAITED: f64 = 0.8;

/// A capture that runs.
pub struct TestCapture {
    thread: JoinHandle<Option<Watched>>,
    ended: Arc<AtomicBool>,
    always_writes: Arc<AtomicBool>,
    kept: KeptBytes,
}

/// Why a test connection is not captured.
pub enum NoCapture {
    /// There are no packets.
    NoPackets(NoPackets),
    /// The watch cannot begin.
    Failed(String),
}

impl NoCapture {
    /// The reason as a part of a sentence.
    pub fn text(&self, lang: Lang) -> String {
        match self {
            NoCapture::NoPackets(why) => why_without_packets(why, lang),
            NoCapture::Failed(why) => why.clone(),
        }
    }
}

/// A finished capture.
pub struct Captured {
    pub diagnosis: Diagnosis,
    /// The headers as a pcap file; empty if there were too many.
    pub pcap: Vec<u8>,
}

#[derive(Clone, Default)]
struct KeptBytes(Arc<Mutex<Vec<u8>>>);

impl Write for KeptBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() + bytes.len() > MAX_KEPT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        kept.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TestCapture {
    /// Begins to capture the connections to a server.
    ///
    /// # Errors
    /// Fails with the reason why this user cannot capture.
    pub fn start(server: SocketAddr) -> Result<TestCapture, NoCapture> {
        let ended = Arc::new(AtomicBool::new(false));
        let kept = KeptBytes::default();
        let filter: LiveFilter =
            format!("host {} port {}", server.ip(), server.port()).parse().map_err(NoCapture::Failed)?;
        let options = LiveOptions {
            target: LiveTarget::Host,
            device: None,
            filter,
            time: None,
            ended: Box::new({
                let ended = ended.clone();
                move || ended.load(Relaxed)
            }),
            write: Some(Box::new(kept.clone())),
            report: None,
            top: None,
            keep: true,
        };
        let watch = Watch::open(options).map_err(|e| NoCapture::Failed(e.to_string()))?;
        if let Some(why) = watch.without_packets() {
            return Err(NoCapture::NoPackets(why));
        }
        let always_writes = watch.always_writes();
        let thread = std::thread::spawn(move || watch.diagnosed("measure", None).ok());
        Ok(TestCapture { thread, ended, always_writes, kept })
    }

    /// Ends the capture; `None` if it failed. `test`: the test that was captured, unless that failed.
    pub fn finish(self, test: Option<&StreamTest>) -> Option<Captured> {
        let waited = test.filter(|t| t.direction == Direction::Up).and_then(|t| t.sender_waited_share);
        self.always_writes.store(waited.is_some_and(|share| share >= ALWAYS_WAITED), Relaxed);
        self.ended.store(true, Relaxed);
        let watched = self.thread.join().ok().flatten()?;
        let mut pcap = std::mem::take(&mut *self.kept.0.lock().unwrap_or_else(PoisonError::into_inner));
        if watched.write_error.is_some() {
            pcap.clear();
        }
        Some(Captured { diagnosis: watched.diagnosis, pcap })
    }
}

/// Returns the flow with most bytes to or from the server.
pub fn test_flow(captured: &Captured, server: SocketAddr, direction: Direction) -> Option<&FlowDiagnosis> {
    let end = server.to_string();
    let flows = captured.diagnosis.flows.iter().filter(|f| match direction {
        Direction::Up => f.to == end,
        Direction::Down => f.from == end,
    });
    flows.max_by_key(|f| f.measures.bytes)
}

/// Returns the verdict of the test's flow, with its sentence in a language.
pub fn verdict(
    captured: &Captured,
    server: SocketAddr,
    direction: Direction,
    lang: Lang,
) -> Option<TestVerdict> {
    let flow = test_flow(captured, server, direction)?;
    let share = flow.causes.iter().find(|c| c.cause == flow.cause).map_or(0.0, |c| c.share);
    let mut alone = captured.diagnosis.clone();
    alone.flows.retain(|f| f.id == flow.id);
    alone.udp_flows.clear();
    let headline = headlines(&alone, lang).into_iter().next().unwrap_or_default();
    let limiter = flow.limiter.and_then(|i| captured.diagnosis.limiters.get(i));
    let limiter =
        limiter.filter(|l| l.confidence >= SURE && l.rate_range_mbps.is_none()).map(|l| l.rate_mbps);
    let (cause, confidence) = (flow.cause, flow.confidence);
    Some(TestVerdict { cause, confidence, share, limit_mbps: limiter, headline })
}
