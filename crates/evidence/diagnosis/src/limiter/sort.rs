//! Sorting packets by time in linear time. The packets of many flows together are many short runs.

/// Fewer packets than this are sorted by comparison.
const MIN_PACKETS: usize = 64;
/// From this many numbers on, a radix sort is faster than comparison.
const MIN_RADIX: usize = 4096;
/// Bits of a radix sort's digit.
const DIGIT_BITS: u32 = 11;

/// Returns the values in the order of `time` (seconds), stably.
///
/// Values that are already in order are only copied. Otherwise a bucket sort assumes that times are spread
/// evenly between `from` and `to` and compares the values of a bucket. `values` yields at most `most` values,
/// and is iterated twice rather than copied: these lists are the most memory that a diagnosis needs.
pub(super) fn by_time<T: Copy>(
    mut values: impl Iterator<Item = T> + Clone,
    most: usize,
    (from, to): (f64, f64),
    time: impl Fn(&T) -> f64,
) -> Vec<T> {
    let again = values.clone();
    let mut out = Vec::with_capacity(most);
    let mut last = f64::NEG_INFINITY;
    let in_order = values.try_for_each(|value| {
        let now = time(&value);
        if last > now || now.is_nan() {
            return Err(());
        }
        last = now;
        out.push(value);
        Ok(())
    });
    if in_order.is_ok() {
        return out;
    }
    drop(out);
    let values = again;
    let scale = most as f64 / (to - from);
    let mut finite = true;
    // The bucket of each value, and the number of values in each bucket.
    let (mut places, mut next) = (Vec::with_capacity(most), vec![0u32; most.max(1)]);
    let highest = next.len() - 1;
    values.clone().for_each(|value| {
        let now = time(&value);
        finite &= now.is_finite();
        let place = (((now - from) * scale) as usize).min(highest);
        next[place] += 1;
        places.push(place as u32);
    });
    let compare = |a: &T, b: &T| time(a).total_cmp(&time(b));
    let count = places.len();
    let evenly = count >= MIN_PACKETS && finite && scale.is_finite() && u32::try_from(most).is_ok();
    let Some(first) = values.clone().next().filter(|_| evenly) else {
        let mut out = Vec::with_capacity(count);
        values.for_each(|value| out.push(value));
        out.sort_by(compare);
        return out;
    };
    // The index at which the next value of each bucket goes.
    let mut sum = 0;
    for n in &mut next {
        sum += std::mem::replace(n, sum);
    }
    let mut out = vec![first; count];
    let mut each = places.into_iter();
    values.for_each(|value| {
        let Some(place) = each.next() else { return };
        let at = &mut next[place as usize];
        out[*at as usize] = value;
        *at += 1;
    });
    let mut from = 0;
    for end in next.into_iter().map(|end| end as usize) {
        if end - from > 1 {
            out[from..end].sort_by(compare);
        }
        from = end;
    }
    out
}

/// Returns an integer whose order is that of [`f32::total_cmp`]; integers compare in one instruction.
#[inline(always)]
pub(super) fn key(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    bits ^ ((bits >> 31) as u32 >> 1) as i32
}

/// Returns the value of a [`key`]. The step is its own inverse, because the sign stays.
#[inline(always)]
pub(super) fn value_of(key: i32) -> f32 {
    f32::from_bits((key ^ ((key >> 31) as u32 >> 1) as i32) as u32)
}

/// Returns the values in the order of [`f32::total_cmp`].
pub(super) fn floats(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut keys: Vec<i32> = values.map(key).collect();
    if keys.len() < MIN_RADIX {
        keys.sort_unstable();
    } else {
        by_digits(&mut keys);
    }
    keys.into_iter().map(value_of).collect()
}

/// Sorts by digits, the lowest first (radix sort).
fn by_digits(keys: &mut Vec<i32>) {
    let mut other = vec![0; keys.len()];
    for shift in (0..i32::BITS).step_by(DIGIT_BITS as usize) {
        // Flip the sign bit, so that negative numbers come first.
        let digit = |key: i32| ((key ^ i32::MIN) as u32 >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut next = [0usize; 1 << DIGIT_BITS];
        keys.iter().for_each(|key| next[digit(*key)] += 1);
        let mut sum = 0;
        for n in &mut next {
            sum += std::mem::replace(n, sum);
        }
        for key in keys.iter() {
            let to = &mut next[digit(*key)];
            other[*to] = *key;
            *to += 1;
        }
        std::mem::swap(keys, &mut other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_sorted_as_the_standard_library_does() {
        let values =
            [2.5, f32::NAN, -0.0, 0.0, -7.0, f32::NEG_INFINITY, -f32::NAN, 1e-40, -1e-40, f32::INFINITY];
        let mut expected = values;
        expected.sort_unstable_by(f32::total_cmp);
        let sorted = floats(values.into_iter());
        assert!(sorted.into_iter().map(f32::to_bits).eq(expected.map(f32::to_bits)));
        let many = values.iter().cycle().take(2 * MIN_RADIX).enumerate().map(|(i, v)| v * (i % 77) as f32);
        let many: Vec<f32> = many.chain(values).collect();
        let mut expected = many.clone();
        expected.sort_unstable_by(f32::total_cmp);
        let sorted = floats(many.into_iter());
        assert!(sorted.into_iter().map(f32::to_bits).eq(expected.into_iter().map(f32::to_bits)));
    }

    #[test]
    fn times_are_sorted_as_the_standard_library_does() {
        let mut random = 1u64;
        for (count, spread) in [(0, 1.0), (1, 1.0), (63, 1.0), (64, 1e-9), (5000, 1e4), (5000, 0.0)] {
            // Whole and fractional numbers, some equal, a few far away.
            let values = (0..count).map(|i| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let n = (random >> 40) as f64 / 1e3;
                (
                    if i % 9 == 0 {
                        n.floor()
                    } else if i % 50 == 0 {
                        n * -spread
                    } else {
                        n % 7.0
                    },
                    i,
                )
            });
            let values: Vec<(f64, usize)> = values.collect();
            let mut expected = values.clone();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            // The given count and span do not change the result.
            for (max_count, span) in [(count, (0.0, 7.0)), (2 * count, (-1e9, 1e9)), (count, (3.0, 3.0))] {
                assert_eq!(by_time(values.iter().copied(), max_count, span, |v| v.0), expected);
            }
        }
    }
}
