//! Reads both syntaxes of Junos as statements of words: `firewall policer p if-exceeding bandwidth-limit
//! 10m`.

use crate::Reading;

/// A statement with the words of all its levels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub line: usize,
    pub words: Vec<String>,
}

/// Maximum statements of a text, and levels of braces.
const MAX_STATEMENTS: usize = 100_000;
const MAX_DEPTH: usize = 40;

#[derive(Default)]
struct StatementReader {
    statements: Vec<Statement>,
    /// Words of the open blocks, and whether each is deactivated.
    open: Vec<(Vec<String>, bool)>,
    /// Words since the last `;`, `{` or `}`, and the line of the first one.
    pending: Vec<String>,
    line: usize,
    /// The items of an open list `[ … ]`.
    list: Option<Vec<String>>,
    /// The level named by a prompt or a line `[edit …]`.
    base: Vec<String>,
}

/// Reads the whole text.
pub(crate) fn read(text: &str, reading: &mut Reading) -> Vec<Statement> {
    let mut reader = StatementReader::default();
    let mut in_comment = false;
    for (i, raw) in text.lines().enumerate() {
        let line = without_comments(raw, &mut in_comment);
        let said = line.trim();
        if said.is_empty() {
            continue;
        }
        if !said.trim_matches(['}', ';']).is_empty() {
            reading.lines.insert(i + 1);
        }
        let words: Vec<&str> = said.split_whitespace().collect();
        match words[0] {
            "set" | "deactivate" | "delete" | "activate" => reader.set(i + 1, &words, reading),
            "edit" if words.len() > 1 => reader.base = words[1..].iter().map(|w| w.to_string()).collect(),
            "top" => reader.base.clear(),
            "[edit]" => reader.base.clear(),
            "[edit" if said.ends_with(']') => {
                let inner = words[1..].iter().map(|w| w.trim_end_matches(']').to_string());
                reader.base = inner.filter(|w| !w.is_empty()).collect();
            }
            // `user@router# show firewall`
            word if word.contains('@') && word.ends_with(['#', '>']) => {
                let shown =
                    words.iter().position(|w| *w == "show").map_or(&words[..0], |at| &words[at + 1..]);
                let shown = shown.iter().take_while(|w| **w != "|").filter(|w| **w != "configuration");
                reader.base = shown.map(|w| w.to_string()).collect();
            }
            _ => reader.curly(i + 1, said, reading),
        }
        if reader.statements.len() >= MAX_STATEMENTS {
            reading.unknown(i + 1, said.to_string(), format!("at most {MAX_STATEMENTS} statements are read"));
            break;
        }
    }
    if !reader.pending.is_empty() {
        let text = reader.pending.join(" ");
        reading.unknown(reader.line, text, "a statement without `;`");
    }
    reader.statements
}

/// Removes comments from a line: `/* … */`, which may span lines, and text after a `#` that begins a word.
fn without_comments(line: &str, in_comment: &mut bool) -> String {
    let mut out = String::new();
    let mut rest = line;
    loop {
        if *in_comment {
            let Some(end) = rest.find("*/") else { return out };
            rest = &rest[end + 2..];
            *in_comment = false;
        }
        match rest.find("/*") {
            Some(start) => {
                out.push_str(&rest[..start]);
                rest = &rest[start + 2..];
                *in_comment = true;
            }
            None => {
                out.push_str(rest);
                break;
            }
        }
    }
    let hash =
        out.char_indices().find(|(i, c)| *c == '#' && (*i == 0 || out[..*i].ends_with(char::is_whitespace)));
    if let Some((at, _)) = hash {
        out.truncate(at);
    }
    out
}

impl StatementReader {
    fn emit(&mut self, line: usize, words: Vec<String>) {
        let all: Vec<String> = self.base.iter().cloned().chain(words).collect();
        let words = whole_path(all);
        self.statements.push(Statement { line, words });
    }

    /// Reads a command: `set firewall policer …`, `deactivate …`
    fn set(&mut self, line: usize, words: &[&str], reading: &mut Reading) {
        let path: Vec<String> = words[1..].iter().map(|w| w.trim_matches([';', '"']).to_string()).collect();
        match words[0] {
            "set" => {
                // `set … [ a b ]` is a statement for each item.
                let open = path.iter().position(|w| w == "[");
                match open {
                    Some(open) => {
                        let items: Vec<String> =
                            path[open + 1..].iter().filter(|w| *w != "]").cloned().collect();
                        for item in items {
                            let mut words = path[..open].to_vec();
                            words.push(item);
                            self.emit(line, words);
                        }
                    }
                    None => self.emit(line, path),
                }
            }
            "deactivate" | "delete" => {
                let path = whole_path(self.base.iter().cloned().chain(path).collect());
                let before = self.statements.len();
                self.statements.retain(|s| !s.words.starts_with(&path));
                if before > self.statements.len() {
                    reading.assume(format!("`{}` is {}d: left out", path.join(" "), words[0]));
                }
            }
            _ => reading.unknown(line, words.join(" "), "`activate` is not supported"),
        }
    }

    fn curly(&mut self, line: usize, said: &str, reading: &mut Reading) {
        let mut word = String::new();
        let mut quoted = false;
        for c in said.chars().chain([' ']) {
            match c {
                '"' => quoted = !quoted,
                '{' | '}' | ';' | '[' | ']' if !quoted => {
                    self.word(line, &mut word);
                    self.mark(line, c, reading);
                }
                c if c.is_whitespace() && !quoted => self.word(line, &mut word),
                c => word.push(c),
            }
        }
    }

