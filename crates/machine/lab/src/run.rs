//! Runs one variant on the kernel, from creating namespaces to the result.

use crate::LabError;
use crate::affinity::TrafficThreads;
use crate::clock::WallClock;
use crate::collect;
use crate::controls::{Controls, requests};
use crate::daemon::Daemons;
use crate::engine::{ENGINE, Engine};
use crate::failures::{FailedComponents, join_thread};
use crate::hosts::HostThreads;
use crate::identity::Identity;
use crate::inner_packet::InnerPackets;
use crate::machine::{self, CpuTimes};
use crate::network::{self, LabNetwork};
use crate::packages;
use crate::pcap::{self, Captures};
use crate::plan::FlowPlan;
use crate::relay::{self, Relays};
use crate::script::{self, LabScript};
use crate::tool::{self, Tools};
use crate::user_namespace::run_in_user_namespace;
use linux::privilege::can_create_namespaces;
use result::{FlowKind, Outcome, Trust, VariantResult};
use scenario::Scenario;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use units::Time;

/// Options of [`run`].
#[derive(Default)]
pub struct LabOptions<'a> {
    /// Seed of every random stream of path elements and datagram sources.
    pub seed: u64,
    /// Run only this flow (an index of the scenario's flows).
    pub only_flow: Option<usize>,
    /// Called with the current time at intervals.
    pub progress: Option<&'a mut dyn FnMut(Time)>,
    /// Receives messages about the emulation for the user: lost packets, late wake-ups.
    pub notice: Option<&'a mut dyn FnMut(&str)>,
    /// Files for packet captures.
    pub pcap: Option<Captures>,
    /// The user that programs of flows run as: a name or number, optionally followed by `:` and a group
    /// number. Default: the user who called sudo, otherwise `nobody` if root runs longfat.
    pub user: Option<&'a str>,
    /// Commands that run on hosts before the run starts.
    pub scripts: &'a [LabScript],
    /// Whether longfat's own flows use the congestion control of their host or route instead of setting one.
    pub host_controls: bool,
    /// Receives the output of the daemons' show commands after the run: tunnels, sessions, routes.
    pub shown: Option<&'a mut dyn FnMut(&str)>,
    /// Ends the run with [`LabError::Stopped`] when set.
    pub stop: Option<&'a AtomicBool>,
}

/// Time between the preparation of a run and its start.
pub(crate) const START_DELAY: Duration = Duration::from_millis(30);
/// Interval between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);

/// Stops the threads when the run ends, fails or panics.
pub(crate) struct StopGuard<'a>(pub &'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs one variant of a scenario on the kernel, in real time. Without privileges it runs in a user namespace
/// of a child process.
///
/// # Errors
/// Fails on missing permissions, unsupported settings and failed system calls.
pub fn run(variant: &str, scenario: &Scenario, options: LabOptions) -> Result<Outcome, LabError> {
    let LabOptions { seed, only_flow, progress, notice, pcap, user, scripts, host_controls, shown, stop } =
        options;
    packages::check(scenario, only_flow)?;
    // Keep the loaded programs until the end, also if a child process runs the variant.
    let controls = Controls::load(&requests(scenario, only_flow))?;
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
        Identity::resolve(user)?;
    }
    let never = AtomicBool::new(false);
    let cancel = stop.unwrap_or(&never);
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
    if can_create_namespaces() {
        return job.run(cancel, progress, notice, shown);
    }
    let work = |progress: &mut dyn FnMut(Time), [notices, answers]: &mut [Vec<String>; 2]| {
        job.run(cancel, progress, &mut |n| notices.push(n.into()), &mut |s| answers.push(s.into()))
    };
    run_in_user_namespace(work, cancel, progress, notice, shown)
}

/// Repeats a measurement that other load on this machine disturbed, up to `tries` times. Returns the last
/// result.
///
/// # Errors
/// Fails with the first error of a run.
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

struct LabJob<'a> {
    variant: &'a str,
    scenario: &'a Scenario,
    plan: FlowPlan,
    only_flow: Option<usize>,
    seed: u64,
    user: Option<&'a str>,
    scripts: &'a [LabScript],
    pcap: Option<Captures>,
    /// Whether the daemons' show commands are run at the end.
    show: bool,
}

