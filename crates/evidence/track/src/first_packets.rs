//! The first few packet numbers that show something, and their count, in bounded memory.

/// Packet numbers kept: enough to look at as evidence.
const MAX_KEPT: usize = 5;

/// The numbers of the first few packets of a kind ([`capture::TcpPacket::number`]), and how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstPackets {
    numbers: [u32; MAX_KEPT],
    total: u64,
}

impl FirstPackets {
    /// Adds a packet.
    pub fn add(&mut self, number: u32) {
        if let Some(free) = self.numbers.get_mut(self.total as usize) {
            *free = number;
        }
        self.total += 1;
    }

    /// The first few packet numbers, in order.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..self.total.min(MAX_KEPT as u64) as usize]
    }

    /// The number of packets added.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_five_are_kept_and_all_are_counted() {
        let mut few = FirstPackets::default();
        assert!(few.numbers().is_empty());
        (10..13).for_each(|n| few.add(n));
        assert_eq!((few.numbers(), few.total()), (&[10, 11, 12][..], 3));
        (13..1000).for_each(|n| few.add(n));
        assert_eq!((few.numbers(), few.total()), (&[10, 11, 12, 13, 14][..], 990));
    }
}
