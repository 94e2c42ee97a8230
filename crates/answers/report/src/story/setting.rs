//! Differences between two scenarios outside the path's stages: in flows, hosts, relays, links' ends and the
//! run.

use super::change::{Change, SettingOwner};
use super::change_words::is_list;
use super::phrases::{cc_name, joined, quantity, quoted};
use crate::figures::Row;
use crate::strings::{Lang, fill, find, text};
use crate::width::{clip, printable};
use result::VariantResult;
use result::topology::Setting;
use std::collections::{BTreeMap, BTreeSet};

/// Keys whose default is printed as a value, because it is obvious.
const DEFAULTS: [(&str, &str); 4] = [("start", "0s"), ("stagger", "0s"), ("dscp", "0"), ("count", "1")];

/// Names in a sentence; if there are more, only their number is printed.
const MAX_NAMES: usize = 3;

/// The settings that differ between `a` and `b`. The same change of several flows or hosts is listed once.
pub(super) fn settings(a: &Row, b: &Row) -> Vec<Change> {
    // Results of older versions have no settings.
    if a.variant.settings.is_empty() || b.variant.settings.is_empty() {
        return Vec::new();
    }
    let (was, is) = (reported(a, b), reported(b, a));
    let keys: BTreeSet<_> = was.keys().chain(is.keys()).collect();
    let mut list: Vec<Change> = Vec::new();
    for &(owner, key, name) in keys {
        let at = (owner, key, name);
        let (old, new) = (was.get(&at).copied(), is.get(&at).copied());
        if old == new {
            continue;
        }
        let same = list.iter_mut().find_map(|c| match c {
            Change::Setting { owner: o, names, key: k, was, is }
                if (*o, &**k, was.as_deref(), is.as_deref()) == (owner, key, old, new) =>
            {
                Some(names)
            }
            _ => None,
        });
        match same {
            Some(names) => names.push(name.into()),
            None => list.push(Change::Setting {
                owner,
                names: vec![name.into()],
                key: key.into(),
                was: old.map(Into::into),
                is: new.map(Into::into),
            }),
        }
    }
    for change in &mut list {
        if let Change::Setting { owner, names, .. } = change
            && is_all(*owner, names, b)
        {
            names.clear();
        }
    }
    list
}

/// The row's settings that no other kind of change reports, by what they belong to, key and name.
fn reported<'a>(row: &Row<'a>, other: &Row) -> BTreeMap<(SettingOwner, &'a str, &'a str), &'a str> {
    let entry = |s: &'a Setting| {
        // Congestion controls, and relays that are added, removed or moved, are changes of other kinds.
        let owner = match (s.section.as_str(), s.key.as_str()) {
            ("flows", "cc" | "cc.name") | ("relays", "host") => return None,
            ("flows", _) if row.flow.is_some_and(|f| !is_one_of(&f.name, &s.name)) => return None,
            ("relays", _) if !(has_relay(row.variant, &s.name) && has_relay(other.variant, &s.name)) => {
                return None;
            }
            ("hosts", _) => SettingOwner::Host,
            ("links", _) => SettingOwner::Link,
            ("relays", _) => SettingOwner::Relay,
            ("flows", _) => SettingOwner::Flow,
            _ => SettingOwner::Run,
        };
        Some(((owner, s.key.as_str(), s.name.as_str()), s.value.as_str()))
    };
    row.variant.settings.iter().filter_map(entry).collect()
}

/// Whether the result's flow is this flow of the scenario, or one of its connections.
fn is_one_of(flow: &str, scenario: &str) -> bool {
    let number = flow.strip_prefix(scenario).and_then(|rest| rest.strip_prefix('-'));
    flow == scenario || number.is_some_and(|n| n.parse::<u32>().is_ok())
}

fn has_relay(variant: &VariantResult, name: &str) -> bool {
    variant.path.iter().flat_map(|p| &p.relays).any(|r| r.name == name)
}

/// Whether the names are all that exist, so that none needs to be printed.
fn is_all(owner: SettingOwner, names: &[String], row: &Row) -> bool {
    let named = |section: &str| -> usize {
        let all = row.variant.settings.iter().filter(|s| s.section == section);
        all.map(|s| s.name.as_str()).collect::<BTreeSet<_>>().len()
    };
    match owner {
        SettingOwner::Run => true,
        SettingOwner::Flow => row.flow.is_some() || names.len() == named("flows"),
        SettingOwner::Host => names.len() == row.variant.path.as_ref().map_or(0, |p| p.hosts.len()),
        SettingOwner::Link | SettingOwner::Relay => false,
    }
}

/// A changed setting in words.
pub(super) fn words(
    owner: SettingOwner,
    names: &[String],
    key: &str,
    (was, is): (Option<&str>, Option<&str>),
    lang: Lang,
) -> String {
    let default = || DEFAULTS.iter().find(|d| d.0 == key).map(|d| quantity(d.1));
    let default = || default().unwrap_or_else(|| text("story.setting.default", lang).into());
    let spelt = |v: Option<&str>| v.map_or_else(default, |v| value(key, v, lang));
    let what = called(owner, key, lang);
    // A missing key means the default, so stating a switch inverts its default.
    let template = match (key, was, is) {
        ("via", None, _) => "story.setting.via",
        ("via", _, None) => "story.setting.no-via",
        ("via", ..) => "story.setting.other-via",
        _ if [was, is].into_iter().flatten().any(is_list) => "story.setting.other",
        (_, None | Some("false"), Some("true")) | (_, Some("false"), None) => "story.setting.on",
        (_, None | Some("true"), Some("false")) | (_, Some("true"), None) => "story.setting.off",
        _ => "story.setting.set",
    };
    let change = fill(template, lang, &[("what", &what), ("is", &spelt(is)), ("was", &spelt(was))]);
    let n = names.len().to_string();
    match (owner, names) {
        (_, []) => change,
        (SettingOwner::Flow, [one]) => {
            fill("story.change.of", lang, &[("change", &change), ("flow", &quoted(one))])
        }
        (SettingOwner::Flow, _) => fill("story.change.of-many", lang, &[("change", &change), ("n", &n)]),
        (_, many) if many.len() > MAX_NAMES => {
            fill("story.setting.at-many", lang, &[("change", &change), ("n", &n)])
        }
        (_, many) => {
            let list = joined(many.iter().map(|name| quoted(name)).collect(), lang);
            fill("story.setting.at", lang, &[("change", &change), ("name", &list)])
        }
    }
}

/// The name of a key; "the key …" if it has none.
fn called(owner: SettingOwner, key: &str, lang: Lang) -> String {
    let section = match owner {
        SettingOwner::Host => "host",
        SettingOwner::Link => "link",
        SettingOwner::Relay => "relay",
        SettingOwner::Flow => "flow",
        SettingOwner::Run => "run",
    };
    let known = find(&format!("setting.{section}.{key}"), lang);
    known.map_or_else(|| fill("story.setting.key", lang, &[("key", &clip(&printable(key), 40))]), Into::into)
}

/// A value with a space before its unit; names, commands and programs in quotes.
fn value(key: &str, value: &str, lang: Lang) -> String {
    match key {
        "via" | "between" => joined(value.split(", ").map(quoted).collect(), lang),
        "from" | "to" | "tool" | "server" => quoted(value),
        "cc" => cc_name(value, lang),
        _ => quantity(value),
    }
}

/// Whether a key has a name in both languages, for tests that check all keys.
pub fn is_named(section: &str, key: &str) -> bool {
    [Lang::En, Lang::Zh].iter().all(|&lang| find(&format!("setting.{section}.{key}"), lang).is_some())
}
