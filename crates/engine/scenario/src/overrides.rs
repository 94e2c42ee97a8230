//! Overrides: a dotted path and a value, from a variant, from `--set` or from a sweep's axis.

use crate::file::{ScenarioFile, current_name};
use crate::stage;
use document::{Fault, Key, Node, Reader, RefusalCause, TomlTable, Value, key_path, split_assignment, steps};
use serde::de::Error as _;

/// The tables that have user-given keys, and the noun for an entry of each.
const NAMED_TABLES: [(&str, &str); 6] = [
    ("hosts", "host"),
    ("links", "link"),
    ("relays", "relay"),
    ("flows", "flow"),
    ("faults", "fault"),
    ("attach", "attachment"),
];

/// Keys that apply to the whole experiment; a variant cannot override them.
const SHARED_KEYS: [&str; 2] = ["goal", "baseline"];
const SHARED_MESSAGE: &str = "applies to all variants: set it at the top of the file";

/// First step of a path that is limited to one variant; `variants` as in the file, `variant` as an alias.
const VARIANT_STEPS: [&str; 2] = ["variants", "variant"];

/// Applies a variant's overrides in order. Quoted dotted keys and bare ones are equivalent.
pub(crate) fn apply_variant(root: &mut TomlTable, overrides: &TomlTable) -> Result<(), Fault> {
    apply_nested(root, overrides, &mut Vec::new())
}

fn apply_nested(root: &mut TomlTable, table: &TomlTable, prefix: &mut Vec<Key>) -> Result<(), Fault> {
    for (key, node) in &table.entries {
        let depth = prefix.len();
        prefix.extend(steps(&key.name, |_| key.at)?);
        match &node.value {
            // `flows.udp.count = 1` and `[variants.x.flows.udp]` continue the path; `{ … }` is a value.
            Value::Table(inner) if !inner.inline => apply_nested(root, inner, prefix)?,
            _ if prefix.first().is_some_and(|first| SHARED_KEYS.contains(&first.name.as_str())) => {
                let cause = RefusalCause::BadPath { message: SHARED_MESSAGE.into() };
                return Err(with_path(Fault::new(cause, key.at), prefix));
            }
            _ => set(root, prefix, node.clone()).map_err(|f| with_path(f, prefix))?,
        }
        prefix.truncate(depth);
    }
    Ok(())
}

/// The variant that an override is applied to, and the names of all variants.
#[derive(Clone, Copy)]
pub(crate) struct OverrideScope<'a> {
    pub variant: &'a str,
    pub known: &'a [&'a str],
}

/// Applies the override `text` to one variant. `source` is its number, from 1, in error positions. An
/// override that is limited to another variant (`variants.NAME.KEY`) has no effect.
pub(crate) fn apply_set(
    root: &mut TomlTable,
    text: &str,
    source: u32,
    scope: OverrideScope<'_>,
) -> Result<(), Fault> {
    let whole = Reader { source, text, offset: 0 };
    let Some((key, value)) = split_assignment(text) else {
        let message = "`=` is missing (write KEY=VALUE)".into();
        return Err(Fault::new(RefusalCause::BadPath { message }, whole.origin(0..text.len())));
    };
    let steps = steps(key, |range| whole.origin(range))?;
    let blanks = value.len() - value.trim_start().len();
    let offset = key.len() + 1 + blanks;
    let value = Reader { source, text: value.trim(), offset }.value();
    let applied = value.and_then(|value| match path_in_variant(&steps, scope)? {
        Some(path) => set(root, path, value),
        None => Ok(()),
    });
    applied.map_err(|f| with_path(f, &steps))
}

/// Whether an override sets this top-level key in every variant.
pub(crate) fn sets_top_level(text: &str, key: &str) -> bool {
    split_assignment(text).is_some_and(|(path, _)| path.trim() == key)
}

/// The path within the variant: `variants.NAME.KEY` is KEY in the variant NAME and `None` in any other.
fn path_in_variant<'p>(path: &'p [Key], scope: OverrideScope<'_>) -> Result<Option<&'p [Key]>, Fault> {
    let Some((first, rest)) = path.split_first() else { return Ok(Some(path)) };
    if !VARIANT_STEPS.contains(&first.name.as_str()) {
        return Ok(Some(path));
    }
    let Some((name, key)) = rest.split_first().filter(|(_, key)| !key.is_empty()) else {
        let message = format!("`{}.NAME.KEY` sets a key of the variant NAME only", first.name);
        return Err(Fault::new(RefusalCause::BadPath { message }, first.at));
    };
    if !scope.known.contains(&name.name.as_str()) {
        let known = scope.known.iter().map(|v| v.to_string()).collect();
        let cause = RefusalCause::UnknownName { what: "variant", name: name.name.clone(), known };
        return Err(Fault::new(cause, name.at));
    }
    if key.first().is_some_and(|step| SHARED_KEYS.contains(&step.name.as_str())) {
        return Err(Fault::new(RefusalCause::BadPath { message: SHARED_MESSAGE.into() }, first.at));
    }
    Ok((name.name == scope.variant).then_some(key))
}

