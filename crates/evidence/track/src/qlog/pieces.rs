//! Splits a file's text into the head of each trace and its events, each with its line.
//!
//! A qlog that is one JSON object (`application/qlog+json`) is split before it is parsed. This way an event's
//! line is known, a file that ends in the middle of its events is read up to there, and a large one never
//! becomes a tree in memory.

use super::error::QlogError;
use serde_json::Value;

/// RFC 7464: the first byte of a record.
const RECORD: char = '\u{1e}';

/// A value's text, and the line where it begins, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub text: &'a str,
    pub line: usize,
}

impl Piece<'_> {
    /// Parses the value. An error names the line in the file.
    pub fn value(&self) -> Result<Value, QlogError> {
        serde_json::from_str(self.text).map_err(|e| QlogError::Json {
            line: self.line + e.line().saturating_sub(1),
            what: without_position(&e.to_string()),
        })
    }
}

/// Removes the parser's own "at line 1 column 7", which counts from the beginning of the piece.
fn without_position(message: &str) -> String {
    message.split(" at line ").next().unwrap_or(message).into()
}

/// A trace in one JSON object: its head without events, and its events.
#[derive(Debug)]
pub(super) struct ContainedTrace<'a> {
    pub head: Value,
    pub events: Vec<Piece<'a>>,
    pub cut_at_line: Option<usize>,
}

/// Splits a file of one JSON object; `None` if it is not one object with `traces`.
pub(super) fn contained(text: &str) -> Result<Option<Vec<ContainedTrace<'_>>>, QlogError> {
    let mut scan = JsonScanner::new(text);
    scan.run();
    if scan.lists.is_empty() && !scan.has_traces {
        return Ok(None);
    }
    let cut_at_line = scan.close();
    let head = Piece { text: &scan.head, line: 1 }.value()?;
    let Some(traces) = head["traces"].as_array() else { return Ok(None) };
    let mut lists = scan.lists.into_iter();
    let mut out: Vec<ContainedTrace<'_>> = Vec::new();
    for trace in traces {
        // Each list of events left an empty one in the head.
        let events = if trace["events"].is_array() { lists.next().unwrap_or_default() } else { Vec::new() };
        out.push(ContainedTrace { head: trace.clone(), events, cut_at_line: None });
    }
    if let Some(last) = out.last_mut() {
        last.cut_at_line = cut_at_line;
    }
    Ok(Some(out))
}

/// Splits a JSON text sequence into its records, or a file of one object a line into its lines.
pub(super) fn records(text: &str) -> Vec<Piece<'_>> {
    let separated = text.trim_start().starts_with(RECORD);
    let mut out = Vec::new();
    let mut line = 1;
    for part in text.split(|c| if separated { c == RECORD } else { c == '\n' }) {
        let blank = part.len() - part.trim_start().len();
        let begin = line + part[..blank].matches('\n').count();
        let trimmed = part.trim_matches(|c: char| c == RECORD || c.is_whitespace());
        if !trimmed.is_empty() {
            out.push(Piece { text: trimmed, line: begin });
        }
        line += part.matches('\n').count() + usize::from(!separated);
    }
    out
}

/// Scans JSON text for brackets, strings and keys only.
struct JsonScanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// Open brackets, and for an object the key that is being read.
    open: Vec<(u8, &'a str)>,
    /// All text except events. Line breaks are kept so that lines stay right.
    head: String,
    lists: Vec<Vec<Piece<'a>>>,
    /// Length of `head` at the end of the last list of events.
    after_list: usize,
    has_traces: bool,
}

