//! One sentence about a result: what happened, and what helps. Every clause is a fact of the result; one that does
//! not hold is not said.
//!
//! The subject is the variant that carries least among those that can be compared: the same flows under the same
//! limits, on the first clock. Where all carry alike it is the first. Then what the path did to it (drops, waiting for
//! timeouts, queues), and the best change of path and of congestion control, each with what it costs in delay.

mod change;
mod mtu;
mod remedy;

use crate::figures::{Row, rows};
use crate::number::{percent, short};
use crate::strings::{Lang, fill, find};
use crate::table::{clip, printable};
use remedy::remedies;
use result::{Clock, FlowResult, Run};

/// Goodputs nearer than this are the same.
const ALIKE: f64 = 0.05;
/// More than this many times as much is worth a word.
const GAIN: f64 = 1.1;

/// A variant under the name to tell of it; of flows measured one at a time each is one for itself.
struct NamedVariant<'a> {
    name: String,
    /// Which result's, and which of its variants.
    at: [usize; 2],
    row: Row<'a>,
}

/// What is told of a result.
#[derive(Debug, Default)]
pub(crate) struct Story {
    /// The sentence.
    pub text: String,
    /// Which variants it is about, the subject first: indexes of the result and of its variant.
    pub about: Vec<[usize; 2]>,
}

/// The story, in `lang`; `runs` are results and their labels. Empty where there is no flow at all.
pub(crate) fn story(runs: &[(&str, &Run)], lang: Lang) -> Story {
    let several = runs.len() > 1;
    let each = runs.iter().enumerate().flat_map(|(i, (label, run))| named(i, label, run, several));
    let all: Vec<NamedVariant> = each.collect();
    let Some(clock) = all.first().map(|n| n.row.variant.clock) else { return Story::default() };
    let pool: Vec<&NamedVariant> = all.iter().filter(|n| n.row.variant.clock == clock).collect();
    let group = comparable(&pool);
    let Some(&subject) = group.first() else { return Story::default() };
    let least = group.iter().min_by(|a, b| goodput(&a.row).total_cmp(&goodput(&b.row)));
    let far = |n: &&&NamedVariant| goodput(&n.row) < (1.0 - ALIKE) * goodput(&subject.row);
    let subject = least.filter(far).copied().unwrap_or(subject);
    let mut clauses = facts(&subject.row, lang);
    let helps = remedies(subject, &group);
    clauses.extend(helps.iter().map(|r| r.say(&subject.row, lang)));
    clauses.extend(agreement(&all, clock, lang));
    let opening = carries(subject, lang);
    let (colon, between, end) = if lang == Lang::Zh { ("：", "；", "。") } else { (": ", "; ", ".") };
    let rest = clauses.join(between);
    let text = if rest.is_empty() { opening + end } else { opening + colon + &rest + end };
    let about = [subject].into_iter().chain(helps.iter().map(|r| r.other)).map(|n| n.at);
    Story { text, about: about.collect() }
}

fn named<'a>(result: usize, label: &str, run: &'a Run, several: bool) -> Vec<NamedVariant<'a>> {
    let before = if several { format!("{label}: ") } else { String::new() };
    let one = |row: Row<'a>| {
        let of = row.flow.map_or_else(String::new, |f| format!(" / {}", f.name));
        let variant = run.variants.iter().position(|v| std::ptr::eq(v, row.variant)).unwrap_or(0);
        NamedVariant { at: [result, variant], name: format!("{before}{}{of}", row.variant.name), row }
    };
    rows(run).into_iter().filter(|row| !row.flows().is_empty()).map(one).collect()
}

/// The largest set of variants with the same flows under the same limits; the first of equals.
fn comparable<'a, 'b>(pool: &[&'b NamedVariant<'a>]) -> Vec<&'b NamedVariant<'a>> {
    let limit = |x: Option<f64>| x.map(|l| (l * 1000.0).round() as i64);
    let key = |row: &Row| {
        let flows: Vec<_> = row.flows().iter().map(|f| (f.name.clone(), limit(f.limit_mbps))).collect();
        (limit(row.limit()), flows)
    };
    let mut groups: Vec<(_, Vec<&NamedVariant>)> = Vec::new();
    for &named in pool {
        let key = key(&named.row);
        match groups.iter_mut().find(|g| g.0 == key) {
            Some(group) => group.1.push(named),
            None => groups.push((key, vec![named])),
        }
    }
    let most = groups.iter().map(|g| g.1.len()).max().unwrap_or(0);
    groups.into_iter().find(|g| g.1.len() == most).map(|g| g.1).unwrap_or_default()
}

/// What the flows that are compared carry, Mbit/s.
fn goodput(row: &Row) -> f64 {
    row.compared().iter().map(|f| f.goodput_mbps).sum()
}

/// Median RTT, ms; 0 where none is known.
fn rtt(row: &Row) -> f64 {
    row.rtt(|f| f.rtt_ms.p50).unwrap_or(0.0)
}

/// The share of data packets that were lost where that is known, else of those sent again.
fn lost(row: &Row) -> f64 {
    let gone = |f: &&FlowResult| f.lost_packets.unwrap_or(f.retransmitted_packets);
    let sent: u64 = row.compared().iter().map(|f| f.sent_packets).sum();
    row.compared().iter().map(gone).sum::<u64>() as f64 / sent.max(1) as f64
}

fn quoted(name: &str) -> String {
    let short = clip(&printable(name), 40);
    // First strong isolate: a name written right to left keeps to its place.
    format!("“\u{2068}{short}\u{2069}”")
}

