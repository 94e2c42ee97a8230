//! Sequence numbers without wrap-around.

/// Unwrapped sequence numbers begin here, so that bytes before the first one seen have a number too.
pub const BEGIN: u64 = 1 << 32;

/// A larger jump is not part of the stream.
pub const MAX_JUMP: u64 = 1 << 30;

// Numbers before the first byte cannot underflow.
const _: () = assert!(BEGIN > 1 << 31);

/// Returns the sequence number nearest to `reference` whose low 32 bits are `n`.
#[inline]
pub fn unwrap(reference: u64, n: u32) -> u64 {
    reference.wrapping_add_signed(n.wrapping_sub(reference as u32) as i32 as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwrapping_picks_the_nearest_number() {
        let around = BEGIN + (1 << 32) - 5;
        assert_eq!(unwrap(around, u32::MAX), around + 4);
        assert_eq!(unwrap(around, 3), around + 8);
        assert_eq!(unwrap(BEGIN, u32::MAX), BEGIN - 1);
    }
}