    fn word(&mut self, line: usize, word: &mut String) {
        if word.is_empty() {
            return;
        }
        let word = std::mem::take(word);
        if let Some(list) = &mut self.list {
            list.push(word);
            return;
        }
        if self.pending.is_empty() {
            self.line = line;
        }
        if self.pending.len() < 100 {
            self.pending.push(word);
        }
    }

    fn mark(&mut self, line: usize, mark: char, reading: &mut Reading) {
        match mark {
            '[' => self.list = Some(Vec::new()),
            ']' => {}
            '{' | ';' => {
                let list = self.list.take().unwrap_or_default();
                let mut words = std::mem::take(&mut self.pending);
                let is_off = words.first().is_some_and(|w| w == "inactive:");
                if words.first().is_some_and(|w| matches!(w.as_str(), "inactive:" | "protect:" | "replace:"))
                {
                    words.remove(0);
                }
                let line = if words.is_empty() && list.is_empty() { line } else { self.line };
                let hidden = is_off || self.open.last().is_some_and(|(_, off)| *off);
                if is_off {
                    reading.unknown(line, words.join(" "), "inactive: left out");
                }
                let above: Vec<String> = self.open.iter().flat_map(|(words, _)| words).cloned().collect();
                if mark == '{' {
                    if self.open.len() < MAX_DEPTH {
                        self.open.push((words, hidden));
                    }
                } else if !hidden && (!words.is_empty() || !list.is_empty()) {
                    let path: Vec<String> = above.into_iter().chain(words).collect();
                    if list.is_empty() {
                        self.emit(line, path);
                    } else {
                        for item in list {
                            self.emit(line, path.iter().cloned().chain([item]).collect());
                        }
                    }
                }
            }
            _ => {
                if !self.pending.is_empty() {
                    let text = std::mem::take(&mut self.pending).join(" ");
                    reading.unknown(self.line, text, "a statement without `;`");
                }
                self.open.pop();
            }
        }
    }
}

/// Adds the missing levels above a fragment, and removes those of a logical system.
fn whole_path(mut words: Vec<String>) -> Vec<String> {
    while words.len() > 2
        && matches!(words[0].as_str(), "logical-systems" | "tenants" | "dynamic-profiles" | "configuration")
    {
        let levels = if words[0] == "configuration" { 1 } else { 2 };
        words.drain(..levels);
    }
    let Some(first) = words.first().map(String::as_str) else { return words };
    let is_filter = || {
        words.iter().take(4).any(|w| w == "filter") && first == "family" && words.iter().any(|w| w == "term")
    };
    let above: &[&str] = match first {
        "policer" | "three-color-policer" | "hierarchical-policer" | "filter" => &["firewall"],
        "family" if is_filter() => &["firewall"],
        "if-exceeding" => &["firewall", "policer", "policer"],
        "schedulers" | "scheduler-maps" | "traffic-control-profiles" | "forwarding-classes" => {
            &["class-of-service"]
        }
        "unit" => &["interfaces", "interface"],
        word if word.contains("-") && word.contains('/') => &["interfaces"],
        _ => &[],
    };
    above.iter().map(|w| w.to_string()).chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<(usize, String)> {
        let found = read(text, &mut Reading::default());
        found.into_iter().map(|s| (s.line, s.words.join(" "))).collect()
    }

    #[test]
    fn both_syntaxes_give_the_same_statements() {
        let curly = "firewall {\n /* limits\n  of users */\n policer p {\n  if-exceeding {\n   bandwidth-limit 10m; # note\n   \
                     burst-size-limit 15k;\n  }\n  then discard;\n }\n}\n";
        let set = "set firewall policer p if-exceeding bandwidth-limit 10m\nset firewall policer p if-exceeding burst-size-limit \
                   15k\nset firewall policer p then discard\n";
        let words = |text: &str| paths(text).into_iter().map(|(_, words)| words).collect::<Vec<_>>();
        assert_eq!(words(curly), words(set));
        assert_eq!(paths(curly)[0].0, 6);
    }

    #[test]
    fn fragments_lists_and_inactive_statements() {
        assert_eq!(
            paths("policer p {\n if-exceeding { bandwidth-limit 1m; }\n}\n")[0].1,
            "firewall policer p if-exceeding bandwidth-limit 1m"
        );
        assert_eq!(
            paths("user@r# show firewall\npolicer p { then discard; }\n")[0].1,
            "firewall policer p then discard"
        );
        assert_eq!(
            paths("[edit interfaces ge-0/0/1]\nunit 0 { family inet { filter { input-list [ A B ]; } } }\n"),
            [
                (2, "interfaces ge-0/0/1 unit 0 family inet filter input-list A".into()),
                (2, "interfaces ge-0/0/1 unit 0 family inet filter input-list B".into())
            ]
        );
        let mut reading = Reading::default();
        let found = read(
            "firewall { inactive: policer p { then discard; } policer q { then discard; } }\n",
            &mut reading,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(reading.not_understood.len(), 1);
        let text = "set firewall policer p then discard\ndeactivate firewall policer p\n";
        assert_eq!(paths(text), []);
    }
}
