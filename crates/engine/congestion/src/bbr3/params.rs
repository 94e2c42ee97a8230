//! BBR v3's constants: gains in thousandths, bandwidths in packets per microsecond times 2^24.

use units::Span;

/// Bandwidths are packets/µs << 24.
pub(super) const BW_SCALE: u32 = 24;

/// Gains are in thousandths.
pub(super) const UNIT: u64 = 1000;
/// StartupPacingGain, 4 ln 2: the smallest that lets the rate double each round.
pub(super) const STARTUP_PACING_GAIN: u64 = 2773;
/// DrainPacingGain, the inverse of the window's gain in STARTUP.
pub(super) const DRAIN_PACING_GAIN: u64 = 500;
/// Pacing gains of PROBE_BW's decelerating and accelerating states.
pub(super) const DOWN_PACING_GAIN: u64 = 900;
pub(super) const UP_PACING_GAIN: u64 = 1250;
/// DefaultCwndGain, and the window gains of PROBE_BW_UP and PROBE_RTT.
pub(super) const CWND_GAIN: u64 = 2000;
pub(super) const UP_CWND_GAIN: u64 = 2250;
pub(super) const PROBE_RTT_CWND_GAIN: u64 = 500;
/// Share of a rate that is used for pacing, in thousandths: PacingMarginPercent is 1.
pub(super) const PACED: u64 = 990;

/// LossThresh is 2 %: more than one packet in 50.
pub(super) const LOSS_THRESH: u64 = 50;
/// Ranges of lost packets in a round before STARTUP gives up (BBRStartupFullLossCnt).
pub(super) const STARTUP_LOSSES: u32 = 6;
/// MinPipeCwnd: two packets out, two being acknowledged.
pub(super) const MIN_PIPE_CWND: u32 = 4;

/// Rounds without a quarter's growth after which the pipe is full.
pub(super) const FULL_BW_ROUNDS: u8 = 3;
/// Rounds after which DRAIN ends even with a queue.
pub(super) const DRAIN_ROUNDS: u64 = 3;
/// ExtraAckedFilterLen, rounds; 1 until the pipe has been full.
pub(super) const EXTRA_ACKED_ROUNDS: u32 = 10;
/// The longest wait for a bandwidth probe in rounds, for coexistence with Reno.
pub(super) const RENO_ROUNDS: u32 = 63;
/// The shortest wait for a bandwidth probe; up to [`PROBE_WAIT_RANDOM`] is added.
pub(super) const PROBE_WAIT: Span = Span::from_secs(2);
pub(super) const PROBE_WAIT_RANDOM: Span = Span::from_secs(1);

/// MinRTTFilterLen.
pub(super) const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// ProbeRTTInterval.
pub(super) const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
/// ProbeRTTDuration.
pub(super) const PROBE_RTT_TIME: Span = Span::from_millis(200);

/// The largest burst, bytes.
pub(super) const MAX_QUANTUM: u64 = 65_536;

/// Beta: a bound is never cut to less than 0.7 of itself.
pub(super) fn beta(value: u64) -> u64 {
    value / 10 * 7 + value % 10 * 7 / 10
}

/// Headroom: 0.15 of `inflight`, rounded down.
pub(super) fn headroom(inflight: u32) -> u32 {
    (inflight as u64 * 15 / 100) as u32
}
