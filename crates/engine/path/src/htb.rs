//! Hierarchical token bucket (Linux `sch_htb`): a tree of classes, each with a guaranteed `rate` and a `ceil`
//! up to which it may borrow spare tokens of its ancestors.
//!
//! Classes with tokens of their own are served first (level 0), then those that borrow, in the order of the
//! lending ancestor's distance from the root, the farthest first; within a level by `prio`, then by deficit
//! round robin with `quantum`. Levels of lenders count from the root (Linux: a root is level 7, its inner
//! children 6 …), so that leaves of different depth borrow from one ancestor as equals. As in Linux a class
//! may send while it has any tokens, so its tokens may fall below zero by one packet. Packets leave at the
//! exact nanosecond; a link behind the element spaces them.
//!
//! | where | here | Linux |
//! |---|---|---|
//! | round robin of borrowers | among all leaves of the tree | among the children of each inner class |
//! | tokens | bits * 10^-9, exact | ns of the class's rate |
//! | a packet that matches no class | passes at once (the "direct" queue) | the same |

use crate::bucket::BYTE;
use crate::config::{Config, DisplayNames, StageLimit, rate_above_zero};
use crate::problem::Problem;
use crate::queue::{Queue, QueueConfig};
use crate::{Account, Body, Element, Gauge, Outbox, Packet};
use serde::{Deserialize, Serialize};
use units::{Bytes, Choices, Label, Rate, Span, Time, earliest};

/// A class of the tree. Classes without children are leaves and have a queue; a packet goes to the first leaf
/// in the list all of whose conditions (`flows`, `dscp`, `tunnel`) it meets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name, for `parent`.
    pub name: String,
    /// Name of the parent, which must precede this class in the list. Default: none, the class is a root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Guaranteed rate, bits per second.
    pub rate: Rate,
    /// Rate up to which the class may borrow, bits per second. Default: `rate` (no borrowing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceil: Option<Rate>,
    /// Bucket of `rate`, bytes. Default 1600 (tc: the MTU).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// Bucket of `ceil`, bytes. Default 1600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cburst: Option<Bytes>,
    /// Leaves: priority 0 to 7; lower numbers are served first. Default 0.
    #[serde(default)]
    pub prio: u8,
    /// Leaves: bytes per turn among leaves of equal priority. Default: rate / 80 bytes (tc: r2q 10), 1000 to
    /// 200000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u32>,
    /// Leaves: numbers of the flows that match. Default: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<u32>,
    /// Leaves: codepoints that match. Default: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
    /// Leaves: match only packets in a tunnel (true) or only others (false). Default: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<bool>,
    /// Leaves: the queue. Default: FIFO of 1000 packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueConfig>,
}

impl Class {
    /// A root that does not borrow, with Linux's smallest buckets and a queue of 1000 packets, for any
    /// packet.
    pub fn new(name: impl Into<String>, rate: Rate) -> Class {
        Class {
            name: name.into(),
            parent: None,
            rate,
            ceil: None,
            burst: None,
            cburst: None,
            prio: 0,
            quantum: None,
            flows: Vec::new(),
            dscp: Vec::new(),
            tunnel: None,
            queue: None,
        }
    }

    fn draw(name: &str, parent: Option<&str>, choices: &mut Choices) -> Class {
        let rate = choices.rate();
        Class {
            parent: parent.map(Into::into),
            ceil: choices.maybe(|_| Rate::from_bps(2_000_000_000)),
            burst: choices.maybe(Choices::bytes),
            cburst: choices.maybe(Choices::bytes),
            prio: choices.below(3) as u8,
            ..Class::new(name, rate)
        }
    }
}

/// Hierarchical token bucket: a tree of shapers that borrow from each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Htb {
    /// The classes; parents precede their children.
    pub classes: Vec<Class>,
}

/// Linux TC_HTB_MAXDEPTH.
const MAX_DEPTH: usize = 8;

impl Htb {
    fn parent(&self, i: usize) -> Option<usize> {
        let name = self.classes[i].parent.as_ref()?;
        self.classes[..i].iter().position(|c| c.name == *name)
    }

