//! A path and its flows, as a line of a file, as a name, and as a scenario.

use units::{Bytes, Rate, Span};

/// A path and its flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// `police`, `shape`, `clean`, `loss`; a kind of queue (a link with that queue); `jitter` (±20 ms per
    /// packet), `handover` (every 2.5 s everything waits for 100 ms) or `failed-handover` (every 4 s nothing
    /// passes for 1 s, and waiting packets are lost).
    pub path: String,
    /// Rate of the limiter, or of the link.
    pub rate: Rate,
    /// Bucket size; 0 for a link.
    pub burst: Bytes,
    /// Queue size in packets; 0 for a policer, and for a queue of its default size.
    pub queue: u64,
    /// Base round-trip time.
    pub rtt: Span,
    /// Random loss before the limiter.
    pub loss: f64,
    /// Congestion control.
    pub cc: String,
    /// Parallel flows.
    pub flows: u32,
    /// Whether every connection is paced, whatever its congestion control.
    pub paced: bool,
    /// Duration, seconds.
    pub seconds: u32,
}

/// Mean RTT of `jitter`, and the largest deviation of a packet.
pub const JITTER_RTT: Span = Span::from_millis(50);
const JITTER: Span = Span::from_millis(20);

/// Default duration of cells, seconds.
pub const SECONDS: u32 = 10;

/// The first columns of every file.
pub const COLUMNS: &str = "path,rate_bps,burst_bytes,queue_packets,rtt_ms,loss,cc,flows";

impl Cell {
    /// Parses the first fields of a line; `None` for the heading. The cell is not paced.
    pub fn parse(fields: &[&str]) -> Option<Cell> {
        let number = |i: usize| fields.get(i)?.parse::<f64>().ok();
        Some(Cell {
            path: fields.first()?.to_string(),
            rate: Rate::from_bps(number(1)? as u64),
            burst: Bytes::new(number(2)? as u64),
            queue: number(3)? as u64,
            rtt: Span::from_secs_f64(number(4)? / 1e3),
            loss: number(5)?,
            cc: fields.get(6)?.to_string(),
            flows: number(7)? as u32,
            paced: false,
            seconds: SECONDS,
        })
    }

    /// The fields of [`COLUMNS`], as text.
    pub fn line(&self) -> String {
        let Cell { path, queue, loss, cc, flows, .. } = self;
        let (rate, burst, rtt) = (self.rate.as_bps(), self.burst.get(), self.rtt.as_millis_f64());
        format!("{path},{rate},{burst},{queue},{rtt},{loss},{cc},{flows}")
    }

    /// A readable name of the cell.
    pub fn name(&self) -> String {
        let mut s = format!("{} {}", self.path, self.rate);
        if self.burst.get() > 0 {
            s += &format!(" burst {}", self.burst);
        }
        if self.queue > 0 {
            s += &format!(" queue {}", self.queue);
        }
        s += &format!(", {} RTT", self.rtt);
        if self.loss > 0.0 {
            s += &format!(", {} % loss", self.loss * 100.0);
        }
        s + &format!(", {} × {}", self.flows, self.cc)
    }

    /// The cell as a scenario file.
    pub fn scenario(&self) -> String {
        // A host that opens several connections at once needs some 0.3 ms for each (seen in captures of the
        // lab); flows that begin in the same nanosecond would lose in step.
        self.scenario_with(if self.flows > 1 { Span::from_micros(300) } else { Span::ZERO })
    }

    /// The cell as a scenario file whose flows begin this long after each other.
    pub fn scenario_with(&self, stagger: Span) -> String {
        let Cell { rate, burst, queue, loss, cc, flows, paced, seconds, .. } = self;
        let fifo = format!("{{ kind = \"fifo\", packets = {queue} }}");
        let link = |queue: &str| format!("{{ kind = \"link\", rate = \"{rate}\", queue = {queue} }}");
        let handover =
            |how: &str| format!("{{ kind = \"handover\", rate = \"{rate}\", queue = {fifo}, {how} }}");
        let half = self.rtt / 2;
        let limiter = match self.path.as_str() {
            "police" => format!("{{ kind = \"policer\", rate = \"{rate}\", burst = \"{burst}\" }}"),
            "shape" => {
                format!("{{ kind = \"shaper\", rate = \"{rate}\", burst = \"{burst}\", queue = {fifo} }}")
            }
            "handover" => handover("every = \"2.5s\", lasts = \"100ms\", buffer = \"kept\""),
            "failed-handover" => handover("every = \"4s\", lasts = \"1s\""),
            kind if path::QueueConfig::KINDS.contains(&kind) && *queue == 0 => {
                link(&format!("{{ kind = \"{kind}\" }}"))
            }
            kind if path::QueueConfig::KINDS.contains(&kind) => {
                link(&format!("{{ kind = \"{kind}\", packets = {queue} }}"))
            }
            _ => link(&fifo),
        };
        let delay = match self.path.as_str() {
            "jitter" => format!("{{ kind = \"jitter\", delay = \"{half}\", jitter = \"{JITTER}\" }}"),
            _ => format!("{{ kind = \"delay\", delay = \"{half}\" }}"),
        };
        format!(
            r#"name = "cell"
duration = "{seconds}s"
[hosts.a]
stack = {{ pacing = {paced} }}
[links.path]
between = ["a", "b"]
forward = [{{ kind = "loss", probability = {loss:?} }}, {limiter}, {delay}]
backward = [{{ kind = "delay", delay = "{half}" }}]
[flows.f]
from = "a"
to = "b"
cc = "{cc}"
count = {flows}
stagger = "{stagger}"
"#
        )
    }
}
