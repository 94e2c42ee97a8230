//! How flows share the rate of a limiter, grouped by the congestion control that they seem to use.

use result::diagnosis::{CcShare, FlowDiagnosis};
use std::collections::BTreeMap;

/// Returns each congestion control's share of the rate of limiter `i`; empty unless several flows share it.
pub(super) fn limiter_shares(flows: &[FlowDiagnosis], i: usize) -> Vec<CcShare> {
    let through = || flows.iter().filter(|f| f.limiter == Some(i));
    let from = through().map(|f| f.start_s).fold(f64::INFINITY, f64::min);
    let to = through().map(|f| f.start_s + f.duration_s).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = through().map(|f| f.measures.bytes as f64).sum();
    if through().count() < 2 || to <= from || total <= 0.0 {
        return Vec::new();
    }
    let mut by_cc: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for f in through() {
        let sum = by_cc.entry(&f.cc.name).or_default();
        *sum = (sum.0 + 1, sum.1 + f.measures.bytes as f64);
    }
    let share = |(cc, (flows, bytes)): (&str, (u64, f64))| CcShare {
        cc: cc.to_string(),
        flows,
        mbps: bytes * 8e-6 / (to - from),
        share: bytes / total,
    };
    let mut list: Vec<CcShare> = by_cc.into_iter().map(share).collect();
    list.sort_by(|a, b| b.share.total_cmp(&a.share));
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::diagnosis::{Guess, Measures};

    #[test]
    fn flows_of_one_limiter_are_summed_by_congestion_control() {
        let flow = |limiter, cc: &str, start_s: f64, mbps: f64| FlowDiagnosis {
            limiter,
            start_s,
            duration_s: 10.0 - start_s,
            cc: Guess { name: cc.into(), confidence: 0.9 },
            measures: Measures { bytes: (mbps * 1e6 / 8.0 * 10.0) as u64, ..Measures::default() },
            ..FlowDiagnosis::default()
        };
        let mut flows = vec![flow(Some(1), "bbr", 0.0, 500.0), flow(Some(1), "bbr", 1.0, 453.0)];
        flows.extend((0..5).map(|_| flow(Some(1), "cubic", 2.0, 7.2)));
        flows.extend([flow(Some(0), "cubic", 0.0, 90.0), flow(None, "reno", 0.0, 90.0)]);
        let by_cc = limiter_shares(&flows, 1);
        let shares: Vec<_> = by_cc.iter().map(|t| (&t.cc[..], t.flows, t.mbps.round())).collect();
        assert_eq!(shares, [("bbr", 2, 953.0), ("cubic", 5, 36.0)]);
        assert!((by_cc.iter().map(|t| t.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(limiter_shares(&flows, 0).is_empty(), "a single flow does not share");
    }
}
