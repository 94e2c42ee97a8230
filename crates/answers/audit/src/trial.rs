//! Turns a finding into two scenarios: the path with the host as it is, and with the proposed change.
//!
//! The other end never limits the connection: it has Linux' defaults and buffers of eight bandwidth-delay
//! products. The path is exactly the given one; each end reaches it over its own link of 1 Gbit/s, or ten
//! times the path's rate if that is more.

use crate::change::apply;
use crate::facts::{DeviceFacts, NamespaceFacts};
use crate::pacing;
use crate::path::CheckedPath;
use congestion::Control;
use result::LinuxSetting;
use scenario::{Experiment, Scenario};
use transport::{MtuProbing, Stack};
use units::{Bytes, Span};

/// Largest window in bytes: it is below 2^30 (RFC 7323 section 2.3).
const MAX_WINDOW: u64 = (1 << 30) - 1;
/// Limit of the packets of a run, which a core simulates in some seconds.
const MAX_PACKETS: u64 = 400_000;

/// Direction and kind of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialLoad {
    /// This host sends as fast as TCP allows.
    Send,
    /// This host receives as fast as TCP allows.
    Receive,
    /// This host responds to requests with this many bytes each, 3 s apart.
    Answer(u64),
}

/// The settings of both ends.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialEnds {
    /// This host's congestion control, by the kernel's name.
    pub control: String,
    /// This host's TCP settings.
    pub here: Stack,
    /// The other end's TCP settings.
    pub there: Stack,
    /// A shaper of this host in front of the path: rate in bytes per second, and bucket in bytes.
    pub shaper: Option<[u64; 2]>,
}

/// A trial of a change: both scenarios.
#[derive(Clone, Debug, PartialEq)]
pub struct CostTrial {
    pub load: TrialLoad,
    /// The current settings.
    pub now: TrialEnds,
    /// The settings with the change.
    pub then: TrialEnds,
    /// MTU of the path in bytes, if larger packets are dropped without ICMP.
    pub black_hole: Option<u32>,
}

fn bytes(n: u64) -> Bytes {
    Bytes::new(n.clamp(1, MAX_WINDOW))
}

impl TrialEnds {
    /// Takes the settings of a namespace, and another end that never limits it.
    pub fn of(ns: &NamespaceFacts, path: &CheckedPath) -> TrialEnds {
        let s = &ns.settings;
        let on = |name: &str| s.number(name).map(|n| n != 0);
        let moderated = !s.is_off("net.ipv4.tcp_moderate_rcvbuf");
        let rmem = |i| s.nth("net.ipv4.tcp_rmem", i).map(bytes);
        let plenty = Some(bytes((8 * path.bdp()).max(8 << 20)));
        let mut here = Stack {
            timestamps: on("net.ipv4.tcp_timestamps"),
            sack: on("net.ipv4.tcp_sack"),
            initial_receive_buffer: rmem(1),
            receive_buffer: rmem(if moderated { 2 } else { 1 }),
            send_buffer: s.nth("net.ipv4.tcp_wmem", 2).map(bytes),
            rto_min: s
                .number("net.ipv4.tcp_rto_min_us")
                .filter(|us| *us > 0)
                .map(|us| Span::from_micros(us as u64)),
            pacing: ns.links_pace().then_some(true),
            tso: (ns.is_connected() && ns.links().all(DeviceFacts::sends_singly)).then_some(false),
            tlp: on("net.ipv4.tcp_early_retrans"),
            idle_restart: on("net.ipv4.tcp_slow_start_after_idle"),
            mtu_probing: s.number("net.ipv4.tcp_mtu_probing").map(|n| match n {
                0 => MtuProbing::Off,
                1 => MtuProbing::OnBlackhole,
                _ => MtuProbing::Always,
            }),
            ..Stack::default()
        };
        let mut there = Stack { receive_buffer: plenty, send_buffer: plenty, ..Stack::default() };
        if s.is_off("net.ipv4.tcp_window_scaling") {
            // Neither end scales its window, so it has 16 bits (RFC 7323 section 1.3).
            let own = here.receive_buffer.map_or(65_535, |b| b.get() / 2).min(65_535);
            here.receive_window = Some(bytes(own));
            there.receive_window = Some(bytes(65_535));
        }
        TrialEnds { control: ns.default_control().unwrap_or("cubic").into(), here, there, shaper: None }
    }
}

