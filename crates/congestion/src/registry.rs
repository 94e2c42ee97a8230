//! The registry: an algorithm is one file in this folder and one line in [`REGISTRY`]. From that
//! line it can be named in a scenario and inherits the harness in `tests/`.

use crate::{Bbr, Compound, Controller, Cubic, Reno, Tahoe, Westwood, hsr};
use units::Stream;

type Make = fn(Stream) -> Box<dyn Controller>;

const REGISTRY: &[(&str, Make)] = &[
    ("reno", |_| Box::new(Reno::new())),
    ("tahoe", |_| Box::new(Tahoe::new())),
    ("cubic", |_| Box::new(Cubic::new())),
    ("bbr", |stream| Box::new(Bbr::new(stream))),
    ("bbr-hsr", |stream| Box::new(Bbr::hsr(stream, &hsr::Parameters::default()))),
    ("westwood", |_| Box::new(Westwood::new())),
    ("compound", |_| Box::new(Compound::new())),
];

const fn names() -> [&'static str; REGISTRY.len()] {
    let mut names = [""; REGISTRY.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = REGISTRY[i].0;
        i += 1;
    }
    names
}

/// Every algorithm's name, as `TCP_CONGESTION` knows it.
pub const NAMES: &[&str] = &names();

/// A new controller called `name`; `None` when there is none (see [`NAMES`]). Its random choices
/// come from the stream `stream_name` of the run with `seed`, so give each flow its own name.
pub fn make(name: &str, seed: u64, stream_name: &str) -> Option<Box<dyn Controller>> {
    let (_, make) = REGISTRY.iter().find(|(n, _)| *n == name)?;
    Some(make(Stream::new(seed, stream_name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_makes_a_controller_of_that_name() {
        for name in NAMES {
            assert_eq!(make(name, 1, "flow").unwrap().name(), *name);
        }
        assert!(make("vegas", 1, "flow").is_none());
    }
}
