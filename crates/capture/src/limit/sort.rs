//! Packets in the order of time, in linear time: those of many flows together are many short runs, one behind the other.

/// Fewer than this are sorted by comparing them.
const FEW: usize = 64;

/// Sorts by `time`, seconds; what came at once keeps its order. Each goes to its place as if they came evenly, then those
/// that share a place are compared: where all share a few, no more than sorting costs.
pub(super) fn by_time<T: Copy>(values: &mut [T], time: impl Fn(&T) -> f64) {
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut last, mut sorted, mut finite) = (f64::NEG_INFINITY, true, true);
    for now in values.iter().map(&time) {
        range = (range.0.min(now), range.1.max(now));
        sorted &= last <= now;
        finite &= now.is_finite();
        last = now;
    }
    let count = values.len();
    let scale = count as f64 / (range.1 - range.0);
    if sorted {
        return;
    }
    let compare = |a: &T, b: &T| time(a).total_cmp(&time(b));
    if count < FEW || !finite || !scale.is_finite() || u32::try_from(count).is_err() {
        return values.sort_by(compare);
    }
    let place = |value: &T| (((time(value) - range.0) * scale) as usize).min(count - 1);
    // How many share each place; then where the next of them goes.
    let mut next = vec![0u32; count];
    values.iter().for_each(|value| next[place(value)] += 1);
    let mut sum = 0;
    for n in &mut next {
        sum += std::mem::replace(n, sum);
    }
    let mut to: Vec<u32> = values
        .iter()
        .map(|value| {
            let at = &mut next[place(value)];
            *at += 1;
            *at - 1
        })
        .collect();
    // In place: a second list of them all would be the most memory that a diagnosis takes.
    for i in 0..count {
        while to[i] as usize != i {
            let other = to[i] as usize;
            values.swap(i, other);
            to.swap(i, other);
        }
    }
    let mut from = 0;
    for end in next.into_iter().map(|end| end as usize) {
        if end - from > 1 {
            values[from..end].sort_by(compare);
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sorts_as_the_standard_library_does() {
        let mut random = 1u64;
        for (count, spread) in [(0, 1.0), (1, 1.0), (63, 1.0), (64, 1e-9), (5000, 1e4), (5000, 0.0)] {
            // Whole and broken numbers, some alike, a few far off.
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
            let mut values: Vec<(f64, usize)> = values.collect();
            let mut expected = values.clone();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            by_time(&mut values, |v| v.0);
            assert_eq!(values, expected);
        }
    }
}
