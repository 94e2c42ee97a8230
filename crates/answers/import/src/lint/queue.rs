//! Queues in front of a limit: too short for a packet, or long enough to dominate the delay.

use crate::number::{FRAME, rate as rate_text, size, time};
use crate::{DraftStage, Reading};
use path::{QueueConfig, Stage};
use result::{Change, ChangeKind, ChangePlace};
use units::Rate;

/// A queue with more seconds of delay than this is perceived as an outage.
const MAX_QUEUE_S: f64 = 1.0;

fn check(line: usize, owner: &str, rate: Rate, queue: &QueueConfig, reading: &mut Reading) {
    let limits = queue.limits();
    let bytes = limits.bytes.min(limits.packets.saturating_mul(FRAME));
    if bytes < FRAME {
        let text = format!(
            "{owner}: a queue of {} cannot hold a full packet of {FRAME} bytes: none passes",
            size(bytes)
        );
        return reading.fault(line, "limit-below-packet", text);
    }
    let holds = bytes as f64 * 8.0 / rate.as_bps() as f64;
    if holds > MAX_QUEUE_S && !queue.drops_early() {
        let text = format!(
            "{owner}: a full queue of {} at {} is {} of delay",
            size(bytes),
            rate_text(rate.as_bps()),
            time(holds)
        );
        let why = "it lets no queue stand that only delays, and serves flows in turn (RFC 8290)";
        let managed = Change::new(ChangeKind::QueueManagement, ChangePlace::Limiter, why).named("fq_codel");
        reading.remedied(line, "queue-long", text, managed);
    }
}

/// Checks the queue in front of a limit.
pub(crate) fn limit(stage: &DraftStage, reading: &mut Reading) {
    let says = stage.says.as_str();
    match &stage.stage {
        // A `latency` states the delay itself.
        Stage::Shaper(s) if s.latency.is_some_and(|l| l.as_secs_f64() <= MAX_QUEUE_S) => {}
        Stage::Shaper(s) if s.queue.is_some() || s.latency.is_some() => {
            check(stage.line, says, s.rate, &s.queue(), reading);
        }
        Stage::Link(link) => {
            if let Some(rate) = link.rate {
                check(stage.line, says, rate, &link.queue, reading);
            }
        }
        Stage::Htb(htb) => {
            for class in &htb.classes {
                let Some(queue) = &class.queue else { continue };
                let line = stage.parts.get(&class.name).copied().unwrap_or(stage.line);
                let ceil = class.ceil.unwrap_or(class.rate);
                check(line, &format!("class {}", class.name), ceil, queue, reading);
            }
        }
        _ => {}
    }
}