    fn check_class(&self, i: usize) -> Result<(), Problem> {
        let class = &self.classes[i];
        rate_above_zero("rate", Some(class.rate))?;
        if self.classes[..i].iter().any(|c| c.name == class.name) {
            return Err(Problem::new("name", format!("duplicate class `{}`", class.name)));
        }
        if let Some(parent) = &class.parent
            && self.parent(i).is_none()
        {
            let message = format!("no class `{parent}` precedes this one");
            return Err(Problem::new("parent", message));
        }
        if class.ceil.is_some_and(|ceil| ceil < class.rate) {
            return Err(Problem::new("ceil", "must not be below `rate`"));
        }
        for (key, burst) in [("burst", class.burst), ("cburst", class.cburst)] {
            if burst == Some(Bytes::new(0)) {
                return Err(Problem::new(key, "must be above zero (for example \"1600B\")"));
            }
        }
        if class.prio > 7 {
            return Err(Problem::new("prio", "must be a number from 0 to 7"));
        }
        if class.quantum.is_some_and(|q| q < 256) {
            return Err(Problem::new("quantum", "must be at least 256 bytes"));
        }
        let leaf = !self.classes.iter().any(|c| c.parent.as_deref() == Some(&class.name));
        let only_leaves = [
            ("queue", class.queue.is_some()),
            ("flows", !class.flows.is_empty()),
            ("dscp", !class.dscp.is_empty()),
            ("tunnel", class.tunnel.is_some()),
        ];
        if let Some((key, _)) = only_leaves.iter().find(|(_, given)| !leaf && *given) {
            return Err(Problem::new(*key, "applies only to leaves; this class has children"));
        }
        let queue = class.queue.as_ref().map_or(Ok(()), QueueConfig::check);
        queue.map_err(|p| p.within("queue"))
    }
}

impl Config for Htb {
    const DISPLAY_NAMES: DisplayNames = DisplayNames {
        label: Label::new("htb", "分层令牌桶 htb"),
        one: Label::new("a tree of shapers", "分层令牌桶 (HTB)"),
        dropper: Label::new("the shapers' queues", "流量整形队列"),
    };

    fn check(&self) -> Result<(), Problem> {
        if self.classes.is_empty() {
            return Err(Problem::new("classes", "at least one class is required"));
        }
        for i in 0..self.classes.len() {
            self.check_class(i).map_err(|p| p.within(&format!("classes[{i}]")))?;
            let depth = std::iter::successors(Some(i), |&c| self.parent(c)).count();
            if depth > MAX_DEPTH {
                return Err(Problem::new("classes", "the tree is deeper than 8 (Linux's limit)"));
            }
        }
        Ok(())
    }

    fn build<B: Body + Send + 'static>(&self, seed: u64, name: &str) -> Box<dyn Element<B>> {
        let mut classes: Vec<HtbClass> = self.classes.iter().map(HtbClass::new).collect();
        let mut leaves = Vec::new();
        for (i, config) in self.classes.iter().enumerate() {
            classes[i].parent = self.parent(i);
            if !self.classes.iter().any(|c| c.parent.as_deref() == Some(&config.name)) {
                let path = std::iter::successors(Some(i), |&c| self.parent(c)).collect();
                let queue = config.queue.clone().unwrap_or_default();
                let quantum = (config.rate.as_bps() / 80).clamp(1000, 200_000) as u32;
                leaves.push(Leaf {
                    config: config.clone(),
                    path,
                    quantum: config.quantum.unwrap_or(quantum) as i64,
                    deficit: vec![0; MAX_DEPTH],
                    queue: queue.build(seed, &format!("{name}.{}", config.name)),
                });
            }
        }
        Box::new(HtbElement {
            classes,
            leaves,
            turns: vec![0; MAX_DEPTH * 8],
            clock: Time::ZERO,
            wake: None,
            account: Account::default(),
        })
    }

    fn draw(choices: &mut Choices) -> Htb {
        let mut classes =
            vec![Class::draw("port", None, choices), Class::draw("inner", Some("port"), choices)];
        for (i, parent) in ["port", "inner", "inner"].into_iter().enumerate() {
            let mut leaf = Class::draw(&format!("leaf{i}"), Some(parent), choices);
            leaf.queue = choices.maybe(QueueConfig::draw);
            match choices.below(4) {
                0 => leaf.flows = vec![i as u32, 3],
                1 => leaf.dscp = vec![10],
                2 => leaf.tunnel = Some(choices.coin()),
                _ => {}
            }
            classes.push(leaf);
        }
        Htb { classes }
    }

    fn limit(&self) -> StageLimit {
        let mut roots = self.classes.iter().filter(|c| c.parent.is_none());
        match (roots.next(), roots.next()) {
            (Some(root), None) => StageLimit::Shared(root.ceil.unwrap_or(root.rate)),
            _ => StageLimit::None,
        }
    }
}

