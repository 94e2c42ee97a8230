//! Pacing by the `fq` queueing discipline: segments leave spread over the round trip instead of in bursts.
//!
//! Without `fq`, TCP paces itself (Linux 4.13) once a socket requests it. `SO_MAX_PACING_RATE` requests it at
//! any rate (`sk_setsockopt` sets `sk_pacing_status`). BBR requests it when a connection begins (`bbr_init`,
//! from `tcp_init_transfer`), and the connection keeps it with a congestion control that is selected later.
//! BBR as the default alone does nothing for a program that selects its congestion control before it
//! connects, and a program that selects none gets BBR itself, which is the cure `bbr`.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use result::command::lines;
use result::{ChangePlace, CommandSet, LinuxSetting, Platform};
use scenario::Scenario;

pub struct FqPacing;

/// Returns the sets of sending hosts with Linux' TCP and a flow that is not paced.
pub fn unpaced(s: &Situation<'_>) -> Vec<Vec<usize>> {
    let reference = s.reference();
    let flow = |f: usize| {
        let flow = &reference.flows[f];
        !tune::paces(flow.cc) && flow.max_pacing_rate.is_none()
    };
    tune::sets_of_senders(s, |h| {
        tune::is_linux(reference, h)
            && reference.hosts[h].stack.pacing != Some(true)
            && s.paths.iter().any(|w| w.from == h && flow(w.flow))
    })
}

/// Turns pacing on at these hosts.
pub fn pace(hosts: &[usize]) -> impl Fn(&mut Scenario) + Send + Sync + use<> {
    let hosts = hosts.to_vec();
    move |s| hosts.iter().for_each(|&h| s.hosts[h].stack.pacing = Some(true))
}

impl Cure for FqPacing {
    fn name(&self) -> &'static str {
        "pace-fq"
    }
    fn about(&self) -> &'static str {
        "The fq queueing discipline at the sender: a window's segments leave spread over the round trip, not in bursts."
    }
    fn applies(&self) -> &'static str {
        "where a host with a non-Windows TCP sends data that is not paced by fq, its congestion control or a pacing rate"
    }
    fn hurts(&self) -> &'static str {
        "Short transfers end a little later; in a shared deep queue, paced flows get less than bursty ones."
    }
    fn lever(&self) -> Lever {
        Lever::Pacing
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let sets = unpaced(s);
        let count = sets.len();
        let option = |hosts: Vec<usize>| {
            let title = format!("pacing by fq {}", tune::at(s, &hosts));
            let option = CureOption::new(self, title, &[ChangePlace::Sender], pace(&hosts));
            let towards = |h: usize| next_of(s, h);
            let commands = hosts
                .iter()
                .flat_map(|&h| fq_commands(s.host(h), towards(h)).into_iter().chain(own_pacing(s.host(h))));
            let remedy = LinuxSetting::qdisc("fq").change().by(commands.collect::<Vec<_>>());
            tune::name_single_sender(option, s, &hosts, count).with([remedy])
        };
        sets.into_iter().map(option).collect()
    }
}

/// Returns the first host that the data of `host` reaches.
pub fn next_of<'a>(s: &Situation<'a>, host: usize) -> &'a str {
    let path = s.paths.iter().find(|w| w.from == host).and_then(|w| w.hops.first());
    path.map_or("", |hop| {
        let [a, b] = s.reference().links[hop.link].between;
        s.host(if hop.forward { b } else { a })
    })
}

fn fq_commands(host: &str, towards: &str) -> [CommandSet; 2] {
    let needs = "Linux 3.12 with sch_fq";
    [
        LinuxSetting::qdisc("fq").at(host, needs).towards(towards),
        tune::networkd(host, &format!("systemd 245; {needs}"), "[FairQueueing]\nParent=root")
            .towards(towards),
    ]
}

/// Returns the commands by which a program is paced without `fq`.
fn own_pacing(host: &str) -> [CommandSet; 2] {
    let program = |needs, apply: &str, undo| {
        CommandSet::on(Platform::Application, host, needs, lines(apply), lines(undo))
    };
    [
        program(
            "Linux 4.20 on a 64-bit machine",
            "unsigned long rate = 1ULL << 40;  /* bytes per second: TCP paces at its own rate below that */\n\
             setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);",
            "remove the call",
        ),
        program(
            "Linux 4.13 with tcp_bbr as the default (sysctl net.ipv4.tcp_congestion_control=bbr)",
            "/* after connect() or accept(), not before */\n\
             setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, \"cubic\", 5);",
            "make the call before connect(), or leave the default",
        ),
    ]
}
