//! The part of a shell that scripts of `tc` commands need: words, quotes, variables, arithmetic.
//!
//! Nothing is executed. An unknown variable stays as written, `$RATE`, and a command that needs its value is
//! not understood.

use std::collections::HashMap;

/// A command: the words between separators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    pub line: usize,
    pub words: Vec<String>,
}

/// Maximum length of a variable's value, and maximum words of a command; a script could double them with
/// every line.
const MAX_LENGTH: usize = 4096;

/// Variables with their values.
#[derive(Default)]
pub(crate) struct Shell {
    values: HashMap<String, String>,
    /// Names that the script cannot change.
    fixed: Vec<String>,
}

/// Joins lines that end with a backslash: the number of the first line, and the text.
pub(crate) fn joined(text: &str) -> Vec<(usize, String)> {
    joined_by(text, |whole, rest| {
        whole.push(' ');
        whole.push_str(rest);
    })
}

/// Joins lines that end with a backslash by `join`: the number of the first line, and the text.
pub(crate) fn joined_by(text: &str, join: impl Fn(&mut String, &str)) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_end();
        let (body, continues) = match line.strip_suffix('\\') {
            Some(body) => (body, true),
            None => (line, false),
        };
        match all.last_mut().filter(|_| open) {
            Some((_, whole)) => join(whole, body),
            None => all.push((i + 1, body.into())),
        }
        open = continues;
    }
    all
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

/// The name and the value of an assignment.
fn assignment(word: &str) -> Option<(&str, &str)> {
    word.split_once('=').filter(|(name, _)| is_name(name))
}

impl Shell {
    /// A shell with variables that have fixed values.
    pub fn with(values: &[(String, String)]) -> Shell {
        let fixed = values.iter().map(|(name, _)| name.clone()).collect();
        Shell { values: values.iter().cloned().collect(), fixed }
    }

    /// The commands of a joined line; assignments take effect. The second value is whether the line has only
    /// assignments.
    pub fn statements(&mut self, line: usize, text: &str) -> (Vec<Statement>, bool) {
        let mut statements = Vec::new();
        let mut assigned = false;
        for raw in split_commands(text) {
            let mut words = self.words(&raw);
            if matches!(words.first().map(String::as_str), Some("export" | "local" | "readonly" | "declare"))
            {
                words.remove(0);
            }
            if !words.is_empty() && words.iter().all(|w| assignment(w).is_some()) {
                // A variable with an unknown value keeps its name, which is more informative.
                let known = |value: &str| !value.contains(['$', '`']);
                let given = words.iter().filter_map(|w| assignment(w));
                let given =
                    given.filter(|(name, value)| known(value) && !self.fixed.iter().any(|f| f == name));
                let given: Vec<_> =
                    given.map(|(name, value)| (name.to_string(), value.to_string())).collect();
                for (name, value) in given {
                    self.values.insert(name, value.chars().take(MAX_LENGTH).collect());
                }
                assigned = true;
            } else if !words.is_empty() {
                statements.push(Statement { line, words });
            }
        }
        let only = assigned && statements.is_empty();
        (statements, only)
    }

