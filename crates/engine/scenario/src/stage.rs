//! Reads the stages of a link: a `kind`, its parameters, and the scenario's own keys `name` and `enabled`.

use crate::model::NamedStage;
use document::{Entries, Fault, Node, RefusalCause, check_name};
use path::{Problem, Stage};
use serde::Deserialize;
use std::collections::BTreeSet;

/// Reads the text of a file that a stage names; `None` if files are not available.
pub(crate) type Files<'a> = Option<&'a mut dyn FnMut(&str) -> Result<String, String>>;

/// Maximum number of stages in one direction of a link.
pub(crate) const MAX_STAGES: usize = 100;

/// The names of a direction's stages: their own, or their kinds made unique by a number.
pub(crate) fn names(stages: &[Node]) -> Vec<String> {
    let text = |n: &'_ Node, key| n.get(key).and_then(Node::as_text).map(str::to_string);
    let stages = &stages[..stages.len().min(MAX_STAGES)];
    let given: Vec<_> = stages.iter().map(|n| (text(n, "name"), text(n, "kind"))).collect();
    let given = given.iter().map(|(name, kind)| (name.as_deref(), kind.as_deref().unwrap_or("stage")));
    unique_names(&given.collect::<Vec<_>>())
}

/// Names for stages given as (own name, kind): see [`names`].
pub(crate) fn unique_names(stages: &[(Option<&str>, &str)]) -> Vec<String> {
    let mut taken: BTreeSet<String> = stages.iter().filter_map(|(own, _)| own.map(str::to_string)).collect();
    let mut name = |&(own, kind): &(Option<&str>, &str)| {
        if let Some(name) = own {
            return name.to_string();
        }
        let mut name = kind.to_string();
        let mut n = 1;
        while !taken.insert(name.clone()) {
            n += 1;
            name = format!("{kind}-{n}");
        }
        name
    };
    stages.iter().map(&mut name).collect()
}

/// [`names`] of the list at `path`; empty if that is not a list of stages.
pub(crate) fn names_at(path: &[impl AsRef<str>], list: &[Node]) -> Vec<String> {
    match path {
        [links, _, direction]
            if links.as_ref() == "links" && matches!(direction.as_ref(), "forward" | "backward") =>
        {
            names(list)
        }
        _ => Vec::new(),
    }
}

/// Reads the enabled stages of one direction of a link.
pub(crate) fn read(list: &[Node], files: &mut Files<'_>) -> Result<Vec<NamedStage>, Fault> {
    if list.len() > MAX_STAGES {
        let found = format!("a list of {} stages", list.len());
        let allowed = format!("at most {MAX_STAGES}");
        return Err(Fault::new(RefusalCause::OutOfRange { found, allowed }, list[MAX_STAGES].at));
    }
    let mut seen = BTreeSet::new();
    let mut stages = Vec::new();
    for (node, name) in list.iter().zip(names(list)) {
        let (stage, file, enabled) = read_one(node, files).map_err(|f| f.or_at(node.at))?;
        let at = node.place(&["name"]);
        check_name(&name, at)?;
        if name.bytes().all(|b| b.is_ascii_digit()) {
            let message = format!("the name `{name}` would be read as a stage's index; add a letter");
            return Err(Fault::new(RefusalCause::Conflict { message }, at));
        }
        if !seen.insert(name.clone()) {
            return Err(Fault::new(RefusalCause::DuplicateName { what: "stage", name }, at));
        }
        if enabled {
            stages.push(NamedStage { name, stage, file, assumed: false });
        }
    }
    Ok(stages)
}

