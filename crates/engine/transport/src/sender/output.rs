//! Decides which segment to send, and when: cwnd, receive window, Nagle, burst size, deferral, pacing
//! (`tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer`, `tcp_xmit_retransmit_queue`).
//!
//! Linux sends bursts (skbs) of about 1 ms of data at the pacing rate, at least two packets. A paced
//! connection waits the duration of a burst at the pacing rate before the next one.

use super::mtu::ProbeResult;
use super::timers::Timer;
use super::{Outgoing, Retransmission, Sender};
use crate::receive::timestamp;
use crate::scoreboard::{Sent, flag};
use congestion::{CaState, Event};
use units::{Span, Time};

/// Fraction of the window that must be free to send without deferral (`sysctl_tcp_tso_win_divisor`).
const WIN_DIVISOR: u64 = 3;
/// Bursts are enlarged on paths with an RTT below 2^14 µs, by an amount that halves with each 2^9 µs
/// (`sysctl_tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// Number of packets, including those of the burst, below which a burst is not charged to pacing.
const UNPACED_PACKETS: u64 = 10;

/// Conditions under which new data may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteMode {
    /// Subject to window, Nagle's algorithm and deferral.
    Normal,
    /// Without Nagle's algorithm.
    Push,
    /// A single burst, without Nagle's algorithm and deferral (`tcp_push_one`).
    One,
    /// At least one packet regardless of the congestion window (tail loss probe).
    Probe,
    /// Even less than a segment, if the peer's window has room for no more.
    Override,
}

/// Bytes that may be sent now.
struct Room {
    /// By the peer's window.
    window: u64,
    /// By the congestion window.
    congestion: u64,
}

/// The limit that keeps a sender from sending more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// The application: everything written has been sent.
    Application,
    /// The receive window, which has no room for another burst.
    ReceiveWindow,
    /// The send buffer, which holds no further burst.
    SendBuffer,
    /// The congestion control: its window, its pacing, or an active recovery.
    Congestion,
}

impl Sender {
    /// The limit that keeps the sender from sending more now: the window with the least room, if that is too
    /// little for a burst. Changes nothing.
    pub fn limit(&self) -> Limit {
        if self.s.snd_nxt == self.stream.end_with_fin() {
            return Limit::Application;
        }
        if self.s.state >= CaState::Recovery {
            return Limit::Congestion;
        }
        let mss = self.s.mss as u64;
        let outstanding = self.s.snd_nxt - self.s.snd_una;
        let congestion = self.w.cwnd.saturating_sub(self.in_flight()) as u64 * mss;
        let window = self.peer.window.saturating_sub(outstanding);
        let buffer = self.buffer_room();
        let least = congestion.min(window).min(buffer);
        match least {
            _ if least >= self.tso_segs() as u64 * mss || least == congestion => Limit::Congestion,
            _ if least == window => Limit::ReceiveWindow,
            _ => Limit::SendBuffer,
        }
    }

    /// Maximum burst now, packets.
    fn tso_segs(&self) -> u32 {
        if !self.rules.tso {
            return 1;
        }
        let mut bytes = self.w.pacing_rate >> self.s.pacing_shift.min(63);
        if let Some(min) = self.s.min_rtt {
            let shift = min.as_micros() >> TSO_RTT_LOG;
            if shift < 32 {
                bytes += (self.s.gso_max_size as u64) >> shift;
            }
        }
        let most = self.s.gso_max_size as u64;
        ((bytes.min(most) / self.s.mss as u64) as u32).max(self.cc.min_tso_segs(&self.w)).max(1)
    }

    /// Whether pacing forbids sending now; if so, arms the pacing timer.
    fn pacing_blocks(&mut self) -> bool {
        if !self.w.pacing || self.s.next_departure <= self.s.now {
            return false;
        }
        self.timers.pacing_at = Some(self.s.next_departure);
        true
    }

    /// Charges a burst of `bytes`, which is counted as sent, to the pacing clock
    /// (`tcp_update_skb_after_send`).
    pub(super) fn charge_pacing(&mut self, bytes: u64) {
        let prior = self.s.next_departure;
        self.s.next_departure = prior.max(self.s.now);
        let rate = self.w.pacing_rate.min(self.s.max_pacing_rate);
        if !self.w.pacing || rate == 0 || rate == u64::MAX || self.stats.sent < UNPACED_PACKETS {
            return;
        }
        let length = Span::from_nanos((bytes as u128 * 1_000_000_000 / rate as u128) as u64);
        // Time lost by a late wake-up is compensated, up to half a burst.
        let credit = self.s.next_departure.since(prior);
        self.s.next_departure += length - credit.min(length / 2);
    }

