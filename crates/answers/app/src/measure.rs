//! Measures the path to a host that runs `longfat serve`: what it does, what limits it, and what a sender can
//! do about it alone, each cure measured.
//!
//! The outcome is a [`Measurement`] (`model.rs`), which `fault.rs` evaluates, `text.rs` and `headline.rs`
//! show and `expect.rs` judges. These parts run on every system. The tests need Linux: `measure` runs them in
//! order (`run.rs`); `trains.rs` chooses the trains of datagrams, `path.rs` finds MTU, ECN, DSCP and
//! reordering, `capture.rs` diagnoses the captured test connections, `cures.rs` chooses cures and predicts
//! them, `via.rs` measures the segments of a path, and `segments.rs` says which of them limits it.

/// The text of a key of the table of texts (`report/live.json`) in a language, with `name = value` for each
/// of its placeholders.
macro_rules! say {
    ($lang:expr, $key:expr $(, $name:ident = $value:expr)* $(,)?) => {
        ::report::say($lang, $key, &[$((stringify!($name), &*$value.to_string())),*])
    };
}

mod compare;
mod expect;
mod fault;
mod file;
mod headline;
#[cfg(test)]
mod languages;
mod model;
mod page;
mod segments;
mod series;
mod table;
mod text;
mod ticket;

#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod cures;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod iperf3;
#[cfg(target_os = "linux")]
mod path;
#[cfg(target_os = "linux")]
mod repeat;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod serve;
#[cfg(target_os = "linux")]
mod stream_test;
#[cfg(target_os = "linux")]
mod trains;
#[cfg(target_os = "linux")]
mod via;

#[cfg(target_os = "linux")]
pub use ::measure::client::ClientError;
#[cfg(target_os = "linux")]
pub use ::measure::server::{ServeOptions, ServerEvent};
#[cfg(target_os = "linux")]
pub use ::measure::{DEFAULT_PORT, SessionLimits};
#[cfg(target_os = "linux")]
pub use host::{host_and_port, read_token};
#[cfg(target_os = "linux")]
pub use iperf3::{IPERF3_PORT, Iperf3Error};
#[cfg(target_os = "linux")]
pub use repeat::{MeasureSchedule, measure_again};
#[cfg(target_os = "linux")]
pub use run::{MeasureError, MeasureOptions, Measured, measure};
#[cfg(target_os = "linux")]
pub use serve::serve;
#[cfg(target_os = "linux")]
pub use via::{ViaHost, measure_via};

pub use compare::{MeasurementComparison, compare};
pub use expect::{MeasureExpectation, hold, read};
pub use fault::{Fault, fault, rank};
pub use file::{MEASUREMENT_FILE, MeasurementFile, measurement_file, read_measurements};
pub use headline::{facts, headline};
pub use model::{
    Cure, Direction, EchoSummary, Limiter, LimiterFound, Marks, MeasuredDirection, MeasuredPath, Measurement,
    StreamTest, TestVerdict, cure_name,
};
pub use page::page;
pub use segments::{Segment, ViaMeasurement};
pub use series::{MeasurementSeries, SeriesFigure, SeriesRun, line};
pub use text::text;
pub use ticket::ticket;

/// Returns the JSON Schema (draft 7), the file `docs/measure.schema.json`.
pub fn schema() -> &'static str {
    include_str!("../../../../docs/measure.schema.json")
}

#[test]
fn the_generated_schema_is_committed() {
    xtask::compare("docs/measure.schema.json", &result::schema_text::<MeasurementFile>());
}
