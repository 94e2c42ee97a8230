//! Losses and marks as the library tells them.

use crate::control::handle::{SteeringHandle, lock};
use crate::control::{CongestionChoice, INITIAL_WINDOW, Steering};
use congestion::{AckEvent, RateSample, Socket, Window};
use noq_proto::congestion::Controller;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const MTU: u64 = 1200;
const RTT: Duration = Duration::from_millis(50);

/// A path whose packets leave at one moment and are acknowledged together a round trip later.
struct Rounds {
    control: SteeringHandle,
    now: Instant,
    next: u64,
}

impl Rounds {
    fn new(name: &str) -> Rounds {
        let now = Instant::now();
        let choice = CongestionChoice::new(name, None, 1, now);
        let steering = Steering::new(name, None, &choice, MTU as u16);
        Rounds { control: SteeringHandle(Arc::new(Mutex::new(steering))), now, next: 0 }
    }

    /// Sends what the window allows, and hears of it; the largest number.
    fn turn(&mut self) -> u64 {
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

    fn mark(&mut self, largest: u64) {
        self.control.on_congestion_event(self.now, self.now - RTT, false, true, 0, largest);
    }

    /// Packets.
    fn window(&self) -> u64 {
        self.control.window() / MTU
    }
}

/// RFC 9002 section 7.1 and B.7, with each control's own factor: Reno's half (RFC 5681), CUBIC's 0.7 (RFC 9438 section 4.6).
#[test]
fn a_mark_reduces_the_window_once_a_round_trip() {
    for (name, factor) in [("reno", 0.5), ("cubic", 0.7)] {
        let mut path = Rounds::new(name);
        assert_eq!(path.window(), u64::from(INITIAL_WINDOW));
        for _ in 0..3 {
            path.turn();
        }
        let before = path.window();
        assert!(before >= 40, "{name}: {before}");
        let sent = path.next;
        path.mark(sent - 1);
        let reduced = (before as f64 * factor) as u64;
        assert_eq!(path.window(), reduced, "{name}");
        path.mark(sent - 1);
        assert_eq!(path.window(), reduced, "{name}: again");
        let largest = path.turn();
        path.mark(largest);
        assert!(path.window() <= (reduced as f64 * factor) as u64 + 1, "{name}: {}", path.window());
    }
}

/// Writes down what an ACK was said to echo, and its sample.
struct MarkWitness(Arc<Mutex<Vec<[bool; 2]>>>);

impl congestion::Controller for MarkWitness {
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

/// BBR v3 answers marks by its samples.
#[test]
fn a_control_that_owns_its_window_hears_of_marks_with_the_next_sample() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut path = Rounds::new("bbr3");
    path.control.lock().cc = Box::new(MarkWitness(seen.clone()));
    let window = path.window();
    let largest = path.turn();
    path.mark(largest);
    assert_eq!(path.window(), window, "the window is its own");
    path.turn();
    path.turn();
    assert_eq!(*lock(&seen), [[false; 2], [true; 2], [false; 2]]);
}

/// All lost packets of a reduction came after all; what came with CE came with it all the same.
#[test]
fn a_reduction_by_marks_is_not_taken_back() {
    let mut path = Rounds::new("reno");
    let largest = path.turn();
    path.mark(largest);
    let reduced = path.window();
    path.control.on_spurious_congestion_event();
    assert_eq!(path.window(), reduced);
}
