//! The budget of a search: how many runs and how much work may still be simulated. It does not depend on
//! elapsed time.

use result::VariantResult;

/// The work of a run: the number of packets, summed over all stages.
pub(super) fn stage_packets(v: &VariantResult) -> u64 {
    v.elements.iter().map(|e| e.passed_packets + e.dropped_packets).sum()
}

/// The limits of the search and what has been used so far.
pub(super) struct Budget {
    max_runs: u64,
    max_stage_packets: u64,
    /// Number of runs so far.
    pub runs: u64,
    /// The work of these runs.
    pub stage_packets: u64,
}

impl Budget {
    pub fn new(max_runs: u64, max_stage_packets: u64) -> Budget {
        Budget { max_runs, max_stage_packets, runs: 0, stage_packets: 0 }
    }

    pub fn work_left(&self) -> u64 {
        self.max_stage_packets.saturating_sub(self.stage_packets)
    }

    /// How many of the next runs still fit, given the expected work of each.
    pub fn admits(&self, estimates: impl Iterator<Item = u64>) -> usize {
        let (mut runs, mut work) = (self.runs, self.stage_packets);
        let fits = |estimate: &u64| {
            (runs, work) = (runs + 1, work.saturating_add(*estimate));
            runs <= self.max_runs && work <= self.max_stage_packets
        };
        estimates.take_while(fits).count()
    }

    /// Records a run with this much work.
    pub fn spend(&mut self, work: u64) {
        self.runs += 1;
        self.stage_packets += work;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_work_are_both_bounded() {
        let mut budget = Budget::new(3, 100);
        assert_eq!(budget.admits([40, 40, 40].into_iter()), 2);
        budget.spend(90);
        assert_eq!(budget.admits([5, 5, 5].into_iter()), 2);
        budget.spend(1);
        budget.spend(1);
        assert_eq!(budget.admits([0].into_iter()), 0);
    }
}
