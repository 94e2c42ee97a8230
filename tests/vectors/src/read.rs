//! Reads a vector file. Nothing is ignored: an unknown key, a missing key or a value of the wrong type is an
//! error with file and line.

use crate::format::{Ack, Action, Change, File, Start, Step, Vector};
use crate::observe::{KEYS, Kind, Seen, Want};
use congestion::CaState;
use serde::Deserialize;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use units::Span;

/// Why a file was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub file: String,
    /// Line, from 1; 0 if there is none.
    pub line: usize,
    /// The problem, and what would be right.
    pub message: String,
}

impl Error {
    pub(crate) fn new(file: &str, line: usize, message: String) -> Error {
        Error { file: file.into(), line, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}

impl std::error::Error for Error {}

/// An error message and the byte where it applies.
type Fault = (usize, String);
type Node<'a> = Spanned<DeValue<'a>>;

impl File {
    /// Parses the file `text`; `name` is its name, for messages.
    ///
    /// # Errors
    /// Fails if the text violates the format, with the line.
    pub fn parse(name: &str, text: &str) -> Result<File, Error> {
        let line =
            |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|b| **b == b'\n').count();
        let fail = |(at, message): Fault| Error::new(name, line(at), message);
        let root = DeTable::parse(text)
            .map_err(|e| fail((e.span().map_or(0, |s| s.start), e.message().to_string())))?;
        file(name, root.get_ref(), &line).map_err(fail)
    }
}

fn file(name: &str, root: &DeTable<'_>, line: &dyn Fn(usize) -> usize) -> Result<File, Fault> {
    let mut keys = Keys::new(root, 0);
    let mut file = File {
        name: name.into(),
        algorithm: keys.need("algorithm", text)?,
        topic: keys.need("topic", text)?,
        source: keys.need("source", text)?,
        vectors: Vec::new(),
    };
    for node in keys.need("vector", list)? {
        file.vectors.push(vector(node, &file.algorithm, line)?);
    }
    keys.finish()?;
    if file.vectors.is_empty() {
        return Err((0, "no [[vector]]".into()));
    }
    Ok(file)
}

fn vector(node: &Node<'_>, algorithm: &str, line: &dyn Fn(usize) -> usize) -> Result<Vector, Fault> {
    let mut keys = Keys::of(node)?;
    let cc = keys.need("cc", |n| {
        toml::Value::deserialize(ValueDeserializer::from(n.clone())).map_err(|e| fault(n, e.message()))
    })?;
    let cc_name = cc.as_str().or(cc.get("name").and_then(|n| n.as_str()));
    if cc_name != Some(algorithm) {
        return Err(fault(node, &format!("`cc` is not the file's algorithm, {algorithm}")));
    }
    let vector = Vector {
        name: keys.need("name", text)?,
        line: line(node.span().start),
        cc,
        derivation: keys.need("derivation", text)?,
        start: keys.take("start", start)?.unwrap_or_default(),
        steps: keys.need("steps", |n| {
            let step = |n| Ok(Step { line: line(span(n)), action: action(n)? });
            list(n)?.iter().map(step).collect()
        })?,
    };
    keys.finish()?;
    if vector.derivation.trim().is_empty() {
        return Err(fault(node, "the derivation is empty"));
    }
    if !vector.steps.iter().any(|s| matches!(s.action, Action::Expect(_))) {
        return Err(fault(node, "the vector expects nothing"));
    }
    Ok(vector)
}

fn start(node: &Node<'_>) -> Result<Start, Fault> {
    let mut keys = Keys::of(node)?;
    let d = Start::default();
    let start = Start {
        cwnd: keys.take("cwnd", number)?.unwrap_or(d.cwnd),
        mss: keys.take("mss", number)?.unwrap_or(d.mss),
        rtt: keys.take("rtt", time)?,
        clamp: keys.take("clamp", number)?.unwrap_or(d.clamp),
        seed: keys.take("seed", number)?.unwrap_or(d.seed),
    };
    keys.finish()?;
    if start.cwnd == 0 || start.mss == 0 {
        return Err(fault(node, "cwnd and mss must be at least 1"));
    }
    Ok(start)
}

/// The keys that determine the kind of a step.
const ACTIONS: &str = "ack, at, enter, expect, idle, leave, restart, send, set, timeout, undo, wait";

fn action(node: &Node<'_>) -> Result<Action, Fault> {
    let mut keys = Keys::of(node)?;
    let mut actions = Vec::new();
    actions.extend(keys.take("at", time)?.map(Action::At));
    actions.extend(keys.take("wait", time)?.map(Action::Wait));
    actions.extend(keys.take("set", change)?.map(Action::Set));
    actions.extend(keys.take("send", number)?.map(Action::Send));
    actions.extend(keys.take("enter", state)?.map(Action::Enter));
    actions.extend(keys.take("leave", yes)?.map(|()| Action::Leave));
    actions.extend(keys.take("timeout", yes)?.map(|()| Action::TimeOut));
    actions.extend(keys.take("undo", yes)?.map(|()| Action::Undo));
    actions.extend(keys.take("idle", time)?.map(Action::Idle));
    actions.extend(keys.take("restart", number)?.map(Action::Restart));
    actions.extend(keys.take("expect", expect)?.map(Action::Expect));
    if let Some(acked) = keys.take("ack", number)? {
        actions.push(Action::Ack(ack(acked, &mut keys)?));
    }
    keys.finish()?;
    match (actions.pop(), actions.pop()) {
        (Some(action), None) => Ok(action),
        _ => Err(fault(node, &format!("a step must have exactly one of {ACTIONS}"))),
    }
}

fn ack(acked: u32, keys: &mut Keys<'_, '_>) -> Result<Ack, Fault> {
    let rtt = keys.take("rtt", time)?;
    let valid = keys.take("valid", boolean)?.unwrap_or(true);
    let delivered = keys.take("delivered", number)?.unwrap_or(acked);
    let losses = keys.take("losses", number)?.unwrap_or(0);
    Ok(Ack {
        acked,
        times: keys.take("times", number)?.unwrap_or(1),
        every: keys.take("every", time)?.unwrap_or(Span::ZERO),
        rtt,
        delivered: valid.then_some(delivered),
        interval: keys.take("interval", time)?.or(rtt).unwrap_or(Span::ZERO),
        prior_delivered: keys.take("prior_delivered", number)?,
        round: keys.take("round", boolean)?.unwrap_or(false),
        inflight: keys.take("inflight", number)?,
        losses,
        ranges: keys.take("ranges", number)?.unwrap_or(1),
        tx_in_flight: keys.take("tx_in_flight", number)?,
        lost: keys.take("lost", number)?.unwrap_or(losses),
        app_limited: keys.take("app_limited", boolean)?.unwrap_or(false),
        ece: keys.take("ece", boolean)?.unwrap_or(false),
        retrans: keys.take("retrans", boolean)?.unwrap_or(false),
        delayed: keys.take("delayed", boolean)?.unwrap_or(false),
    })
}

fn change(node: &Node<'_>) -> Result<Change, Fault> {
    let mut keys = Keys::of(node)?;
    let count = |n: &Node<'_>| match n.get_ref().as_str() {
        Some("infinite") => Ok(u32::MAX),
        _ => number(n),
    };
    let change = Change {
        cwnd: keys.take("cwnd", number)?,
        ssthresh: keys.take("ssthresh", count)?,
        inflight: keys.take("inflight", number)?,
        cwnd_limited: keys.take("cwnd_limited", boolean)?,
        app_limited: keys.take("app_limited", boolean)?,
        max_pacing_rate: keys.take("max_pacing_rate", number)?,
        departure: keys.take("departure", time)?,
    };
    keys.finish()?;
    Ok(change)
}

