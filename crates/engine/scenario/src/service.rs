//! Services that a host runs in addition to forwarding (IPsec, BGP, an FTP server), and scheduled faults.
//!
//! On the kernel each service is a real daemon in the host's namespace. The simulator models their effect on
//! packets: a tunnel adds headers and reduces the MTU, BGP finds the routes that [`crate::Scenario::route`]
//! computes, FTP carries a bulk transfer.

use crate::prefix::Prefix;
use serde::{Deserialize, Serialize};
use units::Span;

/// A service as the file configures it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Service {
    /// One end of an IPsec tunnel over a link: packets that the host sends over the link go through the
    /// tunnel. The host at the other end needs the same service. Kernel: strongSwan, ESP in UDP (RFC 3948) in
    /// user space.
    Ipsec {
        /// The link that the tunnel crosses.
        link: String,
        /// Lifetime of a child SA before it is rekeyed. Default: 1 h, as strongSwan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rekey: Option<Span>,
    },
    /// A BGP speaker. It has a session with every neighbour that speaks BGP, one per link between them. It
    /// announces the networks of its own `addresses` and of neighbours that do not speak BGP. Kernel: BIRD.
    Bgp {
        /// Autonomous system number.
        #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 4_294_967_294u32)))]
        #[serde(rename = "as")]
        asn: u32,
        /// Hold time: a session is lost after this time without a message (RFC 4271 section 4.2). Default: 9
        /// s.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Span>,
        /// Further networks to announce.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        announce: Vec<Prefix>,
    },
    /// An FTP server on port 21 for up- and downloads without a password. Kernel: vsftpd.
    Ftp {},
}

/// The default BGP hold time: three of BIRD's shortest sensible keepalive intervals.
pub const HOLD: Span = Span::from_secs(9);

impl Service {
    /// The kind as the file writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Service::Ipsec { .. } => "ipsec",
            Service::Bgp { .. } => "bgp",
            Service::Ftp {} => "ftp",
        }
    }
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// The link carries nothing, in either direction.
    Link,
    /// The IPsec tunnel over the link is taken down, and set up again at the end of the fault.
    Tunnel,
    /// The BGP sessions over the link are taken down, and set up again at the end of the fault.
    Bgp,
    /// The host loses its power: its links carry nothing and its daemons are killed. It starts again at the
    /// end of the fault.
    Host,
}

impl FaultKind {
    /// The kind as the file writes it.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Link => "link",
            FaultKind::Tunnel => "tunnel",
            FaultKind::Bgp => "bgp",
            FaultKind::Host => "host",
        }
    }
}

/// A fault that is scheduled during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduledFault {
    pub name: String,
    pub kind: FaultKind,
    /// Indexes of the affected links: one, or all links of the host.
    pub links: Vec<usize>,
    /// Index of the host that fails.
    pub host: Option<usize>,
    /// Start of the fault.
    pub at: Span,
    pub lasts: Span,
}

/// A static route of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRoute {
    /// Destinations.
    pub to: Prefix,
    /// Index of the outgoing link.
    pub link: usize,
}
