//! The model into a draft: a link for each device, a flow for each way to be limited.

use super::classes::{HtbLeaf, htb};
use super::leaf;
use super::model::{MOST_PARTS, TcFilter, TcModel, TcPlace, TcPolice, TcQdisc};
use super::netem;
use crate::{Assumed, Draft, DraftFlow, DraftLink, DraftStage, Reading, number};
use path::queue::{CoDel, Drr, Fifo, FqCoDel, Pie, Red};
use path::{Action, Meter, Policer, QueueConfig, Shaper};
use units::{Bytes, Rate};

/// The host whose configuration it is.
const HERE: &str = "here";
/// Disciplines under disciplines under …
const DEEPEST: usize = 8;

/// What a discipline comes to.
#[derive(Default)]
struct Chained {
    stages: Vec<DraftStage>,
    leaves: Vec<HtbLeaf>,
}

/// The whole model.
pub(crate) fn draft(model: &TcModel, assumed: &Assumed, reading: &mut Reading) -> Draft {
    let mut draft = Draft::default();
    let devices = model.devices();
    for q in &model.qdiscs {
        if let Some(last) = model.at(&q.device, q.place).filter(|last| last.line != q.line) {
            let why = format!("line {} puts `{}` in its place", last.line, last.kind);
            reading.unknown(q.line, q.kind.clone(), why);
        }
    }
    for q in &model.qdiscs {
        let TcPlace::Under(id) = q.place else { continue };
        if !model.qdiscs.iter().any(|above| above.device == q.device && above.handle == id.major) {
            let why = format!("no discipline {:x}: is there on {}", id.major, q.device);
            reading.unknown(q.line, q.kind.clone(), why);
        }
    }
    let redirect = |device: &str| {
        let to = |f: &&TcFilter| f.redirect.as_deref() == Some(device) && f.device != device;
        model.filters.iter().find(to)
    };
    for device in &devices {
        // What is redirected to an ifb is shaped on its way in.
        if redirect(device).is_some() {
            continue;
        }
        let out = egress(device, model, reading);
        let source = model.filters.iter().find(|f| f.device == **device && f.redirect.is_some());
        let inner = source.and_then(|f| f.redirect.as_deref()).filter(|to| *to != *device);
        let back = inner.map(|inner| egress(inner, model, reading)).unwrap_or_default();
        link(device, out, back, model, reading, &mut draft);
    }
    if !draft.links.is_empty() {
        reading.assume(format!("a round-trip time of {}, half in each direction (--rtt)", assumed.rtt));
        reading.assume("full packets of 1500 bytes of IP; tc counts 14 bytes of Ethernet more".to_string());
    }
    draft
}

/// The stages of what a device sends.
pub(crate) fn egress_stages(device: &str, model: &TcModel, reading: &mut Reading) -> Vec<DraftStage> {
    egress(device, model, reading).stages
}

fn egress(device: &str, model: &TcModel, reading: &mut Reading) -> Chained {
    let Some(root) = model.at(device, TcPlace::Root) else {
        return Chained::default();
    };
    chained(root, model, &mut TcWalk { depth: 0, left: MOST_PARTS }, reading)
}

/// How deep a walk is, and how many more disciplines it may look at: they may stand in circles.
struct TcWalk {
    depth: usize,
    left: usize,
}

/// A discipline and what is under it.
fn chained(q: &TcQdisc, model: &TcModel, walk: &mut TcWalk, reading: &mut Reading) -> Chained {
    if walk.depth > DEEPEST || walk.left == 0 {
        reading.unknown(q.line, q.kind.clone(), "disciplines are nested too deep");
        return Chained::default();
    }
    walk.left -= 1;
    walk.depth += 1;
    let all = under(q, model, walk, reading);
    walk.depth -= 1;
    all
}

