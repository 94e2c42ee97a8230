//! Rules of ipfw and pf that send packets to pipes and queues.

use super::model::{Dummynet, MAX_RULES, Rule};
use crate::Reading;

/// pf keywords that send packets to a pipe (`false`) or a queue (`true`).
pub(super) const PF_TARGETS: [(&str, bool); 2] = [("dnpipe", false), ("dnqueue", true)];
/// From one rule without a number to the next (`net.inet.ip.fw.autoinc_step`).
const STEP: u64 = 100;
/// Actions that end the search.
const TERMINAL_ACTIONS: [&str; 8] = ["allow", "accept", "pass", "permit", "deny", "drop", "reset", "unreach"];
/// Protocols that match every packet.
const ANY_PROTOCOL: [&str; 4] = ["ip", "all", "ip4", "ipv4"];
/// Words after the destination that start an option.
const OPTIONS: [&str; 22] = [
    "in",
    "out",
    "recv",
    "xmit",
    "via",
    "src-port",
    "dst-port",
    "iplen",
    "dscp",
    "tcpflags",
    "setup",
    "established",
    "keep-state",
    "limit",
    "frag",
    "layer2",
    "tagged",
    "uid",
    "gid",
    "jail",
    "icmptypes",
    "proto",
];
/// The longest match that is shown, characters.
const MAX_MATCH_CHARS: usize = 80;

fn number(word: Option<&String>) -> Option<u64> {
    word?.parse().ok()
}

/// `add [number] [set N] [prob P] action …`; `words` start after `add`.
pub(super) fn add(line: usize, words: &[String], model: &mut Dummynet, reading: &mut Reading) {
    let written = number(words.first());
    let next = model.rules.iter().map(|r| r.number).max().unwrap_or_default() + STEP;
    rule(
        line,
        written.unwrap_or(next).min(65_535),
        None,
        &words[usize::from(written.is_some())..],
        model,
        reading,
    );
}

/// A line of `ipfw list` or `ipfw show`: number, then counters of packets and bytes.
pub(super) fn listed(line: usize, words: &[String], model: &mut Dummynet, reading: &mut Reading) {
    let Some(n) = number(words.first()) else {
        return reading.unknown(line, words.join(" "), "not a rule");
    };
    let counters = words[1..].iter().take_while(|w| w.parse::<u64>().is_ok()).count();
    let packets = if counters >= 2 { number(words.get(1)) } else { None };
    rule(line, n, packets, &words[1 + counters..], model, reading);
}

fn rule(
    line: usize,
    number: u64,
    packets: Option<u64>,
    mut words: &[String],
    model: &mut Dummynet,
    reading: &mut Reading,
) {
    while let [key, value, rest @ ..] = words {
        match key.as_str() {
            "set" => {}
            "prob" => {
                let why = "the rule takes only a share of the packets; simulated as if it took all";
                reading.unknown(line, format!("prob {value}"), why);
            }
            _ => break,
        }
        words = rest;
    }
    let action = words.first().map(String::as_str).unwrap_or_default();
    let is_queue = action == "queue";
    if !["pipe", "queue"].contains(&action) {
        let body: Vec<&str> = words.iter().skip(1).map(String::as_str).filter(|w| *w != "log").collect();
        if let [proto, "from", "any", "to", "any"] = body.as_slice()
            && TERMINAL_ACTIONS.contains(&action)
            && ANY_PROTOCOL.contains(proto)
        {
            put(
                Rule { line, number, says: format!("{action} {}", body.join(" ")), ..Rule::default() },
                model,
            );
        }
        return;
    }
    let named = words.get(1).map(String::as_str).unwrap_or_default();
    let Ok(target) = named.parse::<u32>() else {
        let why = format!("the {action} number comes from a table (`{named}`): the target is unknown");
        return reading.unknown(line, words.join(" "), why);
    };
    let rule = Rule { line, number, packets, target: Some((is_queue, target)), ..matched(&words[2..]) };
    put(rule, model);
}

fn put(rule: Rule, model: &mut Dummynet) {
    if model.rules.len() < MAX_RULES {
        model.rules.push(rule);
    }
}

/// Reads the condition that a rule matches: `ip from any to any out via em0`.
fn matched(words: &[String]) -> Rule {
    let place = |word: &str| words.iter().position(|w| w == word);
    let mut rule = Rule { from: "any".into(), to: "any".into(), ..Rule::default() };
    let options = match (place("from"), place("to")) {
        (Some(from), Some(to)) if from < to => {
            rule.from = words[from + 1..to].join(" ");
            let behind = &words[to + 1..];
            let end = behind.iter().position(|w| OPTIONS.contains(&w.as_str())).unwrap_or(behind.len());
            rule.to = behind[..end].join(" ");
            &behind[end..]
        }
        _ => words,
    };
    for (i, word) in options.iter().enumerate() {
        let behind = options.get(i + 1).cloned();
        match word.as_str() {
            "in" => rule.is_in = Some(true),
            "out" => rule.is_in = Some(false),
            "recv" => rule.recv = behind,
            "xmit" => rule.xmit = behind,
            "via" | "on" => rule.via = behind,
            _ => {}
        }
    }
    let text = words.join(" ").replace(" src-port any dst-port any", "");
    rule.says = text.chars().take(MAX_MATCH_CHARS).collect();
    rule
}

/// A rule of pf with a pipe or a queue, or a pair of them: the first takes the matching packets, the second
/// the replies. `false`: not such a rule.
pub(super) fn pf(line: usize, text: &str, model: &mut Dummynet, reading: &mut Reading) -> bool {
    let spaced = text.replace(['(', ')', ',', '{', '}'], " ");
    let words: Vec<String> = spaced.split_whitespace().map(str::to_string).collect();
    let is_rule = words.first().is_some_and(|w| ["pass", "match", "block"].contains(&w.as_str()));
    let found = words.iter().enumerate().find_map(|(at, word)| {
        PF_TARGETS.iter().find(|(name, _)| word == name).map(|(_, is_queue)| (at, *is_queue))
    });
    let Some((at, is_queue)) = found.filter(|_| is_rule) else { return false };
    let targets: Vec<u32> = words[at + 1..].iter().map_while(|w| w.parse().ok()).take(2).collect();
    if targets.is_empty() {
        reading.unknown(line, text, format!("`{}` has no number", words[at]));
        return true;
    }
    // `pass in on em0 …`: the interface and the direction come before the addresses.
    let head: Vec<String> = words[..at].to_vec();
    let addresses = head.iter().position(|w| w == "from").unwrap_or(head.len());
    let mut one = matched(&head[addresses..]);
    let before = matched(&head[..addresses.min(head.len())]);
    (one.is_in, one.via) = (before.is_in, before.via);
    one.says = text.chars().take(MAX_MATCH_CHARS).collect();
    for (n, target) in targets.into_iter().enumerate().filter(|(_, target)| *target > 0) {
        let mut rule = Rule { line, target: Some((is_queue, target)), ..one.clone() };
        if n == 1 {
            rule.is_in = rule.is_in.map(|is_in| !is_in);
            std::mem::swap(&mut rule.from, &mut rule.to);
        }
        put(rule, model);
    }
    true
}
