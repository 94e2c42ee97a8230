//! Helpers of several cures: congestion control, queues, the numbers of shapers, and their spelling in tools.

use super::{Cure, CureOption};
use crate::Situation;
use crate::situation::{self, StagePlace};
use congestion::Control;
use path::{QueueConfig, Stage};
use print::three_digits;
use result::command::lines;
use result::sender::{self, tc_rate};
use result::sizes::SHAPED_SHARE;
use result::{Change, ChangeKind, ChangePlace, CommandSet, LinuxSetting, Platform};
use scenario::Scenario;
use transport::Profile;
use units::{Bytes, Rate, Span};

/// Limit of the ends that are also tried one by one.
const MAX_ENDS: usize = 3;

/// Formats a rate for a sentence, in Mbit/s with three significant digits.
pub fn rate_in_words(rate: Rate) -> String {
    format!("{} Mbit/s", three_digits(rate.as_mbps()))
}

/// Returns a share of a rate, in whole kbit/s above 1 Mbit/s.
pub fn share(rate: Rate, share: f64) -> Rate {
    let bps = (rate.as_bps() as f64 * share) as u64;
    Rate::from_bps(if bps > 1_000_000 { bps / 1000 * 1000 } else { bps.max(1) })
}

/// Whether the host has Linux' TCP, or any but Windows'.
pub fn is_linux(s: &Scenario, host: usize) -> bool {
    s.hosts[host].stack.profile != Profile::Windows
}

/// Whether a congestion control paces by itself.
pub fn paces(control: Control) -> bool {
    control.name().starts_with("bbr")
}

/// Returns the sending hosts accepted by `wanted`: all together and, if they are few, each one alone.
pub fn sets_of_senders(s: &Situation<'_>, wanted: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
    let all: Vec<usize> = s.senders().into_iter().filter(|&h| wanted(h)).collect();
    match all.len() {
        0 => Vec::new(),
        n @ 2..=MAX_ENDS => {
            let alone = all.iter().map(|&h| vec![h]).take(n);
            std::iter::once(all.clone()).chain(alone).collect()
        }
        _ => vec![all],
    }
}

