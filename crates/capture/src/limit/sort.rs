//! Packets in the order of time, in linear time: those of many flows together are many short runs, one behind the other.

/// Fewer than this are sorted by comparing them.
const FEW: usize = 64;

/// Sorted by `time`, seconds; what came at once keeps its order. Each goes to its place as if they came evenly, then those
/// that share a place are compared: where all share a few, no more than sorting costs. `values` are made three times
/// rather than kept twice: these lists are the most memory that a diagnosis takes.
pub(super) fn by_time<T: Copy>(values: impl Iterator<Item = T> + Clone, time: impl Fn(&T) -> f64) -> Vec<T> {
    let (mut low, mut high, mut last) = (f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY);
    let (mut count, mut sorted, mut finite) = (0, true, true);
    values.clone().for_each(|value| {
        let now = time(&value);
        (low, high) = (low.min(now), high.max(now));
        sorted &= last <= now;
        finite &= now.is_finite();
        (last, count) = (now, count + 1);
    });
    let scale = count as f64 / (high - low);
    let compare = |a: &T, b: &T| time(a).total_cmp(&time(b));
    let first = values
        .clone()
        .next()
        .filter(|_| !sorted && count >= FEW && finite && scale.is_finite() && u32::try_from(count).is_ok());
    let Some(first) = first else {
        let mut out = Vec::with_capacity(count);
        values.for_each(|value| out.push(value));
        if !sorted {
            out.sort_by(compare);
        }
        return out;
    };
    let place = |value: &T| (((time(value) - low) * scale) as usize).min(count - 1);
    // How many share each place; then where the next of them goes.
    let mut next = vec![0u32; count];
    values.clone().for_each(|value| next[place(&value)] += 1);
    let mut sum = 0;
    for n in &mut next {
        sum += std::mem::replace(n, sum);
    }
    let mut out = vec![first; count];
    values.for_each(|value| {
        let at = &mut next[place(&value)];
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
            let values: Vec<(f64, usize)> = values.collect();
            let mut expected = values.clone();
            expected.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert_eq!(by_time(values.iter().copied(), |v| v.0), expected);
        }
    }
}
