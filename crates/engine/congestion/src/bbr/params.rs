//! BBR's constants, in the kernel's units: gains in 1/256, bandwidths in packets per microsecond
//! times 2^24.

use crate::jiffies::{HZ, Jiffies};

/// Bandwidths are packets/µs << 24.
pub(super) const BW_SCALE: u32 = 24;
pub(super) const BW_UNIT: u64 = 1 << BW_SCALE;

/// Gains are in 1/256.
pub(super) const GAIN_SCALE: u32 = 8;
pub(super) const UNIT: u32 = 1 << GAIN_SCALE;

/// 2/ln 2: the smallest pacing gain that lets the rate double each round.
pub(super) const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// The inverse of [`HIGH_GAIN`], which empties STARTUP's queue in one round.
pub(super) const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// cwnd over BDP in PROBE_BW: room for delayed and stretched ACKs.
pub(super) const CWND_GAIN: u32 = UNIT * 2;

/// PROBE_BW's eight phases: probe, drain, six times cruise.
pub(super) const PACING_GAINS: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// PROBE_BW starts in a random phase other than the draining one.
pub(super) const CYCLE_RAND: u64 = 7;

/// Length of the filter of the maximum bandwidth, rounds.
pub(super) const BW_ROUNDS: u32 = 10;
/// Share the pacing rate stays below the estimate, percent.
pub(super) const PACING_MARGIN_PERCENT: u64 = 1;
/// Below this pacing rate, bytes/s, single packets are sent (1.2 Mbit/s).
pub(super) const MIN_TSO_RATE: u64 = 1_200_000 / 8;

/// Growth of the bandwidth in a round below which the pipe may be full: 5/4.
pub(super) const FULL_BW_THRESH: u64 = UNIT as u64 * 5 / 4;
/// Rounds with less growth after which the pipe is full.
pub(super) const FULL_BW_CNT: u8 = 3;

/// cwnd never falls below this: two packets out, two being acknowledged.
pub(super) const CWND_MIN: u32 = 4;
/// The window allowed while nothing is known yet (`TCP_INIT_CWND`).
pub(super) const INIT_CWND: u32 = 10;

/// How long a minimum RTT is valid.
pub(super) const MIN_RTT_WINDOW: Jiffies = 10 * HZ;
/// How long PROBE_RTT keeps the small window: 200 ms.
pub(super) const PROBE_RTT_TIME: Jiffies = HZ / 5;