    /// The words of a command with variables replaced.
    fn words(&self, raw: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        let chars: Vec<char> = raw.chars().collect();
        let mut i = 0;
        while i < chars.len() && words.len() < MAX_LENGTH {
            let c = chars[i];
            i += 1;
            match (quote, c) {
                (Some(q), c) if c == q => quote = None,
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, '\\') | (Some('"'), '\\') if i < chars.len() => {
                    word.get_or_insert_default().push(chars[i]);
                    i += 1;
                }
                (None | Some('"'), '`') => {
                    let (value, used) = self.backticks(&chars[i..]);
                    i += used;
                    word.get_or_insert_default().push_str(&value);
                }
                (None | Some('"'), '$') => {
                    let (value, used) = self.value(&chars[i..]);
                    let alone = word.is_none() && chars.get(i + used).is_none_or(|c| c.is_whitespace());
                    let name: String = chars[i - 1..i + used].iter().collect();
                    i += used;
                    if value.is_empty() && alone && quote.is_none() {
                        continue;
                    }
                    // An empty value within a word is set elsewhere, so the name is more informative.
                    let value = if value.is_empty() { name } else { value };
                    if quote.is_some() || !value.contains(char::is_whitespace) {
                        let word = word.get_or_insert_default();
                        if word.len() < MAX_LENGTH {
                            word.push_str(&value);
                        }
                        continue;
                    }
                    for piece in value.split_whitespace() {
                        words.extend(word.take());
                        word = Some(piece.into());
                    }
                }
                (None, c) if c.is_whitespace() => words.extend(word.take()),
                (_, c) => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        words
    }

    /// A command between backticks, and how many characters behind the first they take: `expr` is worked out.
    fn backticks(&self, rest: &[char]) -> (String, usize) {
        let end = rest.iter().position(|c| *c == '`').unwrap_or(rest.len());
        let inside: String = rest[..end].iter().filter(|c| **c != '\\').collect();
        let used = (end + 1).min(rest.len());
        let sum = inside.trim().strip_prefix("expr ").and_then(|sum| self.sum(sum));
        (sum.map_or_else(|| format!("`{inside}`"), |n| n.to_string()), used)
    }

    /// The value of a `$` reference and the length of its name.
    fn value(&self, rest: &[char]) -> (String, usize) {
        let text = |range: std::ops::Range<usize>| rest[range].iter().collect::<String>();
        let raw = |n: usize| (format!("${}", text(0..n)), n);
        let closing = |open: usize, end: &[char]| {
            let close = rest[open..].windows(end.len()).position(|w| w == end).map(|at| open + at)?;
            Some((text(open..close), close + end.len()))
        };
        match rest {
            ['(', '(', ..] => match closing(2, &[')', ')']) {
                Some((sum, used)) => self.sum(&sum).map_or_else(|| raw(used), |n| (n.to_string(), used)),
                None => raw(rest.len()),
            },
            ['[', ..] => match closing(1, &[']']) {
                Some((sum, used)) => self.sum(&sum).map_or_else(|| raw(used), |n| (n.to_string(), used)),
                None => raw(rest.len()),
            },
            ['(', ..] => match closing(1, &[')']) {
                Some((inside, used)) => {
                    let inside = inside.replace('\\', "");
                    let sum = inside.trim().strip_prefix("expr ").and_then(|sum| self.sum(sum));
                    sum.map_or_else(|| raw(used), |n| (n.to_string(), used))
                }
                None => raw(rest.len()),
            },
            ['{', ..] => {
                let Some((inside, used)) = closing(1, &['}']) else { return raw(rest.len()) };
                let (name, default) = match inside.split_once(":-").or_else(|| inside.split_once('-')) {
                    Some((name, default)) => (name.to_string(), Some(default.to_string())),
                    None => (inside, None),
                };
                let known = self.values.get(&name).cloned();
                known.or(default).map_or_else(|| raw(used), |value| (value, used))
            }
            _ => {
                let n = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count();
                let n = if rest.first().is_some_and(char::is_ascii_digit) { 1 } else { n };
                match self.values.get(&text(0..n)) {
                    Some(value) => (value.clone(), n),
                    None => raw(n),
                }
            }
        }
    }

    /// Whole-number arithmetic; `None` where a value is not known.
    fn sum(&self, text: &str) -> Option<i64> {
        let chars: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).take(MAX_LENGTH).collect();
        let mut at = 0;
        let value = self.terms(&chars, &mut at, 0)?;
        (at == chars.len()).then_some(value)
    }

    fn terms(&self, chars: &[char], at: &mut usize, depth: usize) -> Option<i64> {
        let mut value = self.factors(chars, at, depth)?;
        while let Some(op @ ('+' | '-')) = chars.get(*at).copied() {
            *at += 1;
            let next = self.factors(chars, at, depth)?;
            value = if op == '+' { value.checked_add(next)? } else { value.checked_sub(next)? };
        }
        Some(value)
    }

