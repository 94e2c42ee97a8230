//! A connection: its two ends, and a [`Direction`] for each end that sent data.

use crate::between::ExternalFate;
use crate::direction::{AgreedMss, Direction, SentData, TrackLimits};
use crate::duplicates::{DuplicateTable, IdUse};
use crate::list_pool::{ListPool, PooledLists};
use crate::responses::ExchangeTracker;
use crate::rtt::RTO_MIN;
use crate::sequence::unwrap;
use crate::timestamp_clock::{SilenceJudgement, TimestampClock};
use crate::{
    Bin, FirstPackets, Handshake, PackedSpan, PacketKind, PacketRow, ResetTrace, SetupTrace, Track,
    TrackCounts,
};
use capture::{Endpoint, IcmpMessage, IcmpReport, TcpFlags, TcpPacket};
use units::{Span, Time};

/// If an end has sent nothing else, its SYN within this time of the other's answers it (simultaneous open).
const SIMULTANEOUS_OPEN_WITHIN: Span = Span::from_secs(3);
/// Bytes that may be missing before the first packet seen; after a larger jump it is another stream.
const MAX_MISSED_AT_START: u32 = 1 << 20;
/// Bytes of each segment that the timestamp option takes, padding included (RFC 7323 appendix A).
const TIMESTAMP_OPTION: u32 = 12;

/// The state of one end of the connection, apart from its payload.
#[derive(Clone, Debug, Default)]
struct EndpointState {
    /// Sequence number of the end's SYN, and when it passed first.
    syn: Option<(u32, Time)>,
    /// How often the SYN passed.
    syns: u32,
    mss: Option<u16>,
    wscale: ScaleOffer,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    /// The snap length cut off options of the SYN.
    options_cut: bool,
    /// First byte of the end's data, according to the other end's first ACK.
    first_acked: Option<u32>,
    packets: u64,
    ip_bytes: u64,
    acked: bool,
    fin: bool,
    /// Sequence number of a FIN that came before any data of the end.
    early_fin: Option<u32>,
    fragments: FragmentCounts,
    ids: IdUse,
    clock: TimestampClock,
}

/// A SYN's window scale option (RFC 7323 section 2.2). A shift of 0 is an offer: it permits the other end to
/// scale.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ScaleOffer {
    /// No complete SYN was seen.
    #[default]
    Unknown,
    /// The SYN has no such option.
    Without,
    /// The end's windows are shifted by this much if the other end offers scaling too.
    Shift(u8),
}

/// Packets that arrived in IP fragments.
#[derive(Clone, Copy, Debug, Default)]
struct FragmentCounts {
    packets: u64,
    fragments: u64,
    incomplete: u64,
    /// The smallest [`capture::PacketFragments::fits`].
    fits: Option<u16>,
}

impl FragmentCounts {
    #[cold]
    fn count(&mut self, p: &TcpPacket) {
        self.packets += 1;
        self.fragments += p.fragments.count as u64;
        self.incomplete += p.fragments.is_partial as u64;
        self.fits = Some(self.fits.map_or(p.fragments.fits, |fits| fits.min(p.fragments.fits)));
    }
}

impl EndpointState {
    /// First byte of the end's stream, according to its SYN.
    fn first_byte(&self) -> Option<u32> {
        self.syn.map(|(isn, _)| isn.wrapping_add(1))
    }

    /// When the SYN passed, if there was only one: of several it is not known which was answered.
    fn only_syn(&self) -> Option<Time> {
        self.syn.filter(|_| self.syns == 1).map(|(_, time)| time)
    }
}

