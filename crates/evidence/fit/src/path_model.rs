//! The path that is fitted: what limits it, and the numbers that say how.

use crate::cross::CrossSpan;
use units::Label;

/// Wire bytes of a full packet, IP.
pub const FULL_PACKET: f64 = 1500.0;

/// What each free number of a path costs: a number more fits better by as much by chance (Akaike 1974).
pub const A_NUMBER: f64 = 2.0;

/// What limits the path.
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
    /// As scenarios spell it.
    pub fn name(self) -> &'static str {
        match self {
            FittedLimiter::Policer => "policer",
            FittedLimiter::Shaper => "shaper",
            FittedLimiter::Link => "link",
        }
    }
}

/// What waits before a shaper or a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FittedQueue {
    /// First in, first out, of [`FittedPath::queue`] bytes.
    Fifo,
    /// Controlled delay.
    CoDel,
    /// CoDel, a queue a flow.
    FqCoDel,
    /// A queue a flow, of [`FittedPath::queue`] bytes together, served in turn.
    Fair,
}

/// Whose bucket that of a policer is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PolicerScope {
    /// All flows share one; of every other limiter, too.
    #[default]
    All,
    /// Each flow has one like it.
    EachFlow,
    /// These, behind the line that all flows share.
    Own(Vec<OwnPolicer>),
}

/// A policer beside the first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnPolicer {
    /// Its rate, times [`FittedPath::rate`].
    pub rate: f64,
    /// Its bucket, times [`FittedPath::bucket`].
    pub bucket: f64,
    /// Round trip beyond the path's, seconds.
    pub beyond: f64,
}

/// A number of the path that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitParameter {
    /// The limiter's rate, bit/s of IP bytes.
    Rate,
    /// Bucket of a policer or shaper, bytes.
    Bucket,
    /// Queue before a shaper or a line, bytes.
    Queue,
    /// Rate of the line before a policer or shaper, bit/s.
    Access,
    /// Base round trip, seconds.
    Rtt,
    /// Random loss, share of packets.
    Loss,
    /// Packets of a run of random losses, mean.
    LossRun,
    /// Half the width of a uniform jitter, seconds.
    Jitter,
    /// The sender's buffer, bytes.
    SendBuffer,
    /// The receiver's window, bytes.
    Window,
}

impl FitParameter {
    /// What people call it, and its unit in the report.
    pub fn title(self) -> (&'static str, &'static str) {
        match self {
            FitParameter::Rate => ("rate", "Mbit/s"),
            FitParameter::Bucket => ("bucket", "kB"),
            FitParameter::Queue => ("queue", "kB"),
            FitParameter::Access => ("line before it", "Mbit/s"),
            FitParameter::Rtt => ("base RTT", "ms"),
            FitParameter::Loss => ("random loss", "%"),
            FitParameter::LossRun => ("losses in a row", "packets"),
            FitParameter::Jitter => ("jitter", "ms"),
            FitParameter::SendBuffer => ("send buffer", "kB"),
            FitParameter::Window => ("receive window", "kB"),
        }
    }

    /// What people call it where there is room.
    pub fn label(self) -> Label {
        match self {
            FitParameter::Rate => Label::new("Rate", "速率"),
            FitParameter::Bucket => Label::new("Bucket", "令牌桶"),
            FitParameter::Queue => Label::new("Queue", "队列"),
            FitParameter::Access => Label::new("Line before it", "前方链路"),
            FitParameter::Rtt => Label::new("Round trip without queues", "无排队往返时延"),
            FitParameter::Loss => Label::new("Random loss", "随机丢包"),
            FitParameter::LossRun => Label::new("Losses in a row", "连续丢包数"),
            FitParameter::Jitter => Label::new("Jitter", "抖动"),
            FitParameter::SendBuffer => Label::new("Send buffer", "发送缓冲区"),
            FitParameter::Window => Label::new("Receive window", "接收窗口"),
        }
    }

