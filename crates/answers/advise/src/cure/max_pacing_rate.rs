//! `SO_MAX_PACING_RATE` just below what a policer or the line behind a short queue lets through: nothing is dropped because
//! nothing exceeds.

use super::{Cure, CureOption, Lever, pace, tune};
use crate::situation::{self, StagePlace};
use crate::{DataWay, Situation};
use path::StageLimit;
use result::command::lines;
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet, LinuxSetting, Platform};
use scenario::Scenario;
use units::Rate;

/// An upper bound of the pacing rate.
pub struct MaxPacingRate;

/// Of what passes, so that acknowledgements and retransmissions find room.
const SHARE: f64 = 0.97;

impl MaxPacingRate {
    /// What drops what comes too fast: policers, and queues that hold less than they should.
    fn droppers(s: &Situation<'_>) -> Vec<StagePlace> {
        let shallow = |p: &StagePlace| {
            let depth = situation::queue(s.stage(*p)).map(|q| situation::depth(&q));
            depth.zip(s.right_depth(*p)).is_some_and(|(now, right)| now < right)
        };
        let queues = s.bottlenecks().into_iter().filter(shallow);
        s.policers().into_iter().chain(s.policers_of_flows()).chain(queues).collect()
    }

    /// What each connection gets of a place's rate once datagrams have theirs.
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

    /// Flows that meet a dropper and the payload rate for each of their connections.
    fn rates(s: &Situation<'_>) -> Vec<(usize, Rate)> {
        let reference = s.reference();
        let mut rates: Vec<(usize, Rate)> = Vec::new();
        for place in MaxPacingRate::droppers(s) {
            let Some(each) = MaxPacingRate::share_of(s, place).filter(|r| r.as_bps() > 0) else { continue };
            for way in s.through(place) {
                let flow = &reference.flows[way.flow];
                if !tune::is_linux(reference, way.from) || flow.tool.is_some() {
                    continue;
                }
                let [payload, outer] = way.sizes_at(reference, place);
                let rate = tune::share(each, SHARE * f64::from(payload) / f64::from(outer));
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
        "A cap of the pacing rate at the sender, just below the connection's share of the rate of a policer or a short queue: nothing exceeds it."
    }
    fn applies(&self) -> &'static str {
        "where TCP data of a host whose TCP is not Windows' meets a policer that drops, or at the slowest line a queue that holds less \
         than the bandwidth-delay product or all initial windows"
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
        let way = |flow: usize| s.ways.iter().find(|w| w.flow == flow);
        let ways: Vec<(&DataWay, Rate)> =
            rates.iter().filter_map(|&(flow, rate)| Some((way(flow)?, rate))).collect();
        let mut commands: Vec<CommandSet> =
            ways.iter().flat_map(|(way, rate)| in_program(s.host(way.from), *rate)).collect();
        for host in s.senders() {
            let of_host = || ways.iter().filter(|(way, _)| way.from == host).map(|(_, rate)| *rate);
            // One cap for an interface fits where it is every connection's.
            if let Some(rate) = of_host().next().filter(|first| of_host().all(|rate| rate == *first)) {
                commands.push(at_interface(s.host(host), pace::next_of(s, host), rate));
            }
        }
        let remedy = Change::new(ChangeKind::PacingCap, ChangePlace::Sender, "").by(commands);
        let remedy = match &rates[..] {
            [(_, first), rest @ ..] if rest.iter().all(|(_, rate)| rate == first) => {
                remedy.set(None, first.as_mbps(), ChangeUnit::Mbps)
            }
            _ => remedy,
        };
        let mut told: Vec<String> = rates.iter().map(|(_, rate)| rate.to_string()).collect();
        told.dedup();
        let title = format!("SO_MAX_PACING_RATE of {} a connection", told.join(" and "));
        let change = move |s: &mut Scenario| {
            rates.iter().for_each(|&(f, rate)| s.flows[f].max_pacing_rate = Some(rate))
        };
        vec![CureOption::new(self, title, &[ChangePlace::Sender], change).with([remedy])]
    }
}

/// The cap in the program that opens the connections.
fn in_program(host: &str, rate: Rate) -> [CommandSet; 2] {
    let set = |needs: &str, apply: &str, undo: &str| {
        CommandSet::on(Platform::Application, host, needs, lines(apply), lines(undo))
    };
    let call = format!(
        "unsigned int rate = {};  /* bytes a second */\n\
         setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);",
        rate.as_bps() / 8
    );
    [
        set("Linux 4.13; before with the fq queue discipline (3.13)", &call, "leave the call out"),
        set(
            "iperf3, which has an option for it",
            &format!("iperf3 -c HOST --fq-rate {}", rate.as_bps()),
            "leave --fq-rate out",
        ),
    ]
}

/// The cap of every connection that leaves by an interface: `maxrate` is a flow's (tc-fq(8)).
fn at_interface(host: &str, towards: &str, rate: Rate) -> CommandSet {
    let needs =
        "Linux 3.13 with sch_fq; it caps each connection that leaves by the interface, whatever it goes to";
    LinuxSetting::qdisc(format!("fq maxrate {}", tune::tc_rate(rate))).at(host, needs).towards(towards)
}
