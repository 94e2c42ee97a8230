//! Sizes that advice recommends, one rule for each, shared by all programs that advise.

/// Rate of a shaper in front of a policer, as a share of the policer's rate: bursts that leave the shaper
/// must still find tokens. In front of a link of known rate, it keeps the queue in the shaper instead of the
/// link.
pub const SHAPED_SHARE: f64 = 0.98;

/// Ratio of a kernel buffer's size to the payload that it holds; the rest is the kernel's overhead
/// (`tcp_adv_win_scale` of 1; some 2304 bytes for a segment of 1448).
pub const BUFFER_PER_PAYLOAD: u64 = 2;

/// Bandwidth-delay products that a receive buffer must hold: two are in flight with BBR or a full queue, and
/// another arrives behind a hole during the round trip in which a lost segment is retransmitted (RFC 6675
/// section 5).
const RECEIVE_BUFFER_BDPS: u64 = 3;

/// Bandwidth-delay products that a send buffer must hold: unacknowledged data, and data sent while a loss is
/// repaired.
const SEND_BUFFER_BDPS: u64 = 2;

/// The largest useful buffer, bytes: a window is below 2^30 (RFC 7323 section 2.3).
pub const MOST_BUFFER: u64 = (1 << 30) - 1;

/// Size of the burst that a Linux host hands to a device at once, bytes (`GSO_MAX_SIZE`).
pub const HOST_BURST: u64 = 65_536;

/// Payload that a receive buffer must hold so that the receive window does not limit a path with this
/// bandwidth-delay product, bytes.
pub fn received_payload(bdp: u64) -> u64 {
    bdp.saturating_mul(RECEIVE_BUFFER_BDPS)
}

/// The smallest receive buffer (`tcp_rmem`) that does not limit a path with this bandwidth-delay product,
/// bytes.
pub fn receive_buffer(bdp: u64) -> u64 {
    received_payload(bdp).saturating_mul(BUFFER_PER_PAYLOAD)
}

/// The smallest send buffer (`tcp_wmem`) that does not limit a path with this bandwidth-delay product, bytes.
pub fn send_buffer(bdp: u64) -> u64 {
    bdp.saturating_mul(SEND_BUFFER_BDPS * BUFFER_PER_PAYLOAD)
}

/// Rounds up to whole MiB, with [`MOST_BUFFER`] as the limit.
pub fn whole_mib(bytes: u64) -> u64 {
    bytes.min(MOST_BUFFER).next_multiple_of(1 << 20).min(MOST_BUFFER)
}

/// Token bucket of a shaper or a class, bytes: 5 ms at its rate, so that a delayed timer does not reduce the
/// rate, and at least one host's burst.
pub fn shaper_bucket(bits_per_second: u64) -> u64 {
    (bits_per_second / 8 / 200).max(HOST_BURST)
}

/// Token bucket of a policer, bytes: 250 ms at its rate (Cisco's rule).
pub fn policer_bucket(bits_per_second: u64) -> u64 {
    bits_per_second / 8 / 4
}

#[test]
fn sizes_follow_from_bandwidth_delay_product_and_rate() {
    // 20 Mbit/s over 100 ms: 250 kB in flight.
    assert_eq!((receive_buffer(250_000), send_buffer(250_000)), (1_500_000, 1_000_000));
    assert_eq!([0, 1, 1 << 20, (1 << 20) + 1].map(whole_mib), [0, 1 << 20, 1 << 20, 2 << 20]);
    assert_eq!(whole_mib(u64::MAX), MOST_BUFFER);
    assert_eq!([shaper_bucket(20_000_000), shaper_bucket(1_000_000_000)], [HOST_BURST, 625_000]);
    assert_eq!(policer_bucket(20_000_000), 625_000);
}
