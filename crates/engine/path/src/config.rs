//! The trait that every element's configuration implements, and shared checks.

use crate::problem::Problem;
use crate::{Body, Element};
use units::{Choices, Label, Rate};

/// Display names of a kind of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplayNames {
    /// In a drawing of the path: "policer".
    pub label: Label,
    /// With an article, for a sentence: "a policer".
    pub one: Label,
    /// Cause of drops, for a sentence: "the policer", but "a queue" for a link.
    pub dropper: Label,
}

/// The highest rate that an element allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageLimit {
    /// The element does not limit the rate.
    None,
    /// The rate of IP packets for all flows together; for a rate that repeats periodically its mean.
    Shared(Rate),
    /// The rate of IP packets for each flow.
    Each(Rate),
    /// A rate that changes during the run and has no mean over the whole run.
    Varies,
}

/// The configuration of one element: plain data that can be checked and built. The first doc comment of a
/// type that implements this describes the element in the documentation.
pub trait Config: Sized {
    /// Display names of the element.
    const DISPLAY_NAMES: DisplayNames;

    /// Checks what serde cannot: values out of range, keys that contradict each other.
    fn check(&self) -> Result<(), Problem>;

    /// Builds the element; `seed` and `name` determine its random stream. The configuration must have passed
    /// [`Config::check`].
    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>>;

    /// A random configuration for property tests and fuzzers, in most cases a valid one. Limits are small and
    /// times short, so that a few hundred packets reach them.
    fn draw(choices: &mut Choices) -> Self;

    /// The highest rate that the element allows.
    fn limit(&self) -> StageLimit {
        StageLimit::None
    }

    /// The file that [`Config::load`] must be called with, as the user wrote it; `None` if there is none or
    /// it is loaded.
    fn file(&self) -> Option<&str> {
        None
    }

    /// Parses the text of [`Config::file`] into the configuration, which then no longer names the file.
    fn load(&mut self, text: &str) -> Result<(), Problem> {
        let _ = text;
        Ok(())
    }
}

/// Fails unless `value` is a probability.
pub(crate) fn probability(key: &str, value: f64) -> Result<(), Problem> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Problem::new(key, format!("{value} is not a probability: use a number from 0 to 1 (0.01 is 1 %)")))
}

/// Fails if the key is present (`there`): it applies only to another choice, `belongs`.
pub(crate) fn misplaced(key: &str, there: bool, belongs: &str) -> Result<(), Problem> {
    if there { Err(Problem::new(key, format!("applies only to {belongs}"))) } else { Ok(()) }
}

/// Fails if the rate is zero.
pub(crate) fn rate_above_zero(key: &str, rate: Option<Rate>) -> Result<(), Problem> {
    if rate.is_some_and(|r| r.as_bps() == 0) {
        return Err(Problem::new(key, "must be above zero (for example \"20Mbit/s\")"));
    }
    Ok(())
}

/// Fails if a limit of packets is zero.
pub(crate) fn packets_above_zero(packets: Option<u64>) -> Result<(), Problem> {
    match packets {
        Some(0) => Err(Problem::new("packets", "must be above zero (for example 1000)")),
        _ => Ok(()),
    }
}