fn under(q: &TcQdisc, model: &TcModel, walk: &mut TcWalk, reading: &mut Reading) -> Chained {
    let children = || {
        let mine = |c: &&TcQdisc| match c.place {
            TcPlace::Under(id) => c.device == q.device && id.major == q.handle && c.handle != q.handle,
            _ => false,
        };
        model.qdiscs.iter().filter(mine)
    };
    match q.kind.as_str() {
        "htb" => {
            let Some((stage, leaves)) = htb(q, model, reading) else { return Chained::default() };
            let mut after = Vec::new();
            for child in children() {
                let at_leaf = leaves.iter().any(|l| child.place == TcPlace::Under(l.id));
                if !at_leaf {
                    let why = "it stands under no leaf of the tree".to_string();
                    reading.unknown(child.line, child.kind.clone(), why);
                    continue;
                }
                if leaf::is_told(&child.kind) {
                    continue;
                }
                let under = chained(child, model, walk, reading).stages;
                if !under.is_empty() && leaves.len() > 1 {
                    let why = format!("`{}` under one of several classes is not simulated", child.kind);
                    reading.unknown(child.line, child.kind.clone(), why);
                } else {
                    after.extend(under);
                }
            }
            after.insert(0, stage);
            Chained { stages: after, leaves }
        }
        "tbf" | "cake" => {
            let mut all = Chained::default();
            let mut queue = None;
            for child in children() {
                let mut under = chained(child, model, walk, reading);
                all.stages.append(&mut under.stages);
                queue = queue.or_else(|| queue_of(child, reading));
            }
            all.stages.extend(if q.kind == "tbf" { tbf(q, queue, reading) } else { cake(q, reading) });
            all
        }
        "netem" => {
            let mut all = Chained { stages: netem::stages(q, reading), leaves: Vec::new() };
            for child in children() {
                let mut under = chained(child, model, walk, reading);
                all.stages.append(&mut under.stages);
                all.leaves.append(&mut under.leaves);
            }
            all
        }
        "prio" | "mq" | "multiq" | "pfifo_fast" | "drr" | "hfsc" | "cbq" => {
            let mut all = Chained::default();
            for child in children() {
                let mut under = chained(child, model, walk, reading);
                if !all.stages.is_empty() && !under.stages.is_empty() {
                    let why = "only what is under one band is simulated";
                    reading.unknown(child.line, child.kind.clone(), why);
                    continue;
                }
                if !under.stages.is_empty() && q.kind != "mq" {
                    reading.assume(format!("all traffic passes what stands in line {}", child.line));
                }
                all.stages.append(&mut under.stages);
                all.leaves.append(&mut under.leaves);
            }
            all
        }
        "noqueue" | "ingress" | "clsact" | "" => Chained::default(),
        _ => {
            if q.place == TcPlace::Root && queue_of(q, reading).is_some() {
                reading.assume(format!("nothing waits in the `{}` of {}: it has no rate", q.kind, q.device));
            }
            Chained::default()
        }
    }
}

fn tbf(q: &TcQdisc, queue: Option<QueueConfig>, reading: &mut Reading) -> Option<DraftStage> {
    let shaper = tbf_shaper(q, queue, reading)?;
    let says = format!("tbf of {}, {}", q.device, number::rate(shaper.rate.as_bps()));
    Some(DraftStage::new("tbf", q.line, says, shaper))
}

/// A tbf's limit; `queue` is what stands below it.
pub(crate) fn tbf_shaper(q: &TcQdisc, queue: Option<QueueConfig>, reading: &mut Reading) -> Option<Shaper> {
    let o = &q.options;
    let Some(rate) = o.rate("rate", reading) else {
        if !o.has("rate") {
            reading.unknown(q.line, "tbf", "a tbf without `rate`");
        }
        return None;
    };
    let burst = o.size("burst", reading).filter(|b| b.get() > 0);
    let latency = o.time("latency", reading).filter(|_| queue.is_none());
    let limit = o.size("limit", reading).filter(|l| l.get() > 0);
    let bytes = limit.map(|limit| QueueConfig::Fifo(Fifo { packets: None, bytes: Some(limit) }));
    let queue = queue.or(bytes.filter(|_| latency.is_none()));
    let mut peak_rate = o.rate("peakrate", reading);
    if peak_rate.is_some_and(|peak| peak < rate) {
        reading.unknown(q.line, "peakrate", "a peak rate below the rate is refused by tc: left out");
        peak_rate = None;
    }
    let peak_burst = o.size("mtu", reading).filter(|m| m.get() > 0 && peak_rate.is_some());
    Some(Shaper { burst, latency, queue, peak_rate, peak_burst, ..Shaper::new(rate) })
}

