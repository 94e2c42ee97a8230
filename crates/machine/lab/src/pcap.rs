//! Writes captured packets to pcap files. The engine records packets in memory; a separate thread writes
//! them, so that a slow disk delays no packet.

use capture::PcapWriter;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, channel};
use units::Time;

/// Bytes of one file that are handed to the writer at once.
const CHUNK: usize = 64 << 10;

/// The files to write. They contain IP headers with times since the start of the run.
#[derive(Debug)]
pub struct Captures {
    /// One per host of the scenario: the packets it sent and received. Forwarded packets are captured on
    /// arrival. Super-packets are shown as the packets that a wire carries.
    pub hosts: Vec<File>,
    /// One per stage, in the order of the result's elements: the packets that left it, and when. May be
    /// empty.
    pub stages: Vec<File>,
}

/// The recording side, in the engine.
pub struct Recorder {
    buffers: Vec<PcapWriter<Vec<u8>>>,
    hosts: usize,
    out: Sender<(usize, Vec<u8>)>,
}

/// The writing side.
pub struct Writer {
    files: Vec<File>,
    chunks: Receiver<(usize, Vec<u8>)>,
}

/// Creates both sides.
pub fn open(captures: Captures) -> io::Result<(Recorder, Writer)> {
    let (out, chunks) = channel();
    let hosts = captures.hosts.len();
    let files: Vec<File> = captures.hosts.into_iter().chain(captures.stages).collect();
    let buffers = files.iter().map(|_| PcapWriter::new(Vec::new())).collect::<io::Result<_>>()?;
    Ok((Recorder { buffers, hosts, out }, Writer { files, chunks }))
}

impl Recorder {
    /// Records a packet that a host sent or received.
    pub fn host(&mut self, now: Time, host: usize, ip: &[u8]) {
        self.record(host, now, ip);
    }

    /// Records a packet that left a stage.
    pub fn stage(&mut self, now: Time, element: usize, ip: &[u8]) {
        self.record(self.hosts + element, now, ip);
    }

    /// Whether packets are captured after each stage.
    pub fn watches_stages(&self) -> bool {
        self.buffers.len() > self.hosts
    }

    fn record(&mut self, file: usize, now: Time, ip: &[u8]) {
        let Some(buffers) = self.buffers.get_mut(file) else { return };
        // Writing to memory cannot fail.
        let _ = buffers.write_packet(now, ip);
        if buffers.get().len() >= CHUNK {
            self.hand_over(file);
        }
    }

    fn hand_over(&mut self, file: usize) {
        let full =
            mem::replace(&mut self.buffers[file], PcapWriter::resume(Vec::with_capacity(CHUNK + 4096)));
        // The writer stops at its first error and returns it when joined.
        let _ = full.finish().map(|bytes| self.out.send((file, bytes)));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        (0..self.buffers.len()).for_each(|file| self.hand_over(file));
    }
}

impl Writer {
    /// Writes until the recording side is dropped.
    pub fn run(mut self) -> io::Result<()> {
        while let Ok((file, bytes)) = self.chunks.recv() {
            self.files[file].write_all(&bytes)?;
        }
        Ok(())
    }
}
