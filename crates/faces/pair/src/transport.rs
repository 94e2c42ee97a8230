//! The settings of each QUIC connection: windows, timeouts, congestion control.

use crate::control::CongestionChoice;
use noq_proto::{IdleTimeout, TransportConfig, VarInt};
use proxy::PeerConfig;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most connections and flows per peer.
const MAX_STREAMS: u32 = 10_000;
/// How many bytes of a stream a peer may send ahead of what is read here. The library closes a connection if
/// one of its streams has 1024 gaps; 2048 packets of 1200 bytes never have that many. It allows 98 Mbit/s per
/// stream at 200 ms, even with losses, as streams are read past their gaps ([`crate::reader`]).
const STREAM_WINDOW: u32 = 2048 * 1200;
/// How many bytes of all streams together a peer may send ahead of what is read here: 2.7 Gbit/s at 200 ms.
const CONNECTION_WINDOW: u32 = 64 << 20;
/// How many bytes of all streams together are kept until the peer has acknowledged them: 640 Mbit/s at 200
/// ms.
const SEND_WINDOW: u64 = 16 << 20;

/// The transport settings of a connection to a peer, and its congestion control.
pub fn transport(peer: &PeerConfig, seed: u64, now: Instant) -> (TransportConfig, CongestionChoice) {
    let pace = peer.pace.map(|rate| rate.as_bps() / 8);
    let choice = CongestionChoice::new(&peer.cc, pace, seed, now);
    let mut config = TransportConfig::default();
    let idle = peer.idle_timeout.as_nanos() / 1_000_000;
    let idle = u32::try_from(idle).unwrap_or(u32::MAX);
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(CONNECTION_WINDOW))
        .send_window(SEND_WINDOW)
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(idle))))
        .keep_alive_interval(Some(Duration::from_millis(u64::from(idle) / 3)))
        .congestion_controller_factory(Arc::new(choice.clone()));
    (config, choice)
}
