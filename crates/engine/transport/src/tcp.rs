//! One end of a TCP connection: a sending and a receiving half, and the handshake.
//!
//! The calls, in this order: inputs [`Tcp::handle_segment`] and [`Tcp::handle_wake`]; commands
//! [`Tcp::connect`], [`Tcp::write`], [`Tcp::truncate`], [`Tcp::read`]; outputs, the segments that each of
//! them appends to `out`; the next wake-up, [`Tcp::next_wake`]. Early wake-ups are harmless.
//!
//! Options (MSS, window scale, timestamps, SACK, ECN) are used as negotiated with the peer's SYN or SYN/ACK.
//! A connection ends when both ends call [`Tcp::close`], each for its direction, or when one calls
//! [`Tcp::reset`]. There is no TIME-WAIT: a closed end continues to answer.

use crate::config::{Limits, Offer, Profile};
use crate::receive::{Receiver, timestamp};
use crate::segment::{Flags, Segment, SynOptions};
use crate::sender::{Info, Outgoing, Sender};
use crate::wheel::between;
use congestion::Controller;
use units::{Span, Time, earliest};

/// Maximum length of TCP options, bytes (RFC 9293 section 3.1).
const MAX_OPTIONS_LEN: u32 = 40;
/// Number of SYN timeouts in Linux before backoff starts (`tcp_syn_linear_timeouts`).
const SYN_LINEAR: u32 = 4;

/// Minimum time between answers to invalid segments (`sysctl_tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Span = Span::from_millis(500);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Closed,
    SynSent,
    SynReceived,
    Established,
    /// Ended by a RST.
    Reset,
}

/// One end of a connection.
pub struct Tcp {
    limits: Box<Limits>,
    /// Time on the host's clock at the start of the run. Times inside are the host's, times of the interface
    /// the run's.
    clock: Span,
    state: State,
    /// The sending half.
    pub tx: Sender,
    /// The receiving half.
    pub rx: Receiver,
    syn_sent: Time,
    syn_tries: u32,
    syn_timer: Option<Time>,
    /// Time of the last answer to an out-of-order segment (`last_oow_ack_time`).
    answered: Option<Time>,
    scratch: Vec<Outgoing>,
}

impl Tcp {
    /// A closed end, which answers a SYN.
    pub fn new(limits: Limits, cc: Box<dyn Controller>) -> Tcp {
        Tcp {
            state: State::Closed,
            tx: Sender::new(&limits, cc),
            rx: Receiver::new(&limits),
            limits: Box::new(limits),
            clock: Span::ZERO,
            syn_sent: Time::ZERO,
            syn_tries: 0,
            syn_timer: None,
            answered: None,
            scratch: Vec::new(),
        }
    }

    /// Sets the host's clock at the start of the run, 0 by default. Timers and window growth count its ticks.
    /// Must be called before all other methods.
    pub fn set_clock(&mut self, clock: Span) {
        self.clock = clock;
    }

    /// Converts a time of the run to the host's clock.
    #[inline]
    fn here(&self, now: Time) -> Time {
        now + self.clock
    }

    /// Converts a time of the host's clock, as the two halves use it, to the run's.
    #[inline]
    pub fn in_run(&self, here: Time) -> Time {
        here - self.clock
    }

    /// Whether the connection is established.
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether both ends have closed, and everything that both sent has arrived. Segments that still arrive
    /// are answered, so that the loss of the last ACK does no harm.
    pub fn is_closed(&self) -> bool {
        self.state == State::Established && self.tx.is_finished() && self.rx.is_finished()
    }

    /// Whether either end has reset the connection.
    pub fn is_reset(&self) -> bool {
        self.state == State::Reset
    }

    /// Starts the handshake.
    pub fn connect(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.state = State::SynSent;
        self.send_syn(self.here(now), out);
    }

    fn send_syn(&mut self, now: Time, out: &mut Vec<Segment>) {
        if self.syn_tries == 0 {
            self.syn_sent = now;
        }
        let linear = if self.state == State::SynSent && self.limits.profile == Profile::Linux {
            SYN_LINEAR
        } else {
            0
        };
        let backoff = self.syn_tries.saturating_sub(linear).min(6);
        self.syn_tries += 1;
        self.syn_timer = Some(now + Span::from_secs(1) * (1 << backoff));
        let flags = match self.state {
            State::SynReceived if self.limits.ecn => Flags::SYN.with(Flags::ACK).with(Flags::ECE),
            State::SynReceived => Flags::SYN.with(Flags::ACK),
            _ if self.limits.offer.ecn => Flags::SYN.with(Flags::ECE).with(Flags::CWR),
            _ => Flags::SYN,
        };
        self.append(now, 0, 0, flags, false, out);
    }

