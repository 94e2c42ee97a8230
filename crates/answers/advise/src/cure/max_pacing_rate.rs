//! `SO_MAX_PACING_RATE` just below the rate of a policer, or of the link behind a short queue, so that
//! nothing exceeds it and nothing is dropped.

use super::{Cure, CureOption, Lever, pace, tune};
use crate::situation::{self, StagePlace};
use crate::{DataPath, Situation};
use path::StageLimit;
use result::{ChangePlace, CommandSet, sender};
use scenario::Scenario;
use units::Rate;

pub struct MaxPacingRate;

/// Share of the rate that is used, which leaves room for acknowledgements and retransmissions.
const USED_SHARE: f64 = 0.97;

impl MaxPacingRate {
    /// Returns the stages that drop what exceeds their rate: policers, and queues that are too short.
    fn droppers(s: &Situation<'_>) -> Vec<StagePlace> {
        let shallow = |p: &StagePlace| {
            let depth = situation::queue(s.stage(*p)).map(|q| situation::depth(&q));
            depth.zip(s.right_depth(*p)).is_some_and(|(now, right)| now < right)
        };
        let queues = s.bottlenecks().into_iter().filter(shallow);
        s.policers().into_iter().chain(s.policers_of_flows()).chain(queues).collect()
    }

    /// Returns each connection's share of a stage's rate, after datagrams have taken theirs.
    fn share_of(s: &Situation<'_>, place: StagePlace) -> Option<Rate> {
        let rate = s.rate_of(place)?.as_bps();
        if matches!(s.stage(place).limit(), StageLimit::Each(_)) {
            return Some(Rate::from_bps(rate));
        }
        let reference = s.reference();
        let counts = s.through(place).map(|w| u64::from(reference.flows[w.flow].count));
        let connections =
            if reference.one_at_a_time { counts.max().unwrap_or(1) } else { counts.sum::<u64>().max(1) };
        Some(Rate::from_bps(rate.saturating_sub(s.taken_by_datagrams(place).as_bps()) / connections))
    }

    /// Returns the flows that pass such a stage, with the payload rate for each of their connections.
    fn rates(s: &Situation<'_>) -> Vec<(usize, Rate)> {
        let reference = s.reference();
        let mut rates: Vec<(usize, Rate)> = Vec::new();
        for place in MaxPacingRate::droppers(s) {
            let Some(each) = MaxPacingRate::share_of(s, place).filter(|r| r.as_bps() > 0) else { continue };
            for path in s.through(place) {
                let flow = &reference.flows[path.flow];
                if !tune::is_linux(reference, path.from) || flow.tool.is_some() {
                    continue;
                }
                let [payload, outer] = path.sizes_at(reference, place);
                let rate = tune::share(each, USED_SHARE * f64::from(payload) / f64::from(outer));
                match rates.iter_mut().find(|(f, _)| *f == path.flow) {
                    Some((_, known)) => *known = rate.min(*known),
                    None => rates.push((path.flow, rate)),
                }
            }
        }
        rates.retain(|(f, rate)| reference.flows[*f].max_pacing_rate.is_none_or(|now| now > *rate));
        rates
    }
}

impl Cure for MaxPacingRate {
    fn name(&self) -> &'static str {
        "max-pacing-rate"
    }
    fn about(&self) -> &'static str {
        "A cap of the pacing rate at the sender, just below the connection's share of the rate of a policer or a short queue, so that nothing exceeds it."
    }
    fn applies(&self) -> &'static str {
        "where TCP data of a host with a non-Windows TCP meets a policer that drops, or at the slowest link a queue that holds less \
         than the bandwidth-delay product or all initial windows"
    }
    fn hurts(&self) -> &'static str {
        "The share is fixed: a single connection gets no more, and with more connections than expected packets are lost again."
    }
    fn lever(&self) -> Lever {
        Lever::Pacing
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let rates = MaxPacingRate::rates(s);
        if rates.is_empty() {
            return Vec::new();
        }
        let path = |flow: usize| s.paths.iter().find(|w| w.flow == flow);
        let paths: Vec<(&DataPath, Rate)> =
            rates.iter().filter_map(|&(flow, rate)| Some((path(flow)?, rate))).collect();
        let mut commands: Vec<CommandSet> = paths
            .iter()
            .flat_map(|(path, rate)| sender::pacing_cap_in_program(s.host(path.from), *rate))
            .collect();
        for host in s.senders() {
            let of_host = || paths.iter().filter(|(path, _)| path.from == host).map(|(_, rate)| *rate);
            // A single cap for the interface fits if all connections have the same one.
            if let Some(rate) = of_host().next().filter(|first| of_host().all(|rate| rate == *first)) {
                let set = sender::pacing_cap_at_interface(s.host(host), rate);
                commands.push(set.towards(pace::next_of(s, host)));
            }
        }
        let common = rates.first().map(|(_, rate)| *rate);
        let common = common.filter(|first| rates.iter().all(|(_, rate)| rate == first));
        let remedy = sender::pacing_cap(common).by(commands);
        let mut shown: Vec<String> = rates.iter().map(|(_, rate)| tune::rate_in_words(*rate)).collect();
        shown.dedup();
        let title = format!("SO_MAX_PACING_RATE of {} per connection", shown.join(" and "));
        let change = move |s: &mut Scenario| {
            rates.iter().for_each(|&(f, rate)| s.flows[f].max_pacing_rate = Some(rate))
        };
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with([remedy])]
    }
}