fn expect(node: &Node<'_>) -> Result<Vec<(&'static str, Want)>, Fault> {
    let mut keys = Keys::of(node)?;
    let mut wants = Vec::new();
    for (key, kind) in KEYS {
        if let Some(want) = keys.take(key, |n| want(n, *kind))? {
            wants.push((*key, want));
        }
    }
    keys.finish()?;
    if wants.is_empty() {
        return Err(fault(node, "`expect` is empty"));
    }
    Ok(wants)
}

/// Reads a value, `[any, of, these]`, `{ from = a, to = b }` or `"none"`.
fn want(node: &Node<'_>, kind: Kind) -> Result<Want, Fault> {
    match node.get_ref() {
        DeValue::Array(values) if !values.is_empty() => {
            Ok(Want::AnyOf(values.iter().map(|v| value(v, kind)).collect::<Result<_, _>>()?))
        }
        DeValue::Table(_) if kind != Kind::Word => {
            let mut keys = Keys::of(node)?;
            let low = keys.need("from", |n| value(n, kind))?;
            let high = keys.need("to", |n| value(n, kind))?;
            keys.finish()?;
            Ok(Want::Between(low, high))
        }
        DeValue::String(s) if s == "none" => Ok(Want::Nothing),
        _ => Ok(Want::AnyOf(vec![value(node, kind)?])),
    }
}

