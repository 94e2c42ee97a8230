//! An error before the name of its file is known.

use crate::cause::RefusalCause;
use crate::origin::Origin;

/// An error's cause, with its position if that is known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{cause}")]
pub struct Fault {
    pub cause: RefusalCause,
    /// Position in the text; a caller further out fills it in.
    pub at: Option<Origin>,
    /// The dotted path, if it cannot be derived from the position.
    pub key: Option<String>,
}

impl Fault {
    pub fn new(cause: RefusalCause, at: Origin) -> Fault {
        Fault { cause, at: Some(at), key: None }
    }
    /// Sets the position, unless the fault already has one: an inner position is more precise.
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
