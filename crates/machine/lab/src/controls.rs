//! The congestion controls of a run: the kernel's own where it has them, otherwise longfat's eBPF programs.
//! Each program is loaded for this run only, under a unique name (`kernel_cc`).

use crate::LabError;
use congestion::Control;
use kernel_cc::{Kernel, Loaded};
use scenario::Scenario;

/// A congestion control that this kernel can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelControl {
    /// The name for `TCP_CONGESTION`.
    pub name: String,
    /// Whether the control requests pacing itself.
    pub paces: bool,
}

/// The congestion controls loaded for one run. Dropping this unloads them from the kernel.
#[derive(Debug, Default)]
pub struct Controls {
    loaded: Vec<(Control, Loaded)>,
}

/// A user of a congestion control ("flow bulk") and the control.
pub type ControlRequest = (String, Control);

/// Returns the congestion controls that the scenario's flows and their relays use, or only those of the flow
/// `only`.
pub fn requests(scenario: &Scenario, only: Option<usize>) -> Vec<ControlRequest> {
    let flows = scenario.flows.iter().enumerate().filter(|(i, _)| only.is_none_or(|o| o == *i));
    let tcp = flows.filter(|(_, f)| !f.app.is_datagrams());
    let requests = tcp.flat_map(|(_, f)| {
        let relays = f.via.iter().filter_map(|&r| {
            let relay = &scenario.relays[r];
            Some((format!("relay {}", relay.name), relay.cc?))
        });
        std::iter::once((format!("flow {}", f.name), f.cc)).chain(relays)
    });
    requests.collect()
}

impl Controls {
    /// Loads the congestion controls that the kernel lacks. Call it before anything else is created.
    ///
    /// # Errors
    /// Fails with [`LabError::Congestion`] for the first control that is not available.
    pub fn load(requests: &[ControlRequest]) -> Result<Controls, LabError> {
        let mut this = Controls::default();
        let kernel = Kernel::now();
        for (who, control) in requests {
            this.add(&kernel, *control).map_err(|why| LabError::Congestion {
                who: who.clone(),
                wanted: control.name().into(),
                why,
            })?;
        }
        Ok(this)
    }

    fn add(&mut self, kernel: &Kernel, control: Control) -> Result<(), String> {
        if self.loaded.iter().any(|(c, _)| *c == control) || is_builtin_usable(kernel, control) {
            return Ok(());
        }
        let name = control.name();
        if kernel_cc::find(name).is_none() {
            return Err(if kernel.has(name) {
                "the kernel's own implementation takes no parameters".into()
            } else {
                let available = kernel.available.join(", ");
                format!("this kernel does not have it (available: {available}; try modprobe tcp_{name})")
            });
        }
        let loaded = Loaded::load(name, &control.kernel_parameters()).map_err(|e| e.to_string())?;
        self.loaded.push((control, loaded));
        Ok(())
    }

    /// Returns the kernel's name of a control, and whether it paces.
    pub fn find(&self, control: Control) -> KernelControl {
        let name = control.name();
        let paces = kernel_cc::find(name).map_or_else(|| control.paces(), |entry| entry.paces);
        let loaded = self.loaded.iter().find(|(c, _)| *c == control);
        let name = loaded.map_or(name, |(_, loaded)| loaded.kernel_name());
        KernelControl { name: name.into(), paces }
    }
}

/// Whether the kernel's own implementation can be used: it exists and the wanted parameters are its defaults.
/// A control that longfat pinned for the whole machine may have other parameters.
fn is_builtin_usable(kernel: &Kernel, control: Control) -> bool {
    let name = control.name();
    kernel.has(name) && !kernel_cc::is_pinned(name) && Control::named(name) == Some(control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_of_the_kernel_needs_no_program() {
        let reno = Control::named("reno").expect("reno");
        let controls = Controls::load(&[("flow f".into(), reno)]).expect("every Linux kernel has reno");
        assert!(controls.loaded.is_empty());
        assert_eq!(controls.find(reno), KernelControl { name: "reno".into(), paces: false });
        assert!(controls.find(Control::named("bbr").expect("bbr")).paces);
    }

    #[test]
    fn an_unavailable_control_is_reported_with_its_flow() {
        // Without privileges the error names the missing capability.
        let names = congestion::NAMES.iter().filter(|name| !Kernel::now().has(name));
        for control in names.filter_map(|name| Control::named(name)) {
            let Err(e) = Controls::load(&[("flow bulk".into(), control)]) else { continue };
            let (name, text) = (control.name(), e.to_string());
            assert!(text.starts_with(&format!("flow bulk: congestion control {name}: ")), "{text}");
            let expected = match (kernel_cc::find(name), kernel_cc::built_in()) {
                (None, _) => "reno",
                (Some(_), false) => "no eBPF programs built in",
                (Some(_), true) => "missing CAP_BPF",
            };
            assert!(text.contains(expected), "{text}");
        }
    }
}
