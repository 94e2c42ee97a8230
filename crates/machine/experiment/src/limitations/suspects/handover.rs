//! Handovers between cells: the gap, its losses, the slow time before it and the longer path after it.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use path::{Link, Stage};
use result::LimitationKind;
use units::Span;

pub(super) struct Handovers;

impl Suspect for Handovers {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Handover
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let without = |s: SeenStage<'_>| match s.stage {
            Stage::Handover(h) => {
                let queue = h.queue.clone();
                let link = Link { rate: h.rate, delay: h.delay, mtu: h.mtu, icmp: h.icmp, queue };
                Some(Removal::replaced(self.kind(), &s, link.into()))
            }
            Stage::Train(train) => {
                let mut train = train.clone();
                (train.failures, train.among, train.failed) = (None, None, Vec::new());
                (train.failure_probability, train.lasts) = (Some(0.0), Span::from_nanos(1));
                Some(Removal::replaced(self.kind(), &s, train.into()))
            }
            _ => None,
        };
        case.stages().into_iter().filter_map(without).collect()
    }
}
