//! Builds a TCP connection packet by packet as a capture shows it, writes it as pcap, and diagnoses that.

use capture::{Addr, CaptureReader, Endpoint, Frame, PacketOptions, PcapWriter, TcpFlags, TcpPacket};
use diagnosis::{capture_info, diagnose_tracks};
use result::{Diagnosis, FlowDiagnosis};
use std::io::Cursor;
use track::{TrackerOptions, track_capture};
use units::{Span, Time};

/// Indices of the two ends: the client opens the connection.
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
/// Ethernet's MSS with timestamps (RFC 7323 appendix A).
pub const MSS: u32 = 1448;
/// 2023-11-14, µs.
const TODAY: u64 = 1_700_000_000_000_000;

/// A TCP connection under construction. Times are µs since the capture began.
#[derive(Clone)]
pub struct Talk {
    pub packets: Vec<TcpPacket>,
    /// Sequence numbers that each end has used, including its SYN.
    pub sent: [u32; 2],
    /// Sequence numbers of the other end that each end acknowledges.
    pub acked: [u32; 2],
    /// The window field that each end announces.
    pub window: [u16; 2],
    pub timestamps: bool,
    pub start: u64,
    pub id: [u16; 2],
}

impl Default for Talk {
    fn default() -> Talk {
        Talk {
            packets: Vec::new(),
            sent: [0; 2],
            acked: [0; 2],
            window: [512; 2],
            timestamps: true,
            start: TODAY,
            id: [100, 40_000],
        }
    }
}

const ISN: [u32; 2] = [1_000_000, 77_000_000];

impl Talk {
    /// A handshake at time 0, captured at the client, that takes `rtt`; both ends offer a window scale of 7.
    pub fn opened(rtt: u64) -> Talk {
        let mut t = Talk::default();
        t.open(rtt, [Some(7), Some(7)], [1460; 2]);
        t
    }

    pub fn open(&mut self, rtt: u64, scale: [Option<u8>; 2], mss: [u16; 2]) {
        self.syn(0, CLIENT, scale[CLIENT], mss[CLIENT]);
        self.syn(rtt, SERVER, scale[SERVER], mss[SERVER]);
        self.ack(rtt + 20, CLIENT);
    }

    /// A SYN of the client or the SYN/ACK of the server; repeated calls retransmit it.
    pub fn syn(&mut self, at: u64, side: usize, scale: Option<u8>, mss: u16) {
        let mut p = self.packet(at, side);
        (p.seq, self.sent[side]) = (ISN[side], 1);
        p.flags = TcpFlags::SYN;
        self.acked[1 - side] = 0;
        if side == SERVER {
            p.flags = p.flags | TcpFlags::ACK;
            self.acked[SERVER] = 1;
            p.ack = ISN[CLIENT] + 1;
        }
        self.acked[1 - side] = 1;
        p.window = 64_240;
        p.options.mss = Some(mss);
        p.options.wscale = scale;
        p.options.sack_ok = true;
        self.packets.push(p);
    }

    /// Returns an empty packet as `side` would send it now, without adding it to the capture.
    pub fn packet(&mut self, at: u64, side: usize) -> TcpPacket {
        self.id[side] = self.id[side].wrapping_add(1);
        let end = |n: usize| Endpoint { addr: Addr::v4([10, 0, 0, 1 + n as u8]), port: [40_000, 80][n] };
        let clock = |at: u64| 5_000 + (at / 1000) as u32;
        TcpPacket {
            time: Time::ZERO + Span::from_micros(self.start + at),
            src: end(side),
            dst: end(1 - side),
            seq: ISN[side].wrapping_add(self.sent[side]),
            ack: ISN[1 - side].wrapping_add(self.acked[side]),
            flags: TcpFlags::ACK,
            window: self.window[side],
            id: self.id[side],
            ttl: 64,
            header: if self.timestamps { 52 } else { 40 },
            options: PacketOptions {
                timestamps: self.timestamps.then(|| (clock(at), clock(at))),
                ..PacketOptions::default()
            },
            ..TcpPacket::default()
        }
    }

