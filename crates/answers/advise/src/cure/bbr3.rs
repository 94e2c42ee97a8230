//! BBR v3 at the sender: BBR that backs off at heavy loss.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;

pub struct Bbr3Control;

impl Cure for Bbr3Control {
    fn name(&self) -> &'static str {
        "bbr3"
    }
    fn about(&self) -> &'static str {
        "BBR v3 as the sender's congestion control: BBR that backs off where it causes loss above 2 %, and leaves room for others."
    }
    fn applies(&self) -> &'static str {
        "where a host with a non-Windows TCP sends data with another congestion control"
    }
    fn hurts(&self) -> &'static str {
        "On paths with more than 2 % random loss it backs off as if that were congestion; no released kernel has it."
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
