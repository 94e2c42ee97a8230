//! Puts a path in front of a running program: the packets of a network device of any namespace are led
//! through the engine and back (`kernel-cc/traffic/attach.bpf.c` describes the way).
//!
//! No address, route or queueing discipline of the target changes. The programs and the TAP devices belong to
//! descriptors of this process, so packets pass as before when it ends, however it ends; they also pass while
//! the engine does not run for a second. On kernels without tcx the programs are filters, which another
//! process removes if this one is killed (`attach/removal.rs`). Before the first packet a self-test shows the
//! path (`attach/proof.rs`).
//!
//! What the target can notice: two more devices, `longfat-…`; each received packet reaches packet sockets
//! twice, on arrival and after the path, because they see packets before these programs do; `SO_MARK`,
//! `SO_PRIORITY` and `SO_TXTIME` of a packet are lost on the way. A sender's own backpressure (TCP small
//! queues) ends at the TAP device, as at any other host.

mod error;
mod proof;
mod removal;
mod taps;
mod target;

pub use error::AttachError;
pub use kernel_cc::AttachMethod;
pub use proof::{DirectionProof, MAX_DELAY_ERROR_MS, MAX_RATE_ERROR};
pub use removal::watch_attached;
pub use target::{AttachPlace, AttachTarget, login_address};

use crate::LabError;
use crate::clock::WallClock;
use crate::collect;
use crate::engine::{DirectionDevices, ENGINE, Engine, EngineStatus};
use crate::failures::join_thread;
use crate::machine::{CpuTimes, LostPackets};
use crate::pcap::{self, Captures};
use crate::run::StopGuard;
use kernel_cc::{AttachConfig, AttachCounters, AttachMode, AttachPrograms};
use linux::packet::FrameSender;
use linux::{clock, file, random};
use proof::{ProbePlan, SETTLE, frame, last_departure};
use removal::Removal;
use result::{ElementResult, RttsOfRun, Trust};
use scenario::{LinkWay, NamedStage, Scenario};
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use taps::Taps;
use target::{FoundTarget, inside};
use units::{Span, Time};

/// How often the engine reports that it runs.
const BEAT: Span = Span::from_millis(100);
/// How often the engine's state is read.
const STATUS_INTERVAL: Span = Span::from_millis(500);
/// How often the target, the engine and the caller's wish to end are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// How often classic filters are checked, which takes more than looking at a link.
const FILTER_INTERVAL: Duration = Duration::from_millis(500);
/// Attempts of the self-test: other load on this machine may disturb one.
const MAX_PROOFS: usize = 3;
/// Longest time that packets on the path are waited for at the end.
const MAX_DRAIN: Duration = Duration::from_secs(1);
/// Real-time priority of the threads that send the self-test's packets.
const SENDER_PRIORITY: i32 = 10;

/// A link of a scenario, as the path of a target.
#[derive(Clone, Debug)]
pub struct AttachPath {
    /// The scenario with this link only. The link's hosts come first.
    pub scenario: Scenario,
    /// Whether outgoing and incoming packets have a path.
    directions: [bool; 2],
    /// Whether the target is at the link's second end.
    swapped: bool,
}

impl AttachPath {
    /// Takes a link of a scenario, with the faults of the scenario that concern it: both directions, or only
    /// one. The target is at its first end, or at the second if `swapped`.
    ///
    /// # Errors
    /// Fails with the names of the scenario's links if `link` is not one.
    pub fn new(
        scenario: &Scenario,
        link: &str,
        direction: Option<LinkWay>,
        swapped: bool,
    ) -> Result<AttachPath, AttachError> {
        let assumed = chains::assume(scenario, true);
        let mut scenario = assumed.unwrap_or_else(|| scenario.clone());
        let Some(at) = scenario.links.iter().position(|l| l.name == link) else {
            let links = scenario.links.iter().map(|l| l.name.clone()).collect();
            return Err(AttachError::Link { link: link.into(), links });
        };
        let mut link = scenario.links.swap_remove(at);
        let hosts = link.between.map(|host| scenario.hosts[host].clone());
        link.between = [0, 1];
        scenario.hosts = hosts.into();
        scenario.hosts.iter_mut().for_each(|host| host.services.clear());
        scenario.links = vec![link];
        scenario.flows.clear();
        scenario.relays.clear();
        scenario.faults.clear();
        scenario.attachments.clear();
        scenario.sample = Span::ZERO;
        let mut directions =
            [LinkWay::Forward, LinkWay::Backward].map(|way| direction.is_none_or(|only| only == way));
        if swapped {
            directions.reverse();
        }
        Ok(AttachPath { scenario, directions, swapped })
    }

