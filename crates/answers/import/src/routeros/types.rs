//! Queue types: the queue itself and, for `pcq`, the rate of each address.

use super::limit::RATES;
use super::read::{Item, Menu};
use crate::Reading;
use crate::number::{self, Units, quantity};
use path::QueueConfig;
use path::queue::{CoDel, Drr, Fifo, FqCoDel, Red};
use std::collections::BTreeSet;
use units::{Bytes, Span};

/// Sizes, bytes; without a unit, the property decides.
const SIZES: &Units =
    &[("b", 1.0), ("kib", 1024.0), ("mib", 1_048_576.0), ("gib", 1_073_741_824.0), ("k", 1000.0), ("m", 1e6)];
/// Numbers without a unit.
const COUNTS: &Units = &[("", 1.0)];

/// The built-in types of a router: name, kind, limit.
const DEFAULTS: [(&str, &str, &str); 10] = [
    ("default", "pfifo", "50"),
    ("ethernet-default", "pfifo", "50"),
    ("wireless-default", "sfq", ""),
    ("synchronous-default", "red", ""),
    ("hotspot-default", "sfq", ""),
    ("pcq-upload-default", "pcq", ""),
    ("pcq-download-default", "pcq", ""),
    ("only-hardware-queue", "none", ""),
    ("multi-queue-ethernet-default", "mq-pfifo", "50"),
    ("default-small", "pfifo", "10"),
];

/// The queue of a type.
#[derive(Clone, Debug, Default)]
pub(super) struct Below {
    /// `None`: unknown.
    pub queue: Option<QueueConfig>,
    /// The limit of one address, or of cake, bit/s.
    pub rate: Option<u64>,
    /// Whether packets leave one by one, as with cake.
    pub one_by_one: bool,
}

/// The types of a text and the built-in ones.
pub(super) struct QueueTypes {
    items: Vec<Item>,
    used: BTreeSet<String>,
}

impl QueueTypes {
    pub fn new(items: &[Item]) -> QueueTypes {
        let mut own: Vec<Item> = Vec::new();
        for (name, kind, limit) in DEFAULTS {
            let pairs = [("name", name), ("kind", kind), ("pfifo-limit", limit), ("mq-pfifo-limit", limit)];
            let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
            let properties = pairs.map(|(key, value)| (key.to_string(), value.to_string())).collect();
            own.push(Item { line: 0, menu: Menu::Type, properties });
        }
        for item in items.iter().filter(|i| i.menu == Menu::Type).take(1000) {
            match own.iter_mut().find(|o| o.get("name") == item.get("name")) {
                Some(known) => {
                    known.line = item.line;
                    known.properties.extend(item.properties.clone());
                }
                None => own.push(item.clone()),
            }
        }
        QueueTypes { items: own, used: BTreeSet::new() }
    }

    /// The queue of a type; `line` is the line of the queue that uses it.
    pub fn queue(&mut self, name: &str, line: usize, reading: &mut Reading) -> Below {
        self.used.insert(name.into());
        let Some(item) = self.items.iter().find(|i| i.get("name") == Some(name)) else {
            let why = format!(
                "the text does not contain the queue type `{name}`: its queue is unknown; add /queue type export"
            );
            reading.unknown(line, name, why);
            return Below::default();
        };
        let mut reader = Reader { item, line, reading, whole: true };
        let below = reader.below();
        // If a value of the type was rejected, the queues that use it are left out.
        if reader.whole { below } else { Below::default() }
    }

    /// Types with their own rate that no queue of the text uses.
    pub fn unused(&self, reading: &mut Reading) {
        for item in self.items.iter().filter(|i| i.line > 0) {
            let name = item.get("name").unwrap_or_default();
            if self.used.contains(name) || item.get("kind") != Some("pcq") {
                continue;
            }
            let mut reader = Reader { item, line: item.line, reading, whole: true };
            let below = reader.below();
            let address = item.get("pcq-classifier").unwrap_or("address");
            let rate = below.rate.map_or("an equal share".into(), number::rate);
            let size = below
                .queue
                .map_or(String::new(), |q| format!(", {} of queue", number::size(q.limits().bytes)));
            if reader.whole {
                let text = format!(
                    "the queue type {name} ({rate} for each {address}{size}) has no effect: no queue of this text uses it"
                );
                reading.fault(item.line, "queue-type-unused", text);
            }
        }
    }
}

/// Reads the properties of a type.
struct Reader<'r> {
    item: &'r Item,
    /// The line for errors: that of the queue with this type.
    line: usize,
    reading: &'r mut Reading,
    whole: bool,
}

