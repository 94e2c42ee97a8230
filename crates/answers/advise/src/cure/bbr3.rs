//! BBR v3 at the sender: BBR that backs off at heavy loss.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;

/// BBR v3 at the sender.
pub struct Bbr3Control;

impl Cure for Bbr3Control {
    fn name(&self) -> &'static str {
        "bbr3"
    }
    fn about(&self) -> &'static str {
        "BBR v3 as the sender's congestion control: BBR that gives way where it causes loss above 2 % and leaves room for others."
    }
    fn applies(&self) -> &'static str {
        "where a host whose TCP is not Windows' sends data under another congestion control"
    }
    fn hurts(&self) -> &'static str {
        "On paths that lose more than 2 % at random it backs off as if it were congestion; no released kernel has it."
    }
    fn is_released(&self) -> bool {
        false
    }
    fn lever(&self) -> Lever {
        Lever::Control
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        tune::control(self, s, "bbr3", "BBR v3")
    }
}