/// Adds the override's path to a fault.
fn with_path(fault: Fault, path: &[Key]) -> Fault {
    let steps: Vec<&str> = path.iter().map(|s| s.name.as_str()).collect();
    Fault { key: Some(key_path(&steps)), ..fault }
}

/// Sets the value at a path. Each step must exist, except the last step into a table.
fn set(root: &mut TomlTable, path: &[Key], value: Node) -> Result<(), Fault> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    if first.name == "variants" {
        let message = "a variant cannot change variants; name the key itself";
        return Err(Fault::new(RefusalCause::BadPath { message: message.into() }, first.at));
    }
    let first = &Key { name: current_name(&first.name).into(), at: first.at };
    if !ScenarioFile::KEYS.contains(&first.name.as_str()) {
        return Err(Fault::unknown_field(&first.name, ScenarioFile::KEYS).or_at(first.at));
    }
    if let Some(&(_, what)) = NAMED_TABLES.iter().find(|(table, _)| *table == first.name)
        && let Some((name, deeper)) = rest.split_first()
    {
        let whole = deeper.is_empty() && value.as_table().is_some();
        check_target(root, what, first, name, whole)?;
    }
    let mut done = vec![first.name.as_str()];
    let Some((last, parents)) = rest.split_last() else {
        root.insert(first.clone(), value);
        return Ok(());
    };
    let mut node = root.get_or_insert_table(first);
    for step in parents {
        node = child(node, step, &done)?;
        done.push(&step.name);
    }
    match &mut node.value {
        Value::Table(t) => {
            t.insert(last.clone(), value);
            Ok(())
        }
        _ => {
            let old = child(node, last, &done)?;
            *old = replacement(value, old, &done, &last.name);
            Ok(())
        }
    }
}

/// Checks that a host, link, relay, flow, fault or attachment exists or that the override defines it as a whole.
fn check_target(
    root: &mut TomlTable,
    what: &'static str,
    table: &Key,
    name: &Key,
    whole: bool,
) -> Result<(), Fault> {
    let mut known = root.get(&table.name).and_then(Node::as_table).map(TomlTable::names).unwrap_or_default();
    if what == "host" {
        // A host needs no table of its own: links name it.
        known.extend(hosts_of_links(root));
        known.sort();
        known.dedup();
    }
    if whole || known.contains(&name.name) {
        return Ok(());
    }
    Err(Fault::new(RefusalCause::UnknownName { what, name: name.name.clone(), known }, name.at))
}

/// The hosts that links name.
pub(crate) fn hosts_of_links(root: &TomlTable) -> Vec<String> {
    let links = root.get("links").and_then(Node::as_table);
    let ends = links.iter().flat_map(|t| &t.entries).filter_map(|(_, link)| link.get("between"));
    let hosts = ends.filter_map(Node::as_array).flatten().filter_map(Node::as_text);
    hosts.map(str::to_string).collect()
}

/// The child of `node` that `step` names; `done` is the path to `node`.
fn child<'t>(node: &'t mut Node, step: &Key, done: &[&str]) -> Result<&'t mut Node, Fault> {
    match &mut node.value {
        // An unknown key is accepted here and reported, with the valid keys, when the tree is deserialised.
        Value::Table(t) => {
            if matches!(done, ["links", _])
                && matches!(step.name.as_str(), "forward" | "backward")
                && t.get(&step.name).is_none()
            {
                let message = format!("`{}.{}` has no stages", done.join("."), step.name);
                return Err(Fault::new(RefusalCause::BadPath { message }, step.at));
            }
            Ok(t.get_or_insert_table(step))
        }
        Value::Array(list) => {
            let names = stage::names_at(done, list);
            let by_name = names.iter().position(|n| *n == step.name);
            let index = by_name.or_else(|| step.name.parse().ok().filter(|&i: &usize| i < list.len()));
            match index {
                Some(i) => Ok(&mut list[i]),
                None if names.is_empty() => {
                    let message = format!(
                        "`{}` has {} entries: use an index below that instead of `{}`",
                        done.join("."),
                        list.len(),
                        step.name
                    );
                    Err(Fault::new(RefusalCause::BadPath { message }, step.at))
                }
                None => {
                    let cause =
                        RefusalCause::UnknownName { what: "stage", name: step.name.clone(), known: names };
                    Err(Fault::new(cause, step.at))
                }
            }
        }
        other => {
            let message = format!("`{}` is {} and has no keys", done.join("."), other.kind());
            Err(Fault::new(RefusalCause::BadPath { message }, step.at))
        }
    }
}

/// The value that replaces the list entry `old`. A stage without a name of its own keeps the old stage's
/// name.
fn replacement(mut value: Node, old: &Node, done: &[&str], step: &str) -> Node {
    let is_stage = matches!(done, ["links", _, "forward" | "backward"]);
    let own = old.get("name").and_then(Node::as_text);
    // If the stage is addressed by index, a name that was derived from its kind is derived again from the new
    // kind.
    let by_name = Some(step).filter(|s| s.parse::<usize>().is_err());
    if let (true, Value::Table(t), Some(name)) = (is_stage, &mut value.value, own.or(by_name))
        && t.get("name").is_none()
    {
        t.entries.push((Key { name: "name".into(), at: value.at }, Node::text(name, value.at)));
    }
    value
}
