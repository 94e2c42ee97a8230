//! The end of a tunnel: removes headers and reassembles the fragments that the entry made. It removes all
//! overhead of a packet, so that nested tunnels end together.

use crate::config::{Config, DisplayNames};
use crate::problem::Problem;
use crate::tunnel::IP;
use crate::{Account, Body, DropCause, Element, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use units::{Choices, Label, Span, Time};

/// The end of a tunnel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct TunnelEnd {
    /// How long an incomplete set of fragments is kept after its first arrival. Default 30 s (Linux
    /// `ipfrag_time`; RFC 791 recommends 15 s, RFC 8200 requires 60 s).
    pub timeout: Span,
}

impl Default for TunnelEnd {
    fn default() -> Self {
        TunnelEnd { timeout: Span::from_secs(30) }
    }
}

impl Config for TunnelEnd {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("tunnel-end", "隧道终点 tunnel-end"),
        one: Label::new("a tunnel's end", "隧道终点"),
        dropper: Label::new("the tunnel's end", "隧道终点"),
    };

    fn check(&self) -> Result<(), Problem> {
        if self.timeout.is_zero() {
            return Err(Problem::new("timeout", "must be above 0 (for example \"30s\")"));
        }
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, _seed: u64, _name: &str) -> Box<dyn Element<B>> {
        Box::new(TunnelEndElement {
            timeout: self.timeout,
            sets: BTreeMap::new(),
            deadlines: VecDeque::new(),
            serial: 0,
            account: Account::default(),
        })
    }

    fn draw(choices: &mut Choices) -> TunnelEnd {
        TunnelEnd { timeout: Span::from_millis(1 + choices.below(50)) }
    }
}

/// The fragments of one packet received so far.
struct FragmentSet<B> {
    serial: u64,
    since: Time,
    /// Sorted by index.
    pieces: Vec<Box<Packet<B>>>,
}

struct TunnelEndElement<B> {
    timeout: Span,
    sets: BTreeMap<u64, FragmentSet<B>>,
    /// Deadline, packet id and serial of each set, in order. Entries of completed sets are stale.
    deadlines: VecDeque<(Time, u64, u64)>,
    serial: u64,
    account: Account,
}

fn index<B>(packet: &Packet<B>) -> u8 {
    packet.fragment.map_or(0, |f| f.index)
}

impl<B: Body> TunnelEndElement<B> {
    fn expire(&mut self, now: Time, out: &mut Outbox<B>) {
        while let Some(&(deadline, id, serial)) = self.deadlines.front() {
            let alive = self.sets.get(&id).is_some_and(|set| set.serial == serial);
            if alive && deadline > now {
                break;
            }
            self.deadlines.pop_front();
            if alive && let Some(set) = self.sets.remove(&id) {
                for piece in set.pieces {
                    self.account.lose(out, deadline, piece, DropCause::Incomplete);
                }
            }
        }
    }

    /// Stores a fragment. Returns the whole packet and its first arrival if it is complete now.
    fn collect(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        count: u8,
        out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        let id = packet.id;
        let (serial, deadlines, timeout) = (&mut self.serial, &mut self.deadlines, self.timeout);
        let set = self.sets.entry(id).or_insert_with(|| {
            *serial += 1;
            deadlines.push_back((now + timeout, id, *serial));
            FragmentSet { serial: *serial, since: now, pieces: Vec::with_capacity(count as usize) }
        });
        match set.pieces.binary_search_by_key(&index(&packet), |piece| index(piece)) {
            Ok(_) => {
                self.account.lose(out, now, packet, DropCause::Incomplete);
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
            self.account.joined += 1;
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

impl<B: Body + Send> Element<B> for TunnelEndElement<B> {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
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
        // Removes the deadline of a completed set.
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
