//! What of a run a study compares: `[SUBJECT.]QUANTITY[.STATISTIC]`, as `tcp.goodput.min` or `wan.forward.limiter.drops`.
//!
//! The subject is a flow, all its connections; a stage for `drops` and `queue`; or it is left out: all TCP flows, or all flows
//! where there is none. `entered.STATE` counts how often a congestion control entered a state.

use result::{FlowResult, FlowSeries, Outcome, RttSummary, VariantResult};

/// What is measured, and of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureName {
    subject: Option<String>,
    quantity: StudyQuantity,
    statistic: Option<StudyStatistic>,
    state: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StudyQuantity {
    Goodput,
    Rtt,
    Delay,
    Lost,
    Resent,
    ResentShare,
    Timeouts,
    Waited,
    Silence,
    Variation,
    Inflight,
    Jain,
    Drops,
    Queue,
    Entered,
}

const QUANTITIES: [(&str, StudyQuantity, &str); 15] = [
    ("goodput", StudyQuantity::Goodput, "Mbit/s"),
    ("rtt", StudyQuantity::Rtt, "ms"),
    ("delay", StudyQuantity::Delay, "ms"),
    ("lost", StudyQuantity::Lost, "%"),
    ("resent", StudyQuantity::Resent, "packets"),
    ("resent_share", StudyQuantity::ResentShare, "%"),
    ("timeouts", StudyQuantity::Timeouts, ""),
    ("waited", StudyQuantity::Waited, "%"),
    ("silence", StudyQuantity::Silence, "ms"),
    ("variation", StudyQuantity::Variation, "%"),
    ("inflight", StudyQuantity::Inflight, "packets"),
    ("jain", StudyQuantity::Jain, ""),
    ("drops", StudyQuantity::Drops, "packets"),
    ("queue", StudyQuantity::Queue, "packets"),
    ("entered", StudyQuantity::Entered, "times"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StudyStatistic {
    Min,
    Mean,
    P50,
    P95,
    P99,
    Max,
}

const STATISTICS: [(&str, StudyStatistic); 6] = [
    ("min", StudyStatistic::Min),
    ("mean", StudyStatistic::Mean),
    ("p50", StudyStatistic::P50),
    ("p95", StudyStatistic::P95),
    ("p99", StudyStatistic::P99),
    ("max", StudyStatistic::Max),
];

impl MeasureName {
    /// Reads a measure.
    ///
    /// # Errors
    /// It is none; says what would be right.
    pub fn parse(text: &str) -> Result<MeasureName, String> {
        let mut parts: Vec<&str> = text.split('.').collect();
        let mut measure = MeasureName {
            subject: None,
            quantity: StudyQuantity::Jain,
            statistic: None,
            state: String::new(),
        };
        if parts.len() >= 2 && parts[parts.len() - 2] == "entered" {
            measure.state = parts.pop().unwrap_or_default().into();
        } else if let Some((_, statistic)) = STATISTICS.iter().find(|(name, _)| parts.last() == Some(name)) {
            measure.statistic = Some(*statistic);
            parts.pop();
        }
        let known = || QUANTITIES.map(|(name, _, _)| name).join(", ");
        let quantity = parts.pop().and_then(|last| QUANTITIES.iter().find(|(name, _, _)| *name == last));
        let Some((_, quantity, _)) = quantity else {
            return Err(format!(
                "`{text}` is no measure: write [FLOW or STAGE.]QUANTITY[.STATISTIC] with one of {}",
                known()
            ));
        };
        measure.quantity = *quantity;
        measure.subject = (!parts.is_empty()).then(|| parts.join("."));
        measure.fits(text).map(|()| measure)
    }

    fn fits(&self, text: &str) -> Result<(), String> {
        use StudyQuantity::{Delay, Drops, Entered, Goodput, Queue, Rtt};
        let whole = matches!(self.quantity, Goodput | Rtt | Delay);
        if self.statistic.is_some() && !whole {
            return Err(format!("`{text}`: only goodput, rtt and delay have statistics"));
        }
        if matches!(self.quantity, Drops | Queue) && self.subject.is_none() {
            return Err(format!("`{text}`: drops and queue are of a stage, `link.direction.stage.drops`"));
        }
        if self.quantity == Entered && self.state.is_empty() {
            return Err(format!("`{text}`: which state? write `entered.PROBE_RTT`"));
        }
        Ok(())
    }

    /// `Mbit/s`, `ms`, `%`, `packets`; empty for what is counted or an index.
    pub fn unit(&self) -> &'static str {
        QUANTITIES.iter().find(|(_, quantity, _)| *quantity == self.quantity).map_or("", |(_, _, unit)| unit)
    }

    /// The number of one run; `None` where it has none.
    pub fn of(&self, outcome: &Outcome) -> Option<f64> {
        let v = &outcome.variant;
        match self.quantity {
            StudyQuantity::Jain => return v.jain_index,
            StudyQuantity::Drops | StudyQuantity::Queue => return self.of_stage(v),
            _ => {}
        }
        let flows = self.flows(v);
        if flows.is_empty() { None } else { self.of_flows(&flows, outcome) }
    }

    fn of_stage(&self, v: &VariantResult) -> Option<f64> {
        let name = self.subject.as_deref()?;
        let is = |e: &&result::ElementResult| e.name.strip_prefix(name).is_some_and(is_end_or_flow);
        let mut all = v.elements.iter().filter(is).peekable();
        all.peek()?;
        match self.quantity {
            StudyQuantity::Drops => Some(all.map(|e| e.dropped_packets).sum::<u64>() as f64),
            _ => all.map(|e| e.max_queue_packets).max().map(|n| n as f64),
        }
    }

    fn flows<'a>(&self, v: &'a VariantResult) -> Vec<&'a FlowResult> {
        match &self.subject {
            None => v.compared_flows().collect(),
            Some(name) => v.flows.iter().filter(|f| is_connection_of(&f.name, name)).collect(),
        }
    }

    fn of_flows(&self, flows: &[&FlowResult], outcome: &Outcome) -> Option<f64> {
        let sum = |f: fn(&FlowResult) -> u64| flows.iter().map(|x| f(x)).sum::<u64>() as f64;
        let sent = sum(|f| f.sent_packets);
        let share = |part: f64| (sent > 0.0).then(|| 100.0 * part / sent);
        match self.quantity {
            StudyQuantity::Goodput => {
                let all: Vec<f64> = flows.iter().map(|f| f.goodput_mbps).collect();
                let total: f64 = all.iter().sum();
                Some(match self.statistic {
                    None => total,
                    Some(StudyStatistic::Min) => all.iter().copied().fold(f64::INFINITY, f64::min),
                    Some(StudyStatistic::Max) => all.iter().copied().fold(0.0, f64::max),
                    Some(_) => total / all.len() as f64,
                })
            }
            StudyQuantity::Rtt => self.delays(flows.iter().filter(|f| !f.is_udp()).map(|f| f.rtt_ms)),
            StudyQuantity::Delay => self.delays(flows.iter().filter_map(|f| f.real_time.map(|r| r.delay_ms))),
            StudyQuantity::Lost => match flows {
                [FlowResult { real_time: Some(datagrams), .. }] => Some(100.0 * datagrams.lost),
                _ => {
                    let lost: Option<u64> = flows.iter().map(|f| f.lost_packets).sum();
                    share(lost? as f64)
                }
            },
            StudyQuantity::Resent => Some(sum(|f| f.retransmitted_packets)),
            StudyQuantity::ResentShare => share(sum(|f| f.retransmitted_packets)),
            StudyQuantity::Timeouts => Some(sum(|f| f.timeouts)),
            StudyQuantity::Waited => {
                let all: Option<Vec<f64>> = flows.iter().map(|f| f.timeout_wait).collect();
                all.map(|all| 100.0 * all.iter().sum::<f64>() / all.len() as f64)
            }
            StudyQuantity::Silence => {
                let mine = |s: &&FlowSeries| flows.iter().any(|f| f.name == s.name);
                outcome.flow_series.iter().filter(mine).filter_map(silence).max_by(f64::total_cmp)
            }
            StudyQuantity::Variation => {
                let of = |f: &&FlowResult| {
                    let series = outcome.flow_series.iter().find(|s| s.name == f.name)?;
                    variation(series, outcome.variant.measured_s)
                };
                let all: Option<Vec<f64>> = flows.iter().map(of).collect();
                all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
            }
            StudyQuantity::Inflight => {
                let of = |f: &&FlowResult| {
                    let series = outcome.flow_series.iter().find(|s| s.name == f.name)?;
                    inflight(series, outcome.variant.measured_s)
                };
                flows.iter().map(of).sum()
            }
            StudyQuantity::Entered => {
                let of = |f: &&FlowResult| {
                    let state = f.states.iter().find(|s| s.state == self.state);
                    state.map_or(0, |s| s.entered)
                };
                Some(flows.iter().map(of).sum::<u64>() as f64)
            }
            StudyQuantity::Jain | StudyQuantity::Drops | StudyQuantity::Queue => None,
        }
    }

    /// Least of least, largest of largest, else the mean of the flows that have samples; the median unless told.
    fn delays(&self, all: impl Iterator<Item = RttSummary>) -> Option<f64> {
        let all: Vec<RttSummary> = all.filter(|r| r.max > 0.0).collect();
        if all.is_empty() {
            return None;
        }
        let mean = |f: fn(&RttSummary) -> f64| all.iter().map(f).sum::<f64>() / all.len() as f64;
        Some(match self.statistic.unwrap_or(StudyStatistic::P50) {
            StudyStatistic::Min => all.iter().map(|r| r.min).fold(f64::INFINITY, f64::min),
            StudyStatistic::Max => all.iter().map(|r| r.max).fold(0.0, f64::max),
            StudyStatistic::Mean => mean(|r| r.mean),
            StudyStatistic::P50 => mean(|r| r.p50),
            StudyStatistic::P95 => mean(|r| r.p95),
            StudyStatistic::P99 => mean(|r| r.p99),
        })
    }
}

