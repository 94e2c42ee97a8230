//! Queues that drop packets, either because they are full or by AQM. They are replaced by a queue as deep as
//! needed. A delay with a packet limit (netem's `limit`) is such a queue, too: it limits the data in flight.
//! There, 1.5 times the flows' bandwidth-delay product is enough; without a limit, the run on an otherwise
//! unlimited path would never end.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use crate::limitations::change::{queues, unlimited_queue};
use path::Stage;
use result::LimitationKind;

/// Two thirds of the usual packet size, bytes: a bandwidth-delay product holds more of these than full
/// packets.
const SMALL_PACKET: u64 = 1000;

pub(super) struct QueueLimit;

impl Suspect for QueueLimit {
    fn kind(&self) -> LimitationKind {
        LimitationKind::QueueLimit
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let possible_rate =
            case.tcp_flows().map(|(i, _)| case.bdp(case.possible_rate(i)).get()).max().unwrap_or(0);
        let enough = possible_rate / SMALL_PACKET;
        let widen =
            move |packets: &mut Option<u64>| *packets = packets.map(|n| n.saturating_mul(2).max(enough));
        let deepen = move |stage: &mut Stage| match stage {
            Stage::Delay(delay) => widen(&mut delay.packets),
            Stage::Jitter(jitter) => widen(&mut jitter.packets),
            stage => queues(stage).into_iter().for_each(|q| *q = unlimited_queue(q)),
        };
        let is_bounded_delay = |stage: &Stage| match stage {
            Stage::Delay(delay) => delay.packets.is_some(),
            Stage::Jitter(jitter) => jitter.packets.is_some(),
            _ => false,
        };
        let drops = |s: &SeenStage<'_>| s.element.dropped_packets + s.element.marked_packets > 0;
        // Outages are a suspect of their own.
        let queued = |s: &SeenStage<'_>| {
            !matches!(s.stage, Stage::Outage(_))
                && (is_bounded_delay(s.stage) || !queues(&mut s.stage.clone()).is_empty())
        };
        let stages = case.stages().into_iter().filter(|s| drops(s) && queued(s));
        stages.map(|s| Removal::of_stage(self.kind(), &s, deepen)).collect()
    }
}
