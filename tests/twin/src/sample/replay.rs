//! Feeds a run's inputs to the model and compares its behaviour with the kernel's.
//!
//! The kernel reads its clock at some moment within the call that delivers an input; its timers are seen when
//! their packets are. So a timer of the model expires when the kernel's did, if that is not earlier than due
//! by more than [`MAX_EARLY`] and not later by more than [`MAX_LATE`]. If an input and a departure of the
//! pacing timer are closer together than that, their order is unknown, and the packets may come with either.

use super::log::{Burst, Event, Input, Log};
use super::peer::SCALE;
use super::send_times::SendTimes;
use super::snapshot::Snapshot;
use congestion::make;
use std::collections::VecDeque;
use transport::{Flags, Limits, Segment, Stack, SynOptions, Tcp};
use units::{Span, Time};

/// How much earlier than the model's a timer of the kernel may be seen.
const MAX_EARLY: Span = Span::from_micros(60);
/// How much later than the model's a timer of the kernel may be seen: a tick, and the delay of a busy
/// machine.
const MAX_LATE: Span = Span::from_millis(6);
/// The ticks that all timers but the pacing timer wait for, ns.
const TICK: u64 = 4_000_000;
/// From the start of a write to the TUN device to the moment when TCP reads its clock.
const USUAL_STAMP: Span = Span::from_micros(1);
/// Usual lateness of the kernel's pacing timer.
const PACED_LATE: Span = Span::from_micros(20);
/// Maximum lateness of the kernel's pacing timer.
const PACED_LATE_MAX: Span = Span::from_micros(100);
/// How much earlier the model may release a paced burst: the kernel stamps one during a call.
const PACED_EDGE: Span = Span::from_micros(15);
/// Usual maximum lateness of the kernel's ticks.
const TICK_LATE: Span = Span::from_micros(200);
/// The order of a segment and the pacing timer is uncertain if they are as close as this; that of a segment
/// and another timer, within [`MAX_LATE`].
const UNCERTAIN_ORDER: Span = Span::from_micros(1_500);
/// How many events before a difference a wrong order may have caused it.
const GUESS_WITHIN: usize = 6;
/// Maximum number of guesses.
const MAX_GUESSES: usize = 16;
/// Duration of an undisturbed call, ns; anything longer is uncertainty.
const USUAL_CALL_NS: u64 = 25_000;

/// An assumption that differs from what was measured.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Guess {
    event: usize,
    kind: GuessKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GuessKind {
    /// The order of an event and a timer of the model.
    Order,
    /// The clock was read at the end of the call.
    Late,
    /// The clock was read at the start of the call.
    Early,
    /// The pacing timer before the event was late.
    Slow,
    /// The clock was read twice, and pacing released packets in between: none for retransmissions, but some
    /// for new data.
    Between,
}

/// The first difference between model and kernel.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Number of the event.
    pub event: usize,
    /// The first difference: a field of `TCP_INFO`, `packets`, `flags`, `timer`.
    pub what: &'static str,
    /// Description of the difference.
    pub how: String,
    /// State of the model after this event.
    pub model: Snapshot,
}

/// A segment, with the compared fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packet {
    seq: i64,
    len: u32,
    flags: u8,
    ts: u32,
}

fn packets(bursts: &[Burst]) -> impl Iterator<Item = Packet> + '_ {
    bursts.iter().flat_map(|b| {
        let step = b.mss.max(1);
        (0..b.len.div_ceil(step).max(1)).map(move |i| {
            let len = step.min(b.len - i * step);
            let last = (i + 1) * step >= b.len;
            let flags = if last { b.flags } else { b.flags & !Flags::PSH.0 };
            Packet { seq: b.seq + (i * step) as i64, len, flags, ts: b.ts }
        })
    })
}

/// Returns whether the due timer belongs to the timer wheel: the pacing timer does not wait for ticks.
fn waits_for_tick(due: Time) -> bool {
    due.as_nanos() % TICK == 0
}

