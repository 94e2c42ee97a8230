//! Measures of a result: `[SUBJECT.]QUANTITY[.STATISTIC]`, as `upload.rtt.p95` or
//! `wan.forward.limiter.drops`.
//!
//! Each measure has one definition, which the table, the headline, the page, `--expect`, sweeps, studies and
//! plans share. Over several flows it is aggregated as follows:
//!
//! | quantity | aggregate over flows | reason |
//! |---|---|---|
//! | goodput, resent, timeouts, drops, marks | sum | they are additive |
//! | lost, resent_share | packets of all flows over packets of all flows | a ratio of packets, not a mean of ratios |
//! | completion | percentiles over all transfers | one time per transfer |
//! | response, page | over all exchanges of the run; for a subset of flows, that of the worst flow | the run keeps them pooled |
//! | rtt, delay, probe, jitter, mos, datagrams' lost | that of the worst flow | a mean would hide the user with the worst service, and the two directions of a call are separate |
//! | rtt.min, delay.min, probe.min | minimum | it estimates the path without queueing |
//!
//! `rtt` is the round trip of TCP flows, `delay` the one-way delay of datagrams, `probe` the round trip of
//! probes; none replaces another. Without a subject, `delay`, `jitter` and the loss of datagrams are those of
//! calls (`voice`) if there are any, else of all datagram flows except probes: the user of a flood that fills
//! the link does not mind its delay.

use crate::{ElementResult, FlowKind, FlowResult, RttSummary, TimesSummary, VariantResult};
use units::{Goal, Label};

/// A measure: a quantity of a subject, with a statistic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Measure {
    pub subject: Subject,
    pub quantity: Quantity,
    /// A statistic of the quantity's distribution; for goodput, over flows.
    pub statistic: Option<Statistic>,
}

/// The part of a variant that is measured.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Subject {
    /// The whole variant.
    #[default]
    Run,
    /// All TCP flows.
    Tcp,
    /// All datagram flows except probes.
    Datagrams,
    /// A flow of the scenario: all its connections (`name-1`, `name-2` …) where it has several.
    Flow(String),
    /// A stage of the path: `link.direction.stage`.
    Element(String),
}

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Payload delivered, Mbit/s.
    Goodput,
    /// Goodput over the rate limit of the flows, %.
    LimitShare,
    /// RTT of TCP, ms, weighted by time.
    Rtt,
    /// One-way delay of datagrams, ms, per packet.
    Delay,
    /// Round trip of probes, ms, per packet.
    Probe,
    /// Interarrival jitter of datagrams (RFC 3550 section 6.4.1), ms.
    Jitter,
    /// Mean opinion score of a call (ITU-T G.107 annex B), 1 to 4.5.
    Mos,
    /// Lost data packets, %: for TCP, dropped by the path over sent; for datagrams, missing over due.
    Lost,
    /// Retransmitted data packets.
    Resent,
    /// Retransmitted data packets over all data packets sent, %.
    ResentShare,
    /// Retransmission timeouts.
    Timeouts,
    /// Share of a flow's lifetime in which nothing was sent until a retransmission timeout fired, %.
    Waited,
    /// Time from start to last byte of finite flows, s.
    Completion,
    /// Time from request to last byte of the answer, s.
    Response,
    /// Load time of a whole page, s.
    Page,
    /// Jain's fairness index.
    Jain,
    /// Packets dropped, by one stage or by all.
    Drops,
    /// Packets marked, by one stage or by all.
    Marks,
    /// Longest queue of a stage or of all, packets.
    Queue,
}

/// A statistic of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Statistic {
    Min,
    Mean,
    /// Median.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    Max,
}

/// Unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasureUnit {
    /// 10^6 bit/s.
    Mbps,
    /// Milliseconds.
    Millis,
    /// Seconds.
    Seconds,
    /// Percent, 0 to 100.
    Percent,
    /// Packets.
    Packets,
    /// No unit: a count, an index or a score.
    Plain,
}

