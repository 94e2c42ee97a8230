//! The retransmission queue: all packets sent and not yet cumulatively acknowledged.
//!
//! Packets are in a ring in sequence order, numbered consecutively. A doubly linked list links them in the
//! order in which they were last sent (Linux's `tsorted_sent_queue`), so that RACK can examine the oldest
//! transmissions first and stop at the first that is too young. Linux keeps bursts (skbs) and splits them
//! where a SACK does; here every packet has its own entry, with its burst's send time and the block (skb) in
//! which it was sent. The results are the same with half the code.

use std::collections::VecDeque;
use units::Time;

const NONE: u32 = u32::MAX;

/// Flags of a packet.
pub mod flag {
    /// Selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// Marked lost (`TCPCB_LOST`).
    pub const LOST: u8 = 2;
    /// A retransmission of the packet is in flight (`TCPCB_SACKED_RETRANS`).
    pub const RETRANS: u8 = 4;
    /// Retransmitted at least once (`TCPCB_EVER_RETRANS`).
    pub const EVER_RETRANS: u8 = 8;
    /// Sent while application-limited.
    pub const APP_LIMITED: u8 = 16;
    /// Delivery already sampled.
    pub const SAMPLED: u8 = 32;
    /// In the list of sent packets.
    pub const LINKED: u8 = 64;
    /// End of a write: sent with PSH each time.
    pub const PUSHED: u8 = 128;
}

/// A packet in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First byte.
    pub seq: u64,
    /// Time of the last transmission.
    pub at: Time,
    /// Value of `delivered` at the last transmission.
    pub delivered: u64,
    /// Value of `delivered_time` at the last transmission.
    pub delivered_time: Time,
    /// Send time of the first packet of the sampling window at the last transmission.
    pub first_sent: Time,
    /// Payload bytes.
    pub len: u32,
    /// Packets in flight after the last transmission, including this packet.
    pub tx_in_flight: u32,
    /// Number of packets marked lost at the last transmission, modulo 2^32.
    pub lost: u32,
    prev: u32,
    next: u32,
    /// Number of the last transmission, modulo 2^16, which orders transmissions of the same time.
    pub order: u16,
    /// Number of the block (skb) in which it was sent, different from the neighbouring blocks'. Only packets
    /// of the same block are retransmitted together.
    pub block: u8,
    /// [`flag`] bits.
    pub flags: u8,
}

/// The fields of a packet that most stages of ACK processing need.
#[derive(Clone, Copy, Debug)]
pub struct Brief {
    /// First byte.
    pub seq: u64,
    /// Time of the last transmission.
    pub at: Time,
    /// Payload bytes.
    pub len: u32,
    /// See [`Sent::order`].
    pub order: u16,
    /// [`flag`] bits.
    pub flags: u8,
}

/// Consecutive packets that were sent once, removed from the queue together.
pub struct PlainRun {
    /// Number of packets.
    pub packets: u32,
    /// Time at which the first packet was sent.
    pub first_at: Time,
    /// The last packet.
    pub last: Sent,
}

impl Brief {
    /// Offset after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
    /// Whether any of `bits` is set.
    #[inline]
    pub fn is(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }
}

impl Sent {
    /// The fields that most stages of ACK processing need.
    #[inline]
    pub fn brief(&self) -> Brief {
        Brief { seq: self.seq, at: self.at, len: self.len, order: self.order, flags: self.flags }
    }
    /// A packet about to be sent for the first time.
    pub fn new(seq: u64, len: u32) -> Sent {
        Sent {
            seq,
            at: Time::ZERO,
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            len,
            tx_in_flight: 0,
            lost: 0,
            prev: NONE,
            next: NONE,
            order: 0,
            block: 0,
            flags: 0,
        }
    }
    /// Offset after the last byte.
    pub fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
    /// Whether any of `bits` is set.
    #[inline]
    pub fn is(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }
}

/// The queue. A packet is identified by its number: the `n`-th packet sent, modulo 2^32.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    ring: VecDeque<Sent>,
    base: u32,
    head: u32,
    tail: u32,
    /// Number of transmissions, modulo 2^16.
    sent: u16,
    /// Last number assigned to a block.
    blocks: u8,
    mss: u64,
}

