//! Looking at a connection: what its two sockets say (`TCP_INFO`), as what was new since the last look.

use crate::lane::Lane;
use crate::slow::DirectionEvidence;
use crate::stats::{PathStats, SideGauges};
use linux::tcp_info::TcpInfo;
use std::os::fd::{AsFd, OwnedFd};

/// What was known of a connection at the last look.
#[derive(Default)]
pub struct LastLook {
    at_ms: u64,
    /// Of the client's and the server's socket.
    infos: [TcpInfo; 2],
    /// Of the lanes to the client and to the server: bytes moved, time blocked.
    lanes: [(u64, u64); 2],
    known: bool,
}

impl LastLook {
    /// Looks again: sockets of the client and the server, lanes to the client and to the server. Adds what is new to `path`.
    pub fn look(
        &mut self,
        now_ms: u64,
        began_ms: u64,
        sockets: [&OwnedFd; 2],
        lanes: [&Lane; 2],
        path: &mut PathStats,
    ) {
        let infos = sockets.map(|socket| TcpInfo::of(socket.as_fd(), false));
        let [Some(client), Some(server)] = infos else { return };
        let infos = [client, server];
        let since = if self.known { self.at_ms } else { began_ms };
        let span_us = now_ms.saturating_sub(since) * 1000;
        for to in [0, 1] {
            let (moved, blocked_ms) = (lanes[to].moved(), lanes[to].blocked_ms(now_ms));
            let new_blocked = (blocked_ms - self.lanes[to].1) * 1000;
            let waits = infos[to].notsent_bytes > 0 || lanes[to].holds() > 0;
            let active = moved > self.lanes[to].0 || new_blocked > 0 || waits;
            let mut new = news(&self.infos[to], &infos[to], &self.infos[1 - to], &infos[1 - to]);
            if active {
                new.active_us = span_us;
                // What lies unsent in the kernel waits for the sink as what lies here does.
                new.blocked_us = if waits { span_us } else { new_blocked.min(span_us) };
            }
            path.total[to].add(&new);
            path.recent[to].add(&new);
            path.sides[to] = gauges(&infos[to]);
            self.lanes[to] = (moved, blocked_ms);
        }
        path.connections += u64::from(!self.known);
        (self.at_ms, self.infos, self.known) = (now_ms, infos, true);
    }
}

/// What the sink's and the source's socket say that they did not before.
fn news(sink0: &TcpInfo, sink: &TcpInfo, source0: &TcpInfo, source: &TcpInfo) -> DirectionEvidence {
    let since = |before: u64, now: u64| now.saturating_sub(before);
    DirectionEvidence {
        active_us: 0,
        blocked_us: 0,
        busy_us: since(sink0.busy_us, sink.busy_us),
        rwnd_limited_us: since(sink0.rwnd_limited_us, sink.rwnd_limited_us),
        sndbuf_limited_us: since(sink0.sndbuf_limited_us, sink.sndbuf_limited_us),
        sent_bytes: since(sink0.bytes_sent, sink.bytes_sent),
        resent_bytes: since(sink0.bytes_retrans, sink.bytes_retrans),
        segments_in: since(source0.data_segs_in.into(), source.data_segs_in.into()),
        out_of_order: since(source0.rcv_out_of_order.into(), source.rcv_out_of_order.into()),
    }
}

fn gauges(info: &TcpInfo) -> SideGauges {
    SideGauges {
        rtt_us: Some(info.rtt_us).filter(|&rtt| rtt > 0),
        // All ones before the first sample (tcp_min_rtt).
        min_rtt_us: Some(info.min_rtt_us).filter(|&rtt| rtt > 0 && rtt < u32::MAX),
        cwnd_bytes: u64::from(info.cwnd) * u64::from(info.snd_mss),
        delivery_rate: info.delivery_rate,
    }
}
