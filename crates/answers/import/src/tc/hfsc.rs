//! `hfsc` as a tree of token buckets, which gives its classes their long-term rates.
//!
//! | `hfsc` | imported as | departures |
//! |---|---|---|
//! | `ls`, `sc` | the class's rate; if the rates of siblings exceed their parent's, all are scaled down | shares count, not guarantees |
//! | `rt` alone | rate and ceiling: a class without a link share gets no more | |
//! | `ul` | the ceiling; without it the parent's, at the root the line's | |
//! | `m1 d`, `umax dmax` | reported and left out | a first segment only affects delay |
//! | no `default` | unmatched traffic is dropped | no flow represents it |
//!
//! Source: tc-hfsc(7), tc-hfsc(8), Linux `sch_hfsc.c` (`hfsc_enqueue` drops what `hfsc_classify` has no class
//! for).

use super::options::KeySpec;
use crate::draft::USUAL_LINE;
use crate::shares::{Share, allocate};
use crate::{Reading, number};
use path::Class;
use units::{Bytes, Rate};

/// Keys of hfsc after [`flatten`].
pub(crate) const KEYS: &[KeySpec] = &[(&["rate"], 1), (&["ceil"], 1), (&["default"], 1)];

/// Converts a class's service curves to the keys of a token bucket: the second slope of `ls` or `sc` becomes
/// `rate`, that of `ul` becomes `ceil`.
pub(crate) fn flatten(line: usize, words: &[String], reading: &mut Reading) -> Vec<String> {
    let (mut rest, mut other) = (words.iter().peekable(), Vec::new());
    let mut curves: Vec<(&str, &str)> = Vec::new();
    let mut curve = None;
    while let Some(word) = rest.next() {
        match word.as_str() {
            "rt" | "ls" | "sc" | "ul" => curve = Some(word.as_str()),
            "m2" | "rate" if curve.is_some() => {
                let slope = rest.next().map(String::as_str).unwrap_or_default();
                curves.extend(curve.take().map(|name| (name, slope)));
            }
            key @ ("m1" | "d" | "umax" | "dmax") if curve.is_some() => {
                let value = rest.next().map(String::as_str).unwrap_or_default();
                if number::split(value).is_none_or(|(n, _)| n > 0.0) {
                    reading.unknown(
                        line,
                        format!("{key} {value}"),
                        "a curve's first segment is not simulated",
                    );
                }
            }
            _ => other.push(word.clone()),
        }
    }
    let slope =
        |names: &[&str]| curves.iter().find(|(name, _)| names.contains(name)).map(|(_, slope)| *slope);
    let (share, real, most) = (slope(&["ls", "sc"]), slope(&["rt"]), slope(&["ul"]));
    let mut pairs = vec![("rate", share.or(real)), ("ceil", most)];
    if share.is_none() {
        pairs[1].1 = real;
    }
    let pairs = pairs.into_iter().filter_map(|(key, value)| Some([key.to_string(), value?.to_string()]));
    pairs.flatten().chain(other).collect()
}

/// Completes the tree: classes inherit their parent's ceiling, and children share their parent's rate. In
/// `classes`, parents precede children.
pub(crate) fn settle(classes: &mut [Class], reading: &mut Reading) {
    for i in 0..classes.len() {
        let parent = classes[i].parent.as_ref().and_then(|p| classes[..i].iter().find(|c| c.name == *p));
        let above = parent.and_then(|p| p.ceil);
        if classes[i].ceil.is_none() && above.is_none() {
            let line = number::rate(USUAL_LINE.as_bps());
            reading.assume(format!(
                "a line rate of {line} above hfsc's class {}: it has no `ul`",
                classes[i].name
            ));
        }
        let most = above.unwrap_or(USUAL_LINE);
        let ceil = classes[i].ceil.map_or(most, |own| own.min(most));
        classes[i].ceil = Some(ceil);
        classes[i].rate = classes[i].rate.min(ceil);
        (classes[i].burst, classes[i].cburst) = (Some(Bytes::new(3028)), Some(Bytes::new(3028)));
    }
    shrink(classes, None, USUAL_LINE);
    for i in 0..classes.len() {
        let (name, has) = (classes[i].name.clone(), classes[i].rate);
        shrink(classes, Some(&name), has);
    }
}

/// Scales down the rates of a parent's children to the parent's rate.
fn shrink(classes: &mut [Class], parent: Option<&str>, has: Rate) {
    let mut children: Vec<&mut Class> =
        classes.iter_mut().filter(|c| c.parent.as_deref() == parent).collect();
    let claim = |c: &&mut Class| Share { fixed: c.rate.as_bps(), ..Share::default() };
    let shares: Vec<Share> = children.iter().map(claim).collect();
    for (class, bps) in children.iter_mut().zip(allocate(&shares, has.as_bps(), false)) {
        class.rate = Rate::from_bps(bps.max(1));
    }
}
