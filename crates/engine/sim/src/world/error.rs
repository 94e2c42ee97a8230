//! Why a world cannot begin or go on.

/// Why there is no world, or no step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// No such scheme.
    #[error(
        "no scheme is called `{0}`; there are: {known}",
        known = super::SCHEMES.iter().map(|s| s.0).collect::<Vec<_>>().join(", ")
    )]
    Scheme(String),
    /// The flow is none, of datagrams, or of several connections.
    #[error("flow {0} is none of the scenario's TCP flows with one connection")]
    NoSender(usize),
    /// The run is over before the flow is established.
    #[error("the flow is not established before the scenario's duration is over")]
    NeverEstablished,
    /// A step takes no time.
    #[error("a step has to take time")]
    NoStep,
    /// An action that is none of the space.
    #[error("{0}")]
    Action(String),
}
