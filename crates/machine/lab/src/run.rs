//! One variant on the kernel, from namespaces to result.

use crate::LabError;
use crate::apart::run_apart;
use crate::clock::WallClock;
use crate::collect;
use crate::controls::{Controls, wishes};
use crate::crew::Crew;
use crate::daemon::Daemons;
use crate::deaths::{Deaths, joined};
use crate::engine::{ENGINE, Engine};
use crate::hosts::PlayingHosts;
use crate::identity::Identity;
use crate::inner::InnerPackets;
use crate::machine::{self, CpuTimes};
use crate::network::{self, LabNetwork};
use crate::packages;
use crate::pcap::{self, Captures};
use crate::plan::FlowPlan;
use crate::relay::{self, Relays};
use crate::script::{self, LabScript};
use crate::tool::{self, Tools};
use linux::privilege::may_build;
use result::{FlowKind, Outcome, Trust, VariantResult};
use scenario::Scenario;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use units::Time;

/// What a run takes besides its scenario.
#[derive(Default)]
pub struct LabOptions<'a> {
    /// Seed of every random stream of path elements and datagram sources.
    pub seed: u64,
    /// Run this flow alone (an index of the scenario's flows).
    pub only_flow: Option<usize>,
    /// Is told the time now and then.
    pub progress: Option<&'a mut dyn FnMut(Time)>,
    /// Is told what a user may want to know of the emulation: lost packets, late wake-ups.
    pub notice: Option<&'a mut dyn FnMut(&str)>,
    /// Files for what passes.
    pub pcap: Option<Captures>,
    /// Whom programs of flows run as: a name or number of a user, perhaps `:` and a group's number; default: whoever called
    /// sudo, else `nobody` where root runs them.
    pub user: Option<&'a str>,
    /// Commands at hosts before the run begins.
    pub scripts: &'a [LabScript],
    /// Flows that longfat itself plays take the congestion control that their host or route has, and choose none.
    pub host_controls: bool,
    /// Is given what hosts with services answer when the run is over: tunnels, sessions, routes.
    pub shown: Option<&'a mut dyn FnMut(&str)>,
    /// Ends the run with [`LabError::Stopped`] when set.
    pub stop: Option<&'a AtomicBool>,
}

/// Time between preparing a run and its begin.
pub(crate) const LEAD: Duration = Duration::from_millis(30);
/// Between two reports of progress.
const REPORT: Duration = Duration::from_millis(50);

/// Stops the threads when the run fails or panics.
pub(crate) struct StopGuard<'a>(pub &'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs one variant of a scenario on the kernel, in real time. Without privileges it tries a user
/// namespace, in a process of its own.
///
/// # Errors
/// Missing permissions, what the kernel cannot do, failed system calls.
pub fn run(variant: &str, scenario: &Scenario, options: LabOptions) -> Result<Outcome, LabError> {
    let LabOptions { seed, only_flow, progress, notice, pcap, user, scripts, host_controls, shown, stop } =
        options;
    packages::check(scenario, only_flow)?;
    // Held until the end, also by a process of its own.
    let controls = Controls::load(&wishes(scenario, only_flow))?;
    let mut plan = FlowPlan::new(scenario, only_flow, &controls)?;
    plan.flows.iter_mut().for_each(|f| f.chooses_control = !host_controls);
    tool::check(scenario, &plan)?;
    relay::check(scenario, &plan)?;
    let progress: &mut dyn FnMut(Time) = match progress {
        Some(report) => report,
        None => &mut |_| (),
    };
    let notice: &mut dyn FnMut(&str) = match notice {
        Some(notice) => notice,
        None => &mut |_| (),
    };
    if user.is_some() {
        Identity::of(user)?;
    }
    let never = AtomicBool::new(false);
    let halt = stop.unwrap_or(&never);
    let departures = network::departures(scenario).into_iter().chain(relay::departures(scenario));
    departures.for_each(|text| notice(&text));
    let assumed = chains::assume(scenario, true);
    let scenario = assumed.as_ref().unwrap_or(scenario);
    let show = shown.is_some();
    let job = LabJob { variant, scenario, plan, only_flow, seed, user, scripts, pcap, show };
    let shown: &mut dyn FnMut(&str) = match shown {
        Some(shown) => shown,
        None => &mut |_| (),
    };
    if may_build() {
        return job.run(halt, progress, notice, shown);
    }
    let work = |progress: &mut dyn FnMut(Time), [notices, answers]: &mut [Vec<String>; 2]| {
        job.run(halt, progress, &mut |n| notices.push(n.into()), &mut |s| answers.push(s.into()))
    };
    run_apart(work, halt, progress, notice, shown)
}

