//! The gaps that lost packets leave. They show whether packets were lost before the link that spaces them, or
//! behind it.
//!
//! Packets leave a busy link back to back. A packet that a full queue drops before the link takes no time on
//! it, so its neighbours come as close together as any two packets. A packet that is dropped behind the link
//! leaves a gap of its own length.

use super::virtual_queue::{PacketArrival, quantile};

/// Least number of closed gaps that shows that queues lost all packets.
const MIN_CLOSED_GAPS: usize = 8;
/// Least number of closed gaps for each open one.
const MIN_CLOSED_PER_OPEN: usize = 50;
/// Gaps between packets that are needed to measure how close packets come.
const MIN_GAPS: usize = 100;
/// The quantile of gaps that represents back-to-back packets.
const BACK_TO_BACK_QUANTILE: f64 = 0.05;

/// Numbers of gaps at lost packets.
#[derive(Clone, Copy, Debug)]
struct LossGaps {
    /// Gaps without the time of the missing packets.
    closed: usize,
    /// Gaps with that time.
    open: usize,
    /// Closed and open gaps between packets that are not merged. In a long capture packets are merged, also
    /// across a loss, so the packet after the gap may not be the next that arrived.
    alone: (usize, usize),
}

/// Gaps at lost packets that take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedGaps {
    /// All: each loss came while other packets waited, whereas chance loses packets of an idle link too.
    All,
    /// Most: losses in front of a link, by a short queue or by chance.
    Most,
}

/// Returns whether gaps at losses are closed. With `alone`, only gaps between packets that are not merged
/// count.
pub(crate) fn closed_gaps(arrivals: &[PacketArrival], alone: bool) -> Option<ClosedGaps> {
    let h = loss_gaps(arrivals)?;
    let (closed, open) = if alone { h.alone } else { (h.closed, h.open) };
    match closed >= MIN_CLOSED_GAPS {
        true if open * MIN_CLOSED_PER_OPEN <= closed => Some(ClosedGaps::All),
        true if open < closed => Some(ClosedGaps::Most),
        _ => None,
    }
}

fn loss_gaps(arrivals: &[PacketArrival]) -> Option<LossGaps> {
    let passed: Vec<usize> = (0..arrivals.len()).filter(|i| !arrivals[*i].lost).collect();
    let single = |i: usize| arrivals[i].bytes == arrivals[i].size;
    let pairs = || passed.windows(2).map(|w| (w[1] - w[0] - 1, arrivals[w[1]].at - arrivals[w[0]].at, w));
    let mut gaps: Vec<f32> = pairs().filter(|p| p.0 == 0 && single(p.2[1])).map(|p| p.1 as f32).collect();
    if gaps.len() < MIN_GAPS {
        return None;
    }
    let space = quantile(&mut gaps, BACK_TO_BACK_QUANTILE) as f64;
    let (mut closed, mut open, mut alone) = (0usize, 0usize, (0usize, 0usize));
    for (lost, gap, ends) in pairs().filter(|p| p.0 > 0) {
        let stand_alone = usize::from(single(ends[0]) && single(ends[1]));
        if gap < 1.4 * space {
            closed += 1;
            alone.0 += stand_alone;
        } else if gap > (lost as f64 + 0.6) * space && gap < (lost as f64 + 3.0) * space {
            open += 1;
            alone.1 += stand_alone;
        }
    }
    Some(LossGaps { closed, open, alone })
}

#[cfg(test)]
mod tests {
    use super::super::PackedSeconds;
    use super::*;

    /// Packets at 1 MB/s, of which every 20th is lost and leaves a gap if `leaves_gap`.
    fn spaced(leaves_gap: bool) -> Vec<PacketArrival> {
        let (mut at, mut out) = (0.0, Vec::new());
        for i in 0..2000u32 {
            let lost = i % 20 == 19;
            at += if lost && !leaves_gap { 0.0 } else { 1.5e-3 };
            out.push(PacketArrival::full(at, 0.02, lost, i));
        }
        out
    }

    #[test]
    fn a_packet_dropped_before_the_link_leaves_no_gap() {
        assert_eq!(closed_gaps(&spaced(false), true), Some(ClosedGaps::All));
        assert_eq!(closed_gaps(&spaced(true), true), None);
    }

    /// One of ten packets in a row is lost in the middle and leaves a gap. The other nine are merged into two
    /// entries.
    #[test]
    fn gaps_of_merged_packets_do_not_count() {
        let at = |ms: f64, bytes: f32, lost: bool| PacketArrival {
            at: ms * 1e-3,
            bytes,
            size: 1500.0,
            lost,
            delay: PackedSeconds::UNKNOWN,
            flow: 0,
            entry: 0,
        };
        let mut merged = Vec::new();
        for i in 0..200 {
            let begin = f64::from(i) * 50.0;
            merged.extend([
                at(begin, 13_500.0, false),
                at(begin + 7.5, 1500.0, true),
                at(begin + 20.0, 1500.0, false),
            ]);
            merged.push(at(begin + 35.0, 1500.0, false));
        }
        assert_eq!(closed_gaps(&merged, false), Some(ClosedGaps::All));
        assert_eq!(closed_gaps(&merged, true), None);
    }
}
