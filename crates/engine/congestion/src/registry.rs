//! The code that the registry of algorithms in `lib.rs` generates.
//!
//! A new congestion control is one file with a [`Controller`](crate::Controller) that implements
//! [`Algorithm`], its `mod` line and a line in the registry. Scenarios can then use it by name and set its
//! parameters, it has a section in the documentation, and it is covered by the tests of all controls, which
//! need its test vectors in `vectors/`.

use crate::{Controller, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use units::{Choices, Label, Stream};

/// The interface of a congestion control to the registry, in addition to [`Controller`].
pub trait Algorithm {
    /// The parameters that a scenario may set; [`Plain`] if there are none.
    type Parameters: Parameters;

    /// Display name: "CUBIC".
    const LABEL: Label;

    /// Description for the documentation, one sentence.
    const ABOUT: &'static str;

    /// A controller for a new connection; `random` is the source of its random choices.
    fn controller(parameters: &Self::Parameters, random: Stream) -> Box<dyn Controller>;

    /// Range of the window after an ACK of `acked` packets, given the window `before` it, for a control that
    /// does not own the window. By default the window grows at most by the delivered packets, and one for
    /// accumulated credit.
    fn reach(before: &Window, acked: u32) -> (u32, u32) {
        (before.cwnd, before.cwnd.saturating_add(acked).saturating_add(1))
    }
}

/// The parameters of a congestion control. Omitted parameters have their defaults.
pub trait Parameters: Copy + Debug + PartialEq + Default + DeserializeOwned + Serialize {
    /// Checks for values out of range, which serde cannot.
    fn check(&self) -> Result<(), ParameterProblem> {
        Ok(())
    }

    /// The parameters as variables of the kernel's BPF program for this control.
    fn kernel(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Random parameters that pass [`Parameters::check`], for tests.
    fn draw(choices: &mut Choices) -> Self {
        let _ = choices;
        Self::default()
    }
}

/// The parameters of a control that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plain {}

impl Parameters for Plain {}

/// A congestion control as a table in a scenario.
#[derive(Serialize)]
pub(crate) struct ControlTable<'a, P> {
    pub name: &'a str,
    #[serde(flatten)]
    pub parameters: &'a P,
}

/// An invalid value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterProblem {
    /// The parameter's key.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

macro_rules! controls {
    ($($name:literal => $module:ident::$type:ident,)*) => {
        $(pub use $module::$type;)*

        /// The names of all algorithms, as in `TCP_CONGESTION`.
        pub const NAMES: &[&str] = &[$($name),*];

        /// A congestion control, one of [`NAMES`], and its parameters.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct Control(Chosen);

        #[derive(Clone, Copy, PartialEq, Debug)]
        enum Chosen {
            $($type(<$type as Algorithm>::Parameters),)*
        }

        /// Serialises as a table: `name`, then all parameters.
        impl serde::Serialize for Control {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    $(Chosen::$type(parameters) => registry::ControlTable { name: $name, parameters }.serialize(s),)*
                }
            }
        }

        impl Control {
            /// The control `name` with its authors' parameters; `None` if it is not in [`NAMES`].
            pub fn named(name: &str) -> Option<Control> {
                match name {
                    $($name => Some(Control(Chosen::$type(Default::default()))),)*
                    _ => None,
                }
            }

            /// The control with the parameters in `table`; omitted ones are as published.
            ///
            /// # Errors
            /// Fails at an unknown key or an unreadable value. [`Control::check`] checks ranges.
            pub fn with<'de, D: serde::Deserializer<'de>>(self, table: D) -> Result<Control, D::Error> {
                use serde::Deserialize;
                match self.0 {
                    $(Chosen::$type(_) => Ok(Control(Chosen::$type(Deserialize::deserialize(table)?))),)*
                }
            }

            /// Checks that the parameters are in range.
            pub fn check(&self) -> Result<(), ParameterProblem> {
                match &self.0 { $(Chosen::$type(p) => Parameters::check(p),)* }
            }

            /// The name, one of [`NAMES`].
            pub fn name(&self) -> &'static str {
                match &self.0 { $(Chosen::$type(_) => $name,)* }
            }

            /// The display name.
            pub fn label(&self) -> Label {
                match &self.0 { $(Chosen::$type(_) => <$type as Algorithm>::LABEL,)* }
            }

            /// The description, one sentence.
            pub fn about(&self) -> &'static str {
                match &self.0 { $(Chosen::$type(_) => <$type as Algorithm>::ABOUT,)* }
            }

            /// A new controller for one connection. Its random choices come from the stream `stream_name` of
            /// the run with `seed`, so each flow needs its own name.
            pub fn make(&self, seed: u64, stream_name: &str) -> Box<dyn Controller> {
                let random = Stream::new(seed, stream_name);
                match &self.0 { $(Chosen::$type(p) => <$type as Algorithm>::controller(p, random),)* }
            }

            /// Whether the control requests pacing itself.
            pub fn paces(&self) -> bool {
                let mut window = Window::new(10);
                self.make(0, "").init(&Socket::default(), &mut window);
                window.pacing
            }

            /// The parameters as variables of the kernel's BPF program for this control.
            pub fn kernel_parameters(&self) -> Vec<(&'static str, u64)> {
                match &self.0 { $(Chosen::$type(p) => Parameters::kernel(p),)* }
            }

            /// The control with random valid parameters, for tests.
            pub fn draw(self, choices: &mut Choices) -> Control {
                match self.0 { $(Chosen::$type(_) => Control(Chosen::$type(Parameters::draw(choices))),)* }
            }

            /// Range of the window after an ACK: [`Algorithm::reach`].
            pub fn reach(&self, before: &Window, acked: u32) -> (u32, u32) {
                match &self.0 { $(Chosen::$type(_) => <$type as Algorithm>::reach(before, acked),)* }
            }

            /// JSON Schemas of the controls with parameters: name, and schema of the keys other than `name`.
            #[cfg(feature = "schema")]
            pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                use schemars::JsonSchema;
                let all = [
                    $(($name, <<$type as Algorithm>::Parameters as JsonSchema>::json_schema(generator)),)*
                ];
                let any = |schema: &schemars::Schema| schema.get("properties").is_some();
                all.into_iter().filter(|(_, schema)| any(schema)).collect()
            }
        }
    };
}
pub(crate) use controls;

