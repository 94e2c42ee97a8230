//! Computes the overrides that turn one scenario into another.

use super::tree::Tree;
use crate::stage;
use document::key_path;
use document::written::{Table, Written, get};

/// The overrides that turn `base` into `tree`, in order of application.
pub(crate) fn overrides(base: &Tree, tree: &Tree) -> Table {
    let mut out = Changes::default();
    for (key, value) in &tree.run {
        if get(&base.run, key) != Some(value) {
            out.set(&[key], value.clone());
        }
    }
    out.named("links", &base.links, &tree.links);
    out.hosts(base, tree);
    out.named("relays", &base.relays, &tree.relays);
    out.named("flows", &base.flows, &tree.flows);
    out.named("faults", &base.faults, &tree.faults);
    out.named("attach", &base.attachments, &tree.attachments);
    out.0
}

#[derive(Default)]
struct Changes(Table);

fn names(table: &Table) -> Vec<&str> {
    table.iter().map(|(name, _)| name.as_str()).collect()
}

/// Whether `some` is a subsequence of `all`.
fn in_order(some: &[&str], all: &[&str]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|name| rest.any(|other| other == name))
}

impl Changes {
    fn set(&mut self, path: &[&str], value: Written) {
        self.0.push((key_path(path), value));
    }

    /// Overrides of hosts: by key, or the whole table if links name other hosts.
    fn hosts(&mut self, base: &Tree, tree: &Tree) {
        if base.linked != tree.linked {
            if base.hosts != tree.hosts {
                self.set(&["hosts"], Written::Table(tree.hosts.clone()));
            }
            return;
        }
        let none = Written::Table(Table::new());
        for host in &tree.linked {
            let table_of = |tree: &Tree| get(&tree.hosts, host).cloned().unwrap_or_else(|| none.clone());
            self.table(&["hosts", host], &table_of(base), &table_of(tree));
        }
    }

    /// Overrides of links, relays, flows, faults or attachments. The whole table is replaced unless entries were only
    /// appended, or, for flows, left out.
    fn named(&mut self, section: &str, base: &Table, tree: &Table) {
        let (old, new) = (names(base), names(tree));
        let fewer = section == "flows" && in_order(&new, &old);
        if !new.starts_with(&old) && !fewer {
            return self.set(&[section], Written::Table(tree.clone()));
        }
        for (name, value) in base {
            match get(tree, name) {
                None => self.set(&[section, name, "enabled"], Written::Bool(false)),
                Some(other) => self.table(&[section, name], value, other),
            }
        }
        for (name, value) in tree.iter().filter(|(name, _)| get(base, name).is_none()) {
            self.set(&[section, name], value.clone());
        }
    }

    /// The keys that differ between two tables. The whole table is replaced if a key without a known default
    /// is missing.
    fn table(&mut self, path: &[&str], old: &Written, new: &Written) {
        let (Some(before), Some(after)) = (old.as_table(), new.as_table()) else { return };
        let vanished = before.iter().map(|(key, _)| key.as_str()).filter(|key| get(after, key).is_none());
        let Some(defaults) = vanished.map(|key| Some((key, default(path, key)?))).collect::<Option<Vec<_>>>()
        else {
            return self.set(path, new.clone());
        };
        for (key, value) in after.iter().filter(|(key, value)| get(before, key) != Some(value)) {
            let at = [path, &[key]].concat();
            match get(before, key) {
                Some(old) if is_stage_list(&at) => self.stages(&at, old, value),
                _ => self.set(&at, value.clone()),
            }
        }
        for (key, value) in defaults {
            self.set(&[path, &[key]].concat(), value);
        }
    }

    /// The stages that differ; the whole list if the stages' names differ.
    fn stages(&mut self, path: &[&str], old: &Written, new: &Written) {
        let (Written::List(before), Written::List(after)) = (old, new) else { return };
        let called = stage_names(before);
        if called != stage_names(after) {
            return self.set(path, new.clone());
        }
        for ((name, old), new) in called.iter().zip(before).zip(after) {
            let kind = |stage: &Written| stage.as_table().and_then(|t| get(t, "kind")).cloned();
            let path = [path, &[name.as_str()]].concat();
            if old == new {
                continue;
            } else if kind(old) == kind(new) {
                self.table(&path, old, new);
            } else {
                self.set(&path, nameless(new));
            }
        }
    }
}

/// Whether this is the path of a link's list of stages.
fn is_stage_list(path: &[&str]) -> bool {
    matches!(path, ["links", _, "forward" | "backward"])
}

/// The default value of a key, if it can be written.
fn default(table: &[&str], key: &str) -> Option<Written> {
    match (table, key) {
        (["links", _], "forward" | "backward") | (["flows", _], "via") => Some(Written::List(Vec::new())),
        (["hosts", _], "addresses" | "routes" | "services") => Some(Written::List(Vec::new())),
        (["hosts", _], "stack") => Some(Written::Table(Table::new())),
        (["hosts", _], "forward") => Some(Written::Bool(true)),
        (["flows", _], "start" | "stagger") => Some(Written::text("0s")),
        (["flows", _], "count") => Some(Written::Integer(1)),
        (["flows", _], "dscp") => Some(Written::Integer(0)),
        _ => None,
    }
}

/// A stage without its name: the stage that it replaces keeps its name.
fn nameless(stage: &Written) -> Written {
    let table = stage.as_table().into_iter().flatten();
    Written::Table(table.filter(|(key, _)| key != "name").cloned().collect())
}

/// The names that the parser gives to these stages.
fn stage_names(stages: &[Written]) -> Vec<String> {
    let text = |stage: &'_ Written, key| match stage.as_table().and_then(|t| get(t, key)) {
        Some(Written::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let given: Vec<_> =
        stages.iter().map(|s| (text(s, "name"), text(s, "kind").unwrap_or_default())).collect();
    stage::unique_names(
        &given.iter().map(|(name, kind)| (name.as_deref(), kind.as_str())).collect::<Vec<_>>(),
    )
}
