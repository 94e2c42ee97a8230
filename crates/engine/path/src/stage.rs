//! The code that the registry of elements in `lib.rs` generates.
//!
//! A new element is one file with a [`Config`](crate::Config), its `mod` line and a line in the registry. It
//! then has the syntax `{ kind = "…", … }`, a JSON Schema and a section in the documentation, display names,
//! and is covered by the tests and fuzzers of all kinds.

use serde::de::{self, Deserializer, Visitor, value::Error as PlainError};
use serde::{Deserialize, forward_to_deserialize_any};

macro_rules! stages {
    ($($kind:literal => $module:ident::$type:ident,)*) => {
        $(pub use $module::$type;)*

        /// One element of a path as a scenario configures it: `{ kind = "link", rate = "20Mbit/s" }`.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "kind")]
        #[allow(clippy::large_enum_variant, missing_docs)] // each is documented where it is configured
        pub enum Stage {
            $(#[serde(rename = $kind)] $type($type),)*
        }

        impl Stage {
            /// All kinds with their display names.
            pub const WORDS: &[(&str, DisplayNames)] = &[$(($kind, <$type as Config>::WORDS)),*];

            /// All kinds.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// The kind of this stage.
            pub fn kind(&self) -> &'static str {
                match self { $(Stage::$type(_) => $kind,)* }
            }

            /// Deserialises a stage of the given kind from a map *without* the key `kind`, so that a format
            /// with positions (TOML) can report the position of an error.
            pub fn deserialize_kind<'de, D: serde::Deserializer<'de>>(
                kind: &str,
                from: D,
            ) -> Result<Stage, D::Error> {
                use serde::Deserialize;
                match kind {
                    $($kind => $type::deserialize(from).map(Stage::$type),)*
                    _ => Err(serde::de::Error::unknown_variant(kind, Stage::KINDS)),
                }
            }

            /// The keys of a kind; empty for an unknown kind.
            pub fn fields(kind: &str) -> &'static [&'static str] {
                match kind { $($kind => stage::fields::<$type>(),)* _ => &[] }
            }

            /// Checks for values out of range and keys that contradict each other.
            pub fn check(&self) -> Result<(), Problem> {
                match self { $(Stage::$type(config) => config.check(),)* }
            }

            /// Builds the element. `seed` is the run's and `name` the element's: together they determine its
            /// random stream. The stage must have passed [`Stage::check`].
            pub fn build<B: Body + Send + 'static>(
                &self,
                seed: u64,
                name: &str,
            ) -> Box<dyn Element<B>> {
                match self { $(Stage::$type(config) => config.build(seed, name),)* }
            }

            /// A random stage of a random kind for tests; most pass [`Stage::check`].
            pub fn draw(choices: &mut units::Choices) -> Stage {
                let kinds = [$(|c: &mut units::Choices| Stage::$type($type::draw(c))),*];
                kinds[choices.below(kinds.len() as u64) as usize](choices)
            }

            /// The highest rate that the element allows.
            pub fn limit(&self) -> StageLimit {
                match self { $(Stage::$type(config) => config.limit(),)* }
            }

            /// The file (a trace) that [`Stage::load`] must be called with, as the user wrote it; `None` if
            /// there is none.
            pub fn file(&self) -> Option<&str> {
                match self { $(Stage::$type(config) => config.file(),)* }
            }

            /// Parses the text of [`Stage::file`] into the stage.
            pub fn load(&mut self, text: &str) -> Result<(), Problem> {
                match self { $(Stage::$type(config) => config.load(text),)* }
            }
        }

        $(impl From<$type> for Stage {
            fn from(config: $type) -> Stage {
                Stage::$type(config)
            }
        })*
    };
}
pub(crate) use stages;

/// The field names that serde's derive passes to a struct's deserializer.
pub(crate) fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    struct Listen<'a>(&'a mut &'static [&'static str]);
    impl<'de> Deserializer<'de> for Listen<'_> {
        type Error = PlainError;
        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            fields: &'static [&'static str],
            _visitor: V,
        ) -> Result<V::Value, PlainError> {
            *self.0 = fields;
            Err(de::Error::custom("only listening"))
        }
        fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, PlainError> {
            Err(de::Error::custom("only structs have fields"))
        }
        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
            ignored_any
        }
    }
    let mut found: &'static [&'static str] = &[];
    let _ = T::deserialize(Listen(&mut found));
    found
}
