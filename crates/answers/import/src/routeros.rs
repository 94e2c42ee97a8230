//! MikroTik RouterOS: simple queues, queue trees, queue types and rate limits of users, as `export` and
//! `print` show them, or as commands.
//!
//! | RouterOS | here | departures |
//! |---|---|---|
//! | `max-limit=UP/DOWN` of a simple queue | `shaper` in each direction: upload comes from the target | |
//! | `bucket-size` (default 0.1), times `max-limit` | its bucket | |
//! | `burst-limit`, `burst-threshold`, `burst-time` | a bucket that drains at `burst-limit`, for burst-time · threshold / limit | it refills as soon as the queue is idle, not once the average is below the threshold |
//! | queues with a `parent` | `htb`: `limit-at` is the rate, `max-limit` the ceil, `priority` the `prio` | bursts of children |
//! | `queue tree` | the same, in one direction: what leaves the parent interface | |
//! | `pfifo`, `bfifo`, `sfq`, `red`, `codel`, `fq-codel`, `cake` | the queue | cake: no tins |
//! | `pcq` | one of its addresses: at most `pcq-rate`, a queue of `pcq-limit` | other addresses share |
//! | `total-max-limit`, `time` | not simulated | |
//! | `rate-limit` of a profile, a lease, a user | a simple queue | |
//!
//! Numbers are bit/s; `k M G` are powers of 1000. Source: help.mikrotik.com "Queues" (properties, default
//! types: `default-small` holds 10 packets, `default` 50), "HTB (Hierarchical Token Bucket)" (capacity =
//! bucket-size · max-limit), "Queue Burst"; wiki "Manual:RADIUS Client" (`Rate-Limit`).

mod limit;
mod read;
mod types;

use crate::{Assumed, BoxPort, Draft, DraftStage, Foreign, ImportError, ImportSource, PortFlow, Reading};
use limit::{Side, stage_of};
use path::{Class, Htb};
use read::{Item, Menu};
use std::collections::BTreeMap;
use types::QueueTypes;
use units::Rate;

/// MikroTik RouterOS.
pub(crate) struct RouterOs;

/// The name of the configured host.
const HERE: &str = "router";
/// Levels of nested queues: RouterOS has eight, including the interface's own.
const MAX_LEVELS: usize = 7;
/// The most leaves of a tree: one codepoint each.
const MAX_LEAVES: usize = 63;
/// The most queues in a text.
const MAX_QUEUES: usize = 300;
/// The guarantee of a child without `limit-at`: almost nothing, as an `htb` class must have a rate.
const NO_GUARANTEE: u64 = 8_000;

impl Foreign for RouterOs {
    const TITLE: &'static str = "MikroTik RouterOS";
    const LOOKS_FOR: &'static str = "/queue simple and /queue tree with `max-limit`, /queue type with a rate, `rate-limit` of profiles and leases";

    fn looks_like(text: &str) -> usize {
        let own = |line: &&str| {
            let line = line.trim_start();
            let menu = line.strip_prefix('/').is_some_and(|l| l.starts_with("queue"));
            let words = [
                "max-limit=",
                "burst-threshold=",
                "pcq-rate=",
                "rate-limit=",
                "pcq-classifier=",
                "limit-at=",
            ];
            menu || words.iter().any(|w| line.contains(w))
        };
        text.lines().filter(own).count() * 2
    }

    fn read(source: &ImportSource, _assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let items = read::items(source.text, reading);
        let mut types = QueueTypes::new(&items);
        let mut draft = Draft::default();
        for menu in [Menu::Simple, Menu::Tree] {
            let queues: Vec<&Item> = items.iter().filter(|i| i.menu == menu).take(MAX_QUEUES).collect();
            let queues = queues_of(&queues, reading);
            let mut part = if menu == Menu::Simple {
                simple(&queues, &mut types, reading)
            } else {
                tree(&queues, &mut types, reading)
            };
            draft.links.append(&mut part.links);
            draft.flows.append(&mut part.flows);
        }
        types.unused(reading);
        Ok(draft)
    }
}