fn cake(q: &TcQdisc, reading: &mut Reading) -> Option<DraftStage> {
    let (rate, burst) = cake_limit(q, reading)?;
    let queue = Some(QueueConfig::FqCoDel(FqCoDel::default()));
    let shaper = Shaper { burst: Some(burst), queue, ..Shaper::new(rate) };
    reading.assume("cake as a shaper with FQ-CoDel: no tins, no isolation of hosts");
    let says = format!("cake of {}, {}", q.device, number::rate(rate.as_bps()));
    Some(DraftStage::new("cake", q.line, says, shaper))
}

/// A cake's rate, where it has one, and as good a bucket: it sends packet by packet, so that two make one.
pub(crate) fn cake_limit(q: &TcQdisc, reading: &mut Reading) -> Option<(Rate, Bytes)> {
    if q.options.text("bandwidth") == Some("unlimited") {
        return None;
    }
    Some((q.options.rate("bandwidth", reading)?, Bytes::new(3028)))
}

/// A discipline that is only a queue.
pub(crate) fn queue_of(q: &TcQdisc, reading: &mut Reading) -> Option<QueueConfig> {
    let o = &q.options;
    let limit = |reading: &mut Reading, default: u64| o.count("limit", reading).unwrap_or(default).max(1);
    Some(match q.kind.as_str() {
        "pfifo" | "pfifo_fast" => {
            QueueConfig::Fifo(Fifo { packets: Some(limit(reading, 1000)), bytes: None })
        }
        "bfifo" => {
            let bytes = o.size("limit", reading).unwrap_or(Bytes::new(1_514_000));
            QueueConfig::Fifo(Fifo { packets: None, bytes: Some(bytes.max(Bytes::new(1))) })
        }
        "fq_codel" => {
            let d = FqCoDel::default();
            QueueConfig::FqCoDel(FqCoDel {
                packets: limit(reading, d.packets),
                flows: o.count("flows", reading).unwrap_or(1024).clamp(1, 65_536) as u32,
                quantum: o.count("quantum", reading).unwrap_or(1514).clamp(256, 1 << 20) as u32,
                target: o.time("target", reading).unwrap_or(d.target),
                interval: o.time("interval", reading).unwrap_or(d.interval),
                ecn: !o.has("noecn"),
            })
        }
        "codel" => {
            let d = CoDel::default();
            let target = o.time("target", reading).unwrap_or(d.target);
            let interval = o.time("interval", reading).unwrap_or(d.interval);
            QueueConfig::CoDel(CoDel { packets: limit(reading, 1000), target, interval, ecn: o.has("ecn") })
        }
        "sfq" | "fq" => {
            let (packets, quantum) = if q.kind == "sfq" { (127, 1514) } else { (10_000, 3028) };
            let quantum = o.count("quantum", reading).unwrap_or(quantum).clamp(256, 1 << 20) as u32;
            QueueConfig::Drr(Drr { packets: limit(reading, packets), quantum })
        }
        "pie" => {
            let d = Pie::default();
            let target = o.time("target", reading).unwrap_or(d.target);
            QueueConfig::Pie(Pie { packets: limit(reading, 1000), target, ecn: o.has("ecn"), ..d })
        }
        "red" => red(q, reading)?,
        _ => return None,
    })
}

/// tc has RED in bytes, the element in packets of `avpkt`.
fn red(q: &TcQdisc, reading: &mut Reading) -> Option<QueueConfig> {
    let o = &q.options;
    let average = o.size("avpkt", reading).map_or(1000, |a| a.get().clamp(64, 65_535));
    let packets = |bytes: Option<Bytes>, default: u64| bytes.map_or(default, |b| (b.get() / average).max(1));
    let limit = packets(o.size("limit", reading), 1000);
    let max = packets(o.size("max", reading), limit.div_ceil(4)).max(2);
    let min = packets(o.size("min", reading), max.div_ceil(3)).min(max - 1);
    let probability = o.text("probability").and_then(|t| t.parse().ok()).filter(|p| (0.0..=1.0).contains(p));
    let d = Red::default();
    Some(QueueConfig::Red(Red {
        packets: limit,
        min,
        max,
        max_probability: probability.unwrap_or(0.02),
        ecn: o.has("ecn"),
        gentle: false,
        bandwidth: o.rate("bandwidth", reading).unwrap_or(d.bandwidth),
        ..d
    }))
}

