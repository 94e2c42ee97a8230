//! Any bytes, interpreted as packets of a few connections with few sequence numbers: the tracker does not panic, its numbers
//! are consistent, its memory is bounded, and the diagnosis of its tracks has values within their ranges.
#![no_main]

use capture::{Addr, Endpoint, IcmpReport, IcmpSays, TcpFlags, PacketOptions, TcpPacket, Unreachable};
use result::Diagnosis;
use result::diagnosis::CaptureInfo;
use track::{Bin, PacketFate, PacketRecorder, PacketRow, PauseKind, Track, Tracker, TrackerOptions};
use units::{Span, Time};

/// Bytes of input for one packet.
const PACKET_BYTES: usize = 12;

struct Rows;

impl PacketRecorder for Rows {
    fn row(&mut self, row: &PacketRow) {
        assert!(row.seq < 1 << 40 && row.ack < 1 << 40);
    }
}

fn endpoint(n: u8) -> Endpoint {
    Endpoint { addr: Addr::v4([10, 0, 0, n & 1]), port: 1000 + (n >> 1 & 3) as u16 }
}

/// A sequence number near one of a few values, one of them where the numbers wrap around.
fn sequence_number(b: u8) -> u32 {
    let base = [0u32, 1000, u32::MAX - 2000, 1 << 31][(b >> 6) as usize];
    base.wrapping_add((b & 63) as u32 * 100)
}

fn packet(b: &[u8], time: &mut u64) -> TcpPacket {
    let steps = [0u64, 50_000, 1_000_000, 3_000_000, 10_000_000, 250_000_000, 1_500_000_000, 50_000_000_000];
    *time = match b[0] >> 5 {
        7 if b[0] & 31 == 31 => u64::MAX - 5,
        7 if b[0] & 31 == 30 => time.saturating_sub(5_000_000_000),
        n => time.saturating_add(steps[n as usize] * (1 + (b[0] & 3) as u64)),
    };
    let reverse = b[1] & 128 != 0;
    let (src, dst) = match reverse {
        false => (endpoint(b[1] & 6), endpoint(1)),
        true => (endpoint(1), endpoint(b[1] & 6)),
    };
    let flags = match b[1] >> 3 & 15 {
        0 => TcpFlags::SYN,
        1 => TcpFlags::SYN | TcpFlags::ACK,
        2 => TcpFlags::FIN | TcpFlags::ACK,
        3 => TcpFlags::RST,
        4 => TcpFlags(b[11]),
        5 => TcpFlags::ACK | TcpFlags::PSH,
        _ => TcpFlags::ACK,
    };
    let len = [0u32, 1, 100, 100, 200, 1448, 2896, 65_535, 0, 100, 100, 1000, 4 << 20, 100, 0, u32::MAX >> 4];
    let mut options = PacketOptions::default();
    if b[5] & 1 != 0 {
        options.timestamps = Some((b[6] as u32, b[7] as u32));
    }
    if flags.has(TcpFlags::SYN) {
        options.mss = (b[5] & 2 != 0).then_some([1460, 0, 100, 9000][(b[5] >> 3 & 3) as usize]);
        options.wscale = (b[5] & 4 != 0).then_some(b[8]);
        options.sack_ok = b[5] & 32 != 0;
        options.cut = b[5] & 64 != 0;
    } else {
        options.sacks = b[5] >> 1 & 3;
        let blocks = [(b[8], b[9]), (b[9], b[10]), (b[10], b[8]), (b[3], b[8])];
        for (to, (x, y)) in options.sack.iter_mut().zip(blocks) {
            *to = (sequence_number(x), sequence_number(y));
        }
    }
    TcpPacket {
        time: Time::from_nanos(*time),
        src,
        dst,
        seq: sequence_number(b[2]),
        ack: sequence_number(b[3]),
        flags,
        window: [0, 1, 100, 65_535][(b[4] >> 6) as usize],
        len: len[(b[4] & 15) as usize],
        header: [40, 52, 60, u16::MAX][(b[4] >> 4 & 3) as usize],
        outside: 14,
        id: b[11] as u16,
        ttl: 64,
        ecn: b[11] & 3,
        options,
        ..TcpPacket::default()
    }
}

