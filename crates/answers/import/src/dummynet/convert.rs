//! Converts pipes with their queues into stages of the directions given by the rules.

use super::model::{Aqm, Dummynet, Kind, Object, Scheduler, Size, USUAL_SLOTS};
use super::place::{MAX_CLASSES, Port, Target, ports};
use crate::number::{FRAME, PACKET};
use crate::{BoxPort, Credit, Draft, DraftStage, PortFlow, Reading, number};
use path::queue::{Fifo, Red};
use path::{Class, Delay, Htb, Link, QueueConfig, Shaper, Stage};
use std::collections::BTreeMap;
use units::{Bytes, Rate};

/// The name of the configured host.
const HERE: &str = "box";
/// The quantum of the queue with the least weight, bytes; the others are proportional to their weight.
const QUANTUM: u32 = 1514;
/// The most pipes without a rule that are simulated.
const MAX_LOOSE: usize = 50;

/// The whole configuration.
pub(super) fn draft(model: &Dummynet, reading: &mut Reading) -> Draft {
    let ports = ports(model, reading);
    let mut draft = Draft::default();
    let mut add = |ports: Vec<BoxPort>, reading: &Reading| {
        let mut path = Draft::of_box(HERE, ports, reading);
        draft.links.append(&mut path.links);
        draft.flows.append(&mut path.flows);
    };
    let lanes = |port: &Port| port.sides.iter().map(Vec::len).max().unwrap_or_default();
    // The first pipes of all interfaces form the path through the box; further ones take different packets
    // and form separate paths.
    for lane in 0..ports.iter().filter(|p| !p.is_address).map(lanes).max().unwrap_or_default() {
        let boxes = ports.iter().filter(|p| !p.is_address).map(|p| port(p, lane, model, reading)).collect();
        add(boxes, reading);
    }
    for one in ports.iter().filter(|p| p.is_address) {
        for lane in 0..lanes(one) {
            let port = port(one, lane, model, reading);
            add(vec![port], reading);
        }
    }
    for port in loose(&ports, model, reading) {
        add(vec![port], reading);
    }
    draft
}

/// A port with one target of each direction.
fn port(port: &Port, lane: usize, model: &Dummynet, reading: &mut Reading) -> BoxPort {
    let mut sides = [0, 1].map(|side| {
        let target = port.sides[side].get(lane)?;
        Some((target.pipe, limited(target, model, reading)?))
    });
    let pipe = sides.iter().flatten().map(|(pipe, _)| *pipe).next().unwrap_or_default();
    let name = if lane == 0 { port.name.clone() } else { format!("{}-pipe{pipe}", port.name) };
    let mut take = |side: usize| sides[side].take().map(|(_, parts)| parts).unwrap_or_default();
    let ((out, out_flows), (into, into_flows)) = (take(0), take(1));
    BoxPort { name, out, into, out_flows, into_flows, unmatched: None }
}

/// Pipes without a rule: if the text has other rules, they have no effect; if it has none, their direction is
/// unknown.
fn loose(ports: &[Port], model: &Dummynet, reading: &mut Reading) -> Vec<BoxPort> {
    let has_rules = model.rules.iter().any(|r| r.target.is_some());
    let targets: Vec<&Target> = ports.iter().flat_map(|p| p.sides.iter().flatten()).collect();
    let pipes = model.objects.iter().filter(|o| o.kind == Kind::Pipe);
    let unused: Vec<&Object> = pipes.filter(|o| targets.iter().all(|t| t.pipe != o.number)).collect();
    let mut all = Vec::new();
    for pipe in unused.into_iter().take(MAX_LOOSE) {
        if has_rules {
            let text = format!(
                "{} has no effect: no rule of this text sends packets to it or its queues",
                pipe.says()
            );
            reading.fault(pipe.line, "pipe-unused", text);
            continue;
        }
        let queues = model.objects.iter().filter(|o| o.kind == Kind::Queue && o.pipe == Some(pipe.number));
        let queues = queues.take(MAX_CLASSES).map(|q| (q.number, q.says())).collect();
        let target = Target { pipe: pipe.number, queues, says: String::new() };
        let Some((out, out_flows)) = limited(&target, model, reading) else { continue };
        reading.assume(
            "the text has no rules (`ipfw list`), so the direction of each pipe is unknown: each is simulated as a \
             separate path, in one direction",
        );
        all.push(BoxPort { name: format!("pipe{}", pipe.number), out, out_flows, ..BoxPort::default() });
    }
    all
}

