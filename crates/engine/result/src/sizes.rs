//! Sizes that are advised: one rule for each, whichever program gives the advice.

/// Where to shape before a policer, as a share of its rate: what leaves the shaper in bursts must still find tokens. Likewise before
/// a line of a known rate, so that packets wait in the shaper's queue and not in the line's.
pub const SHAPED_SHARE: f64 = 0.98;

/// A buffer of the kernel is this many times the payload that it holds: the rest is what the kernel counts besides
/// (`tcp_adv_win_scale` of 1; some 2304 bytes for a segment of 1448).
pub const BUFFER_PER_PAYLOAD: u64 = 2;

/// Bandwidth-delay products that a receive buffer has room for: two are in flight with BBR or a full queue, and one more comes
/// behind a hole in the round trip in which a lost segment is sent again (RFC 6675 section 5).
const RECEIVED_WINDOWS: u64 = 3;

/// Bandwidth-delay products that a send buffer has room for: what is not acknowledged, and what is sent while a loss is repaired.
const SENT_WINDOWS: u64 = 2;

/// The largest buffer, bytes: a window is below 2^30 (RFC 7323 section 2.3).
pub const MOST_BUFFER: u64 = (1 << 30) - 1;

/// Bytes of a burst that a Linux host hands down in one piece (`GSO_MAX_SIZE`).
pub const HOST_BURST: u64 = 65_536;

/// The least payload that a receive buffer must have room for, or the receiver's window limits a path with this bandwidth-delay
/// product, bytes.
pub fn received_payload(bdp: u64) -> u64 {
    bdp.saturating_mul(RECEIVED_WINDOWS)
}

/// The least receive buffer (`tcp_rmem`) that does not limit a path with this bandwidth-delay product, bytes.
pub fn receive_buffer(bdp: u64) -> u64 {
    received_payload(bdp).saturating_mul(BUFFER_PER_PAYLOAD)
}

/// The least send buffer (`tcp_wmem`) that does not limit a path with this bandwidth-delay product, bytes.
pub fn send_buffer(bdp: u64) -> u64 {
    bdp.saturating_mul(SENT_WINDOWS * BUFFER_PER_PAYLOAD)
}

/// Up to the next MiB, and no more than [`MOST_BUFFER`].
pub fn whole_mib(bytes: u64) -> u64 {
    bytes.min(MOST_BUFFER).next_multiple_of(1 << 20).min(MOST_BUFFER)
}

/// The bucket of a shaper or a class, bytes: 5 ms of its rate, so that a timer's delay passes and nothing behind notices, and a
/// host's burst at least.
pub fn shaper_bucket(bits_per_second: u64) -> u64 {
    (bits_per_second / 8 / 200).max(HOST_BURST)
}

/// The bucket of a policer, bytes: 250 ms of its rate (Cisco's rule).
pub fn policer_bucket(bits_per_second: u64) -> u64 {
    bits_per_second / 8 / 4
}

#[test]
fn sizes_are_of_the_path() {
    // 20 Mbit/s over 100 ms: 250 kB under way.
    assert_eq!((receive_buffer(250_000), send_buffer(250_000)), (1_500_000, 1_000_000));
    assert_eq!([0, 1, 1 << 20, (1 << 20) + 1].map(whole_mib), [0, 1 << 20, 1 << 20, 2 << 20]);
    assert_eq!(whole_mib(u64::MAX), MOST_BUFFER);
    assert_eq!([shaper_bucket(20_000_000), shaper_bucket(1_000_000_000)], [HOST_BURST, 625_000]);
    assert_eq!(policer_bucket(20_000_000), 625_000);
}