impl MeasureUnit {
    /// The symbol in tables; empty for [`MeasureUnit::Plain`].
    pub fn symbol(self) -> &'static str {
        match self {
            MeasureUnit::Mbps => "Mbit/s",
            MeasureUnit::Millis => "ms",
            MeasureUnit::Seconds => "s",
            MeasureUnit::Percent => "%",
            MeasureUnit::Packets => "packets",
            MeasureUnit::Plain => "",
        }
    }
}

/// The better one of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Larger,
    Smaller,
}

impl Quantity {
    /// All quantities, in the order of the reference documentation.
    pub const ALL: [Quantity; 19] = [
        Quantity::Goodput,
        Quantity::LimitShare,
        Quantity::Rtt,
        Quantity::Delay,
        Quantity::Probe,
        Quantity::Jitter,
        Quantity::Mos,
        Quantity::Lost,
        Quantity::Resent,
        Quantity::ResentShare,
        Quantity::Timeouts,
        Quantity::Waited,
        Quantity::Completion,
        Quantity::Response,
        Quantity::Page,
        Quantity::Jain,
        Quantity::Drops,
        Quantity::Marks,
        Quantity::Queue,
    ];

    /// The name in expectations and studies.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Goodput => "goodput",
            Quantity::LimitShare => "limit_share",
            Quantity::Rtt => "rtt",
            Quantity::Delay => "delay",
            Quantity::Probe => "probe",
            Quantity::Jitter => "jitter",
            Quantity::Mos => "mos",
            Quantity::Lost => "lost",
            Quantity::Resent => "resent",
            Quantity::ResentShare => "resent_share",
            Quantity::Timeouts => "timeouts",
            Quantity::Waited => "waited",
            Quantity::Completion => "completion",
            Quantity::Response => "response",
            Quantity::Page => "page",
            Quantity::Jain => "jain",
            Quantity::Drops => "drops",
            Quantity::Marks => "marks",
            Quantity::Queue => "queue",
        }
    }

    /// Finds a quantity by its name.
    pub fn named(name: &str) -> Option<Quantity> {
        Quantity::ALL.into_iter().find(|q| q.name() == name)
    }

    /// Unit of the quantity.
    pub fn unit(self) -> MeasureUnit {
        match self {
            Quantity::Goodput => MeasureUnit::Mbps,
            Quantity::Rtt | Quantity::Delay | Quantity::Probe | Quantity::Jitter => MeasureUnit::Millis,
            Quantity::Completion | Quantity::Response | Quantity::Page => MeasureUnit::Seconds,
            Quantity::LimitShare | Quantity::Lost | Quantity::ResentShare | Quantity::Waited => {
                MeasureUnit::Percent
            }
            Quantity::Resent | Quantity::Drops | Quantity::Marks | Quantity::Queue => MeasureUnit::Packets,
            Quantity::Mos | Quantity::Timeouts | Quantity::Jain => MeasureUnit::Plain,
        }
    }

    /// Which of two values is better; `None` for marks, where neither is.
    pub fn better(self) -> Option<Direction> {
        match self {
            Quantity::Goodput | Quantity::LimitShare | Quantity::Mos | Quantity::Jain => {
                Some(Direction::Larger)
            }
            Quantity::Marks => None,
            _ => Some(Direction::Smaller),
        }
    }

    /// Label in English and Chinese.
    pub const fn label(self) -> Label {
        match self {
            Quantity::Goodput => Label::new("goodput", "有效吞吐量"),
            Quantity::LimitShare => Label::new("share of the limit", "占限速的比例"),
            Quantity::Rtt => Label::new("round trip", "往返时延"),
            Quantity::Delay => Label::new("one-way delay", "单向时延"),
            Quantity::Probe => Label::new("ping", "探测往返时延"),
            Quantity::Jitter => Label::new("jitter", "抖动"),
            Quantity::Mos => Label::new("MOS", "MOS"),
            Quantity::Lost => Label::new("loss", "丢包率"),
            Quantity::Resent => Label::new("retransmissions", "重传包数"),
            Quantity::ResentShare => Label::new("retransmission rate", "重传率"),
            Quantity::Timeouts => Label::new("timeouts", "超时次数"),
            Quantity::Waited => Label::new("time waiting for timeouts", "等待超时的时间"),
            Quantity::Completion => Label::new("completion time", "完成时间"),
            Quantity::Response => Label::new("response time", "响应时间"),
            Quantity::Page => Label::new("page time", "页面加载时间"),
            Quantity::Jain => Label::new("Jain index", "Jain 指数"),
            Quantity::Drops => Label::new("drops", "丢包数"),
            Quantity::Marks => Label::new("marks", "标记数"),
            Quantity::Queue => Label::new("longest queue", "最长队列"),
        }
    }

    /// Whether the quantity has a distribution, that is median, percentiles and extremes.
    pub fn has_distribution(self) -> bool {
        use Quantity::{Completion, Delay, Page, Probe, Response, Rtt};
        matches!(self, Rtt | Delay | Probe | Completion | Response | Page)
    }

    /// Whether the quantity is measured at stages of the path.
    pub fn of_elements(self) -> bool {
        matches!(self, Quantity::Drops | Quantity::Marks | Quantity::Queue)
    }

    /// Whether the quantity is measured for flows.
    pub fn of_flows(self) -> bool {
        !self.of_elements() && self != Quantity::Jain
    }
}