impl TrialEnds {
    /// Replaces this host's buffers and congestion control by those of `others`.
    pub fn take_buffers_and_control(&mut self, others: TrialEnds) {
        self.control = others.control;
        self.here.receive_buffer = others.here.receive_buffer;
        self.here.initial_receive_buffer = others.here.initial_receive_buffer;
        self.here.receive_window = others.here.receive_window;
        self.here.send_buffer = others.here.send_buffer;
    }
}

impl CostTrial {
    /// Builds the trial of these settings in a namespace.
    pub fn of(
        ns: &NamespaceFacts,
        path: &CheckedPath,
        load: TrialLoad,
        settings: &[LinuxSetting],
    ) -> CostTrial {
        let mut changed = ns.clone();
        settings.iter().for_each(|s| apply(s, &mut changed));
        CostTrial {
            load,
            now: TrialEnds::of(ns, path),
            then: TrialEnds::of(&changed, path),
            black_hole: None,
        }
    }

    /// Returns both scenarios; `None` where the simulator does not know a congestion control.
    pub fn scenarios(&self, path: &CheckedPath) -> Option<[Scenario; 2]> {
        Some([self.scenario(path, &self.now)?, self.scenario(path, &self.then)?])
    }

    fn scenario(&self, path: &CheckedPath, ends: &TrialEnds) -> Option<Scenario> {
        let mut experiment = Experiment::parse("check", &self.toml(path, ends.shaper), &[]).ok()?;
        let mut scenario = experiment.variants.pop()?.scenario;
        for host in &mut scenario.hosts {
            match host.name.as_str() {
                "here" => host.stack = ends.here.clone(),
                "there" => host.stack = ends.there.clone(),
                _ => {}
            }
        }
        let control = match self.load {
            // The other end sends, with Linux' default congestion control.
            TrialLoad::Receive => "cubic",
            _ => ends.control.as_str(),
        };
        let known = Control::named(&control.replace('_', "-"));
        // A flow's congestion control applies to the end that sends most.
        scenario.flows.iter_mut().for_each(|f| f.cc = known.unwrap_or(f.cc));
        known.is_some().then_some(scenario)
    }

    fn toml(&self, path: &CheckedPath, shaper: Option<[u64; 2]>) -> String {
        let (rate, rtt) = (path.rate().as_bps(), path.rtt().as_nanos());
        let queue = path.queue_bytes.unwrap_or_else(|| path.bdp()).max(15_000);
        let half = rtt / 2;
        let mtu = self.black_hole.map_or(String::new(), |mtu| format!(", mtu = {mtu}, icmp = false"));
        let loss = match path.loss > 0.0 {
            true => format!("{{ kind = \"loss\", probability = {} }}, ", path.loss),
            false => String::new(),
        };
        let direction = |limits: bool| {
            let limiter = match path.burst_bytes.filter(|_| limits) {
                Some(burst) => {
                    format!("{{ kind = \"policer\", rate = \"{rate}bit/s\", burst = \"{burst}B\" }}, ")
                }
                None => format!(
                    "{{ kind = \"link\", rate = \"{rate}bit/s\", queue = {{ kind = \"fifo\", bytes = \"{queue}B\" }} }}, "
                ),
            };
            format!(
                "[{limiter}{}{{ kind = \"link\", delay = \"{half}ns\"{mtu} }}]",
                if limits { &loss } else { "" }
            )
        };
        let (out, back) = match self.load {
            TrialLoad::Receive => (direction(false), direction(true)),
            _ => (direction(true), direction(false)),
        };
        let flow = match self.load {
            TrialLoad::Send => "from = \"here\"\nto = \"there\"".into(),
            TrialLoad::Receive => "from = \"there\"\nto = \"here\"".into(),
            TrialLoad::Answer(size) => format!(
                "from = \"there\"\nto = \"here\"\napp = {{ kind = \"request\", request = \"300B\", response = \"{size}B\", \
                 think = \"3s\" }}"
            ),
        };
        let own = rate.saturating_mul(10).max(1_000_000_000);
        let duration = self.duration(path).as_nanos();
        let shaped = shaper.map_or(String::new(), |[bytes_per_second, burst]| {
            format!(
                "{{ kind = \"shaper\", rate = \"{}bit/s\", burst = \"{burst}B\", \
                 queue = {{ kind = \"fifo\", packets = 1000 }} }}, ",
                bytes_per_second.saturating_mul(8)
            )
        });
        format!(
            "duration = \"{duration}ns\"\nsample = \"0s\"\n\
             [links.own]\nbetween = [\"here\", \"edge\"]\n\
             forward = [{shaped}{{ kind = \"link\", rate = \"{own}bit/s\" }}]\nbackward = [{{ kind = \"link\", rate = \"{own}bit/s\" }}]\n\
             [links.path]\nbetween = [\"edge\", \"far\"]\nforward = {out}\nbackward = {back}\n\
             [links.far]\nbetween = [\"far\", \"there\"]\n\
             forward = [{{ kind = \"link\", rate = \"{own}bit/s\" }}]\nbackward = [{{ kind = \"link\", rate = \"{own}bit/s\" }}]\n\
             [flows.flow]\n{flow}\n"
        )
    }