fn value(node: &Node<'_>, kind: Kind) -> Result<Seen, Fault> {
    Ok(match kind {
        Kind::Count if node.get_ref().as_str() == Some("infinite") => Seen::Count(u32::MAX as u64),
        Kind::Count => Seen::Count(number(node)?),
        Kind::Gain => match node.get_ref() {
            DeValue::Float(f) => Seen::Gain(f.as_str().parse().map_err(|_| fault(node, "no number"))?),
            _ => Seen::Gain(number::<u32>(node)? as f64),
        },
        Kind::Span => Seen::Span(time(node)?),
        Kind::Word => Seen::Word(text(node)?),
    })
}

/// The keys of a table: each is read once, and remaining ones are errors.
struct Keys<'t, 'a> {
    table: &'t DeTable<'a>,
    at: usize,
    taken: Vec<&'static str>,
}

impl<'t, 'a> Keys<'t, 'a> {
    fn new(table: &'t DeTable<'a>, at: usize) -> Keys<'t, 'a> {
        Keys { table, at, taken: Vec::new() }
    }

    fn of(node: &'t Node<'a>) -> Result<Keys<'t, 'a>, Fault> {
        let table = node.get_ref().as_table().ok_or_else(|| fault(node, "expected a table"))?;
        Ok(Keys::new(table, node.span().start))
    }

    fn take<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'t Node<'a>) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        self.taken.push(key);
        let found = self.table.iter().find(|(k, _)| k.get_ref() == key);
        found.map(|(_, node)| read(node).map_err(|(at, m)| (at, format!("`{key}`: {m}")))).transpose()
    }

    fn need<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&'t Node<'a>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        self.take(key, read)?.ok_or_else(|| (self.at, format!("the key `{key}` is missing")))
    }

    fn finish(self) -> Result<(), Fault> {
        let unknown = self.table.keys().find(|k| !self.taken.iter().any(|t| k.get_ref() == t));
        unknown.map_or(Ok(()), |k| {
            let known = self.taken.join(", ");
            Err((k.span().start, format!("unknown key `{}`; the keys are: {known}", k.get_ref())))
        })
    }
}

fn span(node: &Node<'_>) -> usize {
    node.span().start
}

fn fault(node: &Node<'_>, message: &str) -> Fault {
    (span(node), message.into())
}

fn text(node: &Node<'_>) -> Result<String, Fault> {
    node.get_ref().as_str().map(str::to_string).ok_or_else(|| fault(node, "expected a text"))
}

fn list<'t, 'a>(node: &'t Node<'a>) -> Result<&'t [Node<'a>], Fault> {
    match node.get_ref() {
        DeValue::Array(list) => Ok(list),
        _ => Err(fault(node, "expected a list")),
    }
}

