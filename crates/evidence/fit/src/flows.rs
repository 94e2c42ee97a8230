//! The flows of the scenario: what each sends, with which congestion control, and from when.

use crate::observed::{ObservedFlow, ObservedPath};
use result::Cause;
use std::collections::BTreeMap;

/// A flow's application.
#[derive(Clone, Debug, PartialEq)]
pub enum FittedApp {
    /// Sends as fast as TCP allows, to the end.
    Bulk,
    /// Sends this many bytes.
    Bytes(u64),
    /// Seconds of a burst, seconds of a pause, and the rate of a burst in bit/s; `None`: as fast as TCP
    /// allows.
    OnOff(f64, f64, Option<f64>),
    /// Bytes of an answer, and seconds from an answer to the next request of 400 B.
    Request(f64, f64),
}

/// A group of equal flows.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedFlow {
    /// Name in the scenario.
    pub name: String,
    /// The data go from the receiver's host to the sender's.
    pub backward: bool,
    /// Number of connections.
    pub count: u32,
    /// Seconds from the start of the scenario.
    pub start_s: f64,
    /// Seconds between two starts.
    pub stagger_s: f64,
    /// Congestion control.
    pub cc: String,
    /// Confidence in `cc`, 0 to 1; 0 if it is assumed.
    pub cc_confidence: f64,
    pub app: FittedApp,
    /// `id`s of the flows of the diagnosis.
    pub ids: Vec<u32>,
    /// Index of the policer on a link of its own that the flows pass, as [`ObservedFlow::policer`].
    pub policer: Option<usize>,
}

impl FittedFlow {
    /// Whether the capture shows the congestion control; else it is assumed.
    pub fn is_cc_known(&self) -> bool {
        self.cc_confidence >= MIN_CC_CONFIDENCE
    }
}

/// Least number of bursts of an application that pauses.
const MIN_BURSTS: u32 = 3;
/// The scenario reproduces the application's pauses if they limit the flow for at least this share of the
/// time.
const MIN_APP_SHARE: f64 = 0.12;
/// Least confidence of a guess of the congestion control.
const MIN_CC_CONFIDENCE: f64 = 0.5;

/// The flows of the path, equal ones grouped.
pub fn flows(seen: &ObservedPath) -> Vec<FittedFlow> {
    let common = common_cc(seen);
    let end = seen.start_s + seen.span_s;
    let mut groups: Vec<FittedFlow> = Vec::new();
    let mut starts: Vec<Vec<f64>> = Vec::new();
    let mut order: Vec<&ObservedFlow> = seen.flows.iter().collect();
    order.sort_by(|a, b| a.flow.start_s.total_cmp(&b.flow.start_s));
    for f in order {
        let is_known = f.flow.cc.name != "other" && f.flow.cc.confidence >= MIN_CC_CONFIDENCE;
        let (cc, sure) = match is_known {
            true => (f.flow.cc.name.clone(), f.flow.cc.confidence),
            false => common.clone(),
        };
        let app = match seen.host_rate() {
            Some(rate) if !f.backward => FittedApp::OnOff(3600.0, 1.0, Some(rate)),
            _ => app(f, end),
        };
        let start = f.flow.start_s - seen.start_s;
        let alike = groups.iter().position(|g| {
            let same_path = g.backward == f.backward && g.policer == f.policer;
            same_path && g.cc == cc && g.app == app && (app == FittedApp::Bulk || seen.host_rate().is_some())
        });
        match alike {
            Some(i) => {
                groups[i].count += 1;
                groups[i].ids.push(f.flow.id);
                starts[i].push(start);
            }
            None => {
                groups.push(FittedFlow {
                    name: format!("f{}", groups.len() + 1),
                    backward: f.backward,
                    count: 1,
                    start_s: start,
                    stagger_s: 0.0,
                    cc,
                    cc_confidence: sure,
                    app,
                    ids: vec![f.flow.id],
                    policer: f.policer,
                });
                starts.push(vec![start]);
            }
        }
    }
    for (group, starts) in groups.iter_mut().zip(&starts) {
        if let (Some(first), Some(last)) = (starts.first(), starts.last()) {
            group.stagger_s = (last - first) / (group.count.max(2) - 1) as f64;
        }
    }
    groups
}

/// The congestion control of most flows, with its confidence: a host has one default.
fn common_cc(seen: &ObservedPath) -> (String, f64) {
    let mut votes: BTreeMap<&str, f64> = BTreeMap::new();
    for f in seen.flows.iter().filter(|f| f.flow.cc.name != "other" && f.flow.cc.confidence > 0.0) {
        *votes.entry(&f.flow.cc.name).or_default() += f.flow.cc.confidence;
    }
    let all: f64 = votes.values().sum();
    let best = votes.iter().max_by(|a, b| a.1.total_cmp(b.1));
    match best {
        Some((name, votes)) if *votes >= MIN_CC_CONFIDENCE => {
            ((*name).to_string(), (votes / all).min(*votes).min(0.9))
        }
        _ => ("cubic".into(), 0.0),
    }
}

/// The application of a flow; `end` is the end of the capture's last flow.
fn app(f: &ObservedFlow, end: f64) -> FittedApp {
    let m = &f.flow.measures;
    // Pauses count even if another cause limits for more of the time: nothing was in flight then.
    let idle = m.idle_s / f.flow.duration_s.max(1e-3);
    let waits =
        f.flow.share(Cause::Application).max(if f.facts.app_bursts >= MIN_BURSTS { idle } else { 0.0 });
    if waits >= MIN_APP_SHARE {
        if let Some(r) = f.flow.responses.as_ref().filter(|r| r.exchanges >= 3) {
            let n = r.exchanges as f64;
            let think = m.idle_s / n;
            return FittedApp::Request(m.bytes as f64 / n, think);
        }
        return on_off(f, waits);
    }
    let rtt = m.rtt_ms.p50 / 1e3;
    let early = f.end_s() + (4.0 * rtt).max(0.02 * f.flow.duration_s) < end;
    let short = f.facts.ended && f.flow.duration_s < 100.0 * rtt;
    if early || short { FittedApp::Bytes(m.bytes) } else { FittedApp::Bulk }
}

fn on_off(f: &ObservedFlow, waits: f64) -> FittedApp {
    let m = &f.flow.measures;
    let goodput = m.goodput_mbps * 1e6;
    let bursts = f64::from(f.facts.app_bursts.max(1));
    let idle = m.idle_s.min(f.flow.duration_s * 0.98);
    if bursts < 3.0 || idle < 0.05 * f.flow.duration_s {
        // The application writes all the time, at a rate.
        return FittedApp::OnOff(3600.0, 1.0, Some(goodput));
    }
    let off = waits.min(0.98) * f.flow.duration_s / bursts;
    let on = (f.flow.duration_s / bursts - off).max(1e-3);
    FittedApp::OnOff(on, off, None)
}
