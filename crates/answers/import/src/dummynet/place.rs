//! The interface and direction of a rule's packets.

use super::model::{Dummynet, Kind, Rule};
use crate::Reading;

/// The port of rules without an interface or address.
const HOST: &str = "host";
/// The most interfaces and addresses in one text.
const MAX_PORTS: usize = 64;
/// The most queues of one pipe in a direction: one codepoint each.
pub(super) const MAX_CLASSES: usize = 63;
/// The longest list of a queue's matches that is shown, bytes.
const MAX_LIST_BYTES: usize = 200;

/// The pipe or queues that take packets of one direction.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub pipe: u32,
    /// The queues and what their rules match; empty: the pipe itself.
    pub queues: Vec<(u32, String)>,
    pub says: String,
}

/// An interface, or an address behind the box.
#[derive(Clone, Debug)]
pub(super) struct Port {
    pub name: String,
    pub is_address: bool,
    /// Outbound and inbound: parallel targets, each with different packets.
    pub sides: [Vec<Target>; 2],
}

/// The port of a rule's packets: its name, whether it is an address, and whether they leave or come in.
fn passes(rule: &Rule) -> (String, bool, [bool; 2]) {
    let (out, into) = ([true, false], [false, true]);
    let written = rule.is_in.map(|is_in| if is_in { into } else { out });
    let is_any = |end: &str| ["any", ""].contains(&end);
    let ends = (is_any(&rule.from), is_any(&rule.to));
    if let Some(interface) = &rule.xmit {
        return (interface.clone(), false, out);
    }
    if let Some(interface) = &rule.recv {
        return (interface.clone(), false, into);
    }
    if let Some(interface) = &rule.via {
        let by_ends = match ends {
            (true, true) => [true, true],
            (true, false) => into,
            _ => out,
        };
        return (interface.clone(), false, written.unwrap_or(by_ends));
    }
    match ends {
        // To the address, or from it.
        (true, false) => (rule.to.clone(), true, out),
        (false, _) => (rule.from.clone(), true, into),
        (true, true) => (HOST.into(), false, written.unwrap_or([true, true])),
    }
}

/// The ports of all rules, with the targets of each direction.
pub(super) fn ports(model: &Dummynet, reading: &mut Reading) -> Vec<Port> {
    let mut ports: Vec<Port> = Vec::new();
    let mut last: Option<&Rule> = None;
    let counted = model.rules.iter().any(|r| r.packets.is_some_and(|p| p > 0));
    for rule in &model.rules {
        let Some((is_queue, number)) = rule.target else {
            last = last.or(Some(rule));
            continue;
        };
        let kind = Rule::kind(is_queue);
        if let Some(last) = last {
            let text = format!(
                "rule {} is never reached: `{}` (line {}) comes first and takes every packet; {} {number} stays empty",
                rule.number,
                last.says,
                last.line,
                kind.word()
            );
            reading.fault(rule.line, "pipe-never-reached", text);
            continue;
        }
        let Some(object) = model.get(kind, number) else {
            let why = format!("the text has no `{} {number} config`: its effect is unknown", kind.word());
            reading.unknown(rule.line, format!("{} {number}", kind.word()), why);
            continue;
        };
        let pipe = if is_queue { object.pipe } else { Some(number) };
        let Some(pipe) = pipe.filter(|n| model.get(Kind::Pipe, *n).is_some()) else {
            let why = format!("the text does not contain the pipe of {}: its rate is unknown", object.says());
            reading.unknown(rule.line, object.says(), why);
            continue;
        };
        let off = [Some(object), model.get(Kind::Pipe, pipe)].into_iter().flatten().find(|o| !o.is_enabled);
        if let Some(off) = off {
            reading.fact(rule.line, format!("{} is disabled: this rule has no effect", off.says()));
            continue;
        }
        if counted && rule.packets == Some(0) {
            reading.fact(rule.line, format!("no packet has matched the rule of {} so far", object.says()));
        }
        twice(rule, reading);
        let (name, is_address, sides) = passes(rule);
        let at = ports.iter().position(|p| p.name == name).unwrap_or_else(|| {
            ports.push(Port { name, is_address, sides: [vec![], vec![]] });
            ports.len() - 1
        });
        if at >= MAX_PORTS {
            ports.pop();
            reading.unknown(
                rule.line,
                "via",
                format!("at most {MAX_PORTS} interfaces and addresses are read"),
            );
            continue;
        }
        for (targets, _) in ports[at].sides.iter_mut().zip(sides).filter(|(_, passes)| *passes) {
            add(targets, rule, pipe, is_queue.then_some(number), reading);
        }
    }
    shared(&ports, model, reading);
    ports
}

/// Adds a rule to a side: a queue joins the other queues of its pipe.
fn add(targets: &mut Vec<Target>, rule: &Rule, pipe: u32, queue: Option<u32>, reading: &mut Reading) {
    let known = targets.iter_mut().find(|t| t.pipe == pipe && t.queues.is_empty() == queue.is_none());
    match (known, queue) {
        (Some(target), Some(queue)) => {
            if let Some((_, says)) = target.queues.iter_mut().find(|(n, _)| *n == queue) {
                if says.len() < MAX_LIST_BYTES {
                    *says = format!("{says}; {}", rule.says);
                }
            } else if target.queues.len() < MAX_CLASSES {
                target.queues.push((queue, rule.says.clone()));
            } else {
                let why = format!(
                    "at most {MAX_CLASSES} queues of one pipe are simulated: each needs its own codepoint"
                );
                reading.unknown(rule.line, format!("queue {queue}"), why);
            }
        }
        (Some(_), None) => {}
        (None, queue) => {
            let queues = queue.map(|queue| (queue, rule.says.clone())).into_iter().collect();
            targets.push(Target { pipe, queues, says: rule.says.clone() });
        }
    }
}

/// A rule without a direction and an interface, which forwarded packets pass twice (ipfw(8): "rules are
/// checked both on incoming and outgoing packets").
fn twice(rule: &Rule, reading: &mut Reading) {
    if rule.is_in.is_some() || [&rule.recv, &rule.xmit, &rule.via].iter().any(|i| i.is_some()) {
        return;
    }
    let text = "a rule without `in`, `out` or an interface: forwarded packets pass it twice, inbound and outbound, \
                so the pipe gives half its rate and twice its delay; with `out` or `via` they pass it once";
    reading.fault(rule.line, "pipe-twice", text);
}

/// Pipes shared by packets of both directions.
fn shared(ports: &[Port], model: &Dummynet, reading: &mut Reading) {
    for port in ports {
        let both = port.sides[0].iter().filter(|a| port.sides[1].iter().any(|b| a.pipe == b.pipe));
        for pipe in both
            .filter_map(|target| model.get(Kind::Pipe, target.pipe))
            .filter(|p| !p.is_masked && p.bw.is_some())
        {
            let why = "packets of both directions share this pipe, but are simulated with its full rate each: together they are up to \
                       twice too fast";
            reading.unknown(pipe.line, pipe.says(), why);
        }
    }
}
