//! CoDel, controlled delay (RFC 8289): when packets have waited longer than `target` for a whole `interval`,
//! one packet is dropped (or marked) at the head, the next one after interval / sqrt(2), then interval /
//! sqrt(3) …, until the wait is below target again.
//!
//! | where | here | elsewhere |
//! |---|---|---|
//! | square root | exact, integer | Linux: Newton steps, 16 bits |
//! | count on re-entry | RFC 8289 section 5.5 (delta within 16 intervals) | the same in Linux |
//! | "one packet left" | backlog <= largest packet seen, at least 1514 B | Linux: device MTU |

use super::{Discipline, Queue, QueueLoad, at_least_one, mark};
use crate::problem::Problem;
use crate::{Account, DropCause, Outbox, Packet};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::{Choices, Label, Span, Time};

/// Controlled delay (RFC 8289).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CoDel {
    /// Maximum number of queued packets. Default 1000 (Linux).
    pub packets: u64,
    /// Acceptable standing delay. Default 5 ms (RFC 8289 section 4.3).
    pub target: Span,
    /// How long the delay may exceed the target; on the order of a round-trip time. Default 100 ms (RFC 8289
    /// section 4.2).
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them. Default false (Linux).
    pub ecn: bool,
}

impl Default for CoDel {
    fn default() -> Self {
        CoDel { packets: 1000, target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false }
    }
}

impl Discipline for CoDel {
    type Queue<B: Send + 'static> = CoDelQueue<B>;
    const LABEL: Label = Label::same("CoDel");
    const DROPS_EARLY: bool = true;

    fn limits(&self) -> QueueLoad {
        QueueLoad { packets: self.packets, bytes: u64::MAX }
    }

    fn check(&self) -> Result<(), Problem> {
        at_least_one("packets", self.packets)?;
        times(self.target, self.interval)
    }

    fn build<B: Send + 'static>(&self, _seed: u64, _name: &str) -> Self::Queue<B> {
        let law = Law { target: self.target, interval: self.interval, ecn: self.ecn, largest: 1514 };
        CoDelQueue { limit: self.packets, law, buffer: TimedPackets::default(), state: CoDelState::default() }
    }

    fn draw(choices: &mut Choices) -> CoDel {
        let (target, interval) = (Span::from_micros(500), Span::from_millis(2));
        CoDel { packets: choices.packets(), target, interval, ecn: choices.coin() }
    }
}

pub(super) fn times(target: Span, interval: Span) -> Result<(), Problem> {
    if interval.is_zero() || target >= interval {
        return Err(Problem::new(
            "target",
            "must be below `interval` (RFC 8289: 5 to 10 % of it, for example 5ms and 100ms)",
        ));
    }
    Ok(())
}

/// The parameters of the control law.
pub(super) struct Law {
    pub target: Span,
    pub interval: Span,
    pub ecn: bool,
    /// The largest packet seen, bytes.
    pub largest: u32,
}

impl Law {
    /// RFC 8289 section 5.4: t + interval / sqrt(count).
    fn next(&self, t: Time, count: u64) -> Time {
        let interval = self.interval.as_nanos() as u128;
        t + Span::from_nanos((interval * interval / count.max(1) as u128).isqrt() as u64)
    }
}

/// CoDel's state of one queue, with the names of RFC 8289 section 5.
#[derive(Default)]
pub(super) struct CoDelState {
    first_above_time: Option<Time>,
    drop_next: Time,
    pub count: u64,
    last_count: u64,
    dropping: bool,
}

/// Packets in order with their arrival times.
pub(super) struct TimedPackets<B> {
    packets: VecDeque<(Time, Box<Packet<B>>)>,
    pub load: QueueLoad,
}

impl<B> Default for TimedPackets<B> {
    fn default() -> Self {
        TimedPackets { packets: VecDeque::new(), load: QueueLoad::default() }
    }
}

impl<B> TimedPackets<B> {
    pub fn push(&mut self, now: Time, packet: Box<Packet<B>>) {
        self.load.add(packet.size);
        self.packets.push_back((now, packet));
    }
    pub fn pop(&mut self) -> Option<(Time, Box<Packet<B>>)> {
        let next = self.packets.pop_front()?;
        self.load.remove(next.1.size);
        Some(next)
    }
}

/// The head packet, and whether it may be dropped.
type Candidate<B> = (Option<(Time, Box<Packet<B>>)>, bool);

