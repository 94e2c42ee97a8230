//! Drops that may be due to the emulator's lateness and not to the path.
//!
//! The emulator holds packets up when it takes them late (it was busy) or delivers them late (it woke late). What was held
//! up then moves on at once. A bucket or a queue that holds less than what comes at its rate in that time has no room for
//! all of such a bunch. A bunch stays one through the elements of a link, at a host that forwards it, and in what a host
//! sends in answer to it, as ACKs and the data that they release.
//!
//! Only drops for want of room count ([`DropCause::Policed`], [`DropCause::Overflow`]): elements that lose packets at random
//! or by a script do so however punctual packets are.

use path::DropCause;
use scenario::Scenario;
use std::collections::BTreeMap;
use units::{Span, Time};

/// A full packet, bytes of IP.
const FULL_PACKET: u64 = 1500;
/// How long a host may take to answer what it was delivered.
const REACTION: Span = Span::from_millis(1);
/// Packets under way that are remembered, at most.
const MAX_HELD: usize = 1 << 16;

/// For how long a host's packets were held up, and until when it sends what that causes.
#[derive(Clone, Copy, Default)]
struct HeldHost {
    held: Span,
    until: Time,
}

/// The bunches under way, and what was dropped of them.
pub struct Bunches {
    /// By direction of a link: for how long its shallowest bucket or queue takes full packets at its rate.
    depths: Vec<Option<Span>>,
    /// The shallowest of all.
    shallowest: Option<Span>,
    hosts: Vec<HeldHost>,
    /// By packet number: for how long it was held up.
    held: BTreeMap<u64, Span>,
    /// Packets of bunches that found no room.
    pub dropped: u64,
}

impl Bunches {
    /// None yet.
    pub fn new(scenario: &Scenario) -> Bunches {
        let directions = scenario.links.iter().flat_map(|l| [&l.forward, &l.backward]);
        let depths: Vec<Option<Span>> =
            directions.map(|stages| stages.iter().filter_map(|s| s.stage.depth(FULL_PACKET)).min()).collect();
        Bunches {
            shallowest: depths.iter().flatten().min().copied(),
            depths,
            hosts: vec![HeldHost::default(); scenario.hosts.len()],
            held: BTreeMap::new(),
            dropped: 0,
        }
    }

    /// `host` has sent a packet, which waited at most so long until it was taken.
    #[inline]
    pub fn enter(&mut self, now: Time, host: usize, packet: u64, waited: Span) {
        let Some(shallowest) = self.shallowest else { return };
        let HeldHost { held, until } = self.hosts[host];
        let held = if now <= until { held.max(waited) } else { waited };
        if held > shallowest {
            self.held.insert(packet, held);
            if self.held.len() > MAX_HELD {
                self.held.pop_first();
            }
        }
    }

    /// A packet is delivered to `host`, so late; it is forwarded from there unless `is_last`.
    #[inline]
    pub fn leave(&mut self, now: Time, host: usize, packet: u64, late: Span, is_last: impl FnOnce() -> bool) {
        let Some(shallowest) = self.shallowest else { return };
        let before = if self.held.is_empty() { None } else { self.held.remove(&packet) };
        let held = late.max(before.filter(|_| !is_last()).unwrap_or(Span::ZERO));
        if held > shallowest {
            let host = &mut self.hosts[host];
            let still = if now <= host.until { host.held } else { Span::ZERO };
            *host = HeldHost { held: held.max(still), until: now + held + REACTION };
        }
    }