    /// `side` sends its next `len` bytes, with PSH if `push`.
    pub fn data(&mut self, at: u64, side: usize, len: u32, push: bool) {
        let mut p = self.packet(at, side);
        p.len = len;
        if push {
            p.flags = p.flags | TcpFlags::PSH;
        }
        self.sent[side] += len;
        self.packets.push(p);
    }

    /// `side` retransmits `len` bytes from `back` bytes before its next sequence number.
    pub fn retransmit(&mut self, at: u64, side: usize, back: u32, len: u32) {
        let mut p = self.packet(at, side);
        p.seq = p.seq.wrapping_sub(back);
        p.len = len;
        self.packets.push(p);
    }

    /// `side` acknowledges everything that the other end has sent.
    pub fn ack(&mut self, at: u64, side: usize) {
        self.acked[side] = self.sent[1 - side];
        let p = self.packet(at, side);
        self.packets.push(p);
    }

    /// `side` acknowledges all but the last `less` bytes.
    pub fn ack_but(&mut self, at: u64, side: usize, less: u32) {
        self.acked[side] = self.sent[1 - side] - less;
        let p = self.packet(at, side);
        self.packets.push(p);
    }

    /// `side` acknowledges nothing new and announces `window`, unscaled.
    pub fn announce(&mut self, at: u64, side: usize, window: u16) {
        self.window[side] = window;
        let p = self.packet(at, side);
        self.packets.push(p);
    }

    /// The client sends `rounds` windows of `segments` full segments from `at` on, one window per `rtt`, and
    /// the server acknowledges every second segment. Returns when the next window could leave.
    pub fn windows(&mut self, at: u64, rounds: u64, segments: u64, rtt: u64) -> u64 {
        for round in 0..rounds {
            let at = at + round * rtt;
            for i in 0..segments {
                self.data(at + i * 20, CLIENT, MSS, false);
            }
            let sent = self.sent[CLIENT];
            for i in (1..segments).step_by(2) {
                self.ack_but(at + rtt - 100 + i * 20, SERVER, (segments - 1 - i) as u32 * MSS);
            }
            if segments % 2 == 1 {
                self.ack(at + rtt - 100 + segments * 20, SERVER);
            }
            assert_eq!(sent, self.acked[SERVER]);
        }
        at + rounds * rtt
    }

    /// Writes the packets that `keep` accepts as pcap.
    pub fn pcap(&self, keep: impl Fn(&TcpPacket) -> bool) -> Vec<u8> {
        let mut packets: Vec<&TcpPacket> = self.packets.iter().filter(|p| keep(p)).collect();
        packets.sort_by_key(|p| p.time);
        let mut file = PcapWriter::new(Vec::new()).expect("memory");
        packets.iter().for_each(|p| file.write(&Frame::of(p)).expect("memory"));
        file.finish().expect("memory")
    }

    /// Diagnoses the whole capture.
    pub fn diagnose(&self) -> Diagnosis {
        read(self.pcap(|_| true))
    }

    /// Diagnoses the client's flow.
    pub fn client(&self) -> FlowDiagnosis {
        client(&self.diagnose())
    }
}

/// Diagnoses a pcap.
pub fn read(file: Vec<u8>) -> Diagnosis {
    let reader = CaptureReader::from_reader(Box::new(Cursor::new(file)), "-").expect("a capture");
    let (tracks, file, totals) = track_capture(reader, TrackerOptions::default(), None, &mut |_, _| {});
    diagnose_tracks(tracks, capture_info(file, &totals))
}

/// Returns the client's flow of a diagnosis, and prints it.
pub fn client(d: &Diagnosis) -> FlowDiagnosis {
    let client = d.flows.iter().find(|f| f.from == "10.0.0.1:40000");
    let flow = client.expect("the client's flow").clone();
    println!(
        "{:?} {:.2} {:?}\n{:?}\n{:?}",
        flow.cause, flow.confidence, flow.causes, flow.measures, flow.notes
    );
    flow
}
