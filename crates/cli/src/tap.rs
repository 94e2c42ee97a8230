//! Packets as captures, one file for each host.

#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::output::file_name;
use capture::{Frame, Payload, PcapWriter, TcpFlags, TcpFrame, TcpOptions, UdpFrame};
use path::Packet;
use scenario::Scenario;
use sim::{Passage, Tap};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::net::Ipv4Addr;
use std::path::Path;
use transport::Segment;
use units::Time;

/// The window scale that captures show; Linux announces it for receive buffers of up to 8 MiB.
const WINDOW_SCALE: u8 = 7;
/// Port of the side that answers; the side that opens has [`CLIENT_PORT`] and a number on top.
const SERVER_PORT: u16 = 5201;
const CLIENT_PORT: u16 = 40_000;

/// Writes what each host sends and receives to `<host>.pcap`.
///
/// Host number n is 10.0.0.0 + n + 1. Sequence numbers are relative: a SYN has 0, the first byte
/// of data 1. The hosts' clocks agree.
/// Asked for stages, also what left each, as `<link>.forward.<stage>.pcap`.
pub struct PcapTap {
    /// Empty where they are not wanted.
    stages: BTreeMap<String, PcapWriter<BufWriter<File>>>,
    files: Vec<PcapWriter<BufWriter<File>>>,
    /// The SYN's maximum segment size, for each host.
    mss: Vec<u16>,
    failed: Option<io::Error>,
}

impl PcapTap {
    /// Creates `folder` and in it a file for each host.
    pub fn create(folder: &Path, scenario: &Scenario, stages: bool) -> io::Result<PcapTap> {
        fs::create_dir_all(folder)?;
        let file = |name: &str| PcapWriter::new(BufWriter::new(create(folder, name)?));
        let names = if stages { stage_names(scenario) } else { Vec::new() };
        let stages = names.into_iter().map(|name| file(&name).map(|f| (name, f)));
        Ok(PcapTap {
            stages: stages.collect::<io::Result<_>>()?,
            files: scenario.hosts.iter().map(|h| file(&h.name)).collect::<io::Result<_>>()?,
            mss: scenario.hosts.iter().map(|h| h.stack.mss.map_or(1460, |n| n.min(65_495) as u16)).collect(),
            failed: None,
        })
    }

    /// Writes what is buffered; the first error of all that happened.
    pub fn finish(self) -> io::Result<()> {
        match self.failed {
            Some(e) => Err(e),
            None => {
                let stages = self.stages.into_values();
                self.files.into_iter().chain(stages).try_for_each(|f| f.finish().map(drop))
            }
        }
    }

    fn frame(&self, now: Time, packet: &Packet<Segment>, from: usize, to: usize) -> Frame {
        let segment = &packet.body;
        // The simulator numbers ends of connections: even ones open, the next odd one answers.
        // Datagram flows have a number each, and no flags.
        let udp = segment.flags == transport::Flags::default();
        let (connection, opens) =
            if udp { (packet.flow, true) } else { (packet.flow / 2, packet.flow.is_multiple_of(2)) };
        let client = CLIENT_PORT.wrapping_add(connection as u16);
        let (sport, dport) = if opens { (client, SERVER_PORT) } else { (SERVER_PORT, client) };
        let payload = if udp {
            Payload::Udp(UdpFrame { sport, dport, payload_len: segment.len })
        } else {
            Payload::Tcp(tcp(segment, sport, dport, self.mss.get(from).copied().unwrap_or(1460)))
        };
        Frame {
            time: now,
            src: address(from),
            dst: address(to),
            id: packet.id as u16,
            dscp: packet.dscp,
            ecn: packet.ecn as u8,
            ttl: 64,
            payload,
        }
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
        // Later fragments hold no TCP header.
        if self.failed.is_some() || packet.fragment.is_some_and(|f| f.index > 0) {
            return;
        }
        let frame = self.frame(now, packet, from, to);
        let Some(file) = self.files.get_mut(host) else { return };
        self.failed = file.write(&frame).err();
    }

    fn watches_stages(&self) -> bool {
        !self.stages.is_empty()
    }

    fn stage(&mut self, p: Passage<'_>) {
        if self.failed.is_some() || p.packet.fragment.is_some_and(|f| f.index > 0) {
            return;
        }
        let frame = self.frame(p.now, p.packet, p.from, p.to);
        let Some(file) = self.stages.get_mut(p.stage) else { return };
        self.failed = file.write(&frame).err();
    }
}

/// All stages, named as the result's elements and in their order.
fn stage_names(scenario: &Scenario) -> Vec<String> {
    let mut names = Vec::new();
    for link in &scenario.links {
        for (direction, stages) in [("forward", &link.forward), ("backward", &link.backward)] {
            names.extend(stages.iter().map(|s| format!("{}.{direction}.{}", link.name, s.name)));
        }
    }
    names
}

fn create(folder: &Path, name: &str) -> io::Result<File> {
    File::create(folder.join(file_name(name) + ".pcap"))
}

/// The same files for a run on the kernel.
pub fn captures(folder: &Path, scenario: &Scenario, stages: bool) -> io::Result<lab::Captures> {
    fs::create_dir_all(folder)?;
    let files = |names: Vec<String>| -> io::Result<Vec<File>> {
        names.iter().map(|name| create(folder, name)).collect()
    };
    Ok(lab::Captures {
        hosts: files(scenario.hosts.iter().map(|h| h.name.clone()).collect())?,
        stages: files(if stages { stage_names(scenario) } else { Vec::new() })?,
    })
}

fn address(host: usize) -> Ipv4Addr {
    Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + host as u32)
}

/// Stream offsets become sequence numbers modulo 2^32, one up for the SYN (RFC 9293 section 3.4).
fn tcp(segment: &Segment, sport: u16, dport: u16, mss: u16) -> TcpFrame {
    let syn = segment.flags.has(transport::Flags::SYN);
    let ack = segment.flags.has(transport::Flags::ACK);
    let number = |offset: u64| (offset as u32).wrapping_add(1);
    let timestamps = (segment.ts_val != 0).then_some((segment.ts_val, segment.ts_ecr));
    let sack = segment.sack_ranges().map(|(start, end)| (number(start), number(end))).collect();
    let mut options = TcpOptions { timestamps, sack, ..Default::default() };
    if syn {
        options = TcpOptions { mss: Some(mss), wscale: Some(WINDOW_SCALE), sack_ok: true, ..options };
    }
    // RFC 7323 section 2.2: a SYN's window is not scaled.
    let window = if syn { segment.window } else { segment.window >> WINDOW_SCALE };
    TcpFrame {
        sport,
        dport,
        seq: if syn { 0 } else { number(segment.seq) },
        ack: if ack { number(segment.ack) } else { 0 },
        flags: TcpFlags(segment.flags.0),
        window: window.min(65_535) as u16,
        options,
        payload_len: segment.len,
    }
}