    fn factors(&self, chars: &[char], at: &mut usize, depth: usize) -> Option<i64> {
        let mut value = self.factor(chars, at, depth)?;
        while let Some(op @ ('*' | '/' | '%')) = chars.get(*at).copied() {
            *at += 1;
            let next = self.factor(chars, at, depth)?;
            value = match op {
                '*' => value.checked_mul(next)?,
                '/' => value.checked_div(next)?,
                _ => value.checked_rem(next)?,
            };
        }
        Some(value)
    }

    fn factor(&self, chars: &[char], at: &mut usize, depth: usize) -> Option<i64> {
        if depth > 32 {
            return None;
        }
        if chars.get(*at) == Some(&'(') {
            *at += 1;
            let value = self.terms(chars, at, depth + 1)?;
            (chars.get(*at) == Some(&')')).then(|| *at += 1)?;
            return Some(value);
        }
        let braced = chars[*at..].starts_with(&['$', '{']);
        *at += if braced { 2 } else { usize::from(chars.get(*at) == Some(&'$')) };
        let start = *at;
        while chars.get(*at).is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_') {
            *at += 1;
        }
        let word: String = chars[start..*at].iter().collect();
        if braced {
            (chars.get(*at) == Some(&'}')).then(|| *at += 1)?;
        }
        word.parse().ok().or_else(|| self.values.get(&word)?.trim().parse().ok())
    }
}

/// Commands between `;`, `&`, `|` and line ends, comments left out; quotes and `$(…)` are kept whole.
fn split_commands(text: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quote = None;
    let mut nested = 0usize;
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '#') if before.is_whitespace() && nested == 0 => break,
            (None, '(' | '{' | '[') if before == '$' || nested > 0 => nested += 1,
            (None, ')' | '}' | ']') if nested > 0 => nested -= 1,
            (None, ';' | '&' | '|' | '(' | ')') if nested == 0 && before != '>' && before != '\\' => {
                all.push(String::new());
                before = ' ';
                continue;
            }
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(c);
        }
        before = c;
        if c == '\\'
            && quote.is_none()
            && let Some(next) = chars.next()
        {
            if let Some(last) = all.last_mut() {
                last.push(next);
            }
            before = 'x';
        }
    }
    all.retain(|command| !command.trim().is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(script: &str) -> Vec<Vec<String>> {
        let mut shell = Shell::default();
        let lines = joined(script);
        lines.iter().flat_map(|(n, l)| shell.statements(*n, l).0).map(|s| s.words).collect()
    }

    #[test]
    fn variables_quotes_and_sums_are_read() {
        let script = "TC=\"sudo tc\"; DEV=eth0 # the WAN\nexport UP=2000\n$TC qdisc add dev ${DEV} \\\n root handle 1: htb\n\
                      tc class add dev \"$DEV\" rate $((UP*9/10))kbit ceil $[$UP+1]kbit burst ${B:-15k} && echo ok\n";
        let said: Vec<String> = words(script).iter().map(|w| w.join(" ")).collect();
        assert_eq!(
            said,
            [
                "sudo tc qdisc add dev eth0 root handle 1: htb",
                "tc class add dev eth0 rate 1800kbit ceil 2001kbit burst 15k",
                "echo ok"
            ]
        );
    }

    #[test]
    fn unknown_expressions_stay_as_written() {
        let said = words("tc qdisc add dev $1 rate ${RATE} burst $((X*2)) limit $(cat x)");
        assert_eq!(said[0].join(" "), "tc qdisc add dev $1 rate ${RATE} burst $((X*2)) limit $(cat x)");
    }

    #[test]
    fn expr_is_evaluated_and_empty_values_yield_no_words() {
        let said = words(
            "C=90\nR=`expr $C / 3`\nS=$(expr $C \\* 2)\nOPT=\ntc class add rate ${R}kbit ceil ${S}kbit $OPT burst ${OPT}k\n",
        );
        assert_eq!(said[0].join(" "), "tc class add rate 30kbit ceil 180kbit burst ${OPT}k");
    }

    #[test]
    fn values_do_not_grow_without_limit() {
        let mut script = "A=aaaaaaaaaa\n".to_string();
        for _ in 0..60 {
            script += "A=\"$A$A\"\n";
        }
        script += "echo $A\n";
        assert!(words(&script)[0][1].len() <= 2 * MAX_LENGTH);
    }
}