/// A queue with the values of each of its sides.
struct Queue<'i> {
    item: &'i Item,
    name: String,
    parent: Option<String>,
    /// Upload and download; a queue of a tree has only the first.
    sides: [Option<Side>; 2],
}

/// The enabled queues, with their values.
fn queues_of<'i>(items: &[&'i Item], reading: &mut Reading) -> Vec<Queue<'i>> {
    let mut all: Vec<Queue> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let name = item.get("name").map_or_else(|| format!("queue{}", n + 1), str::to_string);
        if item.is_disabled() {
            reading.fact(item.line, format!("queue {name} is disabled and has no effect"));
            continue;
        }
        let parent = item.get("parent").filter(|p| !["none", ""].contains(p)).map(str::to_string);
        limit::not_simulated(item, reading);
        let sides = limit::sides(item, &name, reading);
        limit::counters(item, &name, &sides, reading);
        all.push(Queue { item, name, parent, sides });
    }
    all
}

/// Simple queues: each one without a parent is a separate path between its target and what is behind the
/// router.
fn simple(queues: &[Queue], types: &mut QueueTypes, reading: &mut Reading) -> Draft {
    let mut draft = Draft::default();
    let mut targets: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for (n, root) in queues.iter().enumerate() {
        if root.parent.as_ref().is_some_and(|p| queues.iter().any(|q| q.name == *p && limits(q))) {
            continue;
        }
        if let Some(parent) = &root.parent
            && !queues.iter().any(|q| q.name == *parent)
        {
            reading.unknown(root.item.line, parent.clone(), format!("the text has no queue `{parent}`"));
        }
        // The first queue with a target gets all packets of the target.
        if root.parent.is_none() && root.item.catches_all_of_its_target() {
            let target = root.item.target();
            if let Some((first, line)) = targets.get(target).filter(|_| !target.is_empty()) {
                let text = format!(
                    "queue {} is never reached: {first} (line {line}) comes first and has the same target {target}",
                    root.name
                );
                reading.fault(root.item.line, "queue-never-reached", text);
                continue;
            }
            targets.insert(target.to_string(), (&root.name, root.item.line));
        }
        let mut port = BoxPort { name: root.name.clone(), ..BoxPort::default() };
        for side in 0..2 {
            let Some((stage, flows)) = limited(n, side, queues, types, reading) else { continue };
            let (stages, all) = match side {
                0 => (&mut port.into, &mut port.into_flows),
                _ => (&mut port.out, &mut port.out_flows),
            };
            stages.push(stage);
            all.extend(flows);
        }
        // Queues of two targets are two paths, even if the targets exchange packets.
        let mut path = Draft::of_box(HERE, vec![port], reading);
        draft.links.append(&mut path.links);
        draft.flows.append(&mut path.flows);
    }
    draft
}

/// Queue trees: the packets that leave an interface or, below `global`, one direction of the marked packets.
fn tree(queues: &[Queue], types: &mut QueueTypes, reading: &mut Reading) -> Draft {
    let mut ports: Vec<BoxPort> = Vec::new();
    for (n, root) in queues.iter().enumerate() {
        let parent = root.parent.as_deref().unwrap_or("global");
        if queues.iter().any(|q| q.name == parent && limits(q)) {
            continue;
        }
        let Some((stage, flows)) = limited(n, 0, queues, types, reading) else { continue };
        let of_all = ["global", "global-in", "global-out", "global-total"].contains(&parent);
        let name =
            if of_all || queues.iter().any(|q| q.name == parent) { root.name.as_str() } else { parent };
        if of_all {
            reading.assume(
                "a tree below `global` limits one direction: two such trees are the two directions of a path",
            );
        }
        // A second tree of the same interface has different packets: a separate path.
        let taken = ports.iter().any(|p| p.name == name);
        let name = if taken { root.name.clone() } else { name.to_string() };
        ports.push(BoxPort { name, out: vec![stage], out_flows: flows, ..BoxPort::default() });
    }
    Draft::of_box(HERE, ports, reading)
}

/// Whether a queue limits its children.
fn limits(queue: &Queue) -> bool {
    queue.sides.iter().flatten().any(|s| s.max_limit.is_some())
}

