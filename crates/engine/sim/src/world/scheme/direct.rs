//! Window and pacing rate, each by a factor: the widest space of the four, and the plainest reward.
//!
//! An action is two numbers, -1 to 1: powers of two by which the window and the pacing rate are multiplied. The reward is
//! the logarithm (base 2) of 1 and the Mbit/s delivered, so that a doubling is worth the same on any path, less twice the
//! share that was lost, less a fifth of the standing delay as a share of the least round trip, at most 1.

use super::{ActionSpace, Scheme, ratio, set_cwnd, set_rate};
use crate::world::StepFigures;
use congestion::{Socket, Window};

const LOSS: f64 = 2.0;
const DELAY: f64 = 0.2;

/// See above.
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
        libm::log2(1.0 + f.delivered_mbps) - LOSS * f.loss_share() - DELAY * standing
    }
}
