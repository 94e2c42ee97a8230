//! Plays a case in the simulator.

use crate::watch::{Sink, Watch};
use crate::{Case, Truth, truth};
use capture::{Frame, PcapWriter, TcpPacket};
use scenario::{Experiment, Variant};
use std::io::{self, Write};

/// Writes a capture as pcap.
pub struct PcapSink<W: Write> {
    out: PcapWriter<W>,
    failed: Option<io::Error>,
}

impl<W: Write> PcapSink<W> {
    /// Writes the file's header.
    ///
    /// # Errors
    /// Fails as `out` does.
    pub fn new(out: W) -> io::Result<PcapSink<W>> {
        Ok(PcapSink { out: PcapWriter::new(out)?, failed: None })
    }

    /// Writes buffered packets.
    ///
    /// # Errors
    /// Returns the first error of all writes.
    pub fn finish(self) -> io::Result<()> {
        match self.failed {
            Some(e) => Err(e),
            None => self.out.finish().map(drop),
        }
    }
}

impl<W: Write> Sink for PcapSink<W> {
    fn packet(&mut self, packet: &TcpPacket) {
        if self.failed.is_none() {
            self.failed = self.out.write(&Frame::of(packet)).err();
        }
    }

    fn too_big(&mut self, message: &Frame) {
        if self.failed.is_none() {
            self.failed = self.out.write(message).err();
        }
    }
}

/// Plays a case and sends its capture to `sink`.
///
/// # Errors
/// Fails if the scenario does not parse.
pub fn play(case: &Case, sink: &mut dyn Sink) -> Result<Truth, String> {
    let variant = variant(case)?;
    let mut watch = Watch::new(case, &variant.scenario, sink);
    let options = sim::SimOptions { seed: case.seed, tap: Some(&mut watch), ..Default::default() };
    sim::run(&variant.name, &variant.scenario, options);
    watch.flush();
    Ok(truth::truth(case, &watch.observed))
}

/// Parses a case's scenario.
///
/// # Errors
/// Fails if it does not parse.
pub fn variant(case: &Case) -> Result<Variant, String> {
    first_variant(&case.text)
}

/// Parses the first variant of a scenario.
///
/// # Errors
/// Fails if it does not parse.
pub fn first_variant(text: &str) -> Result<Variant, String> {
    let experiment = Experiment::parse("case.toml", text, &[]).map_err(|e| format!("{e}\n{text}"))?;
    experiment.variants.into_iter().next().ok_or("no variant".into())
}
