//! Builds a scenario's links as chains of elements and summarises a run over them. The simulator and the lab
//! share this crate; neither depends on the other.
//!
//! A caller builds the chains with [`ways`] before the run, samples with [`element_series`] and [`sample`]
//! during it, and afterwards makes the summary from [`elements`] and from its counters of each flow
//! ([`FlowTally`], [`outcome`]). The summary contains the scenario's [`topology`]. For datagram flows an
//! [`ArrivalMeter`] records which packets arrive and which the path drops, and counts separately those that
//! are due during a fault ([`spans`], [`due`]).

mod arrivals;
mod assumed;
mod e_model;
mod fairness;
mod interval;
mod link_direction;
mod outages;
mod summary;
mod tally;
mod times;
mod topology;

pub use arrivals::{ArrivalMeter, NumberSet};
pub use assumed::assume;
pub use e_model::{SpeechLoss, mos, r_factor};
pub use link_direction::{LinkWay, element_series, elements, sample, ways};
pub use outages::{due, spans};
pub use summary::{Whole, outcome};
pub use tally::FlowTally;
pub use topology::{settings, topology};