/// One connection.
#[derive(Debug)]
pub struct TrackedConnection {
    pub number: u32,
    pub ends: [Endpoint; 2],
    /// Index into `ends` of the opener.
    opener: usize,
    endpoints: [EndpointState; 2],
    data: [Option<Box<Direction>>; 2],
    pub first: Time,
    pub last: Time,
    /// Value of `last` when memory was freed.
    shrunk_at: Option<Time>,
    resets: u64,
    too_big: [u64; 2],
    /// RTT of the handshake between the capture and each end.
    handshake_rtts: [Option<Span>; 2],
    duplicates: u64,
    setup: SetupTrace,
    reset: Option<ResetTrace>,
    exchange: ExchangeTracker,
    /// Value of [`TrackedConnection::bytes`] when it was last computed.
    pub counted_bytes: usize,
    /// Reused memory for the lists of the first direction that has data.
    pub pooled_lists: Option<PooledLists>,
}

impl TrackedConnection {
    /// Begins with packet `p`, which passes at `now`; `side` is the index of its source in `ends`.
    pub fn new(number: u32, ends: [Endpoint; 2], side: usize, p: &TcpPacket, now: Time) -> TrackedConnection {
        // Without a handshake the sender of the first packet seen counts as the opener, except that a SYN/ACK
        // answers one.
        let answer = p.flags.has(TcpFlags::SYN) && p.flags.has(TcpFlags::ACK);
        TrackedConnection {
            number,
            ends,
            opener: if answer { 1 - side } else { side },
            endpoints: Default::default(),
            data: [None, None],
            first: now,
            last: now,
            shrunk_at: None,
            resets: 0,
            too_big: [0; 2],
            handshake_rtts: [None; 2],
            duplicates: 0,
            setup: SetupTrace::default(),
            reset: None,
            exchange: ExchangeTracker::default(),
            counted_bytes: 0,
            pooled_lists: None,
        }
    }