    /// Index of the chain of outgoing (0) or incoming packets among those of the scenario.
    fn chain(&self, way: usize) -> usize {
        if self.swapped { 1 - way } else { way }
    }

    fn stages(&self, way: usize) -> &[NamedStage] {
        let link = &self.scenario.links[0];
        if self.chain(way) == 0 { &link.forward } else { &link.backward }
    }
}

/// Options of [`attach`].
pub struct AttachOptions<'a> {
    pub target: AttachTarget,
    pub path: AttachPath,
    /// Seed of the path's random streams.
    pub seed: u64,
    /// Prefixes, one of which must be at one end of a packet; empty: any.
    pub hosts: Vec<(IpAddr, u8)>,
    /// TCP or UDP ports, one of which must be at one end; empty: any. Fragments and other protocols pass
    /// this selection.
    pub ports: Vec<u16>,
    /// Files for the packets at the target (before the path for outgoing ones), and at the far end.
    pub pcap: Option<Captures>,
    /// Attach also to the device of the login session.
    pub with_login: bool,
    /// Attach also if the self-test fails.
    pub unproven: bool,
    /// Attach with classic filters also where the kernel has tcx.
    pub classic: bool,
    /// Command that runs [`watch_attached`] with the arguments that are added to it.
    pub watcher: &'a dyn Fn() -> Command,
    /// Receives what happens.
    pub report: &'a mut dyn FnMut(AttachEvent<'_>),
    /// Whether to end; called often once packets are led through the path.
    pub ended: &'a mut dyn FnMut() -> bool,
}

/// What happens while a path is attached.
pub enum AttachEvent<'a> {
    /// Filters of a longfat that was killed together with its watcher were removed from this device.
    Cleaned { device: &'a str },
    /// The self-test is over; nothing has been led through the path yet.
    Proved(&'a [DirectionProof]),
    /// From now on packets are led through the path of this device.
    Attached { device: &'a str, method: AttachMethod },
    /// The state, about once per interval of the engine.
    Status(&'a AttachStatus),
}

/// The state of an attached path.
#[derive(Clone, Debug)]
pub struct AttachStatus {
    /// Time since packets are led through the path.
    pub time: Duration,
    /// Packets that left the path, dropped by it, and queued in it: outgoing, incoming.
    pub passed: [u64; 2],
    pub dropped: [u64; 2],
    pub queued: [u64; 2],
    /// Each element of the path.
    pub elements: Vec<ElementResult>,
    pub counters: AttachCounters,
    /// Whether the numbers can be trusted, by the lab's rules.
    pub trust: Trust,
}

/// Why an attached path ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachEnd {
    /// The caller wanted it.
    Asked,
    /// The target's device or namespace has gone.
    TargetGone,
}

/// Leads a target's packets through a path until the caller ends it or the target has gone. Returns the last
/// state, or `None` if it ended at once.
///
/// # Errors
/// Fails without privileges, if the target is missing or in use by another longfat, if the self-test fails,
/// and on failed system calls.
pub fn attach(options: AttachOptions<'_>) -> Result<(AttachEnd, Option<AttachStatus>), AttachError> {
    let AttachOptions { target, path, seed, hosts, ports, pcap, with_login, unproven, report, ended, .. } =
        options;
    let (classic, watcher) = (options.classic, options.watcher);
    let found = target.find()?;
    let bad = |why: String| AttachError::Target { target: target.name.clone(), why };
    if !with_login && let Some(address) = login_address() {
        let carries = found.has_address(address).map_err(LabError::system("the target's addresses"))?;
        if carries && target.place == AttachPlace::Own {
            return Err(bad(format!(
                "this login session uses {} ({address}), and a wrong path could end it; limit the time with --for and \
                 give --with-login to attach nevertheless",
                found.device
            )));
        }
    }
    let taps = Taps::open(&found)?;
    let mut bytes = [0; 14];
    random::fill(&mut bytes).map_err(LabError::system("random numbers"))?;
    let [mark, index, probe] = [&bytes[..4], &bytes[4..6], &bytes[6..]]
        .map(|part| part.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte)));
    let config = AttachConfig {
        target: found.facts.index,
        devices: taps.indexes,
        owner: taps.owner().into(),
        directions: path.directions,
        hosts,
        ports,
        secrets: (mark as u32 | 1, index as u16 | 1, probe),
    };
    let mut programs = AttachPrograms::load(config)?;
    let namespace = found.namespace().map_err(LabError::system("the target's namespace"))?;
    let index = found.facts.index;
    let method = inside(namespace.as_fd(), || match classic {
        true => Ok(AttachMethod::Classic),
        false => AttachMethod::of_kernel(index).map_err(AttachError::from),
    })?;
    // Declared last, it is dropped first: before the devices and the programs.
    let _removal = match method {
        AttachMethod::Tcx => None,
        AttachMethod::Classic => Some(Removal::prepare(watcher(), &found, &taps)?),
    };
    let cleaned = inside(namespace.as_fd(), || {
        programs.attach(method).map_err(|e| match e {
            kernel_cc::ControlError::Taken { .. } => {
                bad(format!("another longfat is attached to {}; end that one first", found.device))
            }
            kernel_cc::ControlError::Device { why } => bad(format!("{}: {why}", found.device)),
            e => e.into(),
        })
    })?;
    drop(namespace);
    if cleaned {
        report(AttachEvent::Cleaned { device: &found.device });
    }
    let job = Attached { found: &found, path: &path, taps: &taps, programs: &programs, method, seed };
    let mut proofs = Vec::new();
    for _ in 0..MAX_PROOFS {
        proofs = job.prove(probe)?;
        if proofs.iter().all(DirectionProof::is_complete) {
            break;
        }
    }
    report(AttachEvent::Proved(&proofs));
    let faults: Vec<String> = proofs.iter().filter_map(DirectionProof::fault).collect();
    if !faults.is_empty() && !unproven {
        return Err(AttachError::Unproven(faults.join("; ")));
    }
    job.run(pcap, &proofs, report, ended)
}

