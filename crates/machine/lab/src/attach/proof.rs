//! The self-test before anything is led through a path: longfat's own packets pass the target's programs, the
//! engine and the path in each direction, and are dropped where they would leave.
//!
//! Each direction gets a few single packets, which show its delay, and then a train that is faster than its
//! limit, which shows the limit after the bucket is empty. The same packets at the same times also pass the
//! same path in virtual time; the difference is what longfat and this machine add.

use super::AttachPath;
use crate::clock::WallClock;
use crate::wire::{VIRTIO, checksum};
use kernel_cc::{PROBES, ProbeTimes, ProbeWords};
use path::{Ecn, Outbox, Packet, StageLimit};
use scenario::{NamedStage, Scenario};
use std::time::Duration;
use units::{Rate, Span, Time};

/// Single packets before the train, and their interval.
const SINGLES: usize = 20;
const SINGLE_INTERVAL: Span = Span::from_millis(10);
/// Size of a single packet, bytes of IP.
const SINGLE_BYTES: u32 = 100;
/// The train's rate over the limit.
const EXCESS: f64 = 1.5;
/// Fastest train, packets per second, and its longest duration.
const MAX_PACKET_RATE: f64 = 30_000.0;
const MAX_TRAIN: Span = Span::from_millis(2_500);
/// The train gets longer until the path in virtual time shows the limit this well.
const SHOWN_WITHIN: f64 = 0.01;
/// Smallest number of packets of a train.
const MIN_TRAIN: usize = 600;
/// Largest accepted difference of the rate, as a share, and of the delay, ms.
pub const MAX_RATE_ERROR: f64 = 0.03;
pub const MAX_DELAY_ERROR_MS: f64 = 1.0;
/// Time that packets need on this machine at most, beyond what the path takes.
pub const SETTLE: Duration = Duration::from_millis(200);

/// One direction of a self-test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionProof {
    /// `outgoing` or `incoming`, as seen from the target.
    pub direction: &'static str,
    /// Rate limit of the path as configured, Mbit/s of IP packets; `None` if there is none or it varies.
    pub limit_mbps: Option<f64>,
    /// Rate that left the path in virtual time and on this machine in the second half of the train, Mbit/s;
    /// `None` without a limit.
    pub rate_mbps: Option<[f64; 2]>,
    /// Whether the train reached the limit: in virtual time it left at the limit's rate.
    pub reaches_limit: bool,
    /// Whether the train as planned reaches the limit; a machine that sends late may not do so.
    pub could_reach_limit: bool,
    /// Median delay of the single packets in virtual time and on this machine, ms; `None` if none arrived.
    pub delay_ms: Option<[f64; 2]>,
    /// Packets sent, and those that arrived in virtual time and on this machine.
    pub sent: u64,
    pub arrived: [u64; 2],
}

impl DirectionProof {
    /// Whether nothing is wrong, and the limit was shown if that was possible.
    pub fn is_complete(&self) -> bool {
        self.fault().is_none() && (self.reaches_limit || !self.could_reach_limit)
    }

    /// What is wrong, if something is.
    pub fn fault(&self) -> Option<String> {
        let name = self.direction;
        if self.sent == 0 || self.arrived[0] > 0 && self.arrived[1] == 0 {
            return Some(format!("{name}: no packet of the self-test arrived"));
        }
        if let Some([asked, shown]) =
            self.delay_ms.filter(|[asked, shown]| (shown - asked).abs() > MAX_DELAY_ERROR_MS)
        {
            return Some(format!(
                "{name}: the delay is {shown:.2} ms instead of {asked:.2} ms (at most {MAX_DELAY_ERROR_MS} ms apart)"
            ));
        }
        let [asked, shown] = self.rate_mbps?;
        ((shown - asked).abs() > MAX_RATE_ERROR * asked).then(|| {
            format!(
                "{name}: the rate is {shown:.2} Mbit/s instead of {asked:.2} Mbit/s (at most {} % apart)",
                MAX_RATE_ERROR * 100.0
            )
        })
    }
}

/// The packets to send in one direction: when, and how large in bytes of IP.
pub struct ProbePlan {
    pub packets: Vec<(Time, u32)>,
    limit: Option<Rate>,
    reaches_limit: bool,
}

