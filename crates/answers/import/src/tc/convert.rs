//! Converts the model to a draft: a link for each device, a flow for each class.

use super::classes::{HtbLeaf, Tree, htb};
use super::facts;
use super::leaf;
use super::model::{ClassId, MAX_PARTS, TcFilter, TcModel, TcPlace, TcPolice, TcQdisc};
use super::netem;
use crate::{BoxPort, Credit, Draft, DraftStage, PortFlow, Reading, number};
use path::queue::{CoDel, Drr, Fifo, FqCoDel, Pie, Red};
use path::{Action, Meter, Policer, QueueConfig, Shaper, Stage};
use units::{Bytes, Rate};

/// The name of the configured host.
const HERE: &str = "here";
/// Maximum nesting of disciplines.
const MAX_DEPTH: usize = 8;

/// The stages and flows of a discipline and of those below it.
#[derive(Default)]
struct Chained {
    stages: Vec<DraftStage>,
    /// Classes of the traffic.
    flows: Vec<PortFlow>,
    /// Whether unmatched traffic bypasses all limits.
    leaks: bool,
}

/// Converts the whole model.
pub(crate) fn draft(mut model: TcModel, reading: &mut Reading) -> Draft {
    model.add_missing(reading);
    let model = &model;
    facts::report(model, reading);
    for q in &model.qdiscs {
        report_overhead(q, reading);
        if let Some(last) = model.at(&q.device, q.place).filter(|last| last.line != q.line) {
            let why = format!("line {} replaces it by `{}`", last.line, last.kind);
            reading.unknown(q.line, q.kind.clone(), why);
        }
    }
    for q in &model.qdiscs {
        let TcPlace::Under(id) = q.place else { continue };
        if !model.qdiscs.iter().any(|above| above.device == q.device && above.handle == id.major) {
            let why = format!("its parent {:x}: is not in the text ({})", id.major, q.device);
            reading.unknown(q.line, q.kind.clone(), why);
        }
    }
    let inward = inward(model, reading);
    // Traffic that is redirected to an ifb is shaped at ingress.
    let is_inner = |device: &&str| inward.iter().any(|(_, ifb)| ifb == device);
    let both_directions: Vec<(&str, Chained, Chained)> = (model.devices().into_iter())
        .filter(|device| !is_inner(device))
        .map(|device| {
            let inner = inward.iter().find(|(from, _)| from == device);
            let into = inner.map(|(_, ifb)| egress(ifb, model, reading)).unwrap_or_default();
            (device, egress(device, model, reading), into)
        })
        .collect();
    let marks: Vec<(&TcFilter, u8)> =
        both_directions.iter().flat_map(|(d, out, _)| marks(d, out, model)).collect();
    let mut ports = Vec::new();
    for (device, out, into) in both_directions {
        let out = policed(device, false, out, &marks, model, reading);
        let into = policed(device, true, into, &marks, model, reading);
        let unmatched = out.leaks.then(|| "unmatched traffic, which has no limit".to_string());
        ports.push(BoxPort {
            name: device.into(),
            out: out.stages,
            into: into.stages,
            out_flows: out.flows,
            into_flows: into.flows,
            unmatched,
        });
    }
    let draft = Draft::of_box(HERE, ports, reading);
    if !draft.links.is_empty() {
        reading.assume("full packets of 1500 bytes of IP; tc counts 14 bytes of Ethernet more".to_string());
    }
    draft
}

/// Reports an overhead or ATM cells, which are not simulated, with the share of the rate that they leave for
/// full packets.
fn report_overhead(q: &TcQdisc, reading: &mut Reading) {
    let o = &q.options;
    let overhead = o.text("overhead").and_then(|t| t.parse::<i64>().ok()).unwrap_or(0);
    let atm = o.has_word("atm") || o.text("linklayer") == Some("atm");
    let on_wire = number::on_wire(overhead, atm);
    if on_wire > 1500 {
        let cells = if atm { " in ATM cells" } else { "" };
        reading.assume(format!(
            "the overhead of {overhead} bytes per packet{cells} (line {}) is not simulated: it leaves {:.1} % of the rate to full packets",
            q.line,
            100.0 * 1500.0 / on_wire as f64
        ));
    }
}

