//! Recognises a file that the current command cannot read, and names the command that reads it.

use app::fit::{head_of_text, summary_title};
use std::fmt;
use std::path::Path;

/// An input for another command, or a text instead of which a capture is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherInput {
    Scenario,
    /// Output of iperf or ss, with its title.
    Summary(&'static str),
    /// A result folder.
    Results,
    /// A configuration, with the title of its format.
    Configuration(&'static str),
    /// A QUIC endpoint's log.
    Qlog,
    /// Output of `tcpdump` or `tshark`, with a capture filter for its packets.
    PacketText(String),
    /// Output of `ping`, `mtr` or `traceroute`.
    PingText,
}

impl OtherInput {
    /// Recognises a file or folder; `None` if it is unknown.
    pub fn of(path: &Path) -> Option<OtherInput> {
        if path.join("result.json").is_file() {
            return Some(OtherInput::Results);
        }
        OtherInput::of_text(&head_of_text(path)?)
    }

    /// Recognises a text by its beginning.
    fn of_text(text: &str) -> Option<OtherInput> {
        let begins = |with: &str| text.lines().any(|l| l.trim_start().starts_with(with));
        if let Some(filter) = packet_text(text) {
            return Some(OtherInput::PacketText(filter));
        }
        if let Some(title) = summary_title(text) {
            return Some(OtherInput::Summary(title));
        }
        if text.contains("\"qlog_version\"") || text.contains("\"qlog_format\"") {
            return Some(OtherInput::Qlog);
        }
        if (begins("[links.") && begins("between")) || (begins("[flows.") && begins("from =")) {
            return Some(OtherInput::Scenario);
        }
        let pings = ["PING ", "traceroute to ", "HOST: ", "Start: "];
        if pings.iter().any(|p| text.trim_start().starts_with(p)) || text.contains("icmp_seq=") {
            return Some(OtherInput::PingText);
        }
        import::ImportFormat::of(text).map(|format| OtherInput::Configuration(format.title()))
    }

    /// Formats an error that says what the file is and what to type instead.
    pub fn instead(&self, path: &Path, command: &str) -> String {
        let file = path.display();
        let next = match self {
            OtherInput::Scenario => format!(
                "`longfat run {file}` simulates it; `longfat run {file} --pcap DIR` writes captures that {command} reads"
            ),
            OtherInput::Summary(_) | OtherInput::Results => format!("`longfat fit {file}` reads it"),
            OtherInput::Configuration(_) => format!("`longfat import {file}` reads it"),
            OtherInput::Qlog => format!("`longfat diagnose --qlog {file}` reads it"),
            OtherInput::PacketText(filter) => format!(
                "the text lacks parts of the packets; capture the transfer with `tcpdump -s 128 -w trace.pcap {filter}`, \
                 then run `longfat {command} trace.pcap`"
            ),
            OtherInput::PingText => format!(
                "it shows RTTs but no transfer; capture a slow transfer with `tcpdump -s 128 -w trace.pcap host HOST`, \
                 then run `longfat {command} trace.pcap`"
            ),
        };
        format!("{file}: {self}, which `longfat {command}` does not read; {next}")
    }
}

impl fmt::Display for OtherInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OtherInput::Scenario => write!(f, "a scenario"),
            OtherInput::Summary(title) => write!(f, "{title}"),
            OtherInput::Results => write!(f, "a result folder"),
            OtherInput::Configuration(title) => write!(f, "a configuration ({title})"),
            OtherInput::Qlog => write!(f, "a qlog"),
            OtherInput::PacketText(_) => write!(f, "packets as text, not a capture"),
            OtherInput::PingText => write!(f, "output of ping, mtr or traceroute"),
        }
    }
}

/// Returns a capture filter for a text of tcpdump or tshark; `None` for another text.
fn packet_text(text: &str) -> Option<String> {
    text.lines().take(200).find_map(|line| tcpdump_filter(line).or_else(|| tshark_filter(line)))
}