impl ProbePlan {
    /// Plans the test of direction `way` (0: outgoing) of a path; `mtu` is the target's.
    pub fn new(path: &AttachPath, way: usize, seed: u64, mtu: u32) -> ProbePlan {
        let stages = path.stages(way);
        let limit = limit(stages);
        let link = path.scenario.links.first().map_or(mtu, |l| l.mtu());
        let singles = (1..=SINGLES).map(|n| (Time::ZERO + SINGLE_INTERVAL * n as u64, SINGLE_BYTES));
        let mut plan = ProbePlan { packets: singles.collect(), limit, reaches_limit: false };
        let Some(rate) = limit else { return plan };
        // Small packets where a full one takes long.
        let size = if rate.as_bps() < 2_000_000 { 300 } else { mtu.min(link).min(1500) };
        let per_second = (rate.as_bps() as f64 * EXCESS / (8.0 * f64::from(size))).min(MAX_PACKET_RATE);
        let interval = Span::from_nanos((1e9 / per_second) as u64);
        let most = ((MAX_TRAIN.as_secs_f64() * per_second) as usize).clamp(2, PROBES - SINGLES);
        let start = Time::ZERO + SINGLE_INTERVAL * (SINGLES as u64 + 1);
        let mut count = MIN_TRAIN.min(most);
        loop {
            plan.packets.truncate(SINGLES);
            plan.packets.extend((0..count).map(|n| (start + interval * n as u64, size)));
            let left = rehearse(&path.scenario, path.chain(way), seed, &plan.packets);
            let shown = train_rate(&plan.packets, &left);
            let asked = rate.as_bps() as f64 / 1e6;
            plan.reaches_limit = shown.is_some_and(|shown| (shown - asked).abs() <= SHOWN_WITHIN * asked);
            if plan.reaches_limit || count == most {
                return plan;
            }
            count = (count * 2).min(most);
        }
    }

    /// When the last packet is sent.
    pub fn end(&self) -> Time {
        self.packets.last().map_or(Time::ZERO, |p| p.0)
    }

    /// Compares what was seen with the same packets in virtual time. `clock` is the engine's.
    pub fn judge(
        &self,
        path: &AttachPath,
        way: usize,
        seed: u64,
        clock: WallClock,
        times: &ProbeTimes,
    ) -> DirectionProof {
        let seen = self.packets.iter().zip(times.sent.iter().zip(&times.arrived));
        let seen: Vec<(Time, u32, Option<Time>)> = seen
            .filter(|(_, (sent, _))| **sent != 0)
            .map(|((_, size), (sent, left))| (clock.at(*sent), *size, (*left != 0).then(|| clock.at(*left))))
            .collect();
        let packets: Vec<(Time, u32)> = seen.iter().map(|p| (p.0, p.1)).collect();
        let measured: Vec<Option<Time>> = seen.iter().map(|p| p.2).collect();
        let expected = rehearse(&path.scenario, path.chain(way), seed, &packets);
        let arrived = [&expected, &measured].map(|all| all.iter().flatten().count() as u64);
        let delays = [single_delay(&packets, &expected), single_delay(&packets, &measured)];
        let rates = [train_rate(&packets, &expected), train_rate(&packets, &measured)];
        let both = |[a, b]: [Option<f64>; 2]| a.map(|a| [a, b.unwrap_or(0.0)]);
        let limit_mbps = self.limit.map(|rate| rate.as_bps() as f64 / 1e6);
        // Packets that this machine sent late may have been slower than the limit.
        let is_close = |rate: f64, limit: f64| (rate - limit).abs() <= MAX_RATE_ERROR * limit;
        let reaches_limit = rates[0].zip(limit_mbps).is_some_and(|(rate, limit)| is_close(rate, limit));
        DirectionProof {
            direction: ["outgoing", "incoming"][way],
            limit_mbps,
            rate_mbps: both(rates).filter(|_| self.limit.is_some()),
            reaches_limit,
            could_reach_limit: self.reaches_limit,
            delay_ms: both(delays),
            sent: packets.len() as u64,
            arrived,
        }
    }
}

/// The tightest constant limit of the stages, if there is one and none varies.
fn limit(stages: &[NamedStage]) -> Option<Rate> {
    let limits = || stages.iter().map(|s| s.stage.limit());
    if limits().any(|l| l == StageLimit::Varies) {
        return None;
    }
    // The test's packets are one flow.
    let rates = limits().filter_map(|l| match l {
        StageLimit::Shared(rate) | StageLimit::Each(rate) => Some(rate),
        StageLimit::None | StageLimit::Varies => None,
    });
    rates.min()
}

