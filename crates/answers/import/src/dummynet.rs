//! FreeBSD's dummynet: scripts of `ipfw` and `dnctl`, rule files, the output of `ipfw pipe|queue|sched show`
//! and `ipfw list`, `dnpipe` and `dnqueue` of pf, and the `<TrafficShaper>` of OPNsense's `config.xml`.
//!
//! | dummynet | here | departures |
//! |---|---|---|
//! | `bw`, `delay`, `queue` of a pipe | `link`: packets leave one by one, without a bucket | a `queue` in bytes holds one more packet, as in the kernel |
//! | `burst` | `shaper` with a bucket of this plus one packet, then `delay` | |
//! | `plr` | `loss` before the queue; `K,p,H,r`: Gilbert-Elliott | |
//! | a rule to a pipe | the pipe's own FIFO, regardless of its scheduler | |
//! | rules to queues of one pipe | classes of an `htb`: shares by `weight`, up to the whole pipe while the others are idle | WF2Q+, QFQ and DRR share in the same way |
//! | `type fq_codel` | all queues of the pipe are one FQ-CoDel, without weights | |
//! | `type fq_pie` | FQ-CoDel with the target of PIE | drops differently |
//! | `type fifo` | all queues of the pipe are one FIFO of 50 slots | |
//! | `codel`, `pie`, `red`, `gred` | the queue | `max_ecnth`, `capdrop`, `onoff`, `dre` |
//! | `mask` | one of its flows | other flows have separate pipes or queues |
//! | `in recv`, `out xmit`, `via` of a rule | a direction of the interface's link | |
//! | `profile`, `prob`, `lmax` | not simulated | |
//!
//! Numbers are integers, as `strtoul` reads them. Source: FreeBSD ipfw(8), "TRAFFIC SHAPER (DUMMYNET)
//! CONFIGURATION"; `sbin/ipfw/dummynet.c` (`read_bandwidth`, `ipfw_config_pipe`, `process_extra_parms`,
//! `list_pipes`, `print_flowset_parms`); `sys/netpfil/ipfw/ip_dn_io.c` (`dn_enqueue`, `serve_sched`,
//! `dummynet_io`: a rule to a pipe finds the flow set `N + 2 * DN_MAX_ID`, which has the FIFO scheduler);
//! OPNsense `service/templates/OPNsense/IPFW/ipfw.conf`, whose lines are derived from `config.xml`;
//! FreeBSD `tests/sys/netpfil/pf/route_to.sh` (`dnpipe (a, b)`: b is the reverse direction).

mod config;
mod convert;
mod model;
mod opnsense;
mod place;
mod rules;
mod show;

use crate::shell::{Shell, joined};
use crate::{Assumed, Draft, Foreign, ImportError, ImportSource, Reading};
use model::{Dummynet, Kind};

/// FreeBSD's ipfw and dummynet.
pub(crate) struct Ipfw;

/// The tools, and the commands that rule files contain without a tool.
const TOOLS: [&str; 2] = ["ipfw", "dnctl"];
const COMMANDS: [&str; 7] = ["add", "pipe", "queue", "sched", "flush", "delete", "set"];

impl Foreign for Ipfw {
    const TITLE: &'static str = "ipfw and dummynet, OPNsense";
    const LOOKS_FOR: &'static str = "`pipe N config` with `bw`, `delay` or `plr`, output of `ipfw pipe show`, `<pipe>` of an OPNsense \
                                     <TrafficShaper>";

    fn looks_like(text: &str) -> usize {
        if opnsense::is_xml(text) {
            return 1000 * usize::from(text.contains("<TrafficShaper"));
        }
        let own = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().take(24).collect();
            let numbered = |kinds: &[&str]| {
                words
                    .windows(2)
                    .any(|w| kinds.contains(&w[0]) && w[1].starts_with(|c: char| c.is_ascii_digit()))
            };
            let has = |word: &str| words.contains(&word);
            let objects = ["pipe", "queue", "sched"];
            (numbered(&objects) && (has("config") || has("from") && has("to")))
                || words
                    .iter()
                    .any(|w| rules::PF_TARGETS.iter().any(|(t, _)| w.trim_start_matches('(') == *t))
                || show::is_shown(line)
        };
        text.lines().filter(own).count() * 2
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let mut model = Dummynet::default();
        if opnsense::is_xml(source.text) {
            opnsense::read(source.text, &mut model, reading)?;
        } else {
            lines(source, &mut model, reading);
        }
        model.rules.sort_by_key(|rule| rule.number);
        Ok(convert::draft(&model, reading))
    }
}

