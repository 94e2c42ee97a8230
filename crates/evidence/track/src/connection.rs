//! A connection: two ends, what each sent, and a [`Direction`] for each that sent data.

use crate::between::PacketBeyond;
use crate::direction::{AgreedMss, Direction, SentData, TrackLimits};
use crate::doubles::{DoubleTable, IdUse};
use crate::exchange::ExchangeTurn;
use crate::sequence::unwrap;
use crate::spare::{SpareLists, SpareStore};
use crate::timestamp_clock::{SilenceJudgement, TimestampClock};
use crate::{
    Bin, FirstPackets, Handshake, PackedSpan, PacketKind, PacketRow, ResetTrace, SetupTrace, Track,
    TrackCounts,
};
use capture::{Endpoint, IcmpReport, IcmpSays, TcpFlags, TcpPacket};
use units::{Span, Time};

/// A SYN of the end that has sent nothing else answers the other's within this (simultaneous open).
const OPENS_WITHIN: Span = Span::from_secs(3);
/// Packets may be missing at the capture's very beginning; a jump of more is another stream.
const MISSED_AT_FIRST: u32 = 1 << 20;
/// Bytes that the timestamp option takes of a segment, padding included (RFC 7323 appendix A).
const TIMESTAMP_OPTION: u32 = 12;

/// What one end sent, payload apart.
#[derive(Clone, Debug, Default)]
struct EndpointState {
    /// Sequence number of its SYN, and when it passed first.
    syn: Option<(u32, Time)>,
    /// How often it passed.
    syns: u32,
    mss: Option<u16>,
    wscale: ScaleOffer,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    /// The snap length cut options of its SYN off.
    options_cut: bool,
    /// The first byte of its data, by the other end's first ACK.
    first_acked: Option<u32>,
    packets: u64,
    ip_bytes: u64,
    acked: bool,
    fin: bool,
    /// Sequence number of a FIN that came before any of its data.
    early_fin: Option<u32>,
    fragments: FragmentCounts,
    ids: IdUse,
    clock: TimestampClock,
}

/// What a SYN says of window scaling (RFC 7323 section 2.2). A shift of 0 is an offer: the other end's windows are shifted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ScaleOffer {
    /// No (whole) SYN was seen.
    #[default]
    Unknown,
    /// None.
    Without,
    /// Its windows are shifted by so much if the other end offers scaling too.
    Shift(u8),
}

/// Packets that came in fragments.
#[derive(Clone, Copy, Debug, Default)]
struct FragmentCounts {
    packets: u64,
    fragments: u64,
    torn: u64,
    /// The least [`capture::PacketFragments::fits`].
    fits: Option<u16>,
}

impl FragmentCounts {
    #[cold]
    fn count(&mut self, p: &TcpPacket) {
        self.packets += 1;
        self.fragments += p.fragments.count as u64;
        self.torn += p.fragments.torn as u64;
        self.fits = Some(self.fits.map_or(p.fragments.fits, |fits| fits.min(p.fragments.fits)));
    }
}

impl EndpointState {
    /// The first byte of its stream, by its SYN.
    fn first_byte(&self) -> Option<u32> {
        self.syn.map(|(isn, _)| isn.wrapping_add(1))
    }

    /// When its SYN passed, if there was one only: of several it is not known which was answered.
    fn only_syn(&self) -> Option<Time> {
        self.syn.filter(|_| self.syns == 1).map(|(_, time)| time)
    }
}

/// One connection.
#[derive(Debug)]
pub struct TrackedConnection {
    pub number: u32,
    pub ends: [Endpoint; 2],
    /// Which of `ends` opened it.
    opener: usize,
    halves: [EndpointState; 2],
    data: [Option<Box<Direction>>; 2],
    /// First and last packet.
    pub first: Time,
    pub last: Time,
    /// `last` when it gave back memory.
    rested: Option<Time>,
    resets: u64,
    too_big: [u64; 2],
    /// Between the capture and each end.
    handshake_rtts: [Option<Span>; 2],
    duplicates: u64,
    setup: SetupTrace,
    reset: Option<ResetTrace>,
    turn: ExchangeTurn,
    /// [`TrackedConnection::bytes`] when it was last asked.
    pub held: usize,
    /// Memory for the lists of the first direction that has data.
    pub spare: Option<SpareLists>,
}

