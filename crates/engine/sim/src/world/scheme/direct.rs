//! Window and pacing rate, each multiplied by a factor: the largest action space of the four schemes, and the
//! simplest reward.
//!
//! An action is two numbers, -1 to 1: the binary logarithms of the factors of window and pacing rate. The
//! reward is log2(1 + Mbit/s delivered), so that a doubling counts the same on any path. Twice the share of
//! lost packets is subtracted, and a fifth of the standing delay as a share of the minimum RTT (at most 1).

use super::{ActionSpace, Scheme, ratio, set_cwnd, set_rate};
use crate::world::StepFigures;
use congestion::{Socket, Window};

const LOSS_WEIGHT: f64 = 2.0;
const DELAY_WEIGHT: f64 = 0.2;

/// The scheme of this module.
pub struct Direct;

impl Scheme for Direct {
    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box { len: 2, low: -1.0, high: 1.0 }
    }
    fn features(&self) -> usize {
        6
    }
    fn history(&self) -> usize {
        1
    }
    fn paced(&self) -> bool {
        true
    }

    fn act(&mut self, action: &[f64], _: &StepFigures, _: &Socket, w: &mut Window) {
        set_cwnd(w, f64::from(w.cwnd) * libm::exp2(action[0]));
        set_rate(w, w.pacing_rate as f64 * libm::exp2(action[1]));
    }

    fn observe(&self, f: &StepFigures, out: &mut [f64]) {
        out[0] = ratio(f.delivered_mbps, f.most_mbps);
        out[1] = f.loss_share();
        out[2] = ratio(f.rtt_ms, f.least_rtt_ms) - 1.0;
        out[3] = ratio(f.inflight, f.cwnd);
        out[4] = ratio(f.sent_mbps, f.pacing_mbps);
        out[5] = ratio(f.pacing_mbps, f.most_mbps).min(8.0);
    }

    fn reward(&self, f: &StepFigures) -> f64 {
        let standing = (ratio(f.rtt_ms, f.least_rtt_ms) - 1.0).clamp(0.0, 1.0);
        libm::log2(1.0 + f.delivered_mbps) - LOSS_WEIGHT * f.loss_share() - DELAY_WEIGHT * standing
    }
}
