//! The grid: which cells are measured on the kernel and simulated.
//!
//! Eight paths × three congestion controls × three cells each. Over those three the RTTs are 5, 30
//! and 140 ms; rates and numbers of flows turn with path and control, so that every pair of two occurs.

use crate::Cell;
use crate::cell::SECONDS;
use units::{Bytes, Rate, Span};

const CONTROLS: [&str; 3] = ["reno", "cubic", "bbr"];
const RTT_MS: [u64; 3] = [5, 30, 140];
const RATE_MBPS: [u64; 3] = [5, 20, 100];
const LOSS: [f64; 3] = [0.001, 0.01, 0.03];
/// Linux `txqueuelen`.
const DEEP_ENOUGH: u64 = 1000;
/// The shapers' bucket: ten packets.
const SHAPER_BURST: u64 = 15_000;

/// All 72 cells.
pub fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for path in 0..8 {
        for (c, cc) in CONTROLS.iter().enumerate() {
            for k in 0..3 {
                cells.push(cell(path, c, cc, k));
            }
        }
    }
    cells
}

fn cell(path: usize, c: usize, cc: &str, k: usize) -> Cell {
    let rate = Rate::from_bps(RATE_MBPS[(path + c + k) % 3] * 1_000_000);
    let rtt = Span::from_millis(RTT_MS[k]);
    let bdp = rate.bytes_in(rtt).get() / 1500;
    let (kind, burst, queue, loss) = match path {
        0 => ("police", 8_000, 0, 0.0),
        1 => ("police", 32_000, 0, 0.0),
        2 => ("police", 625_000, 0, 0.0),
        3 => ("shape", SHAPER_BURST, (bdp / 4).max(10), 0.0),
        4 => ("shape", SHAPER_BURST, (bdp * 2).max(50), 0.0),
        5 if (c + k) % 2 == 0 => ("wfq", 0, 200, 0.0),
        5 => ("fq-codel", 0, 0, 0.0),
        6 => ("clean", 0, DEEP_ENOUGH, 0.0),
        _ => ("loss", 0, DEEP_ENOUGH, LOSS[(k + c) % 3]),
    };
    Cell {
        path: kind.into(),
        rate,
        burst: Bytes::new(burst),
        queue,
        rtt,
        loss,
        cc: cc.into(),
        flows: [1, 4][(path + path / 3 + c + k) % 2],
        paced: false,
        seconds: SECONDS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_grid_has_every_pair() {
        let cells = cells();
        let lines: BTreeSet<String> = cells.iter().map(Cell::line).collect();
        assert_eq!(lines.len(), 72, "no cell twice");
        let count = |key: &dyn Fn(&Cell) -> String| cells.iter().map(key).collect::<BTreeSet<_>>().len();
        assert_eq!(count(&|c| format!("{} {} {}", c.cc, c.rtt, c.rate)), 27, "control, RTT and rate");
        assert_eq!(count(&|c| format!("{} {}", c.cc, c.flows)), 6, "control and flows");
        assert_eq!(count(&|c| format!("{} {}", c.rtt, c.flows)), 6, "RTT and flows");
        assert_eq!(count(&|c| format!("{} {}", c.rate, c.flows)), 6, "rate and flows");
    }
}
