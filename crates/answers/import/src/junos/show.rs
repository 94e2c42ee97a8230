//! Counters of `show policer`, `show firewall` and `show interfaces queue` as facts.

use crate::{Reading, number};

/// The owner of the following counters.
#[derive(Clone, Debug, PartialEq)]
enum Table {
    None,
    /// `Name  Bytes  Packets` of policers.
    Policers,
    /// Other counters of a filter.
    Counters,
    /// `Queue: 0, Forwarding classes: best-effort`
    Queue(String),
}

/// Reports facts from counters, and returns the text with their lines emptied.
pub(crate) fn facts(text: &str, reading: &mut Reading) -> String {
    let mut rest = String::with_capacity(text.len());
    let mut table = Table::None;
    let mut transmitted: Option<u64> = None;
    for (i, line) in text.lines().enumerate() {
        let said = line.trim();
        let words: Vec<&str> = said.split_whitespace().collect();
        let is_config = said.ends_with([';', '{', '}']) || said.starts_with("set ");
        let is_mark = |start: &str| said.starts_with(start) && !is_config;
        let taken = if is_mark("Filter:") || is_mark("Physical interface:") || is_mark("Forwarding classes:")
        {
            table = Table::None;
            true
        } else if is_mark("Policers:") {
            table = Table::Policers;
            true
        } else if is_mark("Counters:") {
            table = Table::Counters;
            true
        } else if words.first() == Some(&"Name") && words.contains(&"Packets") {
            if table != Table::Counters {
                table = Table::Policers;
            }
            true
        } else if is_mark("Queue:") {
            let class = said.split("classes:").nth(1).map_or(said, str::trim);
            (table, transmitted) = (Table::Queue(class.to_string()), None);
            true
        } else if is_config {
            table = Table::None;
            false
        } else {
            match &table {
                Table::None => false,
                Table::Counters => !words.is_empty(),
                Table::Policers => policer(i + 1, &words, reading),
                Table::Queue(class) => queue(i + 1, class, said, &words, &mut transmitted, reading),
            }
        };
        if taken {
            reading.lines.insert(i + 1);
        } else {
            rest.push_str(line);
        }
        rest.push('\n');
    }
    rest
}

/// Reads a policer's counters: `NAME  BYTES  PACKETS`, or `NAME  PACKETS`.
fn policer(line: usize, words: &[&str], reading: &mut Reading) -> bool {
    let numbers: Vec<u64> = words.iter().skip(1).filter_map(|w| w.parse().ok()).collect();
    if numbers.is_empty() || numbers.len() + 1 != words.len() {
        return words.is_empty();
    }
    let (bytes, packets) = match numbers.as_slice() {
        [packets] => (None, *packets),
        [bytes, packets, ..] => (Some(*bytes), *packets),
        [] => return false,
    };
    if packets > 0 {
        let size = bytes.filter(|b| *b > 0).map(|b| format!(", {}", number::size(b))).unwrap_or_default();
        let text = format!("policer {}: {} packets{size} exceeded it", words[0], crate::ios::count(packets));
        reading.fact(line, text);
    }
    true
}

/// Reads a queue's counters: `Transmitted: Packets : N`, `Tail-dropped packets : N`, `RED-dropped packets :
/// N`.
fn queue(
    line: usize,
    class: &str,
    said: &str,
    words: &[&str],
    transmitted: &mut Option<u64>,
    reading: &mut Reading,
) -> bool {
    let lower = said.to_ascii_lowercase();
    let value =
        said.split(':').nth(1).and_then(|v| v.split_whitespace().next()).and_then(|w| w.parse::<u64>().ok());
    if lower.starts_with("packets") {
        // `Transmitted` follows `Queued`.
        *transmitted = value.or(*transmitted);
        return true;
    }
    for what in ["tail-dropped packets", "red-dropped packets", "rl-dropped packets", "total-dropped packets"]
    {
        if let Some(n) = value.filter(|n| *n > 0 && lower.starts_with(what)) {
            let all = transmitted.map(|t| t + n);
            let share = all
                .map(|all| format!(" of {} packets ({})", crate::ios::count(all), crate::ios::share(n, all)));
            let how = what.split(' ').next().unwrap_or(what);
            let text = format!(
                "queue of class {class}: {}{} {how}",
                crate::ios::count(n),
                share.unwrap_or_default()
            );
            reading.fact(line, text);
        }
    }
    words.is_empty() || said.contains(':')
}
