//! Flows whose traffic comes from a program: the command line as the file has it.
//!
//! A command is split into words as a POSIX shell splits it, quotes and backslashes included, and
//! nothing is expanded. No shell sees it: placeholders are replaced within words, after they were
//! split, so that no value can become two words or a command of its own. `sh -c '…'` is there for
//! who wants a shell.

use document::RefusalCause;
use std::net::IpAddr;
use transport::{App, Arrival};

/// The program that makes a flow's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// iperf3, its server and its client, with the options that the flow asks for.
    Iperf3,
    /// Any command. Words may have placeholders, see [`fill`].
    Command {
        /// What runs on the flow's `from`; at least one word.
        run: Vec<String>,
        /// What runs on the flow's `to` from before the flow begins; at least one word.
        server: Option<Vec<String>>,
    },
}

/// What placeholders stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Address of the host the flow comes from.
    pub from: IpAddr,
    /// Address of the host the flow goes to.
    pub to: IpAddr,
    /// The flow's own TCP port.
    pub port: u16,
    /// Congestion control.
    pub cc: String,
    /// Whole seconds left in the run when the flow begins, at least 1.
    pub duration: u64,
    /// How many connections.
    pub count: u32,
}

/// Every placeholder.
const PLACEHOLDERS: &[&str] = &["from", "to", "port", "cc", "duration", "count"];
/// iperf3 opens at most this many connections (`MAX_STREAMS`).
pub(crate) const MOST_STREAMS: u32 = 128;
/// IP and UDP headers.
const UDP_HEADERS: u32 = 28;
/// iperf3's own header in each datagram (`MIN_UDP_BLOCKSIZE`).
const LEAST_DATAGRAM: u32 = 16;

impl Tool {
    /// Whether a flow's `tool` is one whose command lines are longfat's own.
    pub(crate) fn is_own(tool: &str) -> bool {
        tool.trim() == "iperf3"
    }

    /// Whether a command line has this placeholder.
    pub fn uses(&self, placeholder: &str) -> bool {
        let Tool::Command { run, server } = self else { return true };
        let wanted = |part| part == Part::Value(placeholder);
        run.iter().chain(server.iter().flatten()).any(|w| parts(w).flatten().any(wanted))
    }

    /// Reads the keys `tool` and `server`; on failure which of the two is wrong.
    pub(crate) fn read(tool: &str, server: Option<&str>) -> Result<Tool, (&'static str, RefusalCause)> {
        if !Tool::is_own(tool) {
            let run = words(tool).map_err(|cause| ("tool", cause))?;
            let server = server.map(words).transpose().map_err(|cause| ("server", cause))?;
            return Ok(Tool::Command { run, server });
        }
        if server.is_some() {
            let message = "iperf3 brings its own server; leave `server` out".into();
            return Err(("server", RefusalCause::Conflict { message }));
        }
        Ok(Tool::Iperf3)
    }

    /// What of an application the program could not do, and the key that says so.
    pub(crate) fn check(&self, app: &App) -> Result<(), (&'static str, String)> {
        let wrong = |key, message: &str| Err((key, message.to_string()));
        match (self, app) {
            (Tool::Command { .. }, App::Udp { .. }) if !self.uses("port") => {
                wrong("kind", "datagrams of a command are known by their port: it has to use {port}")
            }
            (Tool::Command { .. }, App::Udp { .. }) => Ok(()),
            (Tool::Command { .. }, app) if app.is_datagrams() => {
                wrong("kind", "no program plays `voice` and `probe`; leave `tool` out")
            }
            (Tool::Command { .. }, _) => Ok(()),
            (Tool::Iperf3, App::Bulk { duration: Some(_), bytes: Some(_) }) => {
                wrong("bytes", "iperf3 ends after a time or a number of bytes, not whichever is first")
            }
            (Tool::Iperf3, App::Bulk { .. }) => Ok(()),
            (Tool::Iperf3, App::Udp { arrival: Arrival::Poisson, .. }) => {
                wrong("arrival", "iperf3 sends datagrams evenly; leave `arrival` out")
            }
            (Tool::Iperf3, App::Udp { size: Some(size), .. }) if *size < UDP_HEADERS + LEAST_DATAGRAM => {
                wrong("size", "iperf3 sends no datagrams below 44 bytes of IP packet")
            }
            (Tool::Iperf3, App::Udp { .. }) => Ok(()),
            (Tool::Iperf3, _) => wrong("kind", "iperf3 sends `bulk` or `udp`, nothing else"),
        }
    }
}

