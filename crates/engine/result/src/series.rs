//! Time series of flows and elements: their columns, declared once, and the timeline of a flow's states.
//!
//! States come from the samples, not from events: simulator and kernel alike know what a sample shows, and what comes
//! and goes within one (10 ms) is in neither.

use crate::StateTime;
use crate::column::columns;

columns! {
    /// One flow's time series, a column each, all of `time_s`'s length. With relays of the flow's first connection, but
    /// for `delivered_bytes`. Where a program opened several at once, of the one that carries most among those that are
    /// open, so that totals may fall.
    pub struct FlowSeries {
        /// The flow's name.
        pub name: String,
        /// The state in each row: index into `states`.
        pub state: Vec<u8>,
        /// Names of states, in order of first appearance: the congestion control's own state where it
        /// has one, else `slow start`, `avoidance`, `disorder`, `recovery`, `cwr`, `loss`.
        pub states: Vec<String>,
        /// What was sent again, in the order of time; not a column: as many as there were, of all senders of the flow
        /// ([`Resent::sender`]). None where the path cannot tell a program's packets by their port, as `lost_packets` is unknown
        /// then.
        pub resent: Vec<Resent>,
        /// What it asked for and how long that took, in the order in which it came; not a column. Of more than a million
        /// a random sample.
        pub responses: Vec<Response>,
    }

    /// A flow at one moment: a row of [`FlowSeries`].
    pub struct FlowPoint {
        /// The state's name; empty for datagrams and before the flow begins.
        pub state: &'static str,
    }

    columns {
        /// since the run began
        time_s: f64, Seconds Gauge Both;
        /// payload delivered
        delivered_bytes: u64, Bytes Total Both;
        /// congestion window
        cwnd: u64, Packets Gauge Both;
        /// slow-start threshold; null: none
        ssthresh: Option<u64>, Packets Gauge Both;
        /// in flight
        inflight: u64, Packets Gauge Both;
        /// smoothed RTT; null before the first sample
        srtt_ms: Option<f64>, Millis Gauge Both;
        /// the last RTT sample; null before the first
        rtt_ms: Option<f64>, Millis Gauge Both;
        /// pacing rate; null when not paced
        pacing_mbps: Option<f64>, Mbps Gauge Both;
        /// retransmissions
        retransmitted: u64, Packets Total Both;
        /// payload sent, each byte counted once (SND.NXT)
        sent_bytes: u64, Bytes Total Both;
        /// payload acknowledged (SND.UNA)
        acked_bytes: u64, Bytes Total Both;
        /// bottleneck bandwidth estimate; null where the congestion control has none
        btl_bw_mbps: Option<f64>, Mbps Gauge Both;
        /// round-trip propagation estimate; null as above
        rt_prop_ms: Option<f64>, Millis Gauge Both;
        /// the congestion control's pacing gain; null as above
        pacing_gain: Option<f64>, Factor Gauge Both;
        /// its cwnd gain; null as above
        cwnd_gain: Option<f64>, Factor Gauge Both;
        /// round trips it counted; null as above
        round: Option<u64>, Rounds Total Sim;
        /// rate at which the path delivered of late, as the sender measured it (`tcpi_delivery_rate`); null before the
        /// first sample
        delivery_rate_mbps: Option<f64>, Mbps Gauge Both;
        /// delay of the datagram that arrived last: one way, of probes there and back; null for TCP and before the first
        delay_ms: Option<f64>, Millis Gauge Both;
    }
}

/// A retransmission as the path saw it.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Resent {
    /// Seconds since the run began.
    pub time_s: f64,
    /// Its first payload byte, counted as [`FlowSeries::sent_bytes`] counts.
    pub byte: u64,
    /// Payload bytes.
    pub len: u32,
    /// Which of the flow's senders sent it: 0 is the one that the time series show; 1, 2 … are the others, of further
    /// connections, of the legs between relays, of the direction that carries less.
    pub sender: u32,
}

