//! The engine of the web explorer: [`answer`] answers a page's questions. `longfat explore` calls it
//! natively; in a page without a server (`longfat explore --write`) it runs as WebAssembly in a worker
//! (`abi.rs`).
//!
//! * A question is a [`PageQuestion`] in JSON: a scenario's text with overrides (`--set`) and a variant; or
//!   the name of a capture, whose bytes are read piece by piece.
//! * An answer is a list of byte strings ("pieces"). The first is JSON; a run also has the page's data and
//!   the columns of its time series.
//! * Runs are made by `experiment` and the page's data by `report`, so the numbers are those of `longfat run`
//!   to the last bit.
//! * A coarse run is the beginning of the exact run with the same seed, so it shows the same values for a
//!   shorter time.
//! * No state is kept between questions, so a worker can be terminated at any time.

#[cfg(target_arch = "wasm32")]
mod abi;
mod diagnose;
mod fit_capture;
#[cfg(not(target_arch = "wasm32"))]
mod page;
mod path_of_flow;
mod read;
mod request;
mod run;
mod tunable;

#[cfg(not(target_arch = "wasm32"))]
pub use page::{page_source, served_page, static_page};
pub use read::{ReadReply, ReadVariant};
pub use request::{PageQuestion, Refusal, RunRequest, ScenarioText};
pub use tunable::{Tunable, TunablePart, TunableUnit};

use std::io::Read;
use std::ops::ControlFlow;

/// Called with the part done and the total, in simulated seconds for a run and in packets for a fit; `Break`
/// cancels it.
pub type OnProgress<'a> = dyn FnMut(f64, f64) -> ControlFlow<()> + 'a;

/// Answers a question with pieces of bytes, of which the first is JSON. An error is reported there under
/// `refused`. `file` reads the capture, if the question is about one.
pub fn answer(question: &[u8], on_progress: &mut OnProgress<'_>, file: Box<dyn Read + Send>) -> Vec<Vec<u8>> {
    let done = match serde_json::from_slice::<PageQuestion>(question) {
        Ok(PageQuestion::Read(text)) => read::read(&text).map(|reply| vec![json(&reply)]),
        Ok(PageQuestion::Toml(text)) => read::toml(&text).map(|toml| vec![json(&toml)]),
        Ok(PageQuestion::Run(run)) => run::run(&run, on_progress),
        Ok(PageQuestion::Diagnose(capture)) => diagnose::diagnose(&capture.file, file),
        Ok(PageQuestion::Fit(capture)) => fit_capture::fit_capture(&capture, on_progress, file),
        Err(e) => Err(Refusal::plain(format!("invalid question: {e}"))),
    };
    done.unwrap_or_else(|refused| vec![json(&refused)])
}

/// Returns an answer that reports an error.
pub fn refused(message: &str) -> Vec<Vec<u8>> {
    vec![json(&Refusal::plain(message.into()))]
}

/// Joins an answer's pieces to one byte string: their number and their lengths, each a little-endian `u32`,
/// then the pieces.
pub fn framed(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(4 + pieces.iter().map(|p| 4 + p.len()).sum::<usize>());
    framed.extend((pieces.len() as u32).to_le_bytes());
    pieces.iter().for_each(|p| framed.extend((p.len() as u32).to_le_bytes()));
    pieces.iter().for_each(|p| framed.extend(p));
    framed
}

/// Serialises plain data, which cannot fail.
fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
