//! Decodes `TCP_INFO` (linux/tcp.h) by offset: newer kernels append fields, older ones end earlier.

use crate::socket::{SocketOption, get_bytes};
use std::os::fd::BorrowedFd;

/// The fields of a connection's `tcp_info` that longfat uses.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    /// Bytes of `tcp_info` that this kernel returned; fields beyond them are 0 here, and `None` in the
    /// methods that check.
    pub reported: usize,
    /// Congestion state: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Congestion window, segments.
    pub cwnd: u32,
    /// Slow start threshold, segments; `None` before it is set (`TCP_INFINITE_SSTHRESH`).
    pub ssthresh: Option<u32>,
    /// Segments in flight.
    pub inflight: u32,
    /// Smoothed RTT, µs; 0 before the first sample.
    pub rtt_us: u32,
    /// Minimum RTT, µs.
    pub min_rtt_us: u32,
    /// Pacing rate, bytes per second; `None` for no limit (all ones).
    pub pacing_rate: Option<u64>,
    /// Delivery rate, bytes per second (kernel 4.9 and later); `None` before the first sample.
    pub delivery_rate: Option<u64>,
    /// MSS for sending, payload bytes.
    pub snd_mss: u32,
    /// Bytes acknowledged; at the end that opened the connection the SYN counts too.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Payload sent, retransmissions included (kernel 4.19 and later).
    pub bytes_sent: u64,
    /// Payload retransmitted.
    pub bytes_retrans: u64,
    /// Data segments sent, retransmissions included.
    pub data_segs_out: u32,
    /// Segments retransmitted.
    pub total_retrans: u32,
    /// Retransmission timeouts (kernel 6.7 and later).
    pub total_rto: u16,
    /// Time with data outstanding, µs (kernel 4.10 and later, like the next two).
    pub busy_us: u64,
    /// Part of `busy_us` with the receiver's window full, µs.
    pub rwnd_limited_us: u64,
    /// Part of `busy_us` with the send buffer full, µs.
    pub sndbuf_limited_us: u64,
    /// Unsent payload in the send buffer.
    pub notsent_bytes: u32,
    /// RTT estimate of the receiver, µs; 0 before the first sample.
    pub rcv_rtt_us: u32,
    /// Segments received out of order (kernel 5.4 and later).
    pub rcv_out_of_order: u32,
    /// Data segments received.
    pub data_segs_in: u32,
    /// Degree of reordering that congestion control assumes, segments; initially 3.
    pub reordering: u32,
    /// The peer's receive window, bytes (kernel 5.4 and later).
    pub snd_wnd: u32,
    /// Whether the last sample of `delivery_rate` was limited by the application.
    pub app_limited: bool,
    /// BBR's model, if requested.
    pub bbr: Option<BbrInfo>,
}

/// `tcp_bbr_info` (linux/inet_diag.h).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BbrInfo {
    /// BtlBw, bytes per second.
    pub bw: u64,
    /// RTprop, µs.
    pub min_rtt_us: u32,
    /// Gain of the pacing rate, 256 = 1.
    pub pacing_gain: u32,
    /// Gain of the congestion window, 256 = 1.
    pub cwnd_gain: u32,
}

/// Buffer size: larger than any `tcp_info` so far.
const SIZE: usize = 256;

impl TcpInfo {
    /// Reads a connection's `tcp_info`, with BBR's model if requested; `None` if the kernel refuses.
    pub fn of(socket: BorrowedFd<'_>, bbr: bool) -> Option<TcpInfo> {
        let mut b = [0u8; SIZE];
        let n = get_bytes(socket, SocketOption::TCP_INFO, &mut b).ok()?;
        let mut info = TcpInfo::parse(&b[..n]);
        let mut cc = [0u8; 64];
        if bbr && let Ok(n) = get_bytes(socket, SocketOption::TCP_CC_INFO, &mut cc) {
            info.bbr = BbrInfo::parse(&cc[..n]);
        }
        Some(info)
    }

