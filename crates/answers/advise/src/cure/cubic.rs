//! CUBIC at the sender: the default of most hosts, and gentler to others than BBR where a queue is short.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;

pub struct CubicControl;

impl Cure for CubicControl {
    fn name(&self) -> &'static str {
        "cubic"
    }
    fn about(&self) -> &'static str {
        "CUBIC as the sender's congestion control: it fills queues and backs off at each loss."
    }
    fn applies(&self) -> &'static str {
        "where a host with a non-Windows TCP sends data with another congestion control"
    }
    fn hurts(&self) -> &'static str {
        "On long paths each random loss costs seconds, and it keeps long queues full."
    }
    fn lever(&self) -> Lever {
        Lever::Control
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        tune::control(self, s, "cubic", "CUBIC")
    }
}
