//! Cisco IOS: `policy-map` configurations and what `show policy-map interface` prints.
//!
//! Each policy that an interface applies becomes a link, a class of it a flow with a codepoint of its own. A policy that
//! only polices, or only shapes classes each for itself, becomes a link a class: the classes do not meet. One that
//! shares bandwidth becomes an [`htb`](path::Htb).
//!
//! | IOS | here | departs |
//! |---|---|---|
//! | `police cir bc be pir` | `policer`: one rate two colours, RFC 2697, RFC 2698 | bytes of IP, without layer 2 |
//! | `shape average cir bc be` | `shaper` with `refill = "interval"` | |
//! | `shape peak` | the same with cir (1 + be / bc) | |
//! | `bandwidth`, `priority` | classes of an `htb`: guarantees, priority 0 | the shaper above refills all the time, not every Tc |
//! | `fair-queue`, `random-detect`, `queue-limit` | `wfq`, `red`, `fifo` | |
//!
//! Source: Cisco's "QoS: Modular QoS Command-Line Interface", "Policing and Shaping Overview".

mod convert;
mod model;
mod read;

use crate::{Assumed, Draft, Foreign, ImportError, ImportSource, Reading};

/// Cisco IOS policies.
pub(crate) struct Ios;

impl Foreign for Ios {
    const TITLE: &'static str = "Cisco IOS policy";
    const LOOKS_FOR: &'static str =
        "policy-map with police, shape, bandwidth or priority, and what `show policy-map interface` prints";

    fn looks_like(text: &str) -> usize {
        const STARTS: [&str; 14] = [
            "policy-map ",
            "policy map ",
            "class-map ",
            "class-map: ",
            "service-policy",
            "class ",
            "police ",
            "police:",
            "shape ",
            "average rate traffic shaping",
            "bandwidth ",
            "priority ",
            "queue-limit ",
            "cir ",
        ];
        let is_policy = |line: &&str| {
            let line = line.trim_start().to_ascii_lowercase();
            STARTS.iter().any(|start| line.starts_with(start))
        };
        text.lines().filter(is_policy).count()
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let model = read::read(source.text, reading);
        Ok(convert::draft(&model, reading))
    }
}

#[cfg(test)]
mod tests;
