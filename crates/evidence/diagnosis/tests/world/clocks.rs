//! A path that stood still, and a capture whose clock was set: by the clocks of both ends.

use crate::talk::{CLIENT, MSS, SERVER, Talk, client};
use result::{Cause, Diagnosis};

/// µs that nothing comes to the receiver, or that its capture's clock is set ahead by.
const GAP: u64 = 3_000_000;
const WAY: u64 = 20_000;

/// A segment each 2 ms, captured at the receiver. After a second either the path stands still, and what was
/// sent meanwhile (a window of 200 segments) comes at once when it goes on; or only the capture's clock
/// jumps.
fn talk(stands_still: bool, timestamps: bool) -> Talk {
    let mut t = Talk { timestamps, window: [512, 8_192], ..Talk::default() };
    t.open(2 * WAY, [Some(7); 2], [1460; 2]);
    for (i, at) in [0, 20, 2 * WAY + 20].into_iter().enumerate() {
        t.packets[i].time = units::Time::ZERO + units::Span::from_micros(t.start + at);
    }
    let stop = 1_100_000;
    let mut leaves = 100_000;
    let ticks = |at: u64| 5_000 + (at / 1000) as u32;
    for i in 0..2000u64 {
        leaves += 2000;
        // The window is full until the path is there again.
        if stands_still && i == 700 {
            leaves = stop + GAP + WAY;
        }
        let mut arrives = leaves + WAY;
        if stands_still && (500..700).contains(&i) {
            arrives = stop + GAP + (i - 500) * 120;
        }
        let seen = if !stands_still && i >= 500 { arrives + GAP } else { arrives };
        let stamp = |sent: u64| timestamps.then_some((ticks(sent), ticks(arrives.saturating_sub(WAY))));
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

/// Times in milliseconds, or of records out of order, may leave no time between a segment and its ACK.
#[test]
fn an_ack_at_the_same_time_as_its_data_is_no_error() {
    let mut t = talk(false, false);
    for p in &mut t.packets {
        p.time = units::Time::from_nanos(p.time.as_nanos() / 10_000_000 * 10_000_000);
    }
    for i in [200, 500, 900] {
        let mut again = t.packets[i];
        again.id = again.id.wrapping_add(9000);
        t.packets.push(again);
    }
    assert!(client(&t.said()).measures.rtt_ms.min > 0.0);
}

fn jumps(d: &Diagnosis) -> u64 {
    d.capture.forward_jumps
}

#[test]
fn a_path_that_stood_still_is_an_outage_though_its_first_packets_are_old() {
    let d = talk(true, true).said();
    let f = client(&d);
    assert_eq!(jumps(&d), 0, "the receiver's clock went on");
    assert!(f.duration_s > 6.5, "{} s", f.duration_s);
    let shown = f.share(Cause::Outage) * f.duration_s;
    assert!((2.5..3.6).contains(&shown), "{shown} s: {:?}", f.causes);
}

#[test]
fn a_clock_that_was_set_is_none() {
    let d = talk(false, true).said();
    let f = client(&d);
    assert_eq!(jumps(&d), 1);
    assert!(f.duration_s < 4.5 && f.share(Cause::Outage) == 0.0, "{} s: {:?}", f.duration_s, f.causes);
}
