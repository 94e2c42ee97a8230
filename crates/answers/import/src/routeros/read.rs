//! Splits lines into items: menus, verbs, properties.

use crate::Reading;
use crate::shell::joined_by;

/// The menu of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Simple,
    Tree,
    Type,
    Other,
}

/// An object of a menu.
#[derive(Clone, Debug)]
pub(super) struct Item {
    /// The line of its first word.
    pub line: usize,
    pub menu: Menu,
    pub properties: Vec<(String, String)>,
}

/// The most items, and properties of one.
const MAX_ITEMS: usize = 20_000;

impl Item {
    /// A property; the last value counts.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.properties.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    pub fn is_disabled(&self) -> bool {
        self.get("disabled") == Some("yes")
    }

    /// The target of a simple queue; the property had a different name before version 6.
    pub fn target(&self) -> &str {
        self.get("target").or_else(|| self.get("target-addresses")).unwrap_or_default()
    }

    /// Whether the queue takes every packet of its target.
    pub fn catches_all_of_its_target(&self) -> bool {
        ["packet-marks", "dst", "dst-address", "time", "interface", "direction", "p2p"]
            .iter()
            .all(|key| self.get(key).is_none_or(|v| ["", "0.0.0.0/0", "::/0", "both"].contains(&v)))
    }

    /// Returns the condition that the queue matches, as text.
    pub fn matches(&self) -> String {
        let words = ["target", "target-addresses", "packet-mark", "packet-marks", "dst"];
        let found = words.iter().filter_map(|key| self.get(key).filter(|v| !v.is_empty()));
        let found: Vec<String> = found.map(|v| format!(", {v}")).collect();
        found.concat()
    }
}

/// The words of a line: text in quotes or brackets is one word, without the quotes.
fn words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut word = String::new();
    let (mut quoted, mut depth) = (false, 0_u32);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => word.extend(chars.next()),
            '"' => quoted = !quoted,
            '[' | '{' | '(' if !quoted => {
                depth += 1;
                word.push(c);
            }
            ']' | '}' | ')' if !quoted => {
                depth = depth.saturating_sub(1);
                word.push(c);
            }
            c if c.is_whitespace() && !quoted && depth == 0 => {
                if !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
            }
            c => word.push(c),
        }
    }
    all.extend(Some(word).filter(|w| !w.is_empty()));
    all
}

const VERBS: [&str; 12] = [
    "add",
    "set",
    "print",
    "remove",
    "export",
    "edit",
    "enable",
    "disable",
    "find",
    "move",
    "comment",
    "reset-counters",
];

/// The menu of a path: `queue simple`, `/queue/simple`.
fn menu_of(path: &[String]) -> Menu {
    match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["queue", "simple"] => Menu::Simple,
        ["queue", "tree"] => Menu::Tree,
        ["queue", "type"] => Menu::Type,
        _ => Menu::Other,
    }
}

/// `key=value`.
fn property(word: &str) -> Option<(String, String)> {
    let (key, value) = word.split_once('=')?;
    let named = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    named.then(|| (key.to_string(), value.to_string()))
}

/// The position of the parser: the menu, as words, and whether this is output of `print`.
#[derive(Default)]
struct Place {
    path: Vec<String>,
    /// Whether the last line belonged to an item in the output of `print`.
    printing: bool,
}

/// All items of a text.
pub(super) fn items(text: &str, reading: &mut Reading) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut place = Place::default();
    for (line, text) in joined_by(text, |whole, rest| whole.push_str(rest.trim_start())) {
        let said = text.trim();
        if said.is_empty() || said.starts_with('#') {
            place.printing &= !said.is_empty();
            continue;
        }
        reading.lines.insert(line);
        if items.len() < MAX_ITEMS && !one(line, said, &mut place, &mut items, reading) {
            reading.unknown(line, said, "not a queue setting");
        }
    }
    items
}

/// The path of a prompt, `[admin@MikroTik] /queue simple>`, and the command after it.
fn prompt(said: &str) -> Option<(Vec<String>, &str)> {
    let rest = said.strip_prefix('[')?;
    let (user, rest) = rest.split_once(']')?;
    let (path, typed) = rest.split_once('>')?;
    user.contains('@').then(|| (path_words(path), typed.trim()))
}

fn path_words(path: &str) -> Vec<String> {
    path.split(|c: char| c == '/' || c.is_whitespace())
        .filter(|w| !w.is_empty())
        .map(str::to_string)
        .collect()
}

/// Reads one line; `false` if it has nothing to do with queues.
fn one(line: usize, said: &str, place: &mut Place, items: &mut Vec<Item>, reading: &mut Reading) -> bool {
    let said = match prompt(said) {
        Some((path, typed)) => {
            place.path = path;
            typed
        }
        None => said,
    };
    if said.is_empty() || said.starts_with("Flags:") || said.starts_with("Columns:") {
        return true;
    }
    let mut words = words(said);
    if place_of(said, &mut words, place) && words.is_empty() {
        return true;
    }
    let verb = words.first().cloned().unwrap_or_default();
    if VERBS.contains(&verb.as_str()) {
        place.printing = false;
        words.remove(0);
    } else {
        return shown(line, words, place, items, reading);
    }
    let properties: Vec<(String, String)> = words.iter().filter_map(|w| property(w)).collect();
    let menu = menu_of(&place.path);
    match verb.as_str() {
        "add" => add(line, menu, properties, items),
        "set" => set(line, menu, &words, properties, items, reading),
        "print" | "export" => true,
        _ if menu == Menu::Other => false,
        other => {
            reading.unknown(line, said, format!("`{other}` is not evaluated"));
            true
        }
    }
}

