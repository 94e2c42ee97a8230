//! Draws scenarios: a cause that should limit the flows, and a random path and applications around it.
//!
//! The intended cause is not the truth, which `truth.rs` determines after the run. The path is always `a -- m
//! -- b`, data flows from `a` to `b`, and the capture is taken at one of the three.

use result::Cause;
use std::fmt::Write as _;
use units::Stream;

/// Where the capture is taken: at host `a` (sender of the data), `m` or `b` (receiver).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vantage {
    /// Host `a`.
    Sender,
    /// Host `m`.
    Middle,
    /// Host `b`.
    Receiver,
}

impl Vantage {
    /// All places, in the order of the hosts.
    pub const ALL: [Vantage; 3] = [Vantage::Sender, Vantage::Middle, Vantage::Receiver];

    /// Returns the host's index in the scenario.
    pub fn host(self) -> usize {
        self as usize
    }

    /// Returns its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Middle => "middle",
            Vantage::Receiver => "receiver",
        }
    }
}

/// A scenario of the corpus.
#[derive(Clone, Debug)]
pub struct Case {
    /// Number of the case in the set.
    pub number: u64,
    /// Seed of its run.
    pub seed: u64,
    /// The intended cause.
    pub intended: Cause,
    /// Where the capture is taken.
    pub vantage: Vantage,
    /// The capture shows back-to-back segments as one super-packet, as with segmentation offload.
    pub offload: bool,
    /// Rate of the limiter, bit/s.
    pub rate: f64,
    /// Base round trip, seconds.
    pub rtt: f64,
    /// The scenario file.
    pub text: String,
    /// Outages: start and end, seconds.
    pub outages: Vec<(f64, f64)>,
}

/// Intended causes and their frequency among 100 cases. Policers, and causes that resemble them, are more
/// frequent.
const CAUSES: [(Cause, u64); 11] = [
    (Cause::Application, 10),
    (Cause::ReceiveWindow, 8),
    (Cause::SendBuffer, 6),
    (Cause::SlowStart, 6),
    (Cause::RandomLoss, 9),
    (Cause::Congestion, 8),
    (Cause::Bottleneck, 10),
    (Cause::Policed, 20),
    (Cause::Shaped, 9),
    (Cause::Outage, 7),
    (Cause::AckPath, 7),
];

/// Greatest number of data packets of a scenario.
const MAX_PACKETS: f64 = 500_000.0;
/// Bits of a full packet on the wire.
const PACKET: f64 = 12_000.0;

/// The random properties of a case, before its cause shapes it.
struct Recipe {
    draw: Stream,
    /// bit/s.
    rate: f64,
    /// Base round trip, seconds.
    rtt: f64,
    flows: u64,
    cc: &'static str,
    seconds: f64,
    /// Stages of the limiting element, forward.
    limiter: String,
    /// Stages backward.
    backward: String,
    app: String,
    sender: String,
    receiver: String,
    /// Data answers requests, so `b` opens the connections.
    asks: bool,
    /// A second flow, from `b` to `a`.
    upload: bool,
    outages: Vec<(f64, f64)>,
}

/// Formats a rate for scenario files.
fn rate(bps: f64) -> String {
    format!("\"{}bit/s\"", bps.round() as u64)
}

fn time(seconds: f64) -> String {
    format!("\"{}us\"", (seconds * 1e6).round() as u64)
}

fn bytes(n: f64) -> String {
    format!("\"{}B\"", n.round().max(1.0) as u64)
}