    /// Packets that the congestion window allows, at most half of it at once (`tcp_cwnd_test`), if there are
    /// `in_flight` now.
    #[inline]
    fn quota(&self, in_flight: u32) -> u32 {
        self.w.cwnd.saturating_sub(in_flight).min((self.w.cwnd >> 1).max(1))
    }

    /// Sends new data as far as allowed; returns whether something was sent.
    pub(super) fn write_new(&mut self, out: &mut Vec<Outgoing>, how: WriteMode) -> bool {
        let probe = how == WriteMode::Probe;
        let one = probe || how == WriteMode::One;
        if self.s.snd_nxt == self.stream.end_with_fin() || self.s.snd_nxt >= self.buffered_end() {
            return false;
        }
        let mut sent = 0u32;
        match self.probe_mtu(how, out) {
            ProbeResult::None => {}
            ProbeResult::Wait => return false,
            ProbeResult::Sent => sent = 1,
        }
        let mut in_flight = self.in_flight();
        if self.quota(in_flight) == 0 && !probe && sent == 0 {
            self.validate_cwnd(true);
            return false;
        }
        self.s.inflight = in_flight;
        let max_segs = self.tso_segs();
        let mut cwnd_limited = false;
        while self.s.snd_nxt < self.stream.end_with_fin() {
            let Some(burst) = self.next_burst(how, in_flight, max_segs, &mut cwnd_limited) else { break };
            sent += self.send_burst(burst, out);
            if one {
                break;
            }
            in_flight = self.in_flight();
        }
        cwnd_limited |= self.in_flight() >= self.w.cwnd;
        if sent > 0 || cwnd_limited {
            self.validate_cwnd(cwnd_limited);
        }
        if sent > 0 {
            if self.in_reduction() {
                self.prr.out += sent;
            }
            if !probe {
                self.schedule_probe(false);
            }
        }
        sent > 0
    }

    /// Size of the next burst of at most `max_segs` packets, bytes; `None` if nothing may be sent now.
    #[inline]
    fn next_burst(
        &mut self,
        how: WriteMode,
        in_flight: u32,
        max_segs: u32,
        cwnd_limited: &mut bool,
    ) -> Option<u64> {
        if self.pacing_blocks() {
            return None;
        }
        let probe = how == WriteMode::Probe;
        let quota = match self.quota(in_flight) {
            0 if !probe => return None,
            quota => quota.max(1),
        };
        let mss = self.s.mss as u64;
        let held = self.buffered_end().saturating_sub(self.s.snd_nxt);
        if held == 0 {
            return None;
        }
        let most = quota.min(max_segs) as u64 * mss;
        let outstanding = self.s.snd_nxt - self.s.snd_una;
        let window = self.peer.window.saturating_sub(outstanding);
        let block = self.stream.block(self.s.snd_nxt, most).min(held);
        let last = self.s.snd_nxt + block == self.stream.end;
        // A single packet must fit with its FIN; the FIN of the last of several may be a byte beyond
        // (`tcp_snd_wnd_test`).
        let fin = self.stream.fin && last && block <= mss;
        if window < block.min(mss) + fin as u64 && (how != WriteMode::Override || window == 0) {
            return None;
        }
        if block <= mss {
            return (!(last && self.nagle_holds(block, how))).then_some(block.min(window));
        }
        if !(probe || how == WriteMode::One) {
            let room = Room { window, congestion: self.w.cwnd.saturating_sub(in_flight) as u64 * mss };
            if self.defers(block, last || block == held, room, max_segs, cwnd_limited) {
                return None;
            }
        }
        Some(self.split_point(block.min(window), most, how))
    }

    /// Minshall's variant of Nagle's algorithm: at most one packet in flight that is not full-sized, unless
    /// nothing follows it (`tcp_nagle_check`).
    fn nagle_holds(&self, bytes: u64, how: WriteMode) -> bool {
        bytes % self.s.mss as u64 != 0
            && how == WriteMode::Normal
            && !self.stream.closed
            && self.stream.small_end > self.s.snd_una
    }