/// An attached target.
#[derive(Clone, Copy)]
struct Attached<'a> {
    found: &'a FoundTarget,
    path: &'a AttachPath,
    taps: &'a Taps,
    programs: &'a AttachPrograms,
    method: AttachMethod,
    seed: u64,
}

/// Time between the preparation of an engine and its start.
const START_DELAY: Duration = Duration::from_millis(5);

impl<'a> Attached<'a> {
    fn engine(self, clock: WallClock, recorder: Option<pcap::Recorder>) -> Engine<'a> {
        let [out, inward] = self.taps.fds.each_ref().map(AsFd::as_fd);
        let mut devices = [
            DirectionDevices { from: out, to: out, back: inward },
            DirectionDevices { from: inward, to: inward, back: out },
        ];
        if self.path.swapped {
            devices.reverse();
        }
        let engine = Engine::over(&self.path.scenario, devices, None, self.seed, clock, recorder);
        engine.over_ethernet().without_end()
    }

    /// Runs the self-test. Only its own packets are led through the path.
    fn prove(self, secret: u64) -> Result<Vec<DirectionProof>, LabError> {
        let ways: Vec<usize> = (0..2).filter(|&way| self.path.directions[way]).collect();
        let plans: Vec<ProbePlan> =
            ways.iter().map(|&way| ProbePlan::new(self.path, way, self.seed, self.found.facts.mtu)).collect();
        let plans: Vec<(usize, ProbePlan)> = ways.into_iter().zip(plans).collect();
        let ends = plans.iter().map(|(way, plan)| last_departure(self.path, *way, self.seed, plan));
        let end = ends.max().unwrap_or(Time::ZERO);
        let namespace = self.found.namespace().map_err(LabError::system("the target's namespace"))?;
        let index = self.found.facts.index;
        let sender = inside(namespace.as_fd(), || {
            FrameSender::new(index).map_err(LabError::system("a packet socket in the target's namespace"))
        })?;
        drop(namespace);
        self.set(AttachMode::Probing)?;
        let stop = AtomicBool::new(false);
        let clock = WallClock::start_in(START_DELAY);
        let sent = thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let stop = &stop;
            let engine = self.engine(clock, None);
            let engine = s.spawn(move || engine.run(stop, None).map_err(LabError::system("moving packets")));
            let sender = &sender;
            let senders: Vec<_> = plans
                .iter()
                .map(|(way, plan)| s.spawn(move || self.send(*way, plan, secret, sender, clock)))
                .collect();
            let sent = senders.into_iter().map(|sender| join_thread(sender, "the self-test"));
            let sent = sent.collect::<Result<Vec<()>, LabError>>();
            thread::sleep(clock.until(end) + SETTLE);
            stop.store(true, Relaxed);
            join_thread(engine, ENGINE).and(sent)
        });
        self.set(AttachMode::Off)?;
        sent?;
        let times = self.programs.probe_times().map_err(LabError::system("reading the self-test"))?;
        let judge =
            |(way, plan): &(usize, ProbePlan)| plan.judge(self.path, *way, self.seed, clock, &times[*way]);
        Ok(plans.iter().map(judge).collect())
    }

    /// Sends the packets of one direction at their times.
    fn send(
        self,
        way: usize,
        plan: &ProbePlan,
        secret: u64,
        sender: &FrameSender,
        clock: WallClock,
    ) -> Result<(), LabError> {
        // Below the engine's priority. Without real-time priority the packets are sent later, which is
        // measured.
        linux::schedule::set_precise_scheduling(Some(SENDER_PRIORITY));
        let enters = way == 1;
        for (number, (at, size)) in plan.packets.iter().enumerate() {
            let bytes = frame(self.found.facts.address, secret, number as u32, *size, enters);
            let wait = clock.until(*at);
            if !wait.is_zero() {
                thread::sleep(wait);
            }
            let sent = match enters {
                true => file::write(self.taps.fds[way].as_fd(), &bytes).map(drop),
                false => sender.send(&bytes[crate::wire::VIRTIO..]),
            };
            match sent {
                // A full queue of this machine: the packet counts as not sent.
                Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS)) => {}
                sent => sent.map_err(LabError::system("sending a packet of the self-test"))?,
            }
        }
        Ok(())
    }

    fn set(self, mode: AttachMode) -> Result<(), LabError> {
        self.programs.set(mode, clock::monotonic()).map_err(LabError::system("controlling the programs"))
    }

    /// Leads packets through the path until the end.
    fn run(
        self,
        pcap: Option<Captures>,
        proofs: &[DirectionProof],
        report: &mut dyn FnMut(AttachEvent<'_>),
        ended: &mut dyn FnMut() -> bool,
    ) -> Result<(AttachEnd, Option<AttachStatus>), AttachError> {
        let pcap = pcap.map(pcap::open).transpose().map_err(LabError::system("captures"))?;
        let (recorder, writer) = pcap.unzip();
        let (stop, mode) = (AtomicBool::new(false), Mutex::new(AttachMode::On));
        let latest: Mutex<Option<EngineStatus>> = Mutex::default();
        let cpu_before = CpuTimes::now();
        let lost_before = self.dropped();
        let clock = WallClock::start_in(START_DELAY);
        let judge = |engine: EngineStatus| {
            let shares = CpuTimes::now().zip(cpu_before).and_then(|(now, before)| now.since(before));
            let lost = LostPackets { outward: self.dropped().saturating_sub(lost_before), inward: 0 };
            self.status(clock, engine, lost, shares, proofs)
        };
        thread::scope(|s| {
            let _guard = StopGuard(&stop);
            let stop = &stop;
            let (mode, latest) = (&mode, &latest);
            let mut next_status = Time::ZERO;
            let beat = move |status: &dyn Fn() -> EngineStatus| {
                let mode = *mode.lock().unwrap_or_else(PoisonError::into_inner);
                // Without this report packets pass untouched, which is right if it fails.
                let _ = self.programs.set(mode, clock::monotonic());
                let now = clock.now();
                if now >= next_status {
                    next_status = now + STATUS_INTERVAL;
                    *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(status());
                }
            };
            let engine = self.engine(clock, recorder).with_beat(BEAT, beat);
            let writer =
                writer.map(|w| s.spawn(move || w.run().map_err(LabError::system("writing captures"))));
            let engine = s.spawn(move || engine.run(stop, None));
            thread::sleep(clock.until(Time::ZERO));
            self.set(AttachMode::On)?;
            report(AttachEvent::Attached { device: &self.found.device, method: self.method });
            let (mut last, mut checked) = (None, Instant::now());
            let end = loop {
                thread::sleep(CHECK_INTERVAL);
                let is_due = self.method == AttachMethod::Tcx || checked.elapsed() >= FILTER_INTERVAL;
                if !self.found.exists() || is_due && !self.is_attached() {
                    break AttachEnd::TargetGone;
                }
                if is_due {
                    checked = Instant::now();
                }
                if ended() || engine.is_finished() {
                    break AttachEnd::Asked;
                }
                let engine = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
                if let Some(engine) = engine {
                    let status = judge(engine);
                    report(AttachEvent::Status(&status));
                    last = Some(status);
                }
            };
            *mode.lock().unwrap_or_else(PoisonError::into_inner) = AttachMode::Off;
            self.set(AttachMode::Off)?;
            if end == AttachEnd::Asked {
                thread::sleep(drain(proofs));
            }
            stop.store(true, Relaxed);
            let died = |_| LabError::Died { component: ENGINE.into(), how: "it panicked".into() };
            let engine = engine.join().map_err(died)?;
            writer.map_or(Ok(()), |writer| join_thread(writer, "the thread that writes captures"))?;
            match engine {
                // Reading a device that has gone fails.
                Err(e) if self.is_attached() => Err(LabError::system("moving packets")(e).into()),
                Err(_) => Ok((AttachEnd::TargetGone, last)),
                Ok(done) => {
                    let bunched = done.timing.bunched;
                    let queued = vec![0; done.elements.len()];
                    let status =
                        EngineStatus { elements: done.elements, queued, timing: done.timing, bunched };
                    Ok((end, Some(judge(status))))
                }
            }
        })
    }

    /// Whether the target and the TAP devices still exist with the programs on them.
    fn is_attached(self) -> bool {
        match self.method {
            AttachMethod::Tcx => self.programs.is_attached(),
            AttachMethod::Classic => {
                let check = |namespace: OwnedFd| {
                    linux::namespace::within(namespace.as_fd(), || self.programs.is_attached())
                };
                self.taps.namespace().and_then(check).unwrap_or(false)
            }
        }
    }

    /// Packets that the TAP devices have dropped; 0 if the target has gone.
    fn dropped(self) -> u64 {
        let Ok(namespace) = self.found.namespace() else { return 0 };
        linux::namespace::within(namespace.as_fd(), || self.taps.dropped()).unwrap_or(0)
    }

    fn status(
        self,
        clock: WallClock,
        engine: EngineStatus,
        lost: LostPackets,
        shares: Option<[f64; 2]>,
        proofs: &[DirectionProof],
    ) -> AttachStatus {
        let EngineStatus { elements, queued, timing, bunched } = engine;
        let lengths = [self.path.scenario.links[0].forward.len(), self.path.scenario.links[0].backward.len()];
        let of = |way: usize| match self.path.chain(way) {
            0 => 0..lengths[0],
            _ => lengths[0]..lengths[0] + lengths[1],
        };
        let dropped =
            [0, 1].map(|way| elements[of(way)].iter().map(|e| e.dropped_packets + e.too_big_packets).sum());
        let queued = [0, 1].map(|way| queued[of(way)].iter().sum());
        let last = |way: usize| elements[of(way)].last().map(|e| e.passed_packets);
        let counters = self.programs.counters().unwrap_or_default();
        let timing = crate::engine::EngineTiming { bunched, ..timing };
        let delays = proofs.iter().filter_map(|p| Some(p.delay_ms?[0])).sum::<f64>();
        // The connections' round trips are not known; they are at least as long as the path.
        let rtt = (delays > 0.0).then_some(RttsOfRun { shortest_ms: delays, usual_ms: delays });
        let trust = collect::trust(&timing, &[], lost, shares, Vec::new());
        let time = clock.now().since(Time::ZERO);
        let all: u64 = dropped.iter().sum();
        AttachStatus {
            time: Duration::from_nanos(time.as_nanos()),
            passed: [0, 1].map(|way| last(way).unwrap_or(counters.returned[way])),
            dropped,
            queued,
            elements,
            counters,
            trust: trust.judge(time.as_millis_f64(), all, rtt, proofs.len()),
        }
    }
}

/// How long packets may still be on the path when nothing enters it any more.
fn drain(proofs: &[DirectionProof]) -> Duration {
    let delay = proofs.iter().filter_map(|p| Some(p.delay_ms?[0])).fold(0.0, f64::max);
    Duration::from_secs_f64((delay / 1e3 + 0.05).clamp(0.0, MAX_DRAIN.as_secs_f64()))
}