/// An exchange of request and answer, an object of a page, or a whole page.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Response {
    /// When it was asked for, seconds since the run began: when the asking application would have it. So the first on a
    /// connection includes its handshake.
    pub start_s: f64,
    /// Seconds to the last byte.
    pub seconds: f64,
    /// What it was: a name of [`units::Awaited`].
    pub what: String,
}

columns! {
    /// One element's time series, a column each.
    pub struct ElementSeries {
        /// The element's name.
        pub name: String,
    }

    /// An element at one moment: a row of [`ElementSeries`].
    pub struct ElementPoint {}

    columns {
        /// since the run began
        time_s: f64, Seconds Gauge Both;
        /// queued
        queue_packets: u64, Packets Gauge Both;
        /// queued
        queue_bytes: u64, Bytes Gauge Both;
        /// tokens in the bucket; null without a bucket
        tokens_bytes: Option<f64>, Bytes Gauge Both;
        /// dropped
        dropped: u64, Packets Total Both;
        /// marked (ECN CE or DSCP)
        marked: u64, Packets Total Both;
    }
}

impl ElementSeries {
    /// Adds a row.
    pub fn push(&mut self, point: ElementPoint) {
        self.push_cells(&point);
    }
}

/// A time during which a flow kept its state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch<'a> {
    /// As in [`FlowSeries::states`].
    pub state: &'a str,
    /// Seconds since the run began: the first sample in the state.
    pub start_s: f64,
    /// The first sample in the next state, or the last of the series.
    pub end_s: f64,
}

impl FlowSeries {
    /// An empty series of the flow `name`.
    pub fn new(name: &str) -> FlowSeries {
        FlowSeries { name: name.into(), ..FlowSeries::default() }
    }

    /// Adds a row.
    pub fn push(&mut self, point: FlowPoint) {
        self.push_cells(&point);
        let at = self.states.iter().position(|s| s == point.state).unwrap_or_else(|| {
            self.states.push(point.state.into());
            self.states.len() - 1
        });
        self.state.push(at as u8);
    }