impl CoDelState {
    /// RFC 8289 section 5.6, `dodequeue`.
    fn candidate<B>(&mut self, law: &Law, buffer: &mut TimedPackets<B>, now: Time) -> Candidate<B> {
        let Some((since, packet)) = buffer.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let mut may_drop = false;
        if now.since(since) < law.target || buffer.load.bytes <= law.largest as u64 {
            self.first_above_time = None;
        } else if let Some(first) = self.first_above_time {
            may_drop = now >= first;
        } else {
            self.first_above_time = Some(now + law.interval);
        }
        (Some((since, packet)), may_drop)
    }

    /// RFC 8289 section 5.5, `deque`.
    pub fn dequeue<B>(
        &mut self,
        law: &Law,
        buffer: &mut TimedPackets<B>,
        now: Time,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        let (mut head, mut may_drop) = self.candidate(law, buffer, now);
        if self.dropping {
            self.dropping = may_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let (since, mut packet) = head?;
                if law.ecn && mark(&mut packet, account) {
                    self.drop_next = law.next(self.drop_next, self.count);
                    return Some((since, packet));
                }
                account.lose(out, now, packet, DropCause::Aqm);
                (head, may_drop) = self.candidate(law, buffer, now);
                if may_drop {
                    self.drop_next = law.next(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if may_drop {
            let (since, mut packet) = head?;
            if law.ecn && mark(&mut packet, account) {
                head = Some((since, packet));
            } else {
                account.lose(out, now, packet, DropCause::Aqm);
                (head, _) = self.candidate(law, buffer, now);
            }
            self.dropping = true;
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now.since(self.drop_next) < law.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = law.next(now, self.count);
            self.last_count = self.count;
        }
        head
    }
}

pub(crate) struct CoDelQueue<B> {
    limit: u64,
    law: Law,
    buffer: TimedPackets<B>,
    state: CoDelState,
}

impl<B: Send> Queue<B> for CoDelQueue<B> {
    fn enqueue(
        &mut self,
        now: Time,
        packet: Box<Packet<B>>,
        in_service: QueueLoad,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) {
        if self.buffer.load.packets + in_service.packets >= self.limit {
            return account.lose(out, now, packet, DropCause::Overflow);
        }
        self.law.largest = self.law.largest.max(packet.size);
        self.buffer.push(now, packet);
    }

    fn dequeue(
        &mut self,
        now: Time,
        account: &mut Account,
        out: &mut Outbox<B>,
    ) -> Option<(Time, Box<Packet<B>>)> {
        self.state.dequeue(&self.law, &mut self.buffer, now, account, out)
    }

    fn load(&self) -> QueueLoad {
        self.buffer.load
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;
    use crate::Ecn;

    /// A standing queue served once per ms; returns the times in ms at which packets were dropped or marked.
    fn run(ecn: Ecn) -> (Vec<u64>, Account) {
        let mut q = CoDel { ecn: true, ..CoDel::default() }.build(0, "");
        let (mut account, mut out) = (Account::default(), Outbox::default());
        let mut events = Vec::new();
        for ms in 0..500 {
            let now = Time::from_nanos(ms * 1_000_000);
            // Packets arrive until 50 wait: the delay soon stays above 5 ms.
            while q.load().packets < 50 {
                let mut p = packet(1, 1500);
                p.ecn = ecn;
                account.enter();
                q.enqueue(now, p, QueueLoad::default(), &mut account, &mut out);
            }
            let (since, p) = q.dequeue(now, &mut account, &mut out).expect("a standing queue");
            if p.ecn == Ecn::Ce {
                events.push(ms);
            }
            account.send(&mut out, since, now, p);
        }
        events.extend(out.dropped.iter().map(|d| d.0.as_micros() / 1000));
        (events, account)
    }

    #[test]
    fn drops_follow_the_schedule_of_the_rfc() {
        // The delay first reaches 5 ms at 5 ms; 100 ms later, at 105 ms, is the first drop, then after
        // 100/sqrt(1), 100/sqrt(2), 100/sqrt(3) … ms, each at the next service (1 ms grid).
        let mut expected = vec![105u64];
        let mut t = 105.0f64;
        for count in 1..20 {
            t += 100.0 / f64::from(count).sqrt();
            expected.push(t.ceil() as u64);
        }
        let (drops, account) = run(Ecn::NotEct);
        assert!(drops.len() == 7 && drops[..] == expected[..drops.len()], "{drops:?}");
        assert!(account.balances() && account.marked == 0);
    }

    #[test]
    fn ecn_capable_packets_are_marked_at_the_times_of_drops() {
        let (marks, account) = run(Ecn::Ect0);
        let (drops, _) = run(Ecn::NotEct);
        assert_eq!(marks, drops);
        assert_eq!((account.dropped, account.marked), (0, marks.len() as u64));
    }
}