/// The opening: what the subject carries, and of how much.
fn carries(subject: &NamedVariant, lang: Lang) -> String {
    let name = quoted(&subject.name);
    let carried = goodput(&subject.row);
    if carried <= 0.0 {
        return fill("story.nothing", lang, &[("name", &name)]);
    }
    let goodput = short(carried);
    match subject.row.limit().filter(|&l| l > 0.0) {
        Some(l) => {
            let share = percent(carried / l);
            fill("story.carries.share", lang, &[("name", &name), ("goodput", &goodput), ("share", &share)])
        }
        None => fill("story.carries", lang, &[("name", &name), ("goodput", &goodput)]),
    }
}

/// What the path did to a variant.
fn facts(row: &Row, lang: Lang) -> Vec<String> {
    let mut list = mtu::facts(row, lang);
    if let Some((kind, share)) = dropper(row).filter(|d| d.1 >= 0.0005) {
        let what = called("dropper", kind, lang);
        list.push(fill("story.dropped", lang, &[("what", &what), ("share", &percent(share))]));
    }
    list.extend(time_lost(row, lang));
    let least = row.rtt(|f| f.rtt_ms.min).unwrap_or(0.0);
    let queued = rtt(row) - least;
    if queued >= 10.0 && queued >= 0.5 * least && !row.compared().iter().any(|f| f.is_udp()) {
        list.push(fill("story.queued", lang, &[("ms", &whole(queued))]));
    }
    let shares: Vec<f64> = row.compared().iter().map(|f| f.goodput_mbps).collect();
    let (low, high) = shares.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), &x| (l.min(x), h.max(x)));
    if shares.len() > 1 && result::jain(&shares) < 0.9 && low > 0.0 {
        list.push(fill("story.unfair", lang, &[("times", &times(high / low))]));
    }
    if list.is_empty() && lost(row) >= 0.001 {
        list.push(fill("story.lost", lang, &[("share", &percent(lost(row)))]));
    }
    if list.is_empty() && goodput(row) > 0.0 {
        list.push(fill("story.clean", lang, &[]));
    }
    list
}

/// The element that dropped most, by its kind, and the share of what it met.
fn dropper<'a>(row: &Row<'a>) -> Option<(&'a str, f64)> {
    let elements = row.elements().into_iter().filter(|e| e.dropped_packets > 0);
    let most = elements.max_by_key(|e| e.dropped_packets)?;
    let met = most.passed_packets + most.dropped_packets;
    Some((&most.kind, most.dropped_packets as f64 / met as f64))
}

/// What the congestion control of most flows spent its time on, when that was loss.
fn time_lost(row: &Row, lang: Lang) -> Option<String> {
    let flows = row.compared();
    let mut ccs: Vec<&str> = flows.iter().map(|f| f.cc.as_str()).collect();
    ccs.sort_unstable();
    ccs.dedup();
    let worst = |share: &dyn Fn(&FlowResult) -> f64| {
        let of = |cc: &str| {
            let shares: Vec<f64> = flows.iter().filter(|f| f.cc == cc).map(|f| share(f)).collect();
            shares.iter().sum::<f64>() / shares.len() as f64
        };
        ccs.iter().map(|&cc| (cc, of(cc))).max_by(|a, b| a.1.total_cmp(&b.1))
    };
    let say = |key, (cc, share): (&str, f64)| {
        fill(key, lang, &[("cc", &cc_name(cc, lang)), ("share", &whole(share * 100.0))])
    };
    if let Some(waiting) = worst(&|f| f.timeout_wait.unwrap_or(0.0)).filter(|w| w.1 >= 0.03) {
        return Some(say("story.waited", waiting));
    }
    let repairing = |f: &FlowResult| {
        let states = f.states.iter().filter(|s| ["recovery", "cwr", "loss"].contains(&s.state.as_str()));
        states.map(|s| s.share).sum()
    };
    worst(&repairing).filter(|w| w.1 >= 0.25).map(|w| say("story.recovered", w))
}

/// How far the second clock is from the first, at the variant where it is farthest.
fn agreement(all: &[NamedVariant], clock: Clock, lang: Lang) -> Option<String> {
    let (first, second): (Vec<&NamedVariant>, Vec<&NamedVariant>) =
        all.iter().partition(|n| n.row.variant.clock == clock);
    let off = first.iter().filter_map(|a| {
        let b = second.iter().find(|b| b.name == a.name)?;
        let (x, y) = (goodput(&a.row), goodput(&b.row));
        (x > 0.0 && y > 0.0).then(|| (a, (x / y - 1.0).abs()))
    });
    let (worst, off) = off.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let name = quoted(&worst.name);
    Some(fill("story.clocks", lang, &[("share", &percent(off)), ("name", &name)]))
}

/// What people call it: `what` is a part of `names.json`. What has no name there is called by its own.
fn called(what: &str, name: &str, lang: Lang) -> String {
    find(&format!("name.{what}.{name}"), lang).map_or_else(|| clip(&printable(name), 40), Into::into)
}

/// A congestion control as papers write it; one that only the kernel has with a capital letter.
pub(crate) fn cc_name(cc: &str, lang: Lang) -> String {
    if cc == "udp" {
        return "UDP".into();
    }
    find(&format!("name.control.{cc}"), lang).map_or_else(
        || {
            let mut letters = cc.chars();
            letters.next().map_or_else(String::new, |c| c.to_uppercase().to_string() + letters.as_str())
        },
        Into::into,
    )
}

/// A ratio for reading: two digits.
fn times(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}") } else { format!("{x:.0}") }
}

fn whole(x: f64) -> String {
    format!("{x:.0}")
}

#[cfg(test)]
mod tests;
