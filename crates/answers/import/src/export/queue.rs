//! Queues as `tc` disciplines below a TBF, and as the packet limit of a FIFO.

use super::account::Accounts;
use super::qdisc::{percent, time};
use crate::number::FRAME;
use crate::number::{seconds, time as time_text};
use path::QueueConfig;
use path::queue::{CoDel, Drr, FqCoDel, Pie, Red, Wfq};
use units::{Rate, Span};

/// The unit of PIE's factors in tc is 1/16 (tc-pie(8)).
const PIE_UNITS: f64 = 16.0;
/// PIE's burst in the kernel (`pie_vars_init`: 150 ms); tc cannot change it.
const PIE_BURST: Span = Span::from_millis(150);
/// RED's average packet, bytes (tc-red(8)).
const RED_PACKET: u64 = 1000;

/// The discipline for this queue below a TBF; `None` for a FIFO.
pub(super) fn discipline(queue: &QueueConfig, accounts: &mut Accounts) -> Option<String> {
    let ecn = |on: bool| if on { "ecn" } else { "noecn" };
    Some(match queue {
        QueueConfig::Fifo(_) => return None,
        QueueConfig::FqCoDel(FqCoDel { packets, flows, quantum, target, interval, ecn: marks }) => {
            accounts.carried("queue", "fq_codel below a tbf");
            format!(
                "fq_codel limit {packets} flows {flows} quantum {quantum} target {} interval {} {}",
                time(*target),
                time(*interval),
                ecn(*marks)
            )
        }
        QueueConfig::CoDel(CoDel { packets, target, interval, ecn: marks }) => {
            accounts.carried("queue", "codel below a tbf");
            format!(
                "codel limit {packets} target {} interval {} {}",
                time(*target),
                time(*interval),
                ecn(*marks)
            )
        }
        QueueConfig::Pie(Pie { packets, target, update, alpha, beta, burst, ecn: marks }) => {
            let in_units = |factor: f64| ((factor * PIE_UNITS).round() as u64).clamp(1, 32);
            let (alpha_units, beta_units) = (in_units(*alpha), in_units(*beta));
            let exact = |factor: f64, units: u64| (factor * PIE_UNITS - units as f64).abs() < 1e-9;
            if exact(*alpha, alpha_units) && exact(*beta, beta_units) && *burst == PIE_BURST {
                accounts.carried("queue", "pie below a tbf");
            } else {
                let how = format!(
                    "pie below a tbf with alpha {alpha_units}/16 and beta {beta_units}/16 instead of {alpha} and {beta}, a burst of {PIE_BURST} instead of {burst}"
                );
                accounts.approximated("queue", how);
            }
            let (target, update) = (time(*target), time(*update));
            format!(
                "pie limit {packets} target {target} tupdate {update} alpha {alpha_units} beta {beta_units} {}",
                ecn(*marks)
            )
        }
        QueueConfig::Red(Red {
            packets,
            min,
            max,
            max_probability,
            weight,
            gentle,
            ecn: marks,
            bandwidth,
        }) => {
            let (min, max, limit) = (min * FRAME, max * FRAME, packets * FRAME);
            // The least that tc accepts.
            let burst = (2 * min + max) / (3 * RED_PACKET) + 1;
            let how = format!(
                "red below a tbf: bytes instead of packets ({min} to {max}), a burst of {burst} instead of weight {weight}, gentle {gentle}"
            );
            accounts.approximated("queue", how);
            let marks = if *marks { " ecn" } else { "" };
            format!(
                "red limit {limit} min {min} max {max} avpkt {RED_PACKET} burst {burst} probability {max_probability} bandwidth {}bit{marks}",
                bandwidth.as_bps()
            )
        }
        QueueConfig::Drr(Drr { packets, quantum }) => {
            accounts.approximated(
                "queue",
                format!("sfq below a tbf, {packets} packets: flows by hash, at most 127"),
            );
            format!("sfq limit {packets} quantum {quantum}")
        }
        QueueConfig::Wfq(Wfq { packets, weights }) => {
            let weights = if weights.is_empty() {
                String::new()
            } else {
                format!("; {} weights are left out", weights.len())
            };
            accounts.approximated(
                "queue",
                format!("sfq below a tbf, {packets} packets: flows by hash, at most 127{weights}"),
            );
            format!("sfq limit {packets} quantum {FRAME}")
        }
    })
}

/// The most bytes queued, with full packets if packets are counted.
pub(super) fn bytes(queue: &QueueConfig) -> u64 {
    let limits = queue.limits();
    limits.bytes.min(limits.packets.saturating_mul(FRAME))
}

/// The packet limit that approximates a queue as a FIFO.
pub(super) fn packets(queue: &QueueConfig, rate: Rate, accounts: &mut Accounts) -> u64 {
    let limits = queue.limits();
    let packets = limits.packets.min((limits.bytes / FRAME).max(1));
    let lasts = time_text(seconds(packets.saturating_mul(FRAME), rate));
    match queue {
        QueueConfig::Fifo(_) if limits.bytes == u64::MAX => {
            accounts.carried("queue", format!("netem limit: {packets} packets plus those in transit"));
        }
        QueueConfig::Fifo(_) => {
            let both = if limits.packets < u64::MAX {
                format!(" and {} packets", limits.packets)
            } else {
                String::new()
            };
            let how =
                format!("netem counts packets: {packets} full ones instead of {} bytes{both}", limits.bytes);
            accounts.approximated("queue", how);
        }
        _ => {
            let how =
                format!("a FIFO instead of {}: {packets} packets, {lasts} of delay when full", queue.kind());
            accounts.approximated("queue", how);
        }
    }
    packets
}

/// A probability in percent, as tc reads it.
pub(super) fn share(probability: f64) -> String {
    format!("{}%", percent(probability))
}
