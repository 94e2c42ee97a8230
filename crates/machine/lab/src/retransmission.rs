//! Retransmissions as the path sees them: data that a host sends for a second time.

use crate::plan::FlowPlan;
use crate::wire::{TcpData, tcp_data};
use result::Resent;
use std::collections::BTreeMap;
use units::Time;

/// One direction of a connection.
#[derive(Clone, Default)]
struct SegmentStream {
    /// Sequence number of the stream's first payload byte.
    first: u32,
    sent: u64,
    resent: Vec<Resent>,
    /// Number of streams that were opened earlier in the run.
    opened: usize,
}

impl SegmentStream {
    /// Records a segment of `len` payload bytes.
    fn record(&mut self, now: Time, seq: u32, len: u32) {
        // Sequence numbers wrap, so compare the distance to the newest byte.
        let ahead = seq.wrapping_sub(self.first.wrapping_add(self.sent as u32)) as i32;
        let Some(byte) = self.sent.checked_add_signed(ahead.into()) else { return };
        let end = byte + u64::from(len);
        if end <= self.sent {
            self.resent.push(Resent { time_s: now.as_secs_f64(), byte, len, sender: 0 });
        }
        self.sent = self.sent.max(end);
    }
}

/// The streams of all flows that are recognised by their ports.
#[derive(Default)]
pub struct RetransmissionTracker {
    /// By addresses and ports: the flow and its stream.
    streams: BTreeMap<[u8; 36], (usize, SegmentStream)>,
}

impl RetransmissionTracker {
    /// Records a packet that `host` sent.
    pub fn record(&mut self, now: Time, host: usize, ip: &[u8], plan: &FlowPlan) {
        let Some(TcpData { endpoints, ports, seq, len, syn }) = tcp_data(ip) else { return };
        if syn {
            let Some(leg) = plan.leg_of(ports) else { return };
            // Track the end that the flow's time series show. For a program the sender is not known, so track
            // both.
            let flow = &plan.flows[leg.flow];
            let is_tracked = flow.tool.is_some() || leg.shown(flow) == Some(host);
            let first = seq.wrapping_add(1);
            let is_new = self.streams.get(&endpoints).is_none_or(|(_, s)| s.first != first);
            if is_tracked && is_new {
                let opened = self.streams.len();
                let stream = SegmentStream { first, opened, ..SegmentStream::default() };
                self.streams.insert(endpoints, (leg.flow, stream));
            }
        } else if len > 0
            && let Some((_, stream)) = self.streams.get_mut(&endpoints)
        {
            stream.record(now, seq, len);
        }
    }

    /// Returns the retransmissions of each flow's connections. Connection 0 is the one with the most bytes.
    /// If `has_control` says that a flow's program first opens a control connection, as iperf3 does, that
    /// connection is left out.
    pub fn finish(self, has_control: impl Fn(usize) -> bool) -> BTreeMap<usize, Vec<Resent>> {
        let mut flows: BTreeMap<usize, Vec<SegmentStream>> = BTreeMap::new();
        for (flow, stream) in self.streams.into_values() {
            flows.entry(flow).or_default().push(stream);
        }
        let merged = |(flow, mut streams): (usize, Vec<SegmentStream>)| {
            if has_control(flow) {
                // Drop both directions of the first connection.
                streams.sort_by_key(|stream| stream.opened);
                streams.drain(..streams.len().min(2));
            }
            streams.sort_by_key(|stream| std::cmp::Reverse(stream.sent));
            let numbered = streams.into_iter().zip(0..);
            let with_sender = |(stream, sender): (SegmentStream, u32)| {
                stream.resent.into_iter().map(move |r| Resent { sender, ..r })
            };
            let mut all: Vec<Resent> = numbered.flat_map(with_sender).collect();
            all.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
            (flow, all)
        };
        flows.into_iter().map(merged).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmissions_are_found_across_sequence_wraps() {
        let first = u32::MAX - 1500;
        let mut s = SegmentStream { first, ..SegmentStream::default() };
        let at = |n: u64| first.wrapping_add(n as u32);
        for (t, byte) in [(1, 0), (2, 1000), (3, 2000), (4, 1000), (5, 3000), (6, 0), (7, 3000)] {
            s.record(Time::from_nanos(t * 1_000_000_000), at(byte), 1000);
        }
        let resent = |time_s, byte| Resent { time_s, byte, len: 1000, sender: 0 };
        assert_eq!(s.resent, [resent(4.0, 1000), resent(6.0, 0), resent(7.0, 3000)]);
        assert_eq!(s.sent, 4000);
        // Beyond 4 GiB, and before the first byte.
        s.sent = 5 << 32;
        s.record(Time::ZERO, at((5 << 32) - 500), 500);
        assert_eq!(s.resent.last().map(|r| r.byte), Some((5 << 32) - 500));
        s.sent = 100;
        s.record(Time::ZERO, at(0).wrapping_sub(1), 1);
        assert_eq!((s.resent.len(), s.sent), (4, 100));
    }
    /// Every connection of a flow is included; the one with the most bytes is number 0.
    #[test]
    fn connections_of_a_flow_are_merged_by_time() {
        let stream = |sent, times: &[f64]| {
            let resent =
                times.iter().map(|&time_s| Resent { time_s, byte: 0, len: 1000, sender: 0 }).collect();
            SegmentStream { first: 0, sent, resent, opened: 90 - sent as usize }
        };
        let key = |n: u8| [n; 36];
        let streams = [
            (key(1), (4, stream(10, &[2.0]))),
            (key(2), (4, stream(90, &[1.0, 3.0]))),
            (key(3), (5, stream(1, &[]))),
        ];
        let streams = || streams.each_ref().map(|(key, (flow, s))| (*key, (*flow, s.clone())));
        let found = RetransmissionTracker { streams: streams().into() }.finish(|_| false);
        let times: Vec<(f64, u32)> = found[&4].iter().map(|r| (r.time_s, r.sender)).collect();
        assert_eq!((times, found[&5].len()), (vec![(1.0, 0), (2.0, 1), (3.0, 0)], 0));
        // The first two streams are iperf3's control connection.
        let found = RetransmissionTracker { streams: streams().into() }.finish(|flow| flow == 4);
        assert!(found[&4].is_empty());
    }
}
