//! One variant on the kernel, from namespaces to result.

use crate::Error;
use crate::apart::run_apart;
use crate::clock::Clock;
use crate::collect;
use crate::controls::{Controls, wishes};
use crate::crew::Crew;
use crate::engine::Engine;
use crate::hosts::Hosts;
use crate::network::{self, Network};
use crate::pcap::{self, Captures};
use crate::plan::Plan;
use crate::sys;
use crate::tool::{self, Tools};
use result::Outcome;
use scenario::Scenario;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;
use units::Time;

/// What a run takes besides its scenario.
#[derive(Default)]
pub struct Options<'a> {
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
    /// Ends the run with [`Error::Stopped`] when set.
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
pub fn run(variant: &str, scenario: &Scenario, options: Options) -> Result<Outcome, Error> {
    let Options { seed, only_flow, progress, notice, pcap, stop } = options;
    // Held until the end, also by a process of its own.
    let controls = Controls::load(&wishes(scenario, only_flow))?;
    let plan = Plan::new(scenario, only_flow, &controls)?;
    tool::check(scenario, &plan)?;
    let progress: &mut dyn FnMut(Time) = match progress {
        Some(report) => report,
        None => &mut |_| (),
    };
    let notice: &mut dyn FnMut(&str) = match notice {
        Some(notice) => notice,
        None => &mut |_| (),
    };
    let never = AtomicBool::new(false);
    let halt = stop.unwrap_or(&never);
    network::departures(scenario).iter().for_each(|text| notice(text));
    let job = Job { variant, scenario, plan, only_flow, seed, pcap };
    if sys::may_build() {
        return job.run(halt, progress, notice);
    }
    let work = |progress: &mut dyn FnMut(Time), notices: &mut Vec<String>| {
        job.run(halt, progress, &mut |n| notices.push(n.into()))
    };
    run_apart(work, halt, progress, notice)
}

/// What is to be run.
struct Job<'a> {
    variant: &'a str,
    scenario: &'a Scenario,
    plan: Plan,
    only_flow: Option<usize>,
    seed: u64,
    pcap: Option<Captures>,
}

impl Job<'_> {
    fn run(
        self,
        halt: &AtomicBool,
        progress: &mut dyn FnMut(Time),
        notice: &mut dyn FnMut(&str),
    ) -> Result<Outcome, Error> {
        let Job { variant, scenario, plan, only_flow, seed, pcap } = self;
        let plan = &plan;
        let network = Network::build(scenario)?;
        let tools = Tools::prepare(scenario, plan, &network)?;
        let pcap = pcap.map(pcap::open).transpose().map_err(Error::system("captures"))?;
        let (recorder, writer) = pcap.unzip();
        let (stop, crew) = (AtomicBool::new(false), Crew::new());
        let end = Time::ZERO + scenario.duration;
        let (engine, hosts) = thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let (stop, crew) = (&stop, &crew);
            let clock = Clock::start_in(LEAD);
            let engine = Engine::new(scenario, &network, plan, seed, clock, recorder);
            let writer = writer.map(|w| s.spawn(move || w.run().map_err(Error::system("writing captures"))));
            let engine = s.spawn(move || engine.run(stop, crew).map_err(Error::system("moving packets")));
            let hosts = Hosts { scenario, plan, network: &network, seed, clock, stop, crew };
            let mut hosts = hosts.start(s);
            hosts.extend(tools.map(|tools| s.spawn(move || tools.run(clock, stop))));
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
            let hosts: Vec<_> = hosts.into_iter().map(|h| h.join().unwrap_or(Err(Error::Killed))).collect();
            let hosts = hosts.into_iter().collect::<Result<Vec<_>, Error>>()?;
            let engine = engine.join().unwrap_or(Err(Error::Killed))?;
            writer.map_or(Ok(()), |w| w.join().unwrap_or(Err(Error::Killed)))?;
            if halt.load(Relaxed) {
                return Err(Error::Stopped);
            }
            Ok::<_, Error>((engine, hosts))
        })?;
        collect::notices(&engine.punctuality, &hosts).iter().for_each(|text| notice(text));
        Ok(collect::outcome(variant, scenario, plan, only_flow, engine, hosts))
    }
}
