//! Captures of runs as pcap files, one for each host.

use crate::names::file_name;
use crate::regular::NewFile;
use capture::PcapWriter;
use experiment::{CaptureSink, CaptureTap, Captured};
use path::Packet;
use scenario::Scenario;
use sim::wire::Encoder;
use sim::{Passage, SizeRefusal, Tap};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use transport::Segment;
use units::Time;

/// A folder that holds a folder of captures for each run.
pub struct Folders<'a> {
    /// The folder that holds all captures.
    pub folder: &'a Path,
    /// Whether to capture what leaves each stage, too.
    pub stages: bool,
    /// Files of a run on the kernel that are not complete yet.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))] // what only the lab fills
    incomplete: Mutex<Vec<NewFile>>,
}

impl<'a> Folders<'a> {
    /// Captures into folders below `folder`.
    pub fn new(folder: &'a Path, stages: bool) -> Folders<'a> {
        Folders { folder, stages, incomplete: Mutex::default() }
    }

    /// Returns the folder of the run with this label.
    pub fn of(&self, label: &str) -> PathBuf {
        self.folder.join(file_name(label))
    }
}

impl CaptureSink for Folders<'_> {
    fn simulated(&self, run: &Captured<'_>) -> io::Result<Option<Box<dyn CaptureTap + '_>>> {
        let tap = PcapTap::create(&self.of(run.label), &run.variant.scenario, self.stages)?;
        Ok(Some(Box::new(tap)))
    }

    #[cfg(target_os = "linux")]
    fn on_kernel(&self, run: &Captured<'_>) -> io::Result<Option<lab::Captures>> {
        let files = captures(&self.of(run.label), &run.variant.scenario, self.stages)?;
        let open = |files: &[NewFile]| files.iter().map(NewFile::file).collect::<io::Result<_>>();
        let captures = lab::Captures { hosts: open(&files.0)?, stages: open(&files.1)? };
        // Dropping the previous files removes what an aborted run left incomplete.
        *self.incomplete.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            files.0.into_iter().chain(files.1).collect();
        Ok(Some(captures))
    }

    #[cfg(target_os = "linux")]
    fn finished_on_kernel(&self) -> io::Result<()> {
        let files =
            std::mem::take(&mut *self.incomplete.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        files.into_iter().try_for_each(NewFile::commit)
    }
}

/// Writes what each host sends and receives to `<host>.pcap`; if stages are captured, also what leaves each
/// stage, to `<link>.forward.<stage>.pcap`.
///
/// `sim::wire` encodes the packets. All hosts have the same clock.
struct PcapTap {
    /// Files of the stages; empty if stages are not captured.
    stages: BTreeMap<String, PcapWriter<NewFile>>,
    files: Vec<PcapWriter<NewFile>>,
    encoder: Encoder,
    failed: Option<io::Error>,
}

impl PcapTap {
    /// Creates `folder` and a file in it for each host.
    fn create(folder: &Path, scenario: &Scenario, stages: bool) -> io::Result<PcapTap> {
        fs::create_dir_all(folder)?;
        let file = |name: &str| PcapWriter::new(create(folder, name)?);
        let names = if stages { stage_names(scenario) } else { Vec::new() };
        let stages = names.into_iter().map(|name| file(&name).map(|f| (name, f)));
        Ok(PcapTap {
            stages: stages.collect::<io::Result<_>>()?,
            files: scenario.hosts.iter().map(|h| file(&h.name)).collect::<io::Result<_>>()?,
            encoder: Encoder::new(scenario),
            failed: None,
        })
    }
}

impl Tap for PcapTap {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        _outgoing: bool,
        packet: &Packet<Segment>,
        from: usize,
        to: usize,
    ) {
        let file = self.files.get_mut(host).filter(|_| self.failed.is_none());
        if let Some((file, frame)) = file.zip(self.encoder.frame(now, packet, from, to)) {
            self.failed = file.write(&frame).err();
        }
    }

    fn too_big(&mut self, now: Time, host: usize, r: &SizeRefusal<'_>) {
        let file = self.files.get_mut(host).filter(|_| self.failed.is_none());
        let frame = self.encoder.too_big(now, r.packet, (r.router, r.mtu), r.from, r.to);
        if let Some((file, frame)) = file.zip(frame) {
            self.failed = file.write(&frame).err();
        }
    }

    fn watches_stages(&self) -> bool {
        !self.stages.is_empty()
    }

    fn stage(&mut self, p: Passage<'_>) {
        let file = self.stages.get_mut(p.stage).filter(|_| self.failed.is_none());
        if let Some((file, frame)) = file.zip(self.encoder.frame(p.now, p.packet, p.from, p.to)) {
            self.failed = file.write(&frame).err();
        }
    }
}

impl CaptureTap for PcapTap {
    fn finish(self: Box<Self>) -> io::Result<()> {
        match self.failed {
            Some(e) => Err(e),
            None => {
                let stages = self.stages.into_values();
                self.files.into_iter().chain(stages).try_for_each(|f| f.finish().and_then(NewFile::commit))
            }
        }
    }
}

/// Returns the names of all stages as results spell them, in the scenario's order.
fn stage_names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for link in &scenario.links {
        for (direction, stages) in [("forward", &link.forward), ("backward", &link.backward)] {
            names.extend(stages.iter().map(|s| format!("{}.{direction}.{}", link.name, s.name)));
        }
    }
    names
}

/// Creates a capture file. An existing file is kept until the new one is complete.
fn create(folder: &Path, name: &str) -> io::Result<NewFile> {
    NewFile::create(&folder.join(file_name(name) + ".pcap"))
}

/// Creates the files for a run on the kernel: those of the hosts, and those of the stages.
#[cfg(target_os = "linux")]
fn captures(folder: &Path, scenario: &Scenario, stages: bool) -> io::Result<(Vec<NewFile>, Vec<NewFile>)> {
    fs::create_dir_all(folder)?;
    let files = |names: Vec<String>| -> io::Result<Vec<NewFile>> {
        names.iter().map(|name| create(folder, name)).collect()
    };
    let hosts = files(scenario.hosts.iter().map(|h| h.name.clone()).collect())?;
    Ok((hosts, files(if stages { stage_names(scenario) } else { Vec::new() })?))
}