/// Parses a line like `12:00:00.000001 IP 10.0.0.1.40000 > 10.0.0.2.443: Flags [S], …`
fn tcpdump_filter(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|w| *w == "IP" || *w == "IP6")?;
    let [from, arrow, to] = *words.get(at + 1..at + 4)? else { return None };
    let known = line.contains("Flags [") || line.contains(" UDP") || line.contains("length ");
    (arrow == ">" && to.ends_with(':') && known).then_some(())?;
    Some(filter(split(from), split(to.trim_end_matches(':'))))
}

/// Parses a line like `    1   0.000000     10.0.0.1 → 10.0.0.2     TCP 74 40000 → 443 [SYN] …`
fn tshark_filter(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|w| *w == "→" || *w == "->")?;
    let numbered = words.first()?.parse::<u64>().is_ok() && words.get(1)?.parse::<f64>().is_ok();
    let protocol = words.get(at + 2)?;
    let known = ["TCP", "UDP", "TLS", "HTTP", "QUIC"].iter().any(|p| protocol.starts_with(p));
    (numbered && at == 3 && known).then_some(())?;
    let (from, to) = (words.get(2)?, words.get(4)?);
    let ports = words.get(at + 4..)?.windows(3).find(|w| w[1] == "→" || w[1] == "->");
    let [a, b] = ports.map_or([None, None], |w| [w[0].parse().ok(), w[2].parse().ok()]);
    Some(filter((from, a), (to, b)))
}

/// Splits `10.0.0.1.443` into address and port; a name or an address alone has no port.
fn split(end: &str) -> (&str, Option<u16>) {
    match end.rsplit_once('.') {
        Some((host, port))
            if host.contains(['.', ':'])
                && !(host.matches('.').count() < 3
                    && !host.contains(':')
                    && host.bytes().all(|b| b.is_ascii_digit() || b == b'.')) =>
        {
            (host, port.parse().ok())
        }
        _ => (end, None),
    }
}

/// Returns a capture filter for both ends; the lower port is taken as the server's.
fn filter(a: (&str, Option<u16>), b: (&str, Option<u16>)) -> String {
    let safe = |host: &str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b".:-_".contains(&b));
    let hosts: Vec<String> = [a.0, b.0].iter().filter(|h| safe(h)).map(|h| format!("host {h}")).collect();
    let port = [a.1, b.1].into_iter().flatten().min();
    let all: Vec<String> = hosts.into_iter().chain(port.map(|p| format!("port {p}"))).collect();
    if all.is_empty() { "tcp".into() } else { all.join(" and ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_as_text_give_a_filter_for_the_capture() {
        for (line, wanted) in [
            (
                "12:00:00.000001 IP 10.0.0.1.40000 > 192.0.2.7.443: Flags [S], seq 1, win 64240, length 0",
                "host 10.0.0.1 and host 192.0.2.7 and port 443",
            ),
            (
                "1795867200.5 IP6 2001:db8::1.5201 > 2001:db8::2.40000: Flags [.], ack 1, length 0",
                "host 2001:db8::1 and host 2001:db8::2 and port 5201",
            ),
            (
                "IP 10.0.0.1 > 10.0.0.2: ICMP echo request, id 1, seq 1, length 64",
                "host 10.0.0.1 and host 10.0.0.2",
            ),
            (
                "    1   0.000000     10.0.0.1 → 10.0.0.2     TCP 74 40000 → 8080 [SYN] Seq=0",
                "host 10.0.0.1 and host 10.0.0.2 and port 8080",
            ),
        ] {
            assert_eq!(OtherInput::of_text(line), Some(OtherInput::PacketText(wanted.into())), "{line}");
        }
    }

    #[test]
    fn inputs_of_other_commands_are_recognised() {
        let parsed = |text: &str| OtherInput::of_text(text).map(|o| o.to_string());
        assert_eq!(parsed("[links.w]\nbetween = [\"a\", \"b\"]\n").as_deref(), Some("a scenario"));
        assert_eq!(
            parsed("PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n").as_deref(),
            Some("output of ping, mtr or traceroute")
        );
        assert!(
            parsed("tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 50ms\n")
                .unwrap()
                .contains("configuration")
        );
        assert_eq!(parsed("{\"start\": {\"version\": \"iperf 3.9\"}").as_deref(), Some("JSON of iperf3"));
        assert_eq!(parsed("dear sirs\n"), None);
    }
}
