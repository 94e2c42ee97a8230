//! Texts, plots and names, as a reader sees them.

mod diagnosis;
mod golden;
mod names;
mod plot;
mod words;
