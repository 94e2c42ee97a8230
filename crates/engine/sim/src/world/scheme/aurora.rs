//! Rate multiplied by a factor, after Jay, Rotman, Godfrey, Schapira, Tamar, "A Deep Reinforcement Learning
//! Perspective on Internet Congestion Control" (Aurora), ICML 2019, section 4.
//!
//! | paper | this implementation |
//! |---|---|
//! | a monitor interval of about one RTT | a step of any length that the caller chooses |
//! | x(t) = x(t-1)·(1 + αa) for a ≥ 0, x(t-1)/(1 - αa) otherwise, α = 0.025 | the same; an action is a / 10, -1 to 1 |
//! | latency gradient, latency ratio, send ratio of the last 10 intervals | the same, with 1 subtracted from the ratios |
//! | reward 10·throughput - 1000·latency - 2000·loss, throughput in packets/s | the same, divided by 1000 |
//! | no window | twice that of the rate, so that sending into a dead path ends |

use super::{ActionSpace, Scheme, ratio, set_cwnd, set_rate};
use crate::world::StepFigures;
use congestion::{Socket, Window};

const ALPHA: f64 = 0.025;
const ACTION_SCALE: f64 = 10.0;

/// The scheme of this module.
pub struct Aurora;

impl Scheme for Aurora {
    fn action_space(&self) -> ActionSpace {
        ActionSpace::Box { len: 1, low: -1.0, high: 1.0 }
    }
    fn features(&self) -> usize {
        3
    }
    fn history(&self) -> usize {
        10
    }
    fn paced(&self) -> bool {
        true
    }

    fn act(&mut self, action: &[f64], f: &StepFigures, s: &Socket, w: &mut Window) {
        let a = ACTION_SCALE * action[0];
        let rate = w.pacing_rate as f64;
        let rate = if a >= 0.0 { rate * (1.0 + ALPHA * a) } else { rate / (1.0 - ALPHA * a) };
        set_rate(w, rate);
        let window = 2.0 * w.pacing_rate as f64 * f.srtt_ms * 1e-3 / f64::from(s.mss);
        set_cwnd(w, window.max(10.0));
    }

    fn observe(&self, f: &StepFigures, out: &mut [f64]) {
        out[0] = f.rtt_slope;
        out[1] = ratio(f.rtt_ms, f.least_rtt_ms) - 1.0;
        out[2] = f.sent / f.delivered.max(1.0) - 1.0;
    }

    fn reward(&self, f: &StepFigures) -> f64 {
        let throughput = f.delivered / f.span_s.max(1e-9);
        (10.0 * throughput - 1000.0 * f.rtt_ms * 1e-3 - 2000.0 * f.loss_share()) * 1e-3
    }
}