impl Statistic {
    /// All statistics; but for the mean, in ascending order.
    pub const ALL: [Statistic; 6] =
        [Statistic::Min, Statistic::Mean, Statistic::P50, Statistic::P95, Statistic::P99, Statistic::Max];

    /// The name in expectations and studies.
    pub fn name(self) -> &'static str {
        match self {
            Statistic::Min => "min",
            Statistic::Mean => "mean",
            Statistic::P50 => "p50",
            Statistic::P95 => "p95",
            Statistic::P99 => "p99",
            Statistic::Max => "max",
        }
    }

    /// Finds a statistic by its name.
    pub fn named(name: &str) -> Option<Statistic> {
        Statistic::ALL.into_iter().find(|s| s.name() == name)
    }

    fn of(self, r: &RttSummary) -> f64 {
        match self {
            Statistic::Min => r.min,
            Statistic::Mean => r.mean,
            Statistic::P50 => r.p50,
            Statistic::P95 => r.p95,
            Statistic::P99 => r.p99,
            Statistic::Max => r.max,
        }
    }

    /// Maximum share of missing samples with which the statistic is still known, 0 to 1.
    fn max_missing_share(self) -> f64 {
        match self {
            Statistic::Min => 1.0,
            Statistic::P50 => 0.5,
            Statistic::P95 => 0.05,
            Statistic::P99 => 0.01,
            Statistic::Mean | Statistic::Max => 0.0,
        }
    }
}

/// Why a text is not a valid measure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MeasureError {
    #[error("`{0}` is not a quantity: one of {names}", names = Quantity::ALL.map(Quantity::name).join(", "))]
    Quantity(String),
    /// The quantity has no distribution, so no statistic.
    #[error("`{0}` is a single number and has no `{1}`")]
    Statistic(&'static str, &'static str),
    /// The quantity does not exist for the subject.
    #[error("`{0}` is not measured for {1}")]
    Subject(&'static str, &'static str),
}

impl Measure {
    /// A measure of the whole variant, without a statistic.
    pub const fn new(quantity: Quantity) -> Measure {
        Measure { subject: Subject::Run, quantity, statistic: None }
    }

    /// A measure of the whole variant, with a statistic.
    pub const fn at(quantity: Quantity, statistic: Statistic) -> Measure {
        Measure { subject: Subject::Run, quantity, statistic: Some(statistic) }
    }

    /// Replaces the subject.
    pub fn of_subject(self, subject: Subject) -> Measure {
        Measure { subject, ..self }
    }

