//! A shaper right in front of the policer, rate and bucket matched so that the policer never drops: what passes a
//! token bucket of a lower rate and a smaller bucket conforms to the one behind it.

use super::{Cure, CureOption, Lever, shaper_instead::networkd_rate, tune};
use crate::command::lines;
use crate::situation::{StagePlace, stages_mut};
use crate::{Actor, CommandSet, Platform, Situation};
use path::queue::{Fifo, FqCoDel};
use path::{QueueConfig, Shaper};
use scenario::{NamedStage, Scenario};
use units::{Bytes, Rate, Span};

/// A shaper in front of the policer.
pub struct ShaperInFront;

/// Of the policed rate: clocks of two devices differ by far less.
const SHARE: f64 = 0.99;
/// What a queue in front of a policer holds, in time: small, since it stands at the edge for all.
const WAIT: Span = Span::from_millis(50);
/// Packets that it holds at least.
const LEAST_PACKETS: u64 = 20;
/// The smallest bucket that lets a full packet with a tunnel's headers pass.
const LEAST_BURST: u64 = 1600;

/// A shaper that a policer behind it never drops from.
pub struct Matched {
    /// Its rate.
    pub rate: Rate,
    /// Its bucket.
    pub burst: Bytes,
    /// Packets in its queue.
    pub packets: u64,
}

impl Matched {
    /// For the policer at `place`, counting `share` of the bytes that the policer counts; `None` where its bucket is
    /// too small for any.
    pub fn of(s: &Situation<'_>, place: StagePlace, share: f64) -> Option<Matched> {
        let policed = s.policed_rate(place)?;
        let bucket = s.policed_burst(place)?.get();
        let rate = tune::share(policed, SHARE * share);
        let usual = Shaper::new(rate).burst().get();
        let burst = usual.min(bucket / 2).max(LEAST_BURST.min(bucket));
        let packets = tune::packets_for(rate, WAIT).max(LEAST_PACKETS);
        (bucket >= 1500).then_some(Matched { rate, burst: Bytes::new(burst), packets })
    }

    /// As a stage, with one queue or with fair ones.
    pub fn stage(&self, fair: bool) -> Shaper {
        let fifo = QueueConfig::Fifo(Fifo { packets: Some(self.packets), bytes: None });
        let queue = if fair { QueueConfig::FqCoDel(FqCoDel::default()) } else { fifo };
        Shaper { burst: Some(self.burst), queue: Some(queue), ..Shaper::new(self.rate) }
    }

    /// Packets that its queue holds.
    pub fn depth(&self, fair: bool) -> u64 {
        if fair { FqCoDel::default().packets } else { self.packets }
    }

    /// What to type.
    pub fn commands(&self, at: &str, towards: &str, fair: bool) -> Vec<CommandSet> {
        let (rate, burst) = (tune::tc_rate(self.rate), self.burst.get());
        let limit = self.packets * 1500;
        let tbf =
            format!("tc qdisc replace dev $DEV root handle 1: tbf rate {rate} burst {burst} limit {limit}");
        let leaf = "tc qdisc replace dev $DEV parent 1: handle 10: fq_codel";
        let apply = if fair { format!("{tbf}\n{leaf}") } else { tbf };
        let needs = if fair { "Linux 3.9 with sch_tbf and sch_fq_codel" } else { "Linux 3.9 with sch_tbf" };
        let networkd = if fair {
            format!("[CAKE]\nParent=root\nBandwidth={}", networkd_rate(self.rate))
        } else {
            let rate = networkd_rate(self.rate);
            format!("[TokenBucketFilter]\nParent=root\nRate={rate}\nBurstBytes={burst}\nLimitBytes={limit}")
        };
        let systemd = if fair { "systemd 246; Linux 4.19 with sch_cake" } else { "systemd 246" };
        let mut all = vec![
            CommandSet::linux(at, needs, lines(&apply), lines("tc qdisc del dev $DEV root")).towards(towards),
            CommandSet::on(
                Platform::Networkd,
                at,
                systemd,
                lines(&format!("# the .network file of the interface\n{networkd}")),
                lines("remove the section\nnetworkctl reload"),
            )
            .towards(towards),
        ];
        let fair = if fair { "\n  fair-queue" } else { "" };
        for (platform, needs) in [(Platform::CiscoIos, "IOS 12.4(20)T"), (Platform::CiscoIosXe, "IOS-XE 2.1")]
        {
            let class = format!(
                "policy-map LONGFAT\n class class-default\n  shape average {} {} 0{fair}\n  queue-limit {} packets",
                self.rate.as_bps(),
                self.burst.bits(),
                self.packets
            );
            let on = "interface INTERFACE\n service-policy output LONGFAT";
            let off = "interface INTERFACE\n no service-policy output LONGFAT\nno policy-map LONGFAT";
            let set = CommandSet::on(platform, at, needs, lines(&format!("{class}\n{on}")), lines(off));
            all.push(set.towards(towards));
        }
        all
    }
}

/// A stage under a name that its direction has not.
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
        "All traffic into the limiter has to pass it; a wrong rate is either loss again or rate given away."
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
        let option = |(fair, name, label): (bool, &str, &str)| {
            let names: Vec<String> = new.iter().map(|(p, _)| s.stage_name(*p)).collect();
            let commands = new.iter().flat_map(|(p, m)| {
                let [at, towards] = s.ends(*p);
                let purpose = s.stage_name(*p);
                m.commands(at, towards, fair).into_iter().map(move |c| c.purpose(&purpose))
            });
            let commands: Vec<CommandSet> = commands.collect();
            let shapers: Vec<(StagePlace, Shaper)> = new.iter().map(|(p, m)| (*p, m.stage(fair))).collect();
            let change = move |s: &mut Scenario| {
                // From the back, so that places stay what they are.
                for (place, shaper) in shapers.iter().rev() {
                    let list = stages_mut(s, *place);
                    let stage = named_stage(list, shaper.clone());
                    list.insert(place.index, stage);
                }
            };
            let mut rates: Vec<String> = new.iter().map(|(_, m)| m.rate.to_string()).collect();
            rates.dedup();
            let mut depths: Vec<String> = new.iter().map(|(_, m)| m.depth(fair).to_string()).collect();
            depths.dedup();
            let title = format!(
                "shaper of {} with {label} ({} packets) in front of {}",
                rates.join(" and "),
                depths.join(" and "),
                names.join(", ")
            );
            CureOption::new(self, title, &[Actor::NearEdge], change).named(name).with(commands)
        };
        [(false, "fifo", "a small FIFO"), (true, "fq-codel", "FQ-CoDel")].into_iter().map(option).collect()
    }
}
