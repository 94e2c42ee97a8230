//! longfat's congestion controls under QUIC. What the library reports about packets is translated to what
//! Linux's TCP would report.
//!
//! Each packet is a segment. It is sent, acknowledged or lost under its own number, and never sent again (RFC
//! 9002 section 2). Delivery is sampled as in TCP (draft-cheng-iccrg-delivery-rate-estimation). Pacing rate
//! and window go back to the library.
//!
//! | difference to the kernel | reason |
//! |---|---|
//! | losses and CE marks count in the rate sample of the next ACK | the library reports an ACK's packets before its other contents |
//! | a mark means "some packets of this ACK", without a count | the library reports no more (`on_congestion_event`) |
//! | a loss reduces the window at once, without PRR | RFC 9002 section 7.3.2 |
//! | no undo by D-SACK; one if all packets of a reduction arrived after all | QUIC has no D-SACK |
//! | packets are counted by the path's MTU | the library's window is bytes of UDP payload |

use crate::contract::Contract;
use congestion::{AckEvent, CaState, Controller, Event, LostPacket, RateSample, Socket, Window};
use exempt::ExemptLosses;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::{Span, Time};

mod exempt;
mod handle;
mod recovery;
mod view;

pub use handle::{CongestionChoice, PacedDeparture};
pub use view::SteeringView;

/// RFC 6928: packets that may be sent initially.
const INITIAL_WINDOW: u32 = 10;
/// The bytes of the IP and UDP headers before a QUIC packet, which a policer counts too (IPv4; IPv6 has 20
/// more).
pub const WIRE_HEADERS: u64 = 28;
/// Packets this far below the highest acknowledged number are forgotten; older ones were given up with their
/// keys.
const MAX_PACKET_AGE: u64 = 1 << 16;

/// The state when a packet was sent.
struct SentPacket {
    at: Time,
    bytes: u32,
    seq: u64,
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    in_flight: u32,
    lost: u64,
    app_limited: bool,
}

/// The packets that the current ACK acknowledges, as far as the library has reported them.
#[derive(Default)]
struct AckBatch {
    packets: u32,
    newest: Option<SentPacket>,
    losses: u32,
    /// Whether packets came with CE marks.
    is_marked: bool,
}

/// The control in charge while no contract is known.
const BASE_CONTROL: &str = "bbr3";

/// A control from the registry. The configuration check rejects other names.
fn make(name: &str, seed: u64) -> Box<dyn Controller> {
    congestion::make(name, seed, "pair")
        .or_else(|| congestion::make("cubic", seed, "pair"))
        .expect("CUBIC is in the registry")
}

/// The congestion control of one path.
pub struct Steering {
    cc: Box<dyn Controller>,
    contract: Option<Contract>,
    socket: Socket,
    window: Window,
    departure: Arc<PacedDeparture>,
    sent: BTreeMap<u64, SentPacket>,
    in_flight: u64,
    first_sent: Time,
    largest_sent: u64,
    largest_acked: u64,
    /// The last packet that was sent before the window was reduced.
    recovery_high: Option<u64>,
    prior_ssthresh: u32,
    ack: AckBatch,
    exempt: ExemptLosses,
    next_restart: Time,
    /// Bytes of UDP payload per second, from the newest rate sample.
    delivery_rate: Option<u64>,
    seed: u64,
    /// The highest sending rate, bytes per second.
    most: u64,
}

impl Steering {
    fn new(name: &str, pace: Option<u64>, choice: &CongestionChoice, mtu: u16) -> Steering {
        let mut steering = Steering {
            cc: make("cubic", choice.seed),
            contract: None,
            socket: Socket { mss: mtu.into(), ..Socket::default() },
            seed: choice.seed,
            window: Window::new(INITIAL_WINDOW),
            departure: choice.departure.clone(),
            sent: BTreeMap::new(),
            in_flight: 0,
            first_sent: Time::ZERO,
            largest_sent: 0,
            largest_acked: 0,
            recovery_high: None,
            prior_ssthresh: u32::MAX,
            ack: AckBatch::default(),
            exempt: ExemptLosses::default(),
            next_restart: Time::ZERO,
            delivery_rate: None,
            most: u64::MAX,
        };
        steering.change(name, pace);
        steering
    }

    /// Continues with another control, which starts from its initial state.
    fn change(&mut self, name: &str, pace: Option<u64>) {
        let is_contract = name == proxy::PairConfig::CONTRACT;
        self.cc = make(if is_contract { BASE_CONTROL } else { name }, self.seed);
        let packet = u64::from(self.socket.mss) + WIRE_HEADERS;
        self.contract = is_contract.then(|| Contract::new(packet));
        self.most = pace.unwrap_or(u64::MAX);
        self.socket.max_pacing_rate = self.most;
        self.window = Window::new(INITIAL_WINDOW);
        self.cc.init(&self.socket, &mut self.window);
    }