    /// Returns whether both ends have closed or one has reset the connection.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.resets > 0 || self.endpoints[0].fin && self.endpoints[1].fin
    }

    /// Returns whether the SYN `p` opens another connection between the same ends.
    pub fn is_reopened_by(&self, side: usize, p: &TcpPacket, now: Time) -> bool {
        let syn = p.flags.has(TcpFlags::SYN) && !p.flags.has(TcpFlags::ACK);
        let known = self.endpoints[side].syn.is_some_and(|(isn, _)| isn == p.seq);
        let simultaneous =
            self.endpoints[side].packets == 0 && now.since(self.first) < SIMULTANEOUS_OPEN_WITHIN;
        syn && !known && !simultaneous
    }

    /// Processes an ICMP message about a packet from end `side`.
    pub fn report(&mut self, side: usize, report: &IcmpReport) {
        match report.says {
            IcmpMessage::TooBig(mtu) => {
                self.too_big[side] += 1;
                if let Some(data) = &mut self.data[side] {
                    data.icmp_mtu(mtu);
                }
            }
            IcmpMessage::Unreachable(why) => {
                self.setup.unreachable.get_or_insert((why, report.number));
            }
        }
    }

    /// Processes a packet from end `side` with its fingerprint ([`crate::duplicates::fingerprint`]). Returns
    /// a row for it if `wanted`, unless it is a duplicate record.
    #[inline]
    pub fn packet(
        &mut self,
        side: usize,
        (p, fingerprint): (&TcpPacket, u64),
        now: Time,
        (limits, duplicate_table): (TrackLimits, &mut DuplicateTable),
        fate: ExternalFate,
        wanted: bool,
    ) -> Option<PacketRow> {
        if duplicate_table.is_duplicate(p, fingerprint, now, &mut self.endpoints[side].ids) {
            self.duplicates += 1;
            return None;
        }
        if p.fragments.count > 0 {
            self.endpoints[side].fragments.count(p);
            if p.fragments.is_partial {
                return None; // The receiver cannot reassemble it, so it is as lost as a packet that never arrived.
            }
        }
        let last = std::mem::replace(&mut self.last, now);
        let delay = match fate {
            ExternalFate::Arrived(late) => late,
            _ => self.delay(side, p, now),
        };
        if p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::RST.0 | TcpFlags::FIN.0) != 0 {
            self.control(side, p, now);
        } else if !self.endpoints[side].acked {
            self.first_ack(side, p, now);
        }
        let out = |d: &Option<Box<Direction>>| d.as_ref().map_or(0, |d| d.bytes_out());
        let out_in_silence = (now.since(last) > RTO_MIN).then(|| self.data.each_ref().map(out));
        let mut row = wanted.then(PacketRow::default);
        if p.flags.has(TcpFlags::ACK) && !p.flags.has(TcpFlags::RST) {
            self.acknowledge(1 - side, p, now, delay, limits, row.as_mut());
        }
        let sent = self.payload(side, p, now, last, (delay, fate), limits, row.as_mut());
        if let Some(sent) = sent {
            self.track_exchange(side, p.number, sent.kind == PacketKind::Data && !sent.repairs, now);
        }
        if let Some(out) = out_in_silence {
            self.watch_silence(side, p, (last, now), out, sent);
        }
        self.data.iter_mut().flatten().for_each(|d| d.watch_window(now));
        let segments = sent.map_or(1, |s| s.segments);
        let headers = segments.saturating_mul(p.header as u32);
        let endpoint = &mut self.endpoints[side];
        endpoint.packets += segments as u64;
        endpoint.ip_bytes += p.len as u64 + headers as u64;
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

    /// Notes that no packet passed from `last` to `now`, longer than any sender's timer. Packet `p` of end
    /// `side`, with the data `sent`, ended that; `out`: bytes of each direction that were outstanding.
    #[cold]
    fn watch_silence(
        &mut self,
        side: usize,
        p: &TcpPacket,
        (last, now): (Time, Time),
        out: [u64; 2],
        sent: Option<SentData>,
    ) {
        for (i, d) in self.data.iter_mut().enumerate() {
            let Some(d) = d.as_mut().filter(|_| out[i] > 0) else { continue };
            let (timer, repairs) =
                sent.filter(|_| i == side).map_or((false, false), |s| (s.timer.is_some(), s.repairs));
            d.watch_silence(last, now, timer, repairs || i != side && d.is_overdue_ack(p, out[i]));
        }
    }

    /// The client: the end that opened the connection or, without a SYN, the one whose port is not a
    /// service's (RFC 6335: service ports are the lower ones).
    fn client(&self) -> usize {
        match self.endpoints.iter().any(|endpoint| endpoint.syn.is_some()) {
            true => self.opener,
            false => usize::from(self.ends[1].port > self.ends[0].port),
        }
    }

    /// Matches requests with responses when data passes.
    #[inline]
    fn track_exchange(&mut self, side: usize, number: u32, new: bool, now: Time) {
        if side == self.client() {
            let answering = self.data[1 - side].as_ref().is_some_and(|d| d.outstanding());
            self.exchange.client_data(new, answering, number, now);
        } else {
            self.exchange.server_data(new, number, now);
        }
    }

    /// One-way delay of the packet to the capture above the minimum, by its timestamp.
    #[inline]
    fn delay(&mut self, side: usize, p: &TcpPacket, now: Time) -> PackedSpan {
        match p.options.timestamps {
            Some((value, _)) if p.flags.0 & (TcpFlags::SYN.0 | TcpFlags::RST.0) == 0 => {
                let data =
                    self.data[1 - side].as_ref().filter(|_| self.endpoints[side].clock.needs_round_trips());
                let over = data.and_then(|d| d.down_over_least(p.ack, now));
                self.endpoints[side].clock.delay(now, value, over)
            }
            _ => PackedSpan::UNKNOWN,
        }
    }

    /// Judges, by the timestamps of the packet's sender, a silence of the capture that ended at `now`.
    pub fn judge_silence(&self, side: usize, p: &TcpPacket, now: Time, silence: Span) -> SilenceJudgement {
        let clock = &self.endpoints[side].clock;
        let by_clock = p.options.timestamps.map(|(value, _)| clock.judge_silence(now, value, silence));
        match by_clock {
            Some(known @ (SilenceJudgement::Passed | SilenceJudgement::Less)) => known,
            _ => self.judge_by_timers(side, p, silence),
        }
    }

    /// Judges a silence of the capture by the sender's retransmission timer.
    fn judge_by_timers(&self, side: usize, p: &TcpPacket, silence: Span) -> SilenceJudgement {
        match self.data[1 - side].as_ref().is_some_and(|d| d.exceeded_its_timer(p, silence)) {
            true => SilenceJudgement::Less,
            false => SilenceJudgement::Unknown,
        }
    }

    /// Returns whether data is in flight that the packet, the first after a silence, does not retransmit:
    /// then no timer ended the silence.
    pub fn is_other_data_in_flight(&self, side: usize, p: &TcpPacket) -> bool {
        let again = self.data[side].as_ref().is_some_and(|d| d.retransmits_in_flight(p));
        !again && self.directions().any(|d| d.outstanding())
    }

    /// Returns when the packet passed, by its sender's clock and previous packet; `None` if timestamps do not
    /// show it.
    pub fn time_by_sender(&self, side: usize, p: &TcpPacket) -> Option<Time> {
        self.endpoints[side].clock.time_of(p.options.timestamps?.0)
    }

    /// Forgets measurements that would compare a time before a step of the capture's clock with one after it,
    /// which is now `now`.
    pub fn forget_times(&mut self, now: Time) {
        for endpoint in &mut self.endpoints {
            endpoint.clock.restart();
            // It is unknown which SYN was answered when, as with several SYNs.
            endpoint.syns += u32::from(endpoint.syns > 0 && !endpoint.acked);
        }
        self.data.iter_mut().flatten().for_each(|d| d.forget_times(now));
    }

    /// Processes a packet that acknowledges data from end `of`.
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

    /// Processes the packet's own payload. Returns how its data was classified.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "the packet, and what was found out about it")]
    fn payload(
        &mut self,
        side: usize,
        p: &TcpPacket,
        now: Time,
        last: Time,
        (delay, fate): (PackedSpan, ExternalFate),
        limits: TrackLimits,
        row: Option<&mut PacketRow>,
    ) -> Option<SentData> {
        let mut sent = None;
        if p.len > 0 && !p.flags.has(TcpFlags::RST) {
            if self.data[side].is_none() {
                self.begin(side, p.seq.wrapping_add(p.flags.has(TcpFlags::SYN) as u32), p, limits);
            }
            if let Some(d) = &mut self.data[side] {
                (d.delay, d.fate) = (delay, fate);
                if let Some(seen) = d.data(p, now, last) {
                    if let Some(row) = row {
                        (row.kind, row.seq, row.inflight) = (seen.kind, d.offset(p), d.inflight(now));
                    }
                    sent = Some(seen);
                    if let Some(back) = &mut self.data[1 - side] {
                        back.receiver_sends(seen.kind, now);
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
                None => self.endpoints[side].early_fin = Some(p.seq.wrapping_add(p.len)),
            }
        }
        sent
    }

    /// Processes SYN, FIN and RST.
    fn control(&mut self, side: usize, p: &TcpPacket, now: Time) {
        if p.flags.has(TcpFlags::RST) {
            self.resets += 1;
            self.is_reset(side, p, now);
        }
        self.endpoints[side].fin |= p.flags.has(TcpFlags::FIN);
        self.setup.complete |= side == self.opener && p.flags.has(TcpFlags::FIN);
        if !p.flags.has(TcpFlags::SYN) {
            return;
        }
        self.setup.syn(p.flags.has(TcpFlags::ACK), p.number, now);
        let endpoint = &mut self.endpoints[side];
        endpoint.syns += 1;
        // A retransmitted SYN states nothing new.
        if endpoint.syn.is_some_and(|(isn, _)| isn == p.seq) {
            return;
        }
        endpoint.syn = Some((p.seq, now));
        endpoint.mss = p.options.mss;
        endpoint.sack = p.options.sack_ok;
        endpoint.timestamps = p.options.timestamps.is_some();
        endpoint.ecn = p.flags.has(TcpFlags::ECE);
        endpoint.options_cut = p.options.cut;
        endpoint.wscale = match p.options.wscale {
            Some(scale) => ScaleOffer::Shift(scale.min(14)), // RFC 7323 section 2.3
            None if p.options.cut => ScaleOffer::Unknown,
            None => ScaleOffer::Without,
        };
        if p.flags.has(TcpFlags::ACK) {
            self.opener = 1 - side;
            // Round trip from the SYN that it answers to the end that answered. Of several SYNs it is not
            // known which was answered (Karn's algorithm, RFC 6298 section 3).
            self.handshake_rtts[side] = self.endpoints[1 - side].only_syn().map(|sent| now.since(sent));
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
            after_fin: self.endpoints.iter().any(|endpoint| endpoint.fin),
        };
        self.reset.get_or_insert(reset).packets.add(p.number);
    }

    /// Processes the first packet from `side` without SYN, FIN and RST.
    #[cold]
    fn first_ack(&mut self, side: usize, p: &TcpPacket, now: Time) {
        self.endpoints[side].acked = true;
        self.setup.complete |= side == self.opener;
        if p.flags.has(TcpFlags::ACK) {
            if side == self.opener
                && let Some(sent) = self.endpoints[1 - side].only_syn()
            {
                self.handshake_rtts[side].get_or_insert(now.since(sent));
            }
            self.endpoints[1 - side].first_acked.get_or_insert(p.ack);
        }
    }

    fn handshake(&self, side: usize) -> Handshake {
        let (from, to) = (&self.endpoints[side], &self.endpoints[1 - side]);
        let (syn, answer) = (&self.endpoints[self.opener], &self.endpoints[1 - self.opener]);
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
            scale_is_wrong: false,
            sack: from.sack && to.sack,
            timestamps: from.timestamps && to.timestamps,
            ecn: from.ecn && to.ecn,
            options_cut: from.options_cut || to.options_cut,
        }
    }

    /// The scale of the windows that `side` announces: 0 unless both ends offered scaling. An end offers it
    /// in a SYN/ACK only if the SYN did (RFC 7323 section 2.2), so if one of them was not seen, the other one
    /// determines both.
    fn scale(&self, side: usize) -> Option<u8> {
        match (self.endpoints[side].wscale, self.endpoints[1 - side].wscale) {
            (ScaleOffer::Without, _) | (_, ScaleOffer::Without) => Some(0),
            (ScaleOffer::Shift(shift), _) => Some(shift),
            (ScaleOffer::Unknown, _) => None,
        }
    }

    /// Returns whether both ends offered window scaling; if one SYN was not seen, the other one determines
    /// it.
    fn is_scaled(&self) -> Option<bool> {
        let offers = [self.endpoints[0].wscale, self.endpoints[1].wscale];
        match offers {
            _ if offers.contains(&ScaleOffer::Without) => Some(false),
            [ScaleOffer::Unknown, ScaleOffer::Unknown] => None,
            _ => Some(true),
        }
    }

    /// Begins the direction of end `side`, whose first byte has the sequence number `seq`, as `p` shows.
    #[cold]
    fn begin(&mut self, side: usize, seq: u32, p: &TcpPacket, limits: TrackLimits) {
        let first = match (self.endpoints[side].first_byte(), self.endpoints[side].first_acked) {
            (Some(first), _) => first,
            (None, Some(acked)) if seq.wrapping_sub(acked) < MAX_MISSED_AT_START => acked,
            _ => seq,
        };
        let handshake = self.handshake(side);
        // Once negotiated, timestamps are in every segment (RFC 7323 section 3.2), so one packet shows it
        // without the SYNs.
        let stamped = handshake.timestamps || p.options.timestamps.is_some();
        let options = if stamped { TIMESTAMP_OPTION } else { 0 };
        // A sender respects the other end's MSS and usually its own, and usually subtracts options (RFC
        // 6691).
        let mss = handshake.mss.map(|offer| {
            let own = self.endpoints[side].mss.unwrap_or(offer);
            AgreedMss {
                likely: u32::from(offer.min(own)).saturating_sub(options).max(1),
                most: u32::from(offer).max(1),
                options,
            }
        });
        let pooled_lists = self.pooled_lists.take().unwrap_or_default();
        let mut direction = Direction::new(first, self.first, handshake, mss, limits, pooled_lists);
        if let Some(fin) = self.endpoints[side].early_fin {
            direction.ends_at(fin);
        }
        self.data[side] = Some(Box::new(direction));
    }

    /// Begins a direction whose data was never seen, only its ACKs, because only one direction was captured.
    #[inline]
    fn begin_unseen(&mut self, side: usize, p: &TcpPacket, limits: TrackLimits) {
        let endpoint = &self.endpoints[side];
        let Some(first) = endpoint.first_byte().or(endpoint.first_acked) else {
            self.endpoints[side].first_acked = Some(p.ack);
            return;
        };
        // One byte more is a FIN.
        if (p.ack.wrapping_sub(first) as i32) > 1 {
            self.begin(side, first, p, limits);
        }
    }

    /// Prefetches the connection; returns a value that depends on it.
    #[inline]
    pub fn fetch(&self) -> u64 {
        let endpoint = |h: &EndpointState| h.packets ^ h.clock.fetch();
        endpoint(&self.endpoints[0])
            ^ endpoint(&self.endpoints[1])
            ^ self.last.as_nanos()
            ^ self.counted_bytes as u64
            ^ self.ends[1].port as u64
    }

    /// The directions that carried data.
    pub fn directions(&self) -> impl Iterator<Item = &Direction> {
        self.data.iter().flatten().map(|d| &**d)
    }

    /// Bytes of bins and logs.
    pub fn bytes(&self) -> usize {
        self.data.iter().flatten().map(|d| d.bytes()).sum()
    }

    /// Bytes of bins.
    pub fn bin_bytes(&self) -> usize {
        self.directions().map(Direction::bin_bytes).sum()
    }

    /// Frees unneeded memory, to `store` if that accepts it; once in each silence.
    pub fn shrink(&mut self, store: &mut ListPool) {
        if self.shrunk_at.replace(self.last) != Some(self.last) {
            self.pooled_lists.take().into_iter().for_each(|lists| store.put(lists));
            self.data.iter_mut().flatten().for_each(|d| d.shrink(store));
            self.counted_bytes = self.bytes();
        }
    }

    /// Limits what the directions keep from now on.
    pub fn limit(&mut self, limits: TrackLimits) {
        self.data.iter_mut().flatten().for_each(|d| d.limit(limits));
    }

    /// Number of duplicate records that were left out.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Returns whether the handshake failed as far as was seen: refused, or retried without an answer.
    fn is_never_set_up(&self) -> bool {
        let s = &self.setup;
        let refused = self.reset.is_some_and(|reset| !reset.by_opener) || s.unreachable.is_some();
        s.syns.total() > 0 && !s.complete && (refused || s.syns.total() > 1 || s.syn_acks.total() > 1)
    }

    /// Returns the tracks of the ends that sent data; if the handshake failed, that of the end that tried.
    pub fn finish(mut self, out: &mut Vec<Track>) {
        let client = self.client();
        let handshake_and_samples = [
            self.handshake_rtts[1 - client],
            self.data[client].as_ref().and_then(|d| d.least_down()),
            self.data[1 - client].as_ref().and_then(|d| d.least_up()),
        ];
        let server_rtt = handshake_and_samples.into_iter().flatten().min();
        let mut exchanges = std::mem::take(&mut self.exchange).finish();
        if let Some(all) = &mut exchanges {
            all.way = server_rtt;
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
                    packets: self.endpoints[self.opener].packets,
                    ip_bytes: self.endpoints[self.opener].ip_bytes,
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
            let (from, to) = (&self.endpoints[side], self.ends[1 - side]);
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
            s.counts.incomplete_packets = cut.incomplete;
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

    /// Corrects the delays in the bins of end `side` by what was learned later.
    fn corrected(&self, side: usize, mut bins: Vec<Bin>, width: Span) -> Vec<Bin> {
        let (there, back) = (&self.endpoints[side].clock, &self.endpoints[1 - side].clock);
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
