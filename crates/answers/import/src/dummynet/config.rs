//! `pipe|queue|sched N config …`: with units as `sbin/ipfw/dummynet.c` reads them.

use super::model::{Aqm, Dummynet, Kind, Object, Scheduler, Size, USUAL_SLOTS};
use crate::Reading;
use crate::number::{Units, Unread, quantity};
use path::queue::{CoDel, FqCoDel, Pie};
use path::{Loss, LossModel, QueueConfig};
use units::{Bytes, Span};

/// Rates, as listed in errors.
const RATES: &Units = &[
    ("bit/s", 1.0),
    ("Kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Byte/s", 8.0),
    ("KByte/s", 8e3),
    ("MByte/s", 8e6),
];
/// Words for bits per second, after K, M or G.
const BITS: [&str; 11] = ["", "b", "b/s", "bit", "bits", "bit/s", "bits/s", "bps", "Bit", "Bit/s", "Bits/s"];
/// Words for bytes per second: those that start with B but not Bi, or with by.
const BYTES: [&str; 11] =
    ["B", "B/s", "Bps", "Byte", "Bytes", "Byte/s", "Bytes/s", "byte", "bytes", "byte/s", "bytes/s"];
/// Queue sizes: K is 1024 bytes, a number without a unit is slots.
const SIZES: &Units = &[
    ("K", 1024.0),
    ("k", 1024.0),
    ("KB", 1024.0),
    ("Kbytes", 1024.0),
    ("kbytes", 1024.0),
    ("b", 1.0),
    ("bytes", 1.0),
];
const SLOTS: [&str; 4] = ["", "slots", "slot", "sl."];
/// `delay`: milliseconds.
const DELAYS: &Units = &[("", 1e6), ("ms", 1e6)];
/// Times of CoDel and PIE (`time_to_us`): milliseconds without a unit.
const TIMES: &Units = &[("", 1e6), ("ms", 1e6), ("us", 1e3), ("s", 1e9)];
/// `burst` (`expand_number`): powers of 1024.
const BURSTS: &Units = &[
    ("", 1.0),
    ("b", 1.0),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
];
const COUNTS: &Units = &[("", 1.0)];
/// The longest `delay`, ms.
const MAX_DELAY_MS: f64 = 10_000.0;
/// PIE's default target.
const PIE_TARGET: Span = Span::from_millis(15);
/// Fields of a mask, each followed by a value.
const MASKED: [&str; 11] = [
    "dst-ip", "src-ip", "dst-ip6", "src-ip6", "dst-ipv6", "src-ipv6", "dst-port", "src-port", "proto",
    "flow-id", "extra",
];

/// A configuration; it replaces the previous one of the number.
pub(super) fn configure(
    line: usize,
    kind: Kind,
    number: u32,
    words: &[String],
    model: &mut Dummynet,
    reading: &mut Reading,
) {
    let mut config = Config { object: Object::new(kind, number, line), words, at: 0, reading };
    config.read();
    let object = config.object;
    limits(&object, model, reading);
    model.put(object);
}

/// Reports a queue that ipfw rejects, so that the whole command fails.
fn limits(object: &Object, model: &Dummynet, reading: &mut Reading) {
    let (size, most, unit, key) = match object.size {
        Size::Slots(n) => (n, model.most_slots, "slots", "pipe_slot_limit"),
        Size::Bytes(n) => (n, model.most_bytes, "bytes", "pipe_byte_limit"),
    };
    if size > most {
        let text = format!(
            "{}: a queue of {size} {unit} is above net.inet.ip.dummynet.{key} ({most}): ipfw rejects the command unless the sysctl \
             is raised first",
            object.says()
        );
        reading.fault(object.line, "pipe-limit", text);
    }
}