    fn time(&self, at: Instant) -> Time {
        Time::from_nanos(at.saturating_duration_since(self.departure.origin).as_nanos() as u64)
    }

    fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(u64::from(self.socket.mss)) as u32
    }

    fn on_sent(&mut self, now: Instant, bytes: u32, number: u64) {
        let now = self.time(now);
        self.socket.now = now;
        let wire = u64::from(bytes) + WIRE_HEADERS;
        // A packet counts as sent when it leaves the link.
        if let (Some(contract), Some(left)) = (&mut self.contract, self.departure.take_left()) {
            contract.on_left(left);
        }
        let pace = self.pacing_rate();
        let at = self.contract.as_mut().map_or(now, |contract| contract.on_sent(now, number, wire, pace));
        self.departure.set(at);
        if self.in_flight == 0 {
            self.first_sent = at;
            self.socket.delivered_time = at;
            self.socket.inflight = 0;
            self.cc.cwnd_event(&self.socket, &mut self.window, Event::TxStart);
        }
        self.in_flight += u64::from(bytes);
        self.socket.inflight = self.packets(self.in_flight);
        let s = &mut self.socket;
        let packet = SentPacket {
            at,
            bytes,
            seq: s.snd_nxt,
            delivered: s.delivered,
            delivered_time: s.delivered_time,
            first_sent: self.first_sent,
            in_flight: s.inflight,
            lost: s.lost,
            app_limited: s.app_limited > 0,
        };
        s.snd_nxt += u64::from(bytes);
        (s.last_sent, s.next_departure) = (Some(at), at);
        self.largest_sent = self.largest_sent.max(number);
        self.sent.insert(number, packet);
    }

    /// `rtt` is the current smoothed RTT and the smallest.
    fn on_acked(&mut self, now: Instant, number: u64, rtt: [Duration; 2]) {
        let at = self.time(now);
        self.socket.now = at;
        let Some(packet) = self.sent.remove(&number) else { return };
        let s = &mut self.socket;
        s.delivered += 1;
        s.delivered_time = at;
        s.snd_una += u64::from(packet.bytes);
        (s.srtt, s.min_rtt) = (Some(span(rtt[0])), Some(span(rtt[1])));
        self.in_flight = self.in_flight.saturating_sub(u64::from(packet.bytes));
        self.largest_acked = self.largest_acked.max(number);
        self.ack.packets += 1;
        if let Some(contract) = &mut self.contract {
            contract.on_acked(at, number, at.since(packet.at));
            if self.exempt.on_acked(contract.lossy()) {
                self.restart_control(at);
            }
        }
        if self.ack.newest.as_ref().is_none_or(|newest| newest.at <= packet.at) {
            self.first_sent = packet.at;
            self.ack.newest = Some(packet);
        }
    }

    /// All packets of an ACK have been reported. `in_flight` is what the library counts as outstanding now.
    fn on_ack_end(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        let at = self.time(now);
        let ack = std::mem::take(&mut self.ack);
        let prior_in_flight = self.socket.inflight;
        (self.socket.now, self.in_flight) = (at, in_flight);
        self.socket.inflight = self.packets(in_flight);
        let Some(newest) = ack.newest else {
            (self.ack.losses, self.ack.is_marked) = (ack.losses, ack.is_marked);
            return;
        };
        let rtt = at.since(newest.at);
        self.cc.pkts_acked(&self.socket, &mut self.window, Some(rtt), ack.packets);
        let event = AckEvent { ece: ack.is_marked, ..AckEvent::default() };
        self.cc.in_ack_event(&self.socket, &mut self.window, event);
        self.leave_recovery();
        let sample = RateSample {
            ece: ack.is_marked,
            ..self.sample(&newest, rtt, ack.packets, ack.losses, prior_in_flight)
        };
        self.note_delivery(&sample);
        self.socket.is_cwnd_limited = !app_limited;
        if self.cc.owns_window() {
            self.cc.cong_control(&self.socket, &mut self.window, &sample);
        } else {
            if self.socket.state == CaState::Open && self.socket.is_cwnd_limited {
                self.cc.cong_avoid(&self.socket, &mut self.window, ack.packets);
            }
            self.pace_by_window();
        }
        self.note_app_limit(app_limited);
        let floor = self.largest_acked.saturating_sub(MAX_PACKET_AGE);
        while self.sent.first_key_value().is_some_and(|(number, _)| *number < floor) {
            self.sent.pop_first();
        }
    }

    fn note_app_limit(&mut self, app_limited: bool) {
        let s = &mut self.socket;
        if s.app_limited > 0 && s.delivered > s.app_limited {
            s.app_limited = 0;
        }
        if app_limited {
            s.app_limited = (s.delivered + u64::from(s.inflight)).max(1);
        }
        if let Some(mark) = self.window.app_limited.take() {
            self.socket.app_limited = mark;
        }
    }

    /// `tcp_rate_gen`.
    fn sample(
        &self,
        newest: &SentPacket,
        rtt: Span,
        acked: u32,
        losses: u32,
        prior_in_flight: u32,
    ) -> RateSample {
        let s = &self.socket;
        let send_phase = newest.at.since(newest.first_sent);
        let ack_phase = s.now.since(newest.delivered_time);
        let interval = send_phase.max(ack_phase);
        let is_valid = s.min_rtt.is_none_or(|min| interval >= min);
        RateSample {
            prior_delivered: newest.delivered,
            delivered: Some((s.delivered - newest.delivered) as u32),
            interval: if is_valid { interval } else { Span::ZERO },
            rtt: Some(rtt),
            losses,
            acked_sacked: acked,
            prior_in_flight,
            is_app_limited: newest.app_limited,
            tx_in_flight: newest.in_flight,
            lost: (s.lost - newest.lost) as u32,
            ..RateSample::default()
        }
    }

    /// `tcp_update_pacing_rate`: 200 % of a window per round trip in slow start, otherwise 120 %.
    fn pace_by_window(&mut self) {
        let Some(srtt) = self.socket.srtt.filter(|t| !t.is_zero()) else { return };
        let w = &mut self.window;
        let share = if w.cwnd < w.ssthresh / 2 { 200 } else { 120 };
        let packets = u128::from(w.cwnd.max(self.socket.inflight));
        let bytes = packets * u128::from(self.socket.mss) * share / 100;
        w.pacing_rate =
            u64::try_from(bytes * 1_000_000_000 / u128::from(srtt.as_nanos())).unwrap_or(u64::MAX);
    }

    fn on_lost(&mut self, now: Instant, number: u64) {
        self.socket.now = self.time(now);
        if let Some(contract) = &mut self.contract {
            contract.on_lost(self.socket.now, number);
        }
        let Some(packet) = self.sent.remove(&number) else { return };
        self.in_flight = self.in_flight.saturating_sub(u64::from(packet.bytes));
        self.socket.inflight = self.packets(self.in_flight);
        if self.exempt.is_exempt() {
            return;
        }
        self.socket.lost += 1;
        self.ack.losses += 1;
        let lost = LostPacket {
            seq: packet.seq,
            end: packet.seq + u64::from(packet.bytes),
            packets: 1,
            tx_in_flight: packet.in_flight,
            lost: (self.socket.lost - packet.lost) as u32,
            is_app_limited: packet.app_limited,
        };
        self.cc.packet_lost(&self.socket, &mut self.window, &lost);
        self.socket.inflight = self.packets(self.in_flight);
    }

    /// The rate that the contract gives the library's pacer. A mark does not come from a policer: after one,
    /// the control below is in charge for a round trip, and the contract only decides when packets may be
    /// sent.
    fn offer(&self) -> Option<u64> {
        let contract = self.contract.as_ref().filter(|_| self.socket.state != CaState::Cwr);
        contract.and_then(Contract::offer)
    }

    /// Bytes that may be outstanding, at least two packets.
    fn bytes_allowed(&self) -> u64 {
        let mss = u64::from(self.socket.mss);
        let own = u64::from(self.window.cwnd.max(2)) * mss;
        let (Some(offer), Some(srtt)) = (self.offer(), self.socket.srtt) else { return own };
        // Within the contract nothing queues: twice the bandwidth-delay product leaves room for late ACKs.
        let flight = u128::from(offer) * u128::from(srtt.as_nanos()) / 1_000_000_000;
        (2 * flight as u64).max(own)
    }

    /// Bytes of UDP payload per second; `None` before anything is known.
    fn pacing_rate(&self) -> Option<u64> {
        let mss = u64::from(self.socket.mss);
        if let Some(offer) = self.offer() {
            return Some((offer * mss / (mss + WIRE_HEADERS)).min(self.most));
        }
        let own = Some(self.window.pacing_rate).filter(|&rate| rate > 0);
        own.map(|rate| rate.min(self.most)).or((self.most < u64::MAX).then_some(self.most))
    }
}

fn span(t: Duration) -> Span {
    Span::from_nanos(t.as_nanos() as u64)
}
