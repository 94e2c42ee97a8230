//! What stands below a leaf of an `htb`: a queue, or a limit of its own.
//!
//! | below a leaf | here | departs |
//! |---|---|---|
//! | nothing | 1000 packets first in, first out (`htb_change_class`: a `pfifo` of `txqueuelen`) | |
//! | `pfifo`, `bfifo`, `sfq`, `fq`, `fq_codel`, `codel`, `red`, `pie` | the class's queue | as at any other place |
//! | `tbf`, `cake bandwidth` | the class's `rate` and `ceil` are its at most, its bucket in place of theirs; its queue | no peak rate; its bucket leaves at once |
//! | `cake` without a bandwidth | FQ-CoDel | no tins, no isolation of hosts |
//! | `netem` | its `limit` less what is out its delay; its stages behind the tree, where there is one leaf | |
//! | `prio` | the queue of its second band, where best effort goes (tc-prio(8): the default `priomap`) | no other band |
//! | others | named, and as nothing | |

use super::convert::{cake_limit, queue_of, tbf_shaper};
use super::model::{ClassId, TcModel, TcPlace, TcQdisc};
use super::netem;
use crate::Reading;
use path::queue::FqCoDel;
use path::{Class, QueueConfig};
use units::{Bytes, Rate};

/// Disciplines below a leaf that its class tells of.
const TOLD_BY_THE_CLASS: [&str; 3] = ["tbf", "cake", "prio"];
/// Disciplines with classes of their own, which one queue does not stand for; those that are not known are named where they are read.
const DIVIDED: [&str; 2] = ["htb", "mq"];

/// Whether all that a discipline does is told by the leaf above it, or named as what is not done.
pub(super) fn is_told(kind: &str) -> bool {
    TOLD_BY_THE_CLASS.contains(&kind) || DIVIDED.contains(&kind)
}

/// The leaf with what stands below it.
pub(super) fn with_below(class: Class, below: &TcQdisc, model: &TcModel, reading: &mut Reading) -> Class {
    match below.kind.as_str() {
        "tbf" => {
            let inner = child(below, 1, model).and_then(|c| queue_of(c, reading));
            let Some(tbf) = tbf_shaper(below, inner, reading) else { return class };
            if tbf.peak_rate.is_some() {
                reading.unknown(below.line, "peakrate", "a peak rate under a class is not simulated");
            }
            Class { queue: Some(tbf.queue()), ..limited(class, tbf.rate, tbf.burst) }
        }
        "cake" => {
            reading.assume("cake under a class as FQ-CoDel: no tins, no isolation of hosts");
            let queue = Some(QueueConfig::FqCoDel(FqCoDel::default()));
            let class = match cake_limit(below, reading) {
                Some((rate, burst)) => limited(class, rate, Some(burst)),
                None => class,
            };
            Class { queue, ..class }
        }
        "prio" => {
            reading.assume(format!(
                "what class {} sends is best effort: in the second band of the `prio` of line {}",
                class.name, below.line
            ));
            Class { queue: child(below, 2, model).and_then(|c| queue_of(c, reading)), ..class }
        }
        kind if DIVIDED.contains(&kind) => {
            let why =
                format!("`{kind}` under a class is not simulated: 1000 packets first in, first out instead");
            reading.unknown(below.line, kind, why);
            class
        }
        "netem" => {
            let queue = Some(netem::queue_above(below, class.ceil.unwrap_or(class.rate), reading));
            Class { queue, ..class }
        }
        _ => Class { queue: queue_of(below, reading), ..class },
    }
}

/// What hangs at a band or class of a discipline.
fn child<'m>(of: &TcQdisc, minor: u32, model: &'m TcModel) -> Option<&'m TcQdisc> {
    let at = |minor| model.at(&of.device, TcPlace::Under(ClassId { major: of.handle, minor }));
    // A discipline with one class takes its bare handle, too.
    at(minor).or_else(|| at(0)).filter(|c| of.handle > 0 && c.line != of.line)
}

/// A class whose packets pass a token bucket, too: the slower of the two limits at each of its rates.
fn limited(class: Class, rate: Rate, burst: Option<Bytes>) -> Class {
    let ceil = class.ceil.unwrap_or(class.rate);
    if rate >= ceil {
        return class;
    }
    let cburst = burst.or(class.cburst);
    // Its turns are those of its own rate (r2q 10).
    let quantum = class.quantum.or(Some((class.rate.as_bps() / 80).clamp(1000, 200_000) as u32));
    if rate > class.rate {
        return Class { ceil: Some(rate), cburst, quantum, ..class };
    }
    Class { rate, ceil: None, burst: burst.or(class.burst), cburst, quantum, ..class }
}