/// Maximum debt of an ancestor that is charged for packets its children send anyway: 60 s of its rate (Linux
/// `mbuffer`).
const MAX_DEBT_NS: i128 = 60_000_000_000;

/// A bucket whose tokens may be negative.
struct DebtBucket {
    rate: u64,
    burst: i128,
    /// The most negative value of `tokens`.
    least: i128,
    tokens: i128,
    at: Time,
    /// When the tokens are no longer negative.
    ready: Time,
}

impl DebtBucket {
    fn new(rate: Rate, burst: Option<Bytes>) -> DebtBucket {
        let burst = (burst.map_or(1600, Bytes::get) as u128 * BYTE) as i128;
        let rate = rate.as_bps();
        let least = -(rate as i128).saturating_mul(MAX_DEBT_NS);
        DebtBucket { rate, burst, least, tokens: burst, at: Time::ZERO, ready: Time::ZERO }
    }

    /// The tokens at `now`, which is not before the last call of `take`.
    #[inline]
    fn tokens(&self, now: Time) -> i128 {
        let grown = self.rate as u128 * now.since(self.at).as_nanos() as u128;
        self.tokens.saturating_add(i128::try_from(grown).unwrap_or(i128::MAX)).min(self.burst)
    }

    fn take(&mut self, now: Time, size: u32) {
        self.tokens = (self.tokens(now) - (size as u128 * BYTE) as i128).max(self.least);
        self.at = self.at.max(now);
        self.ready = self.at;
        if self.tokens < 0 {
            let debt = self.tokens.unsigned_abs();
            let wait = match u64::try_from(debt) {
                Ok(small) => small.div_ceil(self.rate),
                Err(_) => u64::try_from(debt.div_ceil(self.rate as u128)).unwrap_or(u64::MAX),
            };
            self.ready += Span::from_nanos(wait);
        }
    }
}

struct HtbClass {
    parent: Option<usize>,
    own: DebtBucket,
    ceil: DebtBucket,
}

impl HtbClass {
    fn new(class: &Class) -> HtbClass {
        HtbClass {
            parent: None,
            own: DebtBucket::new(class.rate, class.burst),
            ceil: DebtBucket::new(class.ceil.unwrap_or(class.rate), class.cburst),
        }
    }
}

struct Leaf<B> {
    config: Class,
    /// Indexes of this class, its parent and so on up to the root.
    path: Vec<usize>,
    quantum: i64,
    /// Deficits by level, as in Linux.
    deficit: Vec<i64>,
    queue: Box<dyn Queue<B>>,
}

impl<B> Leaf<B> {
    fn matches(&self, packet: &Packet<B>) -> bool {
        let c = &self.config;
        (c.flows.is_empty() || c.flows.contains(&packet.flow))
            && (c.dscp.is_empty() || c.dscp.contains(&packet.dscp))
            && c.tunnel.is_none_or(|tunnel| tunnel == (packet.overhead > 0))
    }
}

struct HtbElement<B> {
    classes: Vec<HtbClass>,
    leaves: Vec<Leaf<B>>,
    /// The next leaf of the round robin, by level and priority.
    turns: Vec<usize>,
    /// The time up to which packets have been served.
    clock: Time,
    /// When a backlogged leaf may next send; sooner if a queue has dropped its last packet since.
    wake: Option<Time>,
    account: Account,
}