/// Sends packets through a new chain in virtual time. Returns when each leaves; `None` if it is dropped.
fn rehearse(scenario: &Scenario, chain: usize, seed: u64, packets: &[(Time, u32)]) -> Vec<Option<Time>> {
    let mut left = vec![None; packets.len()];
    let Some(mut path) = chains::ways::<()>(scenario, seed).into_iter().nth(chain) else { return left };
    let mut out = Outbox::default();
    let mut take = |out: &mut Outbox<()>| {
        for (due, packet) in out.sent.drain(..) {
            // The fragments of a packet leave in order; it is whole with the last.
            if let Some(place) = left.get_mut(packet.id as usize) {
                *place = Some(due);
            }
        }
        out.dropped.clear();
        out.bounced.clear();
    };
    for (id, (at, size)) in packets.iter().enumerate() {
        while let Some(wake) = path.chain.next_wake().filter(|wake| wake <= at) {
            path.chain.handle_wake(wake, &mut out);
        }
        let packet = Packet {
            id: id as u64,
            size: *size,
            overhead: 0,
            flow: 0,
            dscp: 0,
            ecn: Ecn::NotEct,
            fragment: None,
            body: (),
        };
        path.chain.handle_packet(*at, packet, &mut out);
        take(&mut out);
    }
    let end = packets.last().map_or(Time::ZERO, |p| p.0) + LONGEST_DELAY;
    while let Some(wake) = path.chain.next_wake().filter(|wake| *wake <= end) {
        path.chain.handle_wake(wake, &mut out);
        take(&mut out);
    }
    left
}

/// Time after which a packet is no longer waited for.
const LONGEST_DELAY: Span = Span::from_secs(10);

/// Returns when the last packet leaves the path in virtual time, if the plan's packets are sent in time.
pub fn last_departure(path: &AttachPath, way: usize, seed: u64, plan: &ProbePlan) -> Time {
    let left = rehearse(&path.scenario, path.chain(way), seed, &plan.packets);
    left.into_iter().flatten().max().unwrap_or(plan.end()).max(plan.end())
}

/// Median delay of the single packets, ms.
fn single_delay(packets: &[(Time, u32)], left: &[Option<Time>]) -> Option<f64> {
    let singles = packets.iter().zip(left).filter(|((_, size), _)| *size == SINGLE_BYTES);
    let mut delays: Vec<Span> = singles.filter_map(|((at, _), left)| Some((*left)?.since(*at))).collect();
    delays.sort_unstable();
    delays.get(delays.len() / 2).map(|d| d.as_millis_f64())
}

/// Rate of the second half of the train, Mbit/s: bytes that left after the middle packet's departure, over
/// the time in which they left.
fn train_rate(packets: &[(Time, u32)], left: &[Option<Time>]) -> Option<f64> {
    let train: Vec<(Option<Time>, u32)> = packets
        .iter()
        .zip(left)
        .filter(|((_, size), _)| *size != SINGLE_BYTES)
        .map(|((_, n), t)| (*t, *n))
        .collect();
    let arrived: Vec<(Time, u32)> =
        train[train.len() / 2..].iter().filter_map(|(t, n)| Some(((*t)?, *n))).collect();
    let (first, last) = (arrived.first()?.0, arrived.last()?.0);
    let bytes: u64 = arrived[1..].iter().map(|(_, n)| u64::from(*n)).sum();
    let time = last.since(first).as_secs_f64();
    (time > 0.0).then(|| bytes as f64 * 8.0 / 1e6 / time)
}

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// A locally administered address that no device has.
const NOBODY: [u8; 6] = [2, 0, 0, 0x6c, 0x66, 0x74];
/// The IPv4 dummy address (RFC 7600 section 4.8), and the protocol number for experiments (RFC 3692).
const ADDRESS: [u8; 4] = [192, 0, 0, 8];
const EXPERIMENT: u8 = 253;

