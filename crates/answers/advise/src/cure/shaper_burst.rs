//! The bucket of a shaper. A bucket of some seconds of the rate limits nothing until it is empty, and
//! overruns what is behind it.
//!
//! Where the queue is specified by a maximum delay, as in `tbf` and the CNI bandwidth plugin, the bucket is a
//! part of the queue too, and a bucket that is too small makes the queue shorter than the path needs.

use super::{Cure, CureOption, Lever, tune};
use crate::situation::{StagePlace, stages_mut};
use crate::{Situation, situation};
use path::{QueueConfig, Refill, Shaper, Stage};
use result::command::OldQdisc;
use result::command::lines;
use result::{Change, ChangeKind, ChangePlace, ChangeUnit, CommandSet, LinuxSetting, Platform, sizes};
use scenario::Scenario;
use units::{Bytes, Span};

pub struct ShaperBurst;

/// A bucket that lasts longer than this at its rate does not limit short transfers.
const MAX_BUCKET_TIME: Span = Span::from_millis(500);
/// Share of the right depth below which a queue is too short.
const SHORT_QUEUE: f64 = 2.0 / 3.0;
/// Bytes of a full packet.
const FULL_PACKET: u64 = 1500;

/// Returns the shaper at `place` if its bucket is refilled continuously.
fn shaper<'a>(s: &Situation<'a>, place: StagePlace) -> Option<&'a Shaper> {
    match s.stage(place) {
        Stage::Shaper(shaper) if shaper.refill == Refill::Continuous => Some(shaper),
        _ => None,
    }
}

/// Returns the smallest bucket or queue behind the shaper, in bytes; `None` where there is none.
fn smallest_capacity_behind(s: &Situation<'_>, place: StagePlace) -> Option<u64> {
    let holds = |p: &StagePlace| match s.stage(*p) {
        Stage::Policer(policer) => policer.largest().map(Bytes::get),
        // A link faster than the shaper's input queues nothing.
        stage => {
            let queue = situation::queue(stage)?;
            s.rate_of(*p)?;
            Some(situation::depth(&queue) * FULL_PACKET)
        }
    };
    let behind = s.through(place).flat_map(|w| w.stages.iter().skip_while(|&&p| p != place).skip(1));
    behind.filter_map(holds).min()
}

/// Returns a bucket that limits bursts where the current one does not.
fn smaller(s: &Situation<'_>, place: StagePlace) -> Option<Bytes> {
    let shaper = shaper(s, place)?;
    let now = shaper.burst().get();
    let behind = smallest_capacity_behind(s, place);
    let right = sizes::shaper_bucket(shaper.rate.as_bps());
    // If what is behind holds less than a host's burst: at most half of that, but at least two full packets.
    let right = behind.map_or(right, |held| right.min((held / 2).max(2 * (FULL_PACKET + 14))));
    let overruns = behind.is_some_and(|held| now > held);
    let lasts = now > shaper.rate.bytes_in(MAX_BUCKET_TIME).get();
    ((overruns || lasts) && now > 2 * right).then_some(Bytes::new(right))
}

/// Returns a bucket with which the queue, maximum delay plus bucket, is as deep as the path needs.
fn larger(s: &Situation<'_>, place: StagePlace) -> Option<Bytes> {
    let shaper = shaper(s, place)?;
    let waits = shaper.rate.bytes_in(shaper.latency?).get();
    let now = situation::depth(&shaper.queue());
    let right = s.right_depth(place)?;
    let bytes = (right * FULL_PACKET).saturating_sub(waits);
    let short = (now as f64) < SHORT_QUEUE * right as f64;
    (short && bytes > shaper.burst().get()).then_some(Bytes::new(bytes))
}

impl Cure for ShaperBurst {
    fn name(&self) -> &'static str {
        "shaper-burst"
    }
    fn about(&self) -> &'static str {
        "Another bucket of a shaper: small enough to limit bursts or, where it determines the queue's length, large enough."
    }
    fn applies(&self) -> &'static str {
        "where data passes a shaper like Linux' whose bucket holds half a second of its rate, or more than what is behind it, or \
         makes its queue, specified by a maximum delay, too short"
    }
    fn hurts(&self) -> &'static str {
        "A smaller bucket ends the fast start of short transfers; a larger one queues more, and sends larger bursts."
    }
    fn lever(&self) -> Lever {
        Lever::Limiter
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let places = s.places(|stage| matches!(stage, Stage::Shaper(_)));
        let option = |name: &str, bucket: &dyn Fn(StagePlace) -> Option<Bytes>| {
            let new: Vec<(StagePlace, Bytes)> =
                places.iter().filter_map(|&p| Some((p, bucket(p)?))).collect();
            (!new.is_empty()).then(|| self.option(s, new).named(name))
        };
        let both = [
            option("small", &|place| smaller(s, place)),
            option("deep", &|place| larger(s, place).filter(|_| smaller(s, place).is_none())),
        ];
        both.into_iter().flatten().collect()
    }
}

