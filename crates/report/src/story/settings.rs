//! What sets two variants apart beside stages, relays and congestion controls: the keys of flows (`via`, `start`, `app` …),
//! of hosts (`stack`), of relays, of links, and of the run.

use super::change::Change;
use result::VariantResult;
use result::topology::Setting;
use std::collections::{BTreeMap, BTreeSet};

/// A section and a name in it.
type Owner<'a> = (&'a str, &'a str);
/// Values by their keys.
type Settings<'a> = BTreeMap<&'a str, &'a str>;

/// Of results that tell none, as older ones, nothing is known.
pub(super) fn setting_changes(a: &VariantResult, b: &VariantResult) -> Vec<Change> {
    if a.settings.is_empty() || b.settings.is_empty() {
        return Vec::new();
    }
    let (before, after) = (owners(&a.settings), owners(&b.settings));
    let mut found = Vec::new();
    for &(section, name) in before.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
        let owner = (section, name);
        let (was, is) = (before.get(&owner), after.get(&owner));
        let place = (section.to_string(), name.to_string());
        match (was, is) {
            // A relay more or less is told with its host; a host without settings has all defaults.
            (None, _) | (_, None) if section == "relays" => {}
            (None, Some(_)) if section != "hosts" => {
                found.push(Change::More { section: place.0, name: place.1 })
            }
            (Some(_), None) if section != "hosts" => {
                found.push(Change::Less { section: place.0, name: place.1 })
            }
            _ => {
                let none = Settings::new();
                keys(owner, was.unwrap_or(&none), is.unwrap_or(&none), &after, &before)
                    .into_iter()
                    .for_each(|c| add(&mut found, c));
            }
        }
    }
    found
}

fn owners(all: &[Setting]) -> BTreeMap<Owner<'_>, Settings<'_>> {
    let mut owners: BTreeMap<Owner<'_>, Settings<'_>> = BTreeMap::new();
    for s in all {
        owners.entry((&s.section, &s.name)).or_default().insert(&s.key, &s.value);
    }
    owners
}

fn keys(
    (section, name): Owner<'_>,
    was: &Settings<'_>,
    is: &Settings<'_>,
    after: &BTreeMap<Owner<'_>, Settings<'_>>,
    before: &BTreeMap<Owner<'_>, Settings<'_>>,
) -> Vec<Change> {
    let known =
        |relay: &str| before.contains_key(&("relays", relay)) && after.contains_key(&("relays", relay));
    let differs = |key: &&str| was.get(key) != is.get(key);
    let all: BTreeSet<&str> = was.keys().chain(is.keys()).copied().filter(differs).collect();
    let another_app = all.contains("app.kind");
    let told = |key: &&str| match (section, *key) {
        // How often is looked changes nothing of what passes.
        ("", "sample") => false,
        // Told as controls.
        ("flows", "cc" | "cc.name") => false,
        // The way by a relay that is new, or gone, is told with the relay.
        ("flows", "via") => {
            let relays = [was.get(key), is.get(key)].into_iter().flatten().flat_map(|v| v.split(", "));
            relays.filter(|r| !r.is_empty()).all(known)
        }
        // Another application has keys of its own.
        ("flows", key) => !(another_app && key.starts_with("app.") && key != "app.kind"),
        _ => true,
    };
    let change = |key: &str| Change::Setting {
        section: section.into(),
        names: vec![name.into()],
        key: key.into(),
        was: was.get(key).map(|v| v.to_string()),
        is: is.get(key).map(|v| v.to_string()),
    };
    all.into_iter().filter(told).map(change).collect()
}

