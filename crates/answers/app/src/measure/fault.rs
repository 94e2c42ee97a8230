//! Faults of a direction, and the cures that help against them.

use super::model::{Cure, Direction, Measurement, TestVerdict};
use result::Cause;
use result::diagnosis::SURE;

/// Gain of goodput from which on a cure helps.
const MIN_GAIN: f64 = 1.1;
/// Share of the best goodput from which on cures count as equally fast.
const ALIKE_SHARE: f64 = 0.95;
/// Share of the rate that counts as all of it, and the added delay that counts as none, ms.
const ENOUGH_SHARE: f64 = 0.9;
const MAX_ADDED_MS: f64 = 30.0;
/// Gain of several connections over one that shows a limit of the single connection.
const SEVERAL_GAIN: f64 = 1.25;

/// A fault of an upload or download.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Too little goodput: what there is and what there could be, Mbit/s.
    Slow { is: f64, could_be: f64 },
    /// Enough goodput, but a queue delays everything: the largest added delay, ms.
    Delayed { added_ms: f64 },
}

/// Returns what is wrong with a direction; `None` where nothing is, or too little is known.
pub fn fault(m: &Measurement, direction: Direction) -> Option<Fault> {
    let test = m.test(direction.name())?;
    let (is, could_be) = (test.goodput_mbps, m.capacity_mbps(direction)?);
    let verdict = &m.direction(direction).verdict;
    let is_lossy =
        |v: &TestVerdict| matches!(v.cause, Cause::Policed | Cause::RandomLoss) && v.confidence >= SURE;
    if m.limit_mbps(direction).is_none() && verdict.as_ref().is_some_and(is_lossy) {
        return Some(Fault::Slow { is, could_be });
    }
    let enough = if m.limit_mbps(direction).is_some() { ENOUGH_SHARE } else { 1.0 / SEVERAL_GAIN };
    if is < enough * could_be {
        return Some(Fault::Slow { is, could_be });
    }
    let idle = m.idle.as_ref()?.rtt_p50_ms;
    let tests = [direction.name(), direction.several()];
    let loaded = tests.into_iter().filter_map(|name| Some(m.test(name)?.loaded.as_ref()?.rtt_p50_ms));
    let added_ms = loaded.fold(0.0, f64::max) - idle;
    (added_ms > MAX_ADDED_MS.max(idle / 2.0)).then_some(Fault::Delayed { added_ms })
}

/// Sorts cures, the best first: for more goodput by goodput, and where that differs little by
/// retransmissions; against delay by the delay under load, those first that keep the goodput.
pub fn rank(cures: &mut [Cure], fault: Fault, up_mbps: f64) {
    if let Fault::Delayed { .. } = fault {
        let loaded = |c: &Cure| c.test.loaded.as_ref().map_or(f64::INFINITY, |l| l.rtt_p50_ms);
        let costs = |c: &Cure| c.test.goodput_mbps < ENOUGH_SHARE * up_mbps;
        return cures.sort_by(|a, b| costs(a).cmp(&costs(b)).then(loaded(a).total_cmp(&loaded(b))));
    }
    cures.sort_by(|a, b| b.test.goodput_mbps.total_cmp(&a.test.goodput_mbps));
    let Some(most) = cures.first().map(|c| c.test.goodput_mbps) else { return };
    let alike = cures.iter().take_while(|c| c.test.goodput_mbps >= ALIKE_SHARE * most).count();
    cures[..alike].sort_by(|a, b| a.test.retransmitted_share.total_cmp(&b.test.retransmitted_share));
}

/// Whether a cure helps: it gains goodput, or it halves the added delay at hardly less goodput.
pub fn helps(cure: &Cure, m: &Measurement) -> bool {
    let (Some(up), Some(fault)) = (m.test("up"), fault(m, Direction::Up)) else { return false };
    match fault {
        Fault::Slow { is, .. } => cure.test.goodput_mbps > 0.0 && cure.test.goodput_mbps >= MIN_GAIN * is,
        Fault::Delayed { added_ms } => {
            let left = added_by(cure, m).unwrap_or(f64::INFINITY);
            left < added_ms / 2.0 && cure.test.goodput_mbps >= ENOUGH_SHARE * up.goodput_mbps
        }
    }
}

/// The delay that a cure's own load adds to the median round trip, ms.
pub fn added_by(cure: &Cure, m: &Measurement) -> Option<f64> {
    Some((cure.test.loaded.as_ref()?.rtt_p50_ms - m.idle.as_ref()?.rtt_p50_ms).max(0.0))
}
