//! Overrides: a dotted path and a value, from a variant, from `--set` or from a sweep's axis.

use crate::file::ScenarioFile;
use crate::stage;
use document::{Fault, Key, Node, Reader, RefusalCause, TomlTable, Value, key_path, split_assignment, steps};
use serde::de::Error as _;

/// The tables whose keys are names, and what one of them is called.
const NAMED: [(&str, &str); 5] =
    [("hosts", "host"), ("links", "link"), ("relays", "relay"), ("flows", "flow"), ("faults", "fault")];

/// What holds for all variants together.
const OF_ALL: [&str; 2] = ["goal", "baseline"];
const SAME_IN_ALL: &str = "is the same for all variants: set it at the top of the file";

/// What an override's path begins with that is of one variant: as the file has it, and as one says it.
const OF_ONE: [&str; 2] = ["variants", "variant"];

/// Applies what a variant says, in its order. Quoted and bare paths mean the same.
pub(crate) fn apply_variant(root: &mut TomlTable, overrides: &TomlTable) -> Result<(), Fault> {
    apply_nested(root, overrides, &mut Vec::new())
}

fn apply_nested(root: &mut TomlTable, table: &TomlTable, prefix: &mut Vec<Key>) -> Result<(), Fault> {
    for (key, node) in &table.entries {
        let depth = prefix.len();
        prefix.extend(steps(&key.name, |_| key.at)?);
        match &node.value {
            // `flows.udp.count = 1` and `[variants.x.flows.udp]` are paths that go on;
            // `{ … }` is a value.
            Value::Table(inner) if !inner.inline => apply_nested(root, inner, prefix)?,
            _ if prefix.first().is_some_and(|first| OF_ALL.contains(&first.name.as_str())) => {
                let cause = RefusalCause::BadPath { message: SAME_IN_ALL.into() };
                return Err(keyed(Fault::new(cause, key.at), prefix));
            }
            _ => set(root, prefix, node.clone()).map_err(|f| keyed(f, prefix))?,
        }
        prefix.truncate(depth);
    }
    Ok(())
}

/// The variant that an override is made in, and the names of all.
#[derive(Clone, Copy)]
pub(crate) struct SetIn<'a> {
    pub variant: &'a str,
    pub known: &'a [&'a str],
}

/// Applies the text of one override, the `source`-th; one whose path begins with another variant's name changes nothing.
pub(crate) fn apply_set(root: &mut TomlTable, text: &str, source: u32, of: SetIn<'_>) -> Result<(), Fault> {
    let whole = Reader { source, text, offset: 0 };
    let Some((key, value)) = split_assignment(text) else {
        let message = "`=` is missing (write KEY=VALUE)".into();
        return Err(Fault::new(RefusalCause::BadPath { message }, whole.origin(0..text.len())));
    };
    let steps = steps(key, |range| whole.origin(range))?;
    let blanks = value.len() - value.trim_start().len();
    let offset = key.len() + 1 + blanks;
    let value = Reader { source, text: value.trim(), offset }.value();
    let made = value.and_then(|value| match own_path(&steps, of)? {
        Some(path) => set(root, path, value),
        None => Ok(()),
    });
    made.map_err(|f| keyed(f, &steps))
}

/// Whether an override sets this key of the file's top, in every variant.
pub(crate) fn sets_top(text: &str, key: &str) -> bool {
    split_assignment(text).is_some_and(|(path, _)| path.trim() == key)
}

/// The path within the variant: `variants.NAME.KEY` is KEY in the variant NAME, and `None` in every other one.
fn own_path<'p>(path: &'p [Key], of: SetIn<'_>) -> Result<Option<&'p [Key]>, Fault> {
    let Some((first, rest)) = path.split_first() else { return Ok(Some(path)) };
    if !OF_ONE.contains(&first.name.as_str()) {
        return Ok(Some(path));
    }
    let Some((name, key)) = rest.split_first().filter(|(_, key)| !key.is_empty()) else {
        let message = format!("`{}.NAME.KEY` sets a key in the variant NAME alone", first.name);
        return Err(Fault::new(RefusalCause::BadPath { message }, first.at));
    };
    if !of.known.contains(&name.name.as_str()) {
        let known = of.known.iter().map(|v| v.to_string()).collect();
        let cause = RefusalCause::UnknownName { what: "variant", name: name.name.clone(), known };
        return Err(Fault::new(cause, name.at));
    }
    if key.first().is_some_and(|step| OF_ALL.contains(&step.name.as_str())) {
        return Err(Fault::new(RefusalCause::BadPath { message: SAME_IN_ALL.into() }, first.at));
    }
    Ok((name.name == of.variant).then_some(key))
}

/// The fault with the path of its override.
fn keyed(fault: Fault, path: &[Key]) -> Fault {
    let steps: Vec<&str> = path.iter().map(|s| s.name.as_str()).collect();
    Fault { key: Some(key_path(&steps)), ..fault }
}

/// Sets the value at a path, which must name something that is there or may be.
fn set(root: &mut TomlTable, path: &[Key], value: Node) -> Result<(), Fault> {
    let Some((first, rest)) = path.split_first() else { return Ok(()) };
    if first.name == "variants" {
        let message = "a variant cannot change variants; name the key itself";
        return Err(Fault::new(RefusalCause::BadPath { message: message.into() }, first.at));
    }
    if !ScenarioFile::KEYS.contains(&first.name.as_str()) {
        return Err(Fault::unknown_field(&first.name, ScenarioFile::KEYS).or_at(first.at));
    }
    if let Some(&(_, what)) = NAMED.iter().find(|(table, _)| *table == first.name)
        && let Some((name, deeper)) = rest.split_first()
    {
        let whole = deeper.is_empty() && value.as_table().is_some();
        admit(root, what, first, name, whole)?;
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
            *old = renamed(value, old, &done, &last.name);
            Ok(())
        }
    }
}

/// Whether the path may name this host, link, relay or flow: it is there, or given whole.
fn admit(
    root: &mut TomlTable,
    what: &'static str,
    table: &Key,
    name: &Key,
    whole: bool,
) -> Result<(), Fault> {
    let mut known = root.get(&table.name).and_then(Node::as_table).map(TomlTable::names).unwrap_or_default();
    if what == "host" {
        // Hosts may be left out of the file: links name them.
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

/// What `step` names inside `node`; `done` is the path to `node`.
fn child<'t>(node: &'t mut Node, step: &Key, done: &[&str]) -> Result<&'t mut Node, Fault> {
    match &mut node.value {
        // A key that means nothing is found, with the right ones, when the tree is read.
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
                        "`{}` is a list of {}: write an index below that instead of `{}`",
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

/// The new value of a list's entry; a stage that brings no name keeps the old one.
fn renamed(mut value: Node, old: &Node, done: &[&str], step: &str) -> Node {
    let is_stage = matches!(done, ["links", _, "forward" | "backward"]);
    let own = old.get("name").and_then(Node::as_text);
    // Addressed by index, a name that only came from the kind gives way to the new kind's.
    let by_name = Some(step).filter(|s| s.parse::<usize>().is_err());
    if let (true, Value::Table(t), Some(name)) = (is_stage, &mut value.value, own.or(by_name))
        && t.get("name").is_none()
    {
        t.entries.push((Key { name: "name".into(), at: value.at }, Node::text(name, value.at)));
    }
    value
}
