//! A tunnel's two ends: the entry adds headers and cuts or bounces what no longer fits, the end
//! takes the headers off and joins the fragments.
//!
//! | `overhead` | bytes added to an inner packet of n bytes |
//! |---|---|
//! | a number | that many |
//! | `esp-aes-gcm` | RFC 4303 tunnel mode with RFC 4106: outer IPv4 20, NAT-T UDP 8 (optional, RFC 3948), SPI and sequence 8, IV 8, padding of n + 2 to a multiple of 4, trailer 2, ICV 16 |
//!
//! Fragments (RFC 791) are cut from the outer packet in multiples of 8 bytes, with 20 B of header
//! each. A packet that is already a fragment is not cut again but ends here. `tunnel-end` removes
//! all overhead a packet has: nested tunnels end together.

use crate::config::{Config, Problem, mtu_of_ip};
use crate::{Account, Body, Cause, Element, Fragment, Outbox, Packet};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// Which headers a tunnel adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Overhead {
    /// So many bytes per packet (GRE over IPv4: 24; WireGuard over IPv4: 60).
    Bytes(u32),
    /// By rule.
    Preset(Preset),
}

/// A rule for the overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// IPsec ESP in tunnel mode with AES-GCM.
    EspAesGcm,
}

/// A tunnel's entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// Bytes per packet, or `"esp-aes-gcm"`.
    pub overhead: Overhead,
    /// With `esp-aes-gcm`: 8 bytes of UDP for NAT traversal (RFC 3948). Default false.
    #[serde(default)]
    pub nat_traversal: bool,
    /// Largest outer packet in bytes; left out: any size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Cut outer packets that are too big; default: bounce them ("packet too big" with the
    /// largest inner size that fits).
    #[serde(default)]
    pub fragment: bool,
}

/// IPv4 header without options.
const IP: u32 = 20;

impl Tunnel {
    /// ESP's bytes besides padding: outer IP, UDP, SPI, sequence, IV, ICV.
    fn esp_fixed(&self) -> u32 {
        IP + if self.nat_traversal { 8 } else { 0 } + 8 + 8 + 16
    }

    /// The outer size of an inner packet.
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

    /// The largest inner packet whose outer size is at most `mtu`.
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
    fn check(&self) -> Result<(), Problem> {
        mtu_of_ip(self.mtu)?;
        if self.nat_traversal && matches!(self.overhead, Overhead::Bytes(_)) {
            return Err(Problem::new("nat_traversal", "belongs to overhead = \"esp-aes-gcm\" only"));
        }
        if self.fragment && self.mtu.is_none() {
            return Err(Problem::new("fragment", "needs an `mtu` (for example 1500)"));
        }
        if self.mtu.is_some_and(|mtu| self.largest_inner(mtu) < 68) {
            return Err(Problem::new("mtu", "leaves less than 68 bytes for inner packets"));
        }
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, _seed: u64, _name: &str) -> Box<dyn Element<B>> {
        Box::new(Entry { config: self.clone(), account: Account::default() })
    }
}

struct Entry {
    config: Tunnel,
    account: Account,
}

