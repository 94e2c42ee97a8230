//! BBR v1 at the sender: it paces, and does not take every loss for congestion.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;

pub struct BbrControl;

impl Cure for BbrControl {
    fn name(&self) -> &'static str {
        "bbr"
    }
    fn about(&self) -> &'static str {
        "BBR as the sender's congestion control: it sends at the measured delivery rate instead of backing off at each loss."
    }
    fn applies(&self) -> &'static str {
        "where a host with a non-Windows TCP sends data with another congestion control"
    }
    fn hurts(&self) -> &'static str {
        "At a policer it loses many packets, and in a short queue shared with CUBIC it takes most of the rate."
    }
    fn lever(&self) -> Lever {
        Lever::Control
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        tune::control(self, s, "bbr", "BBR")
    }
}
