//! Whether flows wait in queues of their own.
//!
//! One queue delays packets that come right behind each other alike, also where they belong to different
//! flows. With a queue for each flow, the delay of a packet is that of its own flow's queue.

use super::virtual_queue::{PacketArrival, quantile};

/// Packets that arrive within this time of each other, seconds, meet the same queue.
const NEAR_S: f64 = 1e-3;
/// Least number of pairs of packets, of one flow and of two.
const MIN_PAIRS: usize = 100;
/// The delays of neighbours of two flows differ by at least this many times as much as those of neighbours of
/// one flow. Behind a shaper of drawn cases the factor is at most 1.4, behind fair queues 7 or more
/// (`longfat-diagnose-test corpus write 20261212 400`, cases 18 and 3 of 20261213 and 20261208).
const MIN_FACTOR: f64 = 3.0;

/// Whether the delays of packets of different flows differ as those of one queue cannot. `packet_s`: the time
/// of a full packet on the link, seconds, by which a packet waits longer than the one before it.
pub(super) fn are_delays_apart(arrivals: &[PacketArrival], packet_s: f64) -> bool {
    let (mut of_one, mut of_two) = (Vec::new(), Vec::new());
    let mut known = arrivals.iter().filter_map(|a| Some((a, a.delay.get()?)));
    let Some(mut before) = known.next() else { return false };
    for next in known {
        if next.0.at - before.0.at < NEAR_S {
            let apart = (next.1 - before.1).abs();
            if next.0.flow == before.0.flow { of_one.push(apart) } else { of_two.push(apart) }
        }
        before = next;
    }
    if of_one.len().min(of_two.len()) < MIN_PAIRS {
        return false;
    }
    let [one, two] = [quantile(&mut of_one, 0.5), quantile(&mut of_two, 0.5)].map(f64::from);
    two > MIN_FACTOR * (one + packet_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of packets of flows 0, 0, 1, 1, with delays of 10 ms and `second_ms`.
    fn pairs(second_ms: f64) -> Vec<PacketArrival> {
        let packet = |i: u32| {
            let flow = (i / 2 % 2) as u16;
            let delay = if flow == 0 { 10.0 } else { second_ms };
            PacketArrival { flow, ..PacketArrival::full(f64::from(i) * 1e-4, delay * 1e-3, false, i) }
        };
        (0..1000).map(packet).collect()
    }

    #[test]
    fn neighbours_of_different_flows_wait_alike_in_one_queue() {
        assert!(!are_delays_apart(&pairs(10.1), 1e-4));
        assert!(are_delays_apart(&pairs(13.0), 1e-4));
    }

    #[test]
    fn one_flow_or_few_packets_show_nothing() {
        let mut one = pairs(13.0);
        one.iter_mut().for_each(|a| a.flow = 0);
        assert!(!are_delays_apart(&one, 1e-4));
        assert!(!are_delays_apart(&pairs(13.0)[..100], 1e-4));
    }
}