impl Recipe {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.draw.unit()
    }

    /// Draws log-uniformly.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.draw.unit())
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.draw.below(choices.len() as u64) as usize]
    }

    /// Returns the bandwidth-delay product, bytes.
    fn bdp(&self) -> f64 {
        self.rate * self.rtt / 8.0
    }

    /// Redraws rate and RTT until their product is at least this many packets for each flow.
    fn fat(&mut self, packets: f64) {
        while self.bdp() < packets * 1500.0 * self.flows as f64 {
            self.rate = self.scale(5e5, 1e9);
            self.rtt = self.scale(0.005, 0.3);
            self.flows = self.flows.min(4);
        }
    }

    /// A plain link with a queue of this many bandwidth-delay products.
    fn link(&mut self, queue: f64) -> String {
        let packets = (self.bdp() * queue / 1500.0).clamp(30.0, 30_000.0) as u64;
        format!(
            "{{ kind = \"link\", name = \"limiter\", rate = {}, queue = {{ kind = \"fifo\", packets = {packets} }} }}",
            rate(self.rate)
        )
    }

    fn shape(&mut self, cause: Cause) {
        match cause {
            Cause::Application => self.application(),
            Cause::ReceiveWindow => {
                self.fat(12.0);
                let share = self.between(0.1, 0.7) * self.bdp() / self.flows as f64;
                let window = share.max(4.0 * 1460.0);
                let fixed = self.draw.chance(0.6);
                self.receiver += &match fixed {
                    true => format!(", receive_window = {}", bytes(window)),
                    false => format!(", receive_buffer = {}", bytes(2.0 * window)),
                };
                self.limiter = self.link(2.0);
            }
            Cause::SendBuffer => {
                self.fat(12.0);
                let share = self.between(0.1, 0.7) * self.bdp() / self.flows as f64;
                self.sender += &format!(", send_buffer = {}", bytes(share.max(6.0 * 1460.0)));
                self.limiter = self.link(2.0);
            }
            Cause::SlowStart => {
                self.flows = self.flows.min(4);
                while self.bdp() < 100.0 * 1500.0 {
                    self.rate = self.scale(1e7, 1e9);
                    self.rtt = self.scale(0.03, 0.3);
                }
                let per_flow = self.bdp() / self.flows as f64;
                let n = (self.between(0.2, 1.0) * per_flow).max(40_000.0);
                self.app = format!("{{ kind = \"bulk\", bytes = {} }}", bytes(n));
                self.limiter = self.link(1.5);
                self.seconds = 6.0;
            }
            Cause::RandomLoss => self.random_loss(),
            Cause::Congestion => {
                self.fat(25.0);
                self.cc = self.pick(&["cubic", "cubic", "reno"]);
                self.flows = self.flows.min(3);
                let packets = self.scale(3.0, 40.0) as u64;
                self.limiter = format!(
                    "{{ kind = \"link\", name = \"limiter\", rate = {}, queue = {{ kind = \"fifo\", packets = {packets} }} }}",
                    rate(self.rate)
                );
            }
            Cause::Bottleneck => self.bottleneck(),
            Cause::Policed => self.policed(),
            Cause::Shaped => self.shaped(),
            Cause::Outage => self.outage(),
            Cause::AckPath => self.ack_path(),
            // The other causes are not drawn.
            _ => {}
        }
    }

    fn application(&mut self) {
        self.limiter = self.link(2.0);
        let each = self.rate / self.flows as f64;
        match self.draw.below(4) {
            0 => {
                let r = self.between(0.05, 0.6) * each;
                self.app = format!("{{ kind = \"onoff\", on = \"1h\", off = \"1s\", rate = {} }}", rate(r));
            }
            1 => {
                let r = self.between(0.2, 0.8) * each;
                let (on, off) = (self.scale(0.05, 3.0), self.scale(0.1, 3.0));
                self.app = format!(
                    "{{ kind = \"onoff\", on = {}, off = {}, rate = {} }}",
                    time(on),
                    time(off),
                    rate(r)
                );
            }
            2 => {
                let on = self.scale(0.05, 0.8);
                let off = on * self.between(1.5, 6.0);
                self.app = format!("{{ kind = \"onoff\", on = {}, off = {} }}", time(on), time(off));
            }
            _ => {
                self.asks = true;
                let answer = self.scale(2e3, 3e5);
                let think = self.scale(0.02, 2.0);
                self.app = format!(
                    "{{ kind = \"request\", request = \"400B\", response = {}, think = {} }}",
                    bytes(answer),
                    time(think)
                );
            }
        }
    }

    fn random_loss(&mut self) {
        self.cc = self.pick(&["cubic", "cubic", "cubic", "reno"]);
        self.flows = self.flows.min(4);
        let p = self.scale(0.0005, 0.03);
        // Mathis et al. 1997: MSS / RTT * sqrt(3 / 2p); CUBIC is faster at long RTTs.
        let alone = 1448.0 * 8.0 / self.rtt * (1.5 / p).sqrt() * self.flows as f64;
        self.rate = (alone * self.between(3.0, 12.0)).clamp(2e6, 1e9);
        let loss = match self.draw.chance(0.5) {
            true => format!("{{ kind = \"loss\", probability = {p:.6} }}"),
            false => {
                // Bursts of 1/r packets.
                let r = self.between(0.15, 0.7);
                format!("{{ kind = \"loss\", model = \"gilbert-elliott\", p = {:.6}, r = {r:.3} }}", p * r)
            }
        };
        let link = self.link(2.0);
        self.limiter =
            if self.draw.chance(0.5) { format!("{loss}, {link}") } else { format!("{link}, {loss}") };
    }

    fn bottleneck(&mut self) {
        let queue = match self.draw.below(6) {
            0 => "{ kind = \"codel\" }".into(),
            1 => "{ kind = \"fq-codel\" }".into(),
            2 => {
                let n = (self.bdp() * self.between(0.5, 2.0) / 1500.0).clamp(30.0, 20_000.0) as u64;
                let kind = self.pick(&["drr", "wfq"]);
                format!("{{ kind = \"{kind}\", packets = {n} }}")
            }
            _ => {
                let n = (self.bdp() * self.scale(0.5, 4.0) / 1500.0).clamp(20.0, 30_000.0) as u64;
                format!("{{ kind = \"fifo\", packets = {n} }}")
            }
        };
        self.limiter =
            format!("{{ kind = \"link\", name = \"limiter\", rate = {}, queue = {queue} }}", rate(self.rate));
    }

    fn policed(&mut self) {
        let burst = self.scale(8e3, 2e6).min(self.rate * self.seconds / 8.0 * 0.6).max(8e3);
        let per_flow = if self.flows > 1 && self.draw.chance(0.12) { ", per_flow = true" } else { "" };
        let policer = format!(
            "{{ kind = \"policer\", name = \"limiter\", rate = {}, burst = {}{per_flow} }}",
            rate(self.rate),
            bytes(burst)
        );
        let fast = (self.rate * self.scale(1.5, 30.0)).min(1e10);
        let queue = (fast * self.rtt / PACKET).clamp(60.0, 20_000.0) as u64;
        let link = format!(
            "{{ kind = \"link\", name = \"access\", rate = {}, queue = {{ kind = \"fifo\", packets = {queue} }} }}",
            rate(fast)
        );
        self.limiter =
            if self.draw.chance(0.8) { format!("{link}, {policer}") } else { format!("{policer}, {link}") };
        if self.draw.chance(0.15) {
            let (on, off) = (self.scale(0.3, 4.0), self.scale(0.2, 2.0));
            self.app = format!("{{ kind = \"onoff\", on = {}, off = {} }}", time(on), time(off));
        }
        if self.draw.chance(0.15) {
            let p = self.scale(2e-5, 1e-3);
            let _ = write!(self.limiter, ", {{ kind = \"loss\", probability = {p:.6} }}");
        }
    }

    fn shaped(&mut self) {
        let burst = self.scale(3.1e3, 2e6).min(self.rate * self.seconds / 8.0 * 0.6).max(3.1e3);
        let interval = self.draw.chance(0.3);
        let burst = if interval { burst.min(self.rate / 8.0 * 0.125).max(1600.0) } else { burst };
        let refill = if interval { ", refill = \"interval\"" } else { "" };
        let queue = match self.draw.chance(0.3) && !interval {
            true => format!("latency = {}", time(self.scale(0.02, 0.6).max(20.0 * PACKET / self.rate))),
            false => {
                let n = (self.bdp() * self.scale(0.5, 4.0) / 1500.0).clamp(20.0, 20_000.0) as u64;
                format!("queue = {{ kind = \"fifo\", packets = {n} }}")
            }
        };
        let shaper = format!(
            "{{ kind = \"shaper\", name = \"limiter\", rate = {}, burst = {}{refill}, {queue} }}",
            rate(self.rate),
            bytes(burst)
        );
        let fast = (self.rate * self.scale(2.0, 30.0)).min(1e10);
        let n = (fast * self.rtt / PACKET).clamp(100.0, 20_000.0) as u64;
        let link = format!(
            "{{ kind = \"link\", name = \"access\", rate = {}, queue = {{ kind = \"fifo\", packets = {n} }} }}",
            rate(fast)
        );
        self.limiter =
            if self.draw.chance(0.7) { format!("{link}, {shaper}") } else { format!("{shaper}, {link}") };
    }

    fn outage(&mut self) {
        let lasts = self.scale(0.3, 2.5);
        let mut at = self.between(1.0, 3.0);
        while at + lasts + 0.5 < self.seconds {
            self.outages.push((at, at + lasts));
            at += lasts * self.between(1.25, 3.0) + 0.2;
        }
        let buffer = self.pick(&["lost", "kept"]);
        let list: Vec<String> = self.outages.iter().map(|o| time(o.0)).collect();
        let stage = format!(
            "{{ kind = \"outage\", name = \"gap\", at = [{}], lasts = {}, buffer = \"{buffer}\" }}",
            list.join(", "),
            time(lasts)
        );
        let link = self.link(1.5);
        self.limiter = format!("{link}, {stage}");
        self.backward = format!("{stage}, ");
        // Rounded as in the scenario file.
        for o in &mut self.outages {
            o.0 = (o.0 * 1e6).round() / 1e6;
            o.1 = o.0 + (lasts * 1e6).round() / 1e6;
        }
    }

    fn ack_path(&mut self) {
        self.fat(8.0);
        self.limiter = self.link(2.0);
        // An ACK of 52 bytes for two packets of 1500.
        let acks = self.rate * 52.0 / 3000.0;
        if self.draw.chance(0.5) {
            let slow = acks * self.between(0.08, 0.5);
            let n = self.scale(50.0, 2000.0) as u64;
            self.backward = format!(
                "{{ kind = \"link\", name = \"back\", rate = {}, queue = {{ kind = \"fifo\", packets = {n} }} }}, ",
                rate(slow.max(5e3))
            );
        } else {
            // An upload fills the queue that the ACKs must pass.
            let slow = (self.rate * self.between(0.03, 0.2)).max(2e5);
            let n = (slow * self.between(0.3, 2.0) / PACKET).clamp(20.0, 3000.0) as u64;
            self.backward = format!(
                "{{ kind = \"link\", name = \"back\", rate = {}, queue = {{ kind = \"fifo\", packets = {n} }} }}, ",
                rate(slow)
            );
            self.upload = true;
        }
    }

    /// Returns the hosts' stacks: settings that a user may have changed, and buffers that do not limit.
    fn stacks(&mut self, cause: Cause) {
        let roomy = (8.0 * self.bdp() + 4e6).min(2e9);
        if cause != Cause::ReceiveWindow {
            self.receiver += &format!(", receive_buffer = {}", bytes(2.0 * roomy));
        }
        if cause != Cause::SendBuffer {
            self.sender += &format!(", send_buffer = {}", bytes(roomy));
        }
        let mut options = String::new();
        if self.draw.chance(0.15) {
            options += ", timestamps = false";
        }
        if self.draw.chance(0.07) {
            options += ", sack = false";
        }
        if self.draw.chance(0.2) {
            let mss = self.pick(&[1360, 1400, 1220, 1380, 536]);
            let _ = write!(options, ", mss = {mss}");
        }
        self.sender += &options;
        self.receiver += &options;
        if self.draw.chance(0.2) {
            let ack = self.pick(&["0.01", "0.2", "0.1"]);
            let _ = write!(self.receiver, ", delayed_ack = {}", time(ack.parse().unwrap_or(0.04)));
        }
        if self.draw.chance(0.1) {
            self.sender += ", tso = false";
        }
    }

    /// Returns the scenario file.
    fn text(&mut self, name: &str) -> String {
        // The limiter is on either side of the middle.
        let first = self.draw.chance(0.5);
        let split = self.between(0.05, 0.95);
        let one_way = self.rtt / 2.0;
        let jitter = self.draw.chance(0.12);
        let wobble = self.between(0.0001, 0.002).min(one_way / 8.0);
        let delay = |share: f64, wobbles: bool| match wobbles && jitter {
            true => format!(
                "{{ kind = \"jitter\", delay = {}, jitter = {} }}",
                time(one_way * share),
                time(wobble.min(one_way * share / 2.0))
            ),
            false => format!("{{ kind = \"delay\", delay = {} }}", time(one_way * share)),
        };
        let wire = rate((self.rate * 10.0).clamp(1e9, 1e10));
        let nic = format!(
            "{{ kind = \"link\", name = \"nic\", rate = {wire}, queue = {{ kind = \"fifo\", packets = 20000 }} }}"
        );
        let (near, far) = (delay(split, false), delay(1.0 - split, true));
        let (l1, l2) = match first {
            true => (format!("{nic}, {}, {near}", self.limiter), far),
            false => (format!("{nic}, {near}"), format!("{}, {far}", self.limiter)),
        };
        let (b1, b2) = (delay(split, false), delay(1.0 - split, false));
        let (b1, b2) = match first {
            true => (format!("{}{b1}", self.backward), format!("{nic}, {b2}")),
            false => (b1, format!("{nic}, {}{b2}", self.backward)),
        };
        let (from, to) = if self.asks { ("b", "a") } else { ("a", "b") };
        let stagger = match self.flows {
            1 => 0.0,
            _ if self.draw.chance(0.4) => self.between(0.1, 0.25 * self.seconds / self.flows as f64),
            _ => 0.0003,
        };
        let (Recipe { app, cc, flows, sender, receiver, seconds, .. }, stagger) = (&*self, time(stagger));
        let upload = if self.upload { "[flows.up]\nfrom = \"b\"\nto = \"a\"\n" } else { "" };
        format!(
            r#"name = "{name}"
duration = {}
# No multiple of what applications do: samples must not keep step with them.
sample = "7300us"
[hosts.a]
stack = {{ profile = "linux"{sender} }}
[hosts.m]
[hosts.b]
stack = {{ profile = "linux"{receiver} }}
[links.l1]
between = ["a", "m"]
forward = [{l1}]
backward = [{b1}]
[links.l2]
between = ["m", "b"]
forward = [{l2}]
backward = [{b2}]
[flows.f]
from = "{from}"
to = "{to}"
cc = "{cc}"
count = {flows}
stagger = {stagger}
app = {app}
{upload}"#,
            time(*seconds)
        )
    }
}