/// Measures again what other work on this machine disturbed, `tries` times at most; then the last is as it is.
///
/// # Errors
/// Those of a run, at once.
pub fn trusted(
    tries: usize,
    mut measure: impl FnMut() -> Result<Outcome, LabError>,
) -> Result<Outcome, LabError> {
    let mut measured = measure()?;
    for _ in 1..tries {
        if measured.variant.trust.as_ref().is_none_or(|t| t.reliable) {
            break;
        }
        measured = measure()?;
    }
    Ok(measured)
}

/// What is to be run.
struct LabJob<'a> {
    variant: &'a str,
    scenario: &'a Scenario,
    plan: FlowPlan,
    only_flow: Option<usize>,
    seed: u64,
    user: Option<&'a str>,
    scripts: &'a [LabScript],
    pcap: Option<Captures>,
    /// Whether daemons are asked in the end.
    show: bool,
}

impl LabJob<'_> {
    fn run(
        self,
        halt: &AtomicBool,
        progress: &mut dyn FnMut(Time),
        notice: &mut dyn FnMut(&str),
        shown: &mut dyn FnMut(&str),
    ) -> Result<Outcome, LabError> {
        let LabJob { variant, scenario, plan, only_flow, seed, user, scripts, pcap, show } = self;
        let plan = &plan;
        let network = LabNetwork::build(scenario)?;
        let mut daemons = Daemons::bring_up(scenario, &network, seed, halt)?;
        script::run(scenario, &network, scripts)?;
        let identity = Identity::of(user)?;
        let relays = Relays::prepare(scenario, plan, &network, &identity)?;
        let tools = Tools::prepare(scenario, plan, &network, identity)?;
        let pcap = pcap.map(pcap::open).transpose().map_err(LabError::system("captures"))?;
        let (recorder, writer) = pcap.unzip();
        let (stop, crew) = (AtomicBool::new(false), Crew::new());
        let end = Time::ZERO + scenario.duration;
        let begun = CpuTimes::now();
        let lost_before = machine::lost_packets(&network);
        let clock = WallClock::start_in(LEAD);
        let deaths = Deaths::new(clock);
        let (engine, hosts, lost) = thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let (stop, crew, deaths) = (&stop, &crew, &deaths);
            let inner = InnerPackets::open(scenario, &network)?;
            let engine =
                Engine::new(scenario, &network, plan, seed, clock, recorder).seeing_into_tunnels(inner);
            let writer =
                writer.map(|w| s.spawn(move || w.run().map_err(LabError::system("writing captures"))));
            let engine = s.spawn(move || engine.run(stop, crew).map_err(LabError::system("moving packets")));
            let hosts = PlayingHosts { scenario, plan, network: &network, seed, clock, stop, crew };
            let mut hosts = hosts.start(s);
            hosts.extend(tools.map(|tools| s.spawn(move || tools.run(clock, stop, deaths))));
            hosts.extend(relays.map(|relays| s.spawn(move || relays.run(clock, stop, crew, deaths))));
            let play = |daemons: &mut Daemons| daemons.play(clock, Some(end), stop, deaths);
            let faults = daemons.as_mut().map(|daemons| s.spawn(move || play(daemons)));
            while !engine.is_finished() && !hosts.iter().any(|h| h.is_finished()) {
                thread::sleep(REPORT.min(clock.until(end)).max(Duration::from_millis(1)));
                if halt.load(Relaxed) {
                    stop.store(true, Relaxed);
                }
                progress(clock.now().min(end));
            }
            // A thread that ended early has failed: the others need not go on.
            if clock.now() < end {
                stop.store(true, Relaxed);
            }
            let engine = joined(engine, ENGINE);
            // Before the hosts end: what they send now stays in their devices and is not a loss of the run.
            let lost = machine::lost_packets(&network).since(lost_before);
            faults.map_or(Ok(()), |faults| joined(faults, "the thread that plays faults"))?;
            let hosts: Vec<_> = hosts.into_iter().map(|h| joined(h, "a thread that plays hosts")).collect();
            let hosts = hosts.into_iter().collect::<Result<Vec<_>, LabError>>()?;
            let engine = engine?;
            writer.map_or(Ok(()), |writer| joined(writer, "the thread that writes captures"))?;
            if halt.load(Relaxed) {
                return Err(LabError::Stopped);
            }
            Ok::<_, LabError>((engine, hosts, lost))
        })?;
        if let Some(daemons) = &mut daemons {
            notice(&format!("daemons came up in {:.2} s", daemons.took.as_secs_f64()));
            if show {
                shown(&daemons.show()?);
            }
        }
        collect::notices(&engine.punctuality, &hosts).iter().for_each(|text| notice(text));
        let shares = CpuTimes::now().zip(begun).and_then(|(now, begun)| now.since(begun));
        let trust = collect::trust(&engine.punctuality, &hosts, lost, shares, deaths.first_cause_first());
        let mut outcome = collect::outcome(variant, scenario, plan, only_flow, engine, hosts);
        let rtt = result::RttsOfRun::of(&outcome.variant.flows);
        let trust = Trust { unexplained_ms: unexplained(&outcome.variant, scenario, plan), ..trust };
        let dropped = outcome.variant.elements.iter().map(|e| e.dropped_packets).sum();
        let (lasted, crossings) = (scenario.duration.as_millis_f64(), crossings(scenario, only_flow));
        outcome.variant.trust = Some(trust.judge(lasted, dropped, rtt, crossings));
        Ok(outcome)
    }
}