/// Pairs of a device and the `ifb` that shapes its incoming traffic: by redirecting filters, by the ifb's
/// name, or because there is only one of each.
fn inward(model: &TcModel, reading: &mut Reading) -> Vec<(String, String)> {
    let redirects = model.filters.iter().filter_map(|f| Some((f.device.clone(), f.redirect.clone()?)));
    let mut pairs: Vec<(String, String)> = redirects.filter(|(from, to)| from != to).collect();
    pairs.dedup();
    let devices = model.devices();
    let is_ifb = |device: &str| device.starts_with("ifb");
    let has = |device: &str, place| model.at(device, place).is_some();
    let lone: Vec<&str> = devices
        .iter()
        .copied()
        .filter(|d| is_ifb(d) && has(d, TcPlace::Root) && pairs.iter().all(|(_, ifb)| ifb != d))
        .collect();
    for ifb in &lone {
        let others =
            || devices.iter().copied().filter(|d| !is_ifb(d) && pairs.iter().all(|(from, _)| from != d));
        let named = others().filter(|d| ifb.ends_with(d)).max_by_key(|d| d.len());
        let open: Vec<&str> = others().filter(|d| has(d, TcPlace::Ingress)).collect();
        let other: Vec<&str> = others().collect();
        let only = match (open.as_slice(), other.as_slice()) {
            ([one], _) | ([], [one]) if lone.len() == 1 => Some(*one),
            _ => None,
        };
        if let Some(device) = named.or(only) {
            let why = if named.is_some() { "by its name" } else { "the only device" };
            reading.assume(format!(
                "{ifb} shapes incoming traffic of {device} ({why}), although the text has no redirecting filter"
            ));
            pairs.push((device.to_string(), ifb.to_string()));
        }
    }
    pairs
}

/// The stages of a device's outgoing traffic.
pub(crate) fn egress_stages(device: &str, model: &TcModel, reading: &mut Reading) -> Vec<DraftStage> {
    egress(device, model, reading).stages
}

fn egress(device: &str, model: &TcModel, reading: &mut Reading) -> Chained {
    let Some(root) = model.at(device, TcPlace::Root).or_else(|| highest(device, model)) else {
        return Chained::default();
    };
    chained(root, model, &mut TcWalk { depth: 0, left: MAX_PARTS }, reading)
}

/// The discipline that takes the place of a missing root: the only one without a parent in the text.
fn highest<'m>(device: &str, model: &'m TcModel) -> Option<&'m TcQdisc> {
    let has_no_parent = |q: &&TcQdisc| match q.place {
        TcPlace::Under(id) => {
            model.qdiscs.iter().all(|above| above.device != device || above.handle != id.major)
        }
        _ => false,
    };
    let mut free = model.qdiscs.iter().filter(|q| q.device == device).filter(has_no_parent);
    free.next().filter(|_| free.next().is_none())
}

/// The depth of a walk, and the number of disciplines that it may still visit, because there may be cycles.
struct TcWalk {
    depth: usize,
    left: usize,
}

impl Chained {
    /// Appends the stages and flows of a discipline below.
    fn append(&mut self, under: Chained) {
        self.stages.extend(under.stages);
        self.flows.extend(under.flows);
        self.leaks |= under.leaks;
    }
}

/// The name of the flow of a class.
fn flow_name(class: ClassId) -> String {
    class.to_string().replace(':', "-")
}

/// A flow for each leaf.
fn flows_of(leaves: Vec<HtbLeaf>) -> Vec<PortFlow> {
    let flow = |l: HtbLeaf| PortFlow { name: flow_name(l.id), dscp: l.dscp, says: l.says };
    leaves.into_iter().map(flow).collect()
}

