//! CUBIC, with an actor that multiplies its window, after Abbasloo, Yen, Chao, "Classic Meets Modern: a
//! Pragmatic Learning-Based Congestion Control for the Internet" (Orca), SIGCOMM 2020, sections 4 and 5.
//!
//! | paper | this implementation |
//! |---|---|
//! | cwnd = 2^a · cwnd of CUBIC, -2 ≤ a ≤ 2 | the same; an action is a / 2, -1 to 1 |
//! | seven statistics of an interval: delivery rate, loss rate, delay, ACKs, time, smoothed RTT, window | each as a ratio to an estimate of the connection: its highest rate, its minimum RTT, its bandwidth-delay product |
//! | reward ((thr - ζ·loss) / d') / (thr_max / d_min), d' = d_min while d ≤ β·d_min; ζ = 5, β = 1.25 | the same |
//! | an action every 20 ms or more | a step of any length that the caller chooses |

use super::{ActionSpace, Scheme, ratio, set_cwnd};
use crate::world::StepFigures;
use congestion::{Socket, Window};

const MAX_EXPONENT: f64 = 2.0;
const ZETA: f64 = 5.0;
const BETA: f64 = 1.25;

/// The scheme of this module.
pub struct Orca;

impl Orca {
    /// The connection's estimate of the bandwidth-delay product, packets.
    fn bdp(f: &StepFigures) -> f64 {
        f.most_mbps * 1e6 / 8.0 * f.least_rtt_ms * 1e-3 / f.mss.max(1.0)
    }
}

impl Scheme for Orca {
    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box { len: 1, low: -1.0, high: 1.0 }
    }
    fn features(&self) -> usize {
        7
    }
    fn history(&self) -> usize {
        1
    }
    fn base(&self) -> Option<&'static str> {
        Some("cubic")
    }

    fn act(&mut self, action: &[f64], _: &StepFigures, _: &Socket, w: &mut Window) {
        set_cwnd(w, f64::from(w.cwnd) * libm::exp2(MAX_EXPONENT * action[0]));
    }

    fn observe(&self, f: &StepFigures, out: &mut [f64]) {
        out[0] = ratio(f.delivered_mbps, f.most_mbps);
        out[1] = f.loss_share();
        out[2] = ratio(f.rtt_ms, f.least_rtt_ms) - 1.0;
        out[3] = ratio(f.acks, f.delivered);
        out[4] = ratio(f.span_s * 1e3, f.least_rtt_ms);
        out[5] = ratio(f.srtt_ms, f.least_rtt_ms) - 1.0;
        out[6] = ratio(f.cwnd, Orca::bdp(f)).min(8.0);
    }

    fn reward(&self, f: &StepFigures) -> f64 {
        let lost_mbps = f.lost * f.mss * 8e-6 / f.span_s.max(1e-9);
        let delay = if f.rtt_ms <= BETA * f.least_rtt_ms { f.least_rtt_ms } else { f.rtt_ms };
        if f.most_mbps <= 0.0 || delay <= 0.0 {
            return 0.0;
        }
        (f.delivered_mbps - ZETA * lost_mbps) / delay / (f.most_mbps / f.least_rtt_ms)
    }
}
