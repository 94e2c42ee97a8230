//! A split-TCP relay, and the program that implements it on the kernel.

use congestion::Control;
use serde::{Deserialize, Serialize};
use units::Bytes;

/// A split-TCP relay: it terminates one connection and opens another.
#[derive(Clone, Debug, PartialEq)]
pub struct Relay {
    pub name: String,
    /// Index of the host that the relay runs on.
    pub host: usize,
    /// Buffer per connection and direction.
    pub buffer: Bytes,
    /// Congestion control of the onward connection; `None` for the flow's.
    pub cc: Option<Control>,
    /// The program that implements the relay on the kernel.
    pub tool: RelayTool,
}

/// The program that relays on the kernel; the simulator has one model for all of them.
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
    /// The name as the file writes it.
    pub fn name(self) -> &'static str {
        match self {
            RelayTool::Longfat => "longfat",
            RelayTool::Nginx => "nginx",
            RelayTool::Haproxy => "haproxy",
        }
    }
}