    /// Number of bytes of a block to send at once, at most `most`; the window admits `needed` bytes of the
    /// block. A remainder at the end of the block or window is included if Nagle's algorithm allows it
    /// (`tcp_mss_split_point`).
    fn split_point(&self, needed: u64, most: u64, how: WriteMode) -> u64 {
        if most <= needed {
            return most;
        }
        if self.nagle_holds(needed, how) { needed - needed % self.s.mss as u64 } else { needed }
    }

    /// Whether to wait for more window, so that a larger burst can be sent on the next ACK
    /// (`tcp_tso_should_defer`). `block`: available bytes; `last`: there are no others.
    #[inline]
    fn defers(&self, block: u64, last: bool, room: Room, max_segs: u32, cwnd_limited: &mut bool) -> bool {
        let mss = self.s.mss as u64;
        if self.s.state >= CaState::Recovery || !self.rules.tso {
            return false;
        }
        if self.s.now.since(self.s.next_departure) > Span::from_millis(1) {
            return false;
        }
        let limit = room.window.min(room.congestion);
        if limit >= max_segs as u64 * mss || (!last && limit >= block) {
            return false;
        }
        if limit >= self.peer.window.min(self.w.cwnd as u64 * mss) / WIN_DIVISOR {
            return false;
        }
        let Some(head) = self.scoreboard.front() else { return false };
        // The next ACK would come too late (Linux 6.18: in more than a millisecond).
        let srtt = self.s.srtt.unwrap_or(Span::ZERO);
        if (head.at + srtt).since(self.s.now) > (srtt / 2).min(Span::from_millis(1)) {
            return false;
        }
        if limit <= block {
            *cwnd_limited |= room.congestion < room.window;
            return true;
        }
        // More data may be written, unless the stream is at its end.
        !(last && self.stream.closed && self.s.snd_nxt + block == self.stream.end)
    }

    /// Sends `bytes` of new data as one burst; returns the number of packets.
    pub(super) fn send_burst(&mut self, bytes: u64, out: &mut Vec<Outgoing>) -> u32 {
        let now = self.s.now;
        if self.scoreboard.is_empty() {
            self.first_sent = now;
            self.s.delivered_time = now;
            self.refresh();
            self.cc.cwnd_event(&self.s, &mut self.w, Event::TxStart);
        }
        let was_empty = self.scoreboard.is_empty();
        let app_limited = if self.s.app_limited != 0 { flag::APP_LIMITED } else { 0 };
        let in_flight = self.in_flight();
        let block = self.scoreboard.next_block();
        let ends = self.stream.fin && self.s.snd_nxt + bytes == self.stream.end;
        if bytes == 0 && !ends {
            return 0;
        }
        let (seq, size) = (self.s.snd_nxt, self.s.mss);
        let push = bytes > 0 && self.stream.has_push(seq, seq + bytes);
        let mut first = Sent::new(seq, size);
        (first.at, first.first_sent) = (now, self.first_sent);
        (first.delivered, first.delivered_time) = (self.s.delivered, self.s.delivered_time);
        (first.tx_in_flight, first.lost) = (in_flight + 1, self.s.lost as u32);
        (first.block, first.flags) = (block, app_limited);
        let (packets, last) = self.scoreboard.push_burst(first, bytes);
        last.len += ends as u32;
        last.flags |= if push { flag::PUSHED } else { 0 };
        self.s.snd_nxt = last.end();
        if bytes < packets as u64 * size as u64 {
            self.stream.small_end = self.s.snd_nxt;
        }
        let cwr = std::mem::take(&mut self.recovery.cwr_due);
        out.push(Outgoing { seq, bytes, size, cwr, new: true, push: push || packets > 1, fin: ends });
        self.stream.forget(self.s.snd_nxt);
        self.stats.sent += packets as u64;
        self.charge_pacing(bytes);
        self.s.last_sent = Some(now);
        if was_empty || matches!(self.timers.armed, Some((Timer::Probe, _))) {
            self.rearm_rto();
        }
        packets
    }