/// Enters the menu of a path and removes the words of the path.
fn place_of(said: &str, words: &mut Vec<String>, place: &mut Place) -> bool {
    let absolute = said.starts_with('/');
    let relative = words.first().is_some_and(|w| w == "queue" || w.starts_with("queue/"));
    if !absolute && !relative {
        return false;
    }
    let mut path = Vec::new();
    while let Some(word) = words.first() {
        let parts = path_words(word);
        if word.contains(['=', '[', '"']) || parts.first().is_some_and(|p| VERBS.contains(&p.as_str())) {
            break;
        }
        words.remove(0);
        for (i, part) in parts.iter().enumerate() {
            if VERBS.contains(&part.as_str()) {
                words.splice(0..0, parts[i..].iter().cloned());
                place.path = path;
                return true;
            }
            path.push(part.clone());
        }
    }
    place.path = path;
    true
}

fn add(line: usize, menu: Menu, properties: Vec<(String, String)>, items: &mut Vec<Item>) -> bool {
    let Some((_, limit)) = properties.iter().find(|(key, _)| key == "rate-limit") else {
        items.push(Item { line, menu, properties });
        return menu != Menu::Other;
    };
    if menu != Menu::Other {
        items.push(Item { line, menu, properties });
        return true;
    }
    let named =
        properties.iter().find(|(key, _)| ["name", "address", "user", "comment"].contains(&key.as_str()));
    let name = named.map_or_else(|| format!("limit{line}"), |(_, value)| value.clone());
    let mut own = vec![("name".to_string(), name.clone()), ("target".to_string(), name)];
    own.extend(rate_limit(limit));
    items.push(Item { line, menu: Menu::Simple, properties: own });
    true
}

/// `rx[/tx] [burst] [threshold] [time] [priority] [minimum]`: `rx` is what the router receives: the upload of
/// a client.
fn rate_limit(text: &str) -> Vec<(String, String)> {
    let keys = ["max-limit", "burst-limit", "burst-threshold", "burst-time", "priority", "limit-at"];
    let mut found: Vec<(String, String)> = keys
        .iter()
        .zip(text.split_whitespace())
        .map(|(key, value)| (key.to_string(), value.to_string()))
        .collect();
    if found.len() == 2 {
        // Then the threshold is the rate, and the time one second.
        let rate = found[0].1.clone();
        found.push(("burst-threshold".into(), rate));
    }
    if found.len() == 3 {
        found.push(("burst-time".into(), "1s".into()));
    }
    found
}

/// `set NAME key=value`, `set [find name=NAME] key=value`: of a known item or of a default type.
fn set(
    line: usize,
    menu: Menu,
    words: &[String],
    properties: Vec<(String, String)>,
    items: &mut Vec<Item>,
    reading: &mut Reading,
) -> bool {
    if menu == Menu::Other {
        return false;
    }
    let selected = words.first().filter(|w| property(w).is_none());
    let name = selected.map(|w| {
        let inner = w.trim_matches(['[', ']']).trim();
        let found = inner.split_whitespace().find_map(|w| w.strip_prefix("name="));
        found.unwrap_or(inner).trim_matches('"').to_string()
    });
    let known =
        |name: &str, items: &[Item]| items.iter().position(|i| i.menu == menu && i.get("name") == Some(name));
    match name {
        Some(name) if known(&name, items).is_some() => {
            if let Some(at) = known(&name, items) {
                items[at].properties.extend(properties);
            }
        }
        Some(name)
            if menu == Menu::Type && !name.contains("find") && !name.bytes().all(|b| b.is_ascii_digit()) =>
        {
            let mut own = vec![("name".to_string(), name)];
            own.extend(properties);
            items.push(Item { line, menu, properties: own });
        }
        _ => reading.unknown(line, words.join(" "), "it sets an object that the text does not contain"),
    }
    true
}

/// Output of `print`: an item starts with its number; its properties may take several lines.
fn shown(
    line: usize,
    mut words: Vec<String>,
    place: &mut Place,
    items: &mut Vec<Item>,
    reading: &mut Reading,
) -> bool {
    let numbered = words.first().is_some_and(|w| w.len() < 8 && w.bytes().all(|b| b.is_ascii_digit()));
    let mut disabled = false;
    if numbered {
        words.remove(0);
        while words
            .first()
            .is_some_and(|w| w.len() <= 4 && w.bytes().all(|b| b.is_ascii_uppercase() || b == b'*'))
        {
            disabled |= words.remove(0).contains('X');
        }
    }
    if words.first().is_some_and(|w| w.starts_with(";;;")) {
        words.clear();
    }
    let mut properties: Vec<(String, String)> = words.iter().filter_map(|w| property(w)).collect();
    if disabled {
        properties.push(("disabled".into(), "yes".into()));
    }
    if numbered {
        let has = |key: &str| properties.iter().any(|(k, _)| k == key);
        let menu = match menu_of(&place.path) {
            Menu::Other if has("kind") => Menu::Type,
            Menu::Other if has("packet-mark") => Menu::Tree,
            Menu::Other if has("target") || has("max-limit") => Menu::Simple,
            menu => menu,
        };
        items.push(Item { line, menu, properties });
        place.printing = true;
        return menu != Menu::Other || place.path.first().is_some_and(|p| p == "queue");
    }
    match items.last_mut().filter(|_| place.printing && !properties.is_empty()) {
        Some(item) => {
            item.properties.extend(properties);
            if item.menu == Menu::Other && item.get("max-limit").is_some() {
                item.menu = Menu::Simple;
            }
            item.menu != Menu::Other
        }
        None => {
            let limits = properties.iter().any(|(k, _)| k == "max-limit" || k == "rate-limit");
            if limits {
                reading.unknown(
                    line,
                    words.join(" "),
                    "it is not in a menu: expected `/queue simple` and `add` before it",
                );
            }
            limits
        }
    }
}