    /// The timeline: every stretch of samples in the same state; none for datagrams and before the flow begins. What came and went
    /// between two samples is not in it.
    pub fn timeline(&self) -> Vec<Stretch<'_>> {
        let mut list: Vec<Stretch> = Vec::new();
        for (&t, &state) in self.time_s.iter().zip(&self.state) {
            let Some(state) = self.states.get(state as usize).filter(|s| !s.is_empty()) else { continue };
            if let Some(last) = list.last_mut() {
                last.end_s = t;
            }
            if list.last().is_none_or(|last| last.state != state) {
                list.push(Stretch { state, start_s: t, end_s: t });
            }
        }
        list
    }

    /// The share of the flow's time in which nothing moved until a timeout fired: from the last sample in which
    /// something was sent, acknowledged or sent again to the first in the state `loss`, or in `loss` with
    /// another retransmission. `None` for datagrams and where less than two samples are.
    pub fn timeout_wait(&self) -> Option<f64> {
        let rows: Vec<usize> = (0..self.time_s.len()).filter(|&i| !self.state_name(i).is_empty()).collect();
        let (&first, &last) = (rows.first()?, rows.last()?);
        let whole = self.time_s[last] - self.time_s[first];
        if whole <= 0.0 {
            return None;
        }
        let moved = |i: usize, j: usize| {
            self.acked_bytes[i] != self.acked_bytes[j]
                || self.sent_bytes[i] != self.sent_bytes[j]
                || self.retransmitted[i] != self.retransmitted[j]
        };
        let (mut still_since, mut waited) = (first, 0.0);
        for pair in rows.windows(2) {
            let (i, j) = (pair[0], pair[1]);
            if moved(i, j) {
                let fired = self.retransmitted[i] != self.retransmitted[j] && self.state_name(j) == "loss";
                if fired {
                    waited += self.time_s[i] - self.time_s[still_since];
                }
                still_since = j;
            }
        }
        Some(waited / whole)
    }

    /// The state in a row; empty for datagrams, before the flow begins, and where there is no such row.
    pub fn state_name(&self, row: usize) -> &str {
        let state = self.state.get(row).and_then(|&state| self.states.get(state as usize));
        state.map_or("", String::as_str)
    }

    /// What each state took of the timeline, most first.
    pub fn state_times(&self) -> Vec<StateTime> {
        let timeline = self.timeline();
        let (Some(first), Some(last)) = (timeline.first(), timeline.last()) else { return Vec::new() };
        let whole = last.end_s - first.start_s;
        let of = |name: &String| {
            let mine = timeline.iter().filter(|s| s.state == name);
            let seconds: f64 = mine.clone().map(|s| s.end_s - s.start_s).sum();
            let share = if whole > 0.0 { seconds / whole } else { 0.0 };
            StateTime { state: name.clone(), share, entered: mine.count() as u64 }
        };
        let mut times: Vec<StateTime> = self.states.iter().map(of).filter(|t| t.entered > 0).collect();
        times.sort_by(|a, b| b.share.total_cmp(&a.share));
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(states: &[(f64, &'static str)]) -> FlowSeries {
        let mut s = FlowSeries::new("f");
        for &(time_s, state) in states {
            s.push(FlowPoint { time_s, state, ..FlowPoint::default() });
        }
        s
    }

    #[test]
    fn a_stretch_lasts_until_the_next_state_is_seen() {
        let s =
            series(&[(0.0, "STARTUP"), (0.1, "STARTUP"), (0.2, "DRAIN"), (0.3, "STARTUP"), (0.5, "STARTUP")]);
        let stretch = |state, start_s, end_s| Stretch { state, start_s, end_s };
        assert_eq!(
            s.timeline(),
            [stretch("STARTUP", 0.0, 0.2), stretch("DRAIN", 0.2, 0.3), stretch("STARTUP", 0.3, 0.5)]
        );
        let times = s.state_times();
        assert_eq!(times[0].state, "STARTUP");
        assert_eq!((times[0].entered, times[1].entered), (2, 1));
        assert!((times[0].share - 0.8).abs() < 1e-9 && (times[1].share - 0.2).abs() < 1e-9);
    }

    #[test]
    fn waiting_for_a_timeout_is_the_stillness_before_it() {
        let mut s = FlowSeries::new("f");
        // Sent until 0.1, still until the timeout at 0.4; a second one, backed off, at 0.8; then an idle
        // application: no timeout ends it.
        let rows = [
            (0.0, 0, 0, "slow start"),
            (0.1, 9, 0, "slow start"),
            (0.2, 9, 0, "slow start"),
            (0.3, 9, 0, "slow start"),
            (0.4, 9, 1, "loss"),
            (0.6, 9, 1, "loss"),
            (0.8, 9, 2, "loss"),
            (0.9, 12, 2, "avoidance"),
            (1.9, 12, 2, "avoidance"),
            (2.0, 15, 2, "avoidance"),
        ];
        for (time_s, sent_bytes, retransmitted, state) in rows {
            s.push(FlowPoint { time_s, sent_bytes, retransmitted, state, ..FlowPoint::default() });
        }
        let wait = s.timeout_wait().unwrap();
        assert!((wait - (0.2 + 0.2) / 2.0).abs() < 1e-9, "{wait}");
        assert_eq!(FlowSeries::default().timeout_wait(), None);
    }

    #[test]
    fn datagrams_and_single_samples_have_next_to_nothing() {
        assert!(series(&[(0.0, ""), (1.0, "")]).timeline().is_empty());
        assert!(FlowSeries::default().state_times().is_empty());
        let one = series(&[(3.0, "avoidance")]).state_times();
        assert_eq!(one, [StateTime { state: "avoidance".into(), share: 0.0, entered: 1 }]);
    }
}
