//! Who can make a change.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who must be able to make a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Actor {
    /// Who runs the host that sends the data.
    Sender,
    /// Who runs the host that receives it.
    Receiver,
    /// Who runs the router in front of the limiter, on the sender's side.
    NearEdge,
    /// Who runs the limiter, or the line that is too slow.
    Provider,
    /// Who runs a host between the two ends.
    InBetween,
}

impl Actor {
    /// All, in the order of the reference.
    pub const ALL: [Actor; 5] =
        [Actor::Sender, Actor::Receiver, Actor::NearEdge, Actor::Provider, Actor::InBetween];

    /// As options and JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Actor::Sender => "sender",
            Actor::Receiver => "receiver",
            Actor::NearEdge => "near-edge",
            Actor::Provider => "provider",
            Actor::InBetween => "in-between",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Actor> {
        Actor::ALL.into_iter().find(|a| a.name() == name)
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_actor_has_the_name_that_is_written() {
        for actor in Actor::ALL {
            assert_eq!(Actor::named(actor.name()), Some(actor));
            assert_eq!(serde_json::to_value(actor).unwrap(), actor.name());
        }
        assert_eq!(Actor::named("nobody"), None);
    }
}
