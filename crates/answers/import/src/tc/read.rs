//! Reads the output of tc, and scripts, into the model.

use super::OBJECTS;
use super::filter;
use super::hfsc;
use super::model::{ClassId, MAX_PARTS, TcClass, TcModel, TcPlace, TcQdisc, TcStats};
use super::netem;
use super::options::{Options, spec};
use crate::number::{self, tc_size};
use crate::shell::{Shell, Statement, joined};
use crate::{ImportSource, Reading};

/// The state of reading.
struct TcReader<'r> {
    model: TcModel,
    reading: &'r mut Reading,
    shell: Shell,
    /// The last device mentioned.
    device: String,
    /// The previous line belongs to a filter, and more lines may follow.
    in_filter: bool,
    /// The last discipline or class that `tc show` printed; its statistics may follow.
    shown: Shown,
}

/// The owner of the following statistics.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Nothing,
    Qdisc,
    Class,
    /// A class without a configuration, of another discipline.
    Other,
}

/// The beginnings of lines of statistics, which may have lost their indentation.
const STATISTICS: [&str; 7] =
    ["Sent ", "backlog ", "rate ", "lended:", "tokens:", "maxpacket ", "memory used"];

/// Reads the whole text.
pub(crate) fn read(source: &ImportSource, reading: &mut Reading) -> TcModel {
    let device = "dev".to_string();
    let shell = Shell::with(source.values);
    let (model, shown) = (TcModel::default(), Shown::Nothing);
    let mut reader = TcReader { model, reading, shell, device, in_filter: false, shown };
    for (number, line) in joined(source.text) {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        reader.reading.lines.insert(number);
        reader.line(number, &line);
    }
    reader.model
}

/// Adds a command of a script to a model; returns whether it is a tc command.
pub(crate) fn read_command(line: usize, text: &str, model: &mut TcModel, reading: &mut Reading) -> bool {
    let mut shell = Shell::default();
    let (statements, _) = shell.statements(line, text);
    let before = std::mem::take(model);
    let (device, shown) = ("dev".into(), Shown::Nothing);
    let mut reader = TcReader { model: before, reading, shell, device, in_filter: false, shown };
    let mut any = false;
    for statement in &statements {
        any |= reader.statement(statement);
    }
    *model = reader.model;
    any
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| w.to_string()).collect()
}

