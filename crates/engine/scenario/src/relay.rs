//! A split-TCP relay, and which program it is on the kernel.

use congestion::Control;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// A split-TCP relay: ends one connection, begins another.
#[derive(Clone, Debug, PartialEq)]
pub struct Relay {
    /// Unique among relays.
    pub name: String,
    /// Index of the host it runs on.
    pub host: usize,
    /// Bytes it holds for each connection and direction.
    pub buffer: Bytes,
    /// Congestion control of its onward sender; `None` for the flow's.
    pub cc: Option<Control>,
    /// The program that it is on the kernel.
    pub tool: RelayTool,
}

/// The program that a relay is on the kernel; the simulator has one relay, whatever the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RelayTool {
    /// `longfat proxy`.
    #[default]
    Longfat,
    /// nginx with its stream module.
    Nginx,
    /// HAProxy, with `option splice-auto`.
    Haproxy,
}

impl RelayTool {
    /// As the scenario file writes it.
    pub fn name(self) -> &'static str {
        match self {
            RelayTool::Longfat => "longfat",
            RelayTool::Nginx => "nginx",
            RelayTool::Haproxy => "haproxy",
        }
    }
}
