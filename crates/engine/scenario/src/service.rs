//! What a host runs besides forwarding: IPsec, BGP, an FTP server; and what goes wrong at which time.
//!
//! On the kernel each is a real daemon in the host's namespace. The simulator knows what they do to packets: a tunnel
//! adds headers and leaves less room, BGP finds the routes that [`crate::Scenario::route`] computes, FTP carries a bulk
//! transfer.

use crate::prefix::Prefix;
use serde::{Deserialize, Serialize};
use units::Span;

/// A service as the file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Service {
    /// One end of an IPsec tunnel over a link: what the host sends over the link goes through it. The host at the other
    /// end has the same. On the kernel strongSwan, ESP in UDP (RFC 3948) in user space.
    Ipsec {
        /// The link that it crosses.
        link: String,
        /// How old a child SA becomes before it is made anew. Default: 1 h, strongSwan's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rekey: Option<Span>,
    },
    /// A BGP speaker. It has a session with every neighbour that is one, over each link between them, and announces the
    /// networks of its own `addresses` and of neighbours that are none. On the kernel BIRD.
    Bgp {
        /// Its autonomous system.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 4_294_967_294u32)))]
        #[serde(rename = "as")]
        asn: u32,
        /// After how long without a word a session is taken for lost (RFC 4271 section 4.2). Default 9 s.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Span>,
        /// Networks that it announces besides.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        announce: Vec<Prefix>,
    },
    /// An FTP server on port 21 that takes and gives files without a password. On the kernel vsftpd.
    Ftp {},
}

/// BGP's hold time where a service says none: three of BIRD's shortest sensible keepalives.
pub const HOLD: Span = Span::from_secs(9);

impl Service {
    /// As the file writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Service::Ipsec { .. } => "ipsec",
            Service::Bgp { .. } => "bgp",
            Service::Ftp {} => "ftp",
        }
    }
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// The link carries nothing, in either direction.
    Link,
    /// The IPsec tunnel over the link is taken down, and made anew when the fault is over.
    Tunnel,
    /// The BGP sessions over the link are taken down, and up again when the fault is over.
    Bgp,
    /// The host is lost as without power: its links carry nothing, its daemons are gone. When the fault is over it starts
    /// anew.
    Host,
}

impl FaultKind {
    /// As the file writes it.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Link => "link",
            FaultKind::Tunnel => "tunnel",
            FaultKind::Bgp => "bgp",
            FaultKind::Host => "host",
        }
    }
}

/// Something that goes wrong during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledFault {
    /// Unique among faults.
    pub name: String,
    /// What.
    pub kind: FaultKind,
    /// Indexes of the links that it befalls: one, or all of the host.
    pub links: Vec<usize>,
    /// Index of the host that is lost.
    pub host: Option<usize>,
    /// When it begins.
    pub at: Span,
    /// How long it lasts.
    pub lasts: Span,
}

/// A route that a host is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRoute {
    /// Which destinations.
    pub to: Prefix,
    /// Index of the link that leads there.
    pub link: usize,
}
