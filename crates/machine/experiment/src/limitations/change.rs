//! Scenario edits that several suspects share.

use super::case::StageKey;
use path::queue::{CoDel, Drr, Fifo, FqCoDel};
use path::{Delay, QueueConfig, Stage};
use scenario::Scenario;
use units::{Bytes, Rate, Span};

/// Capacity of a queue that never fills up: more packets than any window allows.
const UNLIMITED_PACKETS: u64 = 1_000_000;
/// Bytes of a full packet.
const FULL_PACKET: u64 = 1500;
/// The largest buffer that a stack may have (RFC 7323 section 2.3).
pub(super) const MAX_BUFFER: Bytes = Bytes::new((1 << 30) - 1);

/// A stage of a scenario, for editing.
pub(super) fn stage_mut(scenario: &mut Scenario, key: StageKey) -> &mut Stage {
    let link = &mut scenario.links[key.link];
    let stages = if key.forward { &mut link.forward } else { &mut link.backward };
    &mut stages[key.index].stage
}

/// Whether every stage passes its own check.
pub(super) fn is_valid(scenario: &Scenario) -> bool {
    let mut stages = scenario.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward));
    stages.all(|s| s.stage.check().is_ok())
}

/// A stage that forwards packets without any effect. It replaces another stage, so the indexes and names of
/// the rest stay valid.
pub(super) fn passthrough() -> Stage {
    Delay::new(Span::ZERO).into()
}

/// The queues of a stage; empty if the stage does not queue packets.
pub(super) fn queues(stage: &mut Stage) -> Vec<&mut QueueConfig> {
    match stage {
        Stage::Link(link) => vec![&mut link.queue],
        Stage::RateTrace(trace) => vec![&mut trace.queue],
        Stage::Handover(radio) => vec![&mut radio.queue],
        Stage::Train(radio) => vec![&mut radio.queue],
        Stage::Outage(outage) => vec![&mut outage.queue],
        Stage::Shaper(shaper) => {
            let queue = shaper.queue();
            shaper.latency = None;
            vec![shaper.queue.insert(queue)]
        }
        Stage::Htb(htb) => htb.classes.iter_mut().map(|class| class.queue.get_or_insert_default()).collect(),
        _ => Vec::new(),
    }
}

/// A queue with the same scheduling that never drops a packet.
pub(super) fn unlimited_queue(queue: &QueueConfig) -> QueueConfig {
    match queue {
        QueueConfig::Wfq(wfq) => {
            let mut wfq = wfq.clone();
            wfq.packets = UNLIMITED_PACKETS;
            QueueConfig::Wfq(wfq)
        }
        QueueConfig::Drr(drr) => QueueConfig::Drr(Drr { packets: UNLIMITED_PACKETS, ..drr.clone() }),
        QueueConfig::FqCoDel(fq) => QueueConfig::Drr(Drr { packets: UNLIMITED_PACKETS, quantum: fq.quantum }),
        _ => QueueConfig::Fifo(Fifo { packets: Some(UNLIMITED_PACKETS), bytes: None }),
    }
}

/// A queue with the same capacity that active queue management keeps short: FQ-CoDel if flows have separate
/// queues, otherwise CoDel.
pub(super) fn managed_queue(queue: &QueueConfig, rtt: Span) -> QueueConfig {
    // RFC 8289 section 4.3: the interval is the largest round trip in common use.
    let interval = Span::from_millis(100).max(rtt);
    let limits = queue.limits();
    let packets = limits.packets.min(limits.bytes / FULL_PACKET).max(1);
    match queue {
        QueueConfig::Wfq(_) | QueueConfig::Drr(_) | QueueConfig::FqCoDel(_) => {
            QueueConfig::FqCoDel(FqCoDel { interval, packets, ecn: false, ..FqCoDel::default() })
        }
        _ => QueueConfig::CoDel(CoDel { interval, packets, ..CoDel::default() }),
    }
}

fn double(rate: Rate) -> Rate {
    Rate::from_bps(rate.as_bps().saturating_mul(2))
}

fn double_bytes(bytes: Bytes) -> Bytes {
    Bytes::new(bytes.get().saturating_mul(2))
}

fn double_queue(queue: &mut QueueConfig) {
    match queue {
        QueueConfig::Fifo(fifo) => {
            if fifo.packets.is_none() && fifo.bytes.is_none() {
                fifo.packets = Some(default_fifo_packets());
            }
            fifo.packets = fifo.packets.map(|n| n.saturating_mul(2));
            fifo.bytes = fifo.bytes.map(double_bytes);
        }
        QueueConfig::CoDel(q) => q.packets *= 2,
        QueueConfig::Pie(q) => q.packets *= 2,
        QueueConfig::Drr(q) => q.packets *= 2,
        QueueConfig::Wfq(q) => q.packets *= 2,
        QueueConfig::FqCoDel(q) => q.packets *= 2,
        QueueConfig::Red(q) => (q.packets, q.min, q.max) = (q.packets * 2, q.min * 2, q.max * 2),
    }
}

fn default_fifo_packets() -> u64 {
    QueueConfig::default().limits().packets
}

/// Doubles the rate, the bucket and the queue, so the latter two last as long as before. Stages without a
/// rate stay as they are.
pub(super) fn double_rate(stage: &mut Stage) {
    match stage {
        Stage::Link(link) => link.rate = link.rate.map(double),
        Stage::Handover(radio) => {
            (radio.rate, radio.falling_rate) = (radio.rate.map(double), radio.falling_rate.map(double));
        }
        Stage::Train(radio) => radio.rate = double(radio.rate),
        Stage::RateTrace(trace) => {
            trace.steps.iter_mut().for_each(|s| s.rate = double(s.rate));
            trace.opportunities = trace.opportunities.iter().flat_map(|&ms| [ms, ms]).collect();
        }
        Stage::Shaper(s) => {
            (s.rate, s.peak_rate) = (double(s.rate), s.peak_rate.map(double));
            for burst in [&mut s.burst, &mut s.excess_burst, &mut s.peak_burst] {
                *burst = burst.map(double_bytes);
            }
        }
        Stage::Policer(p) => {
            (p.rate, p.peak_rate) = (double(p.rate), p.peak_rate.map(double));
            for burst in [&mut p.burst, &mut p.excess_burst, &mut p.peak_burst] {
                *burst = burst.map(double_bytes);
            }
        }
        Stage::Htb(htb) => {
            for class in &mut htb.classes {
                (class.rate, class.ceil) = (double(class.rate), class.ceil.map(double));
                (class.burst, class.cburst) = (class.burst.map(double_bytes), class.cburst.map(double_bytes));
            }
        }
        _ => return,
    }
    queues(stage).into_iter().for_each(double_queue);
}
