//! The congestion controls of a run: the kernel's own where it has them, else longfat's eBPF
//! programs, each loaded for this run alone under a name of its own (`kernel_cc`).

use crate::LabError;
use congestion::Control;
use kernel_cc::{Kernel, Loaded};
use scenario::Scenario;

/// A congestion control as this kernel has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InKernel {
    /// What `TCP_CONGESTION` knows it by.
    pub name: String,
    /// Whether it paces by itself.
    pub paces: bool,
}

/// Those of one run. Dropped, what was loaded for it leaves the kernel.
#[derive(Debug, Default)]
pub struct Controls {
    loaded: Vec<(Control, Loaded)>,
}

/// Who wants which: "flow bulk".
pub type Wish = (String, Control);

/// What the scenario's flows want, or that one alone.
pub fn wishes(scenario: &Scenario, only: Option<usize>) -> Vec<Wish> {
    let flows = scenario.flows.iter().enumerate().filter(|(i, _)| only.is_none_or(|o| o == *i));
    let tcp = flows.filter(|(_, f)| !f.app.is_datagrams());
    let wishes = tcp.flat_map(|(_, f)| {
        let relays = f.via.iter().filter_map(|&r| {
            let relay = &scenario.relays[r];
            Some((format!("relay {}", relay.name), relay.cc?))
        });
        std::iter::once((format!("flow {}", f.name), f.cc)).chain(relays)
    });
    wishes.collect()
}

impl Controls {
    /// Loads what the kernel lacks, before anything else is made.
    ///
    /// # Errors
    /// [`LabError::Congestion`] with the first wish that cannot be had.
    pub fn load(wishes: &[Wish]) -> Result<Controls, LabError> {
        let mut this = Controls::default();
        let kernel = Kernel::now();
        for (who, control) in wishes {
            this.add(&kernel, *control).map_err(|why| LabError::Congestion {
                who: who.clone(),
                wanted: control.name().into(),
                why,
            })?;
        }
        Ok(this)
    }

    fn add(&mut self, kernel: &Kernel, control: Control) -> Result<(), String> {
        if self.loaded.iter().any(|(c, _)| *c == control) || suits(kernel, control) {
            return Ok(());
        }
        let name = control.name();
        if kernel_cc::find(name).is_none() {
            return Err(if kernel.has(name) {
                "the kernel's own takes no parameters".into()
            } else {
                let available = kernel.available.join(", ");
                format!("this kernel has none of that name; it has {available} (more: modprobe tcp_{name})")
            });
        }
        let loaded = Loaded::load(name, &control.kernel_parameters()).map_err(|e| e.to_string())?;
        self.loaded.push((control, loaded));
        Ok(())
    }

    /// What the kernel has for a control.
    pub fn find(&self, control: Control) -> InKernel {
        let name = control.name();
        let paces = kernel_cc::find(name).map_or_else(|| control.paces(), |entry| entry.paces);
        let loaded = self.loaded.iter().find(|(c, _)| *c == control);
        let name = loaded.map_or(name, |(_, loaded)| loaded.kernel_name());
        InKernel { name: name.into(), paces }
    }
}

/// Whether the kernel's own does: it has it, with the parameters its authors gave it. One that
/// longfat loaded for everybody may have others.
fn suits(kernel: &Kernel, control: Control) -> bool {
    let name = control.name();
    kernel.has(name) && !kernel_cc::is_pinned(name) && Control::named(name) == Some(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_has_needs_no_program() {
        let reno = Control::named("reno").expect("reno");
        let controls = Controls::load(&[("flow f".into(), reno)]).expect("every Linux has it");
        assert!(controls.loaded.is_empty());
        assert_eq!(controls.find(reno), InKernel { name: "reno".into(), paces: false });
        assert!(controls.find(Control::named("bbr").expect("bbr")).paces);
    }

    #[test]
    fn who_wants_what_nobody_has_is_told() {
        // Without privileges it is said what is missing.
        let names = congestion::NAMES.iter().filter(|name| !Kernel::now().has(name));
        for control in names.filter_map(|name| Control::named(name)) {
            let Err(e) = Controls::load(&[("flow bulk".into(), control)]) else { continue };
            let (name, text) = (control.name(), e.to_string());
            assert!(text.starts_with(&format!("flow bulk: congestion control {name}: ")), "{text}");
            let told = match (kernel_cc::find(name), kernel_cc::built_in()) {
                (None, _) => "reno",
                (Some(_), false) => "no eBPF programs built in",
                (Some(_), true) => "missing CAP_BPF",
            };
            assert!(text.contains(told), "{text}");
        }
    }
}