/// The scheduler of a pipe's queues, and whether it was read completely.
fn scheduler(pipe: &Object, model: &Dummynet) -> (Option<Scheduler>, bool) {
    let own = model.objects.iter().find(|o| {
        o.kind == Kind::Sched && o.pipe.map_or(o.number == pipe.number, |named| named == pipe.number)
    });
    let written = own.and_then(|o| o.scheduler.clone()).or_else(|| pipe.scheduler.clone());
    (written, own.is_none_or(|o| o.is_whole))
}

/// The queue of an object: its size and how it drops packets.
fn queue_of(object: &Object) -> QueueConfig {
    let packets = match object.size {
        Size::Slots(n) => n,
        Size::Bytes(n) => n / PACKET,
    };
    let (packets, ecn) = (packets.max(1), object.ecn);
    match &object.aqm {
        Aqm::DropTail => match object.size {
            Size::Slots(_) => QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None }),
            // The kernel drops if more than this is already queued (`dn_enqueue`).
            Size::Bytes(n) => QueueConfig::Fifo(Fifo { packets: None, bytes: Some(Bytes::new(n + PACKET)) }),
        },
        Aqm::Red { weight, min, max, max_probability, gentle } => {
            let unit = if matches!(object.size, Size::Bytes(_)) { PACKET } else { 1 };
            let (min, max) = (min / unit, (max / unit).max(min / unit + 1));
            let bandwidth = object.bw.map_or(Red::default().bandwidth, Rate::from_bps);
            let (weight, max_probability, gentle) = (*weight, *max_probability, *gentle);
            QueueConfig::Red(Red {
                packets: packets.max(max),
                min,
                max,
                max_probability,
                weight,
                gentle,
                ecn,
                bandwidth,
            })
        }
        Aqm::Of(QueueConfig::CoDel(codel)) => {
            let mut codel = codel.clone();
            (codel.packets, codel.ecn) = (packets, codel.ecn || ecn);
            QueueConfig::CoDel(codel)
        }
        Aqm::Of(QueueConfig::Pie(pie)) => {
            let mut pie = pie.clone();
            (pie.packets, pie.ecn) = (packets, pie.ecn || ecn);
            QueueConfig::Pie(pie)
        }
        Aqm::Of(other) => other.clone(),
    }
}

/// The stages of a target and its classes; `None` if one of its values was rejected.
fn limited(
    target: &Target,
    model: &Dummynet,
    reading: &mut Reading,
) -> Option<(Vec<DraftStage>, Vec<PortFlow>)> {
    let pipe = model.get(Kind::Pipe, target.pipe)?;
    let queues: Vec<(&Object, &str)> = target
        .queues
        .iter()
        .filter_map(|(n, says)| Some((model.get(Kind::Queue, *n)?, says.as_str())))
        .collect();
    let queues: Vec<_> = queues.into_iter().filter(|(queue, _)| queue.is_whole).collect();
    let (written, is_whole) = scheduler(pipe, model);
    if !pipe.is_whole || !is_whole || (queues.is_empty() && !target.queues.is_empty()) {
        return None;
    }
    if pipe.is_masked || queues.iter().any(|(q, _)| q.is_masked) {
        reading.assume("one flow behind each mask: other flows would have separate pipes or queues");
    }
    let is_direct = target.queues.is_empty() && !target.says.is_empty();
    if is_direct && let Some(Scheduler::Flows(_) | Scheduler::Weighted) = &written {
        let text = format!(
            "{}: its scheduler has no effect: the rule sends packets to the pipe's own FIFO of {}; send them to a queue of the \
             pipe (`queue N config pipe {}`) to use the scheduler",
            pipe.says(),
            of_size(pipe.size),
            pipe.number
        );
        if matches!(written, Some(Scheduler::Flows(_))) {
            reading.fault(pipe.line, "pipe-scheduler", text);
        }
    }
    let rate = pipe.bw.map(Rate::from_bps);
    let how_fast = pipe.bw.map_or("no limit".into(), number::rate);
    let says = format!("{}: {how_fast}", pipe.says());
    let queue = match (&written, queues.as_slice()) {
        (Some(Scheduler::Flows(flows)), _) if !is_direct => QueueConfig::FqCoDel(flows.clone()),
        (_, []) => queue_of(pipe),
        (Some(Scheduler::Fifo), _) => QueueConfig::Fifo(Fifo { packets: Some(USUAL_SLOTS), bytes: None }),
        (_, [(one, _)]) => queue_of(one),
        (_, several) => return classes(pipe, several, says, reading),
    };
    let mut stages = lossy(pipe, &queues, reading);
    let stage =
        |stage: Stage| DraftStage::new("pipe", pipe.line, says.clone(), stage).with_credit(Credit::NoBucket);
    match (rate, pipe.burst) {
        (Some(rate), Some(burst)) => {
            let burst = Bytes::new(burst.get().saturating_add(FRAME));
            stages.push(stage(Shaper { burst: Some(burst), queue: Some(queue), ..Shaper::new(rate) }.into()));
            stages.extend(late(pipe, &says));
        }
        (Some(rate), None) => {
            stages.push(stage(Link { rate: Some(rate), delay: pipe.delay, queue, ..Link::default() }.into()))
        }
        (None, _) => stages.extend(late(pipe, &says)),
    }
    if stages.is_empty() {
        reading
            .fact(pipe.line, format!("{} has no rate, delay or loss, and therefore no effect", pipe.says()));
        return None;
    }
    let name =
        queues.first().map_or_else(|| format!("pipe{}", pipe.number), |(q, _)| format!("queue{}", q.number));
    let matches = queues.first().map_or(target.says.as_str(), |(_, says)| *says);
    let says = if matches.is_empty() { says } else { format!("{says}, {matches}") };
    Some((stages, vec![PortFlow { name, dscp: 0, says }]))
}

