//! What loading for everybody found and did.

/// What [`crate::load_for_all`] found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// It mounted the file system for pins on /sys/fs/bpf.
    pub mounted: bool,
    /// What there was before.
    pub before: Before,
}

/// What there was before a control was loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing of that name.
    Nothing,
    /// The same with the same parameters: it was left alone.
    Same,
    /// The same with other parameters: new sockets get the new ones, those there were keep theirs.
    Other,
}
