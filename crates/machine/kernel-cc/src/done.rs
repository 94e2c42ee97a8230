//! The outcome of loading a control for all users.

/// The outcome of [`crate::load_for_all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Whether loading mounted a bpffs on /sys/fs/bpf.
    pub mounted: bool,
    /// The previous state.
    pub before: Before,
}

/// State before a control was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// No control of this name.
    Nothing,
    /// The same control with the same parameters: left unchanged.
    Same,
    /// The same control with other parameters: new sockets use the new instance, existing ones keep the old.
    Other,
}