    /// Completes the handshake with `seg`. Its RTT is measured if the SYN was sent once (Karn's algorithm),
    /// or by the timestamp. After a lost SYN the window is one segment (RFC 5681 section 3.1); Linux
    /// tolerates one loss, as its first timeout is short (RFC 6298 section 5.7).
    fn establish(&mut self, now: Time, seg: &Segment) {
        self.state = State::Established;
        self.syn_timer = None;
        let linux = self.limits.profile == Profile::Linux;
        let rtt = match self.syn_tries {
            1 => Some(now.since(self.syn_sent)),
            _ if self.limits.timestamps && seg.ts_ecr != 0 => {
                let ms = timestamp(now).wrapping_sub(seg.ts_ecr).max(1);
                Some(Span::from_millis(ms as u64))
            }
            _ => None,
        };
        if self.syn_tries > 1 + linux as u32 {
            self.tx.w.cwnd = 1;
        }
        self.tx.establish(now, rtt, seg.window as u64);
    }

    /// Appends a segment with this end's ACK, window, SACK blocks and timestamps. It is built in place, since
    /// copying fields that were just written would stall.
    #[inline]
    fn append(&mut self, now: Time, seq: u64, len: u32, flags: Flags, ect: bool, out: &mut Vec<Segment>) {
        out.push(Segment::BLANK);
        let Some(seg) = out.last_mut() else { return };
        seg.seq = seq;
        seg.sent = self.in_run(now);
        seg.len = len;
        let mut timestamps = self.tx.uses_timestamps();
        seg.flags = if self.rx.echo { flags.with(Flags::ECE) } else { flags };
        if flags.has(Flags::SYN) {
            timestamps = self.offer(seg);
        }
        if timestamps {
            // An ACK between two paced bursts carries the time of the second (`tcp_wstamp_ns`).
            let departure = if len == 0 { self.tx.s.next_departure } else { now };
            seg.ts_val = timestamp(now.max(departure));
        }
        seg.ect = ect;
        let room = if len == 0 { MAX_OPTIONS_LEN } else { self.tx.s.mss.saturating_sub(len) };
        self.rx.stamp(seg, room);
    }

    /// Writes the options of a SYN or SYN/ACK except timestamps; returns whether it has timestamps.
    #[cold]
    fn offer(&self, seg: &mut Segment) -> bool {
        let (own, agrees) = (self.limits.offer, seg.flags.has(Flags::ACK));
        seg.sack_ok = if agrees { self.limits.sack } else { own.sack };
        let scale = own.scale.filter(|_| !agrees || self.limits.scaled);
        seg.set_syn_options(SynOptions { mss: Some(own.mss.min(65_535) as u16), scale });
        if agrees { self.limits.timestamps } else { own.timestamps }
    }

    /// Applies the peer's SYN or SYN/ACK to the options in use.
    fn learn(&mut self, seg: &Segment) {
        self.limits.agree(&Offer::of(seg));
        self.tx.agree(&self.limits);
        self.rx.agree(&self.limits);
    }

    /// Turns the packets that the sender released into segments.
    #[inline]
    fn flush(&mut self, now: Time, out: &mut Vec<Segment>) {
        if !self.scratch.is_empty() {
            self.make_segments(now, out);
        }
    }

    fn make_segments(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.rx.note_sent(now);
        // The segments of a burst differ only in their place, unless they carry SACK blocks.
        let alike = !self.rx.has_blocks();
        for i in 0..self.scratch.len() {
            let Outgoing { seq, bytes, size, cwr, new, push, fin } = self.scratch[i];
            let ect = self.tx.uses_ecn() && new;
            let flags = if cwr { Flags::ACK.with(Flags::CWR) } else { Flags::ACK };
            self.append(now, seq, bytes.min(size as u64) as u32, flags, ect, out);
            let end = seq + bytes;
            let mut next = seq + size as u64;
            while next < end && !alike {
                self.append(now, next, (end - next).min(size as u64) as u32, Flags::ACK, ect, out);
                next += size as u64;
            }
            let Some(first) = out.last_mut() else { continue };
            if next < end {
                let flags = Flags(first.flags.0 & !Flags::CWR.0);
                let template = Segment { flags, ..first.clone() };
                let left = (end - next).div_ceil(size as u64);
                out.extend((0..left).map(|i| Segment { seq: next + i * size as u64, ..template.clone() }));
            }
            let Some(last) = out.last_mut() else { continue };
            last.len = (end - last.seq) as u32;
            if push {
                last.flags = last.flags.with(Flags::PSH);
            }
            if fin {
                last.flags = last.flags.with(Flags::FIN);
            }
        }
        self.scratch.clear();
    }

