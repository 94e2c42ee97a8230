//! A shaper in place of the policer: packets that exceed the rate are queued instead of dropped.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use crate::situation::{StagePlace, stages_mut};
use path::queue::{Fifo, FqCoDel, Wfq};
use path::{QueueConfig, Shaper, Stage};
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet};
use scenario::Scenario;
use units::{Bytes, Rate, Span};

pub struct ShaperInstead;

/// Smallest and largest queue of a shaper, in packets.
const QUEUE_PACKETS: [u64; 2] = [50, 1000];
/// A queue holds at least what arrives in this time.
const MIN_QUEUE_TIME: Span = Span::from_millis(120);

/// Packets of the shortest queue that is tried.
const MIN_PACKETS: u64 = 10;

/// The queue of a shaper.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShapedQueue {
    /// A FIFO as deep as the policer's bucket, to show the gain that does not come from the depth.
    Short,
    Fifo,
    Wfq,
    FqCoDel,
}

impl ShapedQueue {
    const ALL: [(ShapedQueue, &'static str, &'static str); 4] = [
        (ShapedQueue::Short, "fifo-short", "a FIFO as large as the bucket,"),
        (ShapedQueue::Fifo, "fifo", "a FIFO"),
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
        "A shaper of the same rate instead of the policer: packets that exceed the rate are queued instead of dropped."
    }
    fn applies(&self) -> &'static str {
        "where a policer with one bucket for all flows drops data"
    }
    fn hurts(&self) -> &'static str {
        "Queued packets are late: calls and games suffer behind a full queue without fair queueing."
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
    /// Returns the packets of the default queue, and of one as deep as the policer's bucket.
    fn depths(s: &Situation<'_>, place: StagePlace) -> Option<[u64; 2]> {
        let policer = s.policer(place)?;
        let wait = s.longest_rtt(place).max(MIN_QUEUE_TIME);
        let usual = tune::packets_for(policer.rate, wait).clamp(QUEUE_PACKETS[0], QUEUE_PACKETS[1]);
        Some([usual, (policer.largest()?.get() / 1500).clamp(MIN_PACKETS, usual)])
    }

    /// Whether a queue as deep as the bucket is shorter than the default somewhere.
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
        let title = format!(
            "a shaper with {label} of {} packets instead of {}",
            depths.join(" and "),
            names.join(" and ")
        );
        let touches = names.into_iter().chain(["policer".to_string()]).collect();
        let change = move |s: &mut Scenario| {
            for (place, queue, ..) in &new {
                let stage = &mut stages_mut(s, *place)[place.index].stage;
                // Each scenario keeps its own rate for the shaper that replaces the policer.
                if let Stage::Policer(policer) = stage {
                    *stage = policer.as_shaper(queue.clone());
                }
            }
        };
        let places = places.to_vec();
        // In reverse order, so that the indexes stay valid.
        let without = move |s: &mut Scenario| {
            places.iter().rev().for_each(|p| drop(stages_mut(s, *p).remove(p.index)));
        };
        let option = CureOption::new(self, title, &[ChangePlace::Limiter], change).named(name);
        option.touching(touches).with(remedies).on_changed_scenario(without)
    }
}

/// Returns the commands for the shaper on each platform that has its queue.
fn commands(at: &str, rate: Rate, burst: Bytes, (queue, packets): (ShapedQueue, u64)) -> Vec<CommandSet> {
    let leaf = match queue {
        ShapedQueue::Short | ShapedQueue::Fifo => format!("pfifo limit {packets}"),
        // Linux has no WFQ. SFQ serves flows in turn, as WFQ with equal weights does.
        ShapedQueue::Wfq => format!("sfq limit {packets} perturb 10"),
        ShapedQueue::FqCoDel => format!("fq_codel limit {packets}"),
    };
    let needs = "Linux 3.5; remove the policer (tc filter del dev $DEV …)";
    let mut all = vec![tune::htb_over(rate, burst, &leaf).at(at, needs)];
    if queue == ShapedQueue::FqCoDel {
        all.push(tune::cake(at, rate));
    } else {
        let average = format!("{} {}", rate.as_bps(), burst.bits());
        let also = "; remove the police command";
        all.extend(tune::cisco_shapers(at, &average, queue == ShapedQueue::Wfq, packets, also));
    }
    all
}
