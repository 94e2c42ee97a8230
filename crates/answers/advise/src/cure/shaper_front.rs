//! A shaper directly in front of the policer, matched so that the policer never drops: traffic that passes a
//! token bucket with a lower rate and a smaller bucket conforms to the policer.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use crate::situation::{StagePlace, stages_mut};
use path::queue::{Fifo, FqCoDel};
use path::{QueueConfig, Shaper};
use result::sizes::SHAPED_SHARE;
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet, LinuxSetting};
use scenario::{NamedStage, Scenario};
use units::{Bytes, Rate, Span};

pub struct ShaperInFront;

/// Queueing delay of the shaper in front of a policer: short, because all traffic passes it.
const QUEUE_DELAY: Span = Span::from_millis(50);
/// Packets that its queue holds, at least.
const MIN_PACKETS: u64 = 20;
/// Smallest bucket that lets a full packet with a tunnel's headers pass.
const MIN_BURST: u64 = 1600;

/// A shaper from which the policer behind it never drops.
pub struct Matched {
    pub rate: Rate,
    pub burst: Bytes,
    pub packets: u64,
}

impl Matched {
    /// Matches the policer at `place`. `share` is the share of the policer's bytes that the shaper counts.
    /// `None` where the bucket is too small for any shaper.
    pub fn of(s: &Situation<'_>, place: StagePlace, share: f64) -> Option<Matched> {
        Matched::to(s.policed_rate(place)?, s.policed_burst(place)?, share)
    }

    /// Matches a policer of this rate and bucket. `share` and `None` as for [`Matched::of`].
    fn to(policed: Rate, bucket: Bytes, share: f64) -> Option<Matched> {
        let bucket = bucket.get();
        let rate = tune::share(policed, SHAPED_SHARE * share);
        let usual = Shaper::new(rate).burst().get();
        let burst = usual.min(bucket / 2).max(MIN_BURST.min(bucket));
        let packets = tune::packets_for(rate, QUEUE_DELAY).max(MIN_PACKETS);
        (bucket >= 1500).then_some(Matched { rate, burst: Bytes::new(burst), packets })
    }

    /// Returns the shaper as a stage, with a FIFO or with fair queues.
    pub fn stage(&self, fair: bool) -> Shaper {
        let fifo = QueueConfig::Fifo(Fifo { packets: Some(self.packets), bytes: None });
        let queue = if fair { QueueConfig::FqCoDel(FqCoDel::default()) } else { fifo };
        Shaper { burst: Some(self.burst), queue: Some(queue), ..Shaper::new(self.rate) }
    }

    /// Returns the change at `place`, on the interface of host `at` that leads `towards` another one.
    pub fn remedy(&self, place: ChangePlace, [at, towards]: [&str; 2], fair: bool) -> Change {
        Change::new(ChangeKind::Shape, place, "")
            .set(None, self.rate.as_mbps(), ChangeUnit::Mbps)
            .by(self.commands(at, fair).into_iter().map(|set| set.towards(towards)))
    }

    fn commands(&self, at: &str, fair: bool) -> Vec<CommandSet> {
        let (rate, burst) = (result::sender::tc_rate(self.rate), self.burst.get());
        let limit = self.packets * 1500;
        let setting = LinuxSetting::Qdisc {
            device: None,
            from: None,
            to: format!("handle 1: tbf rate {rate} burst {burst} limit {limit}"),
            below: if fair { vec![("qdisc", "parent 1: handle 10: fq_codel".into())] } else { Vec::new() },
        };
        let needs = if fair { "Linux 3.9 with sch_tbf and sch_fq_codel" } else { "Linux 3.9 with sch_tbf" };
        let networkd = if fair {
            tune::cake(at, self.rate)
        } else {
            let rate = tune::networkd_rate(self.rate);
            let tbf = format!(
                "[TokenBucketFilter]\nParent=root\nRate={rate}\nBurstBytes={burst}\nLimitBytes={limit}"
            );
            tune::networkd(at, "systemd 246", &tbf)
        };
        let average = format!("{} {} 0", self.rate.as_bps(), self.burst.bits());
        // Without CoDel only the limit keeps the queue short.
        let also = match fair {
            true => format!(
                "; it has no CoDel, so the queue is limited to {} ms instead",
                QUEUE_DELAY.as_millis_f64()
            ),
            false => String::new(),
        };
        let cisco = tune::cisco_shapers(at, &average, fair, self.packets, &also);
        [setting.at(at, needs), networkd].into_iter().chain(cisco).collect()
    }
}

/// Returns the shaper with a FIFO that [`ShaperInFront`] puts in front of a policer of this rate and bucket;
/// `None` where the bucket is too small for any shaper.
pub fn shaper_in_front_of(rate: Rate, bucket: Bytes) -> Option<Shaper> {
    Matched::to(rate, bucket, 1.0).map(|matched| matched.stage(false))
}

/// Returns a stage with a name that is new in its direction.
pub fn named_stage(among: &[NamedStage], shaper: Shaper) -> NamedStage {
    let mut name = "edge-shaper".to_string();
    while among.iter().any(|s| s.name == name) {
        name.push('2');
    }
    NamedStage { name, stage: shaper.into(), file: None, assumed: false }
}

impl Cure for ShaperInFront {
    fn name(&self) -> &'static str {
        "shaper-front"
    }
    fn about(&self) -> &'static str {
        "A shaper in front of the policer, its rate and bucket below the policer's, so that the policer never drops."
    }
    fn applies(&self) -> &'static str {
        "where a policer with one bucket for all flows, of 1500 bytes or more, drops data"
    }
    fn hurts(&self) -> &'static str {
        "All traffic into the limiter has to pass it; with a wrong rate, packets are lost again or capacity is wasted."
    }
    fn lever(&self) -> Lever {
        Lever::Limiter
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let matched = |p| Matched::of(s, p, 1.0).map(|m| (p, m));
        let new: Vec<(StagePlace, Matched)> = s.policers().into_iter().filter_map(matched).collect();
        if new.is_empty() {
            return Vec::new();
        }
        let option = |(fair, name): (bool, &str)| {
            let names: Vec<String> = new.iter().map(|(p, _)| s.stage_name(*p)).collect();
            let remedy = |(p, m): &(StagePlace, Matched)| m.remedy(ChangePlace::SenderEdge, s.ends(*p), fair);
            let remedies: Vec<Change> = new.iter().map(remedy).collect();
            let shapers: Vec<(StagePlace, Shaper)> = new.iter().map(|(p, m)| (*p, m.stage(fair))).collect();
            let change = move |s: &mut Scenario| {
                // In reverse order, so that the indexes stay valid.
                for (place, shaper) in shapers.iter().rev() {
                    let list = stages_mut(s, *place);
                    let stage = named_stage(list, shaper.clone());
                    list.insert(place.index, stage);
                }
            };
            let mut rates: Vec<String> = new.iter().map(|(_, m)| tune::rate_in_words(m.rate)).collect();
            rates.dedup();
            let mut depths: Vec<String> = new.iter().map(|(_, m)| m.packets.to_string()).collect();
            depths.dedup();
            let queue = match fair {
                true => "FQ-CoDel".to_string(),
                false => format!("a FIFO of {} packets", depths.join(" and ")),
            };
            let title = format!(
                "a shaper of {} with {queue} in front of {}",
                rates.join(" and "),
                names.join(" and ")
            );
            CureOption::new(self, title, &[ChangePlace::SenderEdge], change).named(name).with(remedies)
        };
        [(false, "fifo"), (true, "fq-codel")].into_iter().map(option).collect()
    }
}
