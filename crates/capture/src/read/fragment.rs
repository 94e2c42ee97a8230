//! Fragmented TCP packets: the first fragment has the TCP header, the last one says how long the whole is.

use super::Batch;
use super::ip::Net;
use crate::{Addr, TcpPacket};
use std::collections::VecDeque;
use units::{Span, Time};

/// Packets waited for at once.
const MOST: usize = 256;
/// How long one is waited for. Fragments follow each other on the wire; the 30 to 120 s that a receiver
/// waits (RFC 1122 section 3.3.2) would only hold up the packets.
const PATIENCE: Span = Span::from_nanos(1_000_000_000);
/// So many more given up than completed, and the capture does not have later fragments at all, as when it
/// was filtered by port: then a wait would be in vain.
const IN_VAIN: u64 = 16;

type DatagramKey = (Addr, Addr, u32);

struct HeldFragments {
    key: DatagramKey,
    since: Time,
    /// The first fragment, and what its TCP header takes of the fragmentable part.
    first: Option<(TcpPacket, u32)>,
    /// Furthest end seen, bytes of the fragmentable part.
    end: u32,
    /// The last fragment was seen.
    last: bool,
}

/// Packets of which fragments are missing.
#[derive(Default)]
pub(super) struct Fragments {
    waiting: VecDeque<HeldFragments>,
    completed: u64,
    given_up: u64,
}

impl Fragments {
    /// A first fragment, read as a packet of its own. It goes to `batch` at the time of the fragment that
    /// completes it.
    pub(super) fn first(&mut self, packet: TcpPacket, net: &Net, batch: &mut Batch) {
        let Some(fragment) = net.fragment else { return batch.packets.push(packet) };
        if self.given_up > self.completed + IN_VAIN {
            return batch.packets.push(packet);
        }
        self.settle(Some(packet.time), batch);
        let key = (net.src, net.dst, fragment.id);
        let place = self.place(key, packet.time, batch);
        let waiting = &mut self.waiting[place];
        if let Some((earlier, _)) = waiting.first.take() {
            // Sent twice, or the identification came around.
            batch.packets.push(earlier);
            waiting.last = false;
            waiting.end = 0;
        }
        waiting.first = Some((packet, fragment.len.saturating_sub(packet.len)));
        self.seen(place, fragment.len, false, packet.time, batch);
    }

    /// Another fragment.
    pub(super) fn later(&mut self, time: Time, net: &Net, batch: &mut Batch) {
        let Some(fragment) = net.fragment else { return };
        self.settle(Some(time), batch);
        let place = self.place((net.src, net.dst, fragment.id), time, batch);
        self.seen(place, fragment.offset.saturating_add(fragment.len), !fragment.more, time, batch);
    }

    /// Index of the entry for `key`, a new one where there is none.
    fn place(&mut self, key: DatagramKey, time: Time, batch: &mut Batch) -> usize {
        if let Some(i) = self.waiting.iter().position(|w| w.key == key) {
            return i;
        }
        if self.waiting.len() == MOST {
            self.give_up(batch);
        }
        self.waiting.push_back(HeldFragments { key, since: time, first: None, end: 0, last: false });
        self.waiting.len() - 1
    }

    fn seen(&mut self, place: usize, end: u32, last: bool, time: Time, batch: &mut Batch) {
        let waiting = &mut self.waiting[place];
        waiting.end = waiting.end.max(end);
        waiting.last |= last;
        if waiting.last
            && let Some((packet, header)) = waiting.first
        {
            batch.packets.push(TcpPacket { time, len: waiting.end.saturating_sub(header), ..packet });
            self.completed += 1;
            self.waiting.remove(place);
        }
    }

    /// Gives up what has waited for too long at `now`; without `now`, everything.
    pub(super) fn settle(&mut self, now: Option<Time>, batch: &mut Batch) {
        while let Some(oldest) = self.waiting.front()
            && now.is_none_or(|now| now.since(oldest.since) > PATIENCE)
        {
            self.give_up(batch);
        }
    }

    /// Passes on the oldest with the length that is known of it.
    fn give_up(&mut self, batch: &mut Batch) {
        if let Some(HeldFragments { first: Some((packet, header)), end, .. }) = self.waiting.pop_front() {
            batch.packets.push(TcpPacket { len: end.saturating_sub(header), ..packet });
            self.given_up += 1;
        }
    }
}
