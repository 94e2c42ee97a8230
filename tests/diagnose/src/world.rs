//! Draws cases that `draw.rs` does not have: receivers that read slowly or stop reading, and messages smaller
//! than a segment. They are a set of their own, so that the other cases do not change.
//!
//! A receiver that does not read is a relay at host `m`, which reads no faster than it can send on to a path
//! that is slow, or gone for a while. The capture is taken at `a`, which sends, or at `m` itself.

use crate::{Case, Vantage};
use result::Cause;
use units::Stream;

struct WorldDraw(Stream);

impl WorldDraw {
    /// Log-uniform.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.unit())
    }
}

/// A case's path before and behind `m`, and its flows.
struct World {
    intended: Cause,
    seconds: f64,
    /// Stages behind `m`.
    behind: String,
    receiver: String,
    relay: String,
    flow: String,
}

fn unread(m: &mut WorldDraw, rate: f64) -> World {
    let seconds = 15.0;
    let slow = rate * m.scale(0.02, 0.4);
    let mut behind = format!("{{ kind = \"link\", rate = \"{slow:.0}bit/s\" }}");
    if m.0.chance(0.5) {
        // The receiver stops several times.
        let (mut at, lasts) = (m.scale(1.0, 2.0), m.scale(1.0, 3.0));
        let mut times = Vec::new();
        while at + lasts < seconds {
            times.push(format!("\"{:.0}us\"", at * 1e6));
            at += lasts * m.scale(1.3, 2.5);
        }
        behind = format!(
            "{{ kind = \"link\", rate = \"{rate:.0}bit/s\" }}, {{ kind = \"outage\", at = [{}], lasts = \"{:.0}us\", buffer = \"kept\" }}",
            times.join(", "),
            lasts * 1e6
        );
    }
    let (buffer, relay) = (m.scale(3e4, 5e5), m.scale(1.6e4, 3e5));
    World {
        intended: Cause::ReceiverStalled,
        seconds,
        behind,
        receiver: format!(", receive_buffer = \"{buffer:.0}B\""),
        relay: format!("[relays.reader]\nhost = \"m\"\nbuffer = \"{relay:.0}B\"\n"),
        flow: "via = [\"reader\"]\napp = { kind = \"bulk\" }\n".into(),
    }
}

fn messages(m: &mut WorldDraw, rate: f64) -> World {
    let app = match m.0.chance(0.5) {
        // Less than a segment every 10 ms.
        true => format!(
            "{{ kind = \"onoff\", on = \"1h\", off = \"1s\", rate = \"{:.0}bit/s\" }}",
            m.scale(1e4, 4e5)
        ),
        false => format!(
            "{{ kind = \"request\", request = \"{:.0}B\", response = \"{:.0}B\", think = \"{:.0}us\" }}",
            m.scale(20.0, 800.0),
            m.scale(20.0, 1200.0),
            m.scale(5e3, 5e5)
        ),
    };
    World {
        intended: Cause::Application,
        seconds: 20.0,
        behind: format!("{{ kind = \"link\", rate = \"{rate:.0}bit/s\" }}"),
        receiver: String::new(),
        relay: String::new(),
        flow: format!("app = {app}\n"),
    }
}

/// Draws case `number` of the set `master`.
pub fn case(master: u64, number: u64) -> Case {
    let mut m = WorldDraw(Stream::new(master, &format!("world {number}")));
    let (rate, rtt) = (m.scale(2e6, 2e8), m.scale(0.002, 0.2));
    let world = if m.0.chance(0.6) { unread(&mut m, rate) } else { messages(&mut m, rate) };
    let stamps = if m.0.chance(0.3) { ", timestamps = false" } else { "" };
    let delay = |share: f64| format!("{{ kind = \"delay\", delay = \"{:.0}us\" }}", rtt / 2.0 * share * 1e6);
    let (near, far) = (delay(0.8), delay(0.2));
    let World { intended, seconds, behind, receiver, relay, flow } = world;
    let text = format!(
        r#"name = "world-{number}"
duration = "{seconds}s"
sample = "7300us"
[hosts.a]
stack = {{ profile = "linux"{stamps} }}
[hosts.m]
stack = {{ profile = "linux"{stamps}{receiver} }}
[hosts.b]
[links.l1]
between = ["a", "m"]
forward = [{{ kind = "link", rate = "{rate:.0}bit/s" }}, {near}]
backward = [{near}]
[links.l2]
between = ["m", "b"]
forward = [{behind}, {far}]
backward = [{far}]
{relay}[flows.f]
from = "a"
to = "b"
{flow}"#
    );
    // Where the receiver stops, a capture behind `m` shows another flow.
    let vantage =
        if m.0.chance(0.3) && intended == Cause::Application { Vantage::Middle } else { Vantage::Sender };
    let (seed, offload) = (m.0.bits() >> 1, m.0.chance(0.4));
    Case { number, seed, intended, vantage, offload, rate, rtt, text, outages: Vec::new() }
}
