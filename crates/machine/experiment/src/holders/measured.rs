//! The numbers that gains are of.

use super::MAX_GAIN;
use result::{FlowResult, TimesSummary, VariantResult};
use units::Goal;

/// A number of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measured {
    TcpGoodput,
    DatagramGoodput,
    Delay,
    Probe,
    Rtt,
    Completion,
    Response,
    Page,
    Jain,
}

impl Measured {
    /// What a goal is measured by, the first that has a value.
    fn of_goal(goal: Goal) -> &'static [Measured] {
        use Measured::*;
        match goal {
            Goal::Goodput => &[TcpGoodput, DatagramGoodput],
            Goal::Delay => &[Delay, Probe, Rtt],
            Goal::Completion => &[Completion, Response],
            Goal::Page => &[Page],
            Goal::Fairness => &[Jain],
        }
    }

    pub fn name(&self) -> String {
        match self {
            Measured::TcpGoodput => "tcp.goodput",
            Measured::DatagramGoodput => "udp.goodput",
            Measured::Delay => "delay.p95",
            Measured::Probe => "probe.p95",
            Measured::Rtt => "rtt.p95",
            Measured::Completion => "completion.p95",
            Measured::Response => "response.p95",
            Measured::Page => "page.p95",
            Measured::Jain => "jain",
        }
        .into()
    }

    pub fn unit(&self) -> &'static str {
        match self {
            Measured::TcpGoodput | Measured::DatagramGoodput => "Mbit/s",
            Measured::Delay | Measured::Probe | Measured::Rtt => "ms",
            Measured::Completion | Measured::Response | Measured::Page => "s",
            Measured::Jain => "",
        }
    }

    pub fn of(&self, v: &VariantResult) -> Option<f64> {
        let flows = |is: &dyn Fn(&FlowResult) -> bool| -> Vec<&FlowResult> { v.flows.iter().filter(|f| is(f)).collect() };
        let worst = |list: Vec<&FlowResult>| {
            let known = list.into_iter().map(|f| f.real_time.map_or(f.rtt_ms, |r| r.delay_ms));
            known.filter(|d| d.max > 0.0).map(|d| d.p95).max_by(f64::total_cmp)
        };
        match self {
            Measured::TcpGoodput => v.tcp_goodput_mbps,
            Measured::DatagramGoodput => v.udp_goodput_mbps,
            Measured::Delay => {
                let calls = flows(&|f| f.app == "voice");
                worst(if calls.is_empty() { flows(&|f| f.is_one_way()) } else { calls })
            }
            Measured::Probe => worst(flows(&|f| f.app == "probe")),
            Measured::Rtt => worst(flows(&|f| !f.is_udp())),
            Measured::Completion => v.completion_s.and_then(|t| p95(&t, false)),
            Measured::Response => v.response_s.and_then(|t| p95(&t, true)),
            Measured::Page => v.page_s.and_then(|t| p95(&t, true)),
            Measured::Jain => v.jain_index,
        }
    }

    fn is_better_large(&self) -> bool {
        matches!(self, Measured::TcpGoodput | Measured::DatagramGoodput | Measured::Jain)
    }

    /// How many times better the second is than the first; 1 where either has none.
    pub fn gain(&self, with: &VariantResult, without: &VariantResult) -> f64 {
        let (Some(with), Some(without)) = (self.of(with), self.of(without)) else { return 1.0 };
        let (good, bad) = if self.is_better_large() { (without, with) } else { (with, without) };
        if good == bad {
            return 1.0;
        }
        let gain = if bad == 0.0 || good.is_infinite() { MAX_GAIN } else { good / bad };
        gain.clamp(1.0 / MAX_GAIN, MAX_GAIN)
    }
}

/// Of times that follow each other the last is cut short by the run's end, which says nothing.
fn p95(t: &TimesSummary, cut_short: bool) -> Option<f64> {
    let all = (t.count + t.unfinished) as f64;
    let missing = t.unfinished as f64 > 0.05 * all;
    (all > 0.0).then(|| if t.count == 0 || (missing && !cut_short) { f64::INFINITY } else { t.p95 })
}

/// The measure of the first goal that has one, else goodput.
pub(super) fn first(goals: &[Goal], v: &VariantResult) -> Option<Measured> {
    let of = |goal: &Goal| Measured::of_goal(*goal).iter().copied().find(|m| m.of(v).is_some());
    goals.iter().find_map(of).or_else(|| of(&Goal::Goodput))
}

/// The first, then those of the other goals, then goodput and round trips.
pub(super) fn all(first: &Measured, goals: &[Goal], v: &VariantResult) -> Vec<Measured> {
    let of = |goal: &Goal| Measured::of_goal(*goal).iter().copied().find(|m| m.of(v).is_some());
    let mut list = vec![*first];
    let further = goals.iter().filter_map(of);
    for m in further.chain([Measured::TcpGoodput, Measured::DatagramGoodput, Measured::Rtt]) {
        if !list.contains(&m) {
            list.push(m);
        }
    }
    list
}