impl<B> HtbElement<B> {
    /// When leaf `i` may send, for each ancestor it may borrow from: when none of the ceilings up to that
    /// ancestor is in debt and the ancestor has tokens of its own.
    fn send_times(&self, i: usize) -> impl Iterator<Item = Time> + '_ {
        self.leaves[i].path.iter().scan(self.clock, |ceilings, &class| {
            let class = &self.classes[class];
            *ceilings = (*ceilings).max(class.ceil.ready);
            Some((*ceilings).max(class.own.ready))
        })
    }

    fn next_service(&self) -> Option<Time> {
        let waiting = (0..self.leaves.len()).filter(|&i| self.leaves[i].queue.load().packets > 0);
        waiting.fold(None, |soonest, i| earliest(soonest, self.send_times(i).min()))
    }

    /// Linux `cl->level` of the lender `depth` levels above leaf `i`; 0 for the leaf itself.
    fn level(&self, i: usize, depth: usize) -> usize {
        if depth == 0 { 0 } else { MAX_DEPTH - (self.leaves[i].path.len() - depth) }
    }

    /// The leaf to serve at `now`, and how many levels above it the lender is.
    fn choose(&self, now: Time) -> Option<(usize, usize)> {
        let n = self.leaves.len();
        let candidates = (0..n).filter(|&i| self.leaves[i].queue.load().packets > 0);
        let best = candidates.filter_map(|i| {
            let depth = self.send_times(i).position(|t| t <= now)?;
            let level = self.level(i, depth);
            let prio = self.leaves[i].config.prio as usize;
            let turn = self.turns[level * 8 + prio];
            Some((level, prio, (i + n - turn) % n, i, depth))
        });
        best.min().map(|(_, _, _, i, depth)| (i, depth))
    }

    /// Linux `htb_charge_class`: charges ceilings up to the root, and own tokens from the lender up.
    fn charge(&mut self, leaf: usize, lender: usize, now: Time, size: u32) {
        for (depth, &class) in self.leaves[leaf].path.iter().enumerate() {
            let class = &mut self.classes[class];
            class.ceil.take(now, size);
            if depth >= lender {
                class.own.take(now, size);
            }
        }
    }

    fn end_turn(&mut self, i: usize, level: usize, size: u32) {
        let n = self.leaves.len();
        let leaf = &mut self.leaves[i];
        leaf.deficit[level] -= size as i64;
        let turn = level * 8 + leaf.config.prio as usize;
        self.turns[turn] = i;
        if leaf.deficit[level] < 0 {
            leaf.deficit[level] += leaf.quantum;
            self.turns[turn] = (i + 1) % n;
        }
    }

    fn catch_up(&mut self, now: Time, out: &mut Outbox<B>) {
        while let Some(at) = self.wake.filter(|&at| at <= now) {
            self.clock = self.clock.max(at);
            // A leaf whose queue dropped its last packet has nothing to send, and another leaf may be due later.
            if let Some((i, lender)) = self.choose(self.clock)
                && let Some((since, packet)) =
                    self.leaves[i].queue.dequeue(self.clock, &mut self.account, out)
            {
                self.charge(i, lender, self.clock, packet.size);
                self.end_turn(i, self.level(i, lender), packet.size);
                self.account.send(out, since, self.clock, packet);
            }
            self.wake = self.next_service();
        }
        self.clock = self.clock.max(now);
    }
}

impl<B: Send> Element<B> for HtbElement<B> {
    fn handle_packet(&mut self, now: Time, packet: Box<Packet<B>>, out: &mut Outbox<B>) {
        self.catch_up(now, out);
        self.account.enter();
        let Some(leaf) = self.leaves.iter_mut().find(|leaf| leaf.matches(&packet)) else {
            return self.account.send(out, now, now, packet);
        };
        let none = crate::queue::QueueLoad::default();
        // Another packet of a waiting leaf changes nothing about when the first one may leave.
        let is_waiting = leaf.queue.load().packets > 0;
        leaf.queue.enqueue(now, packet, none, &mut self.account, out);
        if !is_waiting {
            self.wake = self.next_service();
            self.catch_up(now, out);
        }
        self.account.max_queue = self.account.max_queue.max(self.account.held);
    }

    fn handle_wake(&mut self, now: Time, out: &mut Outbox<B>) {
        self.catch_up(now, out);
    }

    fn next_wake(&self) -> Option<Time> {
        self.wake
    }

    fn account(&self) -> Account {
        self.account
    }

