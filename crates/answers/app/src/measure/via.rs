//! Measures a path through several hosts: the whole of it, and each segment between two neighbours, whose
//! server measures the path to the next.

use super::model::Measurement;
use super::run::{MeasureError, MeasureOptions, OnStep, measure, now};
use super::segments::{Segment, ViaMeasurement};
use ::measure::client::{Client, ClientError};
use report::word;
use std::time::{Duration, Instant};

/// Time in which a server must have measured the path to the next.
const SEGMENT_TIME: Duration = Duration::from_secs(120);

/// A host of `--via`.
#[derive(Clone, Debug)]
pub struct ViaHost {
    /// As the user wrote it.
    pub name: String,
    pub host: String,
    pub port: u16,
}

/// Measures the path to the last of some hosts, and the segments from this host through the others, which
/// are measured one after the other. `options` are those of the whole path; its host and port are ignored. A
/// segment that cannot be measured has an error. `step` and `interrupted` as in [`measure`].
///
/// # Errors
/// Fails when the whole path cannot be measured.
pub fn measure_via(
    hosts: &[ViaHost],
    options: &MeasureOptions,
    step: OnStep<'_>,
    interrupted: &mut dyn FnMut() -> bool,
) -> Result<ViaMeasurement, MeasureError> {
    let (at, begin) = (now(), Instant::now());
    let to = |host: &ViaHost, options: &MeasureOptions| MeasureOptions {
        host: host.host.clone(),
        port: host.port,
        ..options.clone()
    };
    let Some(last) = hosts.last() else {
        return Err(ClientError::Name(String::new(), std::io::ErrorKind::NotFound.into()).into());
    };
    let here = word(options.lang, "measure.via.here");
    let mut named = |name: &str| step(&format!("{here} -> {}: {name}", last.name));
    let end_to_end = measure(&to(last, options), &mut named, interrupted)?.measurement;
    let short = MeasureOptions { quick: true, cures: false, ..options.clone() };
    let mut segments = Vec::new();
    for (i, host) in hosts.iter().enumerate() {
        if interrupted() {
            break;
        }
        let from = i.checked_sub(1).and_then(|before| hosts.get(before));
        let name = from.map_or(here, |from| &from.name);
        let mut named = |what: &str| step(&format!("{name} -> {}: {what}", host.name));
        let measured = match from {
            None => measure(&to(host, &short), &mut named, interrupted)
                .map(|measured| measured.measurement)
                .map_err(|e| e.to_string()),
            Some(from) => {
                named("measured by its server");
                onward(from, host, options.token.as_deref())
            }
        };
        segments.push(Segment::of(name, &host.name, measured));
    }
    Ok(ViaMeasurement::of(at, begin.elapsed().as_secs_f64(), end_to_end, segments))
}

/// Has a server measure the path to the next.
fn onward(from: &ViaHost, to: &ViaHost, token: Option<&[u8]>) -> Result<Measurement, String> {
    let mut client = Client::connect(&from.host, from.port, token).map_err(|e| e.to_string())?;
    let json = client.onward(&to.host, to.port, SEGMENT_TIME).map_err(|e| e.to_string())?;
    serde_json::from_str(&json).map_err(|e| format!("the server's answer is not a measurement: {e}"))
}