impl Scoreboard {
    /// An empty queue for packets of usually `mss` bytes.
    pub fn new(mss: u32) -> Scoreboard {
        Scoreboard {
            ring: VecDeque::new(),
            base: 0,
            head: NONE,
            tail: NONE,
            sent: 0,
            blocks: 0,
            mss: mss as u64,
        }
    }

    /// Number of packets in the queue.
    #[inline]
    pub fn len(&self) -> usize {
        self.ring.len()
    }
    /// Whether nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
    /// Number of the oldest packet.
    #[inline]
    pub fn first(&self) -> u32 {
        self.base
    }
    /// Number after that of the newest packet.
    #[inline]
    pub fn end(&self) -> u32 {
        self.base.wrapping_add(self.ring.len() as u32)
    }
    /// The packet with this number, which must be in the queue.
    #[inline]
    pub fn get(&self, n: u32) -> &Sent {
        &self.ring[n.wrapping_sub(self.base) as usize]
    }
    /// Mutable access to the packet with this number, which must be in the queue.
    #[inline]
    pub fn get_mut(&mut self, n: u32) -> &mut Sent {
        &mut self.ring[n.wrapping_sub(self.base) as usize]
    }
    /// The oldest packet.
    #[inline]
    pub fn front(&self) -> Option<&Sent> {
        self.ring.front()
    }
    /// Appends packets that were just sent together: `bytes` from `first.seq` in packets of `first.len`, of
    /// which the last may be shorter. They differ from `first` only by their place. Returns their number, at
    /// least 1, and the last one.
    #[inline]
    pub fn push_burst(&mut self, first: Sent, bytes: u64) -> (u32, &mut Sent) {
        let size = first.len;
        let packets = if bytes <= size as u64 { 1 } else { bytes.div_ceil(size as u64) as u32 };
        let (n, tail, sent) = (self.end(), self.tail, self.sent);
        if tail == NONE {
            self.head = n;
        } else {
            self.get_mut(tail).next = n;
        }
        self.ring.extend((0..packets).map(|i| Sent {
            seq: first.seq + i as u64 * size as u64,
            tx_in_flight: first.tx_in_flight + i,
            prev: n.wrapping_add(i).wrapping_sub(1),
            next: n.wrapping_add(i).wrapping_add(1),
            order: sent.wrapping_add(i as u16).wrapping_add(1),
            flags: first.flags | flag::LINKED,
            ..first
        }));
        self.sent = sent.wrapping_add(packets as u16);
        self.tail = n.wrapping_add(packets - 1);
        self.get_mut(n).prev = tail;
        let last = self.get_mut(self.tail);
        last.next = NONE;
        last.len = (bytes - (packets - 1) as u64 * size as u64) as u32;
        (packets, last)
    }

    /// Number for a new block at the end.
    pub fn next_block(&mut self) -> u8 {
        let last = self.ring.back().map(|p| p.block);
        self.number_block(last, None)
    }

    /// A number that neither neighbouring block has.
    fn number_block(&mut self, before: Option<u8>, after: Option<u8>) -> u8 {
        loop {
            self.blocks = self.blocks.wrapping_add(1);
            if Some(self.blocks) != before && Some(self.blocks) != after {
                return self.blocks;
            }
        }
    }

    /// Whether packet `n` is the only one of its block.
    pub fn is_alone(&self, n: u32) -> bool {
        let block = self.get(n).block;
        let other =
            |m: u32| m.wrapping_sub(self.base) as usize >= self.ring.len() || self.get(m).block != block;
        other(n.wrapping_add(1)) && (n == self.base || other(n.wrapping_sub(1)))
    }

