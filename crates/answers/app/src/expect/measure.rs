//! What a result says of something expected.

use super::{Expected, Kind, Quantity, Statistic, Subject};
use result::{Expectation, FlowResult, RttSummary, Run, TimesSummary, VariantResult};

impl Expected {
    /// Holds it against each variant that it is about and that has what it is about. A variant without any result
    /// does not meet it.
    pub fn hold(&self, run: &Run) -> Vec<Expectation> {
        let unit = match self.what.kind() {
            Kind::Rate if self.of_limit => "%",
            Kind::Rate => "Mbit/s",
            Kind::Millis => "ms",
            Kind::Seconds => "s",
            Kind::Share => "%",
            Kind::Plain => "",
        };
        let mut list = Vec::new();
        for name in &self.variants {
            let results: Vec<&VariantResult> = run.variants.iter().filter(|v| v.name == *name).collect();
            let told = |variant: &VariantResult, measured: Option<f64>| Expectation {
                expected: self.text.clone(),
                variant: name.clone(),
                clock: variant.clock,
                measured,
                unit: unit.into(),
                met: measured.is_some_and(|m| self.relation.holds(m, self.bound)),
            };
            if results.is_empty() {
                list.push(told(&VariantResult::default(), None));
            }
            let there = results.into_iter().filter(|v| self.is_there(v));
            list.extend(there.map(|v| told(v, self.measure(v))));
        }
        list
    }

    /// Whether the variant has the flow or stage: another may have disabled it.
    fn is_there(&self, variant: &VariantResult) -> bool {
        match &self.subject {
            Subject::Whole => true,
            Subject::Flow(name) => !connections(variant, name).is_empty(),
            Subject::Element(name) => elements(variant, name).next().is_some(),
        }
    }

    fn measure(&self, variant: &VariantResult) -> Option<f64> {
        match &self.subject {
            Subject::Whole => self.of_whole(variant),
            Subject::Flow(name) => self.of_flow(&connections(variant, name)),
            Subject::Element(name) => {
                let all = elements(variant, name);
                match self.what {
                    Quantity::Drops => Some(all.map(|e| e.dropped_packets).sum::<u64>() as f64),
                    Quantity::Marks => Some(all.map(|e| e.marked_packets).sum::<u64>() as f64),
                    _ => all.map(|e| e.max_queue_packets).max().map(|n| n as f64),
                }
            }
        }
    }

    fn of_whole(&self, v: &VariantResult) -> Option<f64> {
        let elements = || v.elements.iter();
        match self.what {
            Quantity::Goodput if self.of_limit => Some(100.0 * v.total_goodput_mbps / v.limit_mbps?),
            Quantity::Goodput => Some(v.total_goodput_mbps),
            Quantity::Jain => v.jain_index,
            // A transfer that never ended took longer than any time.
            Quantity::Completion => v.completion_s.filter(|t| t.unfinished == 0).and_then(|t| self.time(&t)),
            Quantity::Response => v.response_s.and_then(|t| self.time(&t)),
            Quantity::Page => v.page_s.and_then(|t| self.time(&t)),
            Quantity::Drops => Some(elements().map(|e| e.dropped_packets).sum::<u64>() as f64),
            Quantity::Marks => Some(elements().map(|e| e.marked_packets).sum::<u64>() as f64),
            Quantity::Queue => elements().map(|e| e.max_queue_packets).max().map(|n| n as f64),
            _ => {
                let flows: Vec<&FlowResult> = v.flows.iter().collect();
                self.of_flow(&flows)
            }
        }
    }

