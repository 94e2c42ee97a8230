//! Linux `tc`: the output of `tc -s -d qdisc|class|filter show`, and scripts of `tc` commands.
//!
//! A device becomes a link from `here` to `beyond-DEVICE`: its root handles outgoing packets, its ingress
//! (police filters, a redirect to an `ifb`) incoming ones. Two devices are the two sides of a box and become
//! one link. Classes are selected by codepoint: a class whose filters do not match a codepoint gets a free
//! one, and a flow with that codepoint.
//!
//! | `tc` | imported as | departures |
//! |---|---|---|
//! | `htb` | `htb`, below its leaves as [`leaf`] has it | `mpu`, `overhead`, `linklayer` are not counted; a packet's 14 bytes of Ethernet are not either |
//! | `hfsc` | a tree, as [`hfsc`] has it | the first segments of its curves |
//! | `tbf` | `shaper` | as for `htb` |
//! | `police` | `policer` | one per filter, on a separate link unless it matches all |
//! | `netem` | `loss`, `link`, `delay` or `jitter`, `reorder`, `duplicate` | no correlation; of tables of delays `normal` only |
//! | `cake bandwidth` | `shaper` with FQ-CoDel | no tins, no isolation of hosts |
//! | `sfq`, `fq` | `drr` | flows by number, not by hash; `fq`'s pacing is the flows' own |

mod classes;
mod convert;
mod facts;
mod filter;
mod hfsc;
mod leaf;
mod model;
mod netem;
mod options;
mod read;

use crate::{Assumed, Draft, Foreign, ImportError, ImportSource, Reading};

pub(crate) use convert::egress_stages;
pub(crate) use model::TcModel;
pub(crate) use read::read_command;

/// Linux traffic control (`tc`).
pub(crate) struct Tc;

/// Object types of `tc`.
const OBJECTS: [&str; 3] = ["qdisc", "class", "filter"];

impl Foreign for Tc {
    const TITLE: &'static str = "Linux tc";
    const LOOKS_FOR: &'static str = "htb with classes, tbf, police, netem, cake with a bandwidth";

    fn looks_like(text: &str) -> usize {
        let is_tc = |line: &&str| {
            let mut words = line.split_whitespace();
            let first = words.next().unwrap_or_default();
            let ids = line.contains(':') || line.contains("dev") || line.contains("root");
            if OBJECTS.contains(&first) {
                return ids;
            }
            line.split_whitespace().take(12).zip(line.split_whitespace().skip(1)).any(|(tool, object)| {
                let tool = tool.trim_matches(['"', '\'', '{', '}', '$']);
                tool.rsplit('/').next().is_some_and(|t| t.eq_ignore_ascii_case("tc"))
                    && OBJECTS.contains(&object)
            })
        };
        text.lines().filter(is_tc).count()
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let model = read::read(source, reading);
        Ok(convert::draft(model, reading))
    }
}

#[cfg(test)]
mod tests;
