//! The registry of path elements: one line each.
//!
//! A new element is one file with a [`Config`] and one line in `stages!`; it then reads and
//! writes as `{ kind = "…", … }`, has a JSON Schema and stands in every test over all kinds.

use crate::config::{Config, Problem};
use crate::{Body, Element};
use crate::{
    delay, disorder, handover, htb, jitter, link, loss, outage, policer, rate_trace, shaper, train, tunnel,
};
use schemars::JsonSchema;
use serde::de::{self, Deserializer, Visitor, value::Error as PlainError};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};

macro_rules! stages {
    ($($(#[$doc:meta])* $kind:literal => $variant:ident($type:ty),)*) => {
        /// One element of a path as a scenario configures it: `{ kind = "link", rate = "20Mbit/s" }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        #[allow(clippy::large_enum_variant)]
        pub enum Stage {
            $($(#[$doc])* #[serde(rename = $kind)] $variant($type),)*
        }

        impl Stage {
            /// Every kind there is.
            pub const KINDS: &[&str] = &[$($kind),*];

            /// This stage's kind.
            pub fn kind(&self) -> &'static str {
                match self { $(Stage::$variant(_) => $kind,)* }
            }

            /// Reads a stage of the given kind from a map *without* the key `kind`, so that a
            /// format which knows where it is (TOML) can say where an error is.
            pub fn deserialize_kind<'de, D: Deserializer<'de>>(
                kind: &str,
                from: D,
            ) -> Result<Stage, D::Error> {
                match kind {
                    $($kind => <$type>::deserialize(from).map(Stage::$variant),)*
                    _ => Err(de::Error::unknown_variant(kind, Stage::KINDS)),
                }
            }

            /// The keys a kind knows; none for an unknown kind.
            pub fn fields(kind: &str) -> &'static [&'static str] {
                match kind { $($kind => fields::<$type>(),)* _ => &[] }
            }

            /// Finds values out of range and keys that contradict each other.
            pub fn check(&self) -> Result<(), Problem> {
                match self { $(Stage::$variant(config) => config.check(),)* }
            }

            /// Builds the element. `seed` is the run's, `name` the element's: together they
            /// choose its random stream. Only for a stage that passes [`Stage::check`].
            pub fn build<B: Body + Send + 'static>(
                &self,
                seed: u64,
                name: &str,
            ) -> Box<dyn Element<B>> {
                match self { $(Stage::$variant(config) => config.build(seed, name),)* }
            }

            /// The file whose text [`Stage::load`] still wants (a trace), as the user wrote it.
            pub fn file(&self) -> Option<&str> {
                match self { $(Stage::$variant(config) => config.file(),)* }
            }

            /// Takes the text of [`Stage::file`] in.
            pub fn load(&mut self, text: &str) -> Result<(), Problem> {
                match self { $(Stage::$variant(config) => config.load(text),)* }
            }
        }

        $(impl From<$type> for Stage {
            fn from(config: $type) -> Stage {
                Stage::$variant(config)
            }
        })*
    };
}

stages! {
    /// Queue, rate, propagation delay.
    "link" => Link(link::Link),
    /// A constant delay.
    "delay" => Delay(delay::Delay),
    /// A delay that varies.
    "jitter" => Jitter(jitter::Jitter),
    /// A link whose rate follows a trace.
    "rate-trace" => RateTrace(rate_trace::RateTrace),
    /// Nothing passes for a while.
    "outage" => Outage(outage::Outage),
    /// A link with handovers.
    "handover" => Handover(handover::Handover),
    /// The radio link of a train: cells, handovers, Doppler shift.
    "train" => Train(train::Train),
    /// Token buckets that drop or re-mark.
    "policer" => Policer(policer::Policer),
    /// A token bucket that makes packets wait.
    "shaper" => Shaper(shaper::Shaper),
    /// A tree of shapers that borrow from each other.
    "htb" => Htb(htb::Htb),
    /// Packets lost by chance or by script.
    "loss" => Loss(loss::Loss),
    /// Packets sent twice.
    "duplicate" => Duplicate(disorder::Duplicate),
    /// Packets held back.
    "reorder" => Reorder(disorder::Reorder),
    /// A tunnel's entry.
    "tunnel" => Tunnel(tunnel::Tunnel),
    /// A tunnel's end.
    "tunnel-end" => TunnelEnd(tunnel::TunnelEnd),
}

/// The field names serde's derive hands to a struct's deserializer.
fn fields<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
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
