//! The text of a scenario from a path and flows.

use crate::flows::{FittedApp, FittedFlow};
use crate::observed::ObservedPath;
use crate::path_model::{FULL_PACKET, FittedLimiter, FittedPath, FittedQueue, PolicerScope};
use std::fmt::Write as _;

/// Largest buffer or window of a scenario, bytes: below 1 GiB (RFC 7323 section 2.3).
const MAX_BUFFER: f64 = 1e9;
/// Sender and receiver of the data.
const HOSTS: [&str; 2] = ["sender", "receiver"];

/// The host behind the shared stages, where policers have links of their own.
const EDGE: &str = "edge";

/// Settings that all trials of a capture share.
#[derive(Clone, Debug)]
pub struct TrialFrame {
    /// Seconds to simulate.
    pub seconds: f64,
    /// Payload of a full segment without TCP options, bytes.
    pub mss: u32,
    /// Both ends use timestamps.
    pub timestamps: bool,
    /// Both ends agreed on SACK.
    pub sack: bool,
}

impl TrialFrame {
    /// The settings for an observed path; at most `most` seconds.
    pub fn of(seen: &ObservedPath, most: f64) -> TrialFrame {
        let first = seen.flows.first().cloned().unwrap_or_default();
        let mss = first.flow.measures.mss_bytes;
        // Without a handshake the size of full segments shows timestamps, which take 12 bytes of each.
        let timestamps = if first.facts.handshake { first.facts.timestamps } else { mss != 1460 };
        let mss = mss + if timestamps { 12 } else { 0 };
        TrialFrame {
            seconds: seen.span_s.min(most),
            mss: mss.clamp(88, 1460),
            timestamps,
            sack: first.facts.sack || !first.facts.handshake,
        }
    }
}

/// Rounds bytes, bits per second or microseconds; at least 1.
fn whole(value: f64) -> u64 {
    value.round().max(1.0) as u64
}

/// Seconds as a scenario's duration.
fn time(seconds: f64) -> String {
    format!("\"{}us\"", (seconds * 1e6).round().max(0.0) as u64)
}

/// Stages that a path gets although it does not need them, so that several paths have the same stages in the
/// same order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathShape {
    /// A line too fast to matter, behind the limiter (`true`) or before it.
    pub line: Option<bool>,
    /// A loss stage with probability 0.
    pub loss: bool,
}

impl PathShape {
    /// The stages that some of these paths need and others do not.
    pub fn of<'a>(paths: impl Iterator<Item = &'a FittedPath>) -> PathShape {
        let mut shape = PathShape::default();
        let (mut lines, mut links) = (None, false);
        for path in paths {
            let has_line = path.access.is_some();
            (lines, links) = (lines.or(has_line.then_some(path.is_line_behind)), links || !has_line);
            shape.loss |= path.loss > 0.0;
        }
        shape.line = lines.filter(|_| links);
        shape
    }
}

/// A line this many times faster than the limiter does not change how a path behaves.
const FAST_LINE: f64 = 8.0;

