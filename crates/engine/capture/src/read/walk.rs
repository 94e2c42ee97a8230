//! Parsing of a record from outside to inside: link layers, tunnels, IP, TCP.

use super::fragment::{Fragments, TunnelFragment};
use super::ip::{self, Net};
use super::link::wifi::{self, WifiSenders, WifiSequence};
use super::tally::{Other, ProtocolTally, Tunnel};
use super::{Batch, link, tcp, tunnel, udp};
use units::Time;

/// Number of layers after which a record is given up.
const MAX_LAYERS: usize = 24;

/// A record with the current parsing position.
pub(super) struct Walk<'a> {
    /// The captured bytes.
    pub(super) bytes: &'a [u8],
    /// Length on the wire.
    pub(super) wire: usize,
    /// Offset of the next header.
    pub(super) at: usize,
    /// Offset of the first byte that was on the packet's link; before it are headers of the capture.
    pub(super) base: usize,
    /// Tunnels passed, one bit each.
    tunnels: u32,
    /// Fragment of the innermost tunnel's packet, if that is fragmented.
    cut: Option<TunnelFragment>,
    /// Whether a tunnel was assumed because of a port number only.
    pub(super) guessed: bool,
    /// Identification of an 802.11 frame, to recognise its retransmissions.
    pub(super) sequence: Option<WifiSequence>,
    /// Offset of another frame in the same record.
    pub(super) following: Option<usize>,
}

impl<'a> Walk<'a> {
    /// Starts parsing a record.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], wire: u32) -> Walk<'a> {
        let (wire, at, base) = (wire as usize, 0, 0);
        Walk { bytes, wire, at, base, tunnels: 0, cut: None, guessed: false, sequence: None, following: None }
    }

    /// A separate walk over the record that starts at `at`.
    pub(super) fn look(&self, at: usize) -> Walk<'a> {
        Walk { at, ..*self }
    }

    /// A reference to the `N` bytes at `at`.
    #[inline]
    pub(super) fn header<const N: usize>(&self, at: usize) -> Result<&'a [u8; N], Other> {
        match self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => Ok(bytes),
            None => Err(self.missing(at + N)),
        }
    }

    /// A copy of the `N` bytes at `at`, for small `N`.
    #[inline]
    pub(super) fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Other> {
        self.header(at).copied()
    }

    /// Why the bytes up to `end` are missing: a bad header, or a truncated capture.
    #[cold]
    fn missing(&self, end: usize) -> Other {
        if end > self.wire { Other::Bad } else { Other::Cut }
    }

    #[inline]
    pub(super) fn u16(&self, at: usize) -> Result<u16, Other> {
        Ok(u16::from_be_bytes(self.array(at)?))
    }

    pub(super) fn enter(&mut self, tunnel: Tunnel) {
        self.tunnels |= 1 << tunnel as u32;
    }
}

/// The type of header at [`Walk::at`].
pub(super) enum Layer {
    /// An Ethernet MAC header.
    Ethernet,
    /// The payload of this EtherType.
    Type(u16),
    /// PPP, starting with its address or protocol field.
    Ppp,
    /// An MPLS label stack.
    Mpls,
    /// IP of either version.
    Ip,
}

/// Protocol found in a record.
enum FoundProtocol {
    Tcp,
    Udp,
    Fragment,
}

/// Parses records, and keeps the state across records.
#[derive(Default)]
pub(super) struct Walker {
    pub(super) tally: ProtocolTally,
    fragments: Fragments,
    senders: WifiSenders,
}

impl Walker {
    /// Parses a record: TCP packets go to `batch`, and all records are counted.
    #[inline]
    pub(super) fn record(&mut self, link: u16, time: Time, bytes: &[u8], wire: u32, batch: &mut Batch) {
        if link == link::ETHERNET && plain(time, bytes, wire, batch) {
            self.tally.tcp += 1;
            return;
        }
        self.any(link, time, bytes, wire, batch);
    }

    /// Parses a record of any kind.
    #[inline(never)]
    fn any(&mut self, link: u16, time: Time, bytes: &[u8], wire: u32, batch: &mut Batch) {
        let mut walk = Walk::new(bytes, wire);
        let first = self.outermost(link, &mut walk);
        self.layers(first, time, &mut walk, batch);
        while let Some(at) = walk.following {
            walk = Walk { at, ..Walk::new(bytes, wire) };
            self.tally.further += 1;
            let first = wifi::subframe(&mut walk);
            self.layers(first, time, &mut walk, batch);
        }
    }

