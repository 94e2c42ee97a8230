//! Queues that drop, because they are full or early: as deep a queue as it needs instead. A delay that holds a bounded number
//! of packets (netem's `limit`) is such a queue, too: it bounds what is in flight. There half as many packets again as make the
//! flows' bandwidth-delay product are enough; without a bound a path that nothing else limits would be a run without end.

use super::{Removal, Suspect};
use crate::holders::case::{Case, SeenStage};
use crate::holders::change::{deep, queues};
use path::Stage;
use result::HolderKind;

/// Packets of two thirds of the usual size, bytes: more of them than full ones make a bandwidth-delay product.
const SMALL_PACKET: u64 = 1000;

pub(super) struct QueueLimit;

impl Suspect for QueueLimit {
    fn kind(&self) -> HolderKind {
        HolderKind::QueueLimit
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let possible = case.tcp_flows().map(|(i, _)| case.bdp(case.possible(i)).get()).max().unwrap_or(0);
        let enough = possible / SMALL_PACKET;
        let widen =
            move |packets: &mut Option<u64>| *packets = packets.map(|n| n.saturating_mul(2).max(enough));
        let deepen = move |stage: &mut Stage| match stage {
            Stage::Delay(delay) => widen(&mut delay.packets),
            Stage::Jitter(jitter) => widen(&mut jitter.packets),
            stage => queues(stage).into_iter().for_each(|q| *q = deep(q)),
        };
        let is_bounded_delay = |stage: &Stage| match stage {
            Stage::Delay(delay) => delay.packets.is_some(),
            Stage::Jitter(jitter) => jitter.packets.is_some(),
            _ => false,
        };
        let drops = |s: &SeenStage<'_>| s.element.dropped_packets + s.element.marked_packets > 0;
        // Of outages their own suspect says what they cost.
        let queued = |s: &SeenStage<'_>| {
            !matches!(s.stage, Stage::Outage(_))
                && (is_bounded_delay(s.stage) || !queues(&mut s.stage.clone()).is_empty())
        };
        let stages = case.stages().into_iter().filter(|s| drops(s) && queued(s));
        stages.map(|s| Removal::of_stage(self.kind(), &s, deepen)).collect()
    }
}
