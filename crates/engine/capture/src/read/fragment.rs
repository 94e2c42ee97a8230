//! Fragmented TCP packets: the first fragment has the TCP header, the last one says how long the whole is.

use super::Batch;
use super::ip::{IpFragment, Net};
use crate::{Addr, PacketFragments, TcpPacket};
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
    /// Fragments seen.
    count: u8,
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
    pub(super) fn first(&mut self, mut packet: TcpPacket, net: &Net, batch: &mut Batch) {
        let Some(fragment) = net.fragment else { return batch.packets.push(packet) };
        let fits = (packet.header as u32 + packet.len).min(u16::MAX.into()) as u16;
        packet.fragments = PacketFragments { count: 1, torn: false, fits };
        if self.given_up > self.completed + IN_VAIN {
            return batch.packets.push(packet);
        }
        self.settle(Some(packet.time), batch);
        let key = (net.src, net.dst, fragment.id);
        let place = self.place(key, packet.time, batch);
        let waiting = &mut self.waiting[place];
        if let Some((mut earlier, _)) = waiting.first.take() {
            // Sent twice, or the identification came around.
            earlier.fragments.torn = self.completed > 0;
            batch.packets.push(earlier);
            (waiting.last, waiting.end, waiting.count) = (false, 0, 0);
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
        let held = HeldFragments { key, since: time, first: None, end: 0, last: false, count: 0 };
        self.waiting.push_back(held);
        self.waiting.len() - 1
    }

    fn seen(&mut self, place: usize, end: u32, last: bool, time: Time, batch: &mut Batch) {
        let waiting = &mut self.waiting[place];
        waiting.end = waiting.end.max(end);
        waiting.last |= last;
        waiting.count = waiting.count.saturating_add(1);
        if waiting.last
            && let Some((packet, header)) = waiting.first
        {
            let fragments = PacketFragments { count: waiting.count, ..packet.fragments };
            let len = waiting.end.saturating_sub(header);
            batch.packets.push(TcpPacket { time, len, fragments, ..packet });
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
        if let Some(HeldFragments { first: Some((packet, header)), end, count, .. }) =
            self.waiting.pop_front()
        {
            // Where no other packet was complete either, the capture does not have later fragments at all.
            let fragments = PacketFragments { count, torn: self.completed > 0, ..packet.fragments };
            batch.packets.push(TcpPacket { len: end.saturating_sub(header), fragments, ..packet });
            self.given_up += 1;
        }
    }
}

/// The first fragment of a tunnel's packet.
#[derive(Clone, Copy)]
pub(super) struct TunnelFragment {
    /// Bytes that it carries.
    len: u32,
    /// Where they begin in the record.
    at: usize,
}

impl TunnelFragment {
    /// Of what an IP header, behind which `at` is, says.
    pub(super) fn of(fragment: Option<IpFragment>, at: usize) -> Option<TunnelFragment> {
        fragment.filter(|f| f.more && f.len > 0).map(|f| TunnelFragment { len: f.len, at })
    }

    /// What that makes of a TCP packet whose IP header begins at `start`.
    pub(super) fn mark(self, packet: &mut TcpPacket, start: usize) {
        let outside = start.saturating_sub(self.at) as u32;
        let whole = outside.saturating_add(packet.header.into()).saturating_add(packet.len);
        let count = whole.div_ceil(self.len).clamp(2, u8::MAX.into()) as u8;
        let fits = self.len.saturating_sub(outside).min(u16::MAX.into()) as u16;
        packet.fragments = PacketFragments { count, torn: false, fits };
    }
}
