//! Determines when, within the call that delivered an input, the kernel read its clock.
//!
//! A call is timed from outside: it takes some 5 µs, 50 after a pause, and more if the machine does other
//! work meanwhile. But the kernel reveals the round trip that it measured: its pacing rate is the window
//! divided by the smoothed round trip (`tcp_update_pacing_rate`). So the smoothed round trip, and with it
//! each sample, is known to an eighth of a microsecond. So in the model an ACK arrives that much later than
//! the packet that it acknowledges was sent, if that is within the call.

use super::log::{Ack, Burst, Event, Input};
use super::snapshot::Snapshot;
use std::collections::BTreeMap;
use units::{Span, Time};

/// How much earlier than the call the moment may be: packets are sent some microseconds after the ACK that
/// permits them is processed, in the model at once.
const MAX_EARLY: Span = Span::from_micros(6);

/// Usual time from the start of a call to the kernel's arrival time of an ACK.
const USUAL_ARRIVAL: Span = Span::from_micros(2);

#[derive(Clone, Copy)]
struct Sent {
    end: u64,
    at: Time,
    /// Retransmitted.
    retransmitted: bool,
    sacked: bool,
}

/// When packets were sent, in the model's time.
#[derive(Default)]
pub struct SendTimes {
    sent: BTreeMap<u64, Sent>,
    acked: u64,
}

impl SendTimes {
    /// Notes a burst that was sent.
    pub fn send(&mut self, at: Time, burst: &Burst) {
        let (mut seq, end) = (burst.seq.max(0) as u64, burst.seq.max(0) as u64 + burst.len as u64);
        while seq < end {
            let to = end.min(seq + burst.mss.max(1) as u64);
            let retransmitted = self.sent.contains_key(&seq);
            self.sent.insert(seq, Sent { end: to, at, retransmitted, sacked: false });
            seq = to;
        }
    }

    /// Processes an ACK. Returns when the packet was sent from which the kernel measures a round trip, if it
    /// measures one (`tcp_clean_rtx_queue`, `tcp_sacktag_one`).
    pub fn acknowledge(&mut self, ack: &Ack) -> Option<Time> {
        let (mut first, mut retransmitted) = (None, false);
        while let Some(entry) = self.sent.first_entry().filter(|e| e.get().end <= ack.ack) {
            let p = entry.remove();
            retransmitted |= p.retransmitted;
            if !p.retransmitted && !p.sacked {
                first = first.or(Some(p.at));
            }
        }
        self.acked = self.acked.max(ack.ack);
        let mut sacked = None;
        let mut blocks = ack.sacks.clone();
        blocks.sort_unstable();
        for (from, to) in blocks {
            for (_, p) in self.sent.range_mut(from..).take_while(|(_, p)| p.end <= to) {
                if !p.sacked && !p.retransmitted {
                    sacked = sacked.or(Some(p.at));
                }
                p.sacked = true;
            }
        }
        first.filter(|_| !retransmitted).or(sacked)
    }

    /// Returns when the packets of writes and timers were sent, by event number, as far as the round trips
    /// measured by the kernel show it. A timer's packets were seen some time later; a write's were sent
    /// during the call.
    pub fn departures(events: &[Event]) -> Vec<Option<Time>> {
        let mut left = vec![None; events.len()];
        let mut sent = SendTimes::default();
        let mut before: Option<&Snapshot> = None;
        let mut eighths: Option<u64> = None;
        for (i, event) in events.iter().enumerate() {
            let known = before.and_then(|b| event.snapshot.eighths_of_rtt(b));
            if let Input::Segment(ack) = &event.input
                && let Some(from) = sent.acknowledge(ack)
                && let Some((old, new)) = eighths.zip(known)
            {
                let j = from.as_nanos() as usize;
                let sample = Span::from_micros((new + old / 8).saturating_sub(old));
                let (at, took) = (events[j].at.as_nanos(), events[j].took);
                let (from, to) = match events[j].input {
                    Input::Timer => (at.saturating_sub(took), at),
                    Input::Write(_) => (at, at + took),
                    _ => (1, 0),
                };
                let arrived = event.at.as_nanos() + USUAL_ARRIVAL.as_nanos();
                let moment = arrived.saturating_sub(sample.as_nanos());
                if left[j].is_none() && from <= moment && moment <= to {
                    left[j] = Some(Time::from_nanos(moment));
                }
            }
            event.out.iter().for_each(|b| sent.send(Time::from_nanos(i as u64), b));
            eighths = known;
            before = Some(&event.snapshot);
        }
        left
    }

    /// Returns when `event` reached the kernel's clock, if its round trip shows it. `rtt`: the model's
    /// smoothed one before.
    pub fn clock_of(sent: Time, rtt: Span, event: &Event, before: &Snapshot) -> Option<Time> {
        let after = event.snapshot.eighths_of_rtt(before)? as i64 * 1000;
        let rtt = rtt.as_nanos() as i64;
        let sample = after - 7 * rtt;
        let known = sent.as_nanos() as i64 + sample;
        let from = event.at.as_nanos() as i64 - MAX_EARLY.as_nanos() as i64;
        let most = event.at.as_nanos() as i64 + event.took as i64;
        (from <= known && known <= most).then(|| Time::from_nanos(known as u64))
    }
}
