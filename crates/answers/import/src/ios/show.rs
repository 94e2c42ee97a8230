//! Facts from the counters of `show policy-map interface`.

use super::model::{IosClass, IosCounters, IosModel};
use super::units::{IosRate, IosSize};
use crate::{Reading, number};

/// Whether a line is a row of a table with counts as `packets/bytes`.
pub(crate) fn is_row(words: &[&str]) -> bool {
    let pair =
        |w: &&str| w.split_once('/').is_some_and(|(a, b)| [a, b].iter().all(|n| n.parse::<u64>().is_ok()));
    words.len() >= 3 && words.iter().any(pair) && !words[0].ends_with("address") && !words.contains(&":")
}

/// Whether a line of `show` is neither configuration nor a counter that matters.
pub(crate) fn is_statistics(lower: &str) -> bool {
    const STARTS: [&str; 19] = [
        "queueing",
        "(queue depth",
        "(pkts output",
        "queue stats",
        "queue id",
        "(depth/",
        "output queue",
        "mean queue",
        "exp-weight",
        "(total drops",
        "(bytes output",
        "(pkts matched",
        "qos set",
        "classification statistics",
        "policing statistics",
        "high watermark",
        "policed and dropped",
        "snmp policy index",
        "slot ",
    ];
    STARTS.iter().any(|s| lower.starts_with(s))
        || lower.starts_with(|c: char| c.is_ascii_digit())
            && (lower.contains("packet") || lower.contains("rate"))
        || [
            "conformed",
            "exceeded",
            "violated",
            "packets marked",
            "aggregate forwarded",
            "avg-queue-len",
            "transmitted",
        ]
        .iter()
        .any(|s| lower.starts_with(s))
}

/// The number in front of a word that begins with `what`.
fn before(words: &[&str], what: &str) -> Option<u64> {
    let at = words.iter().position(|w| w.trim_start_matches('(').starts_with(what))?;
    words.get(at.checked_sub(1)?)?.trim_matches([',', ';', '(', ')']).parse().ok()
}

/// The `n`-th number of the last word, whose numbers are separated by slashes.
fn part(words: &[&str], n: usize) -> Option<u64> {
    words.last()?.split('/').nth(n)?.parse().ok()
}

/// The first `packets/bytes` of a line.
fn pair(words: &[&str]) -> Option<(u64, u64)> {
    words.iter().find_map(|w| {
        let (packets, bytes) = w.split_once('/')?;
        Some((packets.parse().ok()?, bytes.parse().ok()?))
    })
}

/// Reads a counter of a class; returns whether the line is one.
pub(crate) fn counter(class: &mut IosClass, line: usize, words: &[&str], lower: &str) -> bool {
    let c: &mut IosCounters = &mut class.counters;
    let at = |value: Option<u64>| value.map(|v| (line, v));
    const COLOURS: [(&str, &str); 3] = [
        ("conformed", "policed(conform)"),
        ("exceeded", "policed(exceed)"),
        ("violated", "policed(violate)"),
    ];
    if let Some(colour) = COLOURS.iter().position(|(ios, xr)| lower.starts_with(ios) || lower.starts_with(xr))
    {
        if let Some((packets, bytes)) = pair(words) {
            c.policed[colour] = Some((line, packets, bytes));
        } else if lower.contains("bytes") {
            let bytes = before(words, "byte").unwrap_or(0);
            c.policed[colour] = Some((line, before(words, "packet").unwrap_or(0), bytes));
        }
        // `conformed 34000 bps, exceeded 3000 bps`
        let exceeded = words.iter().position(|w| w.starts_with("exceed"));
        if let Some(rest) = exceeded.filter(|_| lower.contains("bps") && !lower.contains("byte")) {
            c.exceeded_rate = at(before(&words[rest..], "bps")).filter(|(_, bps)| *bps > 0);
        }
        return true;
    }
    if lower.contains("b/w exceed drops:") {
        c.priority_drops = at(words.last().and_then(|w| w.parse().ok()));
        // The rest of the line is a command.
        return false;
    }
    if lower.contains("offered rate") {
        let drop = words.iter().position(|w| *w == "drop").unwrap_or(words.len());
        c.offered = at(before(&words[..drop], "bps"));
        c.drop_rate = before(&words[drop..], "bps");
        return true;
    }
    if lower.starts_with(|ch: char| ch.is_ascii_digit())
        && lower.contains(" packets")
        && lower.contains("bytes")
    {
        // Counts of single matches follow the count of the class.
        c.packets = c.packets.or(at(before(words, "packets")));
        return true;
    }
    if lower.starts_with("(queue depth/") || lower.starts_with("(depth/") {
        (c.depth, c.drops) = (at(part(words, 0)), at(part(words, 1)));
        return true;
    }
    if lower.starts_with("(total drops") {
        c.drops = at(part(words, 0));
        return true;
    }
    if lower.starts_with("matched ") || lower.starts_with("matched:") {
        c.packets = pair(words).map(|(packets, _)| (line, packets));
        return c.packets.is_some();
    }
    if lower.starts_with("taildropped") || lower.starts_with("total dropped") {
        c.drops = pair(words).map(|(packets, _)| (line, packets)).or(c.drops);
        return true;
    }
    if lower.starts_with("queue dropped pkts") {
        c.drops = at(words.last().and_then(|w| w.parse().ok()));
        return true;
    }
    if lower.starts_with("inst-queue-len") {
        c.depth = at(words.last().and_then(|w| w.parse().ok()));
        return true;
    }
    false
}

