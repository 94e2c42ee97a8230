//! Flows that a program generates: the command lines of `tool` and `server`.
//!
//! A command is split into words as a POSIX shell does, with quotes and backslashes but without any
//! expansion. No shell is involved. Placeholders are replaced within words after the split, so that a value
//! can become neither two words nor a command. Use `sh -c '…'` to run a shell.

use document::RefusalCause;
use std::net::IpAddr;
use transport::{App, Arrival};

/// The program that generates a flow's traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// iperf3 server and client, with the options that follow from the flow's keys.
    Iperf3,
    /// Any command. Words may contain placeholders, see [`fill`].
    Command {
        /// The command that runs on the flow's `from`; at least one word.
        run: Vec<String>,
        /// The command that runs on the flow's `to` and is started before the flow; at least one word.
        server: Option<Vec<String>>,
    },
}

/// The values of the placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values {
    /// Address of the flow's `from`.
    pub from: IpAddr,
    /// Address of the flow's `to`.
    pub to: IpAddr,
    /// The flow's TCP port.
    pub port: u16,
    /// Name of the congestion control.
    pub cc: String,
    /// Whole seconds from the start of the flow to the end of the run, at least 1.
    pub duration: u64,
    /// Number of connections.
    pub count: u32,
}

const PLACEHOLDERS: &[&str] = &["from", "to", "port", "cc", "duration", "count"];
/// Maximum number of connections of iperf3 (`MAX_STREAMS`).
pub(crate) const IPERF3_MAX_STREAMS: u32 = 128;
/// Length of the IPv4 and UDP headers, bytes.
const UDP_HEADERS: u32 = 28;
/// Length of iperf3's own header in each datagram (`MIN_UDP_BLOCKSIZE`), bytes.
const IPERF3_MIN_PAYLOAD: u32 = 16;

impl Tool {
    /// Whether `tool` names iperf3, for which longfat writes the command lines itself.
    pub(crate) fn is_iperf3(tool: &str) -> bool {
        tool.trim() == "iperf3"
    }

    /// Whether the command lines use a placeholder.
    pub fn uses(&self, placeholder: &str) -> bool {
        let Tool::Command { run, server } = self else { return true };
        let wanted = |part| part == Part::Value(placeholder);
        run.iter().chain(server.iter().flatten()).any(|w| parts(w).flatten().any(wanted))
    }

    /// Parses the keys `tool` and `server`. The error names the key that is wrong.
    pub(crate) fn read(tool: &str, server: Option<&str>) -> Result<Tool, (&'static str, RefusalCause)> {
        if !Tool::is_iperf3(tool) {
            let run = words(tool).map_err(|cause| ("tool", cause))?;
            let server = server.map(words).transpose().map_err(|cause| ("server", cause))?;
            return Ok(Tool::Command { run, server });
        }
        if server.is_some() {
            let message = "iperf3 has its own server; leave `server` out".into();
            return Err(("server", RefusalCause::Conflict { message }));
        }
        Ok(Tool::Iperf3)
    }

    /// Checks that the program can generate an application's traffic. The error names the key that is wrong.
    pub(crate) fn check(&self, app: &App) -> Result<(), (&'static str, String)> {
        let wrong = |key, message: &str| Err((key, message.to_string()));
        match (self, app) {
            (Tool::Command { .. }, App::Udp { .. }) if !self.uses("port") => wrong(
                "kind",
                "longfat recognises a command's datagrams by their port: the command must use {port}",
            ),
            (Tool::Command { .. }, App::Udp { .. }) => Ok(()),
            (Tool::Command { .. }, app) if app.is_datagrams() => {
                wrong("kind", "a program cannot generate `voice` or `probe`; leave `tool` out")
            }
            (Tool::Command { .. }, _) => Ok(()),
            (Tool::Iperf3, App::Bulk { duration: Some(_), bytes: Some(_) }) => wrong(
                "bytes",
                "iperf3 ends after a time or a number of bytes; leave out `duration` or `bytes`",
            ),
            (Tool::Iperf3, App::Bulk { .. }) => Ok(()),
            (Tool::Iperf3, App::Udp { arrival: Arrival::Poisson, .. }) => {
                wrong("arrival", "iperf3 sends datagrams evenly; leave `arrival` out")
            }
            (Tool::Iperf3, App::Udp { size: Some(size), .. }) if *size < UDP_HEADERS + IPERF3_MIN_PAYLOAD => {
                wrong("size", "iperf3 sends no datagrams below 44 bytes of IP packet")
            }
            (Tool::Iperf3, App::Udp { .. }) => Ok(()),
            (Tool::Iperf3, _) => wrong("kind", "iperf3 supports only `bulk` and `udp`"),
        }
    }
}

/// A command's words with all placeholders replaced; `{{` and `}}` stand for braces.
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

/// Splits a command into words and checks their placeholders.
fn words(command: &str) -> Result<Vec<String>, RefusalCause> {
    let bad = |message: String| RefusalCause::BadValue { message };
    let words =
        shlex::split(command).ok_or_else(|| bad("unclosed quote, or a backslash at the end".into()))?;
    if words.first().is_none_or(String::is_empty) {
        return Err(bad("the command is empty (for example \"iperf3\")".into()));
    }
    if command.contains('\0') {
        return Err(bad("a command must not contain NUL characters".into()));
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

/// A part of a word: literal text or the name of a placeholder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part<'a> {
    Text(&'a str),
    Value(&'a str),
}

/// Splits a word into its parts. An unmatched brace is an error.
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
                    let message = format!("unmatched `{brace}` (write `{brace}{brace}` for a literal brace)");
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
    fn words_are_split_before_placeholders_are_replaced() {
        assert_eq!(
            filled("curl -o /dev/null 'http://{to}:{port}/a b'"),
            ["curl", "-o", "/dev/null", "http://10.0.0.2:5201/a b"]
        );
        assert_eq!(filled(r#"x "{from}" {cc}{count} {duration}s"#), ["x", "10.0.0.1", "bbr4", "9s"]);
        assert_eq!(filled("awk '{{print $1}}' ''"), ["awk", "{print $1}", ""]);
        // No shell expansion takes place.
        assert_eq!(filled("echo $HOME * ~ `id`"), ["echo", "$HOME", "*", "~", "`id`"]);
    }

    #[test]
    fn uses_finds_placeholders_but_not_escaped_braces() {
        let tool = Tool::read("curl {to}", Some("serve '{port}'")).unwrap();
        assert!(tool.uses("to") && tool.uses("port") && !tool.uses("cc"));
        let tool = Tool::read("curl {{port}}", None).unwrap();
        assert!(!tool.uses("port"));
    }
}
