//! Several connections instead of one: each loss reduces the window of only one of them.

use super::{Cure, CureOption, Lever};
use crate::Situation;
use result::{ChangePlace, sender};
use scenario::Scenario;
use transport::App;
use units::Bytes;

pub struct MoreConnections;

/// Number of connections for each existing one.
const FACTOR: u32 = 4;
/// Limit of a flow's connections up to which more are tried.
const MAX_CONNECTIONS: u32 = 8;

impl Cure for MoreConnections {
    fn name(&self) -> &'static str {
        "connections"
    }
    fn about(&self) -> &'static str {
        "Four connections instead of one, which share the bytes: a loss reduces only a quarter of the windows."
    }
    fn applies(&self) -> &'static str {
        "where up to eight connections carry bulk data, and no program of the scenario opens them"
    }
    fn hurts(&self) -> &'static str {
        "They take four shares of a shared queue, and at a small policer they lose packets four times as often."
    }
    fn is_at_one_host(&self) -> bool {
        true
    }
    fn lever(&self) -> Lever {
        Lever::Connections
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let bulk = |f: usize| {
            let flow = &s.reference().flows[f];
            matches!(flow.app, App::Bulk { .. }) && flow.count <= MAX_CONNECTIONS && flow.tool.is_none()
        };
        let flows: Vec<usize> = s.paths.iter().map(|w| w.flow).filter(|&f| bulk(f)).collect();
        if flows.is_empty() {
            return Vec::new();
        }
        let [from, to] =
            s.paths.iter().find(|w| w.flow == flows[0]).map_or(["", ""], |w| [s.host(w.from), s.host(w.to)]);
        let single = flows.iter().all(|&f| s.reference().flows[f].count == 1);
        let title = match (single, flows.len()) {
            (true, 1) => format!("{FACTOR} connections instead of 1"),
            (true, _) => format!("{FACTOR} connections instead of 1 for each flow"),
            (false, _) => format!("{FACTOR} times as many connections"),
        };
        let change = move |s: &mut Scenario| {
            for &flow in &flows {
                let flow = &mut s.flows[flow];
                // The last connection still begins at the same time.
                flow.stagger = units::Span::from_nanos(flow.stagger.as_nanos() / u64::from(FACTOR));
                flow.count *= FACTOR;
                if let App::Bulk { bytes: Some(bytes), .. } = &mut flow.app {
                    *bytes = Bytes::new(bytes.get().div_ceil(u64::from(FACTOR)));
                }
            }
        };
        let remedy = sender::more_connections(from, to, FACTOR);
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with([remedy])]
    }
}
