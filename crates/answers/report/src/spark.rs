//! Sparklines: a curve as one line of block characters.

use result::FlowSeries;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Goodput in `bins` equal slices of `0..duration` seconds, Mbit/s, from the bytes delivered by the slices'
/// edges, which are interpolated linearly between samples. Empty with fewer than two samples.
pub(crate) fn goodput(series: &FlowSeries, duration: f64, bins: usize) -> Vec<f64> {
    let samples: Vec<(f64, f64)> =
        series.time_s.iter().copied().zip(series.delivered_bytes.iter().map(|&b| b as f64)).collect();
    if samples.len() < 2 || bins == 0 || duration <= 0.0 {
        return Vec::new();
    }
    let width = duration / bins as f64;
    let edges: Vec<f64> = (0..=bins).map(|i| delivered_at(&samples, i as f64 * width)).collect();
    edges.windows(2).map(|e| (e[1] - e[0]).max(0.0) * 8.0 / 1e6 / width).collect()
}

/// Bytes delivered by `t`: nothing before the first sample's time, the last value after the last.
fn delivered_at(samples: &[(f64, f64)], t: f64) -> f64 {
    let after = samples.partition_point(|&(time, _)| time <= t);
    match (after.checked_sub(1).map(|i| samples[i]), samples.get(after)) {
        (None, _) => 0.0,
        (Some((_, bytes)), None) => bytes,
        (Some((t0, b0)), Some(&(t1, b1))) => b0 + (b1 - b0) * (t - t0) / (t1 - t0),
    }
}

/// `values` as block characters, a full block at `top`; a space for zero.
pub(crate) fn line(values: &[f64], top: f64) -> String {
    let block = |v: f64| {
        if v <= 0.0 || top <= 0.0 {
            return ' ';
        }
        BLOCKS[((v / top * 8.0).ceil() as usize).clamp(1, 8) - 1]
    };
    values.iter().map(|&v| block(v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_eighths_rounded_up() {
        assert_eq!(line(&[0.0, 0.1, 1.0, 1.1, 4.0, 8.0, 9.0], 8.0), " ▁▁▂▄██");
    }

    #[test]
    fn goodput_is_the_slope_of_delivered_bytes() {
        let series = FlowSeries {
            time_s: vec![1.0, 2.0, 4.0],
            delivered_bytes: vec![0, 1_000_000, 1_000_000],
            ..Default::default()
        };
        assert_eq!(goodput(&series, 5.0, 5), [0.0, 8.0, 0.0, 0.0, 0.0]);
        assert_eq!(goodput(&series, 5.0, 1), [1.6]);
        assert!(goodput(&FlowSeries::default(), 5.0, 5).is_empty());
    }
}