/// Lists hosts in a sentence, such as "at `a` and `b`".
pub fn at(s: &Situation<'_>, hosts: &[usize]) -> String {
    let names: Vec<&str> = hosts.iter().map(|&h| s.host(h)).collect();
    match names.split_last() {
        Some((last, [])) => format!("at {last}"),
        Some((last, rest)) => format!("at {} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Names an option that applies to only one of several senders.
pub fn name_single_sender(option: CureOption, s: &Situation<'_>, hosts: &[usize], sets: usize) -> CureOption {
    match hosts {
        [host] if sets > 1 => option.named(s.host(*host)),
        _ => option,
    }
}

/// Returns options with another congestion control for the flows of Linux hosts.
pub fn control(cure: &dyn Cure, s: &Situation<'_>, name: &'static str, label: &str) -> Vec<CureOption> {
    let Some(control) = Control::named(name) else { return Vec::new() };
    let flows = |hosts: &[usize]| {
        let paths = s.paths.iter().filter(|w| hosts.contains(&w.from));
        paths.map(|w| w.flow).filter(|&f| s.reference().flows[f].cc.name() != name).collect::<Vec<_>>()
    };
    let wanted = |h: usize| is_linux(s.reference(), h) && !flows(&[h]).is_empty();
    let sets = sets_of_senders(s, wanted);
    let count = sets.len();
    let option = |hosts: Vec<usize>| {
        let flows = flows(&hosts);
        let change = move |s: &mut Scenario| flows.iter().for_each(|&f| set_control(s, f, control));
        let peers = |h: usize| s.paths.iter().filter(move |w| w.from == h).map(|w| w.to);
        let commands = hosts.iter().flat_map(|&h| {
            let peer = peers(h).next();
            let peer = peer.map(|peer| (s.host(peer), s.reference().address(peer).is_ipv6()));
            sender::congestion_control_commands(s.host(h), name, None, peer)
        });
        let remedy = sender::congestion_control(name).by(commands);
        let title = format!("{label} {}", at(s, &hosts));
        name_single_sender(CureOption::new(cure, title, &[ChangePlace::Sender], change), s, &hosts, count)
            .with([remedy])
    };
    sets.into_iter().map(option).collect()
}

/// Sets the flow's congestion control. Relays without their own keep the previous one.
fn set_control(s: &mut Scenario, flow: usize, control: Control) {
    let before = std::mem::replace(&mut s.flows[flow].cc, control);
    for relay in s.flows[flow].via.clone() {
        s.relays[relay].cc.get_or_insert(before);
    }
}

/// Returns options with another queue at the bottlenecks: at all of them and, if they are few, at each one.
/// `queue` returns the new queue, and `None` where it is that one already.
pub fn queue(
    cure: &dyn Cure,
    s: &Situation<'_>,
    label: &str,
    queue: impl Fn(StagePlace) -> Option<QueueConfig>,
    remedy: impl Fn(&QueuedAt<'_>) -> Change,
) -> Vec<CureOption> {
    let new: Vec<(StagePlace, QueueConfig)> =
        s.bottlenecks().into_iter().filter_map(|p| Some((p, queue(p)?))).collect();
    let sets: Vec<Vec<(StagePlace, QueueConfig)>> = match new.len() {
        0 => Vec::new(),
        2..=MAX_ENDS => {
            let alone: Vec<_> = new.iter().map(|one| vec![one.clone()]).collect();
            std::iter::once(new).chain(alone).collect()
        }
        _ => vec![new],
    };
    let count = sets.len();
    let option = |new: Vec<(StagePlace, QueueConfig)>| {
        let names: Vec<String> = new.iter().map(|(p, _)| s.stage_name(*p)).collect();
        let remedies: Vec<Change> = new
            .iter()
            .map(|(p, q)| {
                let [at, towards] = s.ends(*p);
                remedy(&QueuedAt { at, towards, stage: s.stage(*p), queue: q })
            })
            .collect();
        let at = |(p, q): &(StagePlace, QueueConfig)| {
            format!("of {} packets at {}", situation::depth(q), s.stage_name(*p))
        };
        let title = format!("{label} {}", new.iter().map(at).collect::<Vec<_>>().join(" and "));
        let mut by: Vec<ChangePlace> = new.iter().map(|(p, _)| owner(s, *p)).collect();
        by.sort_unstable();
        by.dedup();
        let kinds = new.iter().map(|(p, _)| s.stage(*p).kind().to_string());
        let touches: Vec<String> = names.iter().cloned().chain(kinds).collect();
        let changed = new.clone();
        let change = move |s: &mut Scenario| {
            for (place, queue) in &changed {
                let stage = &mut situation::stages_mut(s, *place)[place.index].stage;
                situation::set_queue(stage, queue.clone());
            }
        };
        let option = CureOption::new(cure, title, &by, change).touching(touches).with(remedies);
        match &new[..] {
            [(place, _)] if count > 1 => option.named(&s.short_name(*place)),
            _ => option,
        }
    };
    sets.into_iter().map(option).collect()
}

/// Returns who runs a stage's queue: the sender, if the stage is its own port ([`Situation::is_port`]) and
/// all data that passes it begins there; the receiver, if the port is its own and only its acknowledgements
/// pass; otherwise the operator of the limiter.
pub fn owner(s: &Situation<'_>, place: StagePlace) -> ChangePlace {
    if !s.is_port(place) {
        return ChangePlace::Limiter;
    }
    let [at, _] = s.ends(place);
    let mut data = s.all_through(place).peekable();
    if data.peek().is_some() {
        return if data.all(|w| s.host(w.from) == at) { ChangePlace::Sender } else { ChangePlace::Limiter };
    }
    let mut back = s.all_paths().filter(|w| w.back.contains(&place));
    if back.all(|w| s.host(w.to) == at) { ChangePlace::Receiver } else { ChangePlace::Limiter }
}

/// Returns options for a discipline at different depths. The first has the depth of the current queue. If
/// that is too shallow, another one, with its own name, has the discipline's default depth. Comparing the two
/// shows what a cure gains by its depth alone.
pub fn at_depths(
    s: &Situation<'_>,
    default: u64,
    options: impl Fn(&dyn Fn(StagePlace) -> Option<u64>) -> Vec<CureOption>,
) -> Vec<CureOption> {
    let now = |place: StagePlace| situation::queue(s.stage(place)).map(|q| situation::depth(&q));
    let mut all = options(&|place| Some(now(place)?.min(default)));
    let shallow = |place: &StagePlace| {
        let right = s.right_depth(*place).unwrap_or(default).min(default);
        now(*place).is_some_and(|now| now < right)
    };
    if s.bottlenecks().iter().any(shallow) {
        let deep = options(&|place| Some(if shallow(&place) { default } else { now(place)?.min(default) }));
        all.extend(deep.into_iter().map(|o| CureOption { name: format!("{}-deep", o.name), ..o }));
    }
    all
}

/// A queue that is to be replaced.
pub struct QueuedAt<'a> {
    /// The host that sends into the queue.
    pub at: &'a str,
    /// The host that the queue leads to.
    pub towards: &'a str,
    /// The link or shaper of the queue.
    pub stage: &'a Stage,
    /// The new queue.
    pub queue: &'a QueueConfig,
}

impl QueuedAt<'_> {
    /// Returns the rate that a shaper on Linux needs; `None` for a variable rate. A link whose queue is
    /// elsewhere would never build one up here.
    pub fn rate(&self) -> Option<Rate> {
        match self.stage {
            Stage::Link(link) => link.rate,
            Stage::Shaper(shaper) => Some(shaper.rate),
            _ => None,
        }
    }
}

/// Creates the change to another queueing discipline at a bottleneck.
pub fn queue_management(name: &str) -> Change {
    Change::new(ChangeKind::QueueManagement, ChangePlace::Limiter, "").named(name)
}

/// HTB bucket below which Linux' timers cannot keep the rate.
const MIN_HTB_BURST: Bytes = Bytes::new(15_000);

/// Returns commands for a queueing discipline at a link: below HTB at the link's rate or, if the rate is
/// unknown in advance, on the device itself. The latter works if the driver takes no more than the link
/// sends.
pub fn queue_commands(at: &QueuedAt<'_>, leaf: &str, needs: &str) -> CommandSet {
    let Some(rate) = at.rate() else {
        let needs =
            format!("{needs}; a driver with a short queue (byte queue limits), because the rate varies");
        return LinuxSetting::qdisc(leaf).at(at.at, &needs).towards(at.towards);
    };
    // Slightly below the link's rate, so that packets wait in this queue and not in the link's.
    let rate = if matches!(at.stage, Stage::Link(_)) { share(rate, SHAPED_SHARE) } else { rate };
    htb_over(rate, MIN_HTB_BURST, leaf).at(at.at, &format!("{needs} and sch_htb")).towards(at.towards)
}

/// Returns HTB at a rate with a queueing discipline below it.
pub fn htb_over(rate: Rate, burst: Bytes, leaf: &str) -> LinuxSetting {
    let (rate, burst) = (tc_rate(rate), burst.get());
    let class = format!("parent 1: classid 1:10 htb rate {rate} burst {burst} cburst {burst} quantum 1514");
    let below = vec![("class", class), ("qdisc", format!("parent 1:10 handle 10: {leaf}"))];
    LinuxSetting::Qdisc { device: None, from: None, to: "handle 1: htb default 10".into(), below }
}

/// Returns the commands for CAKE in systemd-networkd, a shaper with fair queues.
pub fn cake(at: &str, rate: Rate) -> CommandSet {
    networkd(
        at,
        "systemd 246; Linux 4.19 with sch_cake",
        &format!("[CAKE]\nParent=root\nBandwidth={}", networkd_rate(rate)),
    )
}

/// Returns a section of an interface's .network file.
pub fn networkd(at: &str, needs: &str, section: &str) -> CommandSet {
    let apply = lines(&format!("# the .network file of the interface\n{section}"));
    CommandSet::on(Platform::Networkd, at, needs, apply, lines("remove the section\nnetworkctl reload"))
}

/// Formats a rate for systemd.network (`Bandwidth=`, `Rate=`): bits per second, with K and M as powers of
/// 1000.
pub fn networkd_rate(rate: Rate) -> String {
    match rate.as_bps() {
        bps if bps % 1_000_000 == 0 => format!("{}M", bps / 1_000_000),
        bps if bps % 1000 == 0 => format!("{}K", bps / 1000),
        bps => bps.to_string(),
    }
}

/// Returns the commands for a shaper on Cisco routers. `average` follows `shape average` (rate, committed and
/// excess burst in bits), `fair` selects fair queueing, `packets` is the queue's limit, and `also` is added
/// to the requirements.
pub fn cisco_shapers(at: &str, average: &str, fair: bool, packets: u64, also: &str) -> [CommandSet; 2] {
    let fair = if fair { "\n  fair-queue" } else { "" };
    let apply = format!(
        "policy-map LONGFAT\n class class-default\n  shape average {average}{fair}\n  queue-limit {packets} packets\n\
         interface INTERFACE\n service-policy output LONGFAT"
    );
    let undo = "interface INTERFACE\n no service-policy output LONGFAT\nno policy-map LONGFAT";
    // Versions since which `queue-limit` counts packets.
    [(Platform::CiscoIos, "IOS 12.4(20)T"), (Platform::CiscoIosXe, "IOS-XE 2.1")].map(|(platform, needs)| {
        CommandSet::on(platform, at, &format!("{needs}{also}"), lines(&apply), lines(undo))
    })
}

/// Returns the number of 1500-byte packets that a rate sends in this time.
pub fn packets_for(rate: Rate, time: Span) -> u64 {
    rate.bytes_in(time).get() / 1500
}
