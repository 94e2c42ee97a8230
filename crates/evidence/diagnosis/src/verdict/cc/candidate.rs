//! Congestion controls by their documents: the share of the window that a loss leaves, and its growth a round
//! trip. Windows are in segments, times in seconds.

use super::stretch::BeforeLoss;

/// Least and greatest RTT of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PathRtt {
    /// Least RTT of full packets.
    pub min_rtt: f64,
    /// Greatest RTT of full packets.
    pub max_rtt: f64,
    /// RTT of the handshake's small packets where that is less.
    pub handshake: f64,
}

/// A growing window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growing {
    pub window: f64,
    /// Window after the loss.
    pub begin: f64,
    /// Window at the last loss.
    pub greatest: f64,
    /// Seconds since the growth began.
    pub seconds: f64,
    /// Round trips since the growth began.
    pub rounds: f64,
    /// Least RTT of this round trip.
    pub min_rtt: f64,
    /// Mean RTT of this round trip.
    pub rtt: f64,
}

/// How a window grows.
#[derive(Clone, Copy, Debug)]
pub(super) enum WindowGrowth {
    /// By this many segments per round trip, as a function of the window and the path.
    Law(fn(&Growing, PathRtt) -> f64),
    /// Evenly, at an unknown pace.
    Even,
}

/// The share of the window that a loss leaves, and its tolerance.
type ShareLeft = fn(BeforeLoss, PathRtt) -> (f64, f64);

/// A control, or a family of controls.
#[derive(Debug)]
pub(super) struct Candidate {
    /// Name in the verdict; `None` for behaviour that needs no congestion control.
    pub name: Option<&'static str>,
    /// `None` if a loss may leave any share.
    pub decrease: Option<ShareLeft>,
    pub growth: WindowGrowth,
    /// The RTT that the control takes for the empty path's, if it keeps a few segments queued beyond that.
    pub own_rtt: Option<fn(PathRtt) -> f64>,
    /// The window varies around its course by this share.
    pub wanders: f64,
    /// Segments of tolerance for each segment that the window moves.
    pub wavers: f64,
}

/// Name in the verdict of all controls that have no name of their own.
pub(super) const OTHER: &str = "other";

const PLAIN: Candidate = Candidate {
    name: None,
    decrease: None,
    growth: WindowGrowth::Even,
    own_rtt: None,
    wanders: 0.0,
    wavers: 0.0,
};

/// The candidates.
pub(super) const CANDIDATES: [Candidate; 13] = [
    // RFC 5681 section 3.1.
    Candidate { name: Some("reno"), decrease: Some(half), growth: WindowGrowth::Law(reno), ..PLAIN },
    // RFC 9438 sections 4.2 to 4.6.
    Candidate {
        name: Some("cubic"),
        decrease: Some(|_, _| (CUBIC_BETA, 0.0)),
        growth: WindowGrowth::Law(cubic),
        ..PLAIN
    },
    // Mascolo et al., "TCP Westwood" (2001): a loss reduces the window to what the path holds;
    // `tcp_westwood.c`.
    Candidate { name: Some("westwood"), decrease: Some(westwood), growth: WindowGrowth::Law(reno), ..PLAIN },
    // Brakmo, Peterson (1995); `tcp_vegas.c`: one segment more or less per round trip; at a loss like Reno.
    // Its estimate of the empty path's RTT depends on when it begins to measure.
    Candidate {
        name: Some("vegas"),
        decrease: Some(half),
        growth: WindowGrowth::Law(|w, path| vegas(w, path.min_rtt)),
        own_rtt: Some(|path| path.min_rtt),
        wavers: 0.5,
        ..PLAIN
    },
    Candidate {
        name: Some("vegas"),
        decrease: Some(half),
        growth: WindowGrowth::Law(|w, path| vegas(w, path.handshake)),
        own_rtt: Some(|path| path.handshake),
        wavers: 0.5,
        ..PLAIN
    },
    // draft-cardwell-iccrg-bbr-congestion-control-00: inflight follows the path, not the losses. A loss ends
    // probing (gain 1.25), which leaves from 1 / 1.25 to all of the window.
    Candidate {
        name: Some("bbr"),
        decrease: Some(|_, _| (0.9, 0.1)),
        growth: WindowGrowth::Law(|_, _| 0.0),
        wanders: 0.03,
        ..PLAIN
    },
    // Kelly, "Scalable TCP" (2003): a loss takes 1/8 of the window, and a round trip adds 1 %;
    // `tcp_scalable.c`.
    Candidate {
        name: Some(OTHER),
        decrease: Some(|_, _| (0.875, 0.0)),
        growth: WindowGrowth::Law(|w, _| (w.window / 100.0).max(1.0)),
        ..PLAIN
    },
    // Liu, Başar, Srikant (2006); `tcp_illinois.c`.
    Candidate {
        name: Some(OTHER),
        decrease: Some(illinois_share),
        growth: WindowGrowth::Law(illinois),
        ..PLAIN
    },
    // Tan et al., "A Compound TCP Approach" (2006): alpha 1/8, k 3/4, while fewer than gamma segments wait.
    Candidate { name: Some(OTHER), decrease: Some(half), growth: WindowGrowth::Law(compound), ..PLAIN },
    // Like Reno at losses, but with another pace between them.
    Candidate { name: Some(OTHER), decrease: Some(half), ..PLAIN },
    // 819/1024 of `tcp_bic.c`, 4/5 of `tcp_veno.c`.
    Candidate { name: Some(OTHER), decrease: Some(|_, _| (0.8, 0.05)), ..PLAIN },
    // A limit other than the congestion window: nothing changes.
    Candidate { decrease: Some(|_, _| (1.0, 0.03)), growth: WindowGrowth::Law(|_, _| 0.0), ..PLAIN },
    // Any behaviour.
    PLAIN,
];

