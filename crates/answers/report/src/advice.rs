//! Puts changes into words: the block `change.KIND` of `strings.json`. Of its texts `.1`, `.2` and so on, the
//! first one is printed whose placeholders all have values. `place.PLACE` names the place.

use crate::number::{bytes, millis, short};
use crate::strings::{Lang, SentenceValues, find, first_known, numbered, text};
use result::CommandSet;
use result::change::{Change, ChangeKind, ChangeUnit};
use std::fmt::Write;

/// The advice as one sentence without a full stop: the changes joined by "or", as each of them is enough.
/// Empty if none of them has a text; a change that asks for another capture has none.
pub fn advice(changes: &[Change], lang: Lang) -> String {
    let phrases: Vec<String> = changes.iter().filter_map(|c| phrase(c, lang)).collect();
    let or = if lang == Lang::Zh { "，或" } else { ", or " };
    let sentence = phrases.join(or);
    let mut chars = sentence.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The commands of changes with their requirements and undo, as blocks of lines that can be copied.
pub fn commands<'a>(sets: impl IntoIterator<Item = &'a CommandSet>) -> String {
    let mut out = String::new();
    for set in sets {
        let towards = set.towards.as_ref().map(|t| format!(", towards {t}")).unwrap_or_default();
        let _ = writeln!(out, "\n{} at {}{towards} ({}):", set.platform.label(), set.at, set.needs);
        set.apply.iter().for_each(|line| out += &format!("  {line}\n"));
        out += "  undo:\n";
        set.undo.iter().for_each(|line| out += &format!("    {line}\n"));
    }
    out
}

/// One change: "shape to 19.6 Mbit/s at the sender's edge".
fn phrase(change: &Change, lang: Lang) -> Option<String> {
    let texts = numbered(&format!("change.{}", change.kind.name()), lang);
    (!texts.is_empty()).then(|| first_known(&texts, &values(change, lang)))
}

/// The values of `{place}`, `{name}`, the setting's `{to}` and `{now}`, the effect's `{then}`, and the
/// present value of its measure under the measure's name (`{queue-delay}`).
fn values(change: &Change, lang: Lang) -> SentenceValues {
    let place = text(&format!("place.{}", change.place.name()), lang).to_string();
    let mut values = vec![("place".to_string(), place)];
    values.extend(change.name.as_deref().map(|name| ("name".into(), label(name, lang))));
    if let Some(s) = change.setting {
        let number = |x| match change.kind {
            // Segment sizes are printed exactly.
            ChangeKind::MssClamp => format!("{x:.0} B"),
            _ => number(x, s.unit),
        };
        values.push(("to".into(), number(s.to)));
        values.extend(s.now.map(|now| ("now".into(), number(now))));
    }
    for e in &change.effects {
        values.push(("then".into(), number(e.then, e.unit)));
        values.extend(e.now.map(|now| (e.measure.name(), number(now, e.unit))));
    }
    values
}

/// The common name of a congestion control or a queue; any other name unchanged.
fn label(name: &str, lang: Lang) -> String {
    let key = name.replace('_', "-");
    let known = ["control", "queue"].into_iter().find_map(|kind| find(&format!("name.{kind}.{key}"), lang));
    known.unwrap_or(name).to_string()
}

fn number(x: f64, unit: ChangeUnit) -> String {
    match unit {
        ChangeUnit::Mbps | ChangeUnit::Seconds => short(x),
        ChangeUnit::Bytes => bytes(x),
        ChangeUnit::Millis => millis(x),
        ChangeUnit::Times => format!("{x:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::change::ChangePlace;

    #[test]
    fn each_change_has_one_wording() {
        let shape = Change::new(ChangeKind::Shape, ChangePlace::SenderEdge, "");
        let bbr = Change::new(ChangeKind::CongestionControl, ChangePlace::Sender, "").named("bbr");
        let known = shape.clone().set(None, 19.6, ChangeUnit::Mbps);
        assert_eq!(
            advice(&[known, bbr.clone()], Lang::En),
            "Shape to 19.6 Mbit/s at the sender's edge, or use BBR at the sender"
        );
        assert!(advice(&[shape], Lang::En).starts_with("Ask for the policer's rate"));
        assert_eq!(advice(&[bbr], Lang::Zh), "在发送端使用 BBR");
        let fq_codel = Change::new(ChangeKind::QueueManagement, ChangePlace::Limiter, "").named("fq_codel");
        assert_eq!(advice(&[fq_codel], Lang::En), "Use FQ-CoDel at the limiter, which drops early");
        let clamp = Change::new(ChangeKind::MssClamp, ChangePlace::Path, "");
        let clamp = clamp.set(None, 1436.0, ChangeUnit::Bytes);
        assert!(advice(&[clamp], Lang::En).starts_with("Clamp the MSS to 1436 B where"));
        let again = Change::new(ChangeKind::CaptureAgain, ChangePlace::Sender, "");
        assert_eq!(advice(&[again], Lang::En), "");
    }
}
