//! Random choices of a run: the path, the other end, and the application's writes.

use units::{Rate, Span, Stream};

/// A congestion control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Control {
    Reno,
    Cubic,
}

impl Control {
    /// Looks up a control by name.
    pub fn parse(name: &str) -> Option<Control> {
        [Control::Reno, Control::Cubic].into_iter().find(|c| c.name() == name)
    }
    /// Name in kernel and model.
    pub fn name(self) -> &'static str {
        match self {
            Control::Reno => "reno",
            Control::Cubic => "cubic",
        }
    }
}

impl std::fmt::Display for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A run's path, other end and application.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Seed of all choices.
    pub seed: u64,
    pub control: Control,
    pub paced: bool,
    /// Payload of a full segment without timestamps, as announced by the other end's SYN.
    pub mss: u32,
    pub sack: bool,
    pub timestamps: bool,
    /// The other end's receive window, bytes.
    pub window: u32,
    /// An ACK is sent for this many segments in order, or after [`Plan::ack_delay`].
    pub ack_every: u32,
    /// Maximum delay of an ACK.
    pub ack_delay: Span,
    /// Round trip of the empty path.
    pub rtt: Span,
    /// Rate of the bottleneck; `None`: unlimited.
    pub rate: Option<Rate>,
    /// Queue size, packets.
    pub queue: usize,
    /// Share of packets lost; after a loss the next packet is lost with probability `loss_run`.
    pub loss: f64,
    /// Probability that the packet after a lost one is lost too.
    pub loss_run: f64,
    /// Share of packets that are late.
    pub late: f64,
    /// Maximum lateness of a late packet.
    pub late_by: Span,
    /// Share of packets that arrive twice.
    pub double: f64,
    /// Share of ACKs lost.
    pub ack_loss: f64,
    /// Share of ACKs that are late.
    pub ack_late: f64,
    /// The application's writes: bytes, and time after the handshake.
    pub writes: Vec<(Span, u64)>,
}

impl Eq for Plan {}

/// The largest single write: the kernel starts sending during larger ones.
const CHUNK: u64 = 32_000;

/// Draws log-uniformly.
fn spread(s: &mut Stream, least: f64, most: f64) -> f64 {
    least * (most / least).powf(s.unit())
}

impl Plan {
    /// Draws the plan of a seed.
    pub fn draw(seed: u64, control: Control, paced: bool) -> Plan {
        let s = &mut Stream::new(seed, "plan");
        let rtt = Span::from_secs_f64(spread(s, 0.001, 0.06));
        let mbps = spread(s, 1.0, 80.0);
        let rate = s.chance(0.7).then(|| Rate::from_bps((mbps * 1e6) as u64));
        let bdp = mbps * 1e6 * rtt.as_secs_f64() / 12_000.0;
        let queue = spread(s, 3.0, (2.0 * bdp).max(12.0)) as usize;
        let timestamps = s.chance(0.8);
        let some = |s: &mut Stream, p: f64, least: f64, most: f64| {
            let value = spread(s, least, most);
            if s.chance(p) { value } else { 0.0 }
        };
        let window = spread(s, 12_000.0, 200_000.0) as u32;
        let mut plan = Plan {
            seed,
            control,
            paced,
            mss: [1460, 1460, 1460, 1200, 536][s.below(5) as usize],
            sack: s.chance(0.85),
            timestamps,
            window: if s.chance(0.75) { 4 << 20 } else { window },
            ack_every: [1, 2, 2, 2, 8][s.below(5) as usize],
            ack_delay: Span::from_millis([40, 40, 10, 1][s.below(4) as usize]),
            rtt,
            rate,
            queue,
            loss: some(s, 0.6, 0.001, 0.06),
            loss_run: some(s, 0.3, 0.1, 0.8),
            late: some(s, 0.35, 0.005, 0.3),
            late_by: Span::from_secs_f64(rtt.as_secs_f64() * spread(s, 0.02, 1.0)),
            double: some(s, 0.15, 0.002, 0.03),
            ack_loss: some(s, 0.4, 0.01, 0.4),
            ack_late: some(s, 0.2, 0.01, 0.2),
            writes: Vec::new(),
        };
        plan.draw_writes(s);
        plan
    }

    fn draw_writes(&mut self, s: &mut Stream) {
        let full = self.mss as u64;
        let mut at = Span::ZERO;
        match s.below(4) {
            // A transfer.
            0 | 1 => self.write(at, (spread(s, 30.0, 700.0) * full as f64) as u64),
            // Bursts with pauses.
            2 => {
                for _ in 0..2 + s.below(6) {
                    self.write(at, (spread(s, 0.3, 60.0) * full as f64) as u64);
                    at += Span::from_secs_f64(spread(s, 0.005, 0.6));
                }
            }
            // Small writes at even intervals.
            _ => {
                let (size, gap) = (spread(s, 50.0, 4000.0) as u64, spread(s, 0.001, 0.03));
                for _ in 0..10 + s.below(60) {
                    self.write(at, size);
                    at += Span::from_secs_f64(gap);
                }
            }
        }
    }

    fn write(&mut self, at: Span, bytes: u64) {
        let mut left = bytes.max(1);
        while left > 0 {
            let n = left.min(CHUNK);
            self.writes.push((at, n));
            left -= n;
        }
    }

    /// Total number of bytes written.
    pub fn total(&self) -> u64 {
        self.writes.iter().map(|w| w.1).sum()
    }
}

/// Describes the plan in one line.
impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Plan { seed, control, mss, queue, loss, late, double, ack_loss, ack_late, window, .. } = self;
        write!(f, "{seed} {control}{}", if self.paced { " paced" } else { "" })?;
        write!(f, " mss {mss}, {:.1} ms", self.rtt.as_millis_f64())?;
        if let Some(rate) = self.rate {
            write!(f, ", {:.1} Mbit/s queue {queue}", rate.as_mbps())?;
        }
        for (name, value) in [
            ("loss", loss),
            ("late", late),
            ("double", double),
            ("ACK loss", ack_loss),
            ("late ACKs", ack_late),
        ] {
            if *value > 0.0 {
                write!(f, ", {name} {:.1} %", value * 100.0)?;
            }
        }
        let without = [(self.sack, "SACK"), (self.timestamps, "timestamps")];
        without.iter().filter(|(has, _)| !has).try_for_each(|(_, name)| write!(f, ", no {name}"))?;
        write!(f, ", window {window}, {} writes of {} B", self.writes.len(), self.total())
    }
}
