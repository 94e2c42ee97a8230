//! What the registry of controls in `lib.rs` makes of its lines.
//!
//! A new control is one file with a [`Controller`](crate::Controller) that is an [`Algorithm`], its `mod` line and a line
//! there; scenarios then know it by name with its parameters, it has a chapter in the reference, and it stands in
//! the tests over all controls, which want its vectors in `vectors/`.

use crate::{Controller, Window};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use units::{Choices, Label, Stream};

/// What the registry asks of a control, beside its [`Controller`].
pub trait Algorithm {
    /// What a scenario may set; [`Plain`] where that is nothing.
    type Parameters: Parameters;

    /// What people call it: "CUBIC".
    const LABEL: Label;

    /// What it is, for the reference: a sentence.
    const ABOUT: &'static str;

    /// A controller for a new connection; its random choices come from `random`.
    fn controller(parameters: &Self::Parameters, random: Stream) -> Box<dyn Controller>;

    /// From where to where an ACK of `acked` packets may take the window `before` it, where the control does not
    /// own the window. By default it opens it by what was delivered, and one for saved-up credit.
    fn reach(before: &Window, acked: u32) -> (u32, u32) {
        (before.cwnd, before.cwnd.saturating_add(acked).saturating_add(1))
    }
}

/// The parameters of a control. What is left out has the default.
pub trait Parameters: Copy + Debug + PartialEq + Default + DeserializeOwned + Serialize {
    /// Finds what serde cannot: values out of range.
    fn check(&self) -> Result<(), ParameterProblem> {
        Ok(())
    }

    /// They as the variables of the live kernel's program of the same name.
    fn kernel(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Any that pass [`Parameters::check`], for tests.
    fn draw(choices: &mut Choices) -> Self {
        let _ = choices;
        Self::default()
    }
}

/// No parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plain {}

impl Parameters for Plain {}

/// A control as a scenario's table has it.
#[derive(Serialize)]
pub(crate) struct ControlTable<'a, P> {
    pub name: &'a str,
    #[serde(flatten)]
    pub parameters: &'a P,
}

/// A parameter with a value that will not do.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterProblem {
    /// The parameter.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

macro_rules! controls {
    ($($name:literal => $module:ident::$type:ident,)*) => {
        $(pub use $module::$type;)*

        /// Every algorithm's name, as `TCP_CONGESTION` knows it.
        pub const NAMES: &[&str] = &[$($name),*];

        /// A congestion control, one of [`NAMES`], and its parameters.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub struct Control(Chosen);

        #[derive(Clone, Copy, PartialEq, Debug)]
        enum Chosen {
            $($type(<$type as Algorithm>::Parameters),)*
        }

        /// As a table: its `name`, then every parameter that it has.
        impl serde::Serialize for Control {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match &self.0 {
                    $(Chosen::$type(parameters) => registry::ControlTable { name: $name, parameters }.serialize(s),)*
                }
            }
        }

        impl Control {
            /// The one called `name`, with the parameters its authors gave it; `None` when there is none.
            pub fn named(name: &str) -> Option<Control> {
                match name {
                    $($name => Some(Control(Chosen::$type(Default::default()))),)*
                    _ => None,
                }
            }

            /// The same with the parameters of `table`; those that are not there are as published.
            ///
            /// # Errors
            /// An unknown key, or a value that cannot be read. Its range is for [`Control::check`] to say.
            pub fn with<'de, D: serde::Deserializer<'de>>(self, table: D) -> Result<Control, D::Error> {
                use serde::Deserialize;
                match self.0 {
                    $(Chosen::$type(_) => Ok(Control(Chosen::$type(Deserialize::deserialize(table)?))),)*
                }
            }

            /// Whether its parameters are in range.
            pub fn check(&self) -> Result<(), ParameterProblem> {
                match &self.0 { $(Chosen::$type(p) => Parameters::check(p),)* }
            }

            /// Its name, one of [`NAMES`].
            pub fn name(&self) -> &'static str {
                match &self.0 { $(Chosen::$type(_) => $name,)* }
            }

            /// What people call it.
            pub fn label(&self) -> Label {
                match &self.0 { $(Chosen::$type(_) => <$type as Algorithm>::LABEL,)* }
            }

            /// What it is, a sentence.
            pub fn about(&self) -> &'static str {
                match &self.0 { $(Chosen::$type(_) => <$type as Algorithm>::ABOUT,)* }
            }

            /// A new controller for one connection; its random choices come from the stream `stream_name` of
            /// the run with `seed`, so give each flow its own name.
            pub fn make(&self, seed: u64, stream_name: &str) -> Box<dyn Controller> {
                let random = Stream::new(seed, stream_name);
                match &self.0 { $(Chosen::$type(p) => <$type as Algorithm>::controller(p, random),)* }
            }

            /// Whether it asks for pacing, whatever the host does.
            pub fn paces(&self) -> bool {
                let mut window = Window::new(10);
                self.make(0, "").init(&Socket::default(), &mut window);
                window.pacing
            }

            /// Its parameters as the variables of the live kernel's program of the same name.
            pub fn kernel_parameters(&self) -> Vec<(&'static str, u64)> {
                match &self.0 { $(Chosen::$type(p) => Parameters::kernel(p),)* }
            }

            /// The same with any parameters in range, for tests.
            pub fn draw(self, choices: &mut Choices) -> Control {
                match self.0 { $(Chosen::$type(_) => Control(Chosen::$type(Parameters::draw(choices))),)* }
            }

            /// From where to where an ACK may take the window: [`Algorithm::reach`].
            pub fn reach(&self, before: &Window, acked: u32) -> (u32, u32) {
                match &self.0 { $(Chosen::$type(_) => <$type as Algorithm>::reach(before, acked),)* }
            }

            /// JSON Schemas of the tables that have parameters: name, and schema of the other keys.
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
    fn a_control_is_known_by_its_name_alone() {
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
    fn parameters_are_read_checked_and_used() {
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
