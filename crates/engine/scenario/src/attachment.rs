//! What `longfat attach FILE` puts the links of a scenario in front of.

use crate::file::{AttachTable, Named};
use crate::hosts::Hosts;
use crate::model::DuplexLink;
use crate::network::link_of;
use document::{Fault, Node, RefusalCause};

/// A link that `longfat attach` puts in front of something that runs. Simulations and the lab ignore it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    pub name: String,
    /// Index of the link.
    pub link: usize,
    /// The target, as `longfat attach` takes it.
    pub target: String,
    /// Whether the target is at the link's second end.
    pub at_second_end: bool,
    /// The only direction with a path; `None` for both.
    pub direction: Option<LinkWay>,
    /// Filter of the packets that the path is for, as `longfat attach --only` takes it.
    pub only: Option<String>,
}

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LinkWay {
    /// From the link's first host to its second.
    Forward,
    /// From the link's second host to its first.
    Backward,
}

impl LinkWay {
    /// The name as the file writes it.
    pub fn name(self) -> &'static str {
        match self {
            LinkWay::Forward => "forward",
            LinkWay::Backward => "backward",
        }
    }
}

/// Reads the attachments and checks their links and hosts. Targets are looked up when they are attached.
pub(crate) fn attachments(
    root: &Node,
    tables: Named<AttachTable>,
    hosts: &Hosts,
    links: &[DuplexLink],
) -> Result<Vec<Attachment>, Fault> {
    let one = |(name, table): (String, AttachTable)| {
        let AttachTable { link, target, host, direction, only } = table;
        let path = |key| ["attach", name.as_str(), key];
        let link = link_of(root, &path("link"), &link, links)?;
        let ends = links[link].between;
        let end = match &host {
            None => ends[0],
            Some(host) => hosts.find(root, &path("host"), host)?,
        };
        if !ends.contains(&end) {
            let message = format!("the link `{}` does not end at `{}`", links[link].name, hosts.names()[end]);
            return Err(root.fault(&path("host"), RefusalCause::Conflict { message }));
        }
        Ok(Attachment { link, target, at_second_end: end != ends[0], direction, only, name })
    };
    tables.0.into_iter().map(one).collect()
}