/// One side of a queue and its descendants: a shaper, or a tree with a flow for each leaf.
fn limited(
    root: usize,
    side: usize,
    queues: &[Queue],
    types: &mut QueueTypes,
    reading: &mut Reading,
) -> Option<(DraftStage, Vec<PortFlow>)> {
    let queue = &queues[root];
    let own = queue.sides[side].as_ref()?;
    let direction = own.direction;
    let has_children = queues.iter().any(|q| q.parent.as_deref() == Some(&queue.name));
    if !has_children || own.max_limit.is_none() {
        let stage = stage_of(queue.item.line, &queue.name, own, types, reading)?;
        let flow = PortFlow { name: direction.into(), dscp: 0, says: stage.says.clone() };
        return Some((stage, vec![flow]));
    }
    let mut tree = Tree { side, queues, classes: Vec::new(), parts: BTreeMap::new(), flows: Vec::new() };
    tree.add(root, None, 0, types, reading);
    let says = format!("queue {} and its children, {direction}", queue.name);
    let mut stage = DraftStage::new("queues", queue.item.line, says, Htb { classes: tree.classes });
    stage.parts = tree.parts;
    Some((stage.with_credit(crate::Credit::CarriesOver), tree.flows))
}

/// A tree of queues under construction.
struct Tree<'q, 'i> {
    side: usize,
    queues: &'q [Queue<'i>],
    classes: Vec<Class>,
    parts: BTreeMap<String, usize>,
    flows: Vec<PortFlow>,
}

impl Tree<'_, '_> {
    /// Adds a queue as a class, then its children.
    fn add(
        &mut self,
        n: usize,
        parent: Option<(&str, u64)>,
        level: usize,
        types: &mut QueueTypes,
        reading: &mut Reading,
    ) {
        let queue = &self.queues[n];
        let name = queue.name.clone();
        if level >= MAX_LEVELS || self.parts.contains_key(&name) {
            return reading.unknown(queue.item.line, name, "queues are nested too deeply, or in a cycle");
        }
        let Some(own) = queue.sides[self.side].clone() else { return };
        let above = parent.map_or(u64::MAX, |(_, ceil)| ceil);
        let ceil = own.max_limit.unwrap_or(above).min(above);
        let children: Vec<usize> = (0..self.queues.len())
            .filter(|&i| i != n && self.queues[i].parent.as_deref() == Some(&name))
            .collect();
        let rate = match own.limit_at {
            _ if parent.is_none() => ceil,
            Some(rate) => rate.min(ceil),
            None => NO_GUARANTEE.min(ceil),
        };
        if parent.is_some() && own.burst.is_some() {
            reading.unknown(queue.item.line, "burst-limit", "bursts of child queues are not simulated");
        }
        let leaf = children.is_empty();
        if leaf && self.flows.len() == MAX_LEAVES {
            let why =
                format!("at most {MAX_LEAVES} queues below one are simulated: each needs its own codepoint");
            return reading.unknown(queue.item.line, name, why);
        }
        let bucket = own.bucket_of(ceil);
        let dscp = if leaf { vec![self.flows.len() as u8 + 1] } else { vec![] };
        let below = if leaf { types.queue(&own.queue, queue.item.line, reading) } else { Default::default() };
        let ceil = below.rate.map_or(ceil, |most| most.min(ceil));
        self.classes.push(Class {
            parent: parent.map(|(name, _)| name.into()),
            ceil: Some(Rate::from_bps(ceil)),
            burst: Some(bucket),
            cburst: Some(bucket),
            prio: own.priority.clamp(1, 8) - 1,
            quantum: leaf.then_some(1514),
            dscp: dscp.clone(),
            queue: below.queue,
            ..Class::new(name.clone(), Rate::from_bps(rate.min(ceil)))
        });
        self.parts.insert(name.clone(), queue.item.line);
        if let Some(dscp) = dscp.first() {
            let says = format!("queue {name}, {}{}", own.direction, queue.item.matches());
            self.flows.push(PortFlow { name: name.clone(), dscp: *dscp, says });
        }
        for child in children {
            self.add(child, Some((&name, ceil)), level + 1, types, reading);
        }
    }
}

#[cfg(test)]
mod tests;