/// Formats a count with thousands separators.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A part's share of `whole` in per cent: `12 %`, `1.0 %`, `below 0.1 %`.
pub(crate) fn share(part: u64, whole: u64) -> String {
    match 100.0 * part as f64 / whole.max(1) as f64 {
        p if p >= 10.0 => format!("{p:.0} %"),
        p if p >= 0.1 => format!("{p:.1} %"),
        _ => "below 0.1 %".into(),
    }
}

/// Reports the facts from the counters of all classes.
pub(crate) fn facts(model: &IosModel, reading: &mut Reading) {
    for class in model.policies.values().flat_map(|p| &p.classes) {
        class_facts(class, reading);
    }
}

fn class_facts(class: &IosClass, reading: &mut Reading) {
    let IosCounters { packets, offered, drop_rate, depth, drops, priority_drops, policed, exceeded_rate } =
        &class.counters;
    let name = &class.name;
    let with_share = |n: u64| match packets {
        Some((_, all)) if *all >= n => {
            format!("{} of {} packets ({})", count(n), count(*all), share(n, *all))
        }
        _ => format!("{} packets", count(n)),
    };
    if let Some((line, n)) = drops.filter(|(_, n)| *n > 0) {
        reading.fact(line, format!("class {name}: {} dropped at its queue", with_share(n)));
    }
    if let Some((line, n)) = priority_drops.filter(|(_, n)| *n > 0) {
        let text = format!("class {name}: {} dropped by the policer of its priority", with_share(n));
        reading.fact(line, text);
    }
    let bits = |rate: Option<IosRate>| match rate {
        Some(IosRate::Bits(bits)) if bits > 0 => Some(bits),
        _ => None,
    };
    if let Some((line, bps)) = offered {
        let dropped = drop_rate.filter(|d| *d > 0).map(|d| format!(", {} dropped", number::rate(d)));
        let limit = [
            ("a shape", bits(class.shape.as_ref().map(|s| s.cir))),
            ("a police", bits(class.police.as_ref().map(|p| p.cir))),
        ];
        let above = limit.into_iter().find_map(|(what, limit)| limit.filter(|l| bps > l).map(|l| (what, l)));
        let against = above.map(|(what, l)| format!(" against {what} of {}", number::rate(l)));
        if dropped.is_some() || against.is_some() {
            let (against, dropped) = (against.unwrap_or_default(), dropped.unwrap_or_default());
            reading.fact(*line, format!("class {name}: {} offered{against}{dropped}", number::rate(*bps)));
        }
    }
    if let Some((line, n)) = depth.filter(|(_, n)| *n > 0) {
        let full = match class.queue {
            Some(IosSize::Packets(limit)) => format!(" (limit {})", count(limit)),
            _ => String::new(),
        };
        reading.fact(line, format!("class {name}: {} packets{full} are queued now", count(n)));
    }
    let all: (u64, u64) =
        policed.iter().flatten().fold((0, 0), |(p, b), (_, packets, bytes)| (p + packets, b + bytes));
    for (colour, found) in ["exceeded", "violated"].into_iter().zip(&policed[1..]) {
        let Some((line, packets, bytes)) = *found else { continue };
        if packets == 0 && bytes == 0 {
            continue;
        }
        let text = if packets > 0 {
            format!(
                "{} of {} packets ({}, {})",
                count(packets),
                count(all.0),
                share(packets, all.0),
                number::size(bytes)
            )
        } else {
            format!("{} of {} ({})", number::size(bytes), number::size(all.1), share(bytes, all.1))
        };
        let index = if colour == "exceeded" { 1 } else { 2 };
        let action = class.police.as_ref().and_then(|p| p.actions[index].clone());
        let action = action.map(|a| format!(" (action: {a})")).unwrap_or_default();
        reading.fact(line, format!("police of class {name}: {text} {colour} it{action}"));
    }
    if let Some((line, bps)) = exceeded_rate {
        reading.fact(*line, format!("police of class {name}: {} exceeds it now", number::rate(*bps)));
    }
}
