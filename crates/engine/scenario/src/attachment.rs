//! What `longfat attach FILE` puts the links of a scenario in front of.

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