    fn gauge(&self, now: Time) -> Gauge {
        let root = self.classes.first().map(|class| {
            let tokens = class.own.tokens(now).max(0);
            (tokens as u128 / BYTE) as u64
        });
        Gauge {
            queue_packets: self.account.held,
            queue_bytes: self.leaves.iter().map(|leaf| leaf.queue.load().bytes).sum(),
            tokens_bytes: root,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue;

    fn class(name: &str, parent: Option<&str>, kbit: u64, ceil: u64, flows: &[u32]) -> Class {
        Class {
            parent: parent.map(Into::into),
            ceil: Some(Rate::from_bps(ceil * 1000)),
            quantum: Some(1500),
            flows: flows.to_vec(),
            ..Class::new(name, Rate::from_bps(kbit * 1000))
        }
    }

    fn packet(id: u64, flow: u32, size: u32) -> Box<Packet<()>> {
        Box::new(Packet { id, ..*queue::tests::packet(flow, size) })
    }

    /// Kilobits per second of each flow over one second, with all flows backlogged.
    fn served(classes: Vec<Class>, flows: u32) -> Vec<u64> {
        let mut element = Htb { classes }.build::<()>(1, "htb");
        let mut out = Outbox::default();
        for i in 0..900 {
            for flow in 0..flows {
                let packet = packet(u64::from(i * flows + flow), flow, 1500);
                element.handle_packet(Time::ZERO, packet, &mut out);
            }
        }
        element.handle_wake(Time::from_nanos(1_000_000_000), &mut out);
        let kbit_of = |flow| out.sent.iter().filter(|(_, p)| p.flow == flow).count() as u64 * 12;
        (0..flows).map(kbit_of).collect()
    }

    /// Each leaf has 1 of 9 Mbit/s guaranteed; the inner class lends 2 more to its leaf, the root lends 5 to
    /// both in turn.
    #[test]
    fn leaves_of_unequal_depth_borrow_from_the_root_as_equals() {
        let got = served(
            vec![
                class("root", None, 9000, 9000, &[]),
                class("inner", Some("root"), 3000, 9000, &[]),
                class("deep", Some("inner"), 1000, 9000, &[0]),
                class("flat", Some("root"), 1000, 9000, &[1]),
            ],
            2,
        );
        let near = |got: u64, want: u64| got.abs_diff(want) <= want / 20;
        assert!(near(got[0], 5500) && near(got[1], 3500), "{got:?}");
    }

    /// A big packet empties the queue of leaf `a`, whose turn would have come first; nothing wakes the element
    /// until leaf `b` is overdue.
    #[test]
    fn a_queue_that_drops_all_its_packets_delays_no_other_leaf() {
        let one_packet = serde_json::json!({ "kind": "fq-codel", "packets": 1 });
        let a = Class {
            queue: Some(serde_json::from_value(one_packet).expect("a queue")),
            ..class("a", Some("root"), 120, 120, &[0])
        };
        let root = class("root", None, 10_000, 10_000, &[]);
        let b = class("b", Some("root"), 12, 12, &[1]);
        let mut element = Htb { classes: vec![root, a, b] }.build::<()>(1, "htb");
        let mut out = Outbox::default();
        for (id, (flow, size)) in
            [(0, 1600), (0, 1500), (1, 1600), (1, 1500), (0, 1500), (1, 1500), (0, 9000)]
                .into_iter()
                .enumerate()
        {
            element.handle_packet(Time::ZERO, packet(id as u64, flow, size), &mut out);
        }
        assert_eq!(out.dropped.len(), 2, "leaf a keeps packets");
        element.handle_wake(Time::from_nanos(5_000_000_000), &mut out);
        let last = out.sent.last().map(|(at, p)| (at.as_nanos(), p.id));
        assert_eq!(last, Some((1_000_000_000, 5)));
    }

    #[test]
    fn guaranteed_rates_and_ceilings_are_kept() {
        let got = served(
            vec![
                class("root", None, 6000, 6000, &[]),
                class("a", Some("root"), 1000, 2000, &[0]),
                class("b", Some("root"), 3000, 6000, &[1]),
            ],
            2,
        );
        let near = |got: u64, want: u64| got.abs_diff(want) <= want / 20;
        assert!(near(got[0], 2000) && near(got[1], 4000), "{got:?}");
    }
}
