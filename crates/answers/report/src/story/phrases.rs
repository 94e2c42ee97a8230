//! Names and numbers of the headline in words.

use super::change::{Change, QueueSetting, queue};
use super::measure::Measure;
use crate::number::{millis, percent, short};
use crate::strings::{Lang, fill, find, text};
use crate::table::{clip, printable};
use result::topology::PathStage;

/// More changes than these nobody reads; the variant's name stands for them.
const MOST_CHANGES: usize = 3;

/// A variant's name in quotes.
pub(super) fn quoted(name: &str) -> String {
    let short = clip(&printable(name), 40);
    // First strong isolate: a name written right to left keeps to its place.
    format!("“\u{2068}{short}\u{2069}”")
}

/// What people call it: `what` is a part of `names.json`. What has no name there is called by its own.
pub(super) fn called(what: &str, name: &str, lang: Lang) -> String {
    find(&format!("name.{what}.{name}"), lang).map_or_else(|| clip(&printable(name), 40), Into::into)
}

/// The kind, in a clause, of a stage that the scenario does not have: the simulator's network card.
pub const ASSUMED: &str = "assumed";

/// A stage and where it is; of one that nobody wrote, what it is: `link.direction.stage`, as the scenario's keys and the tables have it.
pub(super) fn placed(what: &str, kind: &str, element: &str, lang: Lang) -> String {
    if kind == ASSUMED {
        return text("story.assumed", lang).into();
    }
    let place = element.split('@').next().unwrap_or_default();
    // First strong isolate: as in a name in quotes.
    let place = format!("\u{2068}{}\u{2069}", clip(&printable(place), 60));
    fill("story.placed", lang, &[("what", &called(what, kind, lang)), ("place", &place)])
}

/// A congestion control as papers write it; one that only the kernel has with a capital letter.
pub(super) fn cc_name(cc: &str, lang: Lang) -> String {
    if cc == "udp" {
        return "UDP".into();
    }
    find(&format!("name.control.{cc}"), lang).map_or_else(|| capital(cc), Into::into)
}

/// With a capital first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |c| c.to_uppercase().to_string() + letters.as_str())
}

/// A ratio for reading: two digits.
pub(super) fn times(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}") } else { format!("{x:.0}") }
}

/// One, two, or three in a row, as the language joins them.
pub(super) fn joined(mut parts: Vec<String>, lang: Lang) -> String {
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        return last;
    }
    let (comma, and) = (text("story.comma", lang), text("story.and", lang));
    format!("{}{and}{last}", parts.join(comma))
}

/// A value with its unit.
pub(super) fn value(measure: Measure, value: f64, lang: Lang) -> String {
    use Measure::*;
    match measure {
        _ if value.is_infinite() => text("story.beyond", lang).into(),
        TcpGoodput | UdpGoodput | FlowGoodput => format!("{}\u{a0}Mbit/s", short(value)),
        Rtt | SlowestRtt | OneWay => format!("{}\u{a0}ms", millis(value)),
        TcpLoss | Resent | UdpLoss => format!("{}\u{a0}%", percent(value)),
        Completion | Response | Page => format!("{}\u{a0}s", short(value)),
        Mos => format!("{value:.1}"),
        Jain => format!("{value:.2}"),
    }
}

/// What a variant changed, and its name.
pub(super) fn how(changes: &[Change], name: &str, lang: Lang) -> String {
    // The same kind gone here and added there: without the places nobody would know which.
    let moved = changes.iter().any(|c| match c {
        Change::Added { stage, .. } => {
            changes.iter().any(|c| matches!(c, Change::Removed(old) if old.kind == stage.kind))
        }
        _ => false,
    });
    if changes.is_empty() || changes.len() > MOST_CHANGES || moved {
        return quoted(name);
    }
    let said = joined(changes.iter().map(|c| change(c, lang)).collect(), lang);
    fill("story.how", lang, &[("change", &said), ("name", &quoted(name))])
}

fn change(change: &Change, lang: Lang) -> String {
    let instead = |is: String, was: String| fill("story.change.instead", lang, &[("is", &is), ("was", &was)]);
    match change {
        Change::Replaced { was, is } => {
            let rate = |s: &PathStage| s.settings.get("rate").cloned();
            let same = rate(was).is_some() && rate(was) == rate(is);
            instead(stage(is, same, lang), if same { kind(was, lang) } else { stage(was, false, lang) })
        }
        Change::Queue { was, is } => {
            let list = joined(was.iter().map(|q| queue_words(q, lang)).collect(), lang);
            instead(queue_words(is, lang), list)
        }
        Change::Set { kind, key, was, is } => set(kind, &printable(key), was.as_deref(), is.as_deref(), lang),
        Change::Added { stage: new, before, after } => {
            let kind = |k: &String| the(&called("one", k, lang), lang);
            let stage = stage(new, false, lang);
            match (before, after) {
                (Some(k), _) => fill("story.change.before", lang, &[("stage", &stage), ("kind", &kind(k))]),
                (_, Some(k)) => fill("story.change.behind", lang, &[("stage", &stage), ("kind", &kind(k))]),
                _ => fill("story.change.added", lang, &[("stage", &stage)]),
            }
        }
        Change::Removed(old) => {
            fill("story.change.removed", lang, &[("stage", &the(&kind(old, lang), lang))])
        }
        Change::Relay(host) => fill("story.change.relay", lang, &[("host", &clip(&printable(host), 40))]),
        Change::NoRelay(host) => {
            fill("story.change.no-relay", lang, &[("host", &clip(&printable(host), 40))])
        }
        Change::Setting { of, names, key, was, is } => {
            super::setting::words(*of, names, key, (was.as_deref(), is.as_deref()), lang)
        }
        Change::Control { was, is, flows } => {
            let said = instead(cc_name(is, lang), cc_name(was, lang));
            match &flows[..] {
                [] => said,
                [one] => fill("story.change.of", lang, &[("change", &said), ("flow", &quoted(one))]),
                many => {
                    fill("story.change.of-many", lang, &[("change", &said), ("n", &many.len().to_string())])
                }
            }
        }
    }
}

