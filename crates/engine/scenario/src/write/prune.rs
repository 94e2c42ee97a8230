//! Removes keys that only repeat defaults.

use document::written::{Table, Written};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longer lists are not searched: their entries have no defaults that justify the time.
const MAX_LIST: usize = 100;

/// `data` as a table without the keys that can be removed without changing its value.
pub(crate) fn without_defaults<T: Serialize + DeserializeOwned + PartialEq>(data: &T) -> Table {
    prune(Written::of(data), &|value| {
        serde_json::to_value(value).and_then(serde_json::from_value::<T>).is_ok_and(|read| read == *data)
    })
}

/// Removes each key without which `same` is still true.
pub(crate) fn prune(value: Written, same: &dyn Fn(&Written) -> bool) -> Table {
    let mut whole = value;
    visit(&mut Vec::new(), &mut whole, same);
    if let Written::Table(table) = whole { table } else { Table::new() }
}

/// Tries to remove each key at and below the position `at` of `whole`, outer keys first.
fn visit(at: &mut Vec<usize>, whole: &mut Written, same: &dyn Fn(&Written) -> bool) {
    let mut i = 0;
    loop {
        at.push(i);
        match removed(whole, at) {
            Some(without) if same(&without) => *whole = without,
            Some(_) => {
                visit(at, whole, same);
                i += 1;
            }
            None if child(whole, at).is_some() => {
                visit(at, whole, same);
                i += 1;
            }
            None => {
                at.pop();
                return;
            }
        }
        at.pop();
    }
}

/// The value at a path of positions.
fn child<'v>(value: &'v Written, at: &[usize]) -> Option<&'v Written> {
    at.iter().try_fold(value, |value, &i| match value {
        Written::Table(table) => table.get(i).map(|(_, v)| v),
        Written::List(list) if list.len() <= MAX_LIST => list.get(i),
        _ => None,
    })
}

/// `whole` without the key at a path of positions; `None` if that position is not a key of a table.
fn removed(whole: &Written, at: &[usize]) -> Option<Written> {
    let (&last, parents) = at.split_last()?;
    let Some(Written::Table(table)) = child(whole, parents) else { return None };
    table.get(last)?;
    let mut without = whole.clone();
    let parent = parents.iter().try_fold(&mut without, |value, &i| match value {
        Written::Table(table) => table.get_mut(i).map(|(_, v)| v),
        Written::List(list) => list.get_mut(i),
        _ => None,
    })?;
    if let Written::Table(table) = parent {
        table.remove(last);
    }
    Some(without)
}
