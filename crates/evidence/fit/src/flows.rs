//! The flows that are played: what each sends, with which congestion control, from when.

use crate::observed::{ObservedFlow, ObservedPath};
use result::Cause;
use std::collections::BTreeMap;

/// What a flow's application does.
#[derive(Clone, Debug, PartialEq)]
pub enum FittedApp {
    /// As fast as TCP lets it, to the end.
    Bulk,
    /// So many bytes.
    Bytes(u64),
    /// Bursts of seconds, pauses of seconds, at a rate in bit/s or as fast as TCP lets it.
    OnOff(f64, f64, Option<f64>),
    /// Requests of 400 B; answers of bytes; seconds between an answer and the next request.
    Request(f64, f64),
}

/// Flows alike.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedFlow {
    /// In the scenario.
    pub name: String,
    /// From the receiver's host to the sender's.
    pub backward: bool,
    /// How many connections.
    pub count: u32,
    /// Seconds from the begin of the scenario.
    pub start_s: f64,
    /// Seconds between two starts.
    pub stagger_s: f64,
    /// Congestion control.
    pub cc: String,
    /// How sure that is, 0 to 1; 0: it is assumed.
    pub cc_confidence: f64,
    /// What is sent.
    pub app: FittedApp,
    /// Flows of the diagnosis that it stands for, by `id`.
    pub ids: Vec<u32>,
    /// As [`ObservedFlow::policer`]: which of the path's own policers it passes.
    pub policer: Option<usize>,
}

impl FittedFlow {
    /// Whether the capture tells the congestion control; else it is assumed.
    pub fn cc_is_told(&self) -> bool {
        self.cc_confidence >= CC_TOLD
    }
}

/// Bursts that make an application one that pauses.
const MANY: u32 = 3;
/// Share of the time from which on the application is played as what limits.
const APP_LIMITS: f64 = 0.12;
/// Below this a guess of the congestion control is no opinion.
const CC_TOLD: f64 = 0.5;

/// Flows of the path, alike ones together.
pub fn flows(seen: &ObservedPath) -> Vec<FittedFlow> {
    let common = common_cc(seen);
    let end = seen.start_s + seen.span_s;
    let mut groups: Vec<FittedFlow> = Vec::new();
    let mut starts: Vec<Vec<f64>> = Vec::new();
    let mut order: Vec<&ObservedFlow> = seen.flows.iter().collect();
    order.sort_by(|a, b| a.flow.start_s.total_cmp(&b.flow.start_s));
    for f in order {
        let told = f.flow.cc.name != "other" && f.flow.cc.confidence >= CC_TOLD;
        let (cc, sure) = match told {
            true => (f.flow.cc.name.clone(), f.flow.cc.confidence),
            false => common.clone(),
        };
        let app = match seen.host_rate() {
            Some(rate) if !f.backward => FittedApp::OnOff(3600.0, 1.0, Some(rate)),
            _ => app(f, end),
        };
        let start = f.flow.start_s - seen.start_s;
        let alike = groups.iter().position(|g| {
            let same_way = g.backward == f.backward && g.policer == f.policer;
            same_way && g.cc == cc && g.app == app && (app == FittedApp::Bulk || seen.host_rate().is_some())
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

/// The congestion control that most of the flows seem to have: one host has one default.
fn common_cc(seen: &ObservedPath) -> (String, f64) {
    let mut votes: BTreeMap<&str, f64> = BTreeMap::new();
    for f in seen.flows.iter().filter(|f| f.flow.cc.name != "other" && f.flow.cc.confidence > 0.0) {
        *votes.entry(&f.flow.cc.name).or_default() += f.flow.cc.confidence;
    }
    let all: f64 = votes.values().sum();
    let best = votes.iter().max_by(|a, b| a.1.total_cmp(b.1));
    match best {
        Some((name, votes)) if *votes >= CC_TOLD => ((*name).to_string(), (votes / all).min(*votes).min(0.9)),
        _ => ("cubic".into(), 0.0),
    }
}

/// What the flow's application did; `end` is when the capture's last flow ended.
fn app(f: &ObservedFlow, end: f64) -> FittedApp {
    let m = &f.flow.measures;
    // Also where something else limits more of the time: nothing was on its way.
    let idle = m.idle_s / f.flow.duration_s.max(1e-3);
    let waits = f.flow.share(Cause::Application).max(if f.facts.app_bursts >= MANY { idle } else { 0.0 });
    if waits >= APP_LIMITS {
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
        // It writes all the time, at a rate.
        return FittedApp::OnOff(3600.0, 1.0, Some(goodput));
    }
    let off = waits.min(0.98) * f.flow.duration_s / bursts;
    let on = (f.flow.duration_s / bursts - off).max(1e-3);
    FittedApp::OnOff(on, off, None)
}