impl Case {
    /// Shortens the case to at most `seconds`.
    #[must_use]
    pub fn within(mut self, seconds: f64) -> Case {
        let mut lines: Vec<String> = self.text.lines().map(String::from).collect();
        for line in lines.iter_mut().filter(|l| l.starts_with("duration = ")) {
            let now: f64 =
                line.trim_end_matches("us\"").rsplit('"').next().map_or(0.0, |n| n.parse().unwrap_or(0.0));
            if now / 1e6 > seconds {
                *line = format!("duration = {}", time(seconds));
                self.outages.retain(|o| o.0 < seconds);
            }
        }
        self.text = lines.join("\n") + "\n";
        self
    }
}

/// Draws case `number` of the set `master`.
pub fn case(master: u64, number: u64) -> Case {
    let mut r = Recipe {
        draw: Stream::new(master, &format!("case {number}")),
        rate: 0.0,
        rtt: 0.0,
        flows: 1,
        cc: "cubic",
        seconds: 0.0,
        limiter: String::new(),
        backward: String::new(),
        app: "{ kind = \"bulk\" }".into(),
        sender: String::new(),
        receiver: String::new(),
        asks: false,
        upload: false,
        outages: Vec::new(),
    };
    let total: u64 = CAUSES.iter().map(|c| c.1).sum();
    let mut at = r.draw.below(total);
    let mut intended = Cause::Unknown;
    for (cause, weight) in CAUSES {
        if at < weight {
            intended = cause;
            break;
        }
        at -= weight;
    }
    r.rate = r.scale(5e5, 1e9);
    r.rtt = r.scale(0.005, 0.3);
    r.flows = r.pick(&[1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4, 8]);
    r.cc = r.pick(&["cubic", "cubic", "cubic", "cubic", "cubic", "cubic", "cubic", "reno", "bbr", "bbr"]);
    r.seconds = r.between(8.0, 20.0);
    if r.rate < 3e6 {
        r.seconds = r.between(20.0, 30.0);
    }
    r.shape(intended);
    let seconds = r.seconds.min(MAX_PACKETS * PACKET / r.rate).max(5.0);
    // Outages were drawn for the longer run; those after its end are not played.
    r.seconds = seconds;
    r.outages.retain(|o| o.0 < seconds);
    r.stacks(intended);
    let text = r.text(&format!("case-{number}"));
    Case {
        number,
        seed: r.draw.bits() >> 1,
        intended,
        vantage: r.pick(&[Vantage::Sender, Vantage::Sender, Vantage::Receiver, Vantage::Middle]),
        offload: r.draw.chance(0.4),
        rate: r.rate,
        rtt: r.rtt,
        text,
        outages: r.outages,
    }
}