impl TrackedConnection {
    /// Begins with `p`, whose times are `now`; `side` is the index of its source in `ends`.
    pub fn new(number: u32, ends: [Endpoint; 2], side: usize, p: &TcpPacket, now: Time) -> TrackedConnection {
        // Without a handshake the first packet seen counts as the opener's; a SYN+ACK answers one.
        let answer = p.flags.has(TcpFlags::SYN) && p.flags.has(TcpFlags::ACK);
        TrackedConnection {
            number,
            ends,
            opener: if answer { 1 - side } else { side },
            halves: Default::default(),
            data: [None, None],
            first: now,
            last: now,
            rested: None,
            resets: 0,
            too_big: [0; 2],
            handshake_rtts: [None; 2],
            duplicates: 0,
            setup: SetupTrace::default(),
            reset: None,
            turn: ExchangeTurn::default(),
            held: 0,
            spare: None,
        }
    }

    /// Whether both ends are done.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.resets > 0 || self.halves[0].fin && self.halves[1].fin
    }

    /// Whether `p`, a SYN, opens another connection between the same ends.
    pub fn is_reopened_by(&self, side: usize, p: &TcpPacket, now: Time) -> bool {
        let syn = p.flags.has(TcpFlags::SYN) && !p.flags.has(TcpFlags::ACK);
        let known = self.halves[side].syn.is_some_and(|(isn, _)| isn == p.seq);
        let simultaneous = self.halves[side].packets == 0 && now.since(self.first) < OPENS_WITHIN;
        syn && !known && !simultaneous
    }

    /// ICMP says something of a packet from end `side`.
    pub fn report(&mut self, side: usize, report: &IcmpReport) {
        match report.says {
            IcmpSays::TooBig(mtu) => {
                self.too_big[side] += 1;
                if let Some(data) = &mut self.data[side] {
                    data.told(mtu);
                }
            }
            IcmpSays::Unreachable(why) => {
                self.setup.unreachable.get_or_insert((why, report.number));
            }
        }
    }

    /// A packet from end `side` passes, with its sign ([`crate::doubles::sign`]). Returns a row for it unless it is a double;
    /// `wanted` says whether anyone reads the row.
    #[inline]
    pub fn packet(
        &mut self,
        side: usize,
        (p, sign): (&TcpPacket, u64),
        now: Time,
        (limits, doubles): (TrackLimits, &mut DoubleTable),
        beyond: PacketBeyond,
        wanted: bool,
    ) -> Option<PacketRow> {
        if doubles.is_double(p, sign, now, &mut self.halves[side].ids) {
            self.duplicates += 1;
            return None;
        }
        if p.fragments.count > 0 {
            self.halves[side].fragments.count(p);
            if p.fragments.torn {
                return None; // The receiver never puts it together: it is as lost as one that never came.
            }
        }
        let last = std::mem::replace(&mut self.last, now);
        let delay = match beyond {
            PacketBeyond::Came(late) => late,
            _ => self.delay(side, p, now),
        };
        if p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::RST.0 | TcpFlags::FIN.0) != 0 {
            self.control(side, p, now);
        } else if !self.halves[side].acked {
            self.first_ack(side, p, now);
        }
        let out = |d: &Option<Box<Direction>>| d.as_ref().map_or(0, |d| d.bytes_out());
        let was_out = [out(&self.data[0]), out(&self.data[1])];
        let mut row = wanted.then(PacketRow::default);
        if p.flags.has(TcpFlags::ACK) && !p.flags.has(TcpFlags::RST) {
            self.acknowledge(1 - side, p, now, delay, limits, row.as_mut());
        }
        let sent = self.payload(side, p, now, last, (delay, beyond), limits, row.as_mut());
        if let Some(sent) = sent {
            self.take_turn(side, p.number, sent.kind == PacketKind::Data && !sent.repairs, now);
        }
        for (i, d) in self.data.iter_mut().enumerate() {
            let Some(d) = d else { continue };
            if was_out[i] > 0 {
                let (timer, repairs) =
                    sent.filter(|_| i == side).map_or((false, false), |s| (s.timer.is_some(), s.repairs));
                d.watch_silence(last, now, timer, repairs || i != side && d.was_held(p, was_out[i]));
            }
            d.watch_window(now);
        }
        let segments = sent.map_or(1, |s| s.segments);
        let headers = segments.saturating_mul(p.header as u32);
        let half = &mut self.halves[side];
        half.packets += segments as u64;
        half.ip_bytes += p.len as u64 + headers as u64;
        let mut row = row?;
        row.connection = self.number;
        row.from_opener = side == self.opener;
        row.time = now;
        row.len = p.len;
        row.ip_bytes = p.len.saturating_add(headers);
        row.flags = p.flags.0;
        if row.kind == PacketKind::Ack && p.len > 0 {
            row.kind = PacketKind::Data;
        }
        Some(row)
    }

    /// The end that asks: the one that opened the connection; where no SYN shows that, the one whose port is not a service's
    /// (RFC 6335: those are the lower ones).
    fn client(&self) -> usize {
        match self.halves.iter().any(|half| half.syn.is_some()) {
            true => self.opener,
            false => usize::from(self.ends[1].port > self.ends[0].port),
        }
    }

    /// Data passes: a request or a response.
    #[inline]
    fn take_turn(&mut self, side: usize, number: u32, new: bool, now: Time) {
        if side == self.client() {
            let answering = self.data[1 - side].as_ref().is_some_and(|d| d.outstanding());
            self.turn.asks(new, answering, number, now);
        } else {
            self.turn.answers(new, number, now);
        }
    }

    /// The packet's one-way delay to the capture above the least, by its timestamp.
    #[inline]
    fn delay(&mut self, side: usize, p: &TcpPacket, now: Time) -> PackedSpan {
        match p.options.timestamps {
            Some((value, _)) if p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::RST.0) == 0 => {
                let data =
                    self.data[1 - side].as_ref().filter(|_| self.halves[side].clock.needs_round_trips());
                let over = data.and_then(|d| d.down_over_least(p.ack, now));
                self.halves[side].clock.delay(now, value, over)
            }
            _ => PackedSpan::UNKNOWN,
        }
    }

    /// What the packet's sender says by its timestamps of a capture that was silent for `silence` until `now`.
    pub fn judge_silence(&self, side: usize, p: &TcpPacket, now: Time, silence: Span) -> SilenceJudgement {
        let clock = &self.halves[side].clock;
        let by_clock = p.options.timestamps.map(|(value, _)| clock.judge_silence(now, value, silence));
        match by_clock {
            Some(known @ (SilenceJudgement::Passed | SilenceJudgement::Less)) => known,
            _ => self.judge_by_timers(side, p, silence),
        }
    }

    /// What the sender's retransmission timer says of such a silence.
    fn judge_by_timers(&self, side: usize, p: &TcpPacket, silence: Span) -> SilenceJudgement {
        match self.data[1 - side].as_ref().is_some_and(|d| d.outwaited_its_timer(p, silence)) {
            true => SilenceJudgement::Less,
            false => SilenceJudgement::Unknown,
        }
    }

    /// Whether data is on its way which the packet, the first behind a silence, does not bring again: no timer ended the silence.
    pub fn is_on_its_way(&self, side: usize, p: &TcpPacket) -> bool {
        let again = self.data[side].as_ref().is_some_and(|d| d.is_sent_again(p));
        !again && self.directions().any(|d| d.outstanding())
    }

    /// When the packet passed by its sender's clock, going by the sender's last packet before it; `None` where its timestamps do not tell.
    pub fn time_by_sender(&self, side: usize, p: &TcpPacket) -> Option<Time> {
        self.halves[side].clock.time_of(p.options.timestamps?.0)
    }

    /// The capture's clock was set, and now it is `now`: no time from before is held against one after that.
    pub fn forget_times(&mut self, now: Time) {
        for half in &mut self.halves {
            half.clock.restart();
            // Which SYN was answered when is as unknown as behind several.
            half.syns += u32::from(half.syns > 0 && !half.acked);
        }
        self.data.iter_mut().flatten().for_each(|d| d.forget_times(now));
    }

    /// The packet acknowledges data from end `of`.
    #[inline]
    fn acknowledge(
        &mut self,
        of: usize,
        p: &TcpPacket,
        now: Time,
        delay: PackedSpan,
        limits: TrackLimits,
        row: Option<&mut PacketRow>,
    ) {
        if self.data[of].is_none() {
            self.begin_unseen(of, p, limits);
        }
        let Some(d) = &mut self.data[of] else { return };
        let rtt = d.ack(p, now);
        d.ack_delayed(now, delay);
        if let Some(row) = row {
            row.rtt = rtt;
            row.ack = unwrap(d.stream.una, p.ack).saturating_sub(d.stream.start);
            row.window = d.announced();
        }
    }

    /// What the packet brings of its own direction. Returns what its data was.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the packet, and what was found out about it")]
    fn payload(
        &mut self,
        side: usize,
        p: &TcpPacket,
        now: Time,
        last: Time,
        (delay, beyond): (PackedSpan, PacketBeyond),
        limits: TrackLimits,
        row: Option<&mut PacketRow>,
    ) -> Option<SentData> {
        let mut sent = None;
        if p.len > 0 && !p.flags.has(TcpFlags::RST) {
            if self.data[side].is_none() {
                self.begin(side, p.seq.wrapping_add(p.flags.has(TcpFlags::SYN) as u32), p, limits);
            }
            if let Some(d) = &mut self.data[side] {
                (d.delay, d.beyond) = (delay, beyond);
                if let Some(seen) = d.data(p, now, last) {
                    if let Some(row) = row {
                        (row.kind, row.seq, row.inflight) = (seen.kind, seen.seq, seen.inflight);
                    }
                    sent = Some(seen);
                    if let Some(back) = &mut self.data[1 - side] {
                        back.hear(seen.kind, now);
                    }
                }
            }
        } else if let Some(d) = &mut self.data[side] {
            d.note_empty(p, now);
            if let Some(row) = row {
                row.seq = unwrap(d.stream.nxt, p.seq).saturating_sub(d.stream.start);
                row.inflight = d.inflight(now);
            }
        }
        if p.flags.has(TcpFlags::FIN) {
            match &mut self.data[side] {
                Some(d) => d.ends_at(p.seq.wrapping_add(p.len)),
                None => self.halves[side].early_fin = Some(p.seq.wrapping_add(p.len)),
            }
        }
        sent
    }

    /// SYN, FIN, RST.
    fn control(&mut self, side: usize, p: &TcpPacket, now: Time) {
        if p.flags.has(TcpFlags::RST) {
            self.resets += 1;
            self.is_reset(side, p, now);
        }
        self.halves[side].fin |= p.flags.has(TcpFlags::FIN);
        self.setup.complete |= side == self.opener && p.flags.has(TcpFlags::FIN);
        if !p.flags.has(TcpFlags::SYN) {
            return;
        }
        self.setup.syn(p.flags.has(TcpFlags::ACK), p.number, now);
        let half = &mut self.halves[side];
        half.syns += 1;
        // One that is sent again says nothing new.
        if half.syn.is_some_and(|(isn, _)| isn == p.seq) {
            return;
        }
        half.syn = Some((p.seq, now));
        half.mss = p.options.mss;
        half.sack = p.options.sack_ok;
        half.timestamps = p.options.timestamps.is_some();
        half.ecn = p.flags.has(TcpFlags::ECE);
        half.options_cut = p.options.cut;
        half.wscale = match p.options.wscale {
            Some(scale) => ScaleOffer::Shift(scale.min(14)), // RFC 7323 section 2.3
            None if p.options.cut => ScaleOffer::Unknown,
            None => ScaleOffer::Without,
        };
        if p.flags.has(TcpFlags::ACK) {
            self.opener = 1 - side;
            // The SYN that it answers, and the path to the end that answered; which of several it answers is not known (Karn's
            // algorithm, RFC 6298 section 3).
            self.handshake_rtts[side] = self.halves[1 - side].only_syn().map(|sent| now.since(sent));
        }
    }

    fn is_reset(&mut self, side: usize, p: &TcpPacket, now: Time) {
        let sent = |side: usize| self.data[side].as_ref().map_or(0, |d| d.stream.nxt - d.stream.start);
        let reset = ResetTrace {
            by_opener: side == self.opener,
            time: now,
            packets: FirstPackets::default(),
            sent: [sent(self.opener), sent(1 - self.opener)],
            outstanding: self.data.iter().flatten().any(|d| d.outstanding()),
            after_fin: self.halves.iter().any(|half| half.fin),
        };
        self.reset.get_or_insert(reset).packets.add(p.number);
    }

    /// The first packet from `side` without SYN, FIN, RST.
    #[cold]
    fn first_ack(&mut self, side: usize, p: &TcpPacket, now: Time) {
        self.halves[side].acked = true;
        self.setup.complete |= side == self.opener;
        if p.flags.has(TcpFlags::ACK) {
            if side == self.opener
                && let Some(sent) = self.halves[1 - side].only_syn()
            {
                self.handshake_rtts[side].get_or_insert(now.since(sent));
            }
            self.halves[1 - side].first_acked.get_or_insert(p.ack);
        }
    }

    fn handshake(&self, side: usize) -> Handshake {
        let (from, to) = (&self.halves[side], &self.halves[1 - side]);
        let (syn, answer) = (&self.halves[self.opener], &self.halves[1 - self.opener]);
        let (up, down) = (self.handshake_rtts[side], self.handshake_rtts[1 - side]);
        Handshake {
            syn: syn.syn.is_some(),
            syn_ack: answer.syn.is_some(),
            rtt: up.zip(down).map(|(a, b)| a + b),
            up,
            down,
            mss: to.mss,
            wscale: self.scale(1 - side),
            scaled: self.is_scaled(),
            scale_refuted: false,
            sack: from.sack && to.sack,
            timestamps: from.timestamps && to.timestamps,
            ecn: from.ecn && to.ecn,
            options_cut: from.options_cut || to.options_cut,
        }
    }

    /// The scale of the windows that `side` announces: none unless both ends offered it. Who answers offers it only if it was
    /// offered (RFC 7323 section 2.2), so where one SYN was not seen the other speaks for both.
    fn scale(&self, side: usize) -> Option<u8> {
        match (self.halves[side].wscale, self.halves[1 - side].wscale) {
            (ScaleOffer::Without, _) | (_, ScaleOffer::Without) => Some(0),
            (ScaleOffer::Shift(shift), _) => Some(shift),
            (ScaleOffer::Unknown, _) => None,
        }
    }

    /// Whether both ends offered it, likewise.
    fn is_scaled(&self) -> Option<bool> {
        let offers = [self.halves[0].wscale, self.halves[1].wscale];
        match offers {
            _ if offers.contains(&ScaleOffer::Without) => Some(false),
            [ScaleOffer::Unknown, ScaleOffer::Unknown] => None,
            _ => Some(true),
        }
    }

    /// End `side` begins to send data, its first byte having the sequence number `seq`, as `p` shows.
    #[cold]
    fn begin(&mut self, side: usize, seq: u32, p: &TcpPacket, limits: TrackLimits) {
        let first = match (self.halves[side].first_byte(), self.halves[side].first_acked) {
            (Some(first), _) => first,
            (None, Some(acked)) if seq.wrapping_sub(acked) < MISSED_AT_FIRST => acked,
            _ => seq,
        };
        let handshake = self.handshake(side);
        // Once agreed on, timestamps are in every segment (RFC 7323 section 3.2), whichever SYN was not seen.
        let stamped = handshake.timestamps || p.options.timestamps.is_some();
        let options = if stamped { TIMESTAMP_OPTION } else { 0 };
        // A sender keeps to the other's offer, and as a rule to its own; and counts options off (RFC 6691), as a rule.
        let mss = handshake.mss.map(|offer| {
            let own = self.halves[side].mss.unwrap_or(offer);
            AgreedMss {
                likely: u32::from(offer.min(own)).saturating_sub(options).max(1),
                most: u32::from(offer).max(1),
                options,
            }
        });
        let spare = self.spare.take().unwrap_or_default();
        let mut direction = Direction::new(first, self.first, handshake, mss, limits, spare);
        if let Some(fin) = self.halves[side].early_fin {
            direction.ends_at(fin);
        }
        self.data[side] = Some(Box::new(direction));
    }

    /// An ACK of data from end `side` that was never seen, because only this way was captured.
    #[inline]
    fn begin_unseen(&mut self, side: usize, p: &TcpPacket, limits: TrackLimits) {
        let half = &self.halves[side];
        let Some(first) = half.first_byte().or(half.first_acked) else {
            self.halves[side].first_acked = Some(p.ack);
            return;
        };
        // One byte more is a FIN.
        if (p.ack.wrapping_sub(first) as i32) > 1 {
            self.begin(side, first, p, limits);
        }
    }

    /// Reads from each of its cache lines.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let half = |h: &EndpointState| h.packets ^ h.clock.fetch();
        half(&self.halves[0])
            ^ half(&self.halves[1])
            ^ self.last.as_nanos()
            ^ self.held as u64
            ^ self.ends[1].port as u64
    }

    /// The directions that have data.
    pub fn directions(&self) -> impl Iterator<Item = &Direction> {
        self.data.iter().flatten().map(|d| &**d)
    }

    /// Bytes of memory that grow.
    pub fn bytes(&self) -> usize {
        self.data.iter().flatten().map(|d| d.bytes()).sum()
    }

    /// Gives back memory that it may not need again, to `store` as far as that wants it; once in a silence.
    pub fn rest(&mut self, store: &mut SpareStore) {
        if self.rested.replace(self.last) != Some(self.last) {
            self.spare.take().into_iter().for_each(|lists| store.put(lists));
            self.data.iter_mut().flatten().for_each(|d| d.rest(store));
            self.held = self.bytes();
        }
    }

    /// Keeps less from now on.
    pub fn limit(&mut self, limits: TrackLimits) {
        self.data.iter_mut().flatten().for_each(|d| d.limit(limits));
    }

    /// Doubles that were left out.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Whether its setup failed as far as is seen: refused, or tried again and in vain.
    fn is_never_set_up(&self) -> bool {
        let s = &self.setup;
        let refused = self.reset.is_some_and(|reset| !reset.by_opener) || s.unreachable.is_some();
        s.syns.total() > 0 && !s.complete && (refused || s.syns.total() > 1 || s.syn_acks.total() > 1)
    }

    /// The tracks of the ends that sent data; where the setup failed, that of the end that tried.
    pub fn finish(mut self, out: &mut Vec<Track>) {
        let client = self.client();
        let ways = [
            self.handshake_rtts[1 - client],
            self.data[client].as_ref().and_then(|d| d.least_down()),
            self.data[1 - client].as_ref().and_then(|d| d.least_up()),
        ];
        let way = ways.into_iter().flatten().min();
        let mut exchanges = std::mem::take(&mut self.turn).finish();
        if let Some(all) = &mut exchanges {
            all.way = way;
        }
        if self.data.iter().all(Option::is_none) && self.is_never_set_up() {
            out.push(Track {
                connection: self.number,
                sender: self.ends[self.opener],
                receiver: self.ends[1 - self.opener],
                opened: true,
                first: self.first,
                last: self.last,
                handshake: self.handshake(self.opener),
                counts: TrackCounts {
                    packets: self.halves[self.opener].packets,
                    ip_bytes: self.halves[self.opener].ip_bytes,
                    resets: self.resets,
                    ..TrackCounts::default()
                },
                setup: self.setup,
                reset: self.reset,
                ..Track::default()
            });
        }
        for side in 0..2 {
            let Some(d) = self.data[side].take() else { continue };
            let mut s = d.finish(self.last);
            let (from, to) = (&self.halves[side], self.ends[1 - side]);
            s.counts.packets = from.packets;
            s.counts.ip_bytes = from.ip_bytes;
            s.counts.resets = self.resets;
            s.counts.fin = from.fin;
            s.counts.too_big += self.too_big[side];
            s.counts.icmp_too_big = self.too_big[side];
            s.counts.duplicate_records = self.duplicates;
            let cut = &from.fragments;
            s.counts.fragmented_packets = cut.packets;
            s.counts.fragments = cut.fragments;
            s.counts.torn_packets = cut.torn;
            let (bin, bins) = (s.bins.width(), s.bins.into_list());
            let (log, merged) = s.log.into_packets();
            out.push(Track {
                connection: self.number,
                sender: self.ends[side],
                receiver: to,
                opened: side == self.opener,
                first: self.first,
                last: self.last,
                first_data: s.first_data,
                last_data: s.last_data,
                handshake: s.handshake,
                mss: s.mss,
                mss_before: s.mss_before,
                path_mtu: s.path_mtu,
                fragment_fits: from.fragments.fits.map(u32::from),
                too_big: s.too_big,
                lost_probes: s.lost_probes,
                header: s.header,
                outside: s.outside,
                counts: s.counts,
                rtt_down: s.rtt_down,
                rtt_up: s.rtt_up,
                rtt: s.rtt,
                bin,
                bins: self.corrected(side, bins, bin),
                log,
                merged,
                waits: s.waits,
                zero_windows: s.zero_windows,
                held: s.held,
                exchanges: if side == client { None } else { exchanges.take() },
                setup: self.setup,
                reset: self.reset,
                bursts: s.bursts,
                between: None,
            });
        }
    }

    /// The bins of what end `side` sent, with what was learned of its delays later.
    fn corrected(&self, side: usize, mut bins: Vec<Bin>, width: Span) -> Vec<Bin> {
        let (there, back) = (&self.halves[side].clock, &self.halves[1 - side].clock);
        for b in &mut bins {
            let middle = self.first + width * b.index as u64 + width / 2;
            let more = |delay: PackedSpan, clock: &TimestampClock| {
                PackedSpan::from(delay.get().map(|d| d + clock.correction(middle)))
            };
            b.data_delay = more(b.data_delay, there);
            b.ack_delay = more(b.ack_delay, back);
        }
        bins
    }
}
