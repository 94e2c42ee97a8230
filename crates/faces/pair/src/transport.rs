//! What each connection of QUIC is set up with: windows, timeouts, its congestion control.

use crate::control::CongestionChoice;
use noq_proto::{IdleTimeout, TransportConfig, VarInt};
use proxy::PeerConfig;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections and flows one peer may have open at once.
const STREAMS: u32 = 10_000;
/// What a peer may send of one stream ahead of what is read here, bytes. The library gives up a connection one of whose
/// streams has 1024 gaps: in 2048 packets of 1200 bytes there are never as many. 98 Mbit/s a stream at 200 ms, also with
/// losses, as a stream is read past its gaps ([`crate::reader`]).
const STREAM_WINDOW: u32 = 2048 * 1200;
/// The same of all streams together: 2.7 Gbit/s at 200 ms.
const WINDOW: u32 = 64 << 20;
/// What is kept until the peer has acknowledged it, bytes, of all streams together: 640 Mbit/s at 200 ms.
const SEND_WINDOW: u64 = 16 << 20;

/// What the library is told of a connection to a peer, and the control it gets.
pub fn transport(peer: &PeerConfig, seed: u64, now: Instant) -> (TransportConfig, CongestionChoice) {
    let pace = peer.pace.map(|rate| rate.as_bps() / 8);
    let choice = CongestionChoice::new(&peer.cc, pace, seed, now);
    let mut config = TransportConfig::default();
    let idle = peer.idle_timeout.as_nanos() / 1_000_000;
    let idle = u32::try_from(idle).unwrap_or(u32::MAX);
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_WINDOW)
        .max_idle_timeout(Some(IdleTimeout::from(VarInt::from_u32(idle))))
        .keep_alive_interval(Some(Duration::from_millis(u64::from(idle) / 3)))
        .congestion_controller_factory(Arc::new(choice.clone()));
    (config, choice)
}