    /// Reads `[SUBJECT.]QUANTITY[.STATISTIC]` from the end, since names may contain dots. `tcp` and `udp`
    /// mean all TCP and all datagram flows unless `is_flow` knows a flow of that name; `total` is the whole
    /// variant.
    ///
    /// # Errors
    /// Fails when the quantity does not exist, has no such statistic, or does not exist for the subject.
    pub fn parse(text: &str, is_flow: impl Fn(&str) -> bool) -> Result<Measure, MeasureError> {
        let (before, last) = text.rsplit_once('.').unwrap_or(("", text));
        let named = Statistic::named(last).filter(|_| Quantity::named(text).is_none());
        let rest = if named.is_some() { before } else { text };
        let (subject_name, word) = rest.rsplit_once('.').unwrap_or(("", rest));
        let quantity = Quantity::named(word).ok_or_else(|| MeasureError::Quantity(word.into()))?;
        if let Some(statistic) = named {
            let over_flows = quantity == Quantity::Goodput
                && matches!(statistic, Statistic::Min | Statistic::Mean | Statistic::Max);
            if !quantity.has_distribution() && !over_flows {
                return Err(MeasureError::Statistic(quantity.name(), statistic.name()));
            }
        }
        let subject = match subject_name {
            "" | "total" => Subject::Run,
            "tcp" if !is_flow(subject_name) && quantity.of_flows() => Subject::Tcp,
            "udp" if !is_flow(subject_name) && quantity.of_flows() => Subject::Datagrams,
            _ if quantity.of_elements() => Subject::Element(subject_name.into()),
            _ if quantity.of_flows() => Subject::Flow(subject_name.into()),
            _ => {
                return Err(MeasureError::Subject(
                    quantity.name(),
                    "a part of the run: it covers all flows together",
                ));
            }
        };
        Ok(Measure { subject, quantity, statistic: named })
    }

    /// The name, as [`Measure::parse`] reads it.
    pub fn name(&self) -> String {
        let subject_name = match &self.subject {
            Subject::Run => "",
            Subject::Tcp => "tcp",
            Subject::Datagrams => "udp",
            Subject::Flow(name) | Subject::Element(name) => name,
        };
        let statistic = self.statistic.map(Statistic::name);
        let parts =
            [Some(subject_name).filter(|name| !name.is_empty()), Some(self.quantity.name()), statistic];
        parts.into_iter().flatten().collect::<Vec<_>>().join(".")
    }

    /// The key in [`crate::Repeats::values`]: a median is stored under the quantity's own name.
    pub(crate) fn key_in_repeats(&self) -> String {
        Measure { statistic: self.statistic.filter(|s| *s != Statistic::P50), ..self.clone() }.name()
    }

    pub fn unit(&self) -> MeasureUnit {
        self.quantity.unit()
    }

    pub fn better(&self) -> Option<Direction> {
        self.quantity.better()
    }

    pub fn prefers_larger(&self) -> bool {
        self.better() == Some(Direction::Larger)
    }

    pub fn is_better(&self, a: f64, b: f64) -> bool {
        match self.better() {
            Some(Direction::Larger) => a > b,
            Some(Direction::Smaller) => a < b,
            None => false,
        }
    }

    /// Label in English and Chinese, without the subject: "p95 round trip".
    pub fn label(&self) -> [String; 2] {
        let Label { en, zh } = self.quantity.label();
        match self.statistic() {
            Some(statistic) if self.quantity.has_distribution() => {
                let name = if statistic == Statistic::P50 { "median" } else { statistic.name() };
                [format!("{name} {en}"), format!("{} {zh}", statistic.name())]
            }
            _ => [en.into(), zh.into()],
        }
    }

    /// The statistic; by default the median, and `None` where the quantity has no distribution.
    pub fn statistic(&self) -> Option<Statistic> {
        self.statistic.or(self.quantity.has_distribution().then_some(Statistic::P50))
    }

    /// The value in a variant; `None` where nothing of the kind was measured. A statistic of times is
    /// infinite where more samples are missing than it allows (5 % for a p95).
    ///
    /// For a variant with repeats, the value is computed from the flows' means: the worst flow is the one
    /// with the worst mean. The values of the single repeats are in [`crate::Repeats::values`].
    pub fn of(&self, v: &VariantResult) -> Option<f64> {
        match &self.subject {
            Subject::Element(name) => self.of_elements(&elements(v, name)),
            Subject::Run if self.quantity.of_elements() => {
                self.of_elements(&v.elements.iter().collect::<Vec<_>>())
            }
            Subject::Run => self.of_run(v),
            Subject::Flow(name) => self.of_flows(&connections(&v.flows, name)),
            Subject::Tcp => self.of_flows(&of_kind(v, FlowKind::Tcp)),
            Subject::Datagrams => self.of_flows(&of_kind(v, FlowKind::Datagrams)),
        }
    }