    /// Merges packet `n` with the next one, which must exist; higher numbers decrease by one.
    pub fn merge(&mut self, n: u32) {
        let next = n.wrapping_add(1);
        self.unlink(next);
        let at = next.wrapping_sub(self.base);
        let Some(taken) = self.ring.remove(at as usize) else { return };
        let base = self.base;
        let shift = |m: &mut u32| {
            if *m != NONE && m.wrapping_sub(base) > at {
                *m = m.wrapping_sub(1);
            }
        };
        for p in &mut self.ring {
            shift(&mut p.prev);
            shift(&mut p.next);
        }
        shift(&mut self.head);
        shift(&mut self.tail);
        let p = self.get_mut(n);
        p.len += taken.len;
        p.flags |= taken.flags & (flag::EVER_RETRANS | flag::PUSHED);
    }

    /// Splits a block after packet `n`: the following packets become a block of their own (`tcp_fragment`).
    pub fn split_block_after(&mut self, n: u32) {
        let block = self.get(n).block;
        let mut end = n.wrapping_add(1);
        while end != self.end() && self.get(end).block == block {
            end = end.wrapping_add(1);
        }
        let after = (end != self.end()).then(|| self.get(end).block);
        let number = self.number_block(Some(block), after);
        let mut next = n.wrapping_add(1);
        while next != end {
            self.get_mut(next).block = number;
            next = next.wrapping_add(1);
        }
    }

    /// Notes a (re)transmission of the packet, which becomes the newest one.
    #[inline]
    pub fn sent(&mut self, n: u32) {
        self.sent = self.sent.wrapping_add(1);
        let order = self.sent;
        self.get_mut(n).order = order;
        self.link(n);
    }

    /// Removes the oldest packet, which was acknowledged; `false` if the queue is empty.
    #[inline]
    pub fn pop(&mut self) -> bool {
        if self.ring.is_empty() {
            return false;
        }
        self.unlink(self.base);
        self.base = self.base.wrapping_add(1);
        self.ring.pop_front();
        true
    }

    /// Removes the packets up to offset `una` if nothing is known of any of them but that it was sent, once.
    /// `None`, and nothing is removed, if that is not so, or if there are none.
    pub fn pop_plain(&mut self, una: u64) -> Option<PlainRun> {
        let first = self.ring.front()?;
        let (first_at, mut packets) = (first.at, 0);
        for p in &self.ring {
            if p.end() > una {
                break;
            }
            if p.flags & !(flag::APP_LIMITED | flag::PUSHED) != flag::LINKED {
                return None;
            }
            packets += 1;
        }
        let last = *self.ring.get(usize::checked_sub(packets, 1)?)?;
        self.ring.drain(..packets);
        // They were sent in this order, and before all retransmissions that are still in the list.
        self.base = self.base.wrapping_add(packets as u32);
        self.head = last.next;
        if last.next == NONE {
            self.tail = NONE;
        } else {
            self.get_mut(last.next).prev = NONE;
        }
        Some(PlainRun { packets: packets as u32, first_at, last })
    }

    /// Shortens the oldest packet to begin at `seq`, after a partial ACK.
    pub fn trim_front(&mut self, seq: u64) {
        if let Some(front) = self.ring.front_mut() {
            let cut = seq.saturating_sub(front.seq);
            front.seq += cut;
            front.len = front.len.saturating_sub(cut as u32);
        }
    }

    /// Sets the usual size of future packets.
    pub fn set_mss(&mut self, mss: u32) {
        self.mss = mss.max(1) as u64;
    }

    /// Splits packets larger than `mss` bytes and calls `cut` on each piece; numbers change.
    pub fn split(&mut self, mss: u32, mut cut: impl FnMut(&mut Sent)) {
        self.mss = mss as u64;
        let old = std::mem::take(&mut self.ring);
        for mut p in old {
            if p.len <= mss {
                self.ring.push_back(p);
                continue;
            }
            let end = p.end();
            while p.seq < end {
                let mut piece = p;
                piece.len = mss.min((end - p.seq) as u32);
                p.seq += piece.len as u64;
                if p.seq < end {
                    piece.flags &= !flag::PUSHED;
                }
                cut(&mut piece);
                self.ring.push_back(piece);
            }
        }
        self.relink();
    }

