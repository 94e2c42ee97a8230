//! The TCP timestamps of both ends distinguish a path that stalled from a capture clock that was set forward.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client};
use result::{Cause, Diagnosis};

/// µs for which nothing reaches the receiver, or by which the capture's clock is set forward.
const GAP: u64 = 3_000_000;
/// One-way delay, µs.
const DELAY: u64 = 20_000;

/// A segment each 2 ms, captured at the receiver. After a second either the path stalls, and the window of
/// 200 segments sent meanwhile arrives at once when it resumes; or only the capture's clock jumps.
fn talk(stalls: bool, timestamps: bool) -> Talk {
    let mut t = Talk { timestamps, window: [512, 8_192], ..Talk::default() };
    t.open(2 * DELAY, [Some(7); 2], [1460; 2]);
    for (i, at) in [0, 20, 2 * DELAY + 20].into_iter().enumerate() {
        t.packets[i].time = units::Time::ZERO + units::Span::from_micros(t.start + at);
    }
    let stop = 1_100_000;
    let mut leaves = 100_000;
    let ticks = |at: u64| 5_000 + (at / 1000) as u32;
    for i in 0..2000u64 {
        leaves += 2000;
        // The window stays full until the path resumes.
        if stalls && i == 700 {
            leaves = stop + GAP + DELAY;
        }
        let mut arrives = leaves + DELAY;
        if stalls && (500..700).contains(&i) {
            arrives = stop + GAP + (i - 500) * 120;
        }
        let seen = if !stalls && i >= 500 { arrives + GAP } else { arrives };
        let stamp = |sent: u64| timestamps.then_some((ticks(sent), ticks(arrives.saturating_sub(DELAY))));
        t.data(seen, CLIENT, MSS, false);
        t.packets.last_mut().expect("data").options.timestamps = stamp(leaves);
        if i % 2 == 1 {
            t.ack(seen + 30, SERVER);
            t.packets.last_mut().expect("an ACK").options.timestamps =
                timestamps.then_some((ticks(arrives + 30), ticks(leaves)));
        }
    }
    t
}

/// Timestamps in milliseconds, and records out of order, may give a segment and its ACK the same time.
#[test]
fn an_ack_may_have_the_same_time_as_its_data() {
    let mut t = talk(false, false);
    for p in &mut t.packets {
        p.time = units::Time::from_nanos(p.time.as_nanos() / 10_000_000 * 10_000_000);
    }
    for i in [200, 500, 900] {
        let mut copy = t.packets[i];
        copy.id = copy.id.wrapping_add(9000);
        t.packets.push(copy);
    }
    assert!(client(&t.diagnose()).measures.rtt_ms.min > 0.0);
}

fn jumps(d: &Diagnosis) -> u64 {
    d.capture.forward_jumps
}

#[test]
fn a_stalled_path_is_an_outage_though_its_first_packets_are_old() {
    let d = talk(true, true).diagnose();
    let f = client(&d);
    assert_eq!(jumps(&d), 0, "the receiver's clock kept running");
    assert!(f.duration_s > 6.5, "{} s", f.duration_s);
    let shown = f.share(Cause::Outage) * f.duration_s;
    assert!((2.5..3.6).contains(&shown), "{shown} s: {:?}", f.causes);
}

#[test]
fn a_capture_clock_set_forward_is_not_an_outage() {
    let d = talk(false, true).diagnose();
    let f = client(&d);
    assert_eq!(jumps(&d), 1);
    assert!(f.duration_s < 4.5 && f.share(Cause::Outage) == 0.0, "{} s: {:?}", f.duration_s, f.causes);
}
