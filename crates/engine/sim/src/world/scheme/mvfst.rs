//! One of five changes of the window, after Sivakumar et al., "MVFST-RL: An Asynchronous RL Framework for
//! Congestion Control with Delayed Actions", 2019, section 3.
//!
//! | paper | this implementation |
//! |---|---|
//! | cwnd, cwnd/2, cwnd - 10, cwnd + 10, cwnd · 2 | the same, actions 0 to 4 |
//! | twenty statistics of an interval of 100 ms and the last twenty actions | nine that summarise them, and the last action, of ten steps |
//! | reward throughput - β·delay, MB/s and ms of the largest delay; β = 0.2 | the same, with the delay above the minimum, since the control is not responsible for the path's length |
//! | acts while its network still computes | acts at once |

use super::{ActionSpace, Scheme, ratio, set_cwnd};
use crate::world::StepFigures;
use congestion::{Socket, Window};

const BETA: f64 = 0.2;

/// The scheme of this module; it keeps the last action.
#[derive(Default)]
pub struct Mvfst {
    last: f64,
}

impl Scheme for Mvfst {
    fn action_space(&self) -> ActionSpace {
        ActionSpace::Discrete(5)
    }
    fn features(&self) -> usize {
        10
    }
    fn history(&self) -> usize {
        10
    }

    fn act(&mut self, action: &[f64], _: &StepFigures, _: &Socket, w: &mut Window) {
        self.last = action[0];
        let cwnd = f64::from(w.cwnd);
        set_cwnd(
            w,
            match action[0] as usize {
                1 => cwnd / 2.0,
                2 => cwnd - 10.0,
                3 => cwnd + 10.0,
                4 => cwnd * 2.0,
                _ => cwnd,
            },
        );
    }

    fn observe(&self, f: &StepFigures, out: &mut [f64]) {
        let least = f.least_rtt_ms;
        out[0] = ratio(f.delivered_mbps, f.most_mbps);
        out[1] = f.loss_share();
        out[2] = ratio(f.rtt_ms, least) - 1.0;
        out[3] = ratio(f.rtt_max_ms, least) - 1.0;
        out[4] = ratio(f.srtt_ms, least) - 1.0;
        out[5] = libm::log2(1.0 + f.cwnd) / 4.0;
        out[6] = ratio(f.inflight, f.cwnd);
        out[7] = libm::log2(1.0 + f.delivered_mbps) / 4.0;
        out[8] = f.timeouts;
        out[9] = self.last / 4.0;
    }

    fn reward(&self, f: &StepFigures) -> f64 {
        f.delivered_mbps / 8.0 - BETA * (f.rtt_max_ms - f.least_rtt_ms).max(0.0)
    }
}
