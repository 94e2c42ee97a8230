//! Reassembly of fragmented TCP packets: the first fragment has the TCP header, the last one shows the total
//! length.

use super::Batch;
use super::ip::{IpFragment, Net};
use crate::{Addr, PacketFragments, TcpPacket};
use std::collections::VecDeque;
use units::{Span, Time};

/// Maximum number of packets that wait for fragments at the same time.
const MAX_WAITING: usize = 256;
/// How long to wait for a packet's fragments. Fragments follow each other closely on the wire; the 30 to 120
/// s that a receiver waits (RFC 1122 section 3.3.2) would only delay the packets.
const FRAGMENT_TIMEOUT: Span = Span::from_nanos(1_000_000_000);
/// If this many more packets were abandoned than completed, waiting is pointless: the capture lacks all
/// fragments but the first, for example because it was filtered by port.
const ABANDONED_EXCESS: u64 = 16;

type DatagramKey = (Addr, Addr, u32);

struct HeldFragments {
    key: DatagramKey,
    since: Time,
    /// The first fragment, and the length of its TCP header, bytes of the fragmentable part.
    first: Option<(TcpPacket, u32)>,
    /// Highest end offset seen, bytes of the fragmentable part.
    end: u32,
    /// Whether the last fragment was seen.
    last: bool,
    /// Number of fragments seen.
    count: u8,
}

/// Packets with missing fragments.
#[derive(Default)]
pub(super) struct Fragments {
    waiting: VecDeque<HeldFragments>,
    completed: u64,
    given_up: u64,
}

impl Fragments {
    /// Handles a first fragment, parsed as a packet. The packet goes to `batch` at the time of the fragment
    /// that completes it.
    pub(super) fn first(&mut self, mut packet: TcpPacket, net: &Net, batch: &mut Batch) {
        let Some(fragment) = net.fragment else { return batch.packets.push(packet) };
        let fits = (packet.header as u32 + packet.len).min(u16::MAX.into()) as u16;
        packet.fragments = PacketFragments { count: 1, is_partial: false, fits };
        if self.given_up > self.completed + ABANDONED_EXCESS {
            return batch.packets.push(packet);
        }
        self.give_up_expired(Some(packet.time), batch);
        let key = (net.src, net.dst, fragment.id);
        let place = self.place(key, packet.time, batch);
        let waiting = &mut self.waiting[place];
        if let Some((mut earlier, _)) = waiting.first.take() {
            // Transmitted twice, or the identification was reused.
            earlier.fragments.is_partial = self.completed > 0;
            batch.packets.push(earlier);
            (waiting.last, waiting.end, waiting.count) = (false, 0, 0);
        }
        waiting.first = Some((packet, fragment.len.saturating_sub(packet.len)));
        self.seen(place, fragment.len, false, packet.time, batch);
    }

    /// Handles a fragment other than the first.
    pub(super) fn later(&mut self, time: Time, net: &Net, batch: &mut Batch) {
        let Some(fragment) = net.fragment else { return };
        self.give_up_expired(Some(time), batch);
        let place = self.place((net.src, net.dst, fragment.id), time, batch);
        self.seen(place, fragment.offset.saturating_add(fragment.len), !fragment.more, time, batch);
    }

    /// Index of the entry for `key`, which is added if missing.
    fn place(&mut self, key: DatagramKey, time: Time, batch: &mut Batch) -> usize {
        if let Some(i) = self.waiting.iter().position(|w| w.key == key) {
            return i;
        }
        if self.waiting.len() == MAX_WAITING {
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

    /// Abandons packets whose fragments have timed out at `now`, or all packets if `now` is `None`.
    pub(super) fn give_up_expired(&mut self, now: Option<Time>, batch: &mut Batch) {
        while let Some(oldest) = self.waiting.front()
            && now.is_none_or(|now| now.since(oldest.since) > FRAGMENT_TIMEOUT)
        {
            self.give_up(batch);
        }
    }

    /// Abandons the oldest packet: returns it with the length known so far.
    fn give_up(&mut self, batch: &mut Batch) {
        if let Some(HeldFragments { first: Some((packet, header)), end, count, .. }) =
            self.waiting.pop_front()
        {
            // If no packet was completed, the capture lacks later fragments altogether.
            let fragments = PacketFragments { count, is_partial: self.completed > 0, ..packet.fragments };
            batch.packets.push(TcpPacket { len: end.saturating_sub(header), fragments, ..packet });
            self.given_up += 1;
        }
    }
}

/// The first fragment of a tunnel packet.
#[derive(Clone, Copy)]
pub(super) struct TunnelFragment {
    /// Bytes of the packet that the fragment holds.
    len: u32,
    /// Offset in the record of the packet's bytes.
    at: usize,
}

impl TunnelFragment {
    /// The fragment of an IP header that ends at `at`; `None` unless it is a first fragment.
    pub(super) fn of(fragment: Option<IpFragment>, at: usize) -> Option<TunnelFragment> {
        fragment.filter(|f| f.more && f.len > 0).map(|f| TunnelFragment { len: f.len, at })
    }

    /// Marks a TCP packet in the fragmented tunnel packet; its IP header begins at `start`.
    pub(super) fn mark(self, packet: &mut TcpPacket, start: usize) {
        let outside = start.saturating_sub(self.at) as u32;
        let whole = outside.saturating_add(packet.header.into()).saturating_add(packet.len);
        let count = whole.div_ceil(self.len).clamp(2, u8::MAX.into()) as u8;
        let fits = self.len.saturating_sub(outside).min(u16::MAX.into()) as u16;
        packet.fragments = PacketFragments { count, is_partial: false, fits };
    }
}
