//! From the first byte of a record inwards: link layers, tunnels, IP, TCP.

use super::fragment::{Fragments, TunnelFragment};
use super::ip::{self, Net};
use super::link::wifi::{self, WifiSenders, WifiSequence};
use super::tally::{Other, ProtocolTally, Tunnel};
use super::{Batch, link, tcp, tunnel, udp};
use units::Time;

/// Layers looked into before a record is given up.
const MOST_LAYERS: usize = 24;

/// A record and the place in it that is being read.
pub(super) struct Walk<'a> {
    /// What was captured.
    pub(super) bytes: &'a [u8],
    /// Length on the wire.
    pub(super) wire: usize,
    /// The next header.
    pub(super) at: usize,
    /// Bytes before this one were never on the wire of the packet: the capture's own headers.
    pub(super) base: usize,
    /// Tunnels passed, a bit each.
    tunnels: u32,
    /// The innermost tunnel's packet is fragmented.
    cut: Option<TunnelFragment>,
    /// A port number alone said that there is a tunnel.
    pub(super) guessed: bool,
    /// What an 802.11 frame is told from its repetition by.
    pub(super) sequence: Option<WifiSequence>,
    /// Another frame of the same record begins here.
    pub(super) following: Option<usize>,
}

impl<'a> Walk<'a> {
    /// A record of which nothing was read yet.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], wire: u32) -> Walk<'a> {
        let (wire, at, base) = (wire as usize, 0, 0);
        Walk { bytes, wire, at, base, tunnels: 0, cut: None, guessed: false, sequence: None, following: None }
    }

    /// The same record, to look at what stands at `at`.
    pub(super) fn look(&self, at: usize) -> Walk<'a> {
        Walk { at, ..*self }
    }

    /// The `N` bytes at `at`.
    #[inline]
    pub(super) fn header<const N: usize>(&self, at: usize) -> Result<&'a [u8; N], Other> {
        match self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(bytes) => Ok(bytes),
            None => Err(self.missing(at + N)),
        }
    }

    /// The `N` bytes at `at`, few of them.
    #[inline]
    pub(super) fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], Other> {
        self.header(at).copied()
    }

    /// Why there are no bytes up to `end`.
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

/// What stands at [`Walk::at`].
pub(super) enum Layer {
    /// A MAC header.
    Ethernet,
    /// What this EtherType says.
    Type(u16),
    /// PPP, from its address or its protocol field on.
    Ppp,
    /// An MPLS label stack.
    Mpls,
    /// IP of either version.
    Ip,
}

/// What a record turned out to be.
enum FoundProtocol {
    Tcp,
    Udp,
    Fragment,
}

/// Reads records, keeps what outlives one.
#[derive(Default)]
pub(super) struct Walker {
    pub(super) tally: ProtocolTally,
    fragments: Fragments,
    senders: WifiSenders,
}

impl Walker {
    /// One record: TCP packets go to `batch`, everything is counted.
    #[inline]
    pub(super) fn record(&mut self, link: u16, time: Time, bytes: &[u8], wire: u32, batch: &mut Batch) {
        if link == link::ETHERNET && plain(time, bytes, wire, batch) {
            self.tally.tcp += 1;
            return;
        }
        self.any(link, time, bytes, wire, batch);
    }

    /// One record of whatever kind.
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

    /// The first layer; not that of a frame sent again.
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

    /// A frame from its first layer on; it is counted.
    #[inline]
    fn layers(&mut self, first: Result<Layer, Other>, time: Time, walk: &mut Walk, batch: &mut Batch) {
        let found = first.and_then(|layer| self.walk(layer, time, walk, batch));
        if matches!(found, Err(Other::Bad | Other::EtherType | Other::Llc)) && walk.guessed {
            // No frame: the port number misled us.
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
        for _ in 0..MOST_LAYERS {
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

    /// What an IP packet carries.
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

    /// Gives up fragments that have waited for too long at `now`, or all of them.
    pub(super) fn settle(&mut self, now: Option<Time>, batch: &mut Batch) {
        self.fragments.settle(now, batch);
    }
}

/// Reads what most records are: TCP in IPv4 in Ethernet, nothing else around it. Where one is not, or is damaged, says
/// false, and has done nothing.
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