struct Replay {
    tcp: Tcp,
    /// The other end's MSS, and whether it accepts SACKs.
    peer: (u32, bool),
    now: Time,
    out: Vec<Segment>,
    /// Packets that the kernel sent and the model did not, and the reverse.
    kernel: VecDeque<Packet>,
    model: VecDeque<Packet>,
    slack: u64,
    send_times: SendTimes,
    /// The kernel's last snapshot.
    before: Snapshot,
    /// Mask of the compared flags.
    mask: u8,
    /// Index of the current event.
    number: usize,
    /// When packets of writes and timers were sent, by event.
    left: Vec<Option<Time>>,
    /// Assumptions in force.
    guesses: Vec<Guess>,
    /// Events so close to a timer that their order is uncertain.
    uncertain: Vec<usize>,
}

/// Replays a run. Returns the first difference, if there is one.
///
/// `push`: whether the PSH flags of segments are compared too.
pub fn replay(log: &Log, push: bool) -> Option<Difference> {
    let mask = if push { u8::MAX } else { !Flags::PSH.0 };
    let mut tried = Vec::new();
    let mut best = Replay::new(log, mask, Vec::new());
    let mut found = best.run(log)?;
    for _ in 0..MAX_GUESSES {
        // Timer and segment may have come in the other order shortly before, or the kernel's clock may have
        // been read at the other end of the call. Anything that depends on microseconds is not a difference.
        let orders = best.uncertain.iter().map(|&i| Guess { event: i, kind: GuessKind::Order });
        let clocks = [GuessKind::Late, GuessKind::Early, GuessKind::Between, GuessKind::Slow]
            .map(|kind| Guess { event: found.event, kind });
        let near = |g: &Guess| g.event + GUESS_WITHIN >= found.event && !tried.contains(g);
        let Some(guess) = clocks.into_iter().chain(orders.rev()).find(near) else { break };
        tried.push(guess);
        let mut guesses = best.guesses.clone();
        guesses.push(guess);
        let mut other = Replay::new(log, mask, guesses);
        let found_by_other = other.run(log)?;
        if found_by_other.event > found.event {
            (best, found) = (other, found_by_other);
        }
    }
    Some(found)
}

