//! A larger bucket of the policer: bursts of a window pass as long as the average rate is kept.

use super::{Cure, CureOption, Lever};
use crate::Situation;
use crate::situation::{StagePlace, stages_mut};
use path::{Meter, Stage};
use result::command::lines;
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet, Platform, sizes};
use scenario::Scenario;
use units::Bytes;

pub struct PolicerBucket;

/// Sizes that are tried: the bandwidth-delay product, and Cisco's rule, 250 ms of the rate.
const OPTIONS: [(&str, &str); 2] = [("bdp", "the bandwidth-delay product"), ("250ms", "250 ms of the rate")];

impl PolicerBucket {
    /// Returns the policers with a smaller bucket than that of option `which`, and the new size.
    fn larger(s: &Situation<'_>, which: usize) -> Vec<(StagePlace, Bytes)> {
        let larger = |place: StagePlace| {
            let policer = s.policer(place).filter(|p| p.meter == Meter::Single)?;
            let bytes = match which {
                0 => policer.rate.bytes_in(s.longest_rtt(place)),
                _ => Bytes::new(sizes::policer_bucket(policer.rate.as_bps())),
            };
            let now = policer.largest()?.get();
            (bytes.get() > now + now / 4).then_some((place, bytes))
        };
        s.policers().into_iter().chain(s.policers_of_flows()).filter_map(larger).collect()
    }
}

impl Cure for PolicerBucket {
    fn name(&self) -> &'static str {
        "policer-bucket"
    }
    fn about(&self) -> &'static str {
        "A larger bucket of the policer, so that the burst of a window passes."
    }
    fn applies(&self) -> &'static str {
        "where the bucket of a single-rate policer holds less than four fifths of the bandwidth-delay product or of 250 ms of its rate"
    }
    fn hurts(&self) -> &'static str {
        "Bursts that pass reach the queues behind the policer, and a sender may exceed the rate for that long."
    }
    fn lever(&self) -> Lever {
        Lever::Limiter
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let option = |(which, (name, label)): (usize, &(&str, &str))| {
            let new = PolicerBucket::larger(s, which);
            let first = new.first()?.1;
            let names: Vec<String> = new.iter().map(|(p, _)| s.stage_name(*p)).collect();
            let remedies: Vec<Change> = new.iter().filter_map(|&(p, bytes)| remedy(s, p, bytes)).collect();
            let title = format!("bucket of {first} ({label}) at {}", names.join(", "));
            let touches = names.into_iter().chain(["policer".to_string()]).collect();
            let change = move |s: &mut Scenario| {
                for (place, bytes) in &new {
                    if let Stage::Policer(p) = &mut stages_mut(s, *place)[place.index].stage {
                        p.burst = Some(*bytes);
                    }
                }
            };
            let option = CureOption::new(self, title, &[ChangePlace::Limiter], change);
            Some(option.named(name).touching(touches).with(remedies))
        };
        OPTIONS.iter().enumerate().filter_map(option).collect()
    }
}

fn remedy(s: &Situation<'_>, place: StagePlace, bytes: Bytes) -> Option<Change> {
    let policer = s.policer(place)?;
    let [at, towards] = s.ends(place);
    let bps = policer.rate.as_bps();
    let before = policer.largest().unwrap_or_default().get();
    let police = |bytes: u64| {
        lines(&format!(
            "policy-map NAME\n class CLASS\n  police cir {bps} bc {bytes} conform-action transmit exceed-action drop"
        ))
    };
    let linux = |bytes: u64| {
        lines(&format!(
            "tc filter replace dev $DEV parent PARENT protocol all prio PRIO matchall \
             action police rate {} burst {bytes} conform-exceed drop",
            result::sender::tc_rate(policer.rate)
        ))
    };
    let needs = "Linux 4.8 with act_police; PARENT and PRIO as shown by `tc filter show dev $DEV`";
    let both = [(Platform::CiscoIos, "IOS 12.2"), (Platform::CiscoIosXe, "IOS-XE 2.1")];
    let cisco = both.map(|(platform, needs)| {
        CommandSet::on(platform, at, needs, police(bytes.get()), police(before)).towards(towards)
    });
    let linux = CommandSet::linux(at, needs, linux(bytes.get()), linux(before)).towards(towards);
    let remedy = Change::new(ChangeKind::BucketSize, ChangePlace::Limiter, "");
    let remedy = remedy.set(Some(before as f64), bytes.get() as f64, ChangeUnit::Bytes);
    Some(remedy.by(std::iter::once(linux).chain(cisco)))
}