/// Converts a discipline and those below it.
fn chained(q: &TcQdisc, model: &TcModel, walk: &mut TcWalk, reading: &mut Reading) -> Chained {
    if walk.depth > MAX_DEPTH || walk.left == 0 {
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
        "htb" | "hfsc" => {
            let Some(Tree { stage, leaves, leaks }) = htb(q, model, reading) else {
                return Chained::default();
            };
            let mut after = Vec::new();
            for child in children() {
                let at_leaf = leaves.iter().any(|l| child.place == TcPlace::Under(l.id));
                if !at_leaf {
                    let why = "it is not attached to a leaf of the tree".to_string();
                    reading.unknown(child.line, child.kind.clone(), why);
                    continue;
                }
                if leaf::is_handled_by_leaf(&child.kind) {
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
            Chained { stages: after, flows: flows_of(leaves), leaks }
        }
        "tbf" | "cake" => {
            let mut all = Chained::default();
            let mut queue = None;
            for child in children() {
                all.append(chained(child, model, walk, reading));
                queue = queue.or_else(|| queue_of(child, reading));
            }
            all.stages.extend(if q.kind == "tbf" { tbf(q, queue, reading) } else { cake(q, reading) });
            all
        }
        "netem" => {
            let mut all = Chained { stages: netem::stages(q, reading), ..Chained::default() };
            for child in children() {
                all.append(chained(child, model, walk, reading));
            }
            all
        }
        "prio" | "mq" | "multiq" | "pfifo_fast" | "drr" | "cbq" => {
            let mut all = Chained::default();
            for child in children() {
                let under = chained(child, model, walk, reading);
                if !all.stages.is_empty() && !under.stages.is_empty() {
                    let why = "only one band is simulated";
                    reading.unknown(child.line, child.kind.clone(), why);
                    continue;
                }
                if !under.stages.is_empty() && q.kind != "mq" {
                    reading.assume(format!("all traffic passes line {}", child.line));
                }
                all.append(under);
            }
            all
        }
        "noqueue" | "ingress" | "clsact" | "" => Chained::default(),
        _ => {
            if q.place == TcPlace::Root && queue_of(q, reading).is_some() {
                reading.assume(format!("the `{}` of {} never queues: it has no rate", q.kind, q.device));
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

/// The limit of a tbf; `queue` is the discipline below it.
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
    Some(DraftStage::new("cake", q.line, says, shaper).with_credit(Credit::NoBucket))
}

/// The rate of a cake, if it has one, with an equivalent bucket: cake sends packet by packet, so two packets
/// are enough.
pub(crate) fn cake_limit(q: &TcQdisc, reading: &mut Reading) -> Option<(Rate, Bytes)> {
    if q.options.text("bandwidth") == Some("unlimited") {
        return None;
    }
    Some((q.options.rate("bandwidth", reading)?, Bytes::new(3028)))
}

/// The queue of a discipline that is only a queue.
pub(crate) fn queue_of(q: &TcQdisc, reading: &mut Reading) -> Option<QueueConfig> {
    let o = &q.options;
    let limit = |reading: &mut Reading, default: u64| o.count("limit", reading).unwrap_or(default).max(1);
    Some(match q.kind.as_str() {
        "pfifo" | "pfifo_fast" => {
            let packets = o.packets("limit", reading).unwrap_or(1000).max(1);
            QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None })
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

/// RED. tc counts in bytes, the element in packets of `avpkt`.
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

/// Converts a `police` action.
fn policer(p: &TcPolice, says: String, reading: &mut Reading) -> Option<DraftStage> {
    let Some(rate) = p.rate else {
        reading.unknown(p.line, "police", "`police` without a known rate");
        return None;
    };
    let drops = p.exceed.as_deref().is_none_or(|e| matches!(e, "drop" | "shot"));
    if !drops {
        let action = p.exceed.as_deref().unwrap_or_default();
        let text = format!("police: excess packets are not dropped (`{action}`), so it limits nothing");
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

/// The filters of a device's outgoing traffic with the codepoints of their classes.
fn marks<'m>(device: &str, out: &Chained, model: &'m TcModel) -> Vec<(&'m TcFilter, u8)> {
    let here = model.filters.iter().filter(|f| f.device == device);
    let mark = |f: &'m TcFilter| {
        let name = flow_name(f.to?);
        out.flows.iter().find(|flow| flow.name == name).map(|flow| (f, flow.dscp))
    };
    here.filter_map(mark).collect()
}

/// Puts the policers of a device's filters in front of the other stages of a direction. A policer of some
/// packets selects them by the codepoint of its filter, by that of a class whose filter matches the same
/// (`marks`), or by a free one, which a flow carries.
fn policed(
    device: &str,
    inward: bool,
    rest: Chained,
    marks: &[(&TcFilter, u8)],
    model: &TcModel,
    reading: &mut Reading,
) -> Chained {
    let (mut stages, mut flows) = (Vec::new(), rest.flows);
    let here = |f: &&TcFilter| f.device == device && (f.place == TcPlace::Ingress) == inward;
    for f in model.filters.iter().filter(here) {
        let says = format!("police of {device}, {}: {}", if inward { "in" } else { "out" }, f.says);
        let Some(mut stage) = f.police.as_ref().and_then(|p| policer(p, says, reading)) else { continue };
        if let (false, Stage::Policer(policer)) = (f.all, &mut stage.stage) {
            let matches_the_same = |g: &TcFilter| g.says.replace("/32", "") == f.says.replace("/32", "");
            let of_class = || marks.iter().find(|(g, _)| matches_the_same(g)).map(|(_, dscp)| *dscp);
            let is_free = |dscp: &u8| flows.iter().all(|flow| flow.dscp != *dscp);
            let Some(dscp) = f.dscp.or_else(of_class).or_else(|| (1..64).rev().find(is_free)) else {
                let why = "more classes than codepoints";
                reading.unknown(f.line, "police", why);
                continue;
            };
            policer.dscp = vec![dscp];
            if is_free(&dscp) {
                flows.push(PortFlow { name: format!("police-{}", f.line), dscp, says: f.says.clone() });
            }
        }
        stages.push(stage);
    }
    stages.extend(rest.stages);
    Chained { stages, flows, ..rest }
}
