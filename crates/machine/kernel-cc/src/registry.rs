//! The eBPF congestion controls: each is one `bpf/NAME.bpf.c` (with underscores for the name's hyphens),
//! compiled by `make objects` to `objects/NAME.bpf.o`, and one line here.

/// A congestion control that longfat provides as an eBPF program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelControl {
    /// The control's name in scenarios.
    pub name: &'static str,
    /// Whether the control sets the pacing rate itself, as BBR does; the others are paced only on request.
    pub paces: bool,
    /// Short description.
    pub about: &'static str,
    /// The compiled program.
    pub(crate) object: &'static [u8],
}

/// Defines a control by its name and its object file.
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

/// All eBPF congestion controls.
pub const REGISTRY: &[KernelControl] = &[
    entry!("bbr-hsr", "bbr_hsr", paces: true, "BBR for high-speed trains"),
    entry!("westwood", "westwood", paces: false, "Westwood+: sets the window to the measured bandwidth after a loss"),
    entry!("compound", "compound", paces: false, "Compound TCP: Reno plus a delay-based window"),
];

/// Returns the control called `name`.
pub fn find(name: &str) -> Option<&'static KernelControl> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