    /// Retransmits packets marked lost, as far as window and pacing allow.
    pub(super) fn write_lost(&mut self, out: &mut Vec<Outgoing>) {
        if self.scoreboard.is_empty() || self.count.retrans >= self.count.lost {
            return;
        }
        self.give_up_probe();
        self.refresh();
        let max_segs = self.tso_segs();
        let mut n = self.recovery.hint.unwrap_or(self.scoreboard.first());
        if n.wrapping_sub(self.scoreboard.first()) >= self.packets_out() {
            n = self.scoreboard.first();
        }
        let mut rearm = false;
        while n != self.scoreboard.end() {
            if self.count.retrans >= self.count.lost {
                break;
            }
            let p = self.scoreboard.get(n);
            let block = p.block;
            if !p.is(flag::LOST) || p.is(flag::SACKED | flag::RETRANS) {
                n = n.wrapping_add(1);
                continue;
            }
            self.recovery.hint = Some(n);
            if self.pacing_blocks() {
                break;
            }
            // The first retransmission is sent at once, whatever is in flight (RFC 6675 section 5 step 4.3);
            // with PRR the window allows it.
            let forced = !self.rules.linux && self.in_reduction() && self.prr.out == 0;
            let room = self.w.cwnd.saturating_sub(self.in_flight()).max(forced as u32);
            if room == 0 {
                break;
            }
            // The rest of a block is sent as one burst.
            let most = room.min(max_segs);
            let (mut burst, mut bytes) = (0, 0);
            while burst < most && n != self.scoreboard.end() {
                let p = self.scoreboard.get(n);
                if p.block != block
                    || !p.is(flag::LOST)
                    || p.is(flag::SACKED | flag::RETRANS)
                    || self.count.retrans >= self.count.lost
                {
                    break;
                }
                rearm |= n == self.scoreboard.first();
                self.retransmit(n, out);
                (burst, bytes) = (burst + 1, bytes + self.payload(n) as u64);
                n = n.wrapping_add(1);
            }
            if burst == most {
                self.scoreboard.split_block_after(n.wrapping_sub(1));
            }
            mark_push(burst, out);
            if self.in_reduction() {
                self.prr.out += burst;
            }
            self.charge_pacing(bytes);
        }
        if rearm && !matches!(self.timers.armed, Some((Timer::Reorder, _))) {
            self.arm_paced(Timer::Retransmit, self.rto());
        }
    }

    /// Retransmits packet `n` in recovery.
    pub(super) fn retransmit(&mut self, n: u32, out: &mut Vec<Outgoing>) {
        self.collapse(n);
        let p = self.scoreboard.get_mut(n);
        if !p.is(flag::RETRANS) {
            p.flags |= flag::RETRANS;
            self.count.retrans += 1;
        }
        self.resend(n, out);
        self.undo.retrans_stamp.get_or_insert(timestamp(self.s.now));
        self.undo.retrans = self.undo.retrans.max(0) + 1;
    }

    /// Extends a packet that is not full-sized by the following data, up to a segment and the window
    /// (`tcp_retrans_try_collapse`).
    fn collapse(&mut self, n: u32) {
        let (mss, next) = (self.s.mss, n.wrapping_add(1));
        if !self.rules.linux || self.scoreboard.get(n).len >= mss || !self.scoreboard.is_alone(n) {
            return;
        }
        while next != self.scoreboard.end() && self.scoreboard.is_alone(next) {
            let (p, q) = (self.scoreboard.get(n), self.scoreboard.get(next));
            let end = self.s.snd_una + self.peer.window;
            if q.is(flag::SACKED) || p.len + q.len > mss || q.end() > end {
                return;
            }
            self.count.lost -= q.is(flag::LOST) as u32;
            self.count.retrans -= q.is(flag::RETRANS) as u32;
            if !self.rules.sack {
                self.count.sacked = self.count.sacked.saturating_sub(1);
            }
            self.scoreboard.merge(n);
            let beyond = |m: u32| m.wrapping_sub(n) as i32 > 0;
            self.recovery.hint = self.recovery.hint.map(|m| if beyond(m) { m.wrapping_sub(1) } else { m });
        }
    }

    /// Retransmits packet `n` without counting it as in flight twice (tail loss probe).
    pub(super) fn resend(&mut self, n: u32, out: &mut Vec<Outgoing>) {
        let now = self.s.now;
        let (delivered, delivered_time, first_sent) =
            (self.s.delivered, self.s.delivered_time, self.first_sent);
        let limited = self.s.app_limited != 0;
        let (in_flight, lost) = (self.in_flight(), self.s.lost as u32);
        let p = self.scoreboard.get_mut(n);
        p.flags |= flag::EVER_RETRANS;
        p.flags &= !(flag::SAMPLED | flag::APP_LIMITED);
        if limited {
            p.flags |= flag::APP_LIMITED;
        }
        (p.at, p.delivered, p.delivered_time, p.first_sent) = (now, delivered, delivered_time, first_sent);
        (p.tx_in_flight, p.lost) = (in_flight, lost);
        let (seq, end, push) = (p.seq, p.end(), p.is(flag::PUSHED));
        self.scoreboard.sent(n);
        let len = self.payload(n);
        let fin = end > seq + len as u64;
        out.push(Outgoing { seq, bytes: len.into(), size: len, cwr: false, new: false, push, fin });
        self.stats.sent += 1;
        self.stats.retransmitted += 1;
        if let Some(list) = &mut self.retransmissions {
            list.push(Retransmission { at: now, seq, len });
        }
        self.s.last_sent = Some(now);
    }