/// A command's words with every placeholder replaced; `{{` and `}}` are braces.
pub fn fill(words: &[String], values: &Values) -> Vec<String> {
    let value = |name: &str| match name {
        "from" => values.from.to_string(),
        "to" => values.to.to_string(),
        "port" => values.port.to_string(),
        "cc" => values.cc.clone(),
        "duration" => values.duration.to_string(),
        _ => values.count.to_string(),
    };
    let text = |part| match part {
        Part::Text(text) => text.to_string(),
        Part::Value(name) => value(name),
    };
    words.iter().map(|word| parts(word).flatten().map(text).collect()).collect()
}

/// Splits a command into words, and checks their placeholders.
fn words(command: &str) -> Result<Vec<String>, RefusalCause> {
    let bad = |message: String| RefusalCause::BadValue { message };
    let words = shlex::split(command)
        .ok_or_else(|| bad("a quote is opened and not closed, or a backslash stands last".into()))?;
    if words.first().is_none_or(String::is_empty) {
        return Err(bad("the command is empty (for example \"iperf3\")".into()));
    }
    if command.contains('\0') {
        return Err(bad("a command has no NUL characters".into()));
    }
    for part in words.iter().flat_map(|w| parts(w)) {
        if let Part::Value(name) = part.map_err(bad)?
            && !PLACEHOLDERS.contains(&name)
        {
            let known = PLACEHOLDERS.iter().map(|p| p.to_string()).collect();
            return Err(RefusalCause::UnknownWord { what: "placeholder", word: name.into(), known });
        }
    }
    Ok(words)
}

/// A piece of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part<'a> {
    Text(&'a str),
    Value(&'a str),
}

/// A word's pieces in order; what a lone brace is, is an error.
fn parts(word: &str) -> impl Iterator<Item = Result<Part<'_>, String>> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let at = match rest.find(['{', '}']) {
            _ if rest.is_empty() => return None,
            None => rest.len(),
            Some(0) => {
                let brace = &rest[..1];
                if rest[1..].starts_with(brace) {
                    rest = &rest[2..];
                    return Some(Ok(Part::Text(brace)));
                }
                let Some((name, after)) = rest[1..].split_once('}').filter(|_| brace == "{") else {
                    let message = format!("a lone `{brace}` (a brace itself is written `{brace}{brace}`)");
                    rest = "";
                    return Some(Err(message));
                };
                rest = after;
                return Some(Ok(Part::Value(name)));
            }
            Some(at) => at,
        };
        let (text, after) = rest.split_at(at);
        rest = after;
        Some(Ok(Part::Text(text)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(command: &str) -> Vec<String> {
        let to = IpAddr::from([10, 0, 0, 2]);
        let from = IpAddr::from([10, 0, 0, 1]);
        let values = Values { from, to, port: 5201, cc: "bbr".into(), duration: 9, count: 4 };
        fill(&words(command).unwrap(), &values)
    }

    #[test]
    fn words_are_split_before_they_are_filled() {
        assert_eq!(
            filled("curl -o /dev/null 'http://{to}:{port}/a b'"),
            ["curl", "-o", "/dev/null", "http://10.0.0.2:5201/a b"]
        );
        assert_eq!(filled(r#"x "{from}" {cc}{count} {duration}s"#), ["x", "10.0.0.1", "bbr4", "9s"]);
        assert_eq!(filled("awk '{{print $1}}' ''"), ["awk", "{print $1}", ""]);
        // Nothing is expanded.
        assert_eq!(filled("echo $HOME * ~ `id`"), ["echo", "$HOME", "*", "~", "`id`"]);
    }

    #[test]
    fn a_tool_knows_which_placeholders_it_has() {
        let tool = Tool::read("curl {to}", Some("serve '{port}'")).unwrap();
        assert!(tool.uses("to") && tool.uses("port") && !tool.uses("cc"));
        let tool = Tool::read("curl {{port}}", None).unwrap();
        assert!(!tool.uses("port"));
    }
}
