//! `SO_MAX_PACING_RATE` just below what the policer lets through: nothing is dropped because nothing exceeds.

use super::{Cure, CureOption, Lever, tune};
use crate::command::lines;
use crate::{Actor, CommandSet, Platform, Situation};
use scenario::Scenario;
use units::Rate;

/// An upper bound of the pacing rate.
pub struct MaxPacingRate;

/// Of what the policer lets through, so that acknowledgements and retransmissions find room.
const SHARE: f64 = 0.97;

impl MaxPacingRate {
    /// Flows through policers and the payload rate for each of their connections.
    fn rates(s: &Situation<'_>) -> Vec<(usize, Rate)> {
        let reference = s.reference();
        let mut rates: Vec<(usize, Rate)> = Vec::new();
        for place in s.policers() {
            let Some(policed) = s.policed_rate(place) else { continue };
            let ways: Vec<_> = s.through(place).collect();
            let all: u64 = ways.iter().map(|w| u64::from(reference.flows[w.flow].count)).sum();
            for way in ways {
                let flow = &reference.flows[way.flow];
                if !tune::is_linux(reference, way.from) || flow.tool.is_some() {
                    continue;
                }
                let connections = if reference.one_at_a_time { u64::from(flow.count) } else { all };
                let [payload, outer] = way.sizes_at(reference, place);
                let of_wire = f64::from(payload) / f64::from(outer) / connections as f64;
                let rate = tune::share(policed, SHARE * of_wire);
                match rates.iter_mut().find(|(f, _)| *f == way.flow) {
                    Some((_, known)) => *known = rate.min(*known),
                    None => rates.push((way.flow, rate)),
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
        "SO_MAX_PACING_RATE at the sender, just below the connection's share of the policed rate: nothing exceeds it."
    }
    fn applies(&self) -> &'static str {
        "where a policer drops what a Linux host sends"
    }
    fn hurts(&self) -> &'static str {
        "It is a fixed share: a connection alone gets no more, and more connections than were counted lose again."
    }
    fn lever(&self) -> Lever {
        Lever::Pacing
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let rates = MaxPacingRate::rates(s);
        if rates.is_empty() {
            return Vec::new();
        }
        let of = |(flow, rate): &(usize, Rate)| {
            let host = s.ways.iter().find(|w| w.flow == *flow).map_or("", |w| s.host(w.from));
            CommandSet::on(
                Platform::Application,
                host,
                "Linux 4.13; before with the fq queue discipline (3.13)",
                lines(&format!(
                    "unsigned int rate = {};  /* bytes a second */\n\
                     setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);",
                    rate.as_bps() / 8
                )),
                lines("leave the call out"),
            )
        };
        let commands: Vec<CommandSet> = rates.iter().map(of).collect();
        let mut told: Vec<String> = rates.iter().map(|(_, rate)| rate.to_string()).collect();
        told.dedup();
        let title = format!("SO_MAX_PACING_RATE of {} a connection", told.join(" and "));
        let change = move |s: &mut Scenario| {
            rates.iter().for_each(|&(f, rate)| s.flows[f].max_pacing_rate = Some(rate))
        };
        vec![CureOption::new(self, title, &[Actor::Sender], change).with(commands)]
    }
}
