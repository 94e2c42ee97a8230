//! What passes, as pcap files. The engine notes packets in memory; a thread of its own writes them,
//! so that a slow disk delays no packet.

use capture::PcapWriter;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};
use units::Time;

/// Notes of one file handed over at once.
const CHUNK: usize = 64 << 10;

/// Files to be written: headers of IP packets, times since the run's begin.
#[derive(Debug)]
pub struct Captures {
    /// One for each host of the scenario: what it sent and received. What it only handed on is shown
    /// as it arrived. Super-packets are shown as the packets that a wire carries.
    pub hosts: Vec<File>,
    /// One for each stage, in the order of the result's elements: what left it, and when. May be empty.
    pub stages: Vec<File>,
}

/// The engine's end.
pub struct Recorder {
    notes: Vec<PcapWriter<Vec<u8>>>,
    hosts: usize,
    out: Sender<(usize, Vec<u8>)>,
}

/// The writer's end.
pub struct Writer {
    files: Vec<File>,
    notes: Receiver<(usize, Vec<u8>)>,
}

/// Both ends.
pub fn open(captures: Captures) -> io::Result<(Recorder, Writer)> {
    let (out, notes) = channel();
    let hosts = captures.hosts.len();
    let files: Vec<File> = captures.hosts.into_iter().chain(captures.stages).collect();
    let begun = files.iter().map(|_| PcapWriter::new(Vec::new())).collect::<io::Result<_>>()?;
    Ok((Recorder { notes: begun, hosts, out }, Writer { files, notes }))
}

impl Recorder {
    /// A packet at a host.
    pub fn host(&mut self, now: Time, host: usize, ip: &[u8]) {
        self.note(host, now, ip);
    }

    /// A packet that left a stage.
    pub fn stage(&mut self, now: Time, element: usize, ip: &[u8]) {
        self.note(self.hosts + element, now, ip);
    }

    /// Whether stages are wanted.
    pub fn watches_stages(&self) -> bool {
        self.notes.len() > self.hosts
    }

    fn note(&mut self, file: usize, now: Time, ip: &[u8]) {
        let Some(notes) = self.notes.get_mut(file) else { return };
        // Memory does not fail.
        let _ = notes.write_packet(now, ip);
        if notes.get().len() >= CHUNK {
            self.hand_over(file);
        }
    }

    fn hand_over(&mut self, file: usize) {
        let full = mem::replace(&mut self.notes[file], PcapWriter::resume(Vec::with_capacity(CHUNK + 4096)));
        // The writer stops at its first error, which it tells when joined.
        let _ = full.finish().map(|bytes| self.out.send((file, bytes)));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        (0..self.notes.len()).for_each(|file| self.hand_over(file));
    }
}

impl Writer {
    /// Writes until the engine's end is gone.
    pub fn run(mut self) -> io::Result<()> {
        while let Ok((file, bytes)) = self.notes.recv() {
            self.files[file].write_all(&bytes)?;
        }
        Ok(())
    }
}
