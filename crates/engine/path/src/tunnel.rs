//! The entry of a tunnel: adds headers, and fragments or bounces packets that become too big.
//!
//! | `overhead` | bytes added to an inner packet of n bytes |
//! |---|---|
//! | a number | that number |
//! | `esp-aes-gcm` | RFC 4303 tunnel mode with RFC 4106: outer IPv4 20, NAT-T UDP 8 (optional, RFC 3948), SPI and sequence 8, IV 8, padding of n + 2 to a multiple of 4, trailer 2, ICV 16 |
//!
//! Fragments (RFC 791) of the outer packet carry multiples of 8 bytes and have 20 B of header each. A packet
//! that is already a fragment is not fragmented again but dropped.

use crate::config::{Config, DisplayNames, misplaced};
use crate::problem::Problem;
use crate::{Account, Body, DropCause, Element, Fragment, Outbox, Packet, SizeLimit, size_limit};
use serde::{Deserialize, Serialize};
use units::{Choices, Label, Span, Time};

/// The headers that a tunnel adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Overhead {
    /// A fixed number of bytes per packet (GRE over IPv4: 24; WireGuard over IPv4: 60).
    Bytes(u32),
    /// Computed for a protocol.
    Preset(Preset),
}

/// A protocol with a computed overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// IPsec ESP in tunnel mode with AES-GCM.
    EspAesGcm,
}

/// The entry of a tunnel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// Bytes per packet, or `"esp-aes-gcm"`.
    pub overhead: Overhead,
    /// With `esp-aes-gcm`: add 8 bytes of UDP header for NAT traversal (RFC 3948). Default false.
    #[serde(default)]
    pub nat_traversal: bool,
    /// Largest outer packet in bytes. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether senders of larger packets get ICMP "fragmentation needed" (RFC 1191). Default true. False
    /// models a path MTU black hole, as behind `no ip unreachables` or a firewall that blocks ICMP (RFC 2923
    /// section 2.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub icmp: Option<bool>,
    /// Fragment outer packets that are too big. Default false: bounce them ("packet too big" with the
    /// largest inner size that fits).
    #[serde(default)]
    pub fragment: bool,
}

/// Length of an IPv4 header without options, bytes.
pub(crate) const IP: u32 = 20;

impl Tunnel {
    /// Overhead of ESP without padding and trailer: outer IP, UDP, SPI, sequence number, IV, ICV.
    fn esp_fixed(&self) -> u32 {
        IP + if self.nat_traversal { 8 } else { 0 } + 8 + 8 + 16
    }

    /// The outer size of an inner packet, bytes.
    pub fn outer(&self, inner: u32) -> u32 {
        match self.overhead {
            Overhead::Bytes(n) => inner.saturating_add(n),
            // RFC 4303 section 2.4: padded so that the trailer's 2 bytes end on 4.
            Overhead::Preset(Preset::EspAesGcm) => inner
                .saturating_add(2)
                .checked_next_multiple_of(4)
                .unwrap_or(u32::MAX)
                .saturating_add(self.esp_fixed()),
        }
    }

    /// The largest inner packet with an outer size of at most `mtu`, bytes.
    pub fn largest_inner(&self, mtu: u32) -> u32 {
        match self.overhead {
            Overhead::Bytes(n) => mtu.saturating_sub(n),
            Overhead::Preset(Preset::EspAesGcm) => {
                (mtu.saturating_sub(self.esp_fixed()) & !3).saturating_sub(2)
            }
        }
    }
}

impl Config for Tunnel {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("tunnel", "隧道 tunnel"),
        one: Label::new("a tunnel", "隧道"),
        dropper: Label::new("the tunnel", "隧道"),
    };

    fn check(&self) -> Result<(), Problem> {
        size_limit::check(self.mtu, self.icmp)?;
        misplaced("icmp", self.fragment && self.icmp.is_some(), "a tunnel that does not `fragment`")?;
        if self.nat_traversal && matches!(self.overhead, Overhead::Bytes(_)) {
            return Err(Problem::new("nat_traversal", "applies only to overhead = \"esp-aes-gcm\""));
        }
        if self.fragment && self.mtu.is_none() {
            return Err(Problem::new("fragment", "requires `mtu` (for example 1500)"));
        }
        if self.mtu.is_some_and(|mtu| self.largest_inner(mtu) < 68) {
            return Err(Problem::new("mtu", "leaves less than 68 bytes for inner packets"));
        }
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, _seed: u64, _name: &str) -> Box<dyn Element<B>> {
        Box::new(TunnelEntry { config: self.clone(), account: Account::default() })
    }

    fn draw(choices: &mut Choices) -> Tunnel {
        let esp = choices.coin();
        let mtu = choices.maybe(|c| 576 + c.below(1500) as u32);
        let fragment = mtu.is_some() && choices.coin();
        Tunnel {
            overhead: if esp { Overhead::Preset(Preset::EspAesGcm) } else { Overhead::Bytes(24) },
            nat_traversal: esp && choices.coin(),
            mtu,
            icmp: mtu.filter(|_| !fragment).and_then(|_| choices.maybe(Choices::coin)),
            fragment,
        }
    }
}

struct TunnelEntry {
    config: Tunnel,
    account: Account,
}

impl TunnelEntry {
    fn cut<B: Body>(&mut self, now: Time, whole: Box<Packet<B>>, mtu: u32, out: &mut Outbox<B>) {
        // RFC 791 section 3.2: all fragments but the last carry a multiple of 8 bytes.
        let (payload, most) = (whole.size - IP, (mtu - IP) & !7);
        let count = payload.div_ceil(most);
        let Ok(count) = u8::try_from(count) else {
            return self.account.lose(out, now, whole, DropCause::TooBig);
        };
        self.account.cut += 1;
        self.account.copies += count as u64 - 1;
        self.account.held += count as u64 - 1;
        for index in 0..count {
            let offset = index as u32 * most;
            let len = most.min(payload - offset);
            let mut piece = whole.clone();
            piece.body = whole.body.fragment(offset, len);
            piece.size = IP + len;
            piece.overhead = if index == 0 { whole.overhead } else { IP };
            piece.fragment = Some(Fragment { index, count });
            self.account.send(out, now, now, piece);
        }
    }
}

impl<B: Body + Send> Element<B> for TunnelEntry {
    fn handle_packet(&mut self, now: Time, mut packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        self.account.enter();
        let outer = self.config.outer(packet.size);
        let exceeded = self.config.mtu.filter(|&mtu| outer > mtu);
        if let Some(mtu) = exceeded {
            if !self.config.fragment {
                let inner = SizeLimit::new(Some(self.config.largest_inner(mtu)), self.config.icmp);
                return self.account.refuse(out, now, packet, inner);
            }
            if packet.fragment.is_some() {
                return self.account.lose(out, now, packet, DropCause::TooBig);
            }
        }
        packet.overhead += outer - packet.size;
        packet.size = outer;
        match exceeded {
            Some(mtu) => self.cut(now, packet, mtu, out),
            None => self.account.send(out, now, now, packet),
        }
    }

    fn handle_wake(&mut self, _now: Time, _out: &mut Outbox<B>) {}

    fn next_wake(&self) -> Option<Time> {
        None
    }

    fn least_delay(&self) -> Option<Span> {
        None
    }

    fn account(&self) -> Account {
        self.account
    }
}
