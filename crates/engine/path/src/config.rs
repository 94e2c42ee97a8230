//! What every element's configuration can do, and how it says what is wrong.

use crate::problem::Problem;
use crate::{Body, Element};
use units::{Choices, Label, Rate};

/// What people call a kind of element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// In a drawing of the path: "policer".
    pub label: Label,
    /// One of them, in a sentence: "a policer".
    pub one: Label,
    /// The one that dropped packets, in a sentence: "the policer", but "a queue" of a link.
    pub dropper: Label,
}

/// What an element allows at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageLimit {
    /// Any rate.
    None,
    /// All flows together this rate of IP packets; where it varies from period to period the same, its mean.
    Shared(Rate),
    /// Each flow.
    Each(Rate),
    /// A rate that changes while the run lasts, and has no mean that holds for all of it.
    Varies,
}

/// The configuration of one element: plain data that can be checked and built. Its first doc comment says in
/// the reference what the element is.
pub trait Config: Sized {
    /// What people call the element.
    const WORDS: Words;

    /// Finds what serde cannot: values out of range, keys that contradict each other.
    fn check(&self) -> Result<(), Problem>;

    /// Builds the element; `seed` and `name` choose its random stream.
    /// Call it only on a configuration that passes [`Config::check`].
    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>>;

    /// Some configuration for property tests and fuzzers; most of them valid. Small limits and short times, so
    /// that a few hundred packets meet them.
    fn draw(choices: &mut Choices) -> Self;

    /// What it allows at most.
    fn limit(&self) -> StageLimit {
        StageLimit::None
    }

    /// The file whose text [`Config::load`] still wants, as the user wrote it.
    fn file(&self) -> Option<&str> {
        None
    }

    /// Takes the text of [`Config::file`] in; afterwards the configuration holds its content
    /// and no longer names the file.
    fn load(&mut self, text: &str) -> Result<(), Problem> {
        let _ = text;
        Ok(())
    }
}

/// `Err` unless `value` is a probability.
pub(crate) fn probability(key: &str, value: f64) -> Result<(), Problem> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(Problem::new(key, format!("{value} is no probability: a number from 0 to 1 (0.01 is 1 %)")))
}

/// `Err` if `there`: the key belongs to another choice.
pub(crate) fn misplaced(key: &str, there: bool, belongs: &str) -> Result<(), Problem> {
    if there { Err(Problem::new(key, format!("belongs to {belongs} only"))) } else { Ok(()) }
}

/// `Err` if the rate is zero.
pub(crate) fn rate_above_zero(key: &str, rate: Option<Rate>) -> Result<(), Problem> {
    if rate.is_some_and(|r| r.as_bps() == 0) {
        return Err(Problem::new(key, "must be above zero (for example \"20Mbit/s\")"));
    }
    Ok(())
}

/// A bound on packets that lets some through.
pub(crate) fn packets_above_zero(packets: Option<u64>) -> Result<(), Problem> {
    match packets {
        Some(0) => Err(Problem::new("packets", "must be above zero (for example 1000)")),
        _ => Ok(()),
    }
}
