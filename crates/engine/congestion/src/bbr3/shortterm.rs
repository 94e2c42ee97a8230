//! The short-term model: loss while not probing indicates that less bandwidth or less room in the
//! queue is available than the last probe found. After each round with a loss, bw_shortterm and
//! inflight_shortterm fall to what the path delivered in that round, by at most 30 %. They are
//! reset before the next probe.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "When not Probing for Bandwidth".

use super::Bbr3;
use super::params::beta;
use crate::Window;

/// The short-term bounds; `None` is unbounded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ShortTerm {
    pub bw: Option<u64>,
    /// Packets.
    pub inflight: Option<u32>,
}

impl Bbr3 {
    /// InitLowerBounds, LossLowerBounds.
    pub(super) fn lower_bounds(&mut self, w: &Window) {
        let bw = self.short.bw.unwrap_or(self.max_bw.get());
        let inflight = self.short.inflight.unwrap_or(w.cwnd);
        self.short.bw = Some(self.latest.bw.max(beta(bw)));
        self.short.inflight = Some(self.latest.inflight.max(beta(inflight as u64) as u32));
    }
}