/// The stages from sender to receiver.
fn forward(p: &FittedPath, shape: PathShape) -> Vec<String> {
    let mut stages = Vec::new();
    let queue = match p.queue_kind {
        FittedQueue::Fifo => format!("{{ kind = \"fifo\", bytes = \"{}B\" }}", whole(p.queue)),
        FittedQueue::CoDel => "{ kind = \"codel\" }".into(),
        FittedQueue::FqCoDel => "{ kind = \"fq-codel\" }".into(),
        FittedQueue::Fair => {
            format!("{{ kind = \"drr\", packets = {} }}", whole(p.queue / FULL_PACKET))
        }
    };
    let rate = whole(p.rate);
    if let Some(line) = p.access.or(shape.line.map(|_| FAST_LINE * p.rate)) {
        // A full window must pass the line to end up in the limiter's queue.
        let queue = (line * p.rtt / 8.0).max(100.0 * FULL_PACKET).max(p.window.unwrap_or(0.0));
        stages.push(format!(
            "{{ kind = \"link\", name = \"line\", rate = \"{}bit/s\", queue = {{ kind = \"fifo\", bytes = \"{}B\" }} }}",
            whole(line),
            whole(queue)
        ));
    }
    match p.limiter {
        FittedLimiter::Policer => {
            if p.own_policers().is_empty() {
                let each = if p.scope == PolicerScope::EachFlow { ", per_flow = true" } else { "" };
                stages.push(format!(
                    "{{ kind = \"policer\", name = \"limiter\", rate = \"{rate}bit/s\", burst = \"{}B\"{each} }}",
                    whole(p.bucket)
                ));
            }
        }
        FittedLimiter::Shaper => {
            stages.push(format!(
                "{{ kind = \"shaper\", name = \"limiter\", rate = \"{rate}bit/s\", burst = \"{}B\"{}, queue = {queue} }}",
                whole(p.bucket),
                if p.refilled_at_once { ", refill = \"interval\"" } else { "" }
            ));
        }
        FittedLimiter::Link => {
            stages.push(format!(
                "{{ kind = \"link\", name = \"limiter\", rate = \"{rate}bit/s\", queue = {queue} }}"
            ));
        }
    }
    if shape.line.filter(|_| p.access.is_none()).unwrap_or(p.is_line_behind) {
        // The line is the first stage, and the limiter the second one if it is on this link.
        let last = stages.len() - 1;
        stages.swap(0, last);
    }
    if p.loss == 0.0 && shape.loss {
        stages.push("{ kind = \"loss\", name = \"loss\", probability = 0.0 }".into());
    }
    if p.loss > 0.0 {
        stages.push(match p.loss_run > 1.15 {
            false => format!("{{ kind = \"loss\", name = \"loss\", probability = {:.7} }}", p.loss),
            true => {
                let r = 1.0 / p.loss_run;
                let enter = (p.loss * r / (1.0 - p.loss)).min(1.0);
                format!(
                    "{{ kind = \"loss\", name = \"loss\", model = \"gilbert-elliott\", p = {enter:.7}, r = {r:.4} }}"
                )
            }
        });
    }
    stages.push(match p.jitter > 0.0 {
        true => format!(
            "{{ kind = \"jitter\", name = \"delay\", delay = {}, jitter = {} }}",
            time(p.rtt / 2.0),
            time(p.jitter.min(p.rtt / 2.0))
        ),
        false => format!("{{ kind = \"delay\", name = \"delay\", delay = {} }}", time(p.rtt / 2.0)),
    });
    stages
}

/// The scenario's table of a host.
fn stack_of_host(name: &str, stack: &str) -> String {
    format!("[hosts.{name}]\nstack = {stack}\n\n")
}

/// The stacks of sender and receiver.
fn stacks(p: &FittedPath, frame: &TrialFrame) -> [String; 2] {
    let mut both = String::new();
    if frame.mss != 1460 {
        let _ = write!(both, ", mss = {}", frame.mss);
    }
    if !frame.timestamps {
        both += ", timestamps = false";
    }
    if !frame.sack {
        both += ", sack = false";
    }
    let roomy = 4.0 * (p.bdp() + p.queue.max(p.bucket)) + 8e6;
    let send = p.send_buffer.unwrap_or(roomy).min(MAX_BUFFER);
    let receive = match p.window {
        Some(w) => format!("receive_window = \"{}B\"", whole(w.min(MAX_BUFFER))),
        None => format!("receive_buffer = \"{}B\"", whole((2.0 * roomy).min(MAX_BUFFER))),
    };
    [
        format!("{{ profile = \"linux\"{both}, send_buffer = \"{}B\" }}", whole(send)),
        format!("{{ profile = \"linux\"{both}, {receive} }}"),
    ]
}

fn app(app: &FittedApp) -> String {
    match app {
        FittedApp::Bulk => "{ kind = \"bulk\" }".into(),
        FittedApp::Bytes(n) => format!("{{ kind = \"bulk\", bytes = \"{}B\" }}", (*n).max(1)),
        FittedApp::OnOff(on, off, rate) => {
            let rate = rate.map_or(String::new(), |r| format!(", rate = \"{}bit/s\"", whole(r)));
            format!(
                "{{ kind = \"onoff\", on = {}, off = {}{rate} }}",
                time(on.max(1e-3)),
                time(off.max(1e-3))
            )
        }
        FittedApp::Request(bytes, think) => format!(
            "{{ kind = \"request\", request = \"400B\", response = \"{}B\", think = {} }}",
            whole(*bytes),
            time(*think)
        ),
    }
}

/// The host that receives a flow's data.
fn receiver(p: &FittedPath, policer: Option<usize>) -> String {
    match policer.filter(|k| *k < p.own_policers().len()) {
        Some(k) => format!("{}{}", HOSTS[1], k + 1),
        None => HOSTS[1].into(),
    }
}

/// The host at the end of the path's shared link.
fn path_end(p: &FittedPath) -> &'static str {
    if p.own_policers().is_empty() { HOSTS[1] } else { EDGE }
}

