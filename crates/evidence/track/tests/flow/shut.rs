//! A wait with two explanations, a shut window and a timer, is counted once.

use super::buffer::{end, packet};
use capture::TcpFlags;
use track::{PauseKind, Tracker, TrackerOptions};

/// Builds a packet from: time in microseconds, whether it is the sender's, sequence and acknowledgement
/// number, flags, window, payload bytes.
type Packet = (u64, bool, u32, u32, u8, u16, u32);

const SYN_ACK: u8 = TcpFlags::SYN.0 | TcpFlags::ACK.0;
const ACK: u8 = TcpFlags::ACK.0;
/// More than any window.
const HUGE: u32 = u32::MAX >> 4;

/// Not what a host would do, but what fuzzing found: the window is shut after the last data, and a timer ends
/// the silence.
const PACKETS: [Packet; 7] = [
    (20_000, false, 3200, 0, SYN_ACK, 100, HUGE),
    (20_200, true, 4_294_966_795, 2599, ACK, 100, 100),
    (790_200, false, 4_294_966_795, 0, SYN_ACK, 0, 100),
    (790_400, true, 4_294_966_795, 500, ACK, 1, 2896),
    (1_540_400, false, 2599, 2395, ACK, 0, 100),
    (4_580_400, true, 1500, 1500, SYN_ACK, 0, HUGE),
    (4_620_400, true, 2599, 4900, ACK, 0, 1000),
];

#[test]
fn a_timer_that_ends_a_shut_window_is_not_counted_again() {
    let (a, b) = (end(0, 1000), end(1, 1001));
    let mut tracker = Tracker::new(TrackerOptions::default());
    for (us, sends, seq, ack, flags, window, len) in PACKETS {
        let ends = if sends { [a, b] } else { [b, a] };
        tracker.packet(&packet(us, ends, [seq, ack], flags, window, len));
    }
    let mut tracks = Vec::new();
    tracker.finish(&mut tracks);
    let kinds = [
        PauseKind::Idle,
        PauseKind::WindowFull,
        PauseKind::WindowShut,
        PauseKind::Held,
        PauseKind::Timeout,
        PauseKind::Silence,
    ];
    let mut shut = 0;
    for t in &tracks {
        for b in &t.bins {
            let paused: u64 = kinds.iter().map(|kind| b.paused(*kind).as_micros()).sum();
            assert!(paused <= t.bin.as_micros(), "{b:?}");
            shut += b.paused(PauseKind::WindowShut).as_micros();
        }
    }
    assert!(shut > 3_000_000, "{shut} µs: the window was not shut here");
}
