//! Juniper Junos: policers, firewall filters that apply them, class of service; curly braces and `set` lines;
//! counters of `show policer`, `show firewall` and `show interfaces queue`.
//!
//! | Junos | imported as | departures |
//! |---|---|---|
//! | `policer` with `if-exceeding`, `then discard` | `policer`, one rate two colours | bytes of IP; a policer at a logical interface counts layer 2 |
//! | `three-color-policer`: `single-rate`, `two-rate` | RFC 2697, RFC 2698; red is dropped only with `loss-priority high then discard` | |
//! | a filter's term with a policer | a policer of the term's codepoint; a term without `from` takes all traffic | other conditions are represented by the flow |
//! | `shaping-rate` of an interface, unit, traffic control profile | `shaper`, or the root of the tree | |
//! | `schedulers`: `transmit-rate`, `shaping-rate`, `priority`, `buffer-size` | classes of an [`htb`](path::Htb) | a queue without a time holds 100 ms of its rate |
//!
//! k = 1000, m = 1,000,000, g = 1,000,000,000, for rates and sizes.
//!
//! Sources: Junos CLI reference, `if-exceeding`, `burst-size-limit`, `bandwidth-limit` (suffixes),
//! `three-color-policer`, "Policer Color-Marking and Actions" (what each colour's action is), `transmit-rate`
//! (`exact`, `rate-limit`, `remainder`), `shaping-rate`, "Two-Color Policer Configuration Overview" (a
//! policer of each protocol family), `show policer`.

mod convert;
mod model;
mod show;
mod statements;

use crate::{Assumed, Draft, Foreign, ImportError, ImportSource, Reading};

/// Junos configurations.
pub(crate) struct Junos;

impl Foreign for Junos {
    const TITLE: &'static str = "Juniper Junos configuration";
    const LOOKS_FOR: &'static str =
        "policers that an interface or a firewall filter applies, shaping-rate, scheduler-maps";

    fn looks_like(text: &str) -> usize {
        const STARTS: [&str; 12] = [
            "set firewall ",
            "set class-of-service ",
            "set interfaces ",
            "policer ",
            "if-exceeding",
            "bandwidth-limit ",
            "burst-size-limit ",
            "shaping-rate ",
            "scheduler-map ",
            "transmit-rate ",
            "class-of-service {",
            "firewall {",
        ];
        // VyOS, whose lines begin alike.
        const OTHERS: [&str; 3] = ["set traffic-policy ", "set qos policy ", "set interfaces ethernet "];
        let is_other = |line: &str| OTHERS.iter().any(|start| line.trim_start().starts_with(start));
        if text.lines().any(is_other) {
            return 0;
        }
        let is_junos = |line: &&str| {
            let line = line.trim_start();
            // Junos statements end with a semicolon or open a block.
            let ends = line.trim_end().ends_with([';', '{']);
            STARTS.iter().any(|start| line.starts_with(start)) && (ends || line.starts_with("set "))
        };
        text.lines().filter(is_junos).count() * 2
    }

    fn read(source: &ImportSource, assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let rest = show::facts(source.text, reading);
        let statements = statements::read(&rest, reading);
        let model = model::read(&statements, reading);
        Ok(convert::draft(&model, assumed, reading))
    }
}

#[cfg(test)]
mod tests;