fn of_size(size: Size) -> String {
    match size {
        Size::Slots(n) => format!("{n} slots"),
        Size::Bytes(n) => number::size(n),
    }
}

/// The random loss of a pipe, or of its single queue.
fn lossy(pipe: &Object, queues: &[(&Object, &str)], reading: &mut Reading) -> Vec<DraftStage> {
    let owner = match queues {
        [] => pipe,
        [(one, _)] => one,
        several => {
            for (queue, _) in several.iter().filter(|(q, _)| q.loss.is_some()) {
                reading.unknown(
                    queue.line,
                    "plr",
                    "loss of a single queue among several of a pipe is not simulated",
                );
            }
            return Vec::new();
        }
    };
    let loss = owner.loss.clone().map(|loss| DraftStage::new("loss", owner.line, owner.says(), loss));
    loss.into_iter().collect()
}

/// The delay of a pipe, if its limit does not include it.
fn late(pipe: &Object, says: &str) -> Option<DraftStage> {
    (!pipe.delay.is_zero()).then(|| DraftStage::new("delay", pipe.line, says, Delay::new(pipe.delay)))
}

/// Several queues of a pipe: shares of its rate, by weight.
fn classes(
    pipe: &Object,
    queues: &[(&Object, &str)],
    says: String,
    reading: &mut Reading,
) -> Option<(Vec<DraftStage>, Vec<PortFlow>)> {
    let mut stages = lossy(pipe, queues, reading);
    let Some(bps) = pipe.bw else {
        // Without a rate nothing queues, and weights have no effect.
        stages.extend(late(pipe, &says));
        let flow = PortFlow { name: format!("pipe{}", pipe.number), dscp: 0, says };
        return (!stages.is_empty()).then(|| (stages, vec![flow]));
    };
    let root = format!("pipe{}", pipe.number);
    let rate = Rate::from_bps(bps);
    let sum: u64 = queues.iter().map(|(q, _)| u64::from(q.weight)).sum();
    let least = queues.iter().map(|(q, _)| q.weight).min().unwrap_or(1);
    let burst = pipe.burst.map(|b| Bytes::new(b.get().saturating_add(FRAME)));
    let mut tree = vec![Class { ceil: Some(rate), burst, cburst: burst, ..Class::new(root.clone(), rate) }];
    let (mut parts, mut flows) = (BTreeMap::from([(root.clone(), pipe.line)]), Vec::new());
    for (i, (queue, matches)) in queues.iter().enumerate() {
        let name = format!("queue{}", queue.number);
        let share = (u128::from(bps) * u128::from(queue.weight) / u128::from(sum)) as u64;
        let dscp = i as u8 + 1;
        tree.push(Class {
            parent: Some(root.clone()),
            ceil: Some(rate),
            cburst: burst,
            quantum: Some(QUANTUM * queue.weight / least),
            dscp: vec![dscp],
            queue: Some(queue_of(queue)),
            ..Class::new(name.clone(), Rate::from_bps(share.max(1)))
        });
        parts.insert(name.clone(), queue.line);
        let says = format!("{}, weight {} of {sum}: {matches}", queue.says(), queue.weight);
        flows.push(PortFlow { name, dscp, says });
    }
    let mut stage =
        DraftStage::new("pipe", pipe.line, says.clone(), Htb { classes: tree }).with_credit(Credit::NoBucket);
    stage.parts = parts;
    stages.push(stage);
    stages.extend(late(pipe, &says));
    Some((stages, flows))
}
