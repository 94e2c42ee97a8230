//! The controls that longfat has as eBPF programs: one `bpf/NAME.bpf.c` (a hyphen of the name is an
//! underscore there), compiled by `make objects` to `objects/NAME.bpf.o`, and one line here.

/// A control that longfat has as an eBPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelControl {
    /// Its name, as scenarios have it.
    pub name: &'static str,
    /// Whether it sets the pacing rate itself, as BBR does; the others are paced only when asked.
    pub paces: bool,
    /// What it is, in a few words.
    pub about: &'static str,
    /// The compiled program.
    pub(crate) object: &'static [u8],
}

/// A control of the given name, compiled from the file of the given name.
macro_rules! entry {
    ($name:literal, $file:literal, paces: $paces:literal, $about:literal) => {
        KernelControl {
            name: $name,
            paces: $paces,
            about: $about,
            object: include_bytes!(concat!("../objects/", $file, ".bpf.o")),
        }
    };
}

/// All of them.
pub const REGISTRY: &[KernelControl] = &[
    entry!("bbr-hsr", "bbr_hsr", paces: true, "BBR for high-speed trains"),
    entry!("westwood", "westwood", paces: false, "Westwood+: after a loss, what the path was seen to carry"),
    entry!("compound", "compound", paces: false, "Compound TCP: Reno and a window ruled by delay"),
];

/// The control called `name`.
pub fn find(name: &str) -> Option<&'static KernelControl> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
