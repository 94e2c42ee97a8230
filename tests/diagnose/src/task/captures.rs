//! `captures KIND FILE [--quick]` writes a capture for measuring speed, as tcpdump would write it at the
//! sender of simulated transfers, with Ethernet headers. It prints the number of packets.
//!
//! | kind | content |
//! |---|---|
//! | `bulk` | four transfers through a policer, packets in full: 1.1 GB |
//! | `headers` | eight transfers through a queue, headers only: 10 million packets |
//! | `many` | 5000 connections of 200 kB, headers only |

use capture::{Frame, PcapWriter};
use scenario::Experiment;
use sim::wire::Encoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use transport::Segment;
use units::Time;

/// Ethernet (draft-ietf-opsawg-linktype), and the header that all packets have.
const LINKTYPE_ETHERNET: u32 = 1;
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
/// Snap length that keeps all headers (`tcpdump -s 100`).
const SNAPLEN: usize = 100;
const FILE_HEADER: usize = 24;

/// Writes the packets that host 0 sends and receives.
struct HostCapture {
    encoder: Encoder,
    file: BufWriter<File>,
    full: bool,
    packets: u64,
    failed: Option<io::Error>,
    /// Payload of varying bytes. Checksums are those of zeros, because readers ignore them by default.
    filling: Vec<u8>,
}

impl HostCapture {
    fn new(file: File, encoder: Encoder, full: bool) -> io::Result<HostCapture> {
        // The header of longfat's own captures with another snap length and link type.
        let mut head = PcapWriter::new(Vec::new())?.finish()?;
        head[16..20].copy_from_slice(&if full { 262_144u32 } else { SNAPLEN as u32 }.to_le_bytes());
        head[20..FILE_HEADER].copy_from_slice(&LINKTYPE_ETHERNET.to_le_bytes());
        let mut file = BufWriter::with_capacity(1 << 20, file);
        file.write_all(&head)?;
        let filling = (0..65_536u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        Ok(HostCapture { encoder, file, full, packets: 0, failed: None, filling })
    }

    fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let (headers, length) =
            frame.headers().map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?;
        let length = length as usize + ETHERNET.len();
        let kept = if self.full { length } else { length.min(SNAPLEN) };
        let ns = frame.time.as_nanos();
        let words = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, kept as u32, length as u32];
        for word in words {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.file.write_all(&ETHERNET)?;
        let rest = kept - ETHERNET.len();
        self.file.write_all(&headers[..headers.len().min(rest)])?;
        self.packets += 1;
        self.file.write_all(&self.filling[..rest.saturating_sub(headers.len())])
    }
}

impl sim::Tap for HostCapture {
    fn packet(
        &mut self,
        now: Time,
        host: usize,
        _outgoing: bool,
        p: &path::Packet<Segment>,
        from: usize,
        to: usize,
    ) {
        if host == 0 && self.failed.is_none() {
            let frame = self.encoder.frame(now, p, from, to);
            self.failed = frame.and_then(|frame| self.write(&frame).err());
        }
    }
}

/// Returns the scenario of a kind, a tenth of it if `quick`, and whether packets are kept in full.
fn scenario(kind: &str, quick: bool) -> Option<(String, bool)> {
    let part = if quick { 10 } else { 1 };
    let (seconds, limiter, flows) = match kind {
        "bulk" => (
            50 / part,
            r#"{ kind = "policer", rate = "200Mbit/s", burst = "1MB" }"#,
            "count = 4\nstagger = \"100ms\"".to_string(),
        ),
        "headers" => (
            96 / part,
            r#"{ kind = "link", rate = "1Gbit/s", queue = { kind = "fifo", packets = 2000 } }"#,
            "count = 8\nstagger = \"100ms\"".to_string(),
        ),
        "many" => (
            22,
            r#"{ kind = "link", rate = "500Mbit/s", queue = { kind = "fifo", packets = 1000 } }"#,
            format!(
                "count = {}\nstagger = \"4ms\"\napp = {{ kind = \"bulk\", bytes = \"200kB\" }}",
                5000 / part
            ),
        ),
        _ => return None,
    };
    let text = format!(
        r#"duration = "{seconds}s"
sample = "0s"
[hosts.a]
stack = {{ send_buffer = "64MB" }}
[hosts.b]
stack = {{ receive_buffer = "64MB" }}
[links.wan]
between = ["a", "b"]
forward = [{{ kind = "link", rate = "10Gbit/s", queue = {{ kind = "fifo", packets = 20000 }} }}, {limiter}, {{ kind = "delay", delay = "15ms" }}]
backward = [{{ kind = "delay", delay = "15ms" }}]
[flows.f]
from = "a"
to = "b"
{flows}
"#
    );
    Some((text, kind == "bulk"))
}

pub fn run(args: &[String]) -> Result<(), String> {
    let usage = "captures bulk|headers|many FILE [--quick]";
    let [kind, file, ..] = args else { return Err(usage.into()) };
    let (text, full) = scenario(kind, args.iter().any(|a| a == "--quick")).ok_or(usage)?;
    let experiment = Experiment::parse("capture.toml", &text, &[]).map_err(|e| e.to_string())?;
    let variant = experiment.variants.first().ok_or("no variant")?;
    let why = |e: io::Error| format!("{file}: {e}");
    let mut out = HostCapture::new(File::create(file).map_err(why)?, Encoder::new(&variant.scenario), full)
        .map_err(why)?;
    let options = sim::SimOptions { seed: 1, tap: Some(&mut out), ..Default::default() };
    sim::run(&variant.name, &variant.scenario, options);
    match out.failed {
        Some(e) => Err(why(e)),
        None => out.file.flush().map(|()| println!("{}", out.packets)).map_err(why),
    }
}
