//! What `longfat apply` prints.

use super::live::Outcome;
use crate::args::ApplyArgs;
use live::apply::{Apply, Connection, Figures, NewConnections};
use serde_json::{Value, json};
use std::time::Duration;
use units::Rate;

/// `1 connection`, `2 connections`.
fn connections(n: usize) -> String {
    format!("{n} connection{}", if n == 1 { "" } else { "s" })
}

fn rate(bytes_per_second: u64) -> Rate {
    Rate::from_bps(bytes_per_second.saturating_mul(8))
}

/// The message for a target without connections.
pub fn no_connection(args: &ApplyArgs) -> String {
    let matching = args.only.as_ref().map(|only| format!(" that matches `{only}`")).unwrap_or_default();
    format!("{} has no connection{matching} now; new ones will be changed", args.target)
}

/// The warning if another longfat changes connections.
pub const COMPANY: &str = "longfat: another `longfat apply` runs; if both change the same connections, end this one first, or \
                           they keep what the other one has set\n";

/// How new connections are found.
fn new_connections(apply: &Apply) -> String {
    match apply.new_connections() {
        NewConnections::Group { .. } => "each when it is established".into(),
        NewConnections::Search => {
            "up to half a second after they are established, because the target has no control group of its own"
                .into()
        }
    }
}

/// What is to be changed: `bbr`, `at most 19.3Mbit/s`.
fn changes(args: &ApplyArgs) -> String {
    let pacing = args.pacing.map(|rate| format!("at most {rate}"));
    args.cc.clone().into_iter().chain(pacing).collect::<Vec<_>>().join(" and ")
}

/// Lists the connections and what would change.
pub fn dry_run(args: &ApplyArgs, apply: &Apply, all: &[Connection]) -> String {
    if all.is_empty() {
        return no_connection(args).replace("will", "would") + "\n";
    }
    let count = all.iter().filter(|c| !apply.is_as_wanted(c)).count();
    let mut text = format!("{}: {count} of {} would change\n", args.target, connections(all.len()));
    let ends: Vec<String> = all.iter().map(|c| format!("{} > {}", c.local, c.remote)).collect();
    let width = ends.iter().map(String::len).max().unwrap_or(0);
    for (c, ends) in all.iter().zip(ends) {
        let control = match &args.cc {
            Some(cc) if *cc != c.control => format!("{} -> {cc}", c.control),
            _ => c.control.clone(),
        };
        let cap = c.pacing.map_or("no pacing cap".into(), |cap| format!("at most {}", rate(cap)));
        let pacing = match args.pacing {
            Some(to) if c.pacing != Some(to.as_bps() / 8) => format!(", {cap} -> {to}"),
            _ if c.pacing.is_some() => format!(", {cap}"),
            _ => String::new(),
        };
        let unchanged = if apply.is_as_wanted(c) { " (unchanged)" } else { "" };
        text += &format!("  {ends:width$}  {control}{pacing}{unchanged}\n");
    }
    text + &format!("new connections would be changed {}\n", new_connections(apply))
}

fn connection_json(c: &Connection) -> Value {
    json!({
        "local": c.local.to_string(),
        "remote": c.remote.to_string(),
        "control": c.control,
        "pacing_bytes_per_s": c.pacing,
        "paced": c.is_paced,
    })
}

/// As [`dry_run`].
pub fn dry_run_json(args: &ApplyArgs, apply: &Apply, all: &[Connection]) -> String {
    let row = |c: &Connection| {
        let mut row = connection_json(c);
        row["would_change"] = (!apply.is_as_wanted(c)).into();
        row
    };
    let json = json!({
        "schema": "longfat-apply/1",
        "target": args.target,
        "dry_run": true,
        "connections": all.iter().map(row).collect::<Vec<_>>(),
        "new_connections": new_json(apply),
    });
    format!("{json}\n")
}

fn new_json(apply: &Apply) -> &'static str {
    match apply.new_connections() {
        NewConnections::Group { .. } => "when established",
        NewConnections::Search => "searched for",
    }
}

/// `1 connection sends 4.12 Mbit/s; round trip 41.2 ms; 3.4 % retransmitted`.
fn figures(f: &Figures, before: Option<&Figures>) -> String {
    let verb = if f.connections == 1 { "sends" } else { "send" };
    let gain = before.filter(|b| b.sent_mbps > 0.0).map(|b| (f.sent_mbps / b.sent_mbps - 1.0) * 100.0);
    let gain = gain.map(|percent| format!(" ({percent:+.0} %)")).unwrap_or_default();
    let rtt = f.rtt_ms.map(|ms| format!("; round trip {ms:.1} ms")).unwrap_or_default();
    let lost = f.retransmitted_share().map(|share| format!("; {:.1} % retransmitted", share * 100.0));
    format!(
        "{} {verb} {:.2} Mbit/s{gain}{rtt}{}\n",
        connections(f.connections),
        f.sent_mbps,
        lost.unwrap_or_default()
    )
}

/// What the connections did before the change.
pub fn before(f: &Figures) -> String {
    let mut text = format!("before ({:.1} s): {}", f.seconds, figures(f, None));
    if f.received_mbps > f.sent_mbps {
        text += &format!(
            "  they receive more, {:.2} Mbit/s: for that the settings of the other end matter, which this does not change\n",
            f.received_mbps
        );
    }
    text
}

/// What the connections did after the change, without the first seconds.
pub fn after(before: Option<&Figures>, f: &Figures, settling: Duration) -> String {
    format!("after ({:.1} s, without the first {} s): {}", f.seconds, settling.as_secs(), figures(f, before))
}

