//! What to type: commands for each platform, with what they need and how to undo them.

use serde::{Deserialize, Serialize};

/// What a list of commands is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// A shell on Linux as root: `tc`, `sysctl`, `ip`.
    Linux,
    /// Files of systemd-networkd and sysctl.d: the same, to last.
    Networkd,
    /// A program's own source: socket options.
    Application,
    /// The command line of longfat's own proxy.
    Longfat,
    /// nginx's configuration.
    Nginx,
    /// HAProxy's configuration.
    Haproxy,
    /// The configuration of a container's network (CNI).
    Cni,
    /// Cisco IOS, in configuration mode.
    CiscoIos,
    /// Cisco IOS-XE, in configuration mode.
    CiscoIosXe,
}

impl Platform {
    /// What people call it.
    pub fn label(self) -> &'static str {
        match self {
            Platform::Linux => "Linux",
            Platform::Networkd => "systemd-networkd",
            Platform::Application => "in the application",
            Platform::Longfat => "longfat proxy",
            Platform::Nginx => "nginx",
            Platform::Haproxy => "HAProxy",
            Platform::Cni => "CNI",
            Platform::CiscoIos => "Cisco IOS",
            Platform::CiscoIosXe => "Cisco IOS-XE",
        }
    }
}

/// One way to make a change on one platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandSet {
    /// What it is for: of sets with the same purpose at one host one is enough.
    pub purpose: String,
    /// For what it is written.
    pub platform: Platform,
    /// The host of the scenario that they are for.
    pub at: String,
    /// The next host on the way, towards which `$DEV` or the interface leads; absent where none is named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub towards: Option<String>,
    /// Versions and modules that they need.
    pub needs: String,
    /// Lines that make the change. On Linux a shell reads them; `$DEV` is the interface.
    pub apply: Vec<String>,
    /// Lines that undo it.
    pub undo: Vec<String>,
}

impl CommandSet {
    /// For a shell on Linux.
    pub fn linux(at: &str, needs: &str, apply: Vec<String>, undo: Vec<String>) -> CommandSet {
        CommandSet {
            purpose: String::new(),
            platform: Platform::Linux,
            at: at.into(),
            towards: None,
            needs: needs.into(),
            apply,
            undo,
        }
    }

    /// The same for another platform.
    pub fn on(
        platform: Platform,
        at: &str,
        needs: &str,
        apply: Vec<String>,
        undo: Vec<String>,
    ) -> CommandSet {
        CommandSet { platform, ..CommandSet::linux(at, needs, apply, undo) }
    }

    /// The same with what it is for.
    pub fn purpose(self, purpose: &str) -> CommandSet {
        CommandSet { purpose: purpose.into(), ..self }
    }

    /// The same with the neighbour that the interface leads to.
    pub fn towards(self, neighbour: &str) -> CommandSet {
        CommandSet { towards: Some(neighbour.into()), ..self }
    }
}

/// Lines as they stand in a text, without its indentation.
pub(crate) fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::trim_end).filter(|l| !l.is_empty()).map(String::from).collect()
}
