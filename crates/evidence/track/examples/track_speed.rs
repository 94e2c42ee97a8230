//! Measures the tracker's speed: nanoseconds per packet, with one long flow and with five thousand at once.
//!
//! `cargo run --release -p longfat-track --example track_speed`

use capture::{Addr, Endpoint, PacketOptions, TcpFlags, TcpPacket};
use std::time::Instant;
use track::{Tracker, TrackerOptions};
use units::{Span, Time};

const MSS: u32 = 1448;

/// An endless connection: every second segment is acknowledged, every hundredth is lost.
struct Flow {
    packet: TcpPacket,
    sent: u32,
    acked: u32,
    window: u32,
    lost: Option<u32>,
    /// The retransmission arrives after this many segments.
    mended: u32,
}

impl Flow {
    fn new(number: u32, window: u32, time: Time) -> Flow {
        let end = |host: u32, port| Endpoint { addr: Addr::v4((0x0a00_0000 + host).to_be_bytes()), port };
        let options = PacketOptions { timestamps: Some((1, 1)), ..PacketOptions::default() };
        let (src, dst) = (end(number + 2, 40_000), end(1, 443));
        let packet = TcpPacket {
            time,
            src,
            dst,
            header: 52,
            flags: TcpFlags::ACK,
            window: 60_000,
            options,
            ..TcpPacket::default()
        };
        Flow { packet, sent: 0, acked: 0, window, lost: None, mended: 0 }
    }

    fn data(&self, segment: u32, time: Time) -> TcpPacket {
        let mut p = self.packet;
        (p.time, p.seq, p.len, p.id) = (time, segment.wrapping_mul(MSS), MSS, segment as u16);
        let ms = (time.as_micros() / 1000) as u32;
        p.options.timestamps = Some((ms, ms));
        p
    }

    /// Appends the next three packets: two of data, one ACK.
    fn step(&mut self, time: Time, out: &mut Vec<TcpPacket>) {
        for _ in 0..2 {
            match self.lost {
                Some(lost) if self.mended == 0 && self.sent > lost + self.window + 3 => {
                    out.push(self.data(lost, time));
                    self.mended = self.sent + self.window;
                }
                _ => {
                    out.push(self.data(self.sent, time));
                    if self.sent % 100 == 99 && self.lost.is_none() {
                        self.lost = Some(self.sent);
                    }
                    self.sent += 1;
                }
            }
        }
        if self.mended > 0 && self.sent > self.mended {
            (self.lost, self.mended) = (None, 0);
        }
        let highest = self.sent.saturating_sub(self.window);
        self.acked = self.lost.map_or(highest, |lost| lost.min(highest));
        let mut p = self.packet;
        (p.src, p.dst) = (self.packet.dst, self.packet.src);
        (p.time, p.ack) = (time, self.acked.wrapping_mul(MSS));
        p.id = self.sent as u16;
        let ms = (time.as_micros() / 1000) as u32;
        p.options.timestamps = Some((ms, ms));
        if highest > self.acked + 1 {
            p.options.sack[0] = ((self.acked + 1).wrapping_mul(MSS), highest.wrapping_mul(MSS));
            p.options.sacks = 1;
        }
        out.push(p);
    }
}

/// Processor time of this thread, nanoseconds (Linux); other threads may use the processor meanwhile.
fn on_cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

fn measure(name: &str, flows: u32, window: u32, packets: usize) {
    let mut time = Time::from_nanos(1_700_000_000_000_000_000);
    let mut all: Vec<Flow> = (0..flows).map(|n| Flow::new(n, window, time)).collect();
    let mut tracker = Tracker::new(TrackerOptions::default());
    let (mut batch, mut spent, mut done, mut turn) = (Vec::new(), 0u64, 0, 0u32);
    while done < packets {
        batch.clear();
        while batch.len() < 4096 {
            turn = turn.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let n = (turn >> 8) as usize % all.len();
            time += Span::from_nanos(24_000);
            all[n].step(time, &mut batch);
        }
        let begun = on_cpu();
        tracker.packets(&batch);
        spent += on_cpu() - begun;
        done += batch.len();
    }
    let mut tracks = Vec::new();
    let begun = Instant::now();
    tracker.finish(&mut tracks);
    let (finish, lost) = (begun.elapsed(), tracks.iter().map(|t| t.counts.lost_down).sum::<u64>());
    let ns = spent as f64 / done as f64;
    println!(
        "{name}: {ns:.1} ns a packet, {done} packets, {} tracks, {lost} lost, end {finish:?}",
        tracks.len()
    );
}

fn main() {
    measure("one flow", 1, 200, 6_000_000);
    measure("5000 flows", 5000, 20, 6_000_000);
}