    /// Decodes a `tcp_info` of any length.
    pub fn parse(bytes: &[u8]) -> TcpInfo {
        let mut b = [0u8; SIZE];
        let n = bytes.len().min(SIZE);
        b[..n].copy_from_slice(&bytes[..n]);
        let u16 = |at: usize| u16::from_ne_bytes([b[at], b[at + 1]]);
        let u32 = |at: usize| u32::from_ne_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let u64 = |at: usize| b[at..at + 8].first_chunk().map_or(0, |c| u64::from_ne_bytes(*c));
        let (unacked, sacked, lost, retrans) = (u32(24), u32(28), u32(32), u32(36));
        TcpInfo {
            reported: n,
            ca_state: b[1],
            cwnd: u32(80),
            ssthresh: Some(u32(76)).filter(|&n| n < i32::MAX as u32),
            inflight: (unacked + retrans).saturating_sub(sacked + lost),
            rtt_us: u32(68),
            min_rtt_us: u32(148),
            pacing_rate: Some(u64(104)).filter(|&rate| rate != u64::MAX),
            delivery_rate: Some(u64(160)).filter(|&rate| rate > 0),
            snd_mss: u32(16),
            bytes_acked: u64(120),
            bytes_received: u64(128),
            bytes_sent: u64(200),
            bytes_retrans: u64(208),
            data_segs_out: u32(156),
            total_retrans: u32(100),
            total_rto: u16(240),
            busy_us: u64(168),
            rwnd_limited_us: u64(176),
            sndbuf_limited_us: u64(184),
            notsent_bytes: u32(144),
            rcv_rtt_us: u32(92),
            rcv_out_of_order: u32(224),
            data_segs_in: u32(152),
            reordering: u32(88),
            snd_wnd: u32(228),
            app_limited: b[7] & 1 == 1,
            bbr: None,
        }
    }

    /// Returns a field's value if the kernel reports it: `end` is the offset after the field.
    fn if_reported<T>(&self, end: usize, value: T) -> Option<T> {
        (self.reported >= end).then_some(value)
    }

    /// Returns [`TcpInfo::busy_us`], [`TcpInfo::rwnd_limited_us`] and [`TcpInfo::sndbuf_limited_us`]; `None`
    /// before Linux 4.10.
    pub fn times_us(&self) -> Option<[u64; 3]> {
        self.if_reported(192, [self.busy_us, self.rwnd_limited_us, self.sndbuf_limited_us])
    }

    /// Returns [`TcpInfo::app_limited`]; `None` before the first delivery rate, and before Linux 4.9.
    pub fn is_app_limited(&self) -> Option<bool> {
        self.delivery_rate.map(|_| self.app_limited)
    }

    /// Returns [`TcpInfo::notsent_bytes`]; `None` before Linux 4.6.
    pub fn notsent(&self) -> Option<u32> {
        self.if_reported(148, self.notsent_bytes)
    }

    /// Returns [`TcpInfo::min_rtt_us`]; `None` before the first sample, and before Linux 4.6.
    pub fn reported_min_rtt_us(&self) -> Option<u32> {
        self.if_reported(152, self.min_rtt_us).filter(|rtt| *rtt > 0 && *rtt < u32::MAX)
    }

    /// Returns [`TcpInfo::snd_wnd`]; `None` before Linux 5.4.
    pub fn peer_window(&self) -> Option<u32> {
        self.if_reported(232, self.snd_wnd)
    }

    /// Returns [`TcpInfo::data_segs_out`]; `None` before Linux 4.6.
    pub fn data_segments_out(&self) -> Option<u64> {
        self.if_reported(160, self.data_segs_out.into())
    }

    /// Returns [`TcpInfo::bytes_sent`] and [`TcpInfo::bytes_retrans`]; `None` before Linux 4.19.
    pub fn bytes_out(&self) -> Option<[u64; 2]> {
        self.if_reported(216, [self.bytes_sent, self.bytes_retrans])
    }

    /// Returns the payload bytes sent, without retransmissions.
    pub fn sent_once(&self) -> u64 {
        self.bytes_sent.saturating_sub(self.bytes_retrans)
    }

