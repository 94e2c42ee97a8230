//! Converts an `htb` with its classes to the element of that name.

use super::hfsc;
use super::leaf;
use super::model::{ClassId, TcClass, TcModel, TcQdisc};
use crate::number::FRAME;
use crate::{Credit, DraftStage, Reading, number};
use path::{Class, Htb};
use std::collections::{BTreeMap, BTreeSet};
use units::Rate;

/// A leaf with the codepoint of its packets.
pub(crate) struct HtbLeaf {
    pub id: ClassId,
    /// The codepoint of its flow.
    pub dscp: u8,
    /// The matches of its filters.
    pub says: String,
}

/// Maximum leaves, because each needs a codepoint.
const MAX_LEAVES: usize = 63;

/// A device's tree.
pub(crate) struct Tree {
    pub stage: DraftStage,
    pub leaves: Vec<HtbLeaf>,
    /// Whether unmatched traffic has no limit.
    pub leaks: bool,
}

/// The tree of a device; `None` without classes.
pub(crate) fn htb(q: &TcQdisc, model: &TcModel, reading: &mut Reading) -> Option<Tree> {
    let mine: Vec<&TcClass> =
        model.classes.iter().filter(|c| c.device == q.device && c.id.major == q.handle).collect();
    let places: BTreeMap<ClassId, usize> = mine.iter().enumerate().map(|(i, c)| (c.id, i)).collect();
    let mut parents = Vec::new();
    for c in &mine {
        // The kernel also ignores a parent that does not exist; a class does not exist while it is created.
        let parent = c.parent.filter(|p| p.minor != 0 && *p != c.id);
        let place = parent.and_then(|p| places.get(&p).copied());
        if let (Some(p), None) = (parent, place) {
            reading.unknown(
                c.line,
                p.to_string(),
                format!("there is no class {p}: {} is attached to the root", c.id),
            );
        }
        parents.push(place);
    }
    // Without the discipline's own line the class of unmatched packets is unknown.
    let default = if q.is_missing { None } else { default_of(q, &mine, reading) };
    let leaks = default.is_none() && !q.is_missing && q.kind == "htb";
    let inner: BTreeSet<usize> = parents.iter().flatten().copied().collect();
    let (mut order, mut leaves) = (Vec::new(), Vec::new());
    for (i, class) in mine.iter().enumerate().filter(|(i, _)| !inner.contains(i)) {
        if leaves.len() == MAX_LEAVES {
            let why = format!("more than {MAX_LEAVES} classes cannot be distinguished by codepoint");
            reading.unknown(class.line, class.id.to_string(), why);
            continue;
        }
        // Ancestors first; a cycle is left out.
        let line: Vec<usize> = std::iter::successors(Some(i), |&c| parents[c]).take(10).collect();
        if line.len() > 8 {
            let why = "the tree is deeper than 8 levels or has a cycle".to_string();
            reading.unknown(class.line, class.id.to_string(), why);
            continue;
        }
        for c in line.into_iter().rev().filter(|c| *c != i) {
            if !order.contains(&c) {
                order.push(c);
            }
        }
        leaves.push(i);
    }
    // The default class takes the remaining packets, so it is the last.
    leaves.sort_by_key(|&i| Some(mine[i].id) == default);
    let mut marked =
        with_codepoints(q, model, &leaves.iter().map(|&i| mine[i].id).collect::<Vec<_>>(), default);
    let mut classes = Vec::new();
    let mut parts = BTreeMap::new();
    let r2q = q.options.count("r2q", reading).unwrap_or(10).max(1);
    for &i in order.iter().chain(&leaves) {
        let leaf = marked.iter().find(|l| l.id == mine[i].id && leaves.contains(&i));
        let Some(class) = class(mine[i], parents[i].map(|p| mine[p].id), leaf, default, reading) else {
            continue;
        };
        let quantum = match q.kind.as_str() {
            "htb" => quantum(mine[i], class.rate, r2q, leaf.is_some(), reading),
            _ => None,
        };
        let class = Class { quantum, ..class };
        parts.insert(class.name.clone(), mine[i].line);
        let below = leaf.and_then(|l| model.under(&q.device, l.id));
        classes.push(match below {
            Some(below) => leaf::with_below(class, below, model, reading),
            None => class,
        });
    }
    if classes.is_empty() {
        return None;
    }
    remove_orphans(&mut classes, reading, &parts);
    marked.retain(|l| classes.iter().any(|c| c.name == l.id.to_string()));
    if q.kind == "hfsc" {
        hfsc::settle(&mut classes, reading);
    }
    let mut stage = DraftStage::new(&q.kind, q.line, format!("{} of {}", q.kind, q.device), Htb { classes });
    stage.parts = parts;
    if q.kind == "hfsc" {
        stage = stage.with_credit(Credit::NoBucket);
    }
    Some(Tree { stage, leaves: marked, leaks })
}

/// Removes classes whose parent was not understood.
fn remove_orphans(classes: &mut Vec<Class>, reading: &mut Reading, lines: &BTreeMap<String, usize>) {
    let mut names: Vec<String> = Vec::new();
    classes.retain(|class| {
        let whole = class.parent.as_ref().is_none_or(|p| names.contains(p));
        if whole {
            names.push(class.name.clone());
        } else if let Some(line) = lines.get(&class.name) {
            reading.unknown(*line, class.name.clone(), "its parent was not understood");
        }
        whole
    });
}

