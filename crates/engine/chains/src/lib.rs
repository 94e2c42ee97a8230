//! A scenario's links as chains of elements, and what a run over them is summed up to: what the simulator and the
//! lab have in common, which do not know each other.
//!
//! A clock calls [`ways`] before it begins, samples with [`element_series`] and [`sample`], and at the end makes its
//! summary of [`elements`] and of what it has counted of each flow ([`FlowTally`], [`outcome`]). The summary holds the
//! scenario's [`topology`]. Of datagrams it notes with an [`ArrivalMeter`] what arrives and what the path drops,
//! of those that are due in a fault's time too ([`spans`], [`due`]).

mod arrivals;
mod assumed;
mod e_model;
mod fairness;
mod interval;
mod outages;
mod summary;
mod tally;
mod times;
mod topology;
mod way;

pub use arrivals::{ArrivalMeter, NumberSet};
pub use assumed::assume;
pub use e_model::{SpeechLoss, mos, r_factor};
pub use outages::{due, spans};
pub use summary::{Whole, outcome};
pub use tally::FlowTally;
pub use topology::{settings, topology};
pub use way::{LinkWay, element_series, elements, sample, ways};
