//! The bucket of a policer: too small for the bursts of senders, or too large to limit.

use crate::number::{FRAME, rate as rate_text, seconds, size, time};
use crate::{Credit, DraftStage, Reading};
use path::{Action, Meter, Stage};
use result::sizes;

/// The initial window of a connection: 10 full packets (RFC 6928), bytes.
const INITIAL_WINDOW: u64 = 10 * FRAME;
/// The largest TSO burst, bytes.
const MAX_TSO: u64 = 65_536;
/// A bucket with more seconds of data than this passes bursts that fill the queues after it.
const MAX_BURST_S: f64 = 3.0;

/// The burst of a Linux sender, bytes: 1 ms at its pacing rate, which is twice the policed rate in slow start
/// (`tcp_tso_autosize`, `tcp_pacing_ss_ratio`), and at least the initial window.
pub(crate) fn sender_burst(bps: u64) -> u64 {
    (bps / 8 / 1000).saturating_mul(2).clamp(INITIAL_WINDOW, MAX_TSO)
}

/// Checks the bucket against a packet, a sender's burst and a duration.
pub(crate) fn bucket(stage: &DraftStage, reading: &mut Reading) {
    let Stage::Policer(p) = &stage.stage else { return };
    if p.red != Action::Drop
        || p.meter == Meter::Srtcm && p.yellow != Action::Drop && p.excess_burst.is_some()
    {
        return;
    }
    let Some(burst) = p.burst else { return };
    let (rate, burst) = (p.rate, burst.get());
    let (r, b) = (rate_text(rate.as_bps()), size(burst));
    let wants = sender_burst(rate.as_bps());
    if burst < FRAME && stage.credit == Credit::KernelTimer {
        let text = format!(
            "{}: a bucket of {b} is below a full packet of {FRAME} bytes, which never passes",
            stage.says
        );
        reading.fault(stage.line, "burst-below-packet", text);
    } else if burst < wants {
        let text = format!(
            "{}: a bucket of {b} at {r} is below the {} that a sender sends at once (a TSO burst, the first ten packets): TCP \
             loses part of each burst and stays far below the rate",
            stage.says,
            size(wants)
        );
        let right = wants.max(sizes::policer_bucket(rate.as_bps()));
        let remedy = super::bucket_size(burst, right, "250 ms of the rate, at least what is sent at once");
        reading.remedied(stage.line, "policer-burst", text, remedy);
    } else if seconds(burst, rate) > MAX_BURST_S {
        let text = format!(
            "{}: a bucket of {b} at {r} holds {}: short transfers never reach the limit",
            stage.says,
            time(seconds(burst, rate))
        );
        reading.fault(stage.line, "policer-burst-large", text);
    }
}
