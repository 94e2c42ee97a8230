//! Counts drops that the emulator's lateness may have caused, and not the path.
//!
//! The emulator delays packets when it reads them late (it was busy) or delivers them late (it woke up late).
//! Delayed packets then leave in a burst. A bucket or a queue that holds less than what arrives at its rate
//! in that time has no room for the whole burst. A burst remains one through the elements of a link, at a
//! host that forwards it, and in the packets that a host sends in response, such as ACKs and the data that
//! they release.
//!
//! Only drops for lack of room count ([`DropCause::Policed`], [`DropCause::Overflow`]): elements that drop
//! packets at random or by a script do so whatever the timing.

use path::DropCause;
use scenario::Scenario;
use std::collections::BTreeMap;
use units::{Span, Time};

/// Full-sized IP packet, bytes.
const FULL_PACKET: u64 = 1500;
/// Time in which a host responds to delivered packets.
const REACTION: Span = Span::from_millis(1);
/// Maximum number of delayed packets to remember.
const MAX_DELAYED: usize = 1 << 16;

/// How long a host's packets were delayed, and when the host stops sending packets in response.
#[derive(Clone, Copy, Default)]
struct DelayedHost {
    delay: Span,
    until: Time,
}

/// The bursts in flight, and the drops among them.
pub struct EmulatorBursts {
    /// By direction of a link: how long its smallest bucket or queue can accept full packets beyond its
    /// rate.
    depths: Vec<Option<Span>>,
    /// The smallest of [`Self::depths`].
    shallowest: Option<Span>,
    hosts: Vec<DelayedHost>,
    /// Delay by packet number.
    delay: BTreeMap<u64, Span>,
    /// Packets of delayed bursts that were dropped for lack of room.
    pub dropped: u64,
}

impl EmulatorBursts {
    pub fn new(scenario: &Scenario) -> EmulatorBursts {
        let directions = scenario.links.iter().flat_map(|l| [&l.forward, &l.backward]);
        let depths: Vec<Option<Span>> =
            directions.map(|stages| stages.iter().filter_map(|s| s.stage.depth(FULL_PACKET)).min()).collect();
        EmulatorBursts {
            shallowest: depths.iter().flatten().min().copied(),
            depths,
            hosts: vec![DelayedHost::default(); scenario.hosts.len()],
            delay: BTreeMap::new(),
            dropped: 0,
        }
    }

    /// Records a packet that `host` sent and that waited at most `waited` until it was read.
    #[inline]
    pub fn enter(&mut self, now: Time, host: usize, packet: u64, waited: Span) {
        let Some(shallowest) = self.shallowest else { return };
        let DelayedHost { delay, until } = self.hosts[host];
        let delay = if now <= until { delay.max(waited) } else { waited };
        if delay > shallowest {
            self.delay.insert(packet, delay);
            if self.delay.len() > MAX_DELAYED {
                self.delay.pop_first();
            }
        }
    }

    /// Records that a packet is delivered to `host`, `late` after its schedule; it is forwarded from there
    /// unless `is_last`.
    #[inline]
    pub fn leave(&mut self, now: Time, host: usize, packet: u64, late: Span, is_last: impl FnOnce() -> bool) {
        let Some(shallowest) = self.shallowest else { return };
        let before = if self.delay.is_empty() { None } else { self.delay.remove(&packet) };
        let delay = late.max(before.filter(|_| !is_last()).unwrap_or(Span::ZERO));
        if delay > shallowest {
            let host = &mut self.hosts[host];
            let previous = if now <= host.until { host.delay } else { Span::ZERO };
            *host = DelayedHost { delay: delay.max(previous), until: now + delay + REACTION };
        }
    }

    /// Records a drop in a direction of a link.
    #[inline]
    pub fn drop(&mut self, direction: usize, packet: u64, cause: DropCause) {
        let delay = if self.delay.is_empty() { None } else { self.delay.remove(&packet) };
        let by_room = matches!(cause, DropCause::Policed | DropCause::Overflow);
        let too_deep = delay.zip(self.depths[direction]).is_some_and(|(delay, depth)| delay > depth);
        self.dropped += u64::from(by_room && too_deep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A policer with 4 ms of burst at its rate after random loss, and a queue of 40 ms, on one link each.
    fn bursts() -> EmulatorBursts {
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
        EmulatorBursts::new(&all[0].scenario)
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
    fn only_delays_beyond_the_bucket_depth_explain_a_drop() {
        let mut b = bursts();
        for (packet, waited) in [(1, ms(5)), (2, ms(3)), (3, ms(5)), (4, ms(5))] {
            b.enter(at(10), 0, packet, waited);
        }
        b.drop(NEAR, 1, DropCause::Policed);
        assert_eq!(b.dropped, 1);
        b.drop(NEAR, 2, DropCause::Policed);
        assert_eq!(b.dropped, 1, "3 ms of packets fit the bucket's 4 ms");
        b.drop(NEAR, 3, DropCause::Loss);
        assert_eq!(b.dropped, 1, "random loss");
        b.leave(at(10), 1, 4, Span::ZERO, || false);
        b.enter(at(10), 1, 5, Span::ZERO);
        b.drop(FAR, 5, DropCause::Overflow);
        assert_eq!(b.dropped, 1, "5 ms of packets fit the queue's 40 ms");
        b.drop(NEAR, 9, DropCause::Policed);
        assert_eq!(b.dropped, 1, "it was never delayed");
    }

    #[test]
    fn a_burst_is_forwarded_and_ends() {
        let mut b = bursts();
        // Delivered 50 ms late: packets that the host forwards or sends in response form a burst.
        b.leave(at(100), 1, 1, ms(50), || true);
        b.enter(at(101), 1, 2, Span::ZERO);
        b.drop(FAR, 2, DropCause::Overflow);
        assert_eq!(b.dropped, 1);
        // Delayed before an earlier link, and forwarded.
        b.enter(at(200), 0, 3, ms(50));
        b.leave(at(210), 1, 3, Span::ZERO, || false);
        b.enter(at(210), 1, 4, Span::ZERO);
        b.drop(FAR, 4, DropCause::Overflow);
        assert_eq!(b.dropped, 2);
        // The delay does not carry over from the last host, and ends 51 ms later.
        b.enter(at(400), 0, 5, ms(50));
        b.leave(at(410), 1, 5, Span::ZERO, || true);
        b.enter(at(410), 1, 6, Span::ZERO);
        b.drop(FAR, 6, DropCause::Overflow);
        b.enter(at(262), 1, 7, Span::ZERO);
        b.drop(FAR, 7, DropCause::Overflow);
        assert_eq!(b.dropped, 2);
        assert!(b.delay.is_empty(), "packets that left are forgotten");
    }

    #[test]
    fn a_path_without_queues_has_no_bursts() {
        let text = "[links.l]\nbetween = [\"a\", \"b\"]\nforward = [{ kind = \"delay\", delay = \"5ms\" }, \
                    { kind = \"loss\", probability = 0.1 }]\n[flows.f]\nfrom = \"a\"\nto = \"b\"\n";
        let all = scenario::Experiment::parse("t.toml", text, &[]).unwrap().variants;
        let mut b = EmulatorBursts::new(&all[0].scenario);
        b.enter(at(0), 0, 1, ms(900));
        b.drop(0, 1, DropCause::Loss);
        assert!(b.dropped == 0 && b.delay.is_empty());
    }
}
