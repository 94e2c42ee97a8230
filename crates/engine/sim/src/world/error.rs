//! Errors of worlds.

/// Why a world cannot be created or a step cannot be taken.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// There is no scheme of this name.
    #[error(
        "`{0}` is not a scheme: one of {known}",
        known = super::SCHEMES.iter().map(|s| s.0).collect::<Vec<_>>().join(", ")
    )]
    Scheme(String),
    /// The flow does not exist, sends datagrams, or has several connections.
    #[error("flow {0} is not a TCP flow with a single connection")]
    NoSender(usize),
    /// The run ends before the flow is established.
    #[error("the scenario ends before the flow is established")]
    NeverEstablished,
    /// The step has zero length.
    #[error("a step must be longer than 0 s")]
    NoStep,
    /// The action does not fit the action space.
    #[error("{0}")]
    Action(String),
}