/// Whether a flow's name is `name`, or that of one of its connections, `name-1`.
pub(crate) fn is_connection_of(flow: &str, name: &str) -> bool {
    flow.strip_prefix(name).is_some_and(|rest| {
        let number = rest.strip_prefix('-').unwrap_or_default();
        rest.is_empty() || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// What may follow the name of a stage: nothing, or the flow that was measured alone.
fn is_end_or_flow(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('@')
}

/// The longest time in which nothing was delivered between the first byte and the end, ms; as fine as the samples are.
fn silence(series: &FlowSeries) -> Option<f64> {
    let mut since = None;
    let mut longest: f64 = 0.0;
    let mut before = 0;
    for (&t, &bytes) in series.time_s.iter().zip(&series.delivered_bytes) {
        if bytes > before {
            if let Some(since) = since {
                longest = longest.max(t - since);
            }
            since = Some(t);
            before = bytes;
        }
    }
    let (since, end) = (since?, series.time_s.last()?);
    Some(1e3 * longest.max(end - since))
}

/// How far the goodput of whole seconds (iperf3's interval) strays from its mean, standard deviation, % of the mean; `None`
/// for less than two seconds, or where nothing was delivered.
fn variation(series: &FlowSeries, [from, to]: [f64; 2]) -> Option<f64> {
    let seconds = (to - from) as usize;
    let until = |t: f64| {
        let passed = series.time_s.partition_point(|&at| at <= t + 1e-9);
        passed.checked_sub(1).map_or(0, |last| series.delivered_bytes[last])
    };
    let marks: Vec<u64> = (0..=seconds).map(|i| until(from + i as f64)).collect();
    let each: Vec<f64> = marks.windows(2).map(|w| w[1].saturating_sub(w[0]) as f64).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let square = each.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (each.len() as f64 - 1.0);
    (each.len() >= 2 && mean > 0.0).then(|| 100.0 * square.sqrt() / mean)
}

/// The mean of what is in flight over the measured interval, packets.
fn inflight(series: &FlowSeries, [from, to]: [f64; 2]) -> Option<f64> {
    let rows = series.time_s.iter().zip(&series.inflight).filter(|(t, _)| (from..=to).contains(*t));
    let (sum, count) = rows.fold((0, 0u32), |(sum, count), (_, n)| (sum + n, count + 1));
    (count > 0).then(|| sum as f64 / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_measures_are_read_from_their_end() {
        let read = |text: &str| MeasureName::parse(text).expect(text);
        assert_eq!(read("goodput").subject, None);
        let stage = read("wan.forward.limiter.drops");
        assert_eq!(stage.subject.as_deref(), Some("wan.forward.limiter"));
        assert_eq!((read("up.rtt.p95").unit(), stage.unit()), ("ms", "packets"));
        assert_eq!(read("up.entered.PROBE_RTT").state, "PROBE_RTT");
        for wrong in ["", "up", "up.speed", "drops", "up.resent.p95", "up.entered", "goodput.p42"] {
            assert!(MeasureName::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn silence_is_the_longest_time_without_a_byte() {
        let mut series = FlowSeries::new("up");
        // Nothing before the first byte at 0.2 s; then 0.3 s without any, and 0.1 s at the end.
        series.time_s = vec![0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        series.delivered_bytes = vec![0, 0, 10, 10, 10, 30, 30];
        assert!((silence(&series).expect("moved") - 300.0).abs() < 1e-6);
        series.inflight = vec![9, 9, 2, 4, 6, 9, 9];
        assert_eq!(inflight(&series, [0.2, 0.4]), Some(4.0));
        assert_eq!(inflight(&series, [2.0, 3.0]), None);
        series.delivered_bytes = vec![0; 7];
        assert_eq!(silence(&series), None);
    }

    #[test]
    fn variation_is_of_whole_seconds() {
        let mut series = FlowSeries::new("up");
        // 10, 20, 10, 20 bytes in four seconds, whatever goes on within one: a deviation of 5.77 around 15.
        series.time_s = (0..=8).map(|i| 0.5 * f64::from(i)).collect();
        series.delivered_bytes = vec![0, 9, 10, 10, 30, 40, 40, 60, 60];
        let of = |span| variation(&series, span);
        assert!((of([0.0, 4.0]).expect("moved") - 100.0 * (100.0f64 / 3.0).sqrt() / 15.0).abs() < 1e-9);
        assert_eq!(of([0.0, 1.0]), None);
        series.delivered_bytes = vec![7; 9];
        assert_eq!(variation(&series, [1.0, 4.0]), None);
    }

    #[test]
    fn connections_are_numbered() {
        assert!(is_connection_of("tcp", "tcp") && is_connection_of("tcp-12", "tcp"));
        assert!(!is_connection_of("tcp-x", "tcp") && !is_connection_of("tcpx", "tcp"));
        assert!(!is_connection_of("tcp-", "tcp") && !is_connection_of("up-backbone", "up"));
    }
}