    fn of_run(&self, v: &VariantResult) -> Option<f64> {
        let pooled = |t: Option<TimesSummary>, cut_short| t.and_then(|t| self.time(&t, cut_short));
        match self.quantity {
            Quantity::Jain => v.jain_index,
            Quantity::LimitShare => Some(100.0 * v.total_goodput_mbps / v.limit_mbps.filter(|l| *l > 0.0)?),
            Quantity::Goodput if self.statistic.is_none() => Some(v.total_goodput_mbps),
            Quantity::Completion => pooled(v.completion_s, false),
            Quantity::Response => pooled(v.response_s, true),
            Quantity::Page => pooled(v.page_s, true),
            Quantity::Delay | Quantity::Jitter => self.of_flows(&calls_or_datagrams(v)),
            // Most of a run is TCP. Loss of datagrams has another base (packets due) and is never combined
            // with it.
            Quantity::Lost if v.flows.iter().any(|f| f.kind == FlowKind::Tcp) => {
                self.of_flows(&of_kind(v, FlowKind::Tcp))
            }
            Quantity::Lost => self.of_flows(&calls_or_datagrams(v)),
            _ => self.of_flows(&v.flows.iter().collect::<Vec<_>>()),
        }
    }

    fn of_elements(&self, elements: &[&ElementResult]) -> Option<f64> {
        if elements.is_empty() {
            return None;
        }
        let sum = |f: fn(&ElementResult) -> u64| Some(elements.iter().map(|e| f(e)).sum::<u64>() as f64);
        match self.quantity {
            Quantity::Drops => sum(|e| e.dropped_packets),
            Quantity::Marks => sum(|e| e.marked_packets),
            Quantity::Queue => elements.iter().map(|e| e.max_queue_packets).max().map(|n| n as f64),
            _ => None,
        }
    }

    /// The value over these flows, whatever the subject; `None` where none of them has one.
    pub fn of_flows(&self, flows: &[&FlowResult]) -> Option<f64> {
        if flows.is_empty() {
            return None;
        }
        let tcp = || flows.iter().copied().filter(|f| f.kind == FlowKind::Tcp);
        let sum = |f: fn(&FlowResult) -> u64| tcp().map(f).sum::<u64>() as f64;
        let any_tcp = tcp().next().is_some();
        let share = |part: f64| {
            let sent = sum(|f| f.sent_packets);
            (sent > 0.0).then(|| 100.0 * part / sent)
        };
        let each = |f: &dyn Fn(&FlowResult) -> Option<f64>| -> Vec<f64> {
            flows.iter().filter_map(|x| f(x)).collect()
        };
        let delay = |kind: FlowKind| {
            self.worst(each(&|f| {
                f.real_time.filter(|_| f.kind == kind).and_then(|r| self.distribution(&r.delay_ms))
            }))
        };
        match self.quantity {
            Quantity::Goodput => self.goodput(each(&|f| Some(f.goodput_mbps))),
            Quantity::LimitShare => limit_share(flows),
            Quantity::Rtt => self.worst(each(&|f| {
                Some(f).filter(|f| f.kind == FlowKind::Tcp).and_then(|f| self.distribution(&f.rtt_ms))
            })),
            Quantity::Delay => delay(FlowKind::Datagrams),
            Quantity::Probe => delay(FlowKind::Probe),
            Quantity::Jitter => self
                .worst(each(&|f| f.real_time.filter(|_| f.kind == FlowKind::Datagrams).map(|r| r.jitter_ms))),
            Quantity::Mos => self.worst(each(&|f| f.real_time.and_then(|r| r.mos))),
            Quantity::Lost if any_tcp => {
                let lost = tcp().map(|f| f.lost_packets).sum::<Option<u64>>();
                lost.and_then(|lost| share(lost as f64))
            }
            Quantity::Lost => self.worst(each(&|f| f.real_time.map(|r| 100.0 * r.lost))),
            Quantity::Resent => any_tcp.then(|| sum(|f| f.retransmitted_packets)),
            Quantity::ResentShare => share(sum(|f| f.retransmitted_packets)),
            Quantity::Timeouts => any_tcp.then(|| sum(|f| f.timeouts)),
            Quantity::Waited => self.worst(each(&|f| f.timeout_wait.map(|w| 100.0 * w))),
            Quantity::Completion => self.completion(flows),
            Quantity::Response => self.worst(each(&|f| f.response_s.and_then(|t| self.time(&t, true)))),
            Quantity::Page => self.worst(each(&|f| f.page_s.and_then(|t| self.time(&t, true)))),
            Quantity::Jain | Quantity::Drops | Quantity::Marks | Quantity::Queue => None,
        }
    }

