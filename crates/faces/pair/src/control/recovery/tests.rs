//! Losses and marks as the library reports them.

use crate::control::handle::{SteeringHandle, lock};
use crate::control::{CongestionChoice, INITIAL_WINDOW, Steering};
use congestion::{AckEvent, RateSample, Socket, Window};
use noq_proto::congestion::Controller;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MTU: u64 = 1200;
const RTT: Duration = Duration::from_millis(50);

/// A path on which all packets are sent at one moment and acknowledged together a round trip later.
struct RoundTrips {
    control: SteeringHandle,
    now: Instant,
    next: u64,
}

impl RoundTrips {
    fn new(name: &str) -> RoundTrips {
        let now = Instant::now();
        let choice = CongestionChoice::new(name, None, 1, now);
        let steering = Steering::new(name, None, &choice, MTU as u16);
        RoundTrips { control: SteeringHandle(Arc::new(Mutex::new(steering))), now, next: 0 }
    }

    /// Sends what the window allows and handles the ACKs. Returns the largest packet number.
    fn round_trip(&mut self) -> u64 {
        let packets = self.control.window() / MTU;
        let numbers = self.next..self.next + packets;
        self.next += packets;
        for number in numbers.clone() {
            self.control.on_packet_sent(self.now, MTU as u16, number);
        }
        self.now += RTT;
        for number in numbers {
            self.control.lock().on_acked(self.now, number, [RTT; 2]);
        }
        self.control.on_end_acks(self.now, 0, false, Some(self.next - 1));
        self.next - 1
    }

    fn report_mark(&mut self, largest: u64) {
        self.control.on_congestion_event(self.now, self.now - RTT, false, true, 0, largest);
    }

    /// The window, packets.
    fn window(&self) -> u64 {
        self.control.window() / MTU
    }
}

/// RFC 9002 sections 7.1 and B.7, with each control's own factor: 0.5 for Reno (RFC 5681), 0.7 for CUBIC (RFC
/// 9438 section 4.6).
#[test]
fn a_mark_reduces_the_window_once_a_round_trip() {
    for (name, factor) in [("reno", 0.5), ("cubic", 0.7)] {
        let mut path = RoundTrips::new(name);
        assert_eq!(path.window(), u64::from(INITIAL_WINDOW));
        for _ in 0..3 {
            path.round_trip();
        }
        let before = path.window();
        assert!(before >= 40, "{name}: {before}");
        let sent = path.next;
        path.report_mark(sent - 1);
        let reduced = (before as f64 * factor) as u64;
        assert_eq!(path.window(), reduced, "{name}");
        path.report_mark(sent - 1);
        assert_eq!(path.window(), reduced, "{name}: again");
        let largest = path.round_trip();
        path.report_mark(largest);
        assert!(path.window() <= (reduced as f64 * factor) as u64 + 1, "{name}: {}", path.window());
    }
}

/// Records whether an ACK and its rate sample were marked.
struct MarkRecorder(Arc<Mutex<Vec<[bool; 2]>>>);

impl congestion::Controller for MarkRecorder {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        w.cwnd
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn in_ack_event(&mut self, _: &Socket, _: &mut Window, ack: AckEvent) {
        lock(&self.0).push([ack.ece, false]);
    }

    fn cong_control(&mut self, _: &Socket, _: &mut Window, rs: &RateSample) {
        if let Some(last) = lock(&self.0).last_mut() {
            last[1] = rs.ece;
        }
    }
}

/// BBR v3 reacts to marks in its rate samples.
#[test]
fn a_control_that_owns_its_window_sees_marks_in_the_next_sample() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut path = RoundTrips::new("bbr3");
    path.control.lock().cc = Box::new(MarkRecorder(seen.clone()));
    let window = path.window();
    let largest = path.round_trip();
    path.report_mark(largest);
    assert_eq!(path.window(), window, "the window is its own");
    path.round_trip();
    path.round_trip();
    assert_eq!(*lock(&seen), [[false; 2], [true; 2], [false; 2]]);
}

/// If all lost packets of a reduction arrive after all, the reduction is undone; one caused by CE marks is
/// not.
#[test]
fn a_reduction_after_marks_is_not_undone() {
    let mut path = RoundTrips::new("reno");
    let largest = path.round_trip();
    path.report_mark(largest);
    let reduced = path.window();
    path.control.on_spurious_congestion_event();
    assert_eq!(path.window(), reduced);
}