/// What a `police` does, as a stage.
fn policer(p: &TcPolice, says: String, reading: &mut Reading) -> Option<DraftStage> {
    let Some(rate) = p.rate else {
        reading.unknown(p.line, "police", "a police without a rate that is known");
        return None;
    };
    let drops = p.exceed.as_deref().is_none_or(|e| matches!(e, "drop" | "shot"));
    if !drops {
        let action = p.exceed.as_deref().unwrap_or_default();
        let text = format!("police: what exceeds is not dropped (`{action}`): it limits nothing");
        reading.fault(p.line, "police-keeps", text);
    }
    let burst = p.burst.filter(|b| b.get() > 0);
    let mut policer = Policer::single(rate, burst);
    if let Some(peak) = p.peak_rate.filter(|peak| *peak >= rate) {
        policer = Policer {
            meter: Meter::Trtcm,
            peak_rate: Some(peak),
            peak_burst: p.mtu.filter(|m| m.get() > 0),
            yellow: Action::Drop,
            ..policer
        };
    }
    policer.red = if drops { Action::Drop } else { Action::Pass };
    if !drops {
        policer.yellow = Action::Pass;
    }
    Some(DraftStage::new("police", p.line, says, policer))
}

/// A device's link, its flows, and links of policers that are for some packets only.
fn link(
    device: &str,
    out: Chained,
    back: Chained,
    model: &TcModel,
    reading: &mut Reading,
    draft: &mut Draft,
) {
    let beyond = format!("beyond-{device}");
    let mut link = DraftLink {
        name: device.into(),
        between: [HERE.into(), beyond.clone()],
        forward: Vec::new(),
        backward: Vec::new(),
        of_assumed_length: true,
    };
    let policed: Vec<&TcFilter> =
        model.filters.iter().filter(|f| f.device == device && f.police.is_some()).collect();
    for f in policed {
        let ways = ["in", "out"];
        let inward = f.place == TcPlace::Ingress;
        let says = format!("police of {device}, {}: {}", ways[usize::from(!inward)], f.says);
        let Some(stage) = f.police.as_ref().and_then(|p| policer(p, says, reading)) else { continue };
        if f.all {
            if inward {
                link.backward.push(stage)
            } else {
                link.forward.push(stage)
            }
            continue;
        }
        let far = format!("{beyond}-{}", f.line);
        let name = format!("{device}-police-{}", f.line);
        draft.links.push(DraftLink::beyond(name.clone(), [HERE, &far], inward, vec![stage]));
        let (from, to) = if inward { (far.as_str(), HERE) } else { (HERE, far.as_str()) };
        draft.flows.push(DraftFlow::bulk(name, from, to, 0, f.says.clone()));
    }
    let limited_in = !link.backward.is_empty() || !back.stages.is_empty();
    let limited_out = !link.forward.is_empty() || !out.stages.is_empty();
    link.forward.extend(out.stages);
    link.backward.extend(back.stages);
    if !limited_in && !limited_out {
        return;
    }
    flows(device, "out", limited_out, out.leaves, (HERE, beyond.as_str()), draft);
    flows(device, "in", limited_in, back.leaves, (beyond.as_str(), HERE), draft);
    draft.links.push(link);
}

/// A flow for each leaf of a tree, or one.
fn flows(
    device: &str,
    way: &str,
    limited: bool,
    leaves: Vec<HtbLeaf>,
    (from, to): (&str, &str),
    draft: &mut Draft,
) {
    if leaves.is_empty() && limited {
        draft.flows.push(DraftFlow::bulk(format!("{device}-{way}"), from, to, 0, ""));
    }
    for leaf in leaves {
        let name = format!("{device}-{way}-{}", leaf.id.to_string().replace(':', "-"));
        draft.flows.push(DraftFlow::bulk(name, from, to, leaf.dscp, leaf.says));
    }
}
