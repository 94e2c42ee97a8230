//! Why a world cannot begin or go on.

use std::fmt;

/// Why there is no world, or no step.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldError {
    /// No such scheme.
    Scheme(String),
    /// The flow is none, of datagrams, or of several connections.
    NoSender(usize),
    /// The run is over before the flow is established.
    NeverEstablished,
    /// A step takes no time.
    NoStep,
    /// An action that is none of the space.
    Action(String),
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Scheme(name) => {
                let known: Vec<&str> = super::SCHEMES.iter().map(|(name, _, _)| *name).collect();
                write!(f, "no scheme is called `{name}`; there are: {}", known.join(", "))
            }
            WorldError::NoSender(flow) => {
                write!(f, "flow {flow} is none of the scenario's TCP flows with one connection")
            }
            WorldError::NeverEstablished => {
                f.write_str("the flow is not established before the scenario's duration is over")
            }
            WorldError::NoStep => f.write_str("a step has to take time"),
            WorldError::Action(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for WorldError {}