    /// The sum of goodputs, or a statistic over flows.
    fn goodput(&self, all: Vec<f64>) -> Option<f64> {
        let sum: f64 = all.iter().sum();
        Some(match self.statistic {
            Some(Statistic::Min) => all.iter().copied().fold(f64::INFINITY, f64::min),
            Some(Statistic::Max) => all.iter().copied().fold(0.0, f64::max),
            Some(Statistic::Mean) => sum / all.len() as f64,
            _ => sum,
        })
    }

    /// Statistic over all transfers. An unfinished transfer counts as infinitely long.
    fn completion(&self, flows: &[&FlowResult]) -> Option<f64> {
        let mut times: Vec<f64> = flows.iter().filter_map(|f| f.completion_s).collect();
        times.resize(times.len() + flows.iter().filter(|f| f.unfinished).count(), f64::INFINITY);
        times.sort_by(f64::total_cmp);
        let n = times.len();
        let rank = |q: f64| times[((q * n as f64).ceil() as usize).clamp(1, n) - 1];
        (n > 0).then(|| match self.statistic().unwrap_or(Statistic::P50) {
            Statistic::Min => times[0],
            Statistic::Mean => times.iter().sum::<f64>() / n as f64,
            Statistic::P50 => rank(0.5),
            Statistic::P95 => rank(0.95),
            Statistic::P99 => rank(0.99),
            Statistic::Max => times[n - 1],
        })
    }

    /// Statistic of pooled times, s. `cut_short`: exchanges follow one another, so the last one is always
    /// interrupted by the end of the run and need not count as missing.
    fn time(&self, t: &TimesSummary, cut_short: bool) -> Option<f64> {
        let all = (t.count + t.unfinished) as f64;
        let statistic = self.statistic().unwrap_or(Statistic::P50);
        let missing = t.unfinished as f64 > statistic.max_missing_share() * all;
        if all == 0.0 {
            return None;
        }
        if t.count == 0 || (missing && !cut_short) {
            return Some(f64::INFINITY);
        }
        match statistic {
            // `TimesSummary` has no minimum.
            Statistic::Min => None,
            Statistic::Mean => Some(t.mean),
            Statistic::P50 => Some(t.p50),
            Statistic::P95 => Some(t.p95),
            Statistic::P99 => Some(t.p99),
            Statistic::Max => Some(t.max),
        }
    }

    fn distribution(&self, r: &RttSummary) -> Option<f64> {
        (!r.is_empty()).then(|| self.statistic().unwrap_or(Statistic::P50).of(r))
    }

    /// The worst value; for minima, the smallest.
    fn worst(&self, all: Vec<f64>) -> Option<f64> {
        let least = self.prefers_larger() || self.statistic == Some(Statistic::Min);
        let all = all.into_iter();
        if least { all.min_by(f64::total_cmp) } else { all.max_by(f64::total_cmp) }
    }
}

/// Measures of a goal, in order of preference: the first with a value in the variant counts.
pub fn of_goal(goal: Goal) -> Vec<Measure> {
    use Quantity::{Completion, Delay, Goodput, Jain, Page, Probe, Response, Rtt};
    let p95 = |q| Measure::at(q, Statistic::P95);
    match goal {
        Goal::Goodput => vec![
            Measure::new(Goodput).of_subject(Subject::Tcp),
            Measure::new(Goodput).of_subject(Subject::Datagrams),
        ],
        Goal::Delay => vec![p95(Delay), p95(Probe), p95(Rtt)],
        Goal::Completion => vec![p95(Completion), p95(Response)],
        Goal::Page => vec![p95(Page)],
        Goal::Fairness => vec![Measure::new(Jain)],
    }
}

