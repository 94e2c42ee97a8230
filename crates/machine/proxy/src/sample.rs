//! Samples a connection: the changes of its two sockets' `TCP_INFO` since the last sample.

use crate::direction::Direction;
use crate::slow::DirectionEvidence;
use crate::stats::{PathStats, SideGauges};
use linux::tcp_info::TcpInfo;
use std::os::fd::{AsFd, OwnedFd};

/// A connection's values at the last sample.
#[derive(Default)]
pub struct ConnectionSample {
    at_ms: u64,
    /// `TCP_INFO` of the client's and the server's socket.
    infos: [TcpInfo; 2],
    /// Directions to the client and to the server: bytes moved, time blocked.
    directions: [(u64, u64); 2],
    is_known: bool,
}

impl ConnectionSample {
    /// Takes a sample and adds the changes to `path`. Sockets: client, server; directions: to the client, to
    /// the server.
    pub fn update(
        &mut self,
        now_ms: u64,
        began_ms: u64,
        sockets: [&OwnedFd; 2],
        directions: [&Direction; 2],
        path: &mut PathStats,
    ) {
        let infos = sockets.map(|socket| TcpInfo::of(socket.as_fd(), false));
        let [Some(client), Some(server)] = infos else { return };
        let infos = [client, server];
        let since = if self.is_known { self.at_ms } else { began_ms };
        let span_us = now_ms.saturating_sub(since) * 1000;
        for to in [0, 1] {
            let (moved, blocked_ms) = (directions[to].moved(), directions[to].blocked_ms(now_ms));
            let new_blocked = (blocked_ms - self.directions[to].1) * 1000;
            let waits = infos[to].notsent_bytes > 0 || directions[to].holds() > 0;
            let active = moved > self.directions[to].0 || new_blocked > 0 || waits;
            let mut new = changes(&self.infos[to], &infos[to], &self.infos[1 - to], &infos[1 - to]);
            if active {
                new.active_us = span_us;
                // Unsent bytes in the kernel wait for the sink like bytes held here.
                new.blocked_us = if waits { span_us } else { new_blocked.min(span_us) };
            }
            path.total[to].add(&new);
            path.recent[to].add(&new);
            path.sides[to] = gauges(&infos[to]);
            self.directions[to] = (moved, blocked_ms);
        }
        path.connections += u64::from(!self.is_known);
        (self.at_ms, self.infos, self.is_known) = (now_ms, infos, true);
    }
}

/// Returns the changes of the sink's and the source's socket.
fn changes(sink0: &TcpInfo, sink: &TcpInfo, source0: &TcpInfo, source: &TcpInfo) -> DirectionEvidence {
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
        // The kernel reports all ones before the first sample (tcp_min_rtt).
        min_rtt_us: Some(info.min_rtt_us).filter(|&rtt| rtt > 0 && rtt < u32::MAX),
        cwnd_bytes: u64::from(info.cwnd) * u64::from(info.snd_mss),
        delivery_rate: info.delivery_rate,
    }
}
