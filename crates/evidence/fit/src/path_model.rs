//! The fitted path: its limiter and its numbers.

use crate::cross::CrossSpan;
use units::Label;

/// IP bytes of a full packet.
pub const FULL_PACKET: f64 = 1500.0;

/// Cost of each number of a path: one more number improves a fit by this by chance (Akaike 1974).
pub const NUMBER_COST: f64 = 2.0;

/// Factor by which a released number may be farther off than measured ones usually are.
const RELEASED_STDERR_FACTOR: f64 = 5.0;

/// The kind of limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FittedLimiter {
    /// A token bucket that drops, behind a faster line.
    Policer,
    /// A token bucket that delays.
    Shaper,
    /// A line with a queue.
    Link,
}

impl FittedLimiter {
    /// The name of the stage in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            FittedLimiter::Policer => "policer",
            FittedLimiter::Shaper => "shaper",
            FittedLimiter::Link => "link",
        }
    }
}

/// The queue before a shaper or a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FittedQueue {
    /// First in, first out, of [`FittedPath::queue`] bytes.
    Fifo,
    CoDel,
    FqCoDel,
    /// Deficit round robin: a queue for each flow, of [`FittedPath::queue`] bytes in all.
    Fair,
}

/// Which flows share a policer's bucket.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PolicerScope {
    /// All flows share one bucket, as they share every other limiter.
    #[default]
    All,
    /// Each flow has a bucket of its own, all alike.
    EachFlow,
    /// Different policers, each on a link of its own behind the links that all flows share.
    Own(Vec<OwnPolicer>),
}

/// A policer relative to the first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnPolicer {
    /// Rate, as a multiple of [`FittedPath::rate`].
    pub rate: f64,
    /// Bucket, as a multiple of [`FittedPath::bucket`].
    pub bucket: f64,
    /// Round trip in addition to the path's, seconds.
    pub beyond: f64,
}

/// Longest mean run of random losses, packets. Longer runs are a queue's overflow or an outage.
pub const MAX_LOSS_RUN: f64 = 100.0;

/// A number of the path that is measured or searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitParameter {
    /// The limiter's rate, bit/s of IP bytes.
    Rate,
    /// Bucket of a policer or shaper, bytes.
    Bucket,
    /// Queue before a shaper or a link, bytes.
    Queue,
    /// Rate of a further line before or behind a policer or shaper, bit/s.
    Access,
    /// Round trip of the empty path, seconds.
    Rtt,
    /// Random loss, share of packets.
    Loss,
    /// Mean length of a run of random losses, packets.
    LossRun,
    /// Half the width of a uniform jitter, seconds.
    Jitter,
    /// The sender's buffer, bytes.
    SendBuffer,
    /// The receiver's window, bytes.
    Window,
}

impl FitParameter {
    /// Name and unit in the report.
    pub fn title(self) -> (&'static str, &'static str) {
        match self {
            FitParameter::Rate => ("rate", "Mbit/s"),
            FitParameter::Bucket => ("bucket", "kB"),
            FitParameter::Queue => ("queue", "kB"),
            FitParameter::Access => ("further line", "Mbit/s"),
            FitParameter::Rtt => ("base RTT", "ms"),
            FitParameter::Loss => ("random loss", "%"),
            FitParameter::LossRun => ("losses in a row", "packets"),
            FitParameter::Jitter => ("jitter", "ms"),
            FitParameter::SendBuffer => ("send buffer", "kB"),
            FitParameter::Window => ("receive window", "kB"),
        }
    }

    /// Name where there is room, in both languages.
    pub fn label(self) -> Label {
        match self {
            FitParameter::Rate => Label::new("Rate", "速率"),
            FitParameter::Bucket => Label::new("Bucket", "令牌桶"),
            FitParameter::Queue => Label::new("Queue", "队列"),
            FitParameter::Access => Label::new("Further line", "另一链路"),
            FitParameter::Rtt => Label::new("Round trip without queues", "无排队往返时延"),
            FitParameter::Loss => Label::new("Random loss", "随机丢包"),
            FitParameter::LossRun => Label::new("Losses in a row", "连续丢包数"),
            FitParameter::Jitter => Label::new("Jitter", "抖动"),
            FitParameter::SendBuffer => Label::new("Send buffer", "发送缓冲区"),
            FitParameter::Window => Label::new("Receive window", "接收窗口"),
        }
    }

    /// Converts a value of [`FittedPath`] to the unit of [`FitParameter::title`].
    pub fn in_reported_unit(self, value: f64) -> f64 {
        match self {
            FitParameter::Rate | FitParameter::Access => value / 1e6,
            FitParameter::Bucket | FitParameter::Queue | FitParameter::SendBuffer | FitParameter::Window => {
                value / 1e3
            }
            FitParameter::Rtt | FitParameter::Jitter => value * 1e3,
            FitParameter::Loss => value * 100.0,
            FitParameter::LossRun => value,
        }
    }
}

