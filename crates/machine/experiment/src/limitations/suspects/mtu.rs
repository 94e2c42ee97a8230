//! Packets that are rejected, silently dropped or fragmented because they are too big.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use path::Stage;
use result::LimitationKind;

pub(super) struct Mtu;

fn remove_mtu(stage: &mut Stage) {
    let (mtu, icmp) = match stage {
        Stage::Link(s) => (&mut s.mtu, &mut s.icmp),
        Stage::Handover(s) => (&mut s.mtu, &mut s.icmp),
        Stage::Train(s) => (&mut s.mtu, &mut s.icmp),
        Stage::RateTrace(s) => (&mut s.mtu, &mut s.icmp),
        Stage::Tunnel(s) => {
            s.fragment = false;
            (&mut s.mtu, &mut s.icmp)
        }
        _ => return,
    };
    (*mtu, *icmp) = (None, None);
}

impl Suspect for Mtu {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Mtu
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let narrow = |s: &SeenStage<'_>| s.element.too_big_packets > 0 || s.element.fragmented_packets > 0;
        let stages = case.stages().into_iter().filter(narrow);
        stages.map(|s| Removal::of_stage(self.kind(), &s, remove_mtu)).collect()
    }
}
