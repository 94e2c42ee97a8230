//! What is lost of packets that the contract as it is believed should have let pass.

/// Packets lost though the bucket should hold tokens: one in 8 of the last 128 and the bucket is believed half as large.
/// Random loss of 5 % reaches 16 of 128 once in 1,300 times.
const DOUBT_OF: u32 = 128;
const DOUBTED: u32 = 16;

/// Packets and losses within the contract, of the last ones.
#[derive(Debug, Default)]
pub struct WithinCount {
    packets: u32,
    lost: u32,
    /// The first packet that was let go by what is believed now.
    from: u64,
}

impl WithinCount {
    /// Another contract is believed from this packet on: what is lost of those that the last one let go says nothing of it.
    pub fn anew(&mut self, from: u64) {
        *self = WithinCount { from, ..WithinCount::default() };
    }

    /// Counts a packet, unless an earlier contract let it go; whether it did.
    pub fn count(&mut self, number: u64, is_lost: bool) -> bool {
        if number < self.from {
            return false;
        }
        (self.packets, self.lost) = (self.packets + 1, self.lost + u32::from(is_lost));
        if self.packets >= DOUBT_OF {
            (self.packets, self.lost) = (0, 0);
        }
        true
    }

    /// Whether more is lost than the contract allows.
    pub fn is_doubtful(&self) -> bool {
        self.lost >= DOUBTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_that_an_earlier_contract_let_go_does_not_count() {
        let mut within = WithinCount::default();
        (0..15).for_each(|number| assert!(within.count(number, true) && !within.is_doubtful()));
        assert!(within.count(15, true) && within.is_doubtful());
        within.anew(100);
        (16..100).for_each(|number| assert!(!within.count(number, true)));
        assert!(!within.is_doubtful());
        (100..115).for_each(|number| assert!(within.count(number, true)));
        assert!(!within.is_doubtful() && within.count(115, true) && within.is_doubtful());
    }

    #[test]
    fn losses_count_among_so_many_packets() {
        let mut within = WithinCount::default();
        for number in 0..10_000 {
            within.count(number, number % 9 == 0);
            assert!(!within.is_doubtful(), "one in nine: {number}");
        }
    }
}
