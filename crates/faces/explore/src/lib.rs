//! The web explorer's half in Rust: a page asks in JSON, [`answer`] does what it asks. `longfat explore` calls it natively; in
//! a page without a server (`longfat explore --write`) the same code is WebAssembly in a worker (`abi.rs`).
//!
//! * What is asked is a [`PageQuestion`]: a scenario's text, overrides as `--set` takes them, a variant; or a capture's name,
//!   whose bytes are then read piece by piece.
//! * An answer is some pieces of bytes: the first is JSON, behind a run's stand the page's data and the columns of its
//!   time series.
//! * Runs are those of `experiment`, data of the page those of `report`: the numbers are `longfat run`'s to the last bit.
//! * A coarse run is the beginning of the exact one, from the same seed: what it shows is true, only not all.
//! * Nothing is remembered between two requests: a worker that is ended loses nothing.

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

/// Called with how far a run is, seconds of its time and in all (of a fit: packets); `Break` ends it.
pub type Told<'a> = dyn FnMut(f64, f64) -> ControlFlow<()> + 'a;

/// Does what is asked: pieces of bytes, the first JSON. What is wrong is told there too, under `refused`. `file` gives the
/// bytes of a capture that is asked about.
pub fn answer(asked: &[u8], told: &mut Told<'_>, file: Box<dyn Read + Send>) -> Vec<Vec<u8>> {
    let done = match serde_json::from_slice::<PageQuestion>(asked) {
        Ok(PageQuestion::Read(text)) => read::read(&text).map(|reply| vec![json(&reply)]),
        Ok(PageQuestion::Toml(text)) => read::toml(&text).map(|toml| vec![json(&toml)]),
        Ok(PageQuestion::Run(run)) => run::run(&run, told),
        Ok(PageQuestion::Diagnose(capture)) => diagnose::diagnose(&capture.file, file),
        Ok(PageQuestion::Fit(capture)) => fit_capture::fit_capture(&capture, told, file),
        Err(e) => Err(Refusal::plain(format!("no request: {e}"))),
    };
    done.unwrap_or_else(|refused| vec![json(&refused)])
}

/// An answer that says why there is none.
pub fn refused(message: &str) -> Vec<Vec<u8>> {
    vec![json(&Refusal::plain(message.into()))]
}

/// An answer's pieces as one run of bytes, as the page reads them: a little-endian `u32`, how many pieces, one each for their
/// lengths, then the pieces.
pub fn framed(pieces: &[Vec<u8>]) -> Vec<u8> {
    let mut framed = Vec::with_capacity(4 + pieces.iter().map(|p| 4 + p.len()).sum::<usize>());
    framed.extend((pieces.len() as u32).to_le_bytes());
    pieces.iter().for_each(|p| framed.extend((p.len() as u32).to_le_bytes()));
    pieces.iter().for_each(|p| framed.extend(p));
    framed
}

/// Plain data: nothing in it can fail to serialise.
fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
