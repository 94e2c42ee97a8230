//! What a reader finds wrong, before it is known in which file.

use crate::cause::RefusalCause;
use crate::origin::Origin;

/// What is wrong, and where if that is known yet.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct Fault {
    /// What is wrong.
    pub cause: RefusalCause,
    /// Where; a reader further out may know it.
    pub at: Option<Origin>,
    /// The dotted path, where it cannot be found by the place.
    pub key: Option<String>,
}

impl Fault {
    /// A fault of a known place.
    pub fn new(cause: RefusalCause, at: Origin) -> Fault {
        Fault { cause, at: Some(at), key: None }
    }
    /// Sets the place unless a nearer one is set.
    pub fn or_at(mut self, at: Origin) -> Fault {
        self.at.get_or_insert(at);
        self
    }
}

impl From<RefusalCause> for Fault {
    fn from(cause: RefusalCause) -> Fault {
        Fault { cause, at: None, key: None }
    }
}