/// Links that a packet and its answer cross together, on the longest way of a flow.
fn crossings(scenario: &Scenario, only_flow: Option<usize>) -> usize {
    let flows = scenario.flows.iter().enumerate().filter(|(i, _)| only_flow.is_none_or(|only| only == *i));
    let hops = |from, to| scenario.route(from, to).map_or(0, |way| way.len());
    flows.map(|(_, f)| hops(f.from, f.to) + hops(f.to, f.from)).max().unwrap_or(0)
}

/// How much longer datagrams took, in the median, than the slowest took through all elements of their way, ms: they
/// stood where nobody measures, before they left. The worst flow; `None` without datagrams.
fn unexplained(variant: &VariantResult, scenario: &Scenario, plan: &FlowPlan) -> Option<f64> {
    let flows = variant.flows.iter().zip(&plan.flows).filter(|(f, _)| f.kind == FlowKind::Datagrams);
    let excess = flows.filter_map(|(f, planned)| {
        let flow = &scenario.flows[planned.of];
        let ways = scenario.route(flow.from, flow.to)?;
        let slowest = ways.iter().map(|hop| {
            let way = if hop.forward { "forward" } else { "backward" };
            let of = format!("{}.{way}.", scenario.links[hop.link].name);
            let inside = variant.elements.iter().filter(|e| e.name.starts_with(&of));
            inside.map(|e| e.delay_ms.max).sum::<f64>()
        });
        Some((f.real_time?.delay_ms.p50 - slowest.sum::<f64>()).max(0.0))
    });
    excess.reduce(f64::max)
}
