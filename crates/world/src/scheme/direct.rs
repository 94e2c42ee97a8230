//! Window and pacing rate, each by a factor: the widest space of the four, and the plainest reward.
//!
//! An action is two numbers, -1 to 1: powers of two by which the window and the pacing rate are multiplied. The reward is
//! what was delivered less what was lost, as a share of the most that any step delivered, and less a fifth of the
//! standing delay as a share of the least round trip, at most 1.

use super::{ActionSpace, Scheme, ratio, set_cwnd, set_rate};
use crate::Figures;
use congestion::{Socket, Window};

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

    fn act(&mut self, action: &[f64], _: &Figures, _: &Socket, w: &mut Window) {
        set_cwnd(w, f64::from(w.cwnd) * libm::exp2(action[0]));
        set_rate(w, w.pacing_rate as f64 * libm::exp2(action[1]));
    }

    fn observe(&self, f: &Figures, out: &mut [f64]) {
        out[0] = ratio(f.delivered_mbps, f.most_mbps);
        out[1] = f.loss_share();
        out[2] = ratio(f.rtt_ms, f.least_rtt_ms) - 1.0;
        out[3] = ratio(f.inflight, f.cwnd);
        out[4] = ratio(f.sent_mbps, f.pacing_mbps);
        out[5] = ratio(f.pacing_mbps, f.most_mbps).min(8.0);
    }

    fn reward(&self, f: &Figures) -> f64 {
        let standing = (ratio(f.rtt_ms, f.least_rtt_ms) - 1.0).clamp(0.0, 1.0);
        ratio(f.delivered_mbps, f.most_mbps) - f.loss_share() - DELAY * standing
    }
}
