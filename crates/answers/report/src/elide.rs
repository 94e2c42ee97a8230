//! Shortens names that are too long for their column, so that they stay distinct: common parts are cut first,
//! and the parts that differ are kept as long as possible. `shaper-fifo-64k` and `shaper-fifo-256k` become
//! `shap…64k` and `shap…256k`.

use crate::width::clip;
use std::collections::{BTreeMap, BTreeSet};
use unicode_width::UnicodeWidthStr;

/// Shortened names, in the order of the names.
pub(crate) struct Elided {
    pub names: Vec<String>,
    /// No part that differs between names was cut.
    pub whole: bool,
}

/// The names in at most `width` columns each; `None` if two different names would look alike.
pub(crate) fn elide(names: &[&str], width: usize) -> Option<Elided> {
    let distinct: Vec<&str> = names.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let mut whole = true;
    let short = shorten(&distinct, width, false, &mut whole);
    let seen: BTreeSet<&str> = short.iter().map(String::as_str).collect();
    let alike = seen.len() < short.len() || short.iter().any(|n| n.width() > width);
    let shortened =
        |name: &&str| distinct.binary_search(name).map_or_else(|_| String::new(), |at| short[at].clone());
    (!alike).then(|| Elided { names: names.iter().map(shortened).collect(), whole })
}

fn separates(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | ' ' | '/' | ':' | ',' | '=' | '@')
}

/// Whether a name may be split at byte `at`: between words, or with `fine` between any two characters.
fn splits_at(name: &str, at: usize, fine: bool) -> bool {
    name.is_char_boundary(at)
        && (fine
            || name[..at].chars().next_back().is_none_or(separates)
            || name[at..].chars().next().is_none_or(separates))
}

/// The part by which names are clustered: the first word, or with `fine` the first character.
fn head(name: &str, fine: bool) -> &str {
    let first = name.chars().next().map_or(0, char::len_utf8);
    let end = name[first..].find(separates).map_or(name.len(), |at| first + at);
    &name[..if fine { first } else { end }]
}

/// The length in bytes of the common prefix of `names`, up to a place where all of them may be split.
fn common_prefix(names: &[&str], fine: bool) -> usize {
    let same = |at: usize| names.iter().all(|n| n.get(..at) == names[0].get(..at) && splits_at(n, at, fine));
    let least = names.iter().map(|n| n.len()).min().unwrap_or(0);
    (0..=least).rev().find(|&at| names[0].is_char_boundary(at) && same(at)).unwrap_or(0)
}

/// The length in bytes of the common suffix of `names`, from a place where all of them may be split.
fn common_suffix(names: &[&str], fine: bool) -> usize {
    let end = |n: &str, len: usize| n.len().checked_sub(len).and_then(|at| n.get(at..)).map(str::to_string);
    let splits = |n: &str, len: usize| n.len().checked_sub(len).is_some_and(|at| splits_at(n, at, fine));
    let same = |len| names.iter().all(|n| end(n, len) == end(names[0], len) && splits(n, len));
    let least = names.iter().map(|n| n.len()).min().unwrap_or(0);
    (0..=least).rev().find(|&len| same(len)).unwrap_or(0)
}

/// Shortens distinct names; sets `whole` to false if a part that differs had to be cut.
fn shorten(names: &[&str], width: usize, fine: bool, whole: &mut bool) -> Vec<String> {
    let mut short: Vec<String> = names.iter().map(|n| (*n).to_string()).collect();
    if names.iter().all(|n| n.width() <= width) {
        return short;
    }
    let mut clusters: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        clusters.entry(head(name, fine)).or_default().push(i);
    }
    let mut alone = Vec::new();
    for cluster in clusters.into_values() {
        if let [one] = cluster.as_slice() {
            alone.push(*one);
            continue;
        }
        let members: Vec<&str> = cluster.iter().map(|&i| names[i]).collect();
        for (i, name) in cluster.into_iter().zip(alike(&members, width, fine, whole)) {
            short[i] = name;
        }
    }
    let cut: Vec<&str> = alone.iter().map(|&i| names[i]).collect();
    // First words that begin alike are compared by characters.
    let several = !fine && cut.iter().any(|n| n.width() > width && head(n, false).width() >= width);
    let cut = if several { shorten(&cut, width, true, whole) } else { ends(&cut, width) };
    for (i, name) in alone.into_iter().zip(cut) {
        short[i] = name;
    }
    short
}