impl ShaperBurst {
    fn option(&self, s: &Situation<'_>, new: Vec<(StagePlace, Bytes)>) -> CureOption {
        let names: Vec<String> = new.iter().map(|(p, _)| s.stage_name(*p)).collect();
        let shown: Vec<String> =
            new.iter().zip(&names).map(|((_, b), name)| format!("{b} at {name}")).collect();
        let title = format!("a shaper's burst of {}", shown.join(", "));
        let mut by: Vec<ChangePlace> = new.iter().map(|(p, _)| tune::owner(s, *p)).collect();
        by.sort_unstable();
        by.dedup();
        let remedies: Vec<Change> = new.iter().filter_map(|&(p, bytes)| remedy(s, p, bytes)).collect();
        let touches = names.into_iter().chain(["shaper".to_string()]).collect();
        let places: Vec<StagePlace> = new.iter().map(|(p, _)| *p).collect();
        let change = move |s: &mut Scenario| {
            for (place, bytes) in &new {
                if let Stage::Shaper(shaper) = &mut stages_mut(s, *place)[place.index].stage {
                    shaper.burst = Some(*bytes);
                }
            }
        };
        // In reverse order, so that the indexes stay valid.
        let without = move |s: &mut Scenario| {
            places.iter().rev().for_each(|p| drop(stages_mut(s, *p).remove(p.index)));
        };
        CureOption::new(self, title, &by, change)
            .touching(touches)
            .with(remedies)
            .on_changed_scenario(without)
    }
}

fn remedy(s: &Situation<'_>, place: StagePlace, bytes: Bytes) -> Option<Change> {
    let shaper = shaper(s, place)?;
    let [at, towards] = s.ends(place);
    let rate = result::sender::tc_rate(shaper.rate);
    let queue = match (shaper.latency, shaper.queue()) {
        (Some(latency), _) => format!("latency {}us", latency.as_nanos() / 1000),
        (None, QueueConfig::Fifo(fifo)) => {
            let packets = fifo.packets.map(|n| n.saturating_mul(FULL_PACKET));
            let limit = fifo.bytes.map(Bytes::get).into_iter().chain(packets).min();
            format!("limit {}", limit.unwrap_or(1000 * FULL_PACKET))
        }
        (None, queue) => format!("limit {}", situation::depth(&queue) * FULL_PACKET),
    };
    let peak = shaper.peak_rate.zip(shaper.peak_burst()).map_or(String::new(), |(peak, bucket)| {
        format!(" peakrate {} mtu {}", result::sender::tc_rate(peak), bucket.get())
    });
    let tbf = |bytes: Bytes| format!("tbf rate {rate} burst {} {queue}{peak}", bytes.get());
    // The scenario contains the current settings.
    let setting = LinuxSetting::Qdisc {
        device: None,
        from: Some(OldQdisc::Set(tbf(shaper.burst()))),
        to: tbf(bytes),
        below: Vec::new(),
    };
    let own = setting.at(at, "sch_tbf, as the root of the interface").towards(towards);
    let remedy = Change::new(ChangeKind::BucketSize, ChangePlace::Limiter, "");
    let remedy = remedy.set(Some(shaper.burst().get() as f64), bytes.get() as f64, ChangeUnit::Bytes);
    Some(remedy.by(std::iter::once(own).chain(cni(s, place, shaper, bytes))))
}

/// Returns the entry of the CNI bandwidth plugin for a pod that is an end of the data. Its rates are in bits
/// per second, its bursts in bits (containernetworking/plugins, plugins/meta/bandwidth). The values that
/// Kubernetes passes on from annotations have no burst.
fn cni(s: &Situation<'_>, place: StagePlace, shaper: &Shaper, bytes: Bytes) -> Option<CommandSet> {
    let ends = s.ends(place);
    let is_end = |host: &str, end: fn(&crate::DataPath) -> usize| {
        let mut paths = s.through(place).peekable();
        paths.peek().is_some() && paths.all(|w| s.host(end(w)) == host)
    };
    let (pod, direction) = match ends {
        [from, _] if is_end(from, |w| w.from) => (from, "egress"),
        [_, to] if is_end(to, |w| w.to) => (to, "ingress"),
        _ => return None,
    };
    let entry = |bytes: Bytes| {
        lines(&format!(
            "{{ \"type\": \"bandwidth\", \"{direction}Rate\": {}, \"{direction}Burst\": {} }}",
            shaper.rate.as_bps(),
            bytes.bits()
        ))
    };
    let needs = "the CNI bandwidth plugin, in the list of plugins in /etc/cni/net.d without \
                 \"capabilities\": { \"bandwidth\": true }; for pods that are created afterwards";
    Some(CommandSet::on(Platform::Cni, pod, needs, entry(bytes), entry(shaper.burst())))
}