/// Commands, rules and output, line by line.
fn lines(source: &ImportSource, model: &mut Dummynet, reading: &mut Reading) {
    let mut shell = Shell::with(source.values);
    let mut shown = show::Shown::default();
    for (line, text) in joined(source.text) {
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        reading.lines.insert(line);
        if shown.line(line, text, model, reading) || rules::pf(line, text, model, reading) {
            continue;
        }
        // After `//` comes a rule's comment.
        let text = text.split_once(" //").map_or(text, |(rule, _)| rule);
        let (statements, assigned_only) = shell.statements(line, text);
        if assigned_only {
            continue;
        }
        let mut is_known = false;
        for statement in statements {
            is_known |= command(line, &statement.words, model, reading);
        }
        if !is_known {
            reading.unknown(line, text, "neither a command nor output of ipfw or dnctl");
        }
    }
}

/// One command, with its tool or as in a rule file; `false` if it belongs to another tool.
fn command(line: usize, words: &[String], model: &mut Dummynet, reading: &mut Reading) -> bool {
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_string();
    let tool = words.iter().take(8).position(|w| TOOLS.contains(&name(w).as_str()));
    let mut words = &words[tool.map_or(0, |n| n + 1)..];
    if tool.is_none() && words.first().is_some_and(|w| name(w) == "sysctl") {
        return sysctl(words, model);
    }
    while words.first().is_some_and(|w| w.starts_with('-')) {
        words = &words[1..];
    }
    let first = words.first().map(String::as_str).unwrap_or_default();
    let is_listed = first.starts_with(|c: char| c.is_ascii_digit());
    if tool.is_none() && !COMMANDS.contains(&first) && !is_listed {
        return false;
    }
    let second = words.get(1).map(String::as_str).unwrap_or_default();
    match (first, second) {
        ("add", _) => rules::add(line, &words[1..], model, reading),
        ("flush", _) => model.rules.clear(),
        ("delete", _) => model.rules.retain(|r| !words[1..].contains(&r.number.to_string())),
        ("pipe" | "queue" | "sched", "flush") => model.objects.clear(),
        ("pipe" | "queue" | "sched", _) => {
            let kind = Kind::of(first);
            // Both orders are accepted: `pipe 1 config`, `pipe config 1`.
            let (number, verb) = match words.get(2).map(String::as_str) {
                Some(third) if second.parse::<u32>().is_err() => (third, second),
                third => (second, third.unwrap_or_default()),
            };
            match (number.parse::<u32>(), verb) {
                (Ok(n), "config") => config::configure(line, kind, n, &words[3..], model, reading),
                (Ok(n), "delete") => model.objects.retain(|o| (o.kind, o.number) != (kind, n)),
                (_, "show" | "list" | "") => {}
                _ => {
                    let why = format!("`{first} {second}` does not configure a numbered {first}");
                    reading.unknown(line, words.join(" "), why);
                }
            }
        }
        _ if is_listed => rules::listed(line, words, model, reading),
        // Tables, sets, NAT, resetting counters: no limits.
        _ => {}
    }
    true
}

/// `sysctl net.inet.ip.dummynet.pipe_slot_limit=1000`, which allows longer queues.
fn sysctl(words: &[String], model: &mut Dummynet) -> bool {
    for (key, value) in words.iter().filter_map(|w| w.split_once('=')) {
        let Ok(value) = value.trim().parse::<u64>() else { continue };
        match key.rsplit('.').next() {
            Some("pipe_slot_limit") => model.most_slots = value,
            Some("pipe_byte_limit") => model.most_bytes = value,
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests;
