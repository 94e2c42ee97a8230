//! Many connections at once.

use crate::{POLICER, SENDER, transfer};
use capture::TcpPacket;
use track::{Track, Tracker, TrackerOptions};
use units::Span;

/// Moves a connection to the start time and port of number `n`.
fn moved(p: &TcpPacket, client: u16, n: u16) -> TcpPacket {
    let mut p = *p;
    p.time += Span::from_micros(137) * n as u64;
    for end in [&mut p.src, &mut p.dst] {
        if end.port == client {
            end.port = 20_000 + n;
        }
    }
    p
}

#[test]
fn a_batch_gives_the_same_tracks_as_single_packets() {
    let run = transfer(POLICER, true, "", "", 7);
    let some: Vec<TcpPacket> = run.captures.hosts[SENDER].iter().take(400).copied().collect();
    let client = some[0].src.port;
    let mut all: Vec<TcpPacket> =
        (0..300).flat_map(|n| some.iter().map(move |p| moved(p, client, n))).collect();
    all.sort_by_key(|p| p.time);
    // Some memory is reduced and some connections are closed early.
    for options in [
        TrackerOptions::default(),
        TrackerOptions { budget: 2 << 20, max_open: 200, ..TrackerOptions::default() },
    ] {
        let (mut alone, mut together) = (Tracker::new(options), Tracker::new(options));
        all.iter().for_each(|p| alone.packet(p));
        all.chunks(1021).for_each(|some| together.packets(some));
        let (mut a, mut b): (Vec<Track>, Vec<Track>) = Default::default();
        assert_eq!(alone.finish(&mut a), together.finish(&mut b));
        assert!(a.len() >= 300, "{}", a.len());
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        let held = |t: &Track| size_of_val(&t.bins[..]) + size_of_val(&t.log[..]);
        let held: usize = a.iter().map(held).sum();
        assert!(held <= options.budget, "{held} of {} bytes", options.budget);
    }
}