    /// Of a flow's connections, or of all flows: sums of what adds up, else the one that is furthest from it.
    fn of_flow(&self, flows: &[&FlowResult]) -> Option<f64> {
        let sum = |f: fn(&FlowResult) -> f64| Some(flows.iter().map(|x| f(x)).sum());
        let worst = |f: &dyn Fn(&FlowResult) -> Option<f64>| {
            let known: Vec<f64> = flows.iter().filter_map(|x| f(x)).collect();
            self.relation.worst(&known, self.bound)
        };
        match self.what {
            Quantity::Goodput => {
                let goodput: f64 = flows.iter().map(|f| f.goodput_mbps).sum();
                let limit = || flows.first().and_then(|f| f.limit_mbps);
                if self.of_limit { Some(100.0 * goodput / limit()?) } else { Some(goodput) }
            }
            Quantity::Resent => sum(|f| f.retransmitted_packets as f64),
            Quantity::Timeouts => sum(|f| f.timeouts as f64),
            Quantity::Lost => lost(flows).map(|share| 100.0 * share),
            Quantity::Rtt => {
                worst(&|f| Some(f.rtt_ms).filter(|r| r.max > 0.0 && !f.is_udp()).map(|r| self.delay(&r)))
            }
            Quantity::Delay => worst(&|f| {
                let udp = Some(f.rtt_ms).filter(|r| r.max > 0.0 && f.is_udp());
                f.real_time.map(|r| r.delay_ms).or(udp).map(|r| self.delay(&r))
            }),
            Quantity::Jitter => worst(&|f| f.real_time.map(|r| r.jitter_ms)),
            Quantity::Mos => worst(&|f| f.real_time.and_then(|r| r.mos)),
            Quantity::Response => worst(&|f| f.response_s.and_then(|t| self.time(&t))),
            Quantity::Page => worst(&|f| f.page_s.and_then(|t| self.time(&t))),
            // As above: one that never ended took longer than any time.
            Quantity::Completion if flows.iter().any(|f| f.unfinished) => None,
            Quantity::Completion => worst(&|f| f.completion_s),
            Quantity::Jain | Quantity::Drops | Quantity::Marks | Quantity::Queue => None,
        }
    }

    fn delay(&self, r: &RttSummary) -> f64 {
        match self.statistic {
            Statistic::Min => r.min,
            Statistic::Mean => r.mean,
            Statistic::P50 => r.p50,
            Statistic::P95 => r.p95,
            Statistic::P99 => r.p99,
            Statistic::Max => r.max,
        }
    }

    /// `None` where nothing came to its end.
    fn time(&self, t: &TimesSummary) -> Option<f64> {
        let time = match self.statistic {
            Statistic::Min => return None,
            Statistic::Mean => t.mean,
            Statistic::P50 => t.p50,
            Statistic::P95 => t.p95,
            Statistic::P99 => t.p99,
            Statistic::Max => t.max,
        };
        (t.count > 0).then_some(time)
    }
}

/// A flow's connections: the one of that name, else `name-1`, `name-2` ….
fn connections<'a>(variant: &'a VariantResult, name: &str) -> Vec<&'a FlowResult> {
    let exact: Vec<&FlowResult> = variant.flows.iter().filter(|f| f.name == name).collect();
    if !exact.is_empty() {
        return exact;
    }
    let numbered = |f: &&FlowResult| {
        let rest = f.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        rest.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    variant.flows.iter().filter(numbered).collect()
}

/// The elements of a stage: one, or one for each flow that was measured alone.
fn elements<'a>(
    variant: &'a VariantResult,
    name: &'a str,
) -> impl Iterator<Item = &'a result::ElementResult> {
    let is = move |e: &&result::ElementResult| {
        e.name == name || e.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('@'))
    };
    variant.elements.iter().filter(is)
}

/// The share of packets that the path lost, of the flows of which that is known.
fn lost(flows: &[&FlowResult]) -> Option<f64> {
    if let [flow] = flows
        && let Some(call) = flow.real_time
    {
        return Some(call.lost);
    }
    let known = flows.iter().filter_map(|f| Some((f.lost_packets?, f.sent_packets)));
    let (lost, sent) = known.fold((0, 0), |(l, s), (lost, sent)| (l + lost, s + sent));
    (sent > 0).then(|| lost as f64 / sent as f64)
}