    /// Returns the payload bytes acknowledged, at the end that `opened` the connection or at the other.
    pub fn payload_acked(&self, opened: bool) -> u64 {
        // An acknowledged FIN counts too.
        self.bytes_acked.saturating_sub(opened.into()).min(self.sent_once())
    }

    /// Returns the state's name, as in the simulator's series.
    pub fn state(&self) -> &'static str {
        match (self.ca_state, self.bbr) {
            (4, _) => "loss",
            // BBR's modes are recognised by their gains (2/ln 2, its inverse, 1 and 2).
            (_, Some(bbr)) => match (bbr.pacing_gain, bbr.cwnd_gain) {
                (p, w) if p > 512 && w > 512 => "STARTUP",
                (p, w) if p < 128 && w > 512 => "DRAIN",
                (_, w) if w <= 256 => "PROBE_RTT",
                _ => "PROBE_BW",
            },
            (1, _) => "disorder",
            (2, _) => "cwr",
            (3, _) => "recovery",
            _ if self.ssthresh.is_none_or(|most| self.cwnd < most) => "slow start",
            _ => "avoidance",
        }
    }
}

impl BbrInfo {
    /// Decodes a `tcp_bbr_info`; `None` if it is too short.
    pub fn parse(bytes: &[u8]) -> Option<BbrInfo> {
        let at = |i: usize| Some(u32::from_ne_bytes(*bytes.get(i..)?.first_chunk()?));
        Some(BbrInfo {
            bw: at(0)? as u64 | (at(4)? as u64) << 32,
            min_rtt_us: at(8)?,
            pacing_gain: at(12)?,
            cwnd_gain: at(16)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// `struct tcp_info` (include/uapi/linux/tcp.h), names without their `tcpi_`.
    #[repr(C)]
    struct Header {
        state_to_options: [u8; 6],
        wscales: u8,
        /// Bit 0: `delivery_rate_app_limited`.
        app_limited: u8,
        rto_to_retrans: [u32; 8],
        fackets_to_rcv_ssthresh: [u32; 7],
        rtt: u32,
        rttvar_to_total_retrans: [u32; 8],
        pacing_rate: u64,
        max_pacing_rate: u64,
        bytes_acked: u64,
        bytes_received: u64,
        segs_out_to_notsent_bytes: [u32; 3],
        min_rtt: u32,
        data_segs_in_and_out: [u32; 2],
        delivery_rate: u64,
    }

    #[test]
    fn fields_that_older_kernels_lack_are_none() {
        let bytes = [1u8; 248];
        let of = |n: usize| {
            let i = TcpInfo::parse(&bytes[..n]);
            let if_reported =
                [i.times_us().is_some(), i.notsent().is_some(), i.reported_min_rtt_us().is_some()];
            (if_reported, [i.peer_window().is_some(), i.bytes_out().is_some(), i.is_app_limited().is_some()])
        };
        assert_eq!(of(248), ([true; 3], [true; 3]));
        assert_eq!(of(192), ([true; 3], [false, false, true]), "Linux 4.10");
        assert_eq!(of(160), ([false, true, true], [false; 3]), "Linux 4.6");
        assert_eq!(of(104), ([false; 3], [false; 3]), "Linux 2.6");
    }

    #[test]
    fn rates_are_read_at_the_offsets_of_the_kernel_header() {
        let mut bytes = [0; size_of::<Header>()];
        assert_eq!(TcpInfo::parse(&bytes).delivery_rate, None, "no sample yet");
        let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        put(offset_of!(Header, pacing_rate), u64::MAX);
        put(offset_of!(Header, bytes_acked), 1448);
        put(offset_of!(Header, delivery_rate), 2_500_000);
        let info = TcpInfo::parse(&bytes);
        assert_eq!((info.delivery_rate, info.pacing_rate, info.bytes_acked), (Some(2_500_000), None, 1448));
        assert_eq!(
            TcpInfo::parse(&bytes[..offset_of!(Header, delivery_rate)]).delivery_rate,
            None,
            "Linux 4.8"
        );
    }
}