    /// From the unit of [`FittedPath`] to that of [`FitParameter::title`].
    pub fn told(self, value: f64) -> f64 {
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

/// A path, with what is known of each number and how well.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPath {
    /// What limits.
    pub limiter: FittedLimiter,
    /// What waits there.
    pub queue_kind: FittedQueue,
    /// bit/s of IP bytes.
    pub rate: f64,
    /// Bytes; of a policer and a shaper.
    pub bucket: f64,
    /// The bucket of a shaper is refilled all at once, each time that its rate takes for it.
    pub refilled_at_once: bool,
    /// Bytes; of a shaper and a line.
    pub queue: f64,
    /// bit/s: the line before a policer or shaper.
    pub access: f64,
    /// Seconds.
    pub rtt: f64,
    /// Share of packets; zero: none.
    pub loss: f64,
    /// Packets.
    pub loss_run: f64,
    /// Seconds; zero: none.
    pub jitter: f64,
    /// Bytes; `None`: it does not limit.
    pub send_buffer: Option<f64>,
    /// Bytes; `None`: it does not limit.
    pub window: Option<f64>,
    /// Whose bucket that of a policer is.
    pub scope: PolicerScope,
    /// Others on the line that do not react.
    pub cross: Vec<CrossSpan>,
    /// The line is not what limits: its rate is only one that is large enough.
    pub is_open: bool,
    /// What is searched, and how sure the first guess is: the standard deviation of its logarithm.
    pub free: Vec<(FitParameter, f64)>,
    /// What the kind costs: twice the logarithm of how much less likely it is than the likeliest.
    pub handicap: f64,
}

impl FittedPath {
    /// A number of it.
    pub fn get(&self, parameter: FitParameter) -> f64 {
        match parameter {
            FitParameter::Rate => self.rate,
            FitParameter::Bucket => self.bucket,
            FitParameter::Queue => self.queue,
            FitParameter::Access => self.access,
            FitParameter::Rtt => self.rtt,
            FitParameter::Loss => self.loss,
            FitParameter::LossRun => self.loss_run,
            FitParameter::Jitter => self.jitter,
            FitParameter::SendBuffer => self.send_buffer.unwrap_or(0.0),
            FitParameter::Window => self.window.unwrap_or(0.0),
        }
    }

    /// How sure the first guess of a number is: the standard deviation of its logarithm; 1 of one that is not searched.
    pub fn sure(&self, parameter: FitParameter) -> f64 {
        self.free.iter().find(|f| f.0 == parameter).map_or(1.0, |f| f.1)
    }

    /// The same path with another number, held to what makes sense.
    #[must_use]
    pub fn with(&self, parameter: FitParameter, value: f64) -> FittedPath {
        let mut path = self.clone();
        match parameter {
            FitParameter::Rate => path.rate = value.clamp(1e4, 1e11),
            FitParameter::Bucket => path.bucket = value.clamp(self.least_bucket(), 1e9),
            FitParameter::Queue => path.queue = value.clamp(2.0 * FULL_PACKET, 1e9),
            FitParameter::Access => path.access = value.clamp(self.rate * 1.05, 1e11),
            FitParameter::Rtt => path.rtt = value.clamp(1e-5, 10.0),
            FitParameter::Loss => path.loss = value.clamp(1e-7, 0.5),
            FitParameter::LossRun => path.loss_run = value.clamp(1.0, 100.0),
            FitParameter::Jitter => path.jitter = value.clamp(1e-6, self.rtt / 2.0),
            FitParameter::SendBuffer => path.send_buffer = Some(value.clamp(4e3, 1e9)),
            FitParameter::Window => path.window = Some(value.clamp(2e3, 1e9)),
        }
        path
    }

    /// A bucket that a full packet passes.
    fn least_bucket(&self) -> f64 {
        if self.limiter == FittedLimiter::Shaper { 2.05 * FULL_PACKET } else { 1.05 * FULL_PACKET }
    }

    /// Policers on links of their own; none where there is one stage for all.
    pub fn own_policers(&self) -> &[OwnPolicer] {
        match &self.scope {
            PolicerScope::Own(all) if self.limiter == FittedLimiter::Policer => all,
            _ => &[],
        }
    }

    /// Bytes that the empty path holds.
    pub fn bdp(&self) -> f64 {
        self.rate * self.rtt / 8.0
    }
}
