//! When, within the call that gave it an input, the kernel looked at its clock.
//!
//! A call is timed from outside: it takes some 5 us, 50 after a pause, more where the machine does something
//! else meanwhile. But the kernel tells how long the round trip was that it measured there: its pacing rate is
//! the window over the smoothed round trip (`tcp_update_pacing_rate`), which so is known to an eighth of a
//! microsecond, and with it each sample. So an ACK arrives in the model that much later than the packet that it
//! acknowledges left, if that is within the call.

use super::log::{Ack, Burst, Event, Input};
use super::look::Look;
use std::collections::BTreeMap;
use units::{Span, Time};

/// How much before a call the moment may lie: packets leave some microseconds after the ACK that let them is
/// looked at, and in the model at once.
const BEFORE: Span = Span::from_micros(6);

/// From the begin of a call to the moment the kernel takes for an ACK's arrival, as a rule.
const ARRIVES: Span = Span::from_micros(2);

#[derive(Clone, Copy)]
struct Sent {
    end: u64,
    at: Time,
    /// Sent again, or selectively acknowledged.
    again: bool,
    sacked: bool,
}

/// What was sent when, in the model's time.
#[derive(Default)]
pub struct Moments {
    sent: BTreeMap<u64, Sent>,
    acked: u64,
}

impl Moments {
    /// A burst left.
    pub fn send(&mut self, at: Time, burst: &Burst) {
        let (mut seq, end) = (burst.seq.max(0) as u64, burst.seq.max(0) as u64 + burst.len as u64);
        while seq < end {
            let to = end.min(seq + burst.mss.max(1) as u64);
            let again = self.sent.contains_key(&seq);
            self.sent.insert(seq, Sent { end: to, at, again, sacked: false });
            seq = to;
        }
    }

    /// When the packet left from which the kernel takes the round trip that this ACK ends, if it takes one
    /// (`tcp_clean_rtx_queue`, `tcp_sacktag_one`).
    pub fn acknowledge(&mut self, ack: &Ack) -> Option<Time> {
        let (mut first, mut again) = (None, false);
        while let Some(entry) = self.sent.first_entry().filter(|e| e.get().end <= ack.ack) {
            let p = entry.remove();
            again |= p.again;
            if !p.again && !p.sacked {
                first = first.or(Some(p.at));
            }
        }
        self.acked = self.acked.max(ack.ack);
        let mut sacked = None;
        let mut blocks = ack.sacks.clone();
        blocks.sort_unstable();
        for (from, to) in blocks {
            for (_, p) in self.sent.range_mut(from..).take_while(|(_, p)| p.end <= to) {
                if !p.sacked && !p.again {
                    sacked = sacked.or(Some(p.at));
                }
                p.sacked = true;
            }
        }
        first.filter(|_| !again).or(sacked)
    }

    /// When the packets of writes and timers left, by the number of the event, as far as the round trips that the
    /// kernel measured of them tell. A timer's were seen some time after that, a write's left in the midst of the call.
    pub fn survey(events: &[Event]) -> Vec<Option<Time>> {
        let mut left = vec![None; events.len()];
        let mut sent = Moments::default();
        let mut before: Option<&Look> = None;
        let mut eighths: Option<u64> = None;
        for (i, event) in events.iter().enumerate() {
            let told = before.and_then(|b| event.look.eighths_of_rtt(b));
            if let Input::Segment(ack) = &event.input
                && let Some(from) = sent.acknowledge(ack)
                && let Some((old, new)) = eighths.zip(told)
            {
                let j = from.as_nanos() as usize;
                let sample = Span::from_micros((new + old / 8).saturating_sub(old));
                let (at, took) = (events[j].at.as_nanos(), events[j].took);
                let (from, to) = match events[j].input {
                    Input::Timer => (at.saturating_sub(took), at),
                    Input::Write(_) => (at, at + took),
                    _ => (1, 0),
                };
                let arrived = event.at.as_nanos() + ARRIVES.as_nanos();
                let moment = arrived.saturating_sub(sample.as_nanos());
                if left[j].is_none() && from <= moment && moment <= to {
                    left[j] = Some(Time::from_nanos(moment));
                }
            }
            event.out.iter().for_each(|b| sent.send(Time::from_nanos(i as u64), b));
            eighths = told;
            before = Some(&event.look);
        }
        left
    }

    /// When `event` reached the kernel's clock: `usual`, if its round trip does not tell better. `rtt`: the model's
    /// smoothed one before.
    pub fn tell(sent: Time, rtt: Span, event: &Event, before: &Look) -> Option<Time> {
        let after = event.look.eighths_of_rtt(before)? as i64 * 1000;
        let rtt = rtt.as_nanos() as i64;
        let sample = after - 7 * rtt;
        let told = sent.as_nanos() as i64 + sample;
        let from = event.at.as_nanos() as i64 - BEFORE.as_nanos() as i64;
        let most = event.at.as_nanos() as i64 + event.took as i64;
        (from <= told && told <= most).then(|| Time::from_nanos(told as u64))
    }
}
