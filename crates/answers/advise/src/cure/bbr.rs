//! BBR v1 at the sender: it does not take every loss for congestion, and paces.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;

/// BBR at the sender.
pub struct BbrControl;

impl Cure for BbrControl {
    fn name(&self) -> &'static str {
        "bbr"
    }
    fn about(&self) -> &'static str {
        "BBR as the sender's congestion control: it sends at the rate it measures instead of backing off at each loss."
    }
    fn applies(&self) -> &'static str {
        "where a host whose TCP is not Windows' sends data under another congestion control"
    }
    fn hurts(&self) -> &'static str {
        "Behind a policer it loses many packets, and beside CUBIC in a short queue it takes most of the rate."
    }
    fn lever(&self) -> Lever {
        Lever::Control
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        tune::control(self, s, "bbr", "BBR")
    }
}