fn limit_share(flows: &[&FlowResult]) -> Option<f64> {
    let first = flows.first()?.limit_mbps.filter(|l| *l > 0.0)?;
    let same = flows.iter().all(|f| f.limit_mbps == Some(first));
    same.then(|| 100.0 * flows.iter().map(|f| f.goodput_mbps).sum::<f64>() / first)
}

fn of_kind(v: &VariantResult, kind: FlowKind) -> Vec<&FlowResult> {
    v.flows.iter().filter(|f| f.kind == kind).collect()
}

/// Datagram flows that a person listens to: the calls, or all datagram flows where there is no call.
fn calls_or_datagrams(v: &VariantResult) -> Vec<&FlowResult> {
    let datagrams = of_kind(v, FlowKind::Datagrams);
    let calls: Vec<&FlowResult> = datagrams.iter().copied().filter(|f| f.app == "voice").collect();
    if calls.is_empty() { datagrams } else { calls }
}

/// Whether a flow's name is `name`, or that of one of its connections, `name-1`.
pub fn is_connection_of(flow: &str, name: &str) -> bool {
    flow.strip_prefix(name).is_some_and(|rest| {
        let number = rest.strip_prefix('-').unwrap_or_default();
        rest.is_empty() || (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
    })
}

/// Connections of a flow: the flow of that name, else `name-1`, `name-2` ….
pub fn connections<'a>(flows: &'a [FlowResult], name: &str) -> Vec<&'a FlowResult> {
    let exact: Vec<&FlowResult> = flows.iter().filter(|f| f.name == name).collect();
    if !exact.is_empty() {
        return exact;
    }
    flows.iter().filter(|f| is_connection_of(&f.name, name)).collect()
}

