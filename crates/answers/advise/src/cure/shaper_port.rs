//! A shaper on the port where data leaves its host, for all traffic of that port. It is meant for a policer
//! further on, in front of which no shaper can be placed. The rate is reduced by the headers that tunnels add
//! before the policer.

use super::shaper_front::{Matched, named_stage};
use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use crate::situation::{StagePlace, stages_mut};
use path::{Shaper, Stage};
use result::{Change, ChangePlace};
use scenario::Scenario;

pub struct ShaperAtPort;

impl ShaperAtPort {
    /// Returns the places of the shapers and their settings. A place exists if all data of a policer leaves
    /// through one port that is not on the policer's own link.
    fn ports(s: &Situation<'_>) -> Vec<(StagePlace, Matched)> {
        let port = |policer: StagePlace| {
            let paths: Vec<_> = s.through(policer).collect();
            let first = paths.first()?.hops.first()?;
            let shared = paths.iter().all(|w| w.hops.first() == Some(first));
            let own = (first.link, first.forward) == (policer.link, policer.forward);
            // A relay on the path sends with its own bursts and undoes the shaping.
            let relayed = paths.iter().any(|w| !s.reference().flows[w.flow].via.is_empty());
            let place = StagePlace { link: first.link, forward: first.forward, index: 0 };
            let inner_policer = s.places(|stage| matches!(stage, Stage::Policer(_)));
            if !shared || own || relayed || inner_policer.contains(&place) {
                return None;
            }
            let sizes = paths.iter().map(|w| {
                let [_, outer] = w.sizes_at(s.reference(), policer);
                let [_, here] = w.sizes_at(s.reference(), w.stages[0]);
                f64::from(here) / f64::from(outer)
            });
            Some((place, Matched::of(s, policer, sizes.fold(1.0, f64::min))?))
        };
        let mut ports: Vec<(StagePlace, Matched)> = Vec::new();
        for (place, matched) in s.policers().into_iter().filter_map(port) {
            match ports.iter_mut().find(|(p, _)| *p == place) {
                Some((_, known)) if known.rate > matched.rate => *known = matched,
                Some(_) => {}
                None => ports.push((place, matched)),
            }
        }
        ports
    }
}

impl Cure for ShaperAtPort {
    fn name(&self) -> &'static str {
        "shaper-port"
    }
    fn about(&self) -> &'static str {
        "A shaper on the sending host's port, for all traffic that leaves there, below the rate of a policer further on."
    }
    fn applies(&self) -> &'static str {
        "where all TCP data of a policer with one bucket for all flows, of 1500 bytes or more, leaves through one port that is not on the \
         policer's own link and has no policer first, and passes no proxy"
    }
    fn hurts(&self) -> &'static str {
        "Traffic of the port to other destinations is slowed down too, and other hosts that use the policer are not counted."
    }
    fn lever(&self) -> Lever {
        Lever::Limiter
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let ports = ShaperAtPort::ports(s);
        if ports.is_empty() {
            return Vec::new();
        }
        let hosts: Vec<&str> = ports.iter().map(|(p, _)| s.ends(*p)[0]).collect();
        let Matched { rate, .. } = &ports[0].1;
        let rate = tune::rate_in_words(*rate);
        let title = format!("a shaper of {rate} with FQ-CoDel on the port of {}", hosts.join(", "));
        let remedies: Vec<Change> =
            ports.iter().map(|(p, m)| m.remedy(ChangePlace::Sender, s.ends(*p), true)).collect();
        let shapers: Vec<(StagePlace, Shaper)> = ports.iter().map(|(p, m)| (*p, m.stage(true))).collect();
        let change = move |s: &mut Scenario| {
            for (place, shaper) in &shapers {
                let list = stages_mut(s, *place);
                let stage = named_stage(list, shaper.clone());
                list.insert(0, stage);
            }
        };
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with(remedies)]
    }
}
