//! Queues in front of a limit: below a packet, or so long that they are the delay.

use crate::number::{FRAME, rate as rate_text, size, time};
use crate::{DraftStage, Reading};
use path::{QueueConfig, Stage};
use result::{Change, ChangeKind, ChangePlace};
use units::Rate;

/// A queue of this long is felt as an outage.
const LONG_S: f64 = 1.0;

fn judge(line: usize, owner: &str, rate: Rate, queue: &QueueConfig, reading: &mut Reading) {
    let limits = queue.limits();
    let bytes = limits.bytes.min(limits.packets.saturating_mul(FRAME));
    if bytes < FRAME {
        let text = format!(
            "{owner}: a queue of {} holds not one full packet of {FRAME} bytes: none passes",
            size(bytes)
        );
        return reading.fault(line, "limit-below-packet", text);
    }
    let holds = bytes as f64 * 8.0 / rate.as_bps() as f64;
    if holds > LONG_S && !queue.drops_early() {
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

/// What waits before a limit.
pub(crate) fn limit(stage: &DraftStage, reading: &mut Reading) {
    let says = stage.says.as_str();
    match &stage.stage {
        // Of a `latency` the wait is what is written: the bucket's bytes do not wait.
        Stage::Shaper(s) if s.latency.is_some_and(|l| l.as_secs_f64() <= LONG_S) => {}
        Stage::Shaper(s) if s.queue.is_some() || s.latency.is_some() => {
            judge(stage.line, says, s.rate, &s.queue(), reading);
        }
        Stage::Link(link) => {
            if let Some(rate) = link.rate {
                judge(stage.line, says, rate, &link.queue, reading);
            }
        }
        Stage::Htb(htb) => {
            for class in &htb.classes {
                let Some(queue) = &class.queue else { continue };
                let line = stage.parts.get(&class.name).copied().unwrap_or(stage.line);
                let ceil = class.ceil.unwrap_or(class.rate);
                judge(line, &format!("class {}", class.name), ceil, queue, reading);
            }
        }
        _ => {}
    }
}