    fn send_ack(&mut self, now: Time, out: &mut Vec<Segment>) {
        self.append(now, self.tx.s.snd_nxt, 0, Flags::ACK, false, out);
    }

    /// Handles a segment that arrives.
    pub fn handle_segment(&mut self, now: Time, seg: &Segment, out: &mut Vec<Segment>) {
        let now = self.here(now);
        let unusual = seg.flags.0 & (Flags::RST.0 | Flags::SYN.0) != 0;
        if (unusual || self.state != State::Established) && !self.handle_unusual(now, seg, out) {
            return;
        }
        if let Some(behind) = self.rx.behind(seg)
            && self.rejects(now, seg, behind, out)
        {
            return;
        }
        self.rx.note_timestamp(seg);
        self.tx.handle_ack(now, seg, &mut self.scratch);
        self.flush(now, out);
        if self.tx.uses_ecn() {
            self.rx.handle_marks(seg);
        }
        if seg.room() > 0 {
            if self.rx.would_displace_block(seg) {
                self.send_ack(now, out);
            }
            if self.rx.handle_data(now, seg, self.tx.s.srtt) {
                self.send_ack(now, out);
            }
        } else if self.rx.is_old(seg) {
            self.rx.handle_probe();
            self.send_ack(now, out);
        }
    }

    /// Handles a segment outside of an established connection, or with RST or SYN. Returns whether its data
    /// is to be accepted.
    #[cold]
    fn handle_unusual(&mut self, now: Time, seg: &Segment, out: &mut Vec<Segment>) -> bool {
        if seg.flags.has(Flags::RST) || self.state == State::Reset {
            self.handle_reset(now, seg, out);
            return false;
        }
        if self.state == State::Established {
            self.send_ack(now, out); // our handshake ACK was lost
            return false;
        }
        self.handle_handshake(now, seg, out);
        self.state == State::Established && seg.room() > 0
    }

    /// Handles a RST, or a segment of a connection that was reset. A RST ends the connection if its sequence
    /// number is the next expected; elsewhere in the window it is challenged with an ACK, so that it cannot
    /// be guessed (RFC 5961 section 3.2). A segment of a reset connection is answered with a RST.
    fn handle_reset(&mut self, now: Time, seg: &Segment, out: &mut Vec<Segment>) {
        if !seg.flags.has(Flags::RST) {
            self.append(now, seg.ack, 0, Flags::RST, false, out);
            return;
        }
        let answers = seg.flags.has(Flags::ACK) && seg.ack == self.tx.s.snd_nxt;
        match self.state {
            State::SynSent if answers => self.stop(),
            State::SynReceived | State::Established if seg.seq == self.rx.rcv_nxt => self.stop(),
            State::Established if self.rx.is_in_window(seg.seq) => self.send_ack(now, out),
            _ => {}
        }
    }

    fn stop(&mut self) {
        self.state = State::Reset;
        self.syn_timer = None;
        self.tx.stop();
        self.rx.stop();
    }

    /// PAWS (RFC 7323 section 5.3) for a segment whose timestamp is `behind` ms too old; returns whether the
    /// segment is rejected. Data always is. Linux also rejects ACKs that were overtaken, unless they are
    /// duplicates that carry no new information (`tcp_disordered_ack_check`); the SACK blocks of rejected
    /// ACKs are lost.
    #[cold]
    fn rejects(&mut self, now: Time, seg: &Segment, behind: u32, out: &mut Vec<Segment>) -> bool {
        if seg.room() > 0 {
            self.rx.reject_old(seg);
            self.send_ack(now, out);
            return true;
        }
        let duplicate =
            seg.seq == self.rx.rcv_nxt && seg.ack == self.tx.s.snd_una && !self.tx.would_update_window(seg);
        let replayed = behind as u64 > self.tx.replay_window().as_micros() / 1000;
        if self.limits.profile != Profile::Linux || (duplicate && !replayed) {
            return false;
        }
        self.answer_late(now, seg, out);
        true
    }

