//! Policers of single flows: the scenario has them if the diagnosis finds one for each flow instead of one
//! for all.
//!
//! Equal policers of flows between two hosts become one stage with a bucket for each flow (`per_flow`).
//! Different ones stand on links of their own, each towards its receiver, because a scenario routes by
//! destination only. Rates and buckets keep the ratios that the diagnosis measured: figures of all flows
//! together show these less exactly.

use crate::flows::FittedFlow;
use crate::model::FitPolicer;
use crate::observed::ObservedPath;
use crate::path_model::{FittedLimiter, FittedPath, OwnPolicer, PolicerScope};
use result::diagnosis::Limiter;

/// Least round trips that differ by more than this share are different: right fits leave differences up to
/// this.
const SAME_RTT: f64 = 0.01;

/// Which flows share a policer, as observed; rates and buckets relative to the first policer.
pub fn scope(seen: &ObservedPath) -> PolicerScope {
    let Some(first) = seen.policers.first().filter(|_| seen.policers.len() > 1) else {
        return PolicerScope::All;
    };
    if seen.flows.iter().all(|f| f.policer.is_none()) {
        return PolicerScope::EachFlow;
    }
    let least = |k: Option<usize>| {
        let selected = seen.flows.iter().filter(|f| !f.backward && (k.is_none() || f.policer == k));
        selected.map(|f| f.flow.measures.rtt_ms.min / 1e3).filter(|r| *r > 0.0).fold(f64::INFINITY, f64::min)
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

/// The policers as reported; empty if one limiter is for all flows.
pub fn report(path: &FittedPath, flows: &[FittedFlow]) -> Vec<FitPolicer> {
    let policer = |k: Option<usize>, one: OwnPolicer, per_flow: bool| FitPolicer {
        flows: flows.iter().filter(|f| !f.backward && f.policer == k).map(|f| f.name.clone()).collect(),
        rate_mbps: path.rate * one.rate / 1e6,
        bucket_kb: path.bucket * one.bucket / 1e3,
        per_flow,
    };
    match &path.scope {
        _ if path.limiter != FittedLimiter::Policer => Vec::new(),
        PolicerScope::All => Vec::new(),
        PolicerScope::EachFlow => {
            vec![policer(None, OwnPolicer { rate: 1.0, bucket: 1.0, beyond: 0.0 }, true)]
        }
        PolicerScope::Own(all) => {
            let each = all.iter().enumerate().map(|(k, one)| policer(Some(k), *one, false));
            each.filter(|p| !p.flows.is_empty()).collect()
        }
    }
}
