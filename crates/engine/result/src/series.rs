//! Time series of flows and elements: their columns, each declared once, and the timeline of a flow's states.
//!
//! States are taken from samples, not from events. Simulator and kernel both sample them, and a state that
//! comes and goes between two samples (10 ms) is in neither series.

use crate::StateTime;
use crate::column::columns;

columns! {
    /// The time series of one flow: a vector per column, all of the length of `time_s`. With relays it is
    /// that of the flow's first connection, except for `delivered_bytes`. Where a program opened several
    /// connections at once, it is that of the open connection that carries most, so totals may decrease.
    pub struct FlowSeries {
        /// Name of the flow.
        pub name: String,
        /// State in each row: an index into `states`.
        pub state: Vec<u8>,
        /// Names of the states, in order of first appearance: the states of the congestion control where it
        /// has its own, else `slow start`, `avoidance`, `disorder`, `recovery`, `cwr`, `loss`.
        pub states: Vec<String>,
        /// Retransmissions in order of time, of all senders of the flow ([`Resent::sender`]); not a column.
        /// Empty where the path cannot identify a program's packets by their port; `lost_packets` is unknown
        /// then, too.
        pub resent: Vec<Resent>,
        /// Completed requests with their response times, in order of completion; not a column. A random
        /// sample where there are more than a million.
        pub responses: Vec<Response>,
    }

    /// A row of [`FlowSeries`]: a flow at one moment.
    pub struct FlowPoint {
        /// Name of the state; empty for datagrams and before the flow begins.
        pub state: &'static str,
    }

    columns {
        /// time since the start of the run
        time_s: f64, Seconds Gauge Both;
        /// payload delivered so far
        delivered_bytes: u64, Bytes Total Both;
        /// congestion window
        cwnd: u64, Packets Gauge Both;
        /// slow start threshold; null: none
        ssthresh: Option<u64>, Packets Gauge Both;
        /// packets in flight
        inflight: u64, Packets Gauge Both;
        /// smoothed RTT; null before the first sample
        srtt_ms: Option<f64>, Millis Gauge Both;
        /// last RTT sample; null before the first
        rtt_ms: Option<f64>, Millis Gauge Both;
        /// pacing rate; null when not paced
        pacing_mbps: Option<f64>, Mbps Gauge Both;
        /// retransmissions so far
        retransmitted: u64, Packets Total Both;
        /// payload sent so far, each byte counted once (SND.NXT)
        sent_bytes: u64, Bytes Total Both;
        /// payload acknowledged so far (SND.UNA)
        acked_bytes: u64, Bytes Total Both;
        /// the congestion control's estimate of the bottleneck bandwidth (BtlBw); null where it has none
        btl_bw_mbps: Option<f64>, Mbps Gauge Both;
        /// the congestion control's estimate of the propagation delay (RTprop); null where it has none
        rt_prop_ms: Option<f64>, Millis Gauge Both;
        /// the congestion control's pacing gain; null where it has none
        pacing_gain: Option<f64>, Factor Gauge Both;
        /// the congestion control's cwnd gain; null where it has none
        cwnd_gain: Option<f64>, Factor Gauge Both;
        /// round trips counted by the congestion control; null where it counts none
        round: Option<u64>, Rounds Total Sim;
        /// the sender's last delivery rate sample (`tcpi_delivery_rate`); null before the first
        delivery_rate_mbps: Option<f64>, Mbps Gauge Both;
        /// delay of the last datagram that arrived: one-way, for probes round trip; null for TCP and before
        /// the first
        delay_ms: Option<f64>, Millis Gauge Both;
    }
}

/// A retransmission as the path saw it.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Resent {
    /// Time, s since the start of the run.
    pub time_s: f64,
    /// First payload byte, counted as in [`FlowSeries::sent_bytes`].
    pub byte: u64,
    /// Payload bytes.
    pub len: u32,
    /// The sender among those of the flow: 0 is the one shown by the time series; 1, 2 … are those of
    /// further connections, of connections between relays, and of the direction that carries less.
    pub sender: u32,
}

/// A completed exchange of request and answer, object of a page, or page.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Response {
    /// Time at which the requesting application wanted it, s since the start of the run; the first exchange
    /// of a connection therefore includes the handshake.
    pub start_s: f64,
    /// Time to the last byte, s.
    pub seconds: f64,
    /// Kind of exchange: a name of [`units::ExchangeKind`].
    pub what: String,
}

