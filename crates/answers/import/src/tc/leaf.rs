//! The discipline below a leaf of an `htb`: a queue, or another limit.
//!
//! | below a leaf | imported as | departures |
//! |---|---|---|
//! | nothing | a FIFO of 1000 packets (`htb_change_class`: a `pfifo` of `txqueuelen`) | |
//! | `pfifo`, `bfifo`, `sfq`, `fq`, `fq_codel`, `codel`, `red`, `pie` | the class's queue | as at any other place |
//! | `tbf`, `cake bandwidth` | caps the class's `rate` and `ceil`, and replaces their buckets and queue | no peak rate; a full bucket leaves at once |
//! | `cake` without a bandwidth | FQ-CoDel | no tins, no isolation of hosts |
//! | `netem` | its `limit` without the delayed packets as the queue; its stages follow the tree, if there is one leaf | |
//! | `prio` | the queue of its second band, where best effort goes (tc-prio(8): the default `priomap`) | no other band |
//! | others | reported and ignored | |

use super::convert::{cake_limit, queue_of, tbf_shaper};
use super::model::{ClassId, TcModel, TcPlace, TcQdisc};
use super::netem;
use crate::Reading;
use path::queue::FqCoDel;
use path::{Class, QueueConfig};
use units::{Bytes, Rate};

/// Disciplines below a leaf that the class represents.
const MERGED_INTO_CLASS: [&str; 3] = ["tbf", "cake", "prio"];
/// Disciplines with classes, which one queue cannot represent. Unknown disciplines are reported when they are
/// read.
const CLASSFUL: [&str; 2] = ["htb", "mq"];

/// Whether the leaf above a discipline represents it, or reports it as not simulated.
pub(super) fn is_handled_by_leaf(kind: &str) -> bool {
    MERGED_INTO_CLASS.contains(&kind) || CLASSFUL.contains(&kind)
}

/// The class of a leaf together with the discipline below it.
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
                "class {} sends best effort: in the second band of the `prio` in line {}",
                class.name, below.line
            ));
            Class { queue: child(below, 2, model).and_then(|c| queue_of(c, reading)), ..class }
        }
        kind if CLASSFUL.contains(&kind) => {
            let why = format!("`{kind}` under a class is not simulated: a FIFO of 1000 packets is used");
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

/// The discipline at a band or class of a discipline.
fn child<'m>(parent: &TcQdisc, minor: u32, model: &'m TcModel) -> Option<&'m TcQdisc> {
    let at = |minor| model.at(&parent.device, TcPlace::Under(ClassId { major: parent.handle, minor }));
    // A discipline with one class accepts its bare handle too.
    at(minor).or_else(|| at(0)).filter(|c| parent.handle > 0 && c.line != parent.line)
}

/// A class whose packets also pass a token bucket: the slower limit applies to each of its rates.
fn limited(class: Class, rate: Rate, burst: Option<Bytes>) -> Class {
    let ceil = class.ceil.unwrap_or(class.rate);
    if rate >= ceil {
        return class;
    }
    let cburst = burst.or(class.cburst);
    // The quantum depends on the class's original rate (r2q 10).
    let quantum = class.quantum.or(Some((class.rate.as_bps() / 80).clamp(1000, 200_000) as u32));
    if rate > class.rate {
        return Class { ceil: Some(rate), cburst, quantum, ..class };
    }
    Class { rate, ceil: None, burst: burst.or(class.burst), cburst, quantum, ..class }
}