    /// Rebuilds the list of sent packets: those that are neither SACKed nor lost without a retransmission, in
    /// the order in which they were sent.
    pub fn relink(&mut self) {
        (self.head, self.tail) = (NONE, NONE);
        let mut order: Vec<u32> = self.numbers().collect();
        let age = |n: u32| self.sent.wrapping_sub(self.get(n).order);
        order.sort_by_key(|&n| (self.get(n).at, u16::MAX - age(n), n.wrapping_sub(self.base)));
        for n in order {
            let p = self.get_mut(n);
            p.flags &= !flag::LINKED;
            if !p.is(flag::SACKED) && (!p.is(flag::LOST) || p.is(flag::RETRANS)) {
                self.link(n);
            }
        }
    }

    /// Numbers of packets that are SACKed, marked lost, and have a retransmission in flight.
    pub fn counts(&self) -> (u32, u32, u32) {
        let count = |bit| self.ring.iter().filter(|p| p.is(bit)).count() as u32;
        (count(flag::SACKED), count(flag::LOST), count(flag::RETRANS))
    }

    /// Panics unless packets are contiguous, and the list contains exactly the linked packets in the order in
    /// which they were sent.
    pub fn check(&self) {
        for (a, b) in self.ring.iter().zip(self.ring.iter().skip(1)) {
            assert_eq!(a.end(), b.seq, "a gap between packets");
        }
        let (mut at, mut listed, mut last) = (self.oldest_sent(), 0, Time::ZERO);
        while let Some(n) = at {
            let p = self.get(n);
            assert!(p.is(flag::LINKED) && p.at >= last, "packet {n} out of order in the list");
            (at, listed, last) = (self.sent_after(n), listed + 1, p.at);
        }
        assert_eq!(
            listed,
            self.ring.iter().filter(|p| p.is(flag::LINKED)).count(),
            "the list lacks linked packets"
        );
    }

    /// Number of the first packet that ends after `seq`; [`Scoreboard::end`] if there is none.
    #[inline]
    pub fn find(&self, seq: u64) -> u32 {
        let Some(front) = self.ring.front() else { return self.base };
        if seq < front.end() {
            return self.base;
        }
        // Nearly all packets are full-sized: first try the position that follows from it.
        let guess = ((seq - front.seq) / self.mss) as usize;
        if let Some(p) = self.ring.get(guess)
            && p.seq <= seq
            && seq < p.end()
        {
            return self.base.wrapping_add(guess as u32);
        }
        self.base.wrapping_add(self.ring.partition_point(|p| p.end() <= seq) as u32)
    }

    /// Appends the packet to the list of sent packets.
    #[inline]
    fn link(&mut self, n: u32) {
        self.unlink(n);
        let tail = self.tail;
        let p = self.get_mut(n);
        p.flags |= flag::LINKED;
        (p.prev, p.next) = (tail, NONE);
        if tail == NONE {
            self.head = n;
        } else {
            self.get_mut(tail).next = n;
        }
        self.tail = n;
    }

    /// Removes the packet from the list of sent packets.
    #[inline]
    pub fn unlink(&mut self, n: u32) {
        let p = self.get_mut(n);
        if !p.is(flag::LINKED) {
            return;
        }
        p.flags &= !flag::LINKED;
        let (prev, next) = (p.prev, p.next);
        if prev == NONE {
            self.head = next;
        } else {
            self.get_mut(prev).next = next;
        }
        if next == NONE {
            self.tail = prev;
        } else {
            self.get_mut(next).prev = prev;
        }
    }

    /// The packet with the oldest last transmission.
    #[inline]
    pub fn oldest_sent(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
    /// The packet transmitted after packet `n`.
    #[inline]
    pub fn sent_after(&self, n: u32) -> Option<u32> {
        let next = self.get(n).next;
        (next != NONE).then_some(next)
    }
    /// Numbers of all packets, the oldest first.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        let base = self.base;
        (0..self.ring.len() as u32).map(move |i| base.wrapping_add(i))
    }
}