impl LabJob<'_> {
    fn run(
        self,
        cancel: &AtomicBool,
        progress: &mut dyn FnMut(Time),
        notice: &mut dyn FnMut(&str),
        shown: &mut dyn FnMut(&str),
    ) -> Result<Outcome, LabError> {
        let LabJob { variant, scenario, plan, only_flow, seed, user, scripts, pcap, show } = self;
        let plan = &plan;
        let network = LabNetwork::build(scenario)?;
        let mut daemons = Daemons::bring_up(scenario, &network, seed, cancel)?;
        script::run(scenario, &network, scripts)?;
        let identity = Identity::resolve(user)?;
        let relays = Relays::prepare(scenario, plan, &network, &identity)?;
        let tools = Tools::prepare(scenario, plan, &network, identity)?;
        let pcap = pcap.map(pcap::open).transpose().map_err(LabError::system("captures"))?;
        let (recorder, writer) = pcap.unzip();
        let (stop, threads) = (AtomicBool::new(false), TrafficThreads::new());
        let end = Time::ZERO + scenario.duration;
        let cpu_before = CpuTimes::now();
        let lost_before = machine::lost_packets(&network);
        let clock = WallClock::start_in(START_DELAY);
        let failures = FailedComponents::new(clock);
        let (engine, hosts, lost) = thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let (stop, threads, failures) = (&stop, &threads, &failures);
            let inner = InnerPackets::open(scenario, &network)?;
            let engine =
                Engine::new(scenario, &network, plan, seed, clock, recorder).with_inner_packets(inner);
            let writer =
                writer.map(|w| s.spawn(move || w.run().map_err(LabError::system("writing captures"))));
            let engine =
                s.spawn(move || engine.run(stop, Some(threads)).map_err(LabError::system("moving packets")));
            let hosts = HostThreads { scenario, plan, network: &network, seed, clock, stop, threads };
            let mut hosts = hosts.start(s);
            hosts.extend(tools.map(|tools| s.spawn(move || tools.run(clock, stop, failures))));
            hosts.extend(relays.map(|relays| s.spawn(move || relays.run(clock, stop, threads, failures))));
            let apply_faults = |daemons: &mut Daemons| daemons.apply_faults(clock, Some(end), stop, failures);
            let faults = daemons.as_mut().map(|daemons| s.spawn(move || apply_faults(daemons)));
            while !engine.is_finished() && !hosts.iter().any(|h| h.is_finished()) {
                thread::sleep(REPORT_INTERVAL.min(clock.until(end)).max(Duration::from_millis(1)));
                if cancel.load(Relaxed) {
                    stop.store(true, Relaxed);
                }
                progress(clock.now().min(end));
            }
            // A thread that ended early has failed, so stop the others.
            if clock.now() < end {
                stop.store(true, Relaxed);
            }
            let engine = join_thread(engine, ENGINE);
            // Read before the hosts end: packets that they send afterwards stay in their devices and are not
            // losses of the run.
            let lost = machine::lost_packets(&network).since(lost_before);
            faults.map_or(Ok(()), |faults| join_thread(faults, "the thread that applies faults"))?;
            let hosts: Vec<_> = hosts
                .into_iter()
                .map(|h| join_thread(h, "a thread that runs the traffic of a host"))
                .collect();
            let hosts = hosts.into_iter().collect::<Result<Vec<_>, LabError>>()?;
            let engine = engine?;
            writer.map_or(Ok(()), |writer| join_thread(writer, "the thread that writes captures"))?;
            if cancel.load(Relaxed) {
                return Err(LabError::Stopped);
            }
            Ok::<_, LabError>((engine, hosts, lost))
        })?;
        if let Some(daemons) = &mut daemons {
            notice(&format!("daemons started in {:.2} s", daemons.startup.as_secs_f64()));
            if show {
                shown(&daemons.show()?);
            }
        }
        collect::notices(&engine.timing, &hosts).iter().for_each(|text| notice(text));
        let shares = CpuTimes::now().zip(cpu_before).and_then(|(now, cpu_before)| now.since(cpu_before));
        let trust = collect::trust(&engine.timing, &hosts, lost, shares, failures.root_cause_first());
        let mut outcome = collect::outcome(variant, scenario, plan, only_flow, engine, hosts);
        let rtt = result::RttsOfRun::of(&outcome.variant.flows);
        let trust = Trust { unexplained_ms: unexplained(&outcome.variant, scenario, plan), ..trust };
        let dropped = outcome.variant.elements.iter().map(|e| e.dropped_packets).sum();
        let (lasted, crossings) = (scenario.duration.as_millis_f64(), crossings(scenario, only_flow));
        outcome.variant.trust = Some(trust.judge(lasted, dropped, rtt, crossings));
        Ok(outcome)
    }
}

/// Returns the number of links on the longest round trip of a flow.
fn crossings(scenario: &Scenario, only_flow: Option<usize>) -> usize {
    let flows = scenario.flows.iter().enumerate().filter(|(i, _)| only_flow.is_none_or(|only| only == *i));
    let hops = |from, to| scenario.route(from, to).map_or(0, |way| way.len());
    flows.map(|(_, f)| hops(f.from, f.to) + hops(f.to, f.from)).max().unwrap_or(0)
}

/// Returns by how much, in ms, the median delay of datagrams exceeds the sum of the maximum delays of all
/// elements on their path: the time that they waited where nothing measures, before they left. Returns the
/// worst flow's value; `None` without datagrams.
fn unexplained(variant: &VariantResult, scenario: &Scenario, plan: &FlowPlan) -> Option<f64> {
    let flows = variant.flows.iter().zip(&plan.flows).filter(|(f, _)| f.kind == FlowKind::Datagrams);
    let excess = flows.filter_map(|(f, planned)| {
        let flow = &scenario.flows[planned.of];
        let hops = scenario.route(flow.from, flow.to)?;
        let slowest = hops.iter().map(|hop| {
            let direction = if hop.forward { "forward" } else { "backward" };
            let prefix = format!("{}.{direction}.", scenario.links[hop.link].name);
            let inside = variant.elements.iter().filter(|e| e.name.starts_with(&prefix));
            inside.map(|e| e.delay_ms.max).sum::<f64>()
        });
        Some((f.real_time?.delay_ms.p50 - slowest.sum::<f64>()).max(0.0))
    });
    excess.reduce(f64::max)
}
