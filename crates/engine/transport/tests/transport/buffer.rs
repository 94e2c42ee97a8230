//! The send buffer: an application that fills it is woken when a third is free (`sk_stream_is_writeable`).

use crate::pair::*;
use transport::{Profile, Stack};
use units::Bytes;

/// Minimum and maximum of bytes in flight during an endless write, once the congestion window exceeds a
/// buffer of 300 kB.
fn in_flight(profile: Profile) -> (u64, u64) {
    let stack = Stack { profile, send_buffer: Some(Bytes::new(300_000)), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack).rtt(ms(50));
    pair.connect();
    let now = pair.now;
    pair.act(true, |tcp, out| tcp.write(now, 1 << 40, false, out));
    pair.run(ms(1500));
    let (mut least, mut most) = (u64::MAX, 0);
    for _ in 0..500 {
        pair.run(units::Span::from_micros(200));
        let s = &pair.client.tx.s;
        let now = s.snd_nxt - s.snd_una;
        (least, most) = (least.min(now), most.max(now));
    }
    assert!(pair.cwnd() as u64 * 1448 > 300_000, "{}", pair.cwnd());
    (least, most)
}

#[test]
fn an_application_that_fills_the_buffer_waits_until_a_third_is_free() {
    // The kernel's overhead is 1.3 % of full blocks.
    let (least, most) = in_flight(Profile::Linux);
    assert!((285_000..=300_000).contains(&most), "{most}");
    assert!((180_000..=200_000).contains(&least), "{least}");
}

#[test]
fn the_rfc_profile_keeps_the_buffer_full() {
    let (least, most) = in_flight(Profile::Rfc);
    assert!(least > 290_000 && most < 302_000, "{least} {most}");
}