/// Builds a packet of the test for a TAP device: a virtio header and a frame; without the former's bytes it
/// is a frame for a packet socket. It enters at the target's ingress, or is sent by the target.
pub fn frame(target: [u8; 6], secret: u64, number: u32, size: u32, enters: bool) -> Vec<u8> {
    let mut bytes = vec![0; VIRTIO + ETHERNET + size as usize];
    let (to, from) = if enters { (target, NOBODY) } else { (NOBODY, target) };
    let frame = &mut bytes[VIRTIO..];
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&from);
    frame[12..14].copy_from_slice(&[8, 0]);
    let ip = &mut frame[ETHERNET..];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(size as u16).to_be_bytes());
    (ip[8], ip[9]) = (64, EXPERIMENT);
    ip[12..16].copy_from_slice(&ADDRESS);
    ip[16..20].copy_from_slice(&ADDRESS);
    let sum = checksum(&ip[..20]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip[20..36].copy_from_slice(&ProbeWords::bytes(secret, number, enters));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(forward: &str) -> AttachPath {
        let text = format!(
            "[links.wan]\nbetween = [\"a\", \"b\"]\nforward = [{forward}]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let all = scenario::Experiment::parse("t.toml", &text, &[]).unwrap().variants;
        AttachPath::new(&all[0].scenario, "wan", None, false).unwrap()
    }

    #[test]
    fn a_train_is_long_enough_to_empty_the_bucket() {
        let delay = r#"{ kind = "delay", delay = "30ms" }"#;
        for (stage, limit) in [
            (r#"{ kind = "policer", rate = "20Mbit/s", burst = "9kB" }"#, 20.0),
            (r#"{ kind = "policer", rate = "20Mbit/s", burst = "625kB" }"#, 20.0),
            (r#"{ kind = "shaper", rate = "8Mbit/s" }"#, 8.0),
            (r#"{ kind = "link", rate = "100Mbit/s" }"#, 100.0),
            (r#"{ kind = "policer", rate = "256kbit/s", burst = "3kB" }"#, 0.256),
        ] {
            let path = path(&format!("{stage}, {delay}"));
            let plan = ProbePlan::new(&path, 0, 1, 1500);
            assert!(plan.reaches_limit && plan.packets.len() <= PROBES, "{stage}: {}", plan.packets.len());
            let left = rehearse(&path.scenario, 0, 1, &plan.packets);
            let shown = train_rate(&plan.packets, &left).unwrap();
            assert!((shown - limit).abs() <= SHOWN_WITHIN * limit, "{stage}: {shown}");
            let delay = single_delay(&plan.packets, &left).unwrap();
            assert!((30.0..34.0).contains(&delay), "{stage}: {delay}");
            assert!(plan.end() < Time::ZERO + Span::from_secs(3), "{stage}");
        }
        let plan = ProbePlan::new(&path(delay), 0, 1, 1500);
        assert_eq!((plan.packets.len(), plan.limit), (SINGLES, None));
    }

    #[test]
    fn a_path_that_was_not_shown_is_a_fault() {
        let good = DirectionProof {
            direction: "outgoing",
            limit_mbps: Some(20.0),
            rate_mbps: Some([20.0, 19.6]),
            reaches_limit: true,
            could_reach_limit: true,
            delay_ms: Some([30.0, 30.4]),
            sent: 100,
            arrived: [60, 59],
        };
        assert_eq!(good.fault(), None);
        let fault = |p: DirectionProof| p.fault().unwrap();
        assert!(
            fault(DirectionProof { rate_mbps: Some([20.0, 60.0]), ..good.clone() }).contains("60.00 Mbit/s")
        );
        assert!(
            fault(DirectionProof { rate_mbps: Some([20.0, 0.0]), ..good.clone() }).contains("0.00 Mbit/s")
        );
        assert!(fault(DirectionProof { delay_ms: Some([30.0, 0.1]), ..good.clone() }).contains("0.10 ms"));
        assert!(fault(DirectionProof { arrived: [60, 0], ..good.clone() }).contains("no packet"));
        assert!(fault(DirectionProof { sent: 0, ..good }).contains("no packet"));
    }

    #[test]
    fn packets_of_the_test_are_valid_ip() {
        let frame = frame([1; 6], 7, 3, 100, true);
        let ip = &frame[VIRTIO + ETHERNET..];
        assert_eq!((ip.len(), checksum(&ip[..20]), ip[9]), (100, 0, EXPERIMENT));
        assert_eq!(frame[VIRTIO..VIRTIO + 6], [1; 6]);
    }
}
