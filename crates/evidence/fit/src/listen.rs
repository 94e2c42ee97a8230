//! Signatures of trials: the packets of a simulated run go to the flow tracker, at the end of the path where
//! the capture was taken.

use crate::figures::LogFigures;
use crate::observed::MAX_PACKETS;
use crate::signature::{SignatureFrame, signature};
use ::path::Packet;
use experiment::{CaptureSink, CaptureTap, Captured};
use sim::Tap;
use sim::wire::Encoder;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use track::{LoggedPacket, Track, Tracker, TrackerOptions};
use transport::Segment;
use units::Time;

/// Collects the signatures of runs, by variant and seed.
pub struct Listener {
    frame: SignatureFrame,
    signatures: Mutex<BTreeMap<(usize, u64), LogFigures>>,
}

impl Listener {
    /// A collection without signatures.
    pub fn new(frame: SignatureFrame) -> Listener {
        Listener { frame, signatures: Mutex::default() }
    }

    /// The signatures of each variant, in the order of seeds.
    pub fn signatures(self, variants: usize) -> Vec<Vec<LogFigures>> {
        let mut all = vec![Vec::new(); variants];
        for ((variant, _), signature) in self.signatures.into_inner().unwrap_or_else(PoisonError::into_inner)
        {
            if let Some(list) = all.get_mut(variant) {
                list.push(signature);
            }
        }
        all
    }
}

impl CaptureSink for Listener {
    fn simulated(&self, run: &Captured<'_>) -> io::Result<Option<Box<dyn CaptureTap + '_>>> {
        Ok(Some(Box::new(RunTap {
            run: (run.job.variant, run.job.seed),
            sender: run.variant.scenario.address(0),
            encoder: Encoder::new(&run.variant.scenario),
            tracker: Tracker::new(TrackerOptions::default()),
            listener: self,
        })))
    }
}

/// Captures the packets of one run.
struct RunTap<'a> {
    /// Variant and seed.
    run: (usize, u64),
    /// Address of the data's sender, the first host.
    sender: IpAddr,
    encoder: Encoder,
    tracker: Tracker,
    listener: &'a Listener,
}

impl Tap for RunTap<'_> {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        _outgoing: bool,
        packet: &Packet<Segment>,
        from: usize,
        to: usize,
    ) {
        // A capture before the limiter is taken at the sender, the first host; one behind it at the other
        // end.
        let here =
            if self.listener.frame.before { host == 0 } else { host > 0 && (host == from || host == to) };
        if here {
            let frame = self.encoder.frame(now, packet, from, to);
            if let Some(packet) = frame.and_then(|f| f.seen()) {
                self.tracker.packet(&packet);
            }
        }
    }
}

impl CaptureTap for RunTap<'_> {
    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut tracks: Vec<Track> = Vec::new();
        let own = self.sender;
        self.tracker.finish(&mut tracks);
        let sends = |t: &&Track| t.sender.addr.ip() == own && t.counts.data_packets > 0;
        let flows: Vec<&[LoggedPacket]> =
            tracks.iter().filter(sends).map(|t| &t.log[..t.log.len().min(MAX_PACKETS)]).collect();
        let signature = signature(&flows, &self.listener.frame);
        self.listener.signatures.lock().unwrap_or_else(PoisonError::into_inner).insert(self.run, signature);
        Ok(())
    }
}