fn half(_: BeforeLoss, _: PathRtt) -> (f64, f64) {
    (0.5, 0.0)
}

fn reno(_: &Growing, _: PathRtt) -> f64 {
    1.0
}

/// C of RFC 9438 section 5.1, segments a cubed second.
pub(super) const CUBIC_C: f64 = 0.4;
/// The share of its window that CUBIC keeps at a loss, beta (RFC 9438 section 4.6).
pub(super) const CUBIC_BETA: f64 = 0.7;
/// Segments a round trip of the Reno-friendly region: 3 (1 - beta) / (1 + beta), section 4.3.
const CUBIC_FRIENDLY: f64 = 3.0 * 0.3 / 1.7;

/// Seconds that CUBIC takes to regain the `lost` segments of its window that it gave up at a loss: K of RFC
/// 9438 section 4.2.
pub(super) fn cubic_regains(lost: f64) -> f64 {
    (lost / CUBIC_C).cbrt()
}

fn cubic(w: &Growing, _: PathRtt) -> f64 {
    let origin = w.greatest.max(w.begin);
    let k = cubic_regains(origin - w.begin);
    let target = CUBIC_C * (w.seconds + w.min_rtt - k).powi(3) + origin;
    let friendly = w.begin + CUBIC_FRIENDLY * w.rounds;
    // Section 4.4: no target of more than 1.5 windows.
    (target.max(friendly) - w.window).clamp(0.0, 0.5 * w.window)
}

/// `bw_est * rtt_min`; the estimate is a filter's, which lags behind after a recovery.
fn westwood(loss: BeforeLoss, path: PathRtt) -> (f64, f64) {
    let share = (loss.rate * path.min_rtt / loss.flight).min(1.0);
    (0.9 * share, 0.15 * share)
}

/// `alpha` and `beta` of `tcp_vegas.c`, segments that wait.
pub(super) const VEGAS_QUEUED: (f64, f64) = (2.0, 4.0);

fn vegas(w: &Growing, own: f64) -> f64 {
    let queued = w.window * (1.0 - own / w.min_rtt);
    match queued {
        q if q < VEGAS_QUEUED.0 => 1.0,
        q if q > VEGAS_QUEUED.1 => -1.0,
        _ => 0.0,
    }
}

/// gamma, segments that wait (Tan et al., section 4).
const COMPOUND_QUEUED: f64 = 30.0;

/// Growth of a window w per round trip: alpha w^k with alpha = 1/8 and k = 3/4 (Tan et al.).
fn compound(w: &Growing, path: PathRtt) -> f64 {
    let queued = w.window * (1.0 - path.min_rtt / w.min_rtt);
    if queued < COMPOUND_QUEUED { (w.window.powf(0.75) / 8.0).max(1.0) } else { 1.0 }
}

/// Below this window Illinois is Reno (`win_thresh` of `tcp_illinois.c`).
const ILLINOIS_MIN_WINDOW: f64 = 15.0;

/// beta: 1/8 up to a tenth of the greatest queueing delay, 1/2 from eight tenths on (section 3 of the paper).
fn illinois_share(loss: BeforeLoss, path: PathRtt) -> (f64, f64) {
    let share = (loss.rtt - path.min_rtt) / (path.max_rtt - path.min_rtt).max(1e-6);
    let beta = 0.125 + (0.5 - 0.125) * ((share - 0.1) / 0.7).clamp(0.0, 1.0);
    (1.0 - if loss.flight < ILLINOIS_MIN_WINDOW { 0.5 } else { beta }, 0.1)
}

/// alpha: k1 / (k2 + delay), from 10 up to a hundredth of the greatest queueing delay to 0.3 at all of it
/// (`alpha` of `tcp_illinois.c`).
fn illinois(w: &Growing, path: PathRtt) -> f64 {
    if w.window < ILLINOIS_MIN_WINDOW {
        return 1.0;
    }
    let max_delay = (path.max_rtt - path.min_rtt).max(1e-6);
    let from = max_delay / 100.0;
    let delay = (w.rtt - path.min_rtt - from).max(0.0);
    let k1 = (max_delay - from) * 10.0 * 0.3 / (10.0 - 0.3);
    (k1 / (k1 / 10.0 + delay)).clamp(0.3, 10.0)
}