impl Entry {
    fn cut<B: Body>(&mut self, now: Time, whole: Packet<B>, mtu: u32, out: &mut Outbox<B>) {
        // RFC 791 section 3.2: all fragments but the last carry a multiple of 8 bytes.
        let (payload, most) = (whole.size - IP, (mtu - IP) & !7);
        let count = payload.div_ceil(most);
        let Ok(count) = u8::try_from(count) else {
            return self.account.lose(out, now, whole, Cause::TooBig);
        };
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

impl<B: Body + Send> Element<B> for Entry {
    fn handle_packet(&mut self, now: Time, mut packet: Packet<B>, out: &mut Outbox<B>) {
        self.account.enter();
        let outer = self.config.outer(packet.size);
        let exceeded = self.config.mtu.filter(|&mtu| outer > mtu);
        if let Some(mtu) = exceeded {
            if !self.config.fragment {
                let inner = self.config.largest_inner(mtu);
                return self.account.bounce(out, now, packet, inner);
            }
            if packet.fragment.is_some() {
                return self.account.lose(out, now, packet, Cause::TooBig);
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

/// A tunnel's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TunnelEnd {
    /// How long an incomplete set of fragments is kept, from its first arrival. Default 30 s
    /// (Linux `ipfrag_time`; RFC 791 advises 15 s, RFC 8200 demands 60 s).
    pub timeout: Span,
}

impl Default for TunnelEnd {
    fn default() -> Self {
        TunnelEnd { timeout: Span::from_secs(30) }
    }
}

impl Config for TunnelEnd {
    fn check(&self) -> Result<(), Problem> {
        if self.timeout.is_zero() {
            return Err(Problem::new("timeout", "must be longer than 0 (\"30s\")"));
        }
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, _seed: u64, _name: &str) -> Box<dyn Element<B>> {
        Box::new(End {
            timeout: self.timeout,
            sets: BTreeMap::new(),
            deadlines: VecDeque::new(),
            serial: 0,
            account: Account::default(),
        })
    }
}

/// The fragments of one packet so far.
struct Set<B> {
    serial: u64,
    since: Time,
    /// Sorted by index.
    pieces: Vec<Packet<B>>,
}

struct End<B> {
    timeout: Span,
    sets: BTreeMap<u64, Set<B>>,
    /// Deadline, packet and serial of sets, in order; those of completed sets are stale.
    deadlines: VecDeque<(Time, u64, u64)>,
    serial: u64,
    account: Account,
}

fn index<B>(packet: &Packet<B>) -> u8 {
    packet.fragment.map_or(0, |f| f.index)
}

impl<B: Body> End<B> {
    fn expire(&mut self, now: Time, out: &mut Outbox<B>) {
        while let Some(&(deadline, id, serial)) = self.deadlines.front() {
            let alive = self.sets.get(&id).is_some_and(|set| set.serial == serial);
            if alive && deadline > now {
                break;
            }
            self.deadlines.pop_front();
            if alive && let Some(set) = self.sets.remove(&id) {
                for piece in set.pieces {
                    self.account.lose(out, deadline, piece, Cause::TooBig);
                }
            }
        }
    }

    /// Keeps a fragment; returns the whole packet and its first arrival when it was the last.
    fn collect(
        &mut self,
        now: Time,
        packet: Packet<B>,
        count: u8,
        out: &mut Outbox<B>,
    ) -> Option<(Time, Packet<B>)> {
        let id = packet.id;
        let (serial, deadlines, timeout) = (&mut self.serial, &mut self.deadlines, self.timeout);
        let set = self.sets.entry(id).or_insert_with(|| {
            *serial += 1;
            deadlines.push_back((now + timeout, id, *serial));
            Set { serial: *serial, since: now, pieces: Vec::with_capacity(count as usize) }
        });
        match set.pieces.binary_search_by_key(&index(&packet), index) {
            Ok(_) => {
                self.account.lose(out, now, packet, Cause::TooBig);
                return None;
            }
            Err(place) => set.pieces.insert(place, packet),
        }
        if set.pieces.len() < count as usize {
            return None;
        }
        let set = self.sets.remove(&id)?;
        let mut pieces = set.pieces.into_iter();
        let mut whole = pieces.next()?;
        whole.fragment = None;
        for piece in pieces {
            self.account.held -= 1;
            self.account.dropped += 1;
            whole.size += piece.size.saturating_sub(IP);
            whole.overhead += piece.overhead.saturating_sub(IP);
            if piece.ecn == crate::Ecn::Ce {
                whole.ecn = piece.ecn; // RFC 3168 section 5.3
            }
            whole.body.join(piece.body);
        }
        Some((set.since, whole))
    }
}

impl<B: Body + Send> Element<B> for End<B> {
    fn handle_packet(&mut self, now: Time, packet: Packet<B>, out: &mut Outbox<B>) {
        self.expire(now, out);
        self.account.enter();
        let whole = match packet.fragment {
            Some(fragment) if fragment.count > 1 => self.collect(now, packet, fragment.count, out),
            _ => Some((now, packet)),
        };
        if let Some((since, mut packet)) = whole {
            packet.size -= packet.overhead.min(packet.size);
            packet.overhead = 0;
            self.account.send(out, since, now, packet);
        }
        // Completed sets leave their deadlines behind.
        self.expire(now, out);
    }

    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        self.expire(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.deadlines.front().map(|d| d.0)
    }

    fn account(&self) -> Account {
        self.account
    }
}