/// A candidate path: its limiter, its numbers, and how well each number is known.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPath {
    pub limiter: FittedLimiter,
    pub queue_kind: FittedQueue,
    /// bit/s of IP bytes.
    pub rate: f64,
    /// Bytes; of a policer or a shaper.
    pub bucket: f64,
    /// A shaper's bucket is refilled at once at the end of each interval, not continuously.
    pub refilled_at_once: bool,
    /// Bytes; of a shaper or a link.
    pub queue: f64,
    /// Rate of a further line before or behind a policer or shaper, bit/s; `None` where no such line shows.
    pub access: Option<f64>,
    /// That line is behind the limiter.
    pub is_line_behind: bool,
    /// Round trip of the empty path, seconds.
    pub rtt: f64,
    /// Share of packets lost at random; zero where there is no such loss.
    pub loss: f64,
    /// Mean length of a run of random losses, packets.
    pub loss_run: f64,
    /// Half the width of a uniform jitter, seconds; zero where there is none.
    pub jitter: f64,
    /// Bytes; `None` if it does not limit.
    pub send_buffer: Option<f64>,
    /// Bytes; `None` if it does not limit.
    pub window: Option<f64>,
    pub scope: PolicerScope,
    /// Cross traffic that does not react.
    pub cross: Vec<CrossSpan>,
    /// The link does not limit: its rate is merely large enough.
    pub is_open: bool,
    /// The range of rates that the losses leave open, bit/s; `None` where the rate is known.
    pub open_rate: Option<[f64; 2]>,
    /// Numbers that single packets show, with the standard deviation of their logarithm. The search does not
    /// move them.
    pub known: Vec<(FitParameter, f64)>,
    /// Numbers that the search moves, and the standard deviation of the first guess's logarithm.
    pub free: Vec<(FitParameter, f64)>,
    /// Cost of the kind: twice the logarithm of the factor by which it is less likely than the likeliest
    /// one.
    pub handicap: f64,
}

impl FittedPath {
    /// The value of a number.
    pub fn get(&self, parameter: FitParameter) -> f64 {
        match parameter {
            FitParameter::Rate => self.rate,
            FitParameter::Bucket => self.bucket,
            FitParameter::Queue => self.queue,
            FitParameter::Access => self.access.unwrap_or(0.0),
            FitParameter::Rtt => self.rtt,
            FitParameter::Loss => self.loss,
            FitParameter::LossRun => self.loss_run,
            FitParameter::Jitter => self.jitter,
            FitParameter::SendBuffer => self.send_buffer.unwrap_or(0.0),
            FitParameter::Window => self.window.unwrap_or(0.0),
        }
    }

    /// Standard deviation of the logarithm of a number's first guess; 1 if the number is not searched.
    pub fn sure(&self, parameter: FitParameter) -> f64 {
        self.free.iter().find(|f| f.0 == parameter).map_or(1.0, |f| f.1)
    }

    /// The path with another value of a number, clamped to a sensible range.
    #[must_use]
    pub fn with(&self, parameter: FitParameter, value: f64) -> FittedPath {
        let mut path = self.clone();
        match parameter {
            FitParameter::Rate => path.rate = value.clamp(1e4, 1e11),
            FitParameter::Bucket => path.bucket = value.clamp(self.least_bucket(), 1e9),
            FitParameter::Queue => path.queue = value.clamp(2.0 * FULL_PACKET, 1e9),
            FitParameter::Access => path.access = Some(value.clamp(self.rate * 1.05, 1e11)),
            FitParameter::Rtt => path.rtt = value.clamp(1e-5, 10.0),
            FitParameter::Loss => path.loss = value.clamp(1e-7, 0.5),
            FitParameter::LossRun => path.loss_run = value.clamp(1.0, MAX_LOSS_RUN),
            FitParameter::Jitter => path.jitter = value.clamp(1e-6, self.rtt / 2.0),
            FitParameter::SendBuffer => path.send_buffer = Some(value.clamp(4e3, 1e9)),
            FitParameter::Window => path.window = Some(value.clamp(2e3, 1e9)),
        }
        path
    }

    /// All numbers of the path: the known ones, then the free ones.
    pub fn numbers(&self) -> impl Iterator<Item = FitParameter> + '_ {
        self.known.iter().chain(&self.free).map(|n| n.0)
    }

    /// Moves the numbers that `is_known` names from [`FittedPath::free`] to [`FittedPath::known`].
    #[must_use]
    pub fn hold(mut self, is_known: impl Fn(FitParameter) -> bool) -> FittedPath {
        self.known.extend(self.free.iter().filter(|n| is_known(n.0)));
        self.free.retain(|n| !is_known(n.0));
        self
    }

    /// The path with these known numbers free.
    #[must_use]
    pub fn release(&self, parameters: &[FitParameter]) -> FittedPath {
        let mut path = self.clone();
        let is_released = |n: &&(FitParameter, f64)| parameters.contains(&n.0);
        path.free.extend(
            self.known.iter().filter(is_released).map(|(p, sure)| (*p, RELEASED_STDERR_FACTOR * sure)),
        );
        path.known.retain(|n| !is_released(&n));
        path
    }

    /// How many elements the path has besides its limiter and its delay: a further line, random loss, jitter,
    /// spans of cross traffic.
    pub fn extra_elements(&self) -> usize {
        let optional = [self.access.is_some(), self.loss > 0.0, self.jitter > 0.0];
        optional.into_iter().filter(|has| *has).count() + self.cross.len()
    }

    /// The smallest bucket that passes a full packet.
    fn least_bucket(&self) -> f64 {
        if self.limiter == FittedLimiter::Shaper { 2.05 * FULL_PACKET } else { 1.05 * FULL_PACKET }
    }

    /// The policers on links of their own; empty where one stage is for all flows.
    pub fn own_policers(&self) -> &[OwnPolicer] {
        match &self.scope {
            PolicerScope::Own(all) if self.limiter == FittedLimiter::Policer => all,
            _ => &[],
        }
    }

    /// Bandwidth-delay product, bytes.
    pub fn bdp(&self) -> f64 {
        self.rate * self.rtt / 8.0
    }
}