    /// Answers a rejected ACK, at most every half second (`tcp_oow_rate_limited`), unless its data was
    /// acknowledged long ago.
    fn answer_late(&mut self, now: Time, seg: &Segment, out: &mut Vec<Segment>) {
        let limited = self.answered.is_some_and(|last| between(last, now) < ANSWER_INTERVAL);
        if seg.seq >= self.rx.rcv_nxt && !limited {
            self.answered = Some(now);
            self.send_ack(now, out);
        }
    }

    fn handle_handshake(&mut self, now: Time, seg: &Segment, out: &mut Vec<Segment>) {
        let syn = seg.flags.has(Flags::SYN);
        match self.state {
            State::Closed | State::SynReceived if syn => {
                // A repeated SYN: the SYN/ACK was lost or delayed.
                self.learn(seg);
                self.rx.establish(now, if self.limits.timestamps { seg.ts_val } else { 0 });
                self.state = State::SynReceived;
                self.send_syn(now, out);
            }
            State::SynSent if syn && seg.flags.has(Flags::ACK) => {
                self.learn(seg);
                self.rx.establish(now, if self.limits.timestamps { seg.ts_val } else { 0 });
                self.establish(now, seg);
                self.send_ack(now, out);
                self.tx.push(now, &mut self.scratch);
                self.flush(now, out);
            }
            State::SynReceived => {
                self.establish(now, seg);
                self.tx.push(now, &mut self.scratch);
                self.flush(now, out);
            }
            _ => {}
        }
    }

    /// Fires all timers that are due.
    pub fn handle_wake(&mut self, now: Time, out: &mut Vec<Segment>) {
        let now = self.here(now);
        if self.syn_timer.is_some_and(|t| t <= now) {
            self.send_syn(now, out);
        }
        if self.tx.next_wake().is_some_and(|t| t <= now) {
            self.tx.handle_wake(now, &mut self.scratch);
            self.flush(now, out);
        }
        if self.rx.is_due(now) {
            self.send_ack(now, out);
        }
    }

    /// Time at which [`Tcp::handle_wake`] must be called next.
    #[inline]
    pub fn next_wake(&self) -> Option<Time> {
        let here = earliest(self.syn_timer, earliest(self.tx.next_wake(), self.rx.next_wake()));
        here.map(|t| self.in_run(t))
    }

    /// The application writes `n` bytes. `last`: nothing follows them.
    pub fn write(&mut self, now: Time, n: u64, last: bool, out: &mut Vec<Segment>) {
        let now = self.here(now);
        let open = self.is_established();
        self.tx.write(now, n, last, open, &mut self.scratch);
        if open {
            self.tx.push(now, &mut self.scratch);
            self.flush(now, out);
        }
    }

    /// The application will write no more, but may continue to read. FIN follows the last byte.
    pub fn close(&mut self, now: Time, out: &mut Vec<Segment>) {
        let now = self.here(now);
        self.rx.note_closed();
        self.tx.close(now);
        if self.is_established() {
            self.tx.push_end(&mut self.scratch);
            self.flush(now, out);
        }
    }

    /// Resets the connection, and sends a RST to the peer (`tcp_send_active_reset`).
    pub fn reset(&mut self, now: Time, out: &mut Vec<Segment>) {
        let now = self.here(now);
        if matches!(self.state, State::SynReceived | State::Established) {
            let flags = Flags::RST.with(Flags::ACK);
            self.append(now, self.tx.s.snd_nxt, 0, flags, false, out);
        }
        self.stop();
    }

    /// The application withdraws data that has not been sent.
    pub fn truncate(&mut self) {
        self.tx.truncate();
    }

    /// The application reads `n` bytes.
    pub fn read(&mut self, now: Time, n: u64, out: &mut Vec<Segment>) {
        let now = self.here(now);
        if self.rx.read(now, n) {
            self.send_ack(now, out);
        }
    }

    /// The values that `TCP_INFO` would have now.
    pub fn info(&self) -> Info {
        self.tx.info()
    }

    /// Panics unless the sender's counters agree with its scoreboard and both halves are in a possible state.
    /// For tests, after every step.
    pub fn check(&self) {
        self.tx.check();
        self.rx.check();
    }

    /// The path carries IP packets of at most `mtu` bytes (RFC 1191, RFC 8201).
    pub fn handle_mtu(&mut self, now: Time, mtu: u32, out: &mut Vec<Segment>) {
        let now = self.here(now);
        let options = if self.tx.uses_timestamps() { crate::segment::TIMESTAMP_OPTION } else { 0 };
        self.tx.reduce_mss(now, mtu.saturating_sub(crate::segment::HEADER + options), &mut self.scratch);
        self.flush(now, out);
    }
}