fn check(t: &Track) {
    let c = &t.counts;
    assert!(c.retransmitted_packets <= c.data_packets, "{c:?}");
    assert!(c.fast + c.rto + c.tlp == c.retransmitted_packets, "{c:?}");
    assert!(c.retransmitted_bytes <= c.payload_bytes && c.unique_bytes <= c.payload_bytes, "{c:?}");
    assert!(c.timeouts <= c.rto && c.data_packets <= c.packets, "{c:?}");
    assert!(c.dsacks <= c.sacks, "{c:?}");
    assert!(t.bins.is_sorted_by(|a, b| a.index < b.index));
    assert!(t.bins.len() <= 2048 && t.log.len() <= 65_536 && t.waits.len() <= track::MAX_WAITS);
    let width = t.bin.as_micros();
    let kinds = [PauseKind::Idle, PauseKind::WindowFull, PauseKind::Timeout, PauseKind::Silence];
    let paused = |b: &Bin| kinds.iter().map(|kind| b.paused(*kind).as_micros()).sum::<u64>();
    for b in &t.bins {
        assert!(paused(b) <= width, "{b:?} {width}");
        assert_eq!(b.rtts.least.is_known(), b.rtts.count > 0, "{b:?}");
        assert!(b.rtts.least.get() <= b.rtts.greatest.get(), "{b:?}");
    }
    assert!(t.log.is_sorted_by(|a, b| a.time <= b.time));
    let lost: u64 = t.bins.iter().map(|b| b.lost as u64).sum();
    let logged: u64 =
        t.log.iter().filter(|s| s.fate != PacketFate::Passed).map(|s| s.segments as u64).sum();
    assert_eq!(lost, c.lost_up + c.lost_down);
    assert_eq!(lost, logged);
    assert!(t.first <= t.last && t.waits.iter().all(|w| w.from <= w.to));
}

fn check_diagnosis(diagnosis: &Diagnosis) {
    for f in &diagnosis.flows {
        assert!((0.0..=1.0).contains(&f.confidence) && f.measures.goodput_mbps >= 0.0, "{f:?}");
        assert!(f.causes.iter().all(|c| (0.0..=1.0 + 1e-9).contains(&c.share)), "{f:?}");
        assert!(f.causes.is_sorted_by(|a, b| a.share >= b.share), "{f:?}");
        assert!(f.limiter.is_none_or(|l| l < diagnosis.limiters.len()), "{f:?}");
    }
    for l in &diagnosis.limiters {
        assert!((0.0..=1.0).contains(&l.confidence), "{l:?}");
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&head, bytes)) = bytes.split_first() else { return };
    let small = head & 1 != 0;
    let options = TrackerOptions {
        idle: Span::from_secs(if head & 2 != 0 { 1 } else { 120 }),
        budget: if small { 20_000 } else { 1 << 20 },
        most_open: if small { 2 } else { 100 },
        most_tracks: if small { 3 } else { 1000 },
    };
    let mut tracker = Tracker::new(options);
    if head & 4 != 0 {
        tracker.set_recorder(Box::new(Rows));
    }
    let (mut time, mut tracks) = (1_600_000_000_000_000_000, Vec::new());
    for b in bytes.chunks_exact(PACKET_BYTES) {
        if b[1] == 255 {
            let says = match b[4] {
                255 => IcmpSays::Unreachable(Unreachable::Host),
                mtu => IcmpSays::TooBig(Some(mtu as u32)),
            };
            let (from, to) = (endpoint(b[2]), endpoint(b[3]));
            tracker.report(&IcmpReport { time: Time::from_nanos(time), number: 1, behind: 0, from, to, says });
        }
        tracker.packets(&[packet(b, &mut time)]);
        if b[11] == 255 {
            tracker.drain(&mut tracks);
        }
    }
    tracker.finish(&mut tracks);
    tracks.iter().for_each(check);
    check_diagnosis(&diagnosis::diagnose_tracks(tracks, CaptureInfo::default()));
});
