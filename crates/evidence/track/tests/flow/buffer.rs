//! A sender whose send buffer is small, filled as Linux does: in bursts, the next one as soon as ACKs have
//! made room.

use capture::{Addr, Endpoint, PacketOptions, TcpFlags, TcpPacket};
use track::{Track, Tracker, TrackerOptions};
use units::{Span, Time};

const MSS: u32 = 1460;
const BURST: u32 = 40;

pub fn end(host: u8, port: u16) -> Endpoint {
    Endpoint { addr: Addr::v4([10, 0, 0, host]), port }
}

/// Returns a packet without options at `us` microseconds.
pub fn packet(
    us: u64,
    [src, dst]: [Endpoint; 2],
    [seq, ack]: [u32; 2],
    flags: u8,
    window: u16,
    len: u32,
) -> TcpPacket {
    let time = Time::from_nanos(us * 1000);
    TcpPacket {
        time,
        src,
        dst,
        seq,
        ack,
        flags: TcpFlags(flags),
        window,
        len,
        header: 40,
        ..TcpPacket::default()
    }
}

/// At the sender: bursts of 40 segments, the last with `tail` bytes; from 20 ms on an ACK for every two
/// segments, 0.7 ms apart; the next burst follows `pause` after the last ACK.
fn bursts(pause: u64, tail: u32, window: u16) -> Track {
    let (a, b) = (end(1, 40_000), end(2, 5201));
    let mut tracker = Tracker::new(TrackerOptions::default());
    let mut packet = |us: u64, from_a: bool, seq: u32, ack: u32, flags: u8, len: u32| {
        let ends = if from_a { [a, b] } else { [b, a] };
        let options = match flags & TcpFlags::SYN.0 {
            0 => PacketOptions::default(),
            _ => {
                PacketOptions { mss: Some(1460), wscale: Some(0), sack_ok: true, ..PacketOptions::default() }
            }
        };
        tracker.packet(&TcpPacket { options, ..self::packet(us, ends, [seq, ack], flags, window, len) });
    };
    let (syn, ack, psh) = (TcpFlags::SYN.0, TcpFlags::ACK.0, TcpFlags::PSH.0);
    packet(0, true, 0, 0, syn, 0);
    packet(10_000, false, 0, 1, syn | ack, 0);
    packet(10_010, true, 1, 1, ack, 0);
    let (mut now, mut seq) = (11_000, 1);
    for _ in 0..50 {
        let first = seq;
        for i in 0..BURST {
            let len = if i + 1 == BURST { tail } else { MSS };
            packet(now + i as u64, true, seq, 1, if len < MSS { ack | psh } else { ack }, len);
            seq += len;
        }
        for i in 1..=BURST / 2 {
            now += if i == 1 { 20_000 } else { 700 };
            packet(now, false, 1, seq.min(first + 2 * i * MSS), ack, 0);
        }
        now += pause;
    }
    let mut tracks: Vec<Track> = Vec::new();
    tracker.finish(&mut tracks);
    tracks.into_iter().max_by_key(|t| t.counts.payload_bytes).expect("a track")
}

#[test]
fn bursts_released_by_acks_are_limited_by_the_send_buffer() {
    for tail in [MSS, 700] {
        let c = bursts(60, tail, 65_535).counts;
        assert!(c.app_limited > Span::from_secs(1), "{:?} of 1.7 s", c.app_limited);
        assert!(c.app_limited_until_ack * 10 > c.app_limited * 9, "{c:?}");
        // A burst at a time of its own comes from the application.
        let c = bursts(400, tail, 65_535).counts;
        assert_eq!(c.app_limited_until_ack, Span::ZERO, "{c:?}");
    }
}

#[test]
fn a_small_segment_between_two_writes_is_not_application_limited() {
    let (a, b) = (end(1, 80), end(2, 40_000));
    let (ack, psh) = (TcpFlags::ACK.0, TcpFlags::PSH.0);
    // Ten segments, the fifth small with PSH, the sixth `after` it; then nothing.
    let ends = |after: u64, sixth: u32| {
        let mut tracker = Tracker::new(TrackerOptions::default());
        let mut seq = 1;
        for i in 0..10 {
            let len = [MSS, 700, sixth][usize::from(i == 4) + 2 * usize::from(i == 5)];
            let flags = if len < MSS { ack | psh } else { ack };
            let us = 20 * i + if i > 4 { after } else { 0 };
            tracker.packet(&packet(us, [a, b], [seq, 1], flags, 65_535, len));
            seq += len;
        }
        let mut tracks: Vec<Track> = Vec::new();
        tracker.finish(&mut tracks);
        let track = tracks.into_iter().max_by_key(|t| t.counts.payload_bytes).expect("a track");
        assert_eq!(track.counts.short, track.bins.iter().map(|b| u64::from(b.short)).sum::<u64>());
        track.counts.short
    };
    assert_eq!(ends(20, MSS), 0, "a header and its body");
    assert_eq!(ends(100_000, MSS), 1, "the application paused");
    assert_eq!(ends(20, 300), 1, "a small write after a small one");
}

#[test]
fn a_small_segment_that_fills_the_window_is_not_application_limited() {
    let all = (BURST - 1) * MSS + 700;
    assert_eq!(bursts(60, 700, 65_535).counts.short, 50);
    // The window of the first burst is unknown: what a SYN announces is not scaled.
    assert_eq!(bursts(60, 700, all as u16).counts.short, 1);
}
