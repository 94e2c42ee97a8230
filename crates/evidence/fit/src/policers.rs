//! Policers of single flows: where the diagnosis finds one for each flow instead of one for all, the scenario has them.
//!
//! Policers alike of flows between two hosts are one stage with buckets of its own for each flow (`per_flow`). Others stand on links of
//! their own, each towards a receiver: a route leads by the destination, and nothing else in a scenario tells one flow from another.
//! Rates and buckets are moved together: how they compare the diagnosis knows better than figures of all flows together would tell.

use crate::flows::FittedFlow;
use crate::model::FitPolicer;
use crate::observed::ObservedPath;
use crate::path_model::{FittedLimiter, FittedPath};
use crate::search::TriedPath;
use crate::trial::{HOSTS, stack_of_host, time, whole};
use result::diagnosis::Limiter;
use std::fmt::Write as _;

/// Whose bucket that of a policer is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PolicerScope {
    /// All flows share one; of every other limiter, too.
    #[default]
    All,
    /// Each flow has one like it.
    EachFlow,
    /// These, behind the line that all flows share.
    Own(Vec<OwnPolicer>),
}

/// A policer beside the first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnPolicer {
    /// Its rate, times [`FittedPath::rate`].
    pub rate: f64,
    /// Its bucket, times [`FittedPath::bucket`].
    pub bucket: f64,
    /// Round trip beyond the path's, seconds.
    pub beyond: f64,
}

/// How well the diagnosis knows rate and bucket of a policer: standard deviations of their logarithms.
pub const RATE_KNOWN: f64 = 0.005;
pub const BUCKET_KNOWN: f64 = 0.1;
/// So many standard deviations of their difference apart two figures are no longer alike: one pair of alike ones in 370 is.
const APART: f64 = 3.0;
/// Least round trips that are further apart than this are not the same, as a share: what fits leave over of them.
const SAME_RTT: f64 = 0.01;
/// The host behind the shared line, where policers have links of their own.
const EDGE: &str = "edge";

/// Whether policers are alike as far as the diagnosis knows them.
pub fn alike(all: &[Limiter]) -> bool {
    let near = |a: f64, b: f64, known: f64| (a / b).ln().abs() <= APART * known * 2.0f64.sqrt();
    let Some(first) = all.first() else { return true };
    all.iter().all(|l| {
        let buckets = first.burst_bytes.zip(l.burst_bytes).filter(|(a, b)| *a > 0.0 && *b > 0.0);
        near(l.rate_mbps, first.rate_mbps, RATE_KNOWN)
            && buckets.is_none_or(|(a, b)| near(a, b, BUCKET_KNOWN))
    })
}

/// Whose policers they are, as observed; numbers beside those of the first.
pub fn scope(seen: &ObservedPath) -> PolicerScope {
    let Some(first) = seen.policers.first().filter(|_| seen.policers.len() > 1) else {
        return PolicerScope::All;
    };
    if seen.flows.iter().all(|f| f.policer.is_none()) {
        return PolicerScope::EachFlow;
    }
    let least = |k: Option<usize>| {
        let of = seen.flows.iter().filter(|f| !f.backward && (k.is_none() || f.policer == k));
        of.map(|f| f.flow.measures.rtt_ms.min / 1e3).filter(|r| *r > 0.0).fold(f64::INFINITY, f64::min)
    };
    let base = least(None);
    let one = |(k, l): (usize, &Limiter)| {
        let beyond = (least(Some(k)) - base).max(0.0);
        OwnPolicer {
            rate: l.rate_mbps / first.rate_mbps,
            bucket: l
                .burst_bytes
                .zip(first.burst_bytes)
                .map_or(l.rate_mbps / first.rate_mbps, |(a, b)| a / b),
            beyond: if beyond.is_finite() && beyond > SAME_RTT * base { beyond } else { 0.0 },
        }
    };
    PolicerScope::Own(seen.policers.iter().enumerate().map(one).collect())
}

impl FittedPath {
    /// Policers on links of their own; none where there is one stage for all.
    pub fn own_policers(&self) -> &[OwnPolicer] {
        match &self.scope {
            PolicerScope::Own(all) if self.limiter == FittedLimiter::Policer => all,
            _ => &[],
        }
    }

    /// The host where the data of a flow arrive.
    pub fn receiver(&self, policer: Option<usize>) -> String {
        match policer.filter(|k| *k < self.own_policers().len()) {
            Some(k) => format!("{}{}", HOSTS[1], k + 1),
            None => HOSTS[1].into(),
        }
    }

    /// Where the link of the path ends.
    pub fn path_end(&self) -> &'static str {
        if self.own_policers().is_empty() { HOSTS[1] } else { EDGE }
    }
}

/// Which policers flows pass, `None` of those that pass none; each once, in order.
fn in_use(flows: &[FittedFlow]) -> Vec<Option<usize>> {
    let mut all: Vec<Option<usize>> = flows.iter().map(|f| f.policer).collect();
    all.sort_by_key(|k| (k.is_none(), *k));
    all.dedup();
    all
}

/// Policers as data; none where one limiter is for all flows.
pub fn told(tried: &TriedPath) -> Vec<FitPolicer> {
    let path = &tried.path;
    let of = |k: Option<usize>, one: OwnPolicer, per_flow: bool| FitPolicer {
        flows: tried.flows.iter().filter(|f| !f.backward && f.policer == k).map(|f| f.name.clone()).collect(),
        rate_mbps: path.rate * one.rate / 1e6,
        bucket_kb: path.bucket * one.bucket / 1e3,
        per_flow,
    };
    match &path.scope {
        _ if path.limiter != FittedLimiter::Policer => Vec::new(),
        PolicerScope::All => Vec::new(),
        PolicerScope::EachFlow => vec![of(None, OwnPolicer { rate: 1.0, bucket: 1.0, beyond: 0.0 }, true)],
        PolicerScope::Own(all) => {
            let each = all.iter().enumerate().map(|(k, one)| of(Some(k), *one, false));
            each.filter(|p| !p.flows.is_empty()).collect()
        }
    }
}

/// Hosts and links behind the shared line, as a scenario has them; `stack` is that of a receiver.
pub fn links(p: &FittedPath, flows: &[FittedFlow], stack: &str) -> (String, String) {
    let own = p.own_policers();
    if own.is_empty() {
        return (stack_of_host(HOSTS[1], stack), String::new());
    }
    let (mut hosts, mut links) = (String::new(), String::new());
    for k in in_use(flows) {
        let to = p.receiver(k);
        hosts += &stack_of_host(&to, stack);
        let (mut forward, mut beyond) = (String::new(), 0.0);
        if let Some(policer) = k.and_then(|k| own.get(k)) {
            let (rate, bucket) = (whole(p.rate * policer.rate), whole(p.bucket * policer.bucket));
            forward = format!(
                "    {{ kind = \"policer\", name = \"limiter\", rate = \"{rate}bit/s\", burst = \"{bucket}B\" }},\n"
            );
            beyond = policer.beyond;
        }
        let mut backward = String::new();
        if beyond > 0.0 {
            backward = format!("{{ kind = \"delay\", name = \"beyond\", delay = {} }}", time(beyond / 2.0));
            let _ = writeln!(forward, "    {backward},");
        }
        let _ = write!(
            links,
            "\n[links.to-{to}]\nbetween = [\"{EDGE}\", \"{to}\"]\nforward = [\n{forward}]\nbackward = [{backward}]\n"
        );
    }
    (hosts, links)
}