fn read_one(node: &Node, files: &mut Files<'_>) -> Result<(Stage, Option<String>, bool), Fault> {
    let Some(table) = node.as_table() else {
        let expected = "a stage, for example { kind = \"delay\", delay = \"10ms\" }".into();
        return Err(RefusalCause::WrongType { found: node.value.kind().into(), expected }.into());
    };
    let enabled = match table.get("enabled") {
        Some(value) => bool::deserialize(value).map_err(|f| f.or_at(value.at))?,
        None => true,
    };
    if let Some(name) = table.get("name") {
        String::deserialize(name).map_err(|f| f.or_at(name.at))?;
    }
    let kind = table.get("kind").ok_or(RefusalCause::MissingKey { key: "kind".into() })?;
    let word = String::deserialize(kind).map_err(|f| f.or_at(kind.at))?;
    if !Stage::KINDS.contains(&word.as_str()) {
        let known = Stage::KINDS.iter().map(|k| k.to_string()).collect();
        let cause = RefusalCause::UnknownWord { what: "kind of stage", word, known };
        return Err(Fault::new(cause, kind.at));
    }
    let rest = Entries::without(table, &["kind", "name", "enabled"]);
    let mut stage = Stage::deserialize_kind(&word, rest).map_err(|mut fault| {
        if let RefusalCause::UnknownKey { known, .. } = &mut fault.cause
            && *known == Stage::fields(&word)
        {
            known.extend(["name".into(), "enabled".into()]);
        }
        fault.or_at(node.at)
    })?;
    let file = stage.file().map(str::to_string);
    check(node, &mut stage, files)?;
    Ok((stage, file, enabled))
}

/// Loads the file that the stage names, then runs the stage's own checks.
fn check(node: &Node, stage: &mut Stage, files: &mut Files<'_>) -> Result<(), Fault> {
    if let Some(name) = stage.file().map(str::to_string) {
        let named = |n: &&Node| n.as_text() == Some(&name);
        let mut values = node.as_table().into_iter().flat_map(|t| &t.entries).map(|(_, n)| n);
        let at = values.find(named).unwrap_or(node).at;
        let text = match files {
            Some(read) => read(&name),
            None => Err("files cannot be read here".into()),
        };
        let text = text.map_err(|why| {
            let message = format!("cannot read the file `{name}`: {why}");
            Fault::new(RefusalCause::BadValue { message }, at)
        })?;
        let in_file = |p: Problem| {
            let message = format!("in the file `{name}`: {}", without_content(&p.message));
            Fault::new(RefusalCause::Conflict { message }, at)
        };
        stage.load(&text).map_err(in_file)?;
    }
    stage.check().map_err(|problem| {
        let path: Vec<&str> = problem.key.split('.').collect();
        // The error's position already names a key that is present; only an absent key has to be named.
        let there = node.node_at(&path).is_some();
        let message = if there { problem.message } else { problem.to_string() };
        Fault::new(RefusalCause::Conflict { message }, node.place(&path))
    })
}

/// Removes the file's content that an error message quotes (the text between backticks). The file may be
/// private, and errors may be shown to others than its owner.
fn without_content(message: &str) -> String {
    match (message.find('`'), message.rfind('`')) {
        (Some(first), Some(last)) if first < last => {
            format!("{}the text there{}", &message[..first], &message[last + 1..])
        }
        _ => message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_a_file_does_not_quote_the_file() {
        for kind in Stage::KINDS {
            for line in [
                "s3cret:x:0",
                "7s3cret",
                "1 s3cret`s3cret",
                "99999999999999999999999s3cret",
                "s3cret=`\u{1b}",
            ] {
                let first = if *kind == "jitter" { "1ms" } else { "1" };
                let text = format!("{first}\n{line}\n");
                let mut stage = match *kind {
                    "jitter" => Stage::Jitter(path::Jitter { file: Some("a".into()), ..Default::default() }),
                    "rate-trace" => {
                        Stage::RateTrace(path::RateTrace { file: Some("a".into()), ..Default::default() })
                    }
                    _ => continue,
                };
                let message = without_content(&stage.load(&text).unwrap_err().message);
                assert!(!message.contains("s3cret") && message.contains("line 2"), "{kind}: {message}");
            }
        }
    }
}