impl TcReader<'_> {
    fn line(&mut self, number: usize, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let indented = line.starts_with([' ', '\t']);
        let shown = OBJECTS.contains(&words[0]) && words.len() > 2 && !is_verb(words[1]);
        if shown {
            let words = owned(&words);
            self.in_filter = false;
            self.shown = Shown::Nothing;
            return self.object(number, &words[0], &words[1..], true);
        }
        if self.in_filter && indented && filter::more(number, &words, &mut self.model, self.reading) {
            return;
        }
        self.in_filter = false;
        let trimmed = line.trim_start();
        if self.shown != Shown::Nothing
            && (indented || STATISTICS.iter().any(|s| trimmed.starts_with(s)))
            && !words.contains(&"tc")
        {
            return self.statistics(number, &words);
        }
        self.shown = Shown::Nothing;
        let (statements, only_assigned) = self.shell.statements(number, line);
        if only_assigned {
            return;
        }
        let mut any = false;
        for statement in &statements {
            any |= self.statement(statement);
        }
        if !any {
            self.reading.unknown(number, line.trim(), "not a tc command");
        }
    }

    /// Reads a line of counters of the discipline or class above it.
    fn statistics(&mut self, line: usize, words: &[&str]) {
        let stats = match self.shown {
            Shown::Qdisc => self.model.qdiscs.last_mut().map(|q| &mut q.stats),
            Shown::Class => self.model.classes.last_mut().map(|c| &mut c.stats),
            Shown::Nothing | Shown::Other => None,
        };
        let Some(stats) = stats else { return };
        let stats = stats.get_or_insert(TcStats { line, ..TcStats::default() });
        for pair in words.windows(2) {
            let value = pair[1].trim_end_matches([',', ')', 'p', 'b']);
            let number: Option<u64> = value.parse().ok();
            match (pair[0].trim_start_matches('('), number) {
                ("Sent", Some(bytes)) => stats.bytes = bytes,
                ("dropped", Some(dropped)) => stats.dropped = dropped,
                ("giants:", Some(giants)) => stats.giants = giants,
                ("rate", _) => stats.rate = number::tc_rate(pair[1]).map(|r| r.as_bps() as f64),
                ("backlog", _) => stats.backlog_bytes = tc_size(pair[1]).map_or(0, |b| b.get()),
                _ => {}
            }
            if let ("pkt" | "pkts", Ok(packets)) = (pair[1], pair[0].parse()) {
                stats.packets = packets;
            }
        }
        if let Some(at) = words.iter().position(|w| *w == "backlog") {
            let packets = words.get(at + 2).and_then(|w| w.strip_suffix('p')?.parse().ok());
            stats.backlog_packets = packets.unwrap_or(0);
        }
    }

    /// Reads a command of a script; returns whether it is a tc command.
    fn statement(&mut self, statement: &Statement) -> bool {
        let words = &statement.words;
        let batch = words.len() > 1 && object(&words[0]).is_some() && is_verb(&words[1]);
        let is_tc = |word: &String| {
            let bare = word.trim_matches(['$', '{', '}', '"']);
            bare.rsplit('/').next().is_some_and(|t| t.eq_ignore_ascii_case("tc"))
        };
        let start = if batch {
            0
        } else {
            match words.iter().take(16).position(is_tc) {
                Some(at) => at + 1,
                None => return false,
            }
        };
        let mut words = &words[start..];
        while words.first().is_some_and(|w| w.starts_with('-')) {
            words = &words[1..];
        }
        let (Some(object), Some(verb)) = (words.first().and_then(|w| object(w)), words.get(1)) else {
            return false;
        };
        match verb.as_str() {
            "add" | "replace" | "change" | "link" => {
                // Redirections of the shell end the command.
                let end = words.iter().position(|w| w.contains('>')).unwrap_or(words.len());
                self.object(statement.line, object, &words[2..end.max(2)], false);
            }
            "del" | "delete" | "show" | "list" | "ls" | "get" => {}
            other => {
                let why = format!("unknown command `{other}`");
                self.reading.unknown(statement.line, other, why);
            }
        }
        true
    }

    fn object(&mut self, line: usize, object: &str, words: &[String], shown: bool) {
        let parts = match object {
            "qdisc" => self.model.qdiscs.len(),
            "class" => self.model.classes.len(),
            _ => self.model.filters.len(),
        };
        if parts >= MAX_PARTS {
            return self.reading.unknown(line, object, format!("at most {MAX_PARTS} of them are read"));
        }
        match object {
            "qdisc" => self.qdisc(line, words, shown),
            "class" => self.class(line, words, shown),
            _ => {
                self.in_filter = true;
                let device = self.device.clone();
                let read = filter::read(line, words, &device, &self.model, self.reading);
                self.device.clone_from(&read.device);
                self.model.filters.push(read);
            }
        }
    }

    /// Sets the device; an unknown variable is used as a name.
    fn set_device(&mut self, word: &str) {
        self.device = word.trim_matches(['$', '{', '}', '"']).to_string();
    }

    fn qdisc(&mut self, line: usize, words: &[String], shown: bool) {
        let (mut place, mut handle, mut kind) = (None, 0, None);
        let mut i = 0;
        if shown && words.len() > 1 {
            // `qdisc htb 1: dev eth0 root …`
            kind = Some(words[0].clone());
            handle = ClassId::parse(&words[1]).map_or(0, |id| id.major);
            i = 2;
        }
        while let Some(word) = words.get(i) {
            let value = words.get(i + 1).map(String::as_str).unwrap_or_default();
            match word.as_str() {
                "dev" => self.set_device(value),
                "root" => place = Some(TcPlace::Root),
                "ingress" | "clsact" if kind.is_none() || shown => {
                    place = Some(TcPlace::Ingress);
                    handle = 0xffff;
                    kind.get_or_insert_with(|| word.clone());
                }
                "parent" => match ClassId::parse(value) {
                    Some(id) if id.major == 0xffff => place = Some(TcPlace::Ingress),
                    Some(id) => place = Some(TcPlace::Under(id)),
                    None => self.reading.unknown(line, value, format!("`{value}` is not a parent")),
                },
                "handle" => match ClassId::parse(value) {
                    Some(id) => handle = id.major,
                    None => self.reading.unknown(line, value, format!("`{value}` is not a handle")),
                },
                "refcnt" | "est" | "estimator" if kind.is_none() || shown => {}
                _ if kind.is_none() => {
                    kind = Some(word.clone());
                    i += 1;
                    break;
                }
                _ => break,
            }
            i += if matches!(word.as_str(), "root" | "ingress" | "clsact") { 1 } else { 2 };
        }
        let kind = kind.unwrap_or_default();
        let rest = words.get(i..).unwrap_or_default();
        let rest: Vec<String> = rest.iter().filter(|w| w.as_str() != "----------------").cloned().collect();
        let options = self.options(line, &kind, &rest);
        let place = place.unwrap_or(if handle == 0xffff { TcPlace::Ingress } else { TcPlace::Root });
        let device = self.device.clone();
        self.model.qdiscs.push(TcQdisc {
            stats: None,
            is_missing: false,
            line,
            device,
            handle,
            place,
            kind,
            options,
        });
        if shown {
            self.shown = Shown::Qdisc;
        }
    }

    fn options(&mut self, line: usize, kind: &str, words: &[String]) -> Options {
        if kind == "netem" {
            return Options::read(
                line,
                &netem::flatten(line, words, self.reading),
                netem::KEYS,
                self.reading,
            );
        }
        match spec(kind) {
            Some(spec) => Options::read(line, words, spec, self.reading),
            None => {
                let why = format!("unknown discipline `{kind}`");
                self.reading.unknown(line, kind, why);
                Options::none(line)
            }
        }
    }

    fn class(&mut self, line: usize, words: &[String], shown: bool) {
        let (mut id, mut parent, mut kind) = (None, None, None);
        let mut i = 0;
        if shown && words.len() > 1 {
            kind = Some(words[0].clone());
            id = ClassId::parse(&words[1]);
            i = 2;
        }
        let mut named = false;
        while let Some(word) = words.get(i) {
            let value = words.get(i + 1).map(String::as_str).unwrap_or_default();
            match word.as_str() {
                "dev" => {
                    self.set_device(value);
                    named = true;
                }
                "root" => parent = None,
                "parent" => parent = ClassId::parse(value),
                "classid" => id = ClassId::parse(value),
                _ if kind.is_none() => {
                    kind = Some(word.clone());
                    i += 1;
                    break;
                }
                _ => break,
            }
            i += if word == "root" { 1 } else { 2 };
        }
        let kind = kind.unwrap_or_default();
        // The classes that other disciplines show are not configuration.
        self.shown = if shown { Shown::Other } else { Shown::Nothing };
        let tree = ["htb", "hfsc"].into_iter().find(|k| *k == kind);
        if shown && tree.is_none() && spec(&kind).is_some() {
            return;
        }
        let Some(mut id) = id else {
            return self.reading.unknown(line, "class", "a class without `classid`");
        };
        if id.major == 0 {
            id.major = parent.map_or(0, |p| p.major);
        }
        let Some(kind) = tree else {
            let why = format!("classes of `{kind}` are not simulated: the limits of this one are left out");
            return self.reading.refuse(line, kind, why);
        };
        if shown && !named {
            let owner = self.model.qdiscs.iter().rev().find(|q| q.handle == id.major && q.kind == kind);
            if let Some(owner) = owner {
                self.device.clone_from(&owner.device);
            }
        }
        let mut words = words.get(i..).unwrap_or_default().to_vec();
        if kind == "hfsc" {
            words = hfsc::flatten(line, &words, self.reading);
        }
        let options = self.options(line, kind, &words);
        let device = self.device.clone();
        let class = TcClass { kind, stats: None, line, device, id, parent, options };
        if shown {
            self.shown = Shown::Class;
        }
        let known = |c: &&mut TcClass| c.id == id && c.device == class.device;
        match self.model.classes.iter_mut().find(known) {
            Some(known) => {
                let why = format!("line {line} sets class {id} again");
                self.reading.unknown(known.line, id.to_string(), why);
                *known = class;
                self.shown = Shown::Nothing;
            }
            None => self.model.classes.push(class),
        }
    }
}

/// An object type by its name or by an abbreviation that `tc` accepts.
fn object(word: &str) -> Option<&'static str> {
    Some(match word {
        "qdisc" | "q" | "qd" | "qdis" => "qdisc",
        "class" | "c" | "cl" | "clas" => "class",
        "filter" | "f" | "fi" | "filt" => "filter",
        _ => return None,
    })
}

fn is_verb(word: &str) -> bool {
    matches!(word, "add" | "del" | "delete" | "replace" | "change" | "show" | "list" | "ls" | "get" | "link")
}