/// Shortens names with different first words: cuts their ends.
fn ends(names: &[&str], width: usize) -> Vec<String> {
    names.iter().map(|n| clip(n, width)).collect()
}

/// Shortens names that begin alike: cuts the common end first, then the middle of the common beginning.
fn alike(names: &[&str], width: usize, fine: bool, whole: &mut bool) -> Vec<String> {
    let before = common_prefix(names, fine);
    let rests: Vec<&str> = names.iter().map(|n| &n[before..]).collect();
    let after = common_suffix(&rests, fine);
    let (prefix, suffix) = (&names[0][..before], &rests[0][rests[0].len() - after..]);
    let middles: Vec<&str> = rests.iter().map(|r| &r[..r.len() - after]).collect();
    let dots = 1 + usize::from(after > 0);
    if middles.iter().zip(names).any(|(m, n)| n.width() > width && m.width() + dots > width) {
        *whole = false;
        let room = width.saturating_sub(dots);
        let end = if after > 0 { "…" } else { "" };
        return shorten(&middles, room, fine, whole).iter().map(|m| format!("…{m}{end}")).collect();
    }
    let shortened = |(name, middle): (&&str, &&str)| {
        let room = width - middle.width().min(width);
        if name.width() <= width {
            (*name).to_string()
        } else if after > 0 && prefix.width() < room {
            format!("{prefix}{middle}{}", clip(suffix, room - prefix.width()))
        } else {
            let end = if after > 0 { "…" } else { "" };
            format!("{}{middle}{end}", clip(prefix, room - usize::from(after > 0)))
        }
    };
    names.iter().zip(&middles).map(shortened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Stream;

    fn names(list: &[&str], width: usize) -> Vec<String> {
        elide(list, width).expect("distinct").names
    }

    #[test]
    fn common_parts_are_cut_and_differences_stay() {
        let list = ["policer", "shaper-fifo-64k-cubic", "shaper-fifo-256k-cubic"];
        assert_eq!(names(&list, 18), ["policer", "shaper-fifo-64k-c…", "shaper-fifo-256k-…"]);
        assert_eq!(names(&list, 14), ["policer", "shaper-fi…64k…", "shaper-f…256k…"]);
        assert_eq!(names(&list, 7), ["policer", "sh…64k…", "s…256k…"]);
        assert_eq!(names(&["shaper-fifo-bbr", "shaper-fifo-cubic"], 12), ["shaper-f…bbr", "shaper…cubic"]);
        assert_eq!(names(&["three-senders-one-policer"], 12), ["three-sende…"]);
        // If the differences are too long, they are cut as far as they stay different.
        let cut = elide(&["wan-aaaaaaaa-1", "wan-bbbbbbbb-1"], 6).unwrap();
        assert_eq!((cut.names, cut.whole), (vec!["…aaa……".to_string(), "…bbb……".into()], false));
        assert!(elide(&["aaaaaaaab", "aaaaaaaac"], 1).is_none());
    }

    #[test]
    fn names_that_fit_are_unchanged() {
        assert_eq!(names(&["a", "long-name", "a"], 9), ["a", "long-name", "a"]);
    }

    #[test]
    fn different_names_stay_different() {
        let mut stream = Stream::new(7, "names");
        let words = ["shaper", "fifo", "bbr", "64k", "cubic", "policer", "x", "队列", "very-long-word"];
        let mut shortened = 0;
        for _ in 0..2000 {
            let mut pick = |n: u64| stream.below(n) as usize;
            let list: Vec<String> = (0..2 + pick(6))
                .map(|_| (0..1 + pick(5)).map(|_| words[pick(9)]).collect::<Vec<_>>().join("-"))
                .collect();
            let list: Vec<&str> = list.iter().map(String::as_str).collect();
            let width = 3 + pick(30);
            let Some(short) = elide(&list, width) else { continue };
            for (i, a) in list.iter().enumerate() {
                assert!(short.names[i].width() <= width);
                for (j, b) in list.iter().enumerate() {
                    assert_eq!(a == b, short.names[i] == short.names[j], "{list:?} {width}");
                }
            }
            shortened += usize::from(short.names != list);
            // At the width of the longest name nothing changes.
            let most = list.iter().map(|n| n.width()).max().unwrap();
            assert_eq!(elide(&list, most).unwrap().names, list);
        }
        assert!(shortened > 300, "{shortened}");
    }
}
