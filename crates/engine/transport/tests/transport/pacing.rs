//! Departure times of paced bursts.

use crate::pair::*;
use transport::Stack;
use units::{Span, Time};

/// Departure times of the client's bursts since the first, and their numbers of packets.
fn bursts(pair: &Pair) -> Vec<(Span, usize)> {
    let mut list: Vec<(Time, usize)> = Vec::new();
    for s in pair.data() {
        match list.last_mut().filter(|b| b.0 == s.at) {
            Some(burst) => burst.1 += 1,
            None => list.push((s.at, 1)),
        }
    }
    let first = list[0].0;
    list.into_iter().map(|(at, n)| (at.since(first), n)).collect()
}

/// The first ten packets are not paced, but the burst that contains the tenth is charged, so the next one
/// waits for it (`tcp_update_skb_after_send`, where `data_segs_out` counts the burst). With an initial window
/// of 40 and an RTT of 100 ms the rate is 200 % of 40 packets in 100 ms, 1.25 ms per packet, and bursts have
/// two packets: five are sent at once, the sixth 2.5 ms later.
#[test]
fn the_burst_with_the_tenth_packet_is_charged() {
    let stack = Stack { pacing: Some(true), initial_window: Some(40), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack).rtt(ms(100)).sending(100 * MSS);
    pair.run(ms(50));
    let list = bursts(&pair);
    assert_eq!(list[..2].iter().map(|b| b.1).collect::<Vec<_>>(), [10, 2], "{list:?}");
    let waits: Vec<f64> = list.windows(2).map(|w| (w[1].0 - w[0].0).as_millis_f64()).collect();
    assert!(waits[..5].iter().all(|w| (w - 2.5).abs() < 0.01), "{waits:?}");
}

/// The retransmission of a timeout is charged like any burst, so data released by its ACK is paced.
#[test]
fn the_retransmission_of_a_timeout_is_charged() {
    let stack = Stack { pacing: Some(true), ..Stack::default() };
    let mut pair = Pair::with("reno", &stack, &stack).sending(300 * MSS);
    pair.run(RTT * 4);
    let from = pair.now;
    pair.wire(move |s| if s.forward && s.at < from + ms(600) { Fate::Lost } else { Fate::Arrive });
    while pair.client.tx.stats.timeouts < 1 {
        pair.step();
    }
    assert!(pair.client.tx.s.next_departure > pair.now);
}