/// The class of unmatched traffic.
fn default_of(q: &TcQdisc, mine: &[&TcClass], reading: &mut Reading) -> Option<ClassId> {
    let text = q.options.text("default").unwrap_or("0");
    let minor = u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let id = ClassId { major: q.handle, minor: minor? };
    let inner = mine.iter().find(|c| c.parent == Some(id)).map(|c| c.id);
    let what = match (id.minor, mine.iter().any(|c| c.id == id), inner) {
        (0, ..) => "no default class".into(),
        (_, false, _) => format!("the default class {id} does not exist"),
        // Linux `htb_classify` ignores a default class with a level above 0.
        (_, true, Some(child)) => format!("the default class {id} is an inner class ({child} is below it)"),
        (_, true, None) => return Some(id),
    };
    if !mine.is_empty() {
        let (fate, rule) = match q.kind.as_str() {
            "htb" => ("is sent at once, without a limit", "htb-default"),
            _ => ("is dropped", "hfsc-default"),
        };
        reading.fault(q.line, rule, format!("{what}: unmatched traffic {fate}"));
    }
    None
}

/// The leaves with their codepoints: that of the leaf's filter, or a free one; 0 for the default.
fn with_codepoints(
    q: &TcQdisc,
    model: &TcModel,
    leaves: &[ClassId],
    default: Option<ClassId>,
) -> Vec<HtbLeaf> {
    let filters = |id: ClassId| {
        (model.filters.iter()).filter(move |f| {
            f.device == q.device
                && f.to.is_some_and(|to| to.minor == id.minor && [0, id.major].contains(&to.major))
        })
    };
    let own: Vec<Option<u8>> =
        leaves.iter().map(|&id| filters(id).find_map(|f| f.dscp).filter(|_| Some(id) != default)).collect();
    let mut used: Vec<u8> = own.iter().flatten().copied().chain([0]).collect();
    let mut all = Vec::new();
    for (&id, own) in leaves.iter().zip(own) {
        let dscp = if Some(id) == default {
            0
        } else {
            let repeated = |d: &u8| all.iter().any(|l: &HtbLeaf| l.dscp == *d);
            let free = (1..64).find(|d| !used.contains(d)).unwrap_or(63);
            own.filter(|d| !repeated(d)).unwrap_or(free)
        };
        used.push(dscp);
        let says: Vec<&str> =
            filters(id).map(|f| f.says.as_str()).filter(|s| !s.is_empty()).take(4).collect();
        let says = match (says.is_empty(), Some(id) == default) {
            (_, true) => format!("class {id}, the default"),
            (true, _) => format!("class {id}"),
            _ => format!("class {id}: {}", says.join("; ")),
        };
        all.push(HtbLeaf { id, dscp, says });
    }
    all
}

fn class(
    c: &TcClass,
    parent: Option<ClassId>,
    leaf: Option<&HtbLeaf>,
    default: Option<ClassId>,
    reading: &mut Reading,
) -> Option<Class> {
    let Some(rate) = c.options.rate("rate", reading) else {
        if !c.options.has("rate") {
            reading.unknown(c.line, c.id.to_string(), "a class without `rate`");
        }
        return None;
    };
    let mut ceil = c.options.rate("ceil", reading);
    if let Some(low) = ceil.filter(|ceil| *ceil < rate) {
        let (low, high) = (number::rate(low.as_bps()), number::rate(rate.as_bps()));
        let text = format!("class {}: ceil {low} is below its rate {high}; the kernel uses the rate", c.id);
        reading.fault(c.line, "htb-ceil-below-rate", text);
        ceil = None;
    }
    let prio = c.options.count("prio", reading).unwrap_or(0);
    if prio > 7 {
        reading.unknown(c.line, prio.to_string(), "priorities are 0 to 7: 7 is used");
    }
    let size = |key: &str, reading: &mut Reading| c.options.size(key, reading).filter(|b| b.get() > 0);
    Some(Class {
        parent: parent.map(|p| p.to_string()),
        ceil,
        burst: size("burst", reading),
        cburst: size("cburst", reading),
        prio: prio.min(7) as u8,
        dscp: leaf.filter(|l| Some(l.id) != default).map(|l| vec![l.dscp]).unwrap_or_default(),
        ..Class::new(c.id.to_string(), rate)
    })
}

/// The effective quantum. Source: Linux `htb_change_class`, which has the same warnings.
fn quantum(c: &TcClass, rate: Rate, r2q: u64, leaf: bool, reading: &mut Reading) -> Option<u32> {
    let given = c.options.size("quantum", reading).map(|q| q.get());
    let derived = rate.as_bps() / 8 / r2q;
    if !leaf {
        return None;
    }
    match given {
        Some(q) if q < FRAME => {
            let text = format!("class {}: a quantum of {q} bytes is below a packet of 1514", c.id);
            reading.fault(c.line, "htb-quantum", text);
        }
        None if derived < 1000 => {
            let fit = (rate.as_bps() / 8 / FRAME).max(1);
            let text = format!(
                "class {}: rate / r2q = {derived} bytes is too small a quantum: the kernel takes 1000 and warns, and classes \
                 no longer share by their rates; `quantum 1514` or `r2q {fit}`",
                c.id
            );
            reading.fault(c.line, "htb-quantum", text);
        }
        None if derived > 200_000 => {
            let fit = rate.as_bps() / 8 / 60_000;
            let text = format!(
                "class {}: rate / r2q = {derived} bytes is too large a quantum: the kernel takes 200000 and warns, and a class \
                 sends that much before the next class is served; `quantum 60000` or `r2q {fit}`",
                c.id
            );
            reading.fault(c.line, "htb-quantum", text);
        }
        _ => {}
    }
    let q = given.unwrap_or(derived.clamp(1000, 200_000)).clamp(256, 1 << 30) as u32;
    (given.is_some() || r2q != 10).then_some(q)
}
