//! Which congestion control a flow has, with its parameters: what scenarios name.

use crate::{Controller, NAMES, make};

/// A congestion control, one of [`NAMES`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Control {
    name: &'static str,
}

impl Control {
    /// The one called `name`, with the parameters its authors gave it; `None` when there is none.
    pub fn named(name: &str) -> Option<Control> {
        let name = NAMES.iter().find(|known| **known == name)?;
        Some(Control { name })
    }

    /// Its name, one of [`NAMES`].
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A new controller for one connection; its random choices come from the stream `stream_name` of
    /// the run with `seed`, so give each flow its own name.
    pub fn make(&self, seed: u64, stream_name: &str) -> Box<dyn Controller> {
        make(self.name, seed, stream_name).expect("every name is in the registry")
    }

    /// Its parameters as the variables of the live kernel's program of the same name.
    pub fn kernel_parameters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

impl Default for Control {
    /// Linux's.
    fn default() -> Control {
        Control { name: "cubic" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_is_known_by_its_name_alone() {
        for name in NAMES {
            let control = Control::named(name).unwrap();
            assert_eq!((control.name(), control.make(1, "f").name()), (*name, *name));
        }
        assert_eq!(Control::named("Reno"), None);
        assert_eq!(Control::default().name(), "cubic");
    }
}
