//! Whether the kernel paces a socket, and why.
//!
//! No kernel tells a socket's `sk_pacing_status` (net/sock.h); it follows from what sets it:
//!
//! | what | then |
//! |---|---|
//! | a control that asks for it when a connection begins (`bbr_init`, net/ipv4/tcp_bbr.c) | the socket paces, from then on, also with another control |
//! | `SO_MAX_PACING_RATE` (`sk_setsockopt`, net/core/sock.c) | the socket paces |
//! | the first packet through a device with `fq` (`fq_classify`, net/sched/sch_fq.c) | the queue paces |
//!
//! A control chosen before the connection begins replaces the default before that is begun, and nothing of it stays. One
//! chosen on a connection leaves the pacing of the namespace's default on. Which it was cannot be seen afterwards.

use crate::facts::{NamespaceFacts, SocketFacts};
use congestion::Control;
use serde::Serialize;

/// Controls of the kernel that do not pace (net/ipv4/tcp_*.c), but those that the simulator has too.
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

/// Whether a control paces by itself; `None` for one that is not known.
pub fn control_paces(name: &str) -> Option<bool> {
    let known = || Control::named(&name.replace('_', "-")).map(|c| c.paces());
    if UNPACED.contains(&name) { Some(false) } else { known() }
}

/// Whether a socket is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PacingState {
    /// Its congestion control paces.
    ByControl,
    /// Its program caps the rate (`SO_MAX_PACING_RATE`).
    ByCap,
    /// Every link of the namespace has `fq`.
    ByQueue,
    /// Its control does not, the namespace's default does: it is paced if it changed to this control when it was connected
    /// already, and is not if it chose it before.
    Unknown,
    /// Nothing paces it: bursts leave as the link takes them.
    None,
    /// The control is not known to longfat.
    UnknownControl,
}

impl PacingState {
    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            PacingState::ByControl => "paced by its control",
            PacingState::ByCap => "paced by its program",
            PacingState::ByQueue => "paced by fq",
            PacingState::Unknown => "paced only if it left the default late",
            PacingState::None => "not paced",
            PacingState::UnknownControl => "not known",
        }
    }
}

/// Of a connection with this control in this namespace.
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

/// Of a socket.
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
    use crate::made_up::{clean, socket};

    #[test]
    fn pacing_is_told_with_its_reason() {
        let mut ns = clean("host");
        assert_eq!(of_control(&ns, "cubic"), PacingState::None);
        assert_eq!(of_control(&ns, "bbr"), PacingState::ByControl);
        assert_eq!(of_control(&ns, "mystery"), PacingState::UnknownControl);
        let mut s = socket("cubic");
        s.capped_rate = Some(1_000_000);
        assert_eq!(of_socket(&ns, &s), PacingState::ByCap);
        // Of a control that paces the cap changes nothing.
        s.control = "bbr".into();
        assert_eq!(of_socket(&ns, &s), PacingState::ByControl);
        ns.settings.set("net.ipv4.tcp_congestion_control", "bbr");
        assert_eq!(of_control(&ns, "cubic"), PacingState::Unknown);
        ns.devices[1].qdisc = "fq".into();
        assert_eq!(of_control(&ns, "cubic"), PacingState::ByQueue);
    }

    #[test]
    fn the_kernels_controls_are_known() {
        for (name, paces) in
            [("reno", false), ("westwood", false), ("htcp", false), ("bbr", true), ("bbr_hsr", true)]
        {
            assert_eq!(control_paces(name), Some(paces), "{name}");
        }
    }
}
