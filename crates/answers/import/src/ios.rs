//! Cisco IOS, IOS-XE, IOS XR, NX-OS and Arista EOS: `policy-map` configurations and the output of `show
//! policy-map interface`.
//!
//! The policies of an interface become the two directions of its path; a class becomes a flow with its own
//! codepoint. A shaper of all traffic becomes a shaper. A policy whose classes have queues becomes a tree of
//! classes (an [`htb`](path::Htb)) with policers in front of it; a policy that only polices becomes policers
//! of its classes' codepoints.
//!
//! | configuration | imported as | departures |
//! |---|---|---|
//! | `police cir bc be pir` | `policer`: one rate two colours, RFC 2697, RFC 2698; a packet larger than the bucket does not conform | bytes of IP: Ethernet's 14 bytes (no FCS) are not counted |
//! | ASA: `police input R B`, `police output R B` | the same in one direction of `service-policy P interface I` | |
//! | `shape average cir bc be` | `shaper` with `refill = "interval"`; a packet larger than Bc uses credit of later intervals | |
//! | `shape peak` | the same `shaper` with cir (1 + be / bc) | |
//! | `shape` of a class among others | the ceiling of its class, Bc its bucket | refills continuously, not every Tc |
//! | `bandwidth`, `bandwidth remaining` | guarantees, and shares of the rest | as in IOS-XE; classic IOS shares in proportion to `bandwidth` |
//! | `priority` | served first; a rate becomes a policer with a burst of 200 ms | polices without congestion too |
//! | `fair-queue`, `random-detect`, `queue-limit` | `wfq`, `red`, `fifo` | |
//!
//! Sources. IOS and IOS-XE: "QoS Modular QoS Command-Line Interface Configuration Guide" (QoS Scheduling:
//! class queues, two-parameter and three-parameter scheduling; QoS Packet Policing), command references of
//! `police`, `police (percent)`, `shape (policy-map class)`, `shape (percent)`, `priority`, `queue-limit`;
//! "Cisco 10000 Series QoS Configuration Guide", table 6-2 (what a policer counts); "Understanding Quality of
//! Service on the Catalyst 6500" (a packet above the burst does not conform). IOS XR: "Modular Quality of
//! Service Command Reference for the Cisco CRS Router": `police rate`, `shape average`, `queue-limit` (a
//! packet of a limit is 256 bytes, times are of the guaranteed service rate). NX-OS: "Nexus 9000 NX-OS QoS
//! Configuration Guide", Configuring Policing (burst 200 ms), Queuing and Scheduling. EOS: user manual,
//! "Quality of Service" (`shape rate` counts kbit/s).

mod command;
mod convert;
mod model;
mod read;
mod show;
mod tree;
mod units;

use crate::{Assumed, Draft, Foreign, ImportError, ImportSource, Reading};
pub(crate) use model::dscp;
pub(crate) use show::{count, share};

/// Policies of Cisco IOS and of platforms with the same syntax.
pub(crate) struct Ios;

impl Foreign for Ios {
    const TITLE: &'static str = "policies of Cisco IOS, IOS XR, NX-OS, ASA, Arista EOS";
    const LOOKS_FOR: &'static str =
        "policy-map with police, shape, bandwidth or priority, and the output of `show policy-map interface`";

    fn looks_like(text: &str) -> usize {
        const STARTS: [&str; 18] = [
            "policy-map ",
            "policy map ",
            "class-map ",
            "class-map: ",
            "service-policy",
            "class ",
            "police ",
            "police:",
            "shape ",
            "average rate traffic shaping",
            "bandwidth ",
            "priority ",
            "queue-limit ",
            "cir ",
            "rate-limit ",
            "traffic-shape ",
            "tx-queue ",
            "srr-queue bandwidth limit",
        ];
        let is_policy = |line: &&str| {
            let line = line.trim_start().to_ascii_lowercase();
            STARTS.iter().any(|start| line.starts_with(start))
        };
        text.lines().filter(is_policy).count()
    }

    fn read(source: &ImportSource, assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError> {
        let model = read::read(source.text, reading);
        show::facts(&model, reading);
        Ok(convert::draft(&model, assumed, reading))
    }
}

#[cfg(test)]
mod tests;
