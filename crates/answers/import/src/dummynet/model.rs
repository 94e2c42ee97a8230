//! Pipes, queues, schedulers and rules as configured.

use path::queue::FqCoDel;
use path::{Loss, QueueConfig};
use units::{Bytes, Span};

/// `net.inet.ip.dummynet.pipe_slot_limit` and `pipe_byte_limit`: the defaults.
const MAX_SLOTS: u64 = 100;
const MAX_BYTES: u64 = 1 << 20;
/// The default queue, slots (ipfw(8)).
pub(super) const USUAL_SLOTS: u64 = 50;
/// The most pipes, queues and schedulers in one text.
pub(super) const MAX_OBJECTS: usize = 300;
/// The most rules in one text.
pub(super) const MAX_RULES: usize = 1000;

/// A whole configuration.
pub(super) struct Dummynet {
    pub objects: Vec<Object>,
    /// Sorted by number after reading.
    pub rules: Vec<Rule>,
    /// ipfw rejects longer queues.
    pub most_slots: u64,
    pub most_bytes: u64,
}

impl Default for Dummynet {
    fn default() -> Dummynet {
        Dummynet { objects: Vec::new(), rules: Vec::new(), most_slots: MAX_SLOTS, most_bytes: MAX_BYTES }
    }
}

impl Dummynet {
    pub fn get(&self, kind: Kind, number: u32) -> Option<&Object> {
        self.objects.iter().find(|o| o.kind == kind && o.number == number)
    }

    /// Adds an object or replaces the one with its number.
    pub fn put(&mut self, object: Object) {
        let known = self.objects.iter().position(|o| (o.kind, o.number) == (object.kind, object.number));
        match known {
            Some(at) => self.objects[at] = object,
            None if self.objects.len() < MAX_OBJECTS => self.objects.push(object),
            None => {}
        }
    }
}

/// The kind of a numbered object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pipe,
    Queue,
    Sched,
}

impl Kind {
    pub fn of(word: &str) -> Kind {
        match word {
            "queue" => Kind::Queue,
            "sched" => Kind::Sched,
            _ => Kind::Pipe,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Kind::Pipe => "pipe",
            Kind::Queue => "queue",
            Kind::Sched => "sched",
        }
    }
}

/// The size of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Slots(u64),
    Bytes(u64),
}

/// How a queue drops packets.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Aqm {
    /// At its tail.
    DropTail,
    /// Thresholds in the unit of the queue's size.
    Red { weight: f64, min: u64, max: u64, max_probability: f64, gentle: bool },
    /// A queue whose number of packets comes from the size.
    Of(QueueConfig),
}

/// A scheduler's type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scheduler {
    Fifo,
    /// `wf2q+`, `rr`, `qfq`: by weight.
    Weighted,
    /// `fq_codel` and `fq_pie`: their own queues instead of those of the rules.
    Flows(FqCoDel),
}

/// A pipe, a queue or a scheduler.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub kind: Kind,
    pub number: u32,
    pub line: usize,
    /// The user's name for it.
    pub name: Option<String>,
    /// bit/s; `None`: no limit.
    pub bw: Option<u64>,
    pub delay: Span,
    pub loss: Option<Loss>,
    pub burst: Option<Bytes>,
    pub size: Size,
    pub aqm: Aqm,
    pub ecn: bool,
    pub scheduler: Option<Scheduler>,
    /// Whether each flow of a mask has a separate one.
    pub is_masked: bool,
    /// The pipe that a queue or a scheduler belongs to.
    pub pipe: Option<u32>,
    pub weight: u32,
    /// `false` if one of its values was rejected: it is left out.
    pub is_whole: bool,
    /// `false` if the user disabled it.
    pub is_enabled: bool,
}

impl Object {
    pub fn new(kind: Kind, number: u32, line: usize) -> Object {
        Object {
            kind,
            number,
            line,
            name: None,
            bw: None,
            delay: Span::ZERO,
            loss: None,
            burst: None,
            size: Size::Slots(USUAL_SLOTS),
            aqm: Aqm::DropTail,
            ecn: false,
            scheduler: None,
            is_masked: false,
            pipe: None,
            weight: 1,
            is_whole: true,
            is_enabled: true,
        }
    }

    /// `pipe 1`, `queue 10000 (Download)`.
    pub fn says(&self) -> String {
        let name = self.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
        format!("{} {}{name}", self.kind.word(), self.number)
    }
}

/// A rule that sends packets to a pipe or a queue, or takes all packets so that later rules see none.
#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub line: usize,
    pub number: u64,
    /// `None`: it ends the search for every packet.
    pub target: Option<(bool, u32)>,
    /// `in` is `Some(true)`, `out` is `Some(false)`.
    pub is_in: Option<bool>,
    pub recv: Option<String>,
    pub xmit: Option<String>,
    pub via: Option<String>,
    pub from: String,
    pub to: String,
    /// The condition that the rule matches, as text.
    pub says: String,
    /// Packets matched so far.
    pub packets: Option<u64>,
}

impl Rule {
    pub fn kind(is_queue: bool) -> Kind {
        if is_queue { Kind::Queue } else { Kind::Pipe }
    }
}
