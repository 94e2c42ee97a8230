//! The events of a run, and its file: a line for each input, each burst sent, and the values of `TCP_INFO` at
//! that time.
//!
//! | line | fields |
//! |---|---|
//! | `run` | seed, control, paced, MSS of payload, SACK, timestamps |
//! | `c` | the application connects: time, duration of the call |
//! | `w` | the application writes: time, duration, bytes |
//! | `a` | a segment of the other end arrives: time, duration, flags, ACK, window, its timestamp, echo, SACK blocks |
//! | `t` | a timer expired: time when its packets were seen, time since the previous snapshot |
//! | `>` | a burst is sent: first byte, bytes, payload of its segments, flags, timestamp |
//! | `=` | changed fields of `TCP_INFO`, by number |
//!
//! Times are ns: the first counts from the model's start, the others from the previous line. Sequence numbers
//! are offsets from the first byte. Timestamps are the model's: ms of its clock plus 1; 0 means none.

use super::plan::{Control, Plan};
use super::snapshot::Snapshot;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use units::Time;

/// A segment that the other end sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ack {
    /// TCP flags: ACK, and SYN in the first segment.
    pub flags: u8,
    /// Next byte expected from the kernel.
    pub ack: u64,
    /// Receive window, bytes.
    pub window: u32,
    /// The segment's own timestamp.
    pub ts_val: u32,
    /// Timestamp echoed.
    pub ts_ecr: u32,
    /// SACK blocks as offsets.
    pub sacks: Vec<(u64, u64)>,
}

/// Segments sent together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Burst {
    /// Offset of the first byte. A window probe repeats the byte before the first unacknowledged one, so it
    /// may be -1.
    pub seq: i64,
    pub len: u32,
    /// Payload of each segment except the last.
    pub mss: u32,
    /// TCP flags of the last segment.
    pub flags: u8,
    /// Timestamp.
    pub ts: u32,
}

/// An input of the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// The application calls `connect`.
    Connect,
    /// The application wrote this many bytes.
    Write(u64),
    /// A segment arrived.
    Segment(Ack),
    /// None: one of the kernel's timers expired.
    Timer,
}

/// An input, the packets that it caused, and the state afterwards.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time of the input; for a timer, when its packets were seen.
    pub at: Time,
    /// Duration of the call, ns. When the kernel read its clock during the call is unknown.
    pub took: u64,
    pub input: Input,
    /// Bursts sent.
    pub out: Vec<Burst>,
    /// State afterwards.
    pub snapshot: Snapshot,
}

/// The log of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    pub plan: Plan,
    /// Events in order of time.
    pub events: Vec<Event>,
}

impl Log {
    /// The log as text.
    pub fn write(&self) -> String {
        let p = &self.plan;
        let mut s = format!(
            "run {} {} {} {} {} {}\n",
            p.seed, p.control, p.paced as u8, p.mss, p.sack as u8, p.timestamps as u8
        );
        let (mut last, mut snapshot) = (0, Snapshot::default());
        for e in &self.events {
            let (at, took) = (e.at.as_nanos() - last, e.took);
            last = e.at.as_nanos();
            match &e.input {
                Input::Connect => s += &format!("c {at} {took}\n"),
                Input::Write(n) => s += &format!("w {at} {took} {n}\n"),
                Input::Timer => s += &format!("t {at} {took}\n"),
                Input::Segment(a) => {
                    let Ack { flags, ack, window, ts_val, ts_ecr, sacks } = a;
                    s += &format!("a {at} {took} {flags} {ack} {window} {ts_val} {ts_ecr}");
                    sacks.iter().for_each(|(from, to)| s += &format!(" {from}-{to}"));
                    s.push('\n');
                }
            }
            for b in &e.out {
                s += &format!("> {} {} {} {} {}\n", b.seq, b.len, b.mss, b.flags, b.ts);
            }
            let changes = e.snapshot.changes(&snapshot);
            if !changes.is_empty() {
                s += &format!("={changes}\n");
            }
            snapshot = e.snapshot;
        }
        s
    }

    /// Reads the runs in a text; `None` if it is damaged.
    pub fn read(text: &str) -> Option<Vec<Log>> {
        let mut logs: Vec<Log> = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("run ") {
                logs.push(Log { plan: read_plan(rest)?, events: Vec::new() });
            } else {
                read_line(line, &mut logs.last_mut()?.events)?;
            }
        }
        Some(logs)
    }
}

/// Runs recorded on Linux 6.18: fifteen each of Reno and CUBIC, paced and unpaced.
const RECORDED: &[u8] = include_bytes!("../../samples-6.18.log.gz");

fn unpack(bytes: &[u8]) -> io::Result<Vec<Log>> {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text)?;
    Log::read(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a log of runs"))
}

/// Reads the recorded runs.
///
/// # Errors
/// Fails if the file in this folder is damaged.
pub fn recorded() -> io::Result<Vec<Log>> {
    unpack(RECORDED)
}

/// Reads the runs in a file (gzip).
///
/// # Errors
/// Fails if the file cannot be read or contains no log.
pub fn load(file: &Path) -> io::Result<Vec<Log>> {
    unpack(&fs::read(file)?)
}

/// Writes runs to a file (gzip).
///
/// # Errors
/// Fails if the file cannot be written.
pub fn save(file: &Path, logs: &[Log]) -> io::Result<()> {
    let text: String = logs.iter().map(Log::write).collect();
    let mut packed = Vec::new();
    GzEncoder::new(text.as_bytes(), Compression::best()).read_to_end(&mut packed)?;
    fs::write(file, packed)
}

fn read_plan(text: &str) -> Option<Plan> {
    let f: Vec<&str> = text.split(' ').collect();
    let flag = |i: usize| f.get(i).map(|&v| v == "1");
    let control = Control::parse(f.get(1)?)?;
    let plan = Plan::draw(f.first()?.parse().ok()?, control, flag(2)?);
    // The recorded values take precedence: random draws may change later.
    Some(Plan { mss: f.get(3)?.parse().ok()?, sack: flag(4)?, timestamps: flag(5)?, ..plan })
}

fn read_line(line: &str, events: &mut Vec<Event>) -> Option<()> {
    let (kind, rest) = line.split_at_checked(1)?;
    let mut fields = rest.split_whitespace();
    let mut number = || fields.next()?.parse::<i64>().ok();
    match kind {
        ">" => {
            let burst = Burst {
                seq: number()?,
                len: number()? as u32,
                mss: number()? as u32,
                flags: number()? as u8,
                ts: number()? as u32,
            };
            events.last_mut()?.out.push(burst);
        }
        "=" => events.last_mut()?.snapshot.change(rest)?,
        _ => {
            let (last, snapshot) =
                events.last().map_or((0, Snapshot::default()), |e| (e.at.as_nanos(), e.snapshot));
            let (at, took) = (Time::from_nanos(last + number()? as u64), number()? as u64);
            let input = match kind {
                "c" => Input::Connect,
                "w" => Input::Write(number()? as u64),
                "t" => Input::Timer,
                "a" => {
                    let mut ack = Ack {
                        flags: number()? as u8,
                        ack: number()? as u64,
                        window: number()? as u32,
                        ts_val: number()? as u32,
                        ts_ecr: number()? as u32,
                        sacks: Vec::new(),
                    };
                    for block in fields {
                        let (from, to) = block.split_once('-')?;
                        ack.sacks.push((from.parse().ok()?, to.parse().ok()?));
                    }
                    Input::Segment(ack)
                }
                _ => return None,
            };
            events.push(Event { at, took, input, out: Vec::new(), snapshot });
        }
    }
    Some(())
}
