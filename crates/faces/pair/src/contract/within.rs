//! Counts losses of packets that the believed contract should have let pass.

/// If this many of the last 128 packets within the contract are lost, one in eight, the bucket is believed to
/// be half as large. Random loss of 5 % reaches 16 of 128 once in 1,300 times.
const WINDOW_PACKETS: u32 = 128;
const MAX_LOST: u32 = 16;

/// Packets and losses within the contract, of the last [`WINDOW_PACKETS`].
#[derive(Debug, Default)]
pub struct WithinCount {
    packets: u32,
    lost: u32,
    /// The first packet that was sent under the current contract.
    from: u64,
}

impl WithinCount {
    /// Restarts the count at this packet, because the contract has changed: losses of earlier packets do not
    /// concern the new one.
    pub fn restart(&mut self, from: u64) {
        *self = WithinCount { from, ..WithinCount::default() };
    }

    /// Counts a packet unless it was sent under an earlier contract. Returns whether it counted.
    pub fn count(&mut self, number: u64, is_lost: bool) -> bool {
        if number < self.from {
            return false;
        }
        (self.packets, self.lost) = (self.packets + 1, self.lost + u32::from(is_lost));
        if self.packets >= WINDOW_PACKETS {
            (self.packets, self.lost) = (0, 0);
        }
        true
    }

    /// Whether more is lost than the contract allows.
    pub fn is_exceeded(&self) -> bool {
        self.lost >= MAX_LOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_sent_under_an_earlier_contract_do_not_count() {
        let mut within = WithinCount::default();
        (0..15).for_each(|number| assert!(within.count(number, true) && !within.is_exceeded()));
        assert!(within.count(15, true) && within.is_exceeded());
        within.restart(100);
        (16..100).for_each(|number| assert!(!within.count(number, true)));
        assert!(!within.is_exceeded());
        (100..115).for_each(|number| assert!(within.count(number, true)));
        assert!(!within.is_exceeded() && within.count(115, true) && within.is_exceeded());
    }

    #[test]
    fn losses_count_among_the_last_128_packets() {
        let mut within = WithinCount::default();
        for number in 0..10_000 {
            within.count(number, number % 9 == 0);
            assert!(!within.is_exceeded(), "one in nine: {number}");
        }
    }
}
