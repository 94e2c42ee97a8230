//! Names and numbers as the story prints them.

use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, fill, find, text};
use crate::width::{clip, printable};
use result::{Measure, MeasureUnit, Quantity};

/// A variant's name in quotes.
pub(super) fn quoted(name: &str) -> String {
    let short = clip(&printable(name), 40);
    // First strong isolate: a right-to-left name does not reorder the sentence.
    format!("“\u{2068}{short}\u{2069}”")
}

/// The common name of an element, queue or congestion control: the entry `name.WHAT.NAME` of `names.json`,
/// else `name`.
pub(super) fn called(what: &str, name: &str, lang: Lang) -> String {
    find(&format!("name.{what}.{name}"), lang).map_or_else(|| clip(&printable(name), 40), Into::into)
}

/// The kind, in a clause, of a stage that the scenario does not have: the network card that the simulator
/// assumes.
pub const ASSUMED: &str = "assumed";

/// A stage with its place `link.direction.stage`, as the scenario's keys and the tables spell it; an assumed
/// stage without a place.
pub(super) fn placed(what: &str, kind: &str, element: &str, lang: Lang) -> String {
    if kind == ASSUMED {
        return text("story.assumed", lang).into();
    }
    let place = element.split('@').next().unwrap_or_default();
    // First strong isolate, as in a quoted name.
    let place = format!("\u{2068}{}\u{2069}", clip(&printable(place), 60));
    fill("story.placed", lang, &[("what", &called(what, kind, lang)), ("place", &place)])
}

/// The name of a congestion control as papers write it; for one that only the kernel has, the name with a
/// capital letter.
pub(super) fn cc_name(cc: &str, lang: Lang) -> String {
    if cc == "udp" {
        return "UDP".into();
    }
    find(&format!("name.control.{cc}"), lang).map_or_else(|| capital(cc), Into::into)
}

/// Capitalises the first letter.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |c| c.to_uppercase().to_string() + letters.as_str())
}

/// A ratio with two digits.
pub(super) fn times(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}") } else { format!("{x:.0}") }
}

/// Joins the items of a list with the language's comma and "and".
pub(super) fn joined(mut parts: Vec<String>, lang: Lang) -> String {
    let last = parts.pop().unwrap_or_default();
    if parts.is_empty() {
        return last;
    }
    let (comma, and) = (text("story.comma", lang), text("story.and", lang));
    format!("{}{and}{last}", parts.join(comma))
}

/// A value with its unit.
pub(super) fn value(measure: &Measure, value: f64, lang: Lang) -> String {
    match measure.unit() {
        _ if value.is_infinite() => text("story.beyond", lang).into(),
        MeasureUnit::Mbps => format!("{}\u{a0}Mbit/s", short(value)),
        MeasureUnit::Millis => format!("{}\u{a0}ms", millis(value)),
        MeasureUnit::Percent => format!("{}\u{a0}%", percent(value / 100.0)),
        MeasureUnit::Seconds => format!("{}\u{a0}s", short(value)),
        MeasureUnit::Packets => count(value.round() as u64),
        MeasureUnit::Plain if measure.quantity == Quantity::Mos => format!("{value:.1}"),
        MeasureUnit::Plain if measure.quantity == Quantity::Jain => format!("{value:.2}"),
        MeasureUnit::Plain => short(value),
    }
}

/// A scenario's quantity with a space before its unit.
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

/// Puts a space between Chinese characters and Latin letters or digits, as is usual in Chinese typesetting.
/// Quoted names are left as they are.
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