columns! {
    /// The time series of one path element: a vector per column.
    pub struct ElementSeries {
        /// Name of the element.
        pub name: String,
    }

    /// A row of [`ElementSeries`]: an element at one moment.
    pub struct ElementPoint {}

    columns {
        /// time since the start of the run
        time_s: f64, Seconds Gauge Both;
        /// packets queued
        queue_packets: u64, Packets Gauge Both;
        /// bytes queued
        queue_bytes: u64, Bytes Gauge Both;
        /// tokens in the bucket; null without a bucket
        tokens_bytes: Option<f64>, Bytes Gauge Both;
        /// packets dropped so far
        dropped: u64, Packets Total Both;
        /// packets marked so far (ECN CE or DSCP)
        marked: u64, Packets Total Both;
    }
}

impl ElementSeries {
    /// Adds a row.
    pub fn push(&mut self, point: ElementPoint) {
        self.push_cells(&point);
    }
}

/// An interval in which a flow stayed in one state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateInterval<'a> {
    /// Name of the state, as in [`FlowSeries::states`].
    pub state: &'a str,
    /// Time of the first sample in the state, s since the start of the run.
    pub start_s: f64,
    /// Time of the first sample in the next state, or of the last of the series.
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

    /// The timeline: every interval of samples in the same state. Empty for datagrams and before the flow
    /// begins. States that came and went between two samples are missing.
    pub fn timeline(&self) -> Vec<StateInterval<'_>> {
        let mut list: Vec<StateInterval> = Vec::new();
        for (&t, &state) in self.time_s.iter().zip(&self.state) {
            let Some(state) = self.states.get(state as usize).filter(|s| !s.is_empty()) else { continue };
            if let Some(last) = list.last_mut() {
                last.end_s = t;
            }
            if list.last().is_none_or(|last| last.state != state) {
                list.push(StateInterval { state, start_s: t, end_s: t });
            }
        }
        list
    }

    /// Share of the flow's lifetime in which nothing was sent until a retransmission timeout fired: from the
    /// last sample with something sent, acknowledged or retransmitted to the first in the state `loss`, or in
    /// `loss` with another retransmission. `None` for datagrams and with fewer than two samples.
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

    /// Name of the state in a row; empty for datagrams, before the flow begins, and without such a row.
    pub fn state_name(&self, row: usize) -> &str {
        let state = self.state.get(row).and_then(|&state| self.states.get(state as usize));
        state.map_or("", String::as_str)
    }

    /// Share of the timeline spent in each state, the largest first.
    pub fn state_times(&self) -> Vec<StateTime> {
        let timeline = self.timeline();
        let (Some(first), Some(last)) = (timeline.first(), timeline.last()) else { return Vec::new() };
        let whole = last.end_s - first.start_s;
        let time_in = |name: &String| {
            let mine = timeline.iter().filter(|s| s.state == name);
            let seconds: f64 = mine.clone().map(|s| s.end_s - s.start_s).sum();
            let share = if whole > 0.0 { seconds / whole } else { 0.0 };
            StateTime { state: name.clone(), share, entered: mine.count() as u64 }
        };
        let mut times: Vec<StateTime> = self.states.iter().map(time_in).filter(|t| t.entered > 0).collect();
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
    fn a_state_lasts_until_the_sample_of_the_next() {
        let s =
            series(&[(0.0, "STARTUP"), (0.1, "STARTUP"), (0.2, "DRAIN"), (0.3, "STARTUP"), (0.5, "STARTUP")]);
        let stretch = |state, start_s, end_s| StateInterval { state, start_s, end_s };
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
    fn timeout_wait_is_the_silence_before_a_timeout() {
        let mut s = FlowSeries::new("f");
        // Sends until 0.1, silent until the timeout at 0.4, and a second, backed-off one at 0.8. Then an idle
        // application, whose silence no timeout ends.
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
    fn datagrams_have_no_timeline_and_a_single_sample_no_duration() {
        assert!(series(&[(0.0, ""), (1.0, "")]).timeline().is_empty());
        assert!(FlowSeries::default().state_times().is_empty());
        let one = series(&[(3.0, "avoidance")]).state_times();
        assert_eq!(one, [StateTime { state: "avoidance".into(), share: 0.0, entered: 1 }]);
    }
}
