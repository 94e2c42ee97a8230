//! `TCP_INFO` of the model, with fields named and measured as in `struct tcp_info` (linux/tcp.h,
//! `tcp_get_info`). Fields of the receiving half, and those that the model does not keep, are omitted.

use super::Sender;
use units::Span;

/// Values of `TCP_INFO` for a connection's sending half.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Info {
    /// Congestion state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss.
    pub ca_state: u8,
    /// Timeouts since data was last acknowledged.
    pub retransmits: u32,
    /// Number of times that the timeout was doubled.
    pub backoff: u32,
    /// Retransmission timeout with its backoff, µs.
    pub rto: u32,
    /// Payload of a full-sized segment, bytes.
    pub snd_mss: u32,
    /// Outstanding packets.
    pub unacked: u32,
    /// Outstanding packets that are SACKed.
    pub sacked: u32,
    /// Outstanding packets that are marked lost.
    pub lost: u32,
    /// Outstanding packets with a retransmission in flight.
    pub retrans: u32,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub rtt: u32,
    /// Mean deviation of the RTT, µs.
    pub rttvar: u32,
    /// Slow start threshold, packets; initially `u32::MAX`.
    pub snd_ssthresh: u32,
    /// Congestion window, packets.
    pub snd_cwnd: u32,
    /// Number of packets by which the path is assumed to reorder.
    pub reordering: u32,
    /// Retransmissions so far.
    pub total_retrans: u32,
    /// Pacing rate, bytes/s, even without pacing; `u64::MAX` before the first RTT sample.
    pub pacing_rate: u64,
    /// Payload acknowledged, bytes (the kernel's value is one more, for the SYN).
    pub bytes_acked: u64,
    /// Payload written but not yet sent, bytes.
    pub notsent_bytes: u32,
    /// Minimum RTT of the last five minutes, µs; `u32::MAX` before the first sample.
    pub min_rtt: u32,
    /// Data segments sent, including retransmissions.
    pub data_segs_out: u32,
    /// Packets delivered, including the SYN.
    pub delivered: u32,
    /// Duplicate packets that the peer reported by D-SACK.
    pub dsack_dups: u32,
    /// Whether reordering was seen (the kernel counts how often).
    pub reord_seen: bool,
    /// The peer's receive window, bytes.
    pub snd_wnd: u32,
    /// Retransmission timeouts so far.
    pub total_rto: u32,
}

fn micros(span: Span) -> u32 {
    span.as_micros().min(u32::MAX as u64) as u32
}

impl Sender {
    /// The values that `TCP_INFO` would have now.
    pub fn info(&self) -> Info {
        Info {
            ca_state: self.s.state as u8,
            retransmits: self.timers.retransmits,
            backoff: self.timers.backoff,
            rto: micros(self.rto()),
            snd_mss: self.s.mss,
            unacked: self.packets_out(),
            sacked: self.count.sacked,
            lost: self.count.lost,
            retrans: self.count.retrans,
            rtt: self.rtt.smoothed().map_or(0, micros),
            rttvar: micros(self.rtt.deviation()),
            snd_ssthresh: self.w.ssthresh,
            snd_cwnd: self.w.cwnd,
            reordering: self.sacks.reordering,
            total_retrans: self.stats.retransmitted as u32,
            pacing_rate: self.w.pacing_rate,
            bytes_acked: self.s.snd_una,
            notsent_bytes: (self.stream.end_with_fin() - self.s.snd_nxt) as u32,
            min_rtt: self.rtt.min().map_or(u32::MAX, micros),
            data_segs_out: self.stats.sent as u32,
            delivered: self.s.delivered as u32,
            dsack_dups: self.sacks.duplicates as u32,
            reord_seen: self.rack.reordering_seen,
            snd_wnd: self.peer.window as u32,
            total_rto: self.stats.timeouts as u32,
        }
    }
}