impl<'a> JsonScanner<'a> {
    fn new(text: &'a str) -> JsonScanner<'a> {
        JsonScanner {
            text,
            at: 0,
            line: 1,
            open: Vec::new(),
            head: String::new(),
            lists: Vec::new(),
            after_list: 0,
            has_traces: false,
        }
    }

    /// Returns whether the position is inside a trace's list of events: `{"traces":[{"events":[`.
    fn in_events(&self) -> bool {
        self.open.len() >= 4
            && self.open[0].1 == "traces"
            && self.open[2].1 == "events"
            && [self.open[1].0, self.open[3].0] == [b'[', b'[']
    }

    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut event: Option<(usize, usize)> = None;
        let mut copied = 0;
        while self.at < bytes.len() {
            let listed = self.in_events() && self.open.len() == 4;
            let byte = bytes[self.at];
            if listed && event.is_none() && !byte.is_ascii_whitespace() && byte != b',' && byte != b']' {
                event = Some((self.at, self.line));
            }
            match byte {
                b'"' => {
                    let begin = self.at;
                    if !self.string() {
                        break;
                    }
                    // A string before a colon is a key.
                    let rest = self.text[self.at..].trim_start();
                    if rest.starts_with(':')
                        && let Some(top) = self.open.last_mut()
                    {
                        top.1 = &self.text[begin + 1..self.at - 1];
                    }
                    continue;
                }
                b'{' | b'[' => {
                    self.open.push((byte, ""));
                    self.has_traces |= self.open.len() == 2 && self.open[0].1 == "traces";
                    if self.in_events() && self.open.len() == 4 {
                        self.head.push_str(&self.text[copied..=self.at]);
                        copied = self.at + 1;
                        self.lists.push(Vec::new());
                    }
                }
                b'}' | b']' => {
                    if listed {
                        // Only the line breaks of the list are kept.
                        self.end_event(&mut event, self.at);
                        let breaks = self.text[copied..self.at].matches('\n').count();
                        self.head.extend(std::iter::repeat_n('\n', breaks));
                        copied = self.at;
                        self.after_list = self.head.len();
                    }
                    self.open.pop();
                    if self.open.is_empty() {
                        self.at += 1;
                        break;
                    }
                }
                b',' if listed => self.end_event(&mut event, self.at),
                b'\n' => self.line += 1,
                _ => {}
            }
            self.at += 1;
        }
        // The text after the object, and all text outside the lists of events, belongs to the head.
        if !self.in_events() {
            self.head.push_str(&self.text[copied..]);
        }
    }

    fn end_event(&mut self, event: &mut Option<(usize, usize)>, end: usize) {
        if let (Some((from, line)), Some(list)) = (event.take(), self.lists.last_mut()) {
            list.push(Piece { text: self.text[from..end].trim_end(), line });
        }
    }

    /// Skips a string. Returns `false` if the text ends inside it.
    fn string(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        self.at += 1;
        while self.at < bytes.len() {
            match bytes[self.at] {
                b'\\' => self.at += 1,
                b'"' => {
                    self.at += 1;
                    return true;
                }
                b'\n' => self.line += 1,
                _ => {}
            }
            self.at += 1;
        }
        self.at = bytes.len();
        false
    }

    /// Closes what a text that ends among its events, or after them, left open. Returns the line where it
    /// ends.
    fn close(&mut self) -> Option<usize> {
        if self.open.is_empty() || self.lists.is_empty() {
            return None;
        }
        if !self.in_events() {
            self.head.truncate(self.after_list);
        }
        self.head.push_str("]}]}");
        Some(self.text.lines().count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_split_with_their_lines_wherever_the_file_ends() {
        let text = "{\"qlog_version\":\"0.3\",\n \"traces\":[{\"a\":\"}]\\\"\",\"events\":[\n{\"time\":1,\"data\":{\"events\":[1,2]}},\n[2,\"x\"] ,\n{\"time\":3}],\n\"vantage_point\":{\"type\":\"server\"}},{\"events\":[]}]}";
        let traces = contained(text).unwrap().unwrap();
        let lines: Vec<usize> = traces[0].events.iter().map(|e| e.line).collect();
        assert_eq!((traces.len(), lines, traces[0].cut_at_line), (2, vec![3, 4, 5], None));
        assert_eq!(traces[0].head["vantage_point"]["type"], "server");
        assert_eq!(traces[0].events[0].text, "{\"time\":1,\"data\":{\"events\":[1,2]}}");
        // Cut at each byte of the events: complete events are returned, and the head is what came before.
        let first = text.find("{\"time\":1").unwrap();
        let end = text.find("],\n\"vantage").unwrap();
        for cut in first..=end {
            let traces = contained(&text[..cut]).unwrap().unwrap();
            let whole = traces[0].events.len();
            assert!(whole <= 2 && traces[0].cut_at_line.is_some(), "{cut}");
            assert!(traces[0].events.iter().all(|e| e.value().is_ok()), "{cut}");
        }
        // A file cut in its head cannot be read.
        assert!(matches!(contained(&text[..20]), Ok(None)));
        assert!(matches!(contained(&text[..36]), Err(QlogError::Json { line: 2, .. })));
        assert!(contained("{}").unwrap().is_none());
    }

    #[test]
    fn records_are_lines_or_are_separated() {
        let lines = |text| records(text).iter().map(|r| r.line).collect::<Vec<_>>();
        assert_eq!(lines("{\"a\":1}\n\n{\"b\":2}\n"), [1, 3]);
        assert_eq!(lines("\u{1e}{\"a\":\n1}\n\u{1e}\n{\"b\":2}\n"), [1, 4]);
        let bad = Piece { text: "{\"a\":1,\n\"b\" 2}", line: 7 };
        let Err(QlogError::Json { line, what }) = bad.value() else { panic!() };
        assert_eq!((line, what.as_str()), (8, "expected `:`"));
    }
}