    /// The outermost layer; an error for a retransmitted 802.11 frame.
    fn outermost(&mut self, link: u16, w: &mut Walk) -> Result<Layer, Other> {
        let layer = link::outermost(w, link);
        match w.sequence {
            Some(frame) if self.senders.repeats(frame) => {
                w.following = None;
                Err(Other::WifiRepeated)
            }
            _ => layer,
        }
    }

    /// Parses a frame, starting with its first layer, and counts it.
    #[inline]
    fn layers(&mut self, first: Result<Layer, Other>, time: Time, walk: &mut Walk, batch: &mut Batch) {
        let found = first.and_then(|layer| self.walk(layer, time, walk, batch));
        if matches!(found, Err(Other::Bad | Other::EtherType | Other::Llc)) && walk.guessed {
            // Not a frame: the port number was misleading.
            self.tally.udp += 1;
            return;
        }
        if walk.tunnels != 0 {
            self.tally.tunnels(walk.tunnels);
        }
        match found {
            Ok(FoundProtocol::Tcp) => self.tally.tcp += 1,
            Ok(FoundProtocol::Udp) => self.tally.udp += 1,
            Ok(FoundProtocol::Fragment) => self.tally.fragments += 1,
            Err(why) => self.tally.other(why),
        }
    }

    #[inline]
    fn walk(
        &mut self,
        mut layer: Layer,
        time: Time,
        w: &mut Walk,
        batch: &mut Batch,
    ) -> Result<FoundProtocol, Other> {
        for _ in 0..MAX_LAYERS {
            layer = match layer {
                Layer::Ethernet => link::ethernet(w)?,
                Layer::Type(kind) => link::ethertype(w, kind)?,
                Layer::Ppp => link::ppp(w)?,
                Layer::Mpls => link::mpls(w)?,
                Layer::Ip => {
                    let net = ip::parse(w)?;
                    match self.inside(time, &net, w, batch)? {
                        Inside::Layer(next) => next,
                        Inside::Found(found) => return Ok(found),
                    }
                }
            }
        }
        Err(Other::Deep)
    }

    /// Parses the contents of an IP packet.
    #[inline]
    fn inside(&mut self, time: Time, net: &Net, w: &mut Walk, batch: &mut Batch) -> Result<Inside, Other> {
        if net.fragment.is_some_and(|f| f.offset > 0) {
            if net.protocol == ip::TCP || net.protocol == ip::DESTINATION {
                self.fragments.later(time, net, batch);
            }
            return Ok(Inside::Found(FoundProtocol::Fragment));
        }
        if net.protocol == ip::TCP {
            tcp::packet(time, net, w, &mut batch.packets)?;
            if net.fragment.is_some()
                && let Some(packet) = batch.packets.pop()
            {
                self.fragments.first(packet, net, batch);
            } else if let Some((cut, packet)) = w.cut.zip(batch.packets.last_mut()) {
                cut.mark(packet, net.start);
            }
            return Ok(Inside::Found(FoundProtocol::Tcp));
        }
        w.cut = TunnelFragment::of(net.fragment, w.at).or(w.cut);
        if net.protocol == ip::UDP {
            return Ok(match tunnel::udp(w)? {
                Some(next) => Inside::Layer(next),
                None => {
                    batch.datagrams.push(udp::datagram(time, net, w)?);
                    Inside::Found(FoundProtocol::Udp)
                }
            });
        }
        if net.protocol == ip::ICMP || net.protocol == ip::ICMP6 {
            batch.reports.extend(tcp::report(time, batch.packets.len(), net, w));
        }
        tunnel::ip(w, net).map(Inside::Layer)
    }

    /// Gives up packets whose fragments have timed out at `now`, or all packets if `now` is `None`.
    pub(super) fn give_up_fragments(&mut self, now: Option<Time>, batch: &mut Batch) {
        self.fragments.give_up_expired(now, batch);
    }
}

/// Fast path for most records: TCP in IPv4 in Ethernet without anything else. Returns `false`, without any
/// effect, if the record is different or damaged.
#[inline(always)]
fn plain(time: Time, bytes: &[u8], wire: u32, batch: &mut Batch) -> bool {
    let Some(net) = bytes.first_chunk().and_then(ip::plain) else { return false };
    let walk = Walk { at: ip::PLAIN, ..Walk::new(bytes, wire) };
    tcp::packet(time, &net, &walk, &mut batch.packets).is_ok()
}

enum Inside {
    Layer(Layer),
    Found(FoundProtocol),
}
