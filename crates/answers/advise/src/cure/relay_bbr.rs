//! A proxy that terminates TCP and sends on with BBR, for a lossy part of the path between it and the
//! receiver.

use super::{Cure, CureOption, Lever, relay};
use crate::Situation;
use congestion::Control;

pub struct NearRelayBbr;

impl Cure for NearRelayBbr {
    fn name(&self) -> &'static str {
        "proxy-bbr"
    }
    fn about(&self) -> &'static str {
        "A proxy between the ends that terminates TCP and sends on with BBR."
    }
    fn applies(&self) -> &'static str {
        "where TCP that its `from` sends without BBR, a proxy or a program passes a host at which no flow begins or ends"
    }
    fn hurts(&self) -> &'static str {
        "It is another machine to run; in a short queue shared with CUBIC, its BBR takes most of the rate."
    }
    fn lever(&self) -> Lever {
        Lever::Relay
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        Control::named("bbr").map_or_else(Vec::new, |bbr| relay::options(self, s, Some(bbr)))
    }
}
