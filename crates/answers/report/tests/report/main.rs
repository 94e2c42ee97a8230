//! Tests of texts, plots and names as users see them.

mod diagnosis;
mod golden;
mod names;
mod plot;
mod words;
