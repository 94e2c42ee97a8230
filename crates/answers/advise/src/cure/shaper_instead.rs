//! A shaper in the policer's place: what exceeds the rate waits instead of being dropped.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use crate::situation::{StagePlace, stages_mut};
use path::queue::{Fifo, FqCoDel, Wfq};
use path::{QueueConfig, Shaper, Stage};
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet};
use scenario::Scenario;
use units::{Bytes, Rate, Span};

/// A shaper of the policer's rate instead of it.
pub struct ShaperInstead;

/// Packets that a shaper's queue holds at least and at most.
const PACKETS: [u64; 2] = [50, 1000];
/// A queue holds what comes in this time at least.
const WAIT: Span = Span::from_millis(120);

/// Packets that the shortest queue of a shaper holds.
const SHORTEST: u64 = 10;

/// What the queue of a shaper is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShapedQueue {
    /// As deep as the policer's bucket: what it gains is not the depth's.
    Short,
    Fifo,
    Wfq,
    FqCoDel,
}

impl ShapedQueue {
    const ALL: [(ShapedQueue, &'static str, &'static str); 4] = [
        (ShapedQueue::Short, "fifo-short", "a FIFO of the bucket's size"),
        (ShapedQueue::Fifo, "fifo", "FIFO"),
        (ShapedQueue::Wfq, "wfq", "WFQ"),
        (ShapedQueue::FqCoDel, "fq-codel", "FQ-CoDel"),
    ];

    fn config(self, packets: u64) -> QueueConfig {
        match self {
            ShapedQueue::Short | ShapedQueue::Fifo => {
                QueueConfig::Fifo(Fifo { packets: Some(packets), bytes: None })
            }
            ShapedQueue::Wfq => QueueConfig::Wfq(Wfq { packets, ..Wfq::default() }),
            ShapedQueue::FqCoDel => QueueConfig::FqCoDel(FqCoDel { packets, ..FqCoDel::default() }),
        }
    }
}

impl Cure for ShaperInstead {
    fn name(&self) -> &'static str {
        "shaper"
    }
    fn about(&self) -> &'static str {
        "A shaper of the same rate instead of the policer: what comes faster waits in a queue instead of being dropped."
    }
    fn applies(&self) -> &'static str {
        "where a policer with one bucket for all flows drops data"
    }
    fn hurts(&self) -> &'static str {
        "What waits is late: calls and games behind a full queue without fair queueing suffer."
    }
    fn lever(&self) -> Lever {
        Lever::Limiter
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let places = s.policers();
        if places.is_empty() {
            return Vec::new();
        }
        ShapedQueue::ALL
            .iter()
            .map(|&(queue, name, label)| self.option(s, &places, (queue, name, label)))
            .filter(|option| !option.name.ends_with("fifo-short") || self.is_shorter(s, &places))
            .collect()
    }
}

impl ShaperInstead {
    /// Packets of the usual queue and of one as deep as the policer's bucket.
    fn depths(s: &Situation<'_>, place: StagePlace) -> Option<[u64; 2]> {
        let policer = s.policer(place)?;
        let wait = s.longest_rtt(place).max(WAIT);
        let usual = tune::packets_for(policer.rate, wait).clamp(PACKETS[0], PACKETS[1]);
        Some([usual, (policer.largest()?.get() / 1500).clamp(SHORTEST, usual)])
    }

    /// Whether a queue as deep as the bucket is another one than the usual somewhere.
    fn is_shorter(&self, s: &Situation<'_>, places: &[StagePlace]) -> bool {
        places.iter().filter_map(|&p| ShaperInstead::depths(s, p)).any(|[usual, short]| short < usual)
    }

    fn option(
        &self,
        s: &Situation<'_>,
        places: &[StagePlace],
        (queue, name, label): (ShapedQueue, &str, &str),
    ) -> CureOption {
        let shaper = |&place: &StagePlace| {
            let [usual, short] = ShaperInstead::depths(s, place)?;
            let packets = if queue == ShapedQueue::Short { short } else { usual };
            Some((place, queue.config(packets), packets, s.policer(place)?.rate))
        };
        let new: Vec<_> = places.iter().filter_map(shaper).collect();
        let names: Vec<String> = new.iter().map(|(p, ..)| s.stage_name(*p)).collect();
        let remedy = |&(p, _, packets, rate): &(StagePlace, QueueConfig, u64, Rate)| {
            let [at, towards] = s.ends(p);
            let sets = commands(at, rate, Shaper::new(rate).burst(), (queue, packets));
            Change::new(ChangeKind::Shape, ChangePlace::Limiter, "")
                .set(None, rate.as_mbps(), ChangeUnit::Mbps)
                .by(sets.into_iter().map(|set| set.towards(towards)))
        };
        let remedies: Vec<Change> = new.iter().map(remedy).collect();
        let mut depths: Vec<String> = new.iter().map(|(_, _, packets, _)| packets.to_string()).collect();
        depths.dedup();
        let title =
            format!("shaper with {label} ({} packets) instead of {}", depths.join(" and "), names.join(", "));
        let touches = names.into_iter().chain(["policer".to_string()]).collect();
        let change = move |s: &mut Scenario| {
            for (place, queue, ..) in &new {
                let stage = &mut stages_mut(s, *place)[place.index].stage;
                // Each scenario's own rate: what takes the policer's place is set to it.
                if let Stage::Policer(policer) = stage {
                    *stage = policer.as_shaper(queue.clone());
                }
            }
        };
        let places = places.to_vec();
        // From the back, so that places stay what they are.
        let without = move |s: &mut Scenario| {
            places.iter().rev().for_each(|p| drop(stages_mut(s, *p).remove(p.index)));
        };
        let option = CureOption::new(self, title, &[ChangePlace::Limiter], change).named(name);
        option.touching(touches).with(remedies).beneath(without)
    }
}

/// The shaper on each platform that has its queue.
fn commands(at: &str, rate: Rate, burst: Bytes, (queue, packets): (ShapedQueue, u64)) -> Vec<CommandSet> {
    let leaf = match queue {
        ShapedQueue::Short | ShapedQueue::Fifo => format!("pfifo limit {packets}"),
        // Linux has no WFQ: SFQ serves flows in turn, as WFQ of equal weights does.
        ShapedQueue::Wfq => format!("sfq limit {packets} perturb 10"),
        ShapedQueue::FqCoDel => format!("fq_codel limit {packets}"),
    };
    let needs = "Linux 3.5; take the policer away (tc filter del dev $DEV …)";
    let mut all = vec![tune::htb_over(rate, burst, &leaf).at(at, needs)];
    if queue == ShapedQueue::FqCoDel {
        all.push(tune::cake(at, rate));
    } else {
        let average = format!("{} {}", rate.as_bps(), burst.bits());
        let also = "; take the police command away";
        all.extend(tune::cisco_shapers(at, &average, queue == ShapedQueue::Wfq, packets, also));
    }
    all
}
