//! Reads the file of one measurement, or of several.

use super::model::{MEASURE_SCHEMA, Measurement};
use super::segments::ViaMeasurement;
use super::series::{MeasurementSeries, SERIES_SCHEMA, SeriesRun};
use crate::{CommandError, regular};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file in a folder of `longfat measure --out`.
pub const MEASUREMENT_FILE: &str = "measurement.json";

/// The file of one measurement, of several, or of a path and its segments.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum MeasurementFile {
    /// One measurement.
    One(Box<Measurement>),
    /// Several measurements of one path.
    Series(MeasurementSeries),
    /// One measurement of a path and its segments.
    Via(Box<ViaMeasurement>),
}

impl From<Measurement> for MeasurementSeries {
    fn from(m: Measurement) -> MeasurementSeries {
        let run = SeriesRun { at: m.at.clone(), error: None, measurement: Some(m) };
        MeasurementSeries::of(vec![run])
    }
}

/// Returns the measurement's file that a path names: the file itself, or that in a folder. `None` if it names
/// something else, such as the result of a run.
pub fn measurement_file(path: &Path) -> Option<PathBuf> {
    let file = if path.is_dir() { path.join(MEASUREMENT_FILE) } else { path.to_path_buf() };
    let is_result = file.file_name().is_some_and(|name| name == "result.json" || name == "sweep.json");
    let is_json = file.extension().is_some_and(|e| e == "json");
    (file.is_file() && is_json && !is_result).then_some(file)
}

/// Reads a file of `longfat measure --out` or `--json`. One measurement becomes a series of one.
///
/// # Errors
/// Fails when the file cannot be read, or is not a measurement.
pub fn read_measurements(path: &Path) -> Result<MeasurementSeries, CommandError> {
    let at = || path.display().to_string();
    let text = regular::read_text(path).map_err(|e| CommandError::Io(at(), e))?;
    parse(&text).map_err(|why| CommandError::Usage(format!("{}: {why}", at())))
}

fn parse(text: &str) -> Result<MeasurementSeries, String> {
    #[derive(Deserialize)]
    struct Kind {
        schema: String,
    }
    let wrong = |e: serde_json::Error| format!("not a measurement of `longfat measure`: {e}");
    let kind: Kind = serde_json::from_str(text).map_err(wrong)?;
    match kind.schema.as_str() {
        MEASURE_SCHEMA => serde_json::from_str::<Measurement>(text).map(Into::into).map_err(wrong),
        SERIES_SCHEMA => serde_json::from_str(text).map_err(wrong),
        other => {
            Err(format!("`{other}` is not a measurement: {MEASURE_SCHEMA} or {SERIES_SCHEMA} is expected"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::series::samples::upload;

    #[test]
    fn files_of_one_and_of_several_are_read_back() {
        let run = upload("2026-11-30T14:00:00Z", 10.0, 20.0);
        let one = Measurement { schema: MEASURE_SCHEMA.into(), ..run.measurement.clone().expect("one") };
        let read = parse(&one.json()).expect("a measurement");
        assert_eq!(read.measurements().map(Measurement::json).collect::<Vec<_>>(), [one.json()]);
        let series = MeasurementSeries::of(vec![run.clone(), run]);
        assert_eq!(parse(&series.json()).expect("a series").json(), series.json());
        for wrong in ["", "{}", "{\"schema\": \"longfat-result/2\"}", "{\"schema\": \"longfat-measure/1\"}"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