/// Indices of the policers that flows pass, each once and in order; `None` last, for flows that pass none.
fn in_use(flows: &[FittedFlow]) -> Vec<Option<usize>> {
    let mut all: Vec<Option<usize>> = flows.iter().map(|f| f.policer).collect();
    all.sort_by_key(|k| (k.is_none(), *k));
    all.dedup();
    all
}

/// The tables of hosts and links behind the shared link; `stack` is that of each receiver.
fn links(p: &FittedPath, flows: &[FittedFlow], stack: &str) -> (String, String) {
    let own = p.own_policers();
    if own.is_empty() {
        return (stack_of_host(HOSTS[1], stack), String::new());
    }
    let (mut hosts, mut links) = (String::new(), String::new());
    for k in in_use(flows) {
        let to = receiver(p, k);
        hosts += &stack_of_host(&to, stack);
        let (mut forward, mut beyond) = (String::new(), 0.0);
        if let Some(policer) = k.and_then(|k| own.get(k)) {
            let (rate, bucket) = (whole(p.rate * policer.rate), whole(p.bucket * policer.bucket));
            forward = format!(
                "    {{ kind = \"policer\", name = \"limiter\", rate = \"{rate}bit/s\", burst = \"{bucket}B\" }},\n"
            );
            beyond = policer.beyond;
        }
        let mut backward = String::new();
        if beyond > 0.0 {
            backward = format!("{{ kind = \"delay\", name = \"beyond\", delay = {} }}", time(beyond / 2.0));
            let _ = writeln!(forward, "    {backward},");
        }
        let _ = write!(
            links,
            "\n[links.to-{to}]\nbetween = [\"{EDGE}\", \"{to}\"]\nforward = [\n{forward}]\nbackward = [{backward}]\n"
        );
    }
    (hosts, links)
}

/// The scenario's text; `head` are lines of comment for the head of the file, `notes` those before a part.
pub fn scenario_text(
    p: &FittedPath,
    flows: &[FittedFlow],
    frame: &TrialFrame,
    shape: PathShape,
    notes: &dyn Fn(&str) -> String,
) -> String {
    let [sender, at_receiver] = stacks(p, frame);
    let (receivers, own) = links(p, flows, &at_receiver);
    let stages: Vec<String> = forward(p, shape).iter().map(|s| format!("    {s},\n")).collect();
    let ends = flows.iter().any(|f| matches!(f.app, FittedApp::Bytes(_)));
    let seconds = frame.seconds * if ends { 1.5 } else { 1.0 };
    let last = flows.iter().map(|f| f.start_s + f.stagger_s * f64::from(f.count - 1)).fold(0.0, f64::max);
    let mut text = format!(
        "{}name = \"fit\"\nduration = {}\n\n{}{}{receivers}\
         {}[links.path]\nbetween = [\"{}\", \"{}\"]\nforward = [\n{}]\nbackward = [{{ kind = \"delay\", name = \"delay\", delay = {} }}]\n{own}",
        notes("head"),
        time(seconds.max(last + 1e-3)),
        notes("hosts"),
        stack_of_host(HOSTS[0], &sender),
        notes("path"),
        HOSTS[0],
        path_end(p),
        stages.concat(),
        time(p.rtt / 2.0),
    );
    for f in flows {
        // Requests come from the receiving end of the data.
        let is_reversed = f.backward != matches!(f.app, FittedApp::Request(..));
        let to = receiver(p, f.policer);
        let [from, to] = if is_reversed { [&to, HOSTS[0]] } else { [HOSTS[0], &to] };
        let _ = write!(
            text,
            "\n{}[flows.{}]\nfrom = \"{from}\"\nto = \"{to}\"\ncc = \"{}\"\ncount = {}\nstart = {}\nstagger = {}\napp = {}\n",
            notes(&f.name),
            f.name,
            f.cc,
            f.count,
            time(f.start_s),
            time(f.stagger_s),
            app(&f.app)
        );
    }
    for (i, c) in p.cross.iter().enumerate() {
        let _ = write!(
            text,
            "\n{}[flows.cross{}]\nfrom = \"{}\"\nto = \"{}\"\nstart = {}\napp = {{ kind = \"udp\", rate = \"{}bit/s\", duration = {} }}\n",
            if i == 0 { notes("cross") } else { String::new() },
            i + 1,
            HOSTS[0],
            HOSTS[1],
            time(c.from),
            whole(c.rate),
            time((c.to - c.from).max(1e-3))
        );
    }
    text
}