/// A rate as ipfw reads it, bit/s.
pub(super) fn bandwidth(text: &str) -> Result<u64, Unread> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().map_err(|_| Unread::NotANumber)?;
    let unit = &text[end..];
    let refused = || Unread::Unit(unit.into());
    let (scale, rest) = match unit.chars().next() {
        Some('k' | 'K') => (1_000, &unit[1..]),
        Some('m' | 'M') => (1_000_000, &unit[1..]),
        Some('g' | 'G') => (1_000_000_000, &unit[1..]),
        _ => (1, unit),
    };
    let bits = if BITS.contains(&rest) {
        1
    } else if BYTES.contains(&rest) {
        8
    } else {
        return Err(refused());
    };
    number.checked_mul(scale * bits).filter(|bps| *bps < 1 << 50).ok_or(Unread::NotANumber)
}

/// `ecn` or `noecn` as a switch.
fn marks(key: &str) -> Option<bool> {
    ["ecn", "noecn"].contains(&key).then_some(key == "ecn")
}

/// Reads the words of one configuration.
struct Config<'r> {
    object: Object,
    words: &'r [String],
    at: usize,
    reading: &'r mut Reading,
}

impl<'r> Config<'r> {
    fn next(&mut self) -> Option<&'r str> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    fn refuse(&mut self, key: &str, text: &str, why: impl Into<String>) {
        self.object.is_whole = false;
        self.reading.refuse(self.object.line, format!("{key} {text}"), why);
    }

    /// The value of a key, in the base unit of `units`.
    fn value(&mut self, key: &str, units: &Units) -> Option<f64> {
        let Some(text) = self.next() else {
            self.refuse(key, "", format!("`{key}` has no value"));
            return None;
        };
        match quantity(text, None, units) {
            Ok((value, _)) => Some(value),
            Err(unread) => {
                self.refuse(key, text, unread.why(text, units));
                None
            }
        }
    }

    fn count(&mut self, key: &str) -> Option<u64> {
        self.value(key, COUNTS).map(|n| n as u64)
    }

    fn time(&mut self, key: &str) -> Option<Span> {
        self.value(key, TIMES).map(|nanos| Span::from_nanos(nanos as u64))
    }

    fn read(&mut self) {
        while let Some(key) = self.next() {
            match key {
                "bw" | "bandwidth" => self.rate(key),
                "delay" => {
                    let Some(nanos) = self.value(key, DELAYS) else { continue };
                    if nanos > MAX_DELAY_MS * 1e6 {
                        self.refuse(
                            key,
                            "",
                            format!("`delay` is {} ms: ipfw accepts at most 10000", nanos / 1e6),
                        );
                    }
                    self.object.delay = Span::from_nanos(nanos as u64);
                }
                "queue" => self.size(),
                "plr" => self.loss(),
                "burst" => {
                    let bytes = self.value(key, BURSTS).filter(|b| *b >= 1.0);
                    self.object.burst = bytes.map(|b| Bytes::new(b as u64));
                }
                "weight" => {
                    if let Some(weight) = self.count(key) {
                        self.object.weight = weight.clamp(1, 100) as u32;
                    }
                }
                "pipe" | "sched" | "link" => {
                    self.object.pipe = self.count(key).map(|n| n.min(u64::from(u32::MAX)) as u32);
                }
                "mask" | "flow_mask" | "sched_mask" => self.mask(),
                "buckets" | "lmax" | "maxlen" | "pri" | "priority" => drop(self.count(key)),
                "droptail" => self.object.aqm = Aqm::DropTail,
                "noerror" => {}
                "ecn" => self.object.ecn = true,
                "red" | "gred" => self.red(key == "gred"),
                "type" => {
                    let name = self.next().unwrap_or_default().to_ascii_lowercase();
                    self.scheduler(&name);
                }
                "codel" | "pie" => self.aqm(key),
                "fq_codel" | "fq_pie" => self.scheduler(key),
                "profile" => {
                    let file = self.next().unwrap_or_default();
                    let why = "a profile of extra delays is not simulated: real packets take longer";
                    self.reading.unknown(self.object.line, format!("profile {file}"), why);
                }
                other => {
                    let why = format!(
                        "`{other}` is not an option of {}: ipfw rejects the command",
                        self.object.says()
                    );
                    self.refuse(other, "", why);
                }
            }
        }
    }

    fn rate(&mut self, key: &str) {
        let text = self.next().unwrap_or_default();
        let is_device = text.starts_with(|c: char| c.is_ascii_lowercase());
        let behind = self.words.get(self.at).map(String::as_str).unwrap_or_default();
        let is_unit = bandwidth(&format!("1{behind}")).is_ok() && !behind.is_empty();
        match bandwidth(text) {
            _ if is_device => {
                let why = format!("the rate is that of the device `{text}`, which the text does not state");
                self.refuse(key, text, why);
            }
            _ if text.contains('.') => {
                let whole = text.split('.').next().unwrap_or_default();
                self.refuse(
                    key,
                    text,
                    format!("ipfw reads integers only: it takes `{text}` as {whole} bit/s"),
                );
            }
            Ok(_) if is_unit => {
                self.at += 1;
                let why =
                    format!("`{text} {behind}`: the unit must follow the number without a space (ipfw(8))");
                self.refuse(key, text, why);
            }
            Ok(bps) => self.object.bw = Some(bps).filter(|b| *b > 0),
            Err(unread) => self.refuse(key, text, unread.why(text, RATES)),
        }
    }

    fn size(&mut self) {
        let text = self.next().unwrap_or_default();
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let slots = text[..end].parse::<u64>().ok().filter(|_| SLOTS.contains(&&text[end..]));
        self.object.size = match slots {
            // 0 is the kernel's default.
            Some(0) => Size::Slots(USUAL_SLOTS),
            Some(slots) => Size::Slots(slots),
            None => match quantity(text, None, SIZES) {
                Ok((bytes, _)) => Size::Bytes(bytes as u64),
                Err(unread) => {
                    let why = format!("{}; without a unit: slots", unread.why(text, SIZES));
                    return self.refuse("queue", text, why);
                }
            },
        };
    }

    fn loss(&mut self) {
        let text = self.next().unwrap_or_default();
        let shares: Option<Vec<f64>> =
            text.split(',').map(|p| p.parse().ok().filter(|p: &f64| *p >= 0.0)).collect();
        match shares.as_deref() {
            Some([share]) => {
                if *share > 1.0 {
                    let text = format!(
                        "{}: plr {share} is a fraction, not a percentage: ipfw takes it as 1, and every packet is lost",
                        self.object.says()
                    );
                    self.reading.fault(self.object.line, "loss-percent", text);
                }
                let probability = Some(share.min(1.0)).filter(|p| *p > 0.0);
                self.object.loss = probability.map(|_| Loss { probability, ..Loss::default() });
            }
            Some([k, p, h, r]) if [k, p, h, r].iter().all(|share| **share <= 1.0) => {
                let (p, r, loss_bad, loss_good) = (Some(*p), Some(*r), Some(*h), Some(*k));
                let model = LossModel::GilbertElliott;
                self.object.loss = Some(Loss { model, p, r, loss_bad, loss_good, ..Loss::default() });
            }
            _ => self.refuse(
                "plr",
                text,
                format!("`{text}` is not a fraction (0 to 1), or four of them (K,p,H,r)"),
            ),
        }
    }

    fn mask(&mut self) {
        while let Some(field) = self.words.get(self.at).map(String::as_str) {
            match field {
                "all" | "queue" => {
                    self.at += 1;
                    self.object.is_masked = true;
                    return;
                }
                _ if MASKED.contains(&field) => {
                    let value = self.words.get(self.at + 1).map(String::as_str).unwrap_or_default();
                    self.object.is_masked |= !["0", "0x0", "/0", "0x00000000", ""].contains(&value);
                    self.at += 2;
                }
                _ => return,
            }
        }
    }

    fn red(&mut self, gentle: bool) {
        let text = self.next().unwrap_or_default();
        let parts: Vec<&str> = text.split('/').collect();
        let threshold =
            |text: &str| quantity(text, None, &[("", 1.0), ("k", 1024.0)]).ok().map(|(n, _)| n as u64);
        let share = |text: &str| text.parse::<f64>().ok().filter(|s| (0.0..=1.0).contains(s));
        let read = match parts.as_slice() {
            [w, min, max, p] => {
                share(w).filter(|w| *w > 0.0).zip(threshold(min)).zip(threshold(max).zip(share(p)))
            }
            _ => None,
        };
        match read {
            Some(((weight, min), (max, max_probability))) if min < max => {
                self.object.aqm = Aqm::Red { weight, min, max, max_probability, gentle };
            }
            _ => self.refuse(
                "red",
                text,
                format!("`{text}` is not w_q/min_th/max_th/max_p with min_th below max_th"),
            ),
        }
    }

    fn scheduler(&mut self, name: &str) {
        self.object.scheduler = Some(match name {
            "fifo" => Scheduler::Fifo,
            "wf2q+" | "rr" | "qfq" | "prio" => {
                if name == "prio" {
                    let why = "queue priorities are not simulated; weights are used instead";
                    self.reading.unknown(self.object.line, "type prio", why);
                }
                Scheduler::Weighted
            }
            "fq_codel" | "fq_pie" => {
                let mut flows = FqCoDel::default();
                if name == "fq_pie" {
                    flows.target = PIE_TARGET;
                    self.reading.assume("fq_pie as FQ-CoDel with PIE's target: real drops differ");
                }
                // All words after it are its parameters (ipfw(8)).
                self.parameters(|config, key| match key {
                    "target" => config.time(key).map(|t| flows.target = t),
                    "interval" => config.time(key).map(|t| flows.interval = t),
                    "quantum" => config.count(key).map(|n| flows.quantum = n.clamp(256, 9000) as u32),
                    "limit" => config.count(key).map(|n| flows.packets = n.clamp(1, 20_480)),
                    "flows" => config.count(key).map(|n| flows.flows = n.clamp(1, 65_536) as u32),
                    _ => marks(key).map(|marks| flows.ecn = marks),
                });
                Scheduler::Flows(flows)
            }
            other => {
                let why =
                    format!("unknown scheduler `{other}` (known: fifo, wf2q+, rr, qfq, fq_codel, fq_pie)");
                return self.refuse("type", other, why);
            }
        });
    }

    fn aqm(&mut self, name: &str) {
        if name == "codel" {
            let mut codel = CoDel::default();
            self.parameters(|config, key| match key {
                "target" => config.time(key).map(|t| codel.target = t),
                "interval" => config.time(key).map(|t| codel.interval = t),
                _ => marks(key).map(|marks| codel.ecn = marks),
            });
            self.object.aqm = Aqm::Of(QueueConfig::CoDel(codel));
            return;
        }
        let mut pie = Pie::default();
        self.parameters(|config, key| match key {
            "target" => config.time(key).map(|t| pie.target = t),
            "tupdate" => config.time(key).map(|t| pie.update = t),
            "max_burst" => config.time(key).map(|t| pie.burst = t),
            "alpha" => config.value(key, COUNTS).map(|n| pie.alpha = n),
            "beta" => config.value(key, COUNTS).map(|n| pie.beta = n),
            _ => marks(key).map(|marks| pie.ecn = marks),
        });
        self.object.aqm = Aqm::Of(QueueConfig::Pie(pie));
    }

    /// Reads the remaining words as parameters: `take` reads the value of one it knows. Words that ipfw
    /// ignores with a message are reported.
    fn parameters(&mut self, mut take: impl FnMut(&mut Config<'r>, &str) -> Option<()>) {
        const WITH_VALUE: [&str; 1] = ["max_ecnth"];
        const WITHOUT_VALUE: [&str; 10] = [
            "capdrop",
            "nocapdrop",
            "onoff",
            "dre",
            "ts",
            "derand",
            "noderand",
            "drand",
            "nodrand",
            "droptail",
        ];
        while let Some(key) = self.next() {
            let before = self.at;
            if take(self, key).is_some() || WITHOUT_VALUE.contains(&key) || !self.object.is_whole {
                continue;
            }
            if WITH_VALUE.contains(&key) {
                self.at = before + 1;
                continue;
            }
            let why =
                format!("`{key}` follows the scheduler or the queue's algorithm, where ipfw ignores it");
            self.reading.unknown(self.object.line, key, why);
        }
    }
}