impl Reader<'_> {
    fn number(&mut self, key: &str, units: &Units, default: f64) -> f64 {
        let Some(text) = self.item.get(key).filter(|t| !t.is_empty()) else { return default };
        match quantity(text, None, units) {
            Ok((value, _)) => value,
            Err(unread) => {
                let name = self.item.get("name").unwrap_or_default();
                let why = format!("queue type {name}: {}", unread.why(text, units));
                self.reading.refuse(self.line, format!("{key}={text}"), why);
                self.whole = false;
                default
            }
        }
    }

    fn count(&mut self, key: &str, default: u64) -> u64 {
        (self.number(key, COUNTS, default as f64) as u64).max(1)
    }

    /// Bytes; a number without a unit is multiplied by `unit`.
    fn size(&mut self, key: &str, unit: f64, default: f64) -> Bytes {
        let mut units = SIZES.to_vec();
        units.push(("", unit));
        Bytes::new((self.number(key, &units, default) as u64).max(1))
    }

    fn time(&mut self, key: &str, default: Span) -> Span {
        let Some(text) = self.item.get(key) else { return default };
        match super::limit::seconds(text) {
            Some(seconds) => Span::from_secs_f64(seconds),
            None => {
                self.reading.refuse(
                    self.line,
                    format!("{key}={text}"),
                    format!("`{key}` is `{text}`: not a time"),
                );
                self.whole = false;
                default
            }
        }
    }

    fn below(&mut self) -> Below {
        let queue = |queue: QueueConfig| Below { queue: Some(queue), ..Below::default() };
        let packets = |packets: u64| QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None });
        match self.item.get("kind").unwrap_or("pfifo") {
            "pfifo" => queue(packets(self.count("pfifo-limit", 50))),
            "mq-pfifo" => queue(packets(self.count("mq-pfifo-limit", 50))),
            "bfifo" => {
                let bytes = self.size("bfifo-limit", 1.0, 15_000.0);
                queue(QueueConfig::Fifo(Fifo { packets: None, bytes: Some(bytes) }))
            }
            "sfq" => {
                let quantum = self.count("sfq-allot", 1514).clamp(256, 1 << 20) as u32;
                queue(QueueConfig::Drr(Drr { packets: 128, quantum }))
            }
            "red" => {
                let limit = self.count("red-limit", 60);
                let max = self.count("red-max-threshold", 50).max(2);
                let min = self.count("red-min-threshold", 10).min(max - 1);
                queue(QueueConfig::Red(Red { packets: limit, min, max, ..Red::default() }))
            }
            "pcq" => self.pcq(),
            "codel" => {
                let d = CoDel::default();
                let (target, interval) =
                    (self.time("codel-target", d.target), self.time("codel-interval", d.interval));
                let ecn = self.item.get("codel-ecn") == Some("yes");
                queue(QueueConfig::CoDel(CoDel {
                    packets: self.count("codel-limit", 1000),
                    target,
                    interval,
                    ecn,
                }))
            }
            "fq-codel" => {
                let d = FqCoDel::default();
                queue(QueueConfig::FqCoDel(FqCoDel {
                    packets: self.count("fq-codel-limit", 10_240),
                    flows: self.count("fq-codel-flows", 1024).min(65_536) as u32,
                    quantum: self.count("fq-codel-quantum", 1514).clamp(256, 1 << 20) as u32,
                    target: self.time("fq-codel-target", d.target),
                    interval: self.time("fq-codel-interval", d.interval),
                    ecn: self.item.get("fq-codel-ecn") != Some("no"),
                }))
            }
            "cake" => {
                let rate = self.number("cake-bandwidth", RATES, 0.0) as u64;
                self.reading.assume("cake as FQ-CoDel: no tins, no host isolation");
                let ecn = FqCoDel { ecn: true, ..FqCoDel::default() };
                Below {
                    queue: Some(QueueConfig::FqCoDel(ecn)),
                    rate: Some(rate).filter(|r| *r > 0),
                    one_by_one: true,
                }
            }
            other => {
                let why = format!("unknown queue type `{other}`: its queue is unknown");
                self.reading.unknown(self.line, other, why);
                Below::default()
            }
        }
    }

    /// One address of a `pcq`.
    fn pcq(&mut self) -> Below {
        // In KiB without a unit (in packets before version 6.35).
        let limit = self.size("pcq-limit", 1024.0, 50.0 * 1024.0);
        let rate = self.number("pcq-rate", RATES, 0.0) as u64;
        if self.number("pcq-burst-rate", RATES, 0.0) > 0.0 {
            self.reading.unknown(
                self.line,
                "pcq-burst-rate",
                "bursts of the addresses of a pcq are not simulated",
            );
        }
        self.reading.assume(
            "one address behind each pcq: further addresses would have separate queues and share the rest",
        );
        let queue = QueueConfig::Fifo(Fifo { packets: None, bytes: Some(limit) });
        Below { queue: Some(queue), rate: Some(rate).filter(|r| *r > 0), one_by_one: false }
    }
}
