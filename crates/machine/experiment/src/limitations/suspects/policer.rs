//! Policers that drop packets. They are replaced by a shaper with the same rate.

use super::{Removal, Suspect};
use crate::limitations::case::{Case, SeenStage};
use path::queue::Fifo;
use path::{Class, Htb, QueueConfig, Shaper, Stage, StageLimit};
use result::LimitationKind;
use units::{Bytes, Rate};

/// Maximum number of connections with a shaper each.
const MAX_CONNECTIONS: u32 = 64;

pub(super) struct Policers;

fn queue(case: &Case<'_>, rate: Rate) -> QueueConfig {
    QueueConfig::Fifo(Fifo { packets: None, bytes: Some(case.bdp(rate)) })
}

fn shaper(case: &Case<'_>, rate: Rate) -> Stage {
    Shaper { queue: Some(queue(case, rate)), ..Shaper::new(rate) }.into()
}

/// One class per flow number: two for each connection, one for each datagram flow.
fn shaper_each(case: &Case<'_>, rate: Rate) -> Option<Stage> {
    let connections =
        |(_, f): (usize, &scenario::Flow)| f.count * f.app.connections() * (1 + f.via.len() as u32);
    let count: u32 = case.flows().map(connections).sum();
    let class = |flow: u32| Class {
        burst: Some(Bytes::new(3028)),
        flows: vec![flow],
        queue: Some(queue(case, rate)),
        ..Class::new(format!("flow-{flow}"), rate)
    };
    (count <= MAX_CONNECTIONS).then(|| Htb { classes: (0..2 * count).map(class).collect() }.into())
}

impl Suspect for Policers {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Policer
    }

    fn find(&self, case: &Case<'_>) -> Vec<Removal> {
        let shaped = |s: SeenStage<'_>| {
            let Stage::Policer(policer) = s.stage else { return None };
            let new = match s.stage.limit() {
                // One traffic class of the direction.
                StageLimit::None if policer.largest().is_some() && !policer.dscp.is_empty() => {
                    policer.as_shaper(queue(case, policer.rate))
                }
                StageLimit::Shared(rate) if rate.as_bps() > 0 => shaper(case, rate),
                StageLimit::Each(rate) if rate.as_bps() > 0 => shaper_each(case, rate)?,
                _ => return None,
            };
            let rate_mbps = case.rate(s.stage).map(Rate::as_mbps);
            Some(Removal { rate_mbps, ..Removal::replaced(self.kind(), &s, new) })
        };
        case.stages().into_iter().filter(|s| s.element.dropped_packets > 0).filter_map(shaped).collect()
    }
}
