//! Imports configurations of other programs as scenarios: policers, shapers, delays and losses become stages
//! of a path, and mistakes in the configuration are reported ([`LintFinding`]).
//!
//! A format is one file with a reader that implements [`Foreign`], its `mod` line, and a line in `formats!`
//! below. All readers work in the same steps: the text becomes the format's own model, the model becomes a
//! [`Draft`] of links whose stages know their lines, and the draft becomes an [`Experiment`], which
//! [`scenario`] checks like any file. What a reader does not understand is reported by line
//! ([`NotUnderstood`]); nothing is dropped silently.

mod cni;
mod containerlab;
mod draft;
mod dummynet;
mod export;
mod finding;
mod ibox;
mod import;
mod ios;
mod junos;
mod kubernetes;
mod lint;
mod mahimahi;
mod number;
mod routeros;
#[cfg(test)]
mod sample;
mod shares;
mod shell;
mod sqm;
mod tc;
mod yaml;

pub use draft::{Assumed, BoxPort, Credit, Draft, DraftFlow, DraftLink, DraftStage, PortFlow};
pub use export::{ExportFate, Exported, ExportedKey, NothingExported, StagesAs, to_containerlab};
pub use finding::{ImportError, ImportFact, LintFinding, NotUnderstood, Reading};
pub use import::{ImportSource, Imported, MAX_BYTES, import};

/// A format of the registry.
pub(crate) trait Foreign {
    /// The format's name for users.
    const TITLE: &'static str;

    /// The statements that the reader looks for, for the error if there are none.
    const LOOKS_FOR: &'static str;

    /// The number of lines that look like this format.
    fn looks_like(text: &str) -> usize;

    /// Reads a text. What is not understood goes into `reading`.
    fn read(source: &ImportSource, assumed: &Assumed, reading: &mut Reading) -> Result<Draft, ImportError>;
}

macro_rules! formats {
    ($($name:literal => $module:ident::$type:ident,)*) => {
        /// A format that can be imported.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ImportFormat {
            $(#[doc = $name] $type,)*
        }

        impl ImportFormat {
            /// All formats with their names for `--as`.
            pub const ALL: &[(&str, ImportFormat)] = &[$(($name, ImportFormat::$type)),*];

            /// The format's name for `--as`.
            pub fn name(self) -> &'static str {
                match self { $(ImportFormat::$type => $name,)* }
            }

            /// The format's name for users.
            pub fn title(self) -> &'static str {
                match self { $(ImportFormat::$type => <$module::$type as Foreign>::TITLE,)* }
            }

            /// The statements that the format's reader looks for.
            pub fn looks_for(self) -> &'static str {
                match self { $(ImportFormat::$type => <$module::$type as Foreign>::LOOKS_FOR,)* }
            }

            /// The format that most lines of a text look like; `None` if no line does.
            pub fn of(text: &str) -> Option<ImportFormat> {
                let mut best = (0, None);
                $(
                    let lines = <$module::$type as Foreign>::looks_like(text);
                    if lines > best.0 {
                        best = (lines, Some(ImportFormat::$type));
                    }
                )*
                best.1
            }

            fn read(
                self,
                source: &ImportSource,
                assumed: &Assumed,
                reading: &mut Reading,
            ) -> Result<Draft, ImportError> {
                match self {
                    $(ImportFormat::$type => <$module::$type as Foreign>::read(source, assumed, reading),)*
                }
            }
        }
    };
}

formats! {
    "tc" => tc::Tc,
    "ios" => ios::Ios,
    "junos" => junos::Junos,
    "mahimahi" => mahimahi::MahimahiFiles,
    "containerlab" => containerlab::Containerlab,
    "ibox" => ibox::Ibox,
    "cni" => cni::CniBandwidth,
    "kubernetes" => kubernetes::Kubernetes,
    "routeros" => routeros::RouterOs,
    "sqm" => sqm::Sqm,
    "ipfw" => dummynet::Ipfw,
}