/// The same change of several flows, hosts … is one.
fn add(found: &mut Vec<Change>, new: Change) {
    if let Change::Setting { section, names, key, was, is } = &new {
        let same = found.iter_mut().find_map(|c| match c {
            Change::Setting { section: s, names, key: k, was: w, is: i }
                if (&*s, &*k, &*w, &*i) == (section, key, was, is) =>
            {
                Some(names)
            }
            _ => None,
        });
        if let Some(others) = same {
            others.extend(names.iter().cloned());
            return;
        }
    }
    found.push(new);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::story::phrases::how;
    use crate::strings::Lang;

    fn variant(settings: &[(&str, &str, &str, &str)]) -> VariantResult {
        let one = |&(section, name, key, value): &(&str, &str, &str, &str)| Setting {
            section: section.into(),
            name: name.into(),
            key: key.into(),
            value: value.into(),
        };
        VariantResult { settings: settings.iter().map(one).collect(), ..VariantResult::default() }
    }

    /// What is said of a change from these settings to those, without the marks around names.
    fn told(was: &[(&str, &str, &str, &str)], is: &[(&str, &str, &str, &str)], lang: Lang) -> String {
        let said = how(&setting_changes(&variant(was), &variant(is)), "b", lang);
        said.replace(['\u{2068}', '\u{2069}'], "").replace('\u{a0}', " ")
    }

    const RUN: (&str, &str, &str, &str) = ("", "", "duration", "10s");

    #[test]
    fn every_kind_of_key_is_told_and_nothing_where_nothing_changed() {
        let f = |key: &'static str, value: &'static str| ("flows", "up", key, value);
        let en = |was: &[_], is: &[_]| told(was, is, Lang::En);
        assert_eq!(
            en(&[RUN, f("start", "1s")], &[RUN, f("start", "2s")]),
            "start 2 s instead of 1 s of the flow “up” (“b”)"
        );
        assert_eq!(
            en(&[RUN, f("from", "a")], &[RUN, f("from", "a"), f("count", "4")]),
            "flow “up” with count 4 (“b”)"
        );
        assert_eq!(
            en(&[RUN, f("to", "b"), f("stagger", "1s")], &[RUN, f("to", "b")]),
            "flow “up” with no stagger stated instead of 1 s (“b”)"
        );
        let stack = ("hosts", "a", "stack.pacing", "true");
        assert_eq!(en(&[RUN], &[RUN, stack]), "host “a” with stack.pacing (“b”)");
        assert_eq!(
            en(&[RUN], &[("", "", "duration", "20s")]),
            "duration 20 s instead of 10 s of the run (“b”)"
        );
        assert_eq!(en(&[RUN, f("to", "b")], &[RUN]), "no flow “up” (“b”)");
        assert_eq!(en(&[RUN], &[RUN, ("links", "l", "between", "a, b")]), "link “l” more (“b”)");
        assert_eq!(en(&[RUN, stack], &[RUN, stack]), "“b”");
        // Told as a control, or of no account.
        assert_eq!(en(&[RUN, f("cc", "cubic")], &[RUN, f("cc", "bbr")]), "“b”");
        assert_eq!(en(&[RUN, ("", "", "sample", "1ms")], &[RUN, ("", "", "sample", "2ms")]), "“b”");
        assert_eq!(told(&[RUN], &[RUN, stack], Lang::Zh), "主机“a”启用 stack.pacing（“b”）");
    }

    #[test]
    fn another_application_and_another_way_are_told_once() {
        let f = |key: &'static str, value: &'static str| ("flows", "up", key, value);
        let voice = [RUN, f("app.kind", "voice"), f("app.codec", "opus")];
        assert_eq!(
            told(&[RUN, f("from", "a")], &[&voice[..], &[f("from", "a")]].concat(), Lang::En),
            "flow “up” with app.kind voice (“b”)"
        );
        let relay = ("relays", "r", "host", "m");
        let by = [RUN, relay, f("via", "r"), f("to", "b")];
        assert_eq!(told(&[RUN, relay, f("to", "b")], &by, Lang::En), "flow “up” with via r (“b”)");
        // The relay is new, and told as such elsewhere.
        assert_eq!(told(&[RUN, f("to", "b")], &by, Lang::En), "“b”");
    }

    #[test]
    fn the_same_change_of_many_is_one() {
        let with = |names: &[&'static str], value| -> Vec<_> {
            [RUN].into_iter().chain(names.iter().map(|&n| ("flows", n, "start", value))).collect()
        };
        assert_eq!(
            told(&with(&["a", "b"], "0s"), &with(&["a", "b"], "1s"), Lang::En),
            "start 1 s instead of 0 s of the flow “a” and “b” (“b”)"
        );
        let many = ["a", "b", "c"];
        assert_eq!(
            told(&with(&many, "0s"), &with(&many, "1s"), Lang::En),
            "start 1 s instead of 0 s of the 3 flows (“b”)"
        );
    }

    #[test]
    fn of_an_older_result_nothing_is_known() {
        assert!(setting_changes(&variant(&[]), &variant(&[RUN])).is_empty());
    }
}
