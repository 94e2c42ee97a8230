//! Small messages: less than a segment in flight with an open window is everything that the application
//! wrote.

use crate::talk::{CLIENT, SERVER, Talk};
use result::Cause;

/// `len` bytes every `every` µs, acknowledged after 30 ms; `open`: the handshake was captured.
fn polls(len: u32, every: u64, open: bool) -> Talk {
    let mut t =
        if open { Talk::opened(30_000) } else { Talk { sent: [1; 2], acked: [1; 2], ..Talk::default() } };
    for i in 0..600 {
        let at = 100_000 + i * every;
        t.data(at, CLIENT, len, true);
    }
    for i in 0..600u64 {
        let mut p = t.packet(100_000 + i * every + 30_000, SERVER);
        p.ack = t.packets.iter().find(|p| p.src.port == 40_000 && p.len > 0).expect("data").seq
            + (i as u32 + 1) * len;
        t.packets.push(p);
    }
    t
}

#[test]
fn messages_smaller_than_a_segment_are_the_applications() {
    for (len, every) in [(11, 1_000_000), (152, 90_000), (54, 20_000), (54, 31_000), (300, 8_000)] {
        for open in [true, false] {
            let t = polls(len, every, open);
            let d = t.diagnose();
            let f = t.client();
            assert_eq!(
                f.cause,
                Cause::Application,
                "{len} bytes each {every} µs, open {open}: {:?}",
                f.causes
            );
            assert!(f.share(Cause::Application) > 0.9, "{:?}", f.causes);
            assert!(d.limiters.is_empty(), "{:?}", d.limiters);
        }
    }
}

/// Some stacks send small messages without PSH.
#[test]
fn small_messages_without_psh_are_the_applications_too() {
    let mut t = polls(54, 20_000, true);
    t.packets.iter_mut().for_each(|p| p.flags.0 &= !capture::TcpFlags::PSH.0);
    assert_eq!(t.client().cause, Cause::Application);
}
