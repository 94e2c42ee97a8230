//! Which congestion control a flow has, with its parameters: what scenarios name.

use crate::{Bbr, Controller, NAMES, hsr, make};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::IgnoredAny};
use std::collections::BTreeMap;
use units::Stream;

/// A congestion control, one of [`NAMES`], and its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Control {
    name: &'static str,
    parameters: Parameters,
}

/// The parameters of those that have any: one line each, here and in the functions below.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Parameters {
    None,
    Hsr(hsr::Parameters),
}

/// A parameter with a value that will not do.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The parameter.
    pub key: &'static str,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Control {
    /// The one called `name`, with the parameters its authors gave it; `None` when there is none.
    pub fn named(name: &str) -> Option<Control> {
        let name = NAMES.iter().find(|known| **known == name)?;
        let parameters = match *name {
            "bbr-hsr" => Parameters::Hsr(hsr::Parameters::default()),
            _ => Parameters::None,
        };
        Some(Control { name, parameters })
    }

    /// The same with the parameters of `table`; those that are not there are as published.
    ///
    /// # Errors
    /// An unknown key, or a value that cannot be read. Its range is for [`Control::check`] to say.
    pub fn with<'de, D: Deserializer<'de>>(self, table: D) -> Result<Control, D::Error> {
        let parameters = match self.parameters {
            Parameters::None => Parameters::none(table)?,
            Parameters::Hsr(_) => Parameters::Hsr(Deserialize::deserialize(table)?),
        };
        Ok(Control { parameters, ..self })
    }

    /// Whether its parameters are in range.
    pub fn check(&self) -> Result<(), Problem> {
        match &self.parameters {
            Parameters::None => Ok(()),
            Parameters::Hsr(p) => p.check().map_err(|e| Problem { key: e.key(), message: e.to_string() }),
        }
    }

    /// Its name, one of [`NAMES`].
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A new controller for one connection; its random choices come from the stream `stream_name` of
    /// the run with `seed`, so give each flow its own name.
    pub fn make(&self, seed: u64, stream_name: &str) -> Box<dyn Controller> {
        match &self.parameters {
            Parameters::None => make(self.name, seed, stream_name).expect("every name is in the registry"),
            Parameters::Hsr(p) => Box::new(Bbr::hsr(Stream::new(seed, stream_name), p)),
        }
    }

    /// Its parameters as the variables of the live kernel's program of the same name.
    pub fn kernel_parameters(&self) -> Vec<(&'static str, u64)> {
        match &self.parameters {
            Parameters::None => Vec::new(),
            Parameters::Hsr(p) => p.kernel_parameters(),
        }
    }

    /// JSON Schemas of the tables that have parameters: name, and schema of the other keys.
    pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
        vec![("bbr-hsr", hsr::Parameters::json_schema(generator))]
    }
}

/// As a table: its `name`, then every parameter that it has.
impl Serialize for Control {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Table<'a, P> {
            name: &'a str,
            #[serde(flatten)]
            parameters: P,
        }
        match &self.parameters {
            Parameters::None => Table { name: self.name, parameters: () }.serialize(s),
            Parameters::Hsr(parameters) => Table { name: self.name, parameters }.serialize(s),
        }
    }
}

impl Parameters {
    /// A table without any key.
    fn none<'de, D: Deserializer<'de>>(table: D) -> Result<Parameters, D::Error> {
        use serde::de::Error;
        let keys: BTreeMap<String, IgnoredAny> = BTreeMap::deserialize(table)?;
        match keys.keys().next() {
            Some(key) => Err(D::Error::unknown_field(key, &[])),
            None => Ok(Parameters::None),
        }
    }
}

impl Default for Control {
    /// Linux's.
    fn default() -> Control {
        Control { name: "cubic", parameters: Parameters::None }
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
