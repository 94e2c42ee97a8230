//! Configurations of other programs as scenarios: what shapes, polices, delays or loses packets there does the same
//! here, and what is wrong with it is said ([`LintFinding`]).
//!
//! A format is one file with a reader that is a [`Foreign`], its `mod` line and a line in `formats!` below. Each reads in the same
//! steps: the text line by line into the format's own small model, that model into a [`Draft`] of links whose stages
//! remember their lines, and the draft into an [`Experiment`], which [`scenario`] checks as it checks any file.
//! What a reader does not understand it says by line ([`NotUnderstood`]); nothing is dropped in silence.

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
pub use export::{ExportFate, Exported, ExportedKey, NothingExported, to_containerlab};
pub use finding::{ImportError, ImportFact, LintFinding, NotUnderstood, Reading};
pub use import::{ImportSource, Imported, MAX_BYTES, import};

/// What the registry asks of a format.
pub(crate) trait Foreign {
    /// What it is, for people.
    const TITLE: &'static str;

    /// What its reader looks for, for the error where none of it is there.
    const LOOKS_FOR: &'static str;

    /// How many lines look like it.
    fn looks_like(text: &str) -> usize;

    /// Reads it; what is not understood goes into `reading`.
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
            /// Every format, with the name that `--as` takes.
            pub const ALL: &[(&str, ImportFormat)] = &[$(($name, ImportFormat::$type)),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(ImportFormat::$type => $name,)* }
            }

            /// What it is, for people.
            pub fn title(self) -> &'static str {
                match self { $(ImportFormat::$type => <$module::$type as Foreign>::TITLE,)* }
            }

            /// The statements that its reader looks for.
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
