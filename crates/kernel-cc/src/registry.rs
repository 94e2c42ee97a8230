//! The controls that longfat has as eBPF programs: one `bpf/NAME.bpf.c` (a hyphen of the name is an
//! underscore there) and one line here. The line alone makes the name known, also where the crate
//! is built without the programs.

/// A control that longfat has as an eBPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as scenarios have it.
    pub name: &'static str,
    /// Whether it sets the pacing rate itself, as BBR does; the others are paced only when asked.
    pub paces: bool,
    /// What it is, in a few words.
    pub about: &'static str,
}

/// All of them.
pub const REGISTRY: &[Entry] = &[
    Entry { name: "bbr-hsr", paces: true, about: "BBR for high-speed trains" },
    Entry {
        name: "westwood",
        paces: false,
        about: "Westwood+: after a loss, what the path was seen to carry",
    },
    Entry { name: "compound", paces: false, about: "Compound TCP: Reno and a window ruled by delay" },
];

/// The control called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
