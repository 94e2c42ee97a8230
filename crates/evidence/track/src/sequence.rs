//! Sequence numbers without wrap-around.

/// Unwrapped numbers begin here, so that what comes before the first byte seen has a number too.
pub const BEGIN: u64 = 1 << 32;

/// A jump by more than this is no part of the stream.
pub const MAX_JUMP: u64 = 1 << 30;

// Numbers before the first byte cannot wrap.
const _: () = assert!(BEGIN > 1 << 31);

/// The sequence number nearest to `reference` whose low half is `n`.
#[inline]
pub fn unwrap(reference: u64, n: u32) -> u64 {
    reference.wrapping_add_signed(n.wrapping_sub(reference as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_number_is_meant() {
        let around = BEGIN + (1 << 32) - 5;
        assert_eq!(unwrap(around, u32::MAX), around + 4);
        assert_eq!(unwrap(around, 3), around + 8);
        assert_eq!(unwrap(BEGIN, u32::MAX), BEGIN - 1);
    }
}