type Finding = Option<(&'static str, String)>;

impl Replay {
    fn new(log: &Log, mask: u8, guesses: Vec<Guess>) -> Replay {
        let p = &log.plan;
        // Everything else is learned from the other end's SYN/ACK.
        let stack = Stack { pacing: Some(p.paced), timestamps: Some(p.timestamps), ..Stack::default() };
        let limits = Limits { send_buffer: 1 << 40, ..stack.own_limits(1500, None) };
        let cc = make(p.control.name(), 1, "cc").unwrap_or_else(|| unreachable!("it is in the registry"));
        Replay {
            tcp: Tcp::new(limits, cc),
            peer: (p.mss, p.sack),
            now: Time::ZERO,
            out: Vec::new(),
            kernel: VecDeque::new(),
            model: VecDeque::new(),
            slack: 0,
            send_times: SendTimes::default(),
            before: Snapshot::default(),
            mask,
            number: 0,
            left: SendTimes::departures(&log.events),
            guesses,
            uncertain: Vec::new(),
        }
    }

    fn run(&mut self, log: &Log) -> Option<Difference> {
        for (i, event) in log.events.iter().enumerate() {
            self.number = i;
            if let Some((what, how)) = self.step(event, log.events.get(i + 1)) {
                return Some(Difference { event: i, what, how, model: self.snapshot() });
            }
        }
        None
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::of_model(&self.tcp.info())
    }

    /// Returns when the kernel read its clock, as far as that is known: from the round trip that it measured,
    /// otherwise from the millisecond in the timestamps that it sent.
    fn clock_reading(&mut self, event: &Event, next: Option<&Event>) -> Time {
        let latest = event.at + Span::from_nanos(event.took);
        let rtt = self.tcp.tx.rtt.smoothed();
        let shown = match &event.input {
            // The handshake's round trip shows when the SYN was sent.
            Input::Connect => next.and_then(|answer| {
                let rtt = Span::from_micros(answer.snapshot.first_rtt()?);
                let left = (answer.at + USUAL_STAMP).as_nanos().checked_sub(rtt.as_nanos())?;
                Some(Time::from_nanos(left)).filter(|&t| event.at <= t && t <= latest)
            }),
            Input::Segment(ack) => {
                let sent = self.send_times.acknowledge(ack);
                sent.zip(rtt).and_then(|(sent, rtt)| SendTimes::clock_of(sent, rtt, event, &self.before))
            }
            _ => self.left[self.number],
        };
        let stamp = event.out.iter().map(|b| b.ts).find(|&ts| ts != 0);
        let from = Time::from_nanos(stamp.map_or(0, |ts| (ts as u64).saturating_sub(1) * 1_000_000));
        let usual = event.at + USUAL_STAMP;
        let at = shown.unwrap_or(if from > usual && from <= latest { from } else { usual });
        let at = match () {
            () if self.assumes(GuessKind::Late) => latest,
            () if self.assumes(GuessKind::Early) => self.before_departure(event.at),
            () => at,
        };
        at.max(self.now)
    }

    /// A clock reading just before the pacing timer's departure if that is at most [`PACED_EDGE`] before
    /// `at`: in the kernel, whose previous burst may have left later, pacing may not have released its
    /// packets yet.
    fn before_departure(&self, at: Time) -> Time {
        let departure = self.tcp.tx.s.next_departure;
        let close = departure <= at && departure + PACED_EDGE > at;
        if close { Time::from_nanos(departure.as_nanos().saturating_sub(1)) } else { at }
    }

    fn assumes(&self, kind: GuessKind) -> bool {
        self.guesses.contains(&Guess { event: self.number, kind })
    }

    fn step(&mut self, event: &Event, next: Option<&Event>) -> Finding {
        let late =
            if event.input == Input::Timer { 0 } else { event.took.saturating_sub(USUAL_CALL_NS) / 1000 };
        self.slack = (self.slack * 7 / 8).max(late);
        let mask = self.mask;
        self.kernel.extend(packets(&event.out).map(|p| Packet { flags: p.flags & mask, ..p }));
        match &event.input {
            Input::Timer => {}
            _ => {
                let at = self.clock_reading(event, next);
                if let Some(found) = self.expire_earlier_timers(at) {
                    return Some(found);
                }
                let departure = self.tcp.tx.s.next_departure;
                if self.assumes(GuessKind::Between) && departure <= event.at + Span::from_nanos(event.took) {
                    self.now = Time::from_nanos(departure.as_nanos().saturating_sub(1)).max(self.now);
                    self.deliver(&event.input);
                    self.tcp.write(departure.max(self.now), 0, false, &mut self.out);
                } else {
                    self.now = at;
                    self.deliver(&event.input);
                }
            }
        }
        self.collect();
        if let Some(found) = self.expire_timers(event) {
            return Some(found);
        }
        event.out.iter().for_each(|burst| self.send_times.send(self.now, burst));
        self.before = event.snapshot;
        self.compare(event, next)
    }

    /// Lets timers expire that were due before `at`, including a pacing timer with no packet to send. Returns
    /// a difference if they send packets: packets of a timer of the kernel would be an event.
    fn expire_earlier_timers(&mut self, at: Time) -> Finding {
        let mut swapped = self.assumes(GuessKind::Order);
        while let Some(due) = self.tcp.next_wake().filter(|&due| due < at + MAX_EARLY) {
            let (usual, uncertain) =
                if waits_for_tick(due) { (TICK_LATE, MAX_LATE) } else { (MAX_EARLY, UNCERTAIN_ORDER) };
            let close = at < due + uncertain;
            if close && self.uncertain.last() != Some(&self.number) {
                self.uncertain.push(self.number);
            }
            if (due + usual < at) == (swapped && close) {
                break;
            }
            swapped &= !close;
            let late = if self.assumes(GuessKind::Slow) { PACED_LATE_MAX } else { PACED_LATE };
            self.wake(if waits_for_tick(due) { due } else { (due + late).min(at) });
            if !self.model.is_empty() {
                let late = at.since(due).as_micros();
                return Some(("timer", format!("the model's fired, the kernel's not within {late} us")));
            }
        }
        None
    }

    fn deliver(&mut self, input: &Input) {
        let (now, out) = (self.now, &mut self.out);
        match input {
            Input::Connect => self.tcp.connect(now, out),
            Input::Write(n) => self.tcp.write(now, *n, false, out),
            Input::Timer => {}
            Input::Segment(ack) => {
                let mut seg = Segment {
                    ack: ack.ack,
                    window: ack.window,
                    ts_val: ack.ts_val,
                    ts_ecr: ack.ts_ecr,
                    flags: Flags(ack.flags),
                    sack_ok: self.peer.1,
                    ..Segment::BLANK
                };
                if seg.flags.has(Flags::SYN) {
                    seg.set_syn_options(SynOptions {
                        mss: Some(self.peer.0 as u16),
                        scale: Some(SCALE as u8),
                    });
                }
                for (to, &(s, e)) in seg.sack.iter_mut().zip(&ack.sacks) {
                    let relative = |x: u64| x.wrapping_sub(ack.ack) as i64 as i32;
                    *to = (relative(s), relative(e));
                    seg.sacks += 1;
                }
                self.tcp.handle_segment(now, &seg, out);
            }
        }
    }

    fn wake(&mut self, at: Time) {
        self.now = at.max(self.now);
        self.tcp.handle_wake(self.now, &mut self.out);
        self.collect();
    }

    /// Takes the model's new packets, and removes the packets that both have sent.
    fn collect(&mut self) {
        self.model.extend(self.out.drain(..).map(|s| Packet {
            seq: s.seq as i64,
            len: s.len,
            flags: s.flags.0 & self.mask,
            ts: s.ts_val,
        }));
        while let (Some(k), Some(m)) = (self.kernel.front(), self.model.front()) {
            if (k.seq, k.len, k.flags) != (m.seq, m.len, m.flags) || k.ts.abs_diff(m.ts) > 1 {
                return;
            }
            self.kernel.pop_front();
            self.model.pop_front();
        }
    }

    /// Lets timers of the model expire while the kernel has sent more, which shows that its timer expired.
    fn expire_timers(&mut self, event: &Event) -> Finding {
        let seen = event.at;
        while !self.kernel.is_empty() && self.model.is_empty() {
            let k = self.kernel[0];
            let Some(due) = self.tcp.next_wake() else {
                return Some(("packets", format!("the model sends less: {k:?}")));
            };
            if due > seen + MAX_EARLY {
                let early = due.since(seen).as_micros();
                return Some((
                    "packets",
                    format!("the model sends less, its timer is due in {early} us: {k:?}"),
                ));
            }
            // A timer expired long before and found nothing to send.
            if waits_for_tick(due) && due + MAX_LATE < seen {
                self.wake(due);
                continue;
            }
            let stamp = Time::from_nanos((k.ts as u64).saturating_sub(1) * 1_000_000).min(seen);
            let before = due + PACED_LATE_MAX < stamp || k.ts == 0 && due + UNCERTAIN_ORDER < seen;
            if !waits_for_tick(due) && before && !self.assumes(GuessKind::Slow) {
                self.wake(due + PACED_LATE);
                continue;
            }
            // The round trip shows when it expired; otherwise the timestamp, to the millisecond; otherwise
            // the tick when it was seen.
            let usual = match waits_for_tick(due) {
                true if k.ts == 0 => seen,
                true => stamp,
                false if self.assumes(GuessKind::Early) => due,
                false => stamp.max(due + PACED_LATE).min(seen),
            };
            let left = self.left[self.number].filter(|_| !self.assumes(GuessKind::Early));
            let at = due.max(left.map_or(usual, |left| left.max(stamp)));
            self.slack = self.slack.max(seen.since(at).as_micros().min(1_000));
            self.wake(at);
        }
        None
    }

    fn compare(&mut self, event: &Event, next: Option<&Event>) -> Finding {
        match (self.kernel.front(), self.model.front()) {
            // A SYN is outstanding: the state of a connection that is not established is not compared.
            (None, None) if event.input == Input::Connect => None,
            (None, None) => {
                let model = self.snapshot();
                let found = event.snapshot.difference(&model, self.slack);
                found.map(|(field, k, m)| (field, format!("kernel {k}, model {m}")))
            }
            // Paced, and the next departure is imminent: the model may already consider it due.
            (None, Some(_))
                if next
                    .is_some_and(|n| n.input == Input::Timer && n.at < self.now + MAX_EARLY + MAX_EARLY) =>
            {
                None
            }
            (None, Some(m)) => Some(("packets", format!("the model sends more: {m:?}"))),
            (Some(k), Some(m)) if (k.seq, k.len) == (m.seq, m.len) => {
                Some(("flags", format!("kernel {k:?}, model {m:?}")))
            }
            (Some(k), Some(m)) => Some(("packets", format!("kernel {k:?}, model {m:?}"))),
            (Some(k), None) => Some(("packets", format!("the model sends less: {k:?}"))),
        }
    }
}
