//! The grid: which cells are measured on the kernel and simulated.
//!
//! Eight paths × three congestion controls × three cells each. The three cells have RTTs of 5, 30 and 140 ms;
//! rates and numbers of flows rotate with path and control, so that every pair of two values occurs. The
//! paths with jitter and handovers come on top, and for each control that the kernel has only from longfat
//! ([`EBPF`]) two cells of every path except two policers. Every other control of the registry has the same
//! cells, and every queue has nine, so that a new one can be measured immediately ([`others`], [`queues`]).
//! Cells for which a machine may be too slow are separate ([`fast`]).

use crate::Cell;
use crate::cell::{JITTER_RTT, SECONDS};
use units::{Bytes, Rate, Span};

const CONTROLS: [&str; 3] = ["reno", "cubic", "bbr"];
const RTT_MS: [u64; 3] = [5, 30, 140];
const RATE_MBPS: [u64; 3] = [5, 20, 100];
const LOSS: [f64; 3] = [0.001, 0.01, 0.03];
/// Linux `txqueuelen`.
const DEEP_QUEUE: u64 = 1000;
/// The shapers' bucket: ten packets.
const SHAPER_BURST: u64 = 15_000;

/// Duration of [`fast`] cells, seconds: 2 GB at 10 Gbit/s on a machine that carries them.
const FAST_SECONDS: u32 = 3;

/// Controls that longfat provides as eBPF programs for the kernel.
pub const EBPF: [&str; 3] = ["westwood", "compound", "bbr-hsr"];
/// Number of static paths; those with jitter and handovers follow.
const STATIC_PATHS: usize = 8;
const MOVING: [&str; 3] = ["jitter", "handover", "failed-handover"];

/// The 72 cells of static paths.
pub fn cells() -> Vec<Cell> {
    of(0..STATIC_PATHS)
}

/// The 27 cells of varying paths: an RTT between 30 and 70 ms, successful handovers, and failed ones.
pub fn moving() -> Vec<Cell> {
    of(STATIC_PATHS..STATIC_PATHS + MOVING.len())
}

fn of(paths: std::ops::Range<usize>) -> Vec<Cell> {
    let mut cells = Vec::new();
    for path in paths {
        for (c, cc) in CONTROLS.iter().enumerate() {
            cells.extend((0..3).map(|k| cell(path, c, cc, k)));
        }
    }
    cells
}

/// The 54 cells of longfat's own programs, 18 each.
pub fn ebpf() -> Vec<Cell> {
    EBPF.iter().enumerate().flat_map(|(c, cc)| eighteen(c, cc)).collect()
}

/// The same 18 cells for each control of the registry that is in no other set; a kernel has some of them.
pub fn others() -> Vec<Cell> {
    let known = |cc: &&&str| CONTROLS.contains(cc) || EBPF.contains(cc);
    congestion::NAMES.iter().filter(|cc| !known(cc)).flat_map(|cc| eighteen(0, cc)).collect()
}

fn eighteen(c: usize, cc: &str) -> Vec<Cell> {
    let two = |path: usize| [(path + c) % 3, (path + c + 1) % 3].map(|k| cell(path, c, cc, k));
    (2..STATIC_PATHS + MOVING.len()).flat_map(two).collect()
}

/// A link with each kind of queue in its default configuration: nine cells each.
pub fn queues() -> Vec<Cell> {
    let mut cells = Vec::new();
    for kind in path::QueueConfig::KINDS {
        for (c, cc) in CONTROLS.iter().enumerate() {
            cells.extend((0..3).map(|k| Cell { path: kind.to_string(), queue: 0, ..cell(6, c, cc, k) }));
        }
    }
    cells
}

/// CUBIC at 1 and 10 Gbit/s: three RTTs, three numbers of flows, four paths. A policer's bucket holds 5 ms of
/// its rate, a shaper's queue a quarter of the bandwidth-delay product, at least 100 packets.
pub fn fast() -> Vec<Cell> {
    let mut cells = Vec::new();
    for gbps in [1, 10] {
        let rate = Rate::from_bps(gbps * 1_000_000_000);
        for path in ["clean", "police", "shape", "fq-codel"] {
            for rtt in [1, 10, 40].map(Span::from_millis) {
                let bdp = rate.bytes_in(rtt).get() / 1500;
                let (burst, queue) = match path {
                    "police" => (rate.bytes_in(Span::from_millis(5)), 0),
                    "shape" => (Bytes::new(SHAPER_BURST * gbps), (bdp / 4).max(100)),
                    "clean" => (Bytes::new(0), DEEP_QUEUE),
                    _ => (Bytes::new(0), 0),
                };
                cells.extend([1, 4, 16].map(|flows| Cell {
                    path: path.into(),
                    rate,
                    burst,
                    queue,
                    rtt,
                    loss: 0.0,
                    cc: "cubic".into(),
                    flows,
                    paced: false,
                    seconds: FAST_SECONDS,
                }));
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
        6 => ("clean", 0, DEEP_QUEUE, 0.0),
        7 => ("loss", 0, DEEP_QUEUE, LOSS[(k + c) % 3]),
        _ => (MOVING[path - STATIC_PATHS], 0, DEEP_QUEUE, 0.0),
    };
    let rtt = if kind == "jitter" { JITTER_RTT } else { rtt };
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

    #[test]
    fn varying_paths_and_own_controls_have_enough_cells() {
        let lines = |cells: Vec<Cell>| cells.iter().map(Cell::line).collect::<BTreeSet<String>>();
        assert_eq!(lines(moving()).len(), 27);
        for cc in EBPF {
            assert_eq!(lines(ebpf().into_iter().filter(|c| c.cc == cc).collect()).len(), 18, "{cc}");
        }
    }

    #[test]
    fn every_registered_control_and_queue_has_valid_cells() {
        let all: Vec<Cell> = [cells(), moving(), ebpf(), others(), queues()].concat();
        for cc in congestion::NAMES {
            assert!(all.iter().filter(|c| c.cc == *cc).count() >= 18, "{cc}");
        }
        for kind in path::QueueConfig::KINDS {
            assert!(all.iter().filter(|c| c.path == *kind).count() >= 9, "{kind}");
        }
        let lines: BTreeSet<String> = all.iter().map(Cell::line).collect();
        assert_eq!(lines.len(), all.len(), "no cell twice");
        for cell in all {
            let text = cell.scenario();
            if let Err(e) = scenario::Experiment::parse("cell.toml", &text, &[]) {
                panic!("{}", e.render());
            }
        }
    }
}