fn number<T: TryFrom<i128>>(node: &Node<'_>) -> Result<T, Fault> {
    let DeValue::Integer(i) = node.get_ref() else {
        return Err(fault(node, "expected an integer"));
    };
    let n = i128::from_str_radix(i.as_str(), i.radix()).ok();
    n.and_then(|n| T::try_from(n).ok()).ok_or_else(|| fault(node, "the number is out of range"))
}

fn boolean(node: &Node<'_>) -> Result<bool, Fault> {
    node.get_ref().as_bool().ok_or_else(|| fault(node, "expected true or false"))
}

/// Reads the value `true` of steps without arguments.
fn yes(node: &Node<'_>) -> Result<(), Fault> {
    if boolean(node)? { Ok(()) } else { Err(fault(node, "must be `true`")) }
}

fn time(node: &Node<'_>) -> Result<Span, Fault> {
    text(node)?.parse().map_err(|e: units::UnitError| fault(node, &e.to_string()))
}

fn state(node: &Node<'_>) -> Result<CaState, Fault> {
    match node.get_ref().as_str() {
        Some("recovery") => Ok(CaState::Recovery),
        Some("cwr") => Ok(CaState::Cwr),
        Some("disorder") => Ok(CaState::Disorder),
        _ => Err(fault(node, "expected \"recovery\", \"cwr\" or \"disorder\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "algorithm = \"reno\"
topic = \"t\"
source = \"s\"
[[vector]]
name = \"n\"
cc = { name = \"reno\", T = \"40ms\" }
derivation = \"d\"
start = { cwnd = 4 }
steps = [
  { ack = 3, rtt = \"50ms\", times = 2 },
  { expect = { cwnd = [7, 8], ssthresh = \"infinite\", rt_prop = \"none\", pacing_gain = { from = 1, to = 1.5 } } },
]
";

    #[test]
    fn steps_are_read_with_their_lines() {
        let file = File::parse("f", GOOD).unwrap();
        let v = &file.vectors[0];
        assert_eq!((v.line, v.steps[0].line, v.steps[1].line), (4, 10, 11));
        assert_eq!(v.cc["T"].as_str(), Some("40ms"));
        let Action::Ack(ack) = &v.steps[0].action else { panic!("an ACK") };
        assert_eq!((ack.times, ack.delivered, ack.interval), (2, Some(3), Span::from_millis(50)));
        let Action::Expect(wants) = &v.steps[1].action else { panic!("an expectation") };
        assert_eq!(wants[0], ("cwnd", Want::AnyOf(vec![Seen::Count(7), Seen::Count(8)])));
        assert_eq!(wants[1].1, Want::AnyOf(vec![Seen::Count(u32::MAX as u64)]));
        assert_eq!(wants[2].1, Want::Nothing);
        assert_eq!(wants[3].1, Want::Between(Seen::Gain(1.0), Seen::Gain(1.5)));
    }

    #[test]
    fn errors_name_their_line() {
        for (from, to, line, message) in [
            ("topic =", "topik =", 1, "`topic` is missing"),
            ("times = 2", "time = 2", 10, "unknown key `time`"),
            ("cwnd = [7, 8]", "cwdn = 7", 11, "unknown key `cwdn`"),
            ("ack = 3", "ack = 3, send = 1", 10, "exactly one"),
            ("ack = 3, ", "", 10, "unknown key `rtt`"),
            ("\"50ms\"", "50", 10, "expected a text"),
            ("ack = 3", "ack = -3", 10, "out of range"),
            ("name = \"reno\", T", "name = \"cubic\", T", 4, "not the file's algorithm"),
            ("\"d\"", "\" \"", 4, "derivation is empty"),
            ("start = {", "start = { pace = 1,", 8, "unknown key `pace`"),
            ("derivation", "derivation = \"\"\nderivation", 8, "duplicate key"),
        ] {
            let e = File::parse("f", &GOOD.replace(from, to)).unwrap_err();
            assert!(e.line == line && e.message.contains(message), "{from} to {to}: {e}");
        }
        assert!(File::parse("f", GOOD).is_ok());
    }
}