    /// The application writes `n` more bytes. The window is restarted after idle time before it sizes bursts
    /// (`tcp_skb_entail`). If the connection is `open`, full blocks are sent during the write
    /// (`tcp_sendmsg_locked`); the rest waits for [`Sender::push`].
    pub(crate) fn write(&mut self, now: Time, n: u64, last: bool, open: bool, out: &mut Vec<Outgoing>) {
        self.s.now = now;
        if self.stream.fin {
            return;
        }
        if n > 0 {
            self.restart_after_idle();
        }
        self.check_app_limited();
        let half = self.half_window();
        let size = self.s.gso_max_size as u64;
        let size = if half > 0 { size.min(half) } else { size };
        let mss = self.s.mss as u64;
        let size = (size / mss).max(1) * mss;
        let mut left = n;
        self.stream.begin(self.s.snd_nxt, size);
        loop {
            let room = self.stream.room(self.s.snd_nxt, size);
            if !open || left <= room {
                break;
            }
            self.stream.append(self.s.snd_nxt, room, size);
            left -= room;
            let how = match self.stream.is_forced(half) {
                true => WriteMode::Push,
                false if self.stream.is_one_block(self.s.snd_nxt) => WriteMode::One,
                false => break,
            };
            if !self.write_new(out, how) {
                break;
            }
        }
        self.stream.finish(self.s.snd_nxt, left, size, half);
        self.stream.closed = last;
    }

    /// The application withdraws data that was not sent.
    pub(crate) fn truncate(&mut self) {
        if self.stream.fin {
            return;
        }
        self.stream.truncate(self.s.snd_nxt);
        self.truncate_buffer();
        self.check_app_limited();
    }

    /// The application will write no more. FIN is sent with the last byte, or alone if that was sent already
    /// (`tcp_send_fin`).
    pub(crate) fn close(&mut self, now: Time) {
        self.s.now = now;
        (self.stream.fin, self.stream.closed) = (true, true);
    }

    /// Sends the end of the stream, without Nagle's algorithm.
    pub(crate) fn push_end(&mut self, out: &mut Vec<Outgoing>) {
        self.write_new(out, WriteMode::Push);
        self.probe_if_closed();
    }

    /// Payload of packet `n`, without its FIN.
    pub(super) fn payload(&self, n: u32) -> u32 {
        let p = self.scoreboard.get(n);
        p.len - (p.end() > self.stream.end) as u32
    }

    /// Sends new data as far as allowed.
    pub fn push(&mut self, now: Time, out: &mut Vec<Outgoing>) {
        self.s.now = now;
        self.write_new(out, WriteMode::Normal);
        self.probe_if_closed();
    }

    /// Arms the window probe if the window does not admit the first packet.
    fn probe_if_closed(&mut self) {
        if self.scoreboard.is_empty()
            && self.s.snd_nxt < self.stream.end_with_fin()
            && self.timers.armed.is_none()
        {
            self.arm_paced(Timer::Retransmit, self.rto());
        }
    }

    /// Handles the pacing timer: sends lost packets first, then new ones.
    pub(super) fn handle_pacing(&mut self, out: &mut Vec<Outgoing>) {
        self.timers.pacing_at = None;
        if self.count.lost > self.count.retrans && self.w.cwnd > self.in_flight() {
            self.write_lost(out);
        }
        self.write_new(out, WriteMode::Normal);
    }
}

/// Sets PSH on the last packet of a burst, so that a receiver that merges segments delivers them
/// (`__tcp_transmit_skb`).
fn mark_push(burst: u32, out: &mut [Outgoing]) {
    if let Some(last) = out.last_mut().filter(|_| burst > 1) {
        last.push = true;
    }
}