/// Elements of a stage: one, or one per flow (`stage@flow`) where flows were measured alone.
fn elements<'a>(v: &'a VariantResult, name: &str) -> Vec<&'a ElementResult> {
    let is = |e: &&ElementResult| {
        e.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
    };
    v.elements.iter().filter(is).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RealTime;

    fn ms(p50: f64, p95: f64) -> RttSummary {
        RttSummary { min: 10.0, mean: p50, p50, p95, p99: p95, max: p95 }
    }

    /// A download and an upload, a call in both directions, and a probe.
    fn variant() -> VariantResult {
        let tcp = |name: &str, mbps, rtt_ms, lost| FlowResult {
            name: name.into(),
            goodput_mbps: mbps,
            rtt_ms,
            sent_packets: 1000,
            lost_packets: Some(lost),
            limit_mbps: Some(20.0),
            ..FlowResult::default()
        };
        let datagrams = |name: &str, kind, app: &str, p95, lost| FlowResult {
            name: name.into(),
            kind,
            app: app.into(),
            goodput_mbps: 0.1,
            sent_packets: 100,
            real_time: Some(RealTime { delay_ms: ms(9.0, p95), lost, ..RealTime::default() }),
            ..FlowResult::default()
        };
        VariantResult {
            flows: vec![
                tcp("down", 15.0, ms(50.0, 89.0), 0),
                tcp("up", 0.5, ms(700.0, 891.0), 50),
                datagrams("speak", FlowKind::Datagrams, "voice", 418.0, 0.02),
                datagrams("listen", FlowKind::Datagrams, "voice", 13.0, 0.0),
                datagrams("flood", FlowKind::Datagrams, "udp", 623.0, 0.3),
                datagrams("ping", FlowKind::Probe, "probe", 900.0, 0.0),
            ],
            total_goodput_mbps: 15.9,
            ..VariantResult::default()
        }
    }

    fn value(text: &str) -> Option<f64> {
        Measure::parse(text, |_| false).expect(text).of(&variant())
    }

    #[test]
    fn additive_measures_are_summed_and_others_are_those_of_the_worst_flow() {
        assert_eq!(
            (value("goodput"), value("tcp.goodput"), value("goodput.max")),
            (Some(15.9), Some(15.5), Some(15.0))
        );
        assert_eq!(
            (value("rtt.p95"), value("down.rtt.p95"), value("rtt")),
            (Some(891.0), Some(89.0), Some(700.0))
        );
        assert_eq!(value("rtt.min"), Some(10.0));
        assert_eq!((value("lost"), value("up.lost")), (Some(2.5), Some(5.0)));
        assert_eq!((value("udp.lost"), value("speak.lost")), (Some(30.0), Some(2.0)));
    }

    /// One-way delay, ping and RTT are three quantities, and a flood's delay never counts as that of the call
    /// next to it.
    #[test]
    fn delays_of_different_kinds_are_never_mixed() {
        assert_eq!((value("delay.p95"), value("listen.delay.p95")), (Some(418.0), Some(13.0)));
        assert_eq!((value("udp.delay.p95"), value("probe.p95")), (Some(623.0), Some(900.0)));
        assert_eq!(
            (value("ping.probe.p95"), value("ping.delay"), value("ping.rtt")),
            (Some(900.0), None, None)
        );
        assert_eq!(value("down.delay"), None);
    }

    #[test]
    fn an_unfinished_transfer_counts_as_infinitely_long() {
        let flow = |seconds: Option<f64>| FlowResult {
            completion_s: seconds,
            unfinished: seconds.is_none(),
            ..FlowResult::default()
        };
        let flows: Vec<FlowResult> = [Some(1.0), Some(2.0), Some(3.0), None].map(flow).into();
        let completion = |s| Measure::at(Quantity::Completion, s).of_flows(&flows.iter().collect::<Vec<_>>());
        assert_eq!(
            (completion(Statistic::P50), completion(Statistic::P95)),
            (Some(2.0), Some(f64::INFINITY))
        );
        assert_eq!(Measure::new(Quantity::Completion).of_flows(&[&FlowResult::default()]), None);
        let pooled = |count, unfinished| {
            let t = TimesSummary { count, unfinished, p95: 4.0, ..TimesSummary::default() };
            let v = VariantResult { completion_s: Some(t), response_s: Some(t), ..VariantResult::default() };
            [Quantity::Completion, Quantity::Response].map(|q| Measure::at(q, Statistic::P95).of(&v))
        };
        assert_eq!(pooled(19, 1), [Some(4.0), Some(4.0)]);
        assert_eq!(pooled(18, 2), [Some(f64::INFINITY), Some(4.0)], "the run's end cuts an exchange short");
        assert_eq!(pooled(0, 2), [Some(f64::INFINITY), Some(f64::INFINITY)]);
        assert_eq!(pooled(0, 0), [None, None]);
    }

    #[test]
    fn names_with_dots_are_parsed_from_their_end_and_round_trip() {
        for name in
            ["goodput", "up.rtt.p95", "a.b.delay.max", "wan.forward.limiter.drops", "tcp.lost", "jain"]
        {
            assert_eq!(Measure::parse(name, |_| false).expect(name).name(), name);
        }
        let flow = Measure::parse("udp.goodput", |name| name == "udp").expect("a flow");
        assert_eq!(flow.subject, Subject::Flow("udp".into()), "a flow's own name comes first");
        let wrong = |text| Measure::parse(text, |_| false).expect_err(text).to_string();
        assert!(wrong("up.speed").starts_with("`speed` is not a quantity: one of goodput, "));
        assert_eq!(wrong("resent.p95"), "`resent` is a single number and has no `p95`");
        assert_eq!(
            wrong("up.jain"),
            "`jain` is not measured for a part of the run: it covers all flows together"
        );
    }

    #[test]
    fn every_quantity_has_its_own_name_and_label() {
        let names = Quantity::ALL.map(Quantity::name);
        let labels = Quantity::ALL.map(|q| q.label().en);
        for list in [names, labels] {
            assert!(list.iter().enumerate().all(|(i, n)| !list[..i].contains(n)), "{list:?}");
        }
        assert_eq!(Measure::at(Quantity::Rtt, Statistic::P95).label()[0], "p95 round trip");
        assert_eq!(Measure::new(Quantity::Lost).label()[0], "loss");
    }
}
