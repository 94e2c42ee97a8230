//! The send buffer: who fills it is woken when a third is free (`sk_stream_is_writeable`).

use crate::pair::*;
use transport::{Profile, Stack};
use units::Bytes;

/// The least and the most in flight, bytes, of an endless write once its window is larger than a buffer of 300 kB.
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
fn who_fills_the_buffer_waits_until_a_third_is_free() {
    // What the kernel accounts beside the payload is 1.3 % of full blocks.
    let (least, most) = in_flight(Profile::Linux);
    assert!((285_000..=300_000).contains(&most), "{most}");
    assert!((180_000..=200_000).contains(&least), "{least}");
}

#[test]
fn others_keep_it_full() {
    let (least, most) = in_flight(Profile::Rfc);
    assert!(least > 290_000 && most < 302_000, "{least} {most}");
}