/// Several values, as JSON spells them: nobody reads that in a sentence.
fn is_list(value: &str) -> bool {
    value.starts_with(['[', '{'])
}

/// A setting of a stage. A key that is left out stands for its default, so a switch that is given turns that around.
fn set(kind: &str, key: &str, was: Option<&str>, is: Option<&str>, lang: Lang) -> String {
    let stage = the(&called("one", kind, lang), lang);
    let name = called("element", kind, lang);
    let of = |v: Option<&str>| v.map(quantity).unwrap_or_default();
    let lists = was.is_none_or(is_list) && is.is_none_or(is_list);
    let key_of = match (was, is) {
        _ if lists => "story.change.other",
        (None | Some("false"), Some("true")) | (Some("false"), None) => "story.change.with",
        (None | Some("true"), Some("false")) | (Some("true"), None) => "story.change.without",
        (None, Some(_)) => "story.change.given",
        (Some(_), None) => "story.change.left-out",
        _ => "story.change.set",
    };
    let places =
        [("stage", &stage), ("kind", &name), ("key", &key.to_string()), ("was", &of(was)), ("is", &of(is))];
    fill(key_of, lang, &places.map(|(k, v)| (k, v.as_str())))
}

fn kind(stage: &PathStage, lang: Lang) -> String {
    called("one", &stage.kind, lang)
}

/// "the" for "a".
fn the(one: &str, lang: Lang) -> String {
    let bare = one.strip_prefix("a ").or(one.strip_prefix("an ")).filter(|_| lang == Lang::En);
    bare.map_or_else(|| one.into(), |bare| format!("the {bare}"))
}

/// A stage with its rate and its queue, or with its first settings where it has no rate.
fn stage(stage: &PathStage, same_rate: bool, lang: Lang) -> String {
    let kind = kind(stage, lang);
    let rate = match stage.settings.get("rate") {
        Some(_) if same_rate => text("story.same-rate", lang).into(),
        Some(rate) => quantity(rate),
        None => {
            let plain = |(k, v): &(&String, &String)| !k.starts_with("queue.") && !is_list(v);
            let each = stage.settings.iter().filter(plain).take(2);
            let list: Vec<String> =
                each.map(|(k, v)| format!("{}\u{a0}{}", printable(k), quantity(v))).collect();
            if list.is_empty() {
                return kind;
            }
            return fill("story.stage.settings", lang, &[("kind", &kind), ("settings", &joined(list, lang))]);
        }
    };
    let whole = fill("story.stage.rate", lang, &[("kind", &kind), ("rate", &rate)]);
    let inside = match (queue(stage), stage.settings.get("burst")) {
        (Some(q), _) if q.kind == "fifo" => limit(&q, lang),
        (Some(q), _) => queue_words(&q, lang),
        (None, Some(burst)) => fill("story.burst", lang, &[("burst", &quantity(burst))]),
        (None, None) => String::new(),
    };
    if inside.is_empty() {
        whole
    } else {
        fill("story.stage.with", lang, &[("stage", &whole), ("with", &inside)])
    }
}

/// How long a queue may be; empty where it does not say.
fn limit(queue: &QueueSetting, lang: Lang) -> String {
    let packets = queue.packets.as_ref().map(|n| fill("story.packets", lang, &[("n", &printable(n))]));
    joined(packets.into_iter().chain(queue.bytes.as_ref().map(|b| quantity(b))).collect(), lang)
}

fn queue_words(queue: &QueueSetting, lang: Lang) -> String {
    let kind = called("queue", &queue.kind, lang);
    let limit = limit(queue, lang);
    let key = match (queue.kind.as_str(), limit.is_empty()) {
        (_, true) => return kind,
        ("fifo", _) => "story.queue.fifo",
        _ => "story.queue.other",
    };
    fill(key, lang, &[("kind", &kind), ("limit", &limit)])
}

/// A scenario's quantity with a blank before its unit.
pub(super) fn quantity(text: &str) -> String {
    let text = clip(&printable(text), 40);
    let unit = text.find(|c: char| !(c.is_ascii_digit() || ".-+_".contains(c)));
    match unit {
        Some(at) if at > 0 && text[at..].starts_with(char::is_alphabetic) => {
            format!("{}\u{a0}{}", &text[..at], &text[at..])
        }
        _ => text,
    }
}

/// A blank between Chinese and Latin letters or digits, as Chinese typesetters put it; names in quotes stay as they are.
pub(super) fn spaced(text: &str) -> String {
    let wide = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let mut out = String::with_capacity(text.len() + 16);
    let (mut last, mut quoted) = (' ', false);
    for c in text.chars() {
        let meet = (wide(last) && c.is_ascii_alphanumeric()) || (last.is_ascii_alphanumeric() && wide(c));
        if meet && !quoted {
            out.push(' ');
        }
        quoted = c == '\u{2068}' || (quoted && c != '\u{2069}');
        out.push(c);
        last = c;
    }
    out
}