/// A packet fits into one cache line.
const _: () = assert!(size_of::<Sent>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(n: u64) -> Scoreboard {
        let mut b = Scoreboard::new(100);
        for i in 0..n {
            b.push_burst(Sent::new(i * 100, 100), 100);
        }
        b
    }

    fn order(b: &Scoreboard) -> Vec<u32> {
        let mut v = Vec::new();
        let mut at = b.oldest_sent();
        while let Some(n) = at {
            v.push(n);
            at = b.sent_after(n);
        }
        v
    }

    #[test]
    fn finds_by_sequence_number_with_odd_sizes() {
        let mut b = filled(3);
        b.push_burst(Sent::new(300, 7), 7);
        b.push_burst(Sent::new(307, 100), 100);
        let found: Vec<u32> = [0, 99, 100, 306, 307, 406, 407].iter().map(|&s| b.find(s)).collect();
        assert_eq!(found, [0, 0, 1, 3, 4, 4, 5]);
    }

    #[test]
    fn a_split_keeps_the_stream_and_the_send_order() {
        let mut b = filled(3);
        b.get_mut(0).at = Time::from_nanos(7); // retransmitted after the others
        b.sent(0);
        b.get_mut(1).flags |= flag::SACKED;
        b.push_burst(Sent { at: Time::from_nanos(9), ..Sent::new(300, 40) }, 40);
        let mut cuts = 0;
        b.split(60, |_| cuts += 1);
        b.check();
        assert_eq!((cuts, b.len()), (6, 7));
        let listed: Vec<u64> = order(&b).iter().map(|&n| b.get(n).seq).collect();
        assert_eq!(listed, [200, 260, 0, 60, 300]);
    }

    #[test]
    fn merging_packets_keeps_the_send_order() {
        let mut b = filled(4);
        for n in 0..4 {
            let block = b.next_block();
            b.get_mut(n).block = block;
        }
        assert!((0..4).all(|n| b.is_alone(n)));
        b.link(1); // retransmitted: 0, 2, 3, 1
        b.merge(2);
        b.check();
        assert_eq!((b.len(), order(&b)), (3, vec![0, 2, 1]));
        assert_eq!((b.get(2).seq, b.get(2).len), (200, 200));
        b.merge(0);
        b.check();
        assert_eq!(order(&b), [0, 1]);
    }

    #[test]
    fn packets_sent_once_leave_together_and_others_do_not() {
        let mut b = filled(5);
        assert!(b.pop_plain(99).is_none(), "no whole packet");
        let run = b.pop_plain(250).unwrap();
        assert_eq!((run.packets, run.last.seq), (2, 100));
        b.check();
        assert_eq!(order(&b), [2, 3, 4]);
        b.get_mut(3).flags |= flag::EVER_RETRANS;
        b.sent(3);
        assert!(b.pop_plain(400).is_none(), "one was retransmitted");
        assert_eq!(b.len(), 3);
        assert_eq!(b.pop_plain(300).map(|run| run.packets), Some(1));
        b.check();
        assert_eq!(order(&b), [4, 3]);
        b.get_mut(3).flags &= !flag::EVER_RETRANS;
        b.unlink(3); // its loss was undone
        assert!(b.pop_plain(400).is_none());
    }

    #[test]
    fn a_burst_is_cut_into_packets() {
        let mut b = filled(2);
        let (packets, last) = b.push_burst(Sent { tx_in_flight: 3, ..Sent::new(200, 100) }, 250);
        assert_eq!((packets, last.seq, last.len, last.tx_in_flight), (3, 400, 50, 5));
        b.check();
        assert_eq!(order(&b), [0, 1, 2, 3, 4]);
        // A FIN alone is a packet without data.
        let (packets, last) = b.push_burst(Sent::new(450, 100), 0);
        assert_eq!((packets, last.len), (1, 0));
    }

    #[test]
    fn the_list_follows_the_send_order() {
        let mut b = filled(4);
        b.sent(1); // retransmitted
        assert_eq!(order(&b), [0, 2, 3, 1]);
        b.unlink(2); // SACKed
        b.pop();
        assert_eq!(order(&b), [3, 1]);
        b.push_burst(Sent::new(400, 100), 100);
        assert_eq!(order(&b), [3, 1, 4]);
        while b.pop() {}
        assert_eq!(order(&b), [0u32; 0]);
    }
}
