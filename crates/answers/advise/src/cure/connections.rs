//! Several connections for what one did: each loss costs one of them its window and not all.

use super::{Cure, CureOption, Lever};
use crate::command::lines;
use crate::{Actor, CommandSet, Platform, Situation};
use scenario::Scenario;
use transport::App;
use units::Bytes;

/// Four times as many connections.
pub struct MoreConnections;

/// How many for each.
const TIMES: u32 = 4;
/// More connections than these are many already.
const MANY: u32 = 8;

impl Cure for MoreConnections {
    fn name(&self) -> &'static str {
        "connections"
    }
    fn about(&self) -> &'static str {
        "Four connections for each, which share the bytes: a loss costs a quarter of the windows only."
    }
    fn applies(&self) -> &'static str {
        "where bulk data goes over up to eight connections"
    }
    fn hurts(&self) -> &'static str {
        "They take four shares from others where a queue is shared, and behind a small policer lose four times as often."
    }
    fn lever(&self) -> Lever {
        Lever::Connections
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let bulk = |f: usize| {
            let flow = &s.reference().flows[f];
            matches!(flow.app, App::Bulk { .. }) && flow.count <= MANY && flow.tool.is_none()
        };
        let flows: Vec<usize> = s.ways.iter().map(|w| w.flow).filter(|&f| bulk(f)).collect();
        if flows.is_empty() {
            return Vec::new();
        }
        let host = s.ways.iter().find(|w| w.flow == flows[0]).map_or("", |w| s.host(w.from));
        let commands = [CommandSet::on(
            Platform::Application,
            host,
            "a program that can: iperf3 -P, aria2c -x, rclone --multi-thread-streams, lftp pget -n",
            lines(&format!("aria2c -x {TIMES} -s {TIMES} URL")),
            lines("aria2c -x 1 URL"),
        )];
        let change = move |s: &mut Scenario| {
            for &flow in &flows {
                let flow = &mut s.flows[flow];
                // The last one begins when it did.
                flow.stagger = units::Span::from_nanos(flow.stagger.as_nanos() / u64::from(TIMES));
                flow.count *= TIMES;
                if let App::Bulk { bytes: Some(bytes), .. } = &mut flow.app {
                    *bytes = Bytes::new(bytes.get().div_ceil(u64::from(TIMES)));
                }
            }
        };
        let title = format!("{TIMES} connections for each");
        vec![CureOption::new(self, title, &[Actor::Sender], change).with(commands)]
    }
}
