//! The model of a tc configuration: queueing disciplines, classes and filters with their lines.

use super::options::Options;
use crate::Reading;
use std::fmt;
use units::{Bytes, Rate};

/// A class ID, `major:minor`, both hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClassId {
    pub major: u32,
    pub minor: u32,
}

impl ClassId {
    /// Parses `1:10`, `1:`, `1` or `:10` (with major 0).
    pub fn parse(text: &str) -> Option<ClassId> {
        let (major, minor) = text.split_once(':').unwrap_or((text, ""));
        let half = |text: &str| match text {
            "" => Some(0),
            text => u32::from_str_radix(text.trim_start_matches("0x"), 16).ok().filter(|n| *n <= 0xffff),
        };
        (!text.is_empty()).then_some(ClassId { major: half(major)?, minor: half(minor)? })
    }
}

impl fmt::Display for ClassId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}:", self.major)?;
        if self.minor > 0 { write!(f, "{:x}", self.minor) } else { Ok(()) }
    }
}

/// The place of a discipline or filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TcPlace {
    /// The device's egress.
    Root,
    /// The device's ingress.
    Ingress,
    /// Below a class, or below a discipline (minor 0).
    Under(ClassId),
}

/// Counters of a discipline or a class, as `tc -s` prints them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TcStats {
    /// Line number of the first counter.
    pub line: usize,
    pub bytes: u64,
    pub packets: u64,
    pub dropped: u64,
    /// The kernel's estimate of the rate, bit/s (`tc -s` with an estimator).
    pub rate: Option<f64>,
    pub backlog_bytes: u64,
    pub backlog_packets: u64,
    /// Packets larger than the class's MTU.
    pub giants: u64,
}

/// A queueing discipline.
#[derive(Clone, Debug)]
pub(crate) struct TcQdisc {
    pub stats: Option<TcStats>,
    /// The text has only the discipline's classes ([`TcModel::add_missing`]).
    pub is_missing: bool,
    pub line: usize,
    pub device: String,
    pub handle: u32,
    pub place: TcPlace,
    pub kind: String,
    pub options: Options,
}

/// A class.
#[derive(Clone, Debug)]
pub(crate) struct TcClass {
    /// `htb` or `hfsc`.
    pub kind: &'static str,
    pub stats: Option<TcStats>,
    pub line: usize,
    pub device: String,
    pub id: ClassId,
    /// The parent class; `None` at the root.
    pub parent: Option<ClassId>,
    pub options: Options,
}

/// A `police` action.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TcPolice {
    pub line: usize,
    pub rate: Option<Rate>,
    pub burst: Option<Bytes>,
    pub peak_rate: Option<Rate>,
    pub mtu: Option<Bytes>,
    /// The action for excess packets: `drop`, `reclassify`, …
    pub exceed: Option<String>,
}

/// A filter.
#[derive(Clone, Debug)]
pub(crate) struct TcFilter {
    pub line: usize,
    pub device: String,
    pub place: TcPlace,
    /// The match as written.
    pub says: String,
    /// Whether the filter matches all packets.
    pub all: bool,
    pub dscp: Option<u8>,
    pub to: Option<ClassId>,
    pub police: Option<TcPolice>,
    /// The device to which packets are redirected.
    pub redirect: Option<String>,
}

/// The configuration of a text.
#[derive(Default)]
pub(crate) struct TcModel {
    pub qdiscs: Vec<TcQdisc>,
    pub classes: Vec<TcClass>,
    pub filters: Vec<TcFilter>,
}

/// Maximum qdiscs, classes and filters each.
pub(crate) const MAX_PARTS: usize = 4096;

impl TcModel {
    /// Adds disciplines that are missing from the text although their classes are in it.
    pub fn add_missing(&mut self, reading: &mut Reading) {
        for c in &self.classes {
            let known = |q: &TcQdisc| q.device == c.device && q.handle == c.id.major;
            if self.qdiscs.iter().any(known) {
                continue;
            }
            let why = format!(
                "htb {:x}: of {} is missing from the text, so the class of unmatched packets is unknown",
                c.id.major, c.device
            );
            reading.unknown(c.line, c.id.to_string(), why);
            let (line, device, options) = (c.line, c.device.clone(), Options::none(c.line));
            let (handle, place, kind) = (c.id.major, TcPlace::Root, c.kind.to_string());
            self.qdiscs.push(TcQdisc {
                stats: None,
                is_missing: true,
                line,
                device,
                handle,
                place,
                kind,
                options,
            });
        }
    }

    /// Devices in the order of their first mention.
    pub fn devices(&self) -> Vec<&str> {
        let mut all: Vec<(usize, &str)> = Vec::new();
        let qdiscs = self.qdiscs.iter().map(|q| (q.line, q.device.as_str()));
        let classes = self.classes.iter().map(|c| (c.line, c.device.as_str()));
        let filters = self.filters.iter().map(|f| (f.line, f.device.as_str()));
        for (line, device) in qdiscs.chain(classes).chain(filters) {
            match all.iter().position(|(_, d)| *d == device) {
                Some(at) => all[at].0 = line.min(all[at].0),
                None if all.len() < 200 => all.push((line, device)),
                None => {}
            }
        }
        all.sort_by_key(|(line, _)| *line);
        all.into_iter().map(|(_, device)| device).collect()
    }

    /// The effective discipline at a place of a device: the one set last.
    pub fn at(&self, device: &str, place: TcPlace) -> Option<&TcQdisc> {
        self.qdiscs.iter().rev().find(|q| q.device == device && q.place == place)
    }

    /// The discipline below a class, or below a discipline of which only the handle is known.
    pub fn under(&self, device: &str, id: ClassId) -> Option<&TcQdisc> {
        self.at(device, TcPlace::Under(id))
    }
}
