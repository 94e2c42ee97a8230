//! Infers whether the kernel paces a socket, and why.
//!
//! No kernel reports a socket's `sk_pacing_status` (net/sock.h), so it is inferred from what sets it:
//!
//! | cause | effect |
//! |---|---|
//! | a congestion control that asks for pacing when a connection begins (`bbr_init`, net/ipv4/tcp_bbr.c) | the socket is paced from then on, even if it changes to another congestion control |
//! | `SO_MAX_PACING_RATE` (`sk_setsockopt`, net/core/sock.c) | the socket is paced |
//! | the first packet through a device with `fq` (`fq_classify`, net/sched/sch_fq.c) | the queue paces |
//!
//! A congestion control that is selected before the connection begins replaces the default before that takes
//! effect, so nothing of the default remains. One that is selected on a connection leaves the pacing of the
//! namespace's default on. Which of the two happened cannot be seen afterwards.

use crate::facts::{NamespaceFacts, SocketFacts};
use congestion::Control;
use serde::Serialize;

/// Congestion controls of the kernel that do not pace (net/ipv4/tcp_*.c) and that the simulator does not
/// have.
const UNPACED: &[&str] = &[
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "yeah",
];

/// Whether a congestion control paces by itself; `None` for an unknown one.
pub fn control_paces(name: &str) -> Option<bool> {
    let known = || Control::named(&name.replace('_', "-")).map(|c| c.paces());
    if UNPACED.contains(&name) { Some(false) } else { known() }
}

/// Whether a socket is paced, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PacingState {
    /// Paced, because its congestion control paces.
    ByControl,
    /// Paced, because its program caps the rate (`SO_MAX_PACING_RATE`).
    ByCap,
    /// Paced, because every link of the namespace has `fq`.
    ByQueue,
    /// The socket's congestion control does not pace, but the namespace's default does. The socket is paced
    /// if it changed to this congestion control after it was connected, and not paced if it selected it
    /// before.
    Unknown,
    /// Not paced: bursts leave as fast as the link takes them.
    None,
    /// Unknown, because longfat does not know the congestion control.
    UnknownControl,
}

impl PacingState {
    /// Returns the state in a few words.
    pub fn words(self) -> &'static str {
        match self {
            PacingState::ByControl => "paced by its control",
            PacingState::ByCap => "paced by its program's rate cap",
            PacingState::ByQueue => "paced by fq",
            PacingState::Unknown => "paced only if connected with the default",
            PacingState::None => "not paced",
            PacingState::UnknownControl => "unknown",
        }
    }
}

/// Returns the pacing of a connection with this congestion control in this namespace.
pub fn of_control(ns: &NamespaceFacts, control: &str) -> PacingState {
    if ns.links_pace() {
        return PacingState::ByQueue;
    }
    match control_paces(control) {
        None => PacingState::UnknownControl,
        Some(true) => PacingState::ByControl,
        Some(false) if ns.default_control().and_then(control_paces) == Some(true) => PacingState::Unknown,
        Some(false) => PacingState::None,
    }
}

/// Returns the pacing of a socket.
pub fn of_socket(ns: &NamespaceFacts, socket: &SocketFacts) -> PacingState {
    match of_control(ns, &socket.control) {
        PacingState::Unknown | PacingState::None | PacingState::UnknownControl
            if socket.capped_rate.is_some() =>
        {
            PacingState::ByCap
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{clean, socket};

    #[test]
    fn pacing_is_inferred_with_its_reason() {
        let mut ns = clean("host");
        assert_eq!(of_control(&ns, "cubic"), PacingState::None);
        assert_eq!(of_control(&ns, "bbr"), PacingState::ByControl);
        assert_eq!(of_control(&ns, "mystery"), PacingState::UnknownControl);
        let mut s = socket("cubic");
        s.capped_rate = Some(1_000_000);
        assert_eq!(of_socket(&ns, &s), PacingState::ByCap);
        // A cap changes nothing for a congestion control that paces.
        s.control = "bbr".into();
        assert_eq!(of_socket(&ns, &s), PacingState::ByControl);
        ns.settings.set("net.ipv4.tcp_congestion_control", "bbr");
        assert_eq!(of_control(&ns, "cubic"), PacingState::Unknown);
        ns.devices[1].qdisc = "fq".into();
        assert_eq!(of_control(&ns, "cubic"), PacingState::ByQueue);
    }

    #[test]
    fn the_kernels_congestion_controls_are_known() {
        for (name, paces) in
            [("reno", false), ("westwood", false), ("htcp", false), ("bbr", true), ("bbr_hsr", true)]
        {
            assert_eq!(control_paces(name), Some(paces), "{name}");
        }
    }
}