#[cfg(test)]
mod tests {
    use crate::{Control, NAMES, make};

    #[test]
    fn every_name_selects_its_control() {
        for name in NAMES {
            let control = Control::named(name).unwrap();
            assert_eq!((control.name(), control.make(1, "f").name()), (*name, *name));
        }
        assert!(Control::named("Reno").is_none() && make("none of them", 1, "flow").is_none());
        assert_eq!(Control::default().name(), "cubic");
        let paces: Vec<&str> = NAMES.iter().filter(|n| Control::named(n).unwrap().paces()).copied().collect();
        assert!(paces.iter().all(|n| n.starts_with("bbr")) && paces.len() == 3, "{paces:?}");
    }

    #[test]
    fn parameters_are_deserialised_checked_and_used() {
        let read =
            |name, text| Control::named(name).unwrap().with(&mut serde_json::Deserializer::from_str(text));
        let plain = Control::named("bbr-hsr").unwrap();
        assert_eq!(read("bbr-hsr", "{}").unwrap(), plain);
        let other = read("bbr-hsr", r#"{"T":"40ms"}"#).unwrap();
        assert!(other.check().is_ok() && other != plain && other.make(1, "f").name() == "bbr-hsr");
        assert_eq!(other.kernel_parameters()[1], ("hsr_T_us", 40_000));
        assert_eq!(read("bbr-hsr", r#"{"T":"0s"}"#).unwrap().check().unwrap_err().key, "T");
        assert!(read("reno", r#"{"T":"40ms"}"#).is_err() && read("reno", "{}").is_ok());
        let written = serde_json::to_value(other).unwrap();
        assert_eq!((&written["name"], &written["T"]), (&"bbr-hsr".into(), &"40ms".into()));
        assert_eq!(serde_json::to_string(&Control::default()).unwrap(), r#"{"name":"cubic"}"#);
    }
}