    /// Returns a duration in which slow start does not matter: 100 round trips or 10 s, whichever is longer,
    /// but no more packets than [`MAX_PACKETS`], and at least 20 round trips.
    fn duration(&self, path: &CheckedPath) -> Span {
        if let TrialLoad::Answer(_) = self.load {
            return Span::from_secs(40);
        }
        let rtt = path.rtt().as_nanos();
        let wanted = (100 * rtt).max(10_000_000_000);
        let max = (MAX_PACKETS as u128 * 12_000 * 1_000_000_000 / path.rate().as_bps().max(1) as u128) as u64;
        Span::from_nanos(wanted.min(max).max(20 * rtt).min(200_000_000_000))
    }

    /// Describes what is simulated.
    pub fn words(&self) -> String {
        let cc = |e: &TrialEnds| {
            let paced = pacing::control_paces(&e.control) == Some(true) || e.here.pacing == Some(true);
            format!("{}{}", e.control, if paced { ", paced" } else { ", not paced" })
        };
        let hole = self
            .black_hole
            .map_or(String::new(), |mtu| format!(", behind an MTU of {mtu} bytes whose ICMP is lost"));
        match self.load {
            TrialLoad::Send if cc(&self.now) == cc(&self.then) => {
                format!("one connection sends ({}){hole}", cc(&self.now))
            }
            TrialLoad::Send => format!("one connection sends ({} / {}){hole}", cc(&self.now), cc(&self.then)),
            TrialLoad::Receive => format!("one connection receives from a sender with cubic{hole}"),
            TrialLoad::Answer(size) => {
                format!(
                    "responses of {} after pauses of 3 s ({}){hole}",
                    crate::path::size(size),
                    cc(&self.now)
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::clean;
    use units::Rate;

    fn path(burst: Option<u64>) -> CheckedPath {
        CheckedPath::new(Rate::from_bps(20_000_000), Span::from_millis(60), burst.map(Bytes::new), None, 0.01)
            .unwrap()
    }

    #[test]
    fn a_namespaces_sysctls_set_the_simulated_stack() {
        let mut ns = clean("web");
        ns.settings.set("net.ipv4.tcp_sack", "0");
        ns.settings.set("net.ipv4.tcp_window_scaling", "0");
        ns.settings.set("net.ipv4.tcp_moderate_rcvbuf", "0");
        let ends = TrialEnds::of(&ns, &path(None));
        assert_eq!((ends.here.sack, ends.here.timestamps), (Some(false), Some(true)));
        assert_eq!(ends.here.receive_buffer, Some(Bytes::new(131_072)));
        assert_eq!(ends.there.receive_window, Some(Bytes::new(65_535)));
        assert_eq!(ends.here.pacing, None);
        ns.devices[1].qdisc = "fq".into();
        assert_eq!(TrialEnds::of(&ns, &path(None)).here.pacing, Some(true));
    }

    #[test]
    fn every_load_on_every_path_yields_a_valid_scenario() {
        let ns = clean("web");
        for load in [TrialLoad::Send, TrialLoad::Receive, TrialLoad::Answer(1_000_000)] {
            for burst in [None, Some(9600)] {
                for (bps, us) in [(64_000u64, 10u64), (100_000_000_000, 10_000_000), (20_000_000, 60_000)] {
                    let mut path = path(burst);
                    (path.rate_mbps, path.rtt_ms) = (bps as f64 / 1e6, us as f64 / 1e3);
                    let mut trial = CostTrial::of(&ns, &path, load, &[]);
                    trial.black_hole = Some(1400);
                    let shaper = burst.map(|b| [path.rate().as_bps() / 8, b]);
                    let text = trial.toml(&path, shaper);
                    if let Err(e) = Experiment::parse("t", &text, &[]) {
                        panic!("{}\n{text}", e.render());
                    }
                    assert!(trial.scenarios(&path).is_some());
                }
            }
        }
        let mut unknown = CostTrial::of(&ns, &path(None), TrialLoad::Send, &[]);
        unknown.now.control = "mystery".into();
        assert!(unknown.scenarios(&path(None)).is_none());
    }
}