/// The message if there is nothing to measure after the change.
pub fn not_after(settling: Duration) -> String {
    format!("after: not measured, because the first {} s do not count\n", settling.as_secs())
}

/// What the connections did at the end.
pub fn last(before: Option<&Figures>, f: &Figures) -> String {
    format!("at the end ({:.1} s): {}", f.seconds, figures(f, before))
}

/// What has been applied to which connections, and for how long.
pub fn applied(args: &ApplyArgs, apply: &Apply, outcome: &Outcome) -> String {
    let until = match (args.time, args.command.first()) {
        (Some(time), _) => format!("for {time}"),
        (None, Some(program)) => format!("until {} ends", program.to_string_lossy()),
        (None, None) => "until Ctrl-C; --for 10min would end it by itself".into(),
    };
    let (changed, all) = (outcome.changed.len(), outcome.connections.len());
    let only = args.only.as_ref().map(|only| format!(", only `{only}`")).unwrap_or_default();
    let mut text = format!(
        "applied: {} to {changed} of {} of {}{only}, {until}\n",
        changes(args),
        connections(all.max(changed)),
        args.target
    );
    let already = outcome.connections.iter().filter(|c| apply.is_as_wanted(c)).count();
    if already > 0 {
        text += &format!("  {} had it already\n", connections(already));
    }
    if *apply.new_connections() == NewConnections::Search {
        text += &format!("  new connections are changed {}\n", new_connections(apply));
    }
    text
}

/// What became of the changed connections at the end.
pub fn undone(outcome: &Outcome) -> String {
    let u = &outcome.undone;
    let has = |n: u64| format!("{} {}", connections(n as usize), if n == 1 { "has" } else { "have" });
    let pronoun = if u.restored == 1 { "it" } else { "they" };
    let mut text = format!("undone: {} again what {pronoun} had before", has(u.restored));
    if u.closed > 0 {
        text += &format!("; {} had been closed", u.closed);
    }
    text.push('\n');
    let [refused, full] = outcome.failures;
    for (count, what) in [
        (outcome.new, "were established meanwhile and changed too"),
        (u.others, "had been changed by somebody else since, and were left"),
        (u.failed, "could not be put back: the kernel refused it"),
        (u.stay_paced, "stay paced until they are closed: ending that needs Linux 6.10"),
        (refused, "could not be changed: the kernel refused it"),
        (full, "were left as they are: too many are changed at the same time"),
    ] {
        if count > 0 {
            text += &format!("  {count} {what}\n");
        }
    }
    text
}

fn figures_json(f: &Figures) -> Value {
    json!({
        "seconds": f.seconds,
        "connections": f.connections,
        "sent_mbps": f.sent_mbps,
        "received_mbps": f.received_mbps,
        "rtt_ms": f.rtt_ms,
        "sent_packets": f.sent_packets,
        "retransmitted_packets": f.retransmitted_packets,
        "retransmitted_share": f.retransmitted_share(),
    })
}

/// The outcome as JSON.
pub fn to_json(args: &ApplyArgs, outcome: &Outcome) -> String {
    let changed = outcome.connections.iter().filter(|c| outcome.changed.contains(&c.cookie));
    let u = &outcome.undone;
    let json = json!({
        "schema": "longfat-apply/1",
        "target": args.target,
        "control": args.cc,
        "pacing_bytes_per_s": args.pacing.map(|rate| rate.as_bps() / 8),
        "connections": outcome.connections.len(),
        "changed": changed.map(connection_json).collect::<Vec<_>>(),
        "new_connections": outcome.new,
        "applied_s": outcome.applied.as_secs_f64(),
        "before": outcome.before.as_ref().map(figures_json),
        "after": outcome.after.as_ref().map(figures_json),
        "at_the_end": outcome.last.as_ref().map(figures_json),
        "refused": outcome.failures[0],
        "too_many": outcome.failures[1],
        "undone": {
            "restored": u.restored,
            "stay_paced": u.stay_paced,
            "others": u.others,
            "failed": u.failed,
            "closed": u.closed,
        },
        "target_gone": outcome.target_gone,
    });
    format!("{json}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_compared_with_those_before() {
        let f = |sent_mbps| Figures {
            seconds: 5.0,
            connections: 2,
            sent_mbps,
            received_mbps: 0.1,
            rtt_ms: Some(41.26),
            sent_packets: Some(1000),
            retransmitted_packets: 34,
        };
        let line = after(Some(&f(4.0)), &f(18.0), Duration::from_secs(3));
        let expected = "after (5.0 s, without the first 3 s): 2 connections send 18.00 Mbit/s (+350 %); round trip 41.3 ms; \
                        3.4 % retransmitted\n";
        assert_eq!(line, expected);
        let receives = Figures { received_mbps: 9.0, connections: 1, ..f(0.0) };
        let text = before(&receives);
        assert!(
            text.starts_with("before (5.0 s): 1 connection sends 0.00 Mbit/s;") && text.contains("other end")
        );
        assert!(!after(Some(&receives), &f(1.0), Duration::ZERO).contains('+'), "nothing to compare with");
    }

    #[test]
    fn the_end_says_what_is_not_as_before() {
        let mut outcome = Outcome::default();
        outcome.undone.restored = 1;
        assert_eq!(undone(&outcome), "undone: 1 connection has again what it had before\n");
        outcome.undone.restored = 3;
        outcome.undone.closed = 2;
        outcome.undone.others = 1;
        outcome.new = 2;
        let text = undone(&outcome);
        assert!(
            text.starts_with("undone: 3 connections have again what they had before; 2 had been closed\n")
        );
        assert!(text.contains("1 had been changed by somebody else") && text.contains("2 were established"));
    }
}