    /// A packet was dropped in a direction of a link.
    #[inline]
    pub fn drop(&mut self, direction: usize, packet: u64, cause: DropCause) {
        let held = if self.held.is_empty() { None } else { self.held.remove(&packet) };
        let by_room = matches!(cause, DropCause::Policed | DropCause::Overflow);
        let too_deep = held.zip(self.depths[direction]).is_some_and(|(held, depth)| held > depth);
        self.dropped += u64::from(by_room && too_deep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policer that holds 4 ms at its rate and a queue that holds 40, one link each, and random loss.
    fn bunches() -> Bunches {
        let text = r#"
            [links.near]
            between = ["a", "b"]
            forward = [{ kind = "loss", probability = 0.1 }, { kind = "policer", rate = "24Mbit/s", burst = "12kB" }]
            [links.far]
            between = ["b", "c"]
            forward = [{ kind = "link", rate = "12Mbit/s", queue = { kind = "fifo", packets = 40 } }]
            [flows.f]
            from = "a"
            to = "c"
        "#;
        let all = scenario::Experiment::parse("t.toml", text, &[]).unwrap().variants;
        Bunches::new(&all[0].scenario)
    }

    const NEAR: usize = 0;
    const FAR: usize = 2;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    fn at(t: u64) -> Time {
        Time::ZERO + ms(t)
    }

    #[test]
    fn what_was_held_longer_than_a_bucket_lasts_may_be_dropped_for_it() {
        let mut b = bunches();
        for (packet, waited) in [(1, ms(5)), (2, ms(3)), (3, ms(5)), (4, ms(5))] {
            b.enter(at(10), 0, packet, waited);
        }
        b.drop(NEAR, 1, DropCause::Policed);
        assert_eq!(b.dropped, 1);
        b.drop(NEAR, 2, DropCause::Policed);
        assert_eq!(b.dropped, 1, "3 ms of packets are in the bucket's 4");
        b.drop(NEAR, 3, DropCause::Loss);
        assert_eq!(b.dropped, 1, "lost by design");
        b.leave(at(10), 1, 4, Span::ZERO, || false);
        b.enter(at(10), 1, 5, Span::ZERO);
        b.drop(FAR, 5, DropCause::Overflow);
        assert_eq!(b.dropped, 1, "5 ms of packets are in the queue's 40");
        b.drop(NEAR, 9, DropCause::Policed);
        assert_eq!(b.dropped, 1, "it was never held up");
    }

    #[test]
    fn a_bunch_moves_on_and_ends() {
        let mut b = bunches();
        // Delivered 50 ms late: what the host forwards or sends in answer to it comes in a bunch.
        b.leave(at(100), 1, 1, ms(50), || true);
        b.enter(at(101), 1, 2, Span::ZERO);
        b.drop(FAR, 2, DropCause::Overflow);
        assert_eq!(b.dropped, 1);
        // Held up before an earlier link, and forwarded.
        b.enter(at(200), 0, 3, ms(50));
        b.leave(at(210), 1, 3, Span::ZERO, || false);
        b.enter(at(210), 1, 4, Span::ZERO);
        b.drop(FAR, 4, DropCause::Overflow);
        assert_eq!(b.dropped, 2);
        // A host that is the last has it in its own time; and 51 ms later all is as ever.
        b.enter(at(400), 0, 5, ms(50));
        b.leave(at(410), 1, 5, Span::ZERO, || true);
        b.enter(at(410), 1, 6, Span::ZERO);
        b.drop(FAR, 6, DropCause::Overflow);
        b.enter(at(262), 1, 7, Span::ZERO);
        b.drop(FAR, 7, DropCause::Overflow);
        assert_eq!(b.dropped, 2);
        assert!(b.held.is_empty(), "nothing is remembered of what has left");
    }

    #[test]
    fn a_path_without_buckets_has_no_bunches() {
        let text = "[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{ kind = \"delay\", delay = \"5ms\" }, \
                    { kind = \"loss\", probability = 0.1 }]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n";
        let all = scenario::Experiment::parse("t.toml", text, &[]).unwrap().variants;
        let mut b = Bunches::new(&all[0].scenario);
        b.enter(at(0), 0, 1, ms(900));
        b.drop(0, 1, DropCause::Loss);
        assert!(b.dropped == 0 && b.held.is_empty());
    }
}
