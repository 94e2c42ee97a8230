//! Puts the clauses of a story into words.

use super::change::Change;
use super::change_words::{changed, how};
use super::clause::{Better, Clause, Effect, Part};
use super::phrases::{capital, cc_name, joined, placed, quoted, spaced, times, value};
use super::{MAX_LISTED, NOTICED_SHARE, Story};
use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, fill, text};
use crate::width::{clip, printable};
use result::{Carried, Limitation, LimitationKind, Measure, Quantity, Subject, TriedSuspect};

/// Facts below the headline.
const MAX_FACTS: usize = 4;
/// Gains that one fact names.
const MAX_GAINS: usize = 3;
/// A change with more words than this is not in the headline but a fact of its own.
const MAX_HEADLINE_WORDS: usize = 9;

impl Story {
    /// The fault and the remedy in one sentence. Empty if there are no flows.
    pub fn headline(&self, lang: Lang) -> String {
        let Some(opening) = self.clauses.first() else { return String::new() };
        let mut text = capital(&opening.say(lang));
        if let Some(Clause::Unfinished { .. }) = self.clauses.get(1) {
            text += mark("story.comma", lang);
            text += &self.clauses[1].say(lang);
        }
        let is_goodput = matches!(opening, Clause::Carries { .. } | Clause::CarriesByPath { .. });
        let because = |[held, caused]: [&str; 2], what: String| {
            fill(if is_goodput { held } else { caused }, lang, &[("what", &what)])
        };
        text += &match self.cause() {
            Some(Clause::Held { limitation, .. }) => {
                because(["story.held", "story.caused"], limitation_name(limitation, lang))
            }
            Some(Clause::Perhaps { suspect }) => {
                because(["story.perhaps.held", "story.perhaps.caused"], suspect_name(suspect, lang))
            }
            _ => String::new(),
        };
        if let Some(remedy) = self.remedy() {
            text += mark("story.semicolon", lang);
            let by_path = matches!(opening, Clause::CarriesByPath { .. });
            text += &remedy.advice(lang);
            // The comparison is of the sum over the paths, and says so.
            if let (true, Clause::Better(b)) = (by_path, remedy)
                && b.effect.measure.quantity == Quantity::Goodput
            {
                text += mark("story.in-total", lang);
            }
        }
        for idle in self.clauses.iter().filter(|c| matches!(c, Clause::Idle { .. })) {
            text += mark("story.semicolon", lang);
            text += &idle.say(lang);
        }
        text += mark("story.end", lang);
        if lang == Lang::Zh { spaced(&text) } else { text }
    }

    /// The numbers behind the headline and the cost of its advice: the most important facts, a sentence each,
    /// in the order of the clauses.
    pub fn facts(&self, lang: Lang) -> Vec<String> {
        let mut all: Vec<(u8, String)> = Vec::new();
        let remedy = self.remedy().map(std::ptr::from_ref);
        let has_table = self.goals.len() > 1 && !self.alone;
        for clause in self.clauses.iter().skip(1) {
            let is_in_table =
                has_table && clause.goal().is_some() && clause.goal() != self.goals.first().map(|g| g.goal);
            if is_in_table || matches!(clause, Clause::Unfinished { .. }) {
                continue;
            }
            let is_advised = remedy == Some(std::ptr::from_ref(clause));
            all.extend(clause.facts(is_advised, lang));
        }
        let mut ranks: Vec<u8> = all.iter().map(|f| f.0).collect();
        ranks.sort_unstable();
        let last = ranks.get(MAX_FACTS - 1).copied().unwrap_or(u8::MAX);
        let kept = all.into_iter().filter(|f| f.0 <= last).map(|f| f.1).take(MAX_FACTS);
        kept.map(|text| sentence(&text, lang)).collect()
    }

    /// Headline and facts as one text.
    pub fn text(&self, lang: Lang) -> String {
        let space = if lang == Lang::Zh { "" } else { " " };
        [self.headline(lang)].into_iter().chain(self.facts(lang)).collect::<Vec<_>>().join(space)
    }

    /// Each clause in words, in order.
    pub fn sentences(&self, lang: Lang) -> Vec<String> {
        self.clauses.iter().map(|c| c.say(lang)).collect()
    }

    /// The main limit of the baseline; for flows measured one at a time, that of the first one.
    fn cause(&self) -> Option<&Clause> {
        // With several paths, each part names its own limit.
        let has_limitation = |c: &&Clause| match c {
            Clause::CarriesByPath { parts, .. } => parts.iter().any(|p| p.limitation.is_some()),
            _ => false,
        };
        if self.clauses.first().is_some_and(|c| has_limitation(&c)) {
            return None;
        }
        let own = self.clauses.iter().skip(1).take_while(|c| !c.opens());
        own.into_iter().find(|c| matches!(c, Clause::Held { most: true, .. } | Clause::Perhaps { .. }))
    }

    /// The advice by the first goal: the best variant, or one that is nearly as good and costs less.
    fn remedy(&self) -> Option<&Clause> {
        let own = || self.clauses.iter().skip(1).take_while(|c| !c.opens());
        let first = own().find_map(Clause::goal)?;
        let mut list = own().filter(|c| c.goal() == Some(first));
        let best = list.next()?;
        let gentle = list.next().filter(|c| match (best, c) {
            (Clause::Better(a), Clause::Better(b)) => {
                !super::measure::is_ahead(&a.effect.measure, b.effect.is, a.effect.is)
            }
            _ => false,
        });
        Some(gentle.unwrap_or(best))
    }
}

/// Adds a capital letter and a full stop.
fn sentence(text: &str, lang: Lang) -> String {
    let text = capital(text) + mark("story.end", lang);
    if lang == Lang::Zh { spaced(&text) } else { text }
}

/// The punctuation between clauses.
fn mark(key: &str, lang: Lang) -> &'static str {
    text(key, lang)
}

/// The name of a goal.
pub(super) fn name(goal: units::Goal, lang: Lang) -> &'static str {
    match lang {
        Lang::En => goal.label().en,
        Lang::Zh => goal.label().zh,
    }
}

impl Clause {
    /// The goal of a clause on remedies.
    pub fn goal(&self) -> Option<units::Goal> {
        match self {
            Clause::Better(b) | Clause::AsGood(b) | Clause::Leads(b) => Some(b.goal),
            Clause::Best { goal, .. } | Clause::Open { goal, .. } => Some(*goal),
            _ => None,
        }
    }

    /// Whether the clause opens the statements on a subject.
    fn opens(&self) -> bool {
        use Clause::*;
        matches!(self, Nothing { .. } | Carries { .. } | CarriesByPath { .. } | Has { .. })
    }

    /// The clause as advice in the headline: the goal, what does better, and by how much.
    fn advice(&self, lang: Lang) -> String {
        let goal = self.goal().map(|g| text(purpose(g), lang)).unwrap_or_default();
        let advice = match self {
            Clause::Better(b) => goal_words(&b.effect, &how_short(b, lang), lang),
            Clause::AsGood(b) => {
                let (how, what) = (how_short(b, lang), text(same(&b.effect.measure), lang));
                let same = fill("story.better.same", lang, &[("how", &how), ("what", what)]);
                let first = &b.gains[..b.gains.len().min(1)];
                same + &fill("story.gains", lang, &[("gains", &listed(first, lang))])
            }
            // The words name the goal themselves.
            Clause::Best { .. } => return self.worded(lang),
            other => other.worded(lang),
        };
        format!("{goal}{advice}")
    }

    /// The clause's facts with their ranks; lower ranks are more important. `is_advised`: the headline has
    /// the clause.
    fn facts(&self, is_advised: bool, lang: Lang) -> Vec<(u8, String)> {
        let name = |b: &Better| quoted(&b.variant);
        let one = |rank| vec![(rank, self.say(lang))];
        match self {
            // A variant that the headline does not name.
            Clause::Better(b) | Clause::AsGood(b) if !is_advised => {
                vec![(3, with_costs(self.advice(lang), b, lang))]
            }
            Clause::Better(b) | Clause::AsGood(b) => {
                let mut list = Vec::new();
                let is_in_headline = how_short(b, lang) == how(&b.changes, &b.variant, lang);
                if let Some(change) = changed(&b.changes, lang).filter(|_| !is_in_headline) {
                    let places = [("name", &*name(b)), ("change", &change)];
                    list.push((2, fill("story.fact.change", lang, &places)));
                }
                // The headline has the first gain of a variant that is as good.
                let first = usize::from(matches!(self, Clause::AsGood(_))).min(b.gains.len());
                let gains = &b.gains[first..b.gains.len().min(first + MAX_GAINS)];
                if !gains.is_empty() {
                    let gains = listed(gains, lang);
                    list.push((4, fill("story.fact.gains", lang, &[("name", &name(b)), ("gains", &gains)])));
                }
                if !b.costs.is_empty() {
                    let costs = listed(&b.costs, lang);
                    list.push((1, fill("story.fact.costs", lang, &[("name", &name(b)), ("costs", &costs)])));
                }
                list
            }
            Clause::Idle { .. } => Vec::new(),
            Clause::Best { .. } if is_advised => Vec::new(),
            Clause::Best { .. } => vec![(6, self.advice(lang))],
            opening if opening.opens() => one(0),
            Clause::Unexplained { .. } => one(1),
            Clause::Starved { .. } | Clause::BlackHole { .. } | Clause::Extremes { .. } => one(0),
            // That twice the rate carries more is obvious.
            Clause::Held { limitation, most: true, .. } if is_rate_of_goodput(limitation) => Vec::new(),
            Clause::Held { most: true, .. } | Clause::Perhaps { .. } | Clause::NoSuspectHelps { .. } => {
                one(1)
            }
            Clause::ClocksGoodput { .. } | Clause::ClocksCount { .. } => one(1),
            Clause::Open { .. } | Clause::Held { .. } | Clause::Leads(_) => one(3),
            Clause::Same { .. } | Clause::Queued { .. } | Clause::Unfair { .. } => one(4),
            _ => one(5),
        }
    }

    /// The clause in words.
    pub fn say(&self, lang: Lang) -> String {
        let text = self.worded(lang);
        if lang == Lang::Zh { spaced(&text) } else { text }
    }

    fn worded(&self, lang: Lang) -> String {
        let fill = |key, values: &[(&str, &str)]| fill(key, lang, values);
        match self {
            Clause::Nothing { variant } => fill("story.nothing", &[("name", &quoted(variant))]),
            Clause::Idle { variants } => {
                let names = first_of(variants.iter().map(|name| quoted(name)), lang);
                fill("story.nothing", &[("name", &names)])
            }
            Clause::Carries { variant, tcp, udp, limit, varies } => {
                let share = limit.map(|limit| share([*tcp, *udp], limit, *varies, lang));
                carries(variant, *tcp, *udp, lang) + &share.unwrap_or_default()
            }
            Clause::CarriesByPath { variant, parts } => {
                let list = first_of(parts.iter().map(|p| part(p, lang)), lang);
                fill("story.carries.apart", &[("name", &quoted(variant)), ("list", &list)])
            }
            Clause::Unexplained { too_large } => {
                text(if *too_large { "story.unexplained.large" } else { "story.unexplained" }, lang).into()
            }
            Clause::Has { variant, measure, value: v } => {
                let what = fill(what(measure), &[("value", &value(measure, *v, lang))]);
                fill("story.has", &[("name", &quoted(variant)), ("what", &what)])
            }
            Clause::Unfinished { unfinished, all } => {
                fill("story.unfinished", &[("n", &count(*unfinished)), ("all", &count(*all))])
            }
            Clause::Starved { flow, more, mbps, seconds, most } => {
                starved(flow, *more, *mbps, *seconds, most, lang)
            }
            Clause::Extremes { flows, goal } => {
                fill("story.extremes", &[("n", &flows.to_string()), ("goal", name(*goal, lang))])
            }
            Clause::Dropped { element, kind, dropped, came } => {
                let what = placed("dropper", kind, element, lang);
                let share = percent(*dropped as f64 / *came as f64);
                fill("story.dropped", &[("what", &what), ("share", &share)])
            }
            Clause::BlackHole { element, kind, size_bytes, mtu_bytes } => {
                let (size, mtu) = (size_bytes.to_string(), mtu_bytes.to_string());
                let places = [("what", placed("one", kind, element, lang)), ("size", size), ("mtu", mtu)];
                fill("story.black-hole", &places.each_ref().map(|(k, v)| (*k, v.as_str())))
            }
            Clause::CutSegments { mtu_bytes, mss_bytes } => fill(
                "story.cut-segments",
                &[("mtu", &mtu_bytes.to_string()), ("mss", &mss_bytes.to_string())],
            ),
            Clause::Fragmented { element, kind, cut, came, fragments } => {
                let each = (*fragments as f64 / *cut as f64).round().to_string();
                let what = placed("dropper", kind, element, lang);
                let share = percent(*cut as f64 / *came as f64);
                fill("story.fragments", &[("what", &what), ("share", &share), ("n", &each)])
            }
            Clause::Lost { share } => fill("story.lost", &[("share", &percent(*share / 100.0))]),
            Clause::Held { limitation, of_part, .. } => held(limitation, *of_part, lang),
            Clause::Perhaps { suspect } => {
                let gain = times(suspect.gain.unwrap_or(1.0));
                fill("story.perhaps", &[("what", &suspect_name(suspect, lang)), ("gain", &gain)])
            }
            Clause::NoSuspectHelps { tried } => {
                let key = if *tried == 1 { "story.unheld.one" } else { "story.unheld" };
                fill(key, &[("n", &tried.to_string())])
            }
            Clause::Leads(b) => leads(b, lang),
            Clause::Open { measure, was, variants, repeats, .. } => {
                open(measure, *was, variants, *repeats, lang)
            }
            Clause::Same { baseline, variants, changes } => unchanged(baseline, variants, changes, lang),
            Clause::OtherFlows { variant, effect: e } => {
                fill("story.other-flows", &[("name", &quoted(variant)), ("effect", &effect(e, lang))])
            }
            Clause::Waited { cc, share } => spent("story.waited", cc, *share, lang),
            Clause::Repaired { cc, share } => spent("story.recovered", cc, *share, lang),
            Clause::Queued { min_delay_ms, p95_ms, element, kind, packets } => fill(
                if *packets == 1 { "story.queued.one" } else { "story.queued" },
                &[
                    ("least", &millis(*min_delay_ms)),
                    ("p95", &millis(*p95_ms)),
                    ("kind", &placed("dropper", kind, element, lang)),
                    ("packets", &count(*packets)),
                ],
            ),
            Clause::Unfair { most, least } => fill(
                "story.unfair",
                &[
                    ("most", &quoted(&most.0)),
                    ("much", &short(most.1)),
                    ("least", &quoted(&least.0)),
                    ("little", &short(least.1)),
                ],
            ),
            Clause::Clean => text("story.clean", lang).into(),
            Clause::Better(_) | Clause::AsGood(_) => {
                let facts = self.facts(true, lang).into_iter().map(|f| f.1);
                [self.advice(lang)]
                    .into_iter()
                    .chain(facts)
                    .collect::<Vec<_>>()
                    .join(text("story.semicolon", lang))
            }
            Clause::Best { goal, others, all } => {
                let key = match (*all, *others) {
                    (true, 1) => "story.best.one",
                    (true, _) => "story.best",
                    (false, 1) => "story.best.comparable.one",
                    (false, _) => "story.best.comparable",
                };
                fill(key, &[("n", &others.to_string()), ("better", text(better(*goal), lang))])
            }
            Clause::ClocksGoodput { variant, flow, first, second } => fill(
                "story.clocks",
                &[
                    ("flow", &quoted(flow)),
                    ("name", &quoted(variant)),
                    ("first", &short(*first)),
                    ("second", &short(*second)),
                ],
            ),
            Clause::ClocksCount { variant, resent, first, second } => fill(
                if *resent { "story.clocks.resent" } else { "story.clocks.dropped" },
                &[("name", &quoted(variant)), ("first", &count(*first)), ("second", &count(*second))],
            ),
        }
    }
}

/// Flows that carried nothing, or next to nothing.
fn starved(
    flow: &str,
    more: usize,
    mbps: f64,
    seconds: Option<f64>,
    most: &(String, f64),
    lang: Lang,
) -> String {
    let key = match (seconds, more) {
        (Some(_), 0) => "story.starved.nothing",
        (Some(_), _) => "story.starved.nothing.many",
        (None, 0) => "story.starved.little",
        (None, _) => "story.starved.little.many",
    };
    let (flow, first) = (quoted(flow), quoted(&most.0));
    let values = [
        ("flow", flow.as_str()),
        ("n", &more.to_string()),
        ("seconds", &short(seconds.unwrap_or(0.0))),
        ("little", &short(mbps * 1e3)),
        ("most", &first),
        ("much", &short(most.1)),
    ];
    fill(key, lang, &values)
}

fn spent(key: &str, cc: &str, share: f64, lang: Lang) -> String {
    fill(key, lang, &[("cc", &cc_name(cc, lang)), ("share", &format!("{:.0}", share * 100.0))])
}

fn carries(variant: &str, tcp: Option<f64>, udp: Option<f64>, lang: Lang) -> String {
    let name = quoted(variant);
    let one = |key, x: f64| fill(key, lang, &[("name", &name), ("goodput", &short(x))]);
    match (tcp, udp) {
        (Some(tcp), Some(udp)) => {
            let places = [("name", name.as_str()), ("tcp", &short(tcp)), ("udp", &short(udp))];
            fill("story.carries.both", lang, &places)
        }
        (Some(tcp), None) => one("story.carries", tcp),
        (None, udp) => one("story.carries.udp", udp.unwrap_or(0.0)),
    }
}

/// The goodput of one of several paths: "18.9 Mbit/s by “up” (94.5 % of its limit)".
fn part(part: &Part, lang: Lang) -> String {
    let key = if part.datagrams { "story.part.udp" } else { "story.part" };
    let (flow, mbps) = (quoted(&part.flow), short(part.mbps));
    let mut said = fill(key, lang, &[("flow", &flow), ("mbps", &mbps)]);
    if part.more > 0 {
        said += &fill("story.part.more", lang, &[("n", &part.more.to_string())]);
    }
    let share = part.limit.map(|limit| percent(part.mbps / limit));
    let what = part.limitation.as_ref().map(|limitation| limitation_name(limitation, lang));
    said += &match (share, what) {
        (Some(share), Some(what)) => {
            fill("story.part.share.held", lang, &[("share", &share), ("what", &what)])
        }
        (Some(share), None) => fill("story.part.share", lang, &[("share", &share)]),
        (None, Some(what)) => fill("story.part.held", lang, &[("what", &what)]),
        (None, None) => String::new(),
    };
    said
}

/// The goodput as a share of the limit that all payload shared.
fn share(carried: [Option<f64>; 2], limit: f64, varies: bool, lang: Lang) -> String {
    let key = match (carried.iter().all(Option::is_some), varies) {
        (false, false) => "story.share",
        (true, false) => "story.share.both",
        (false, true) => "story.share.mean",
        (true, true) => "story.share.both.mean",
    };
    let sum: f64 = carried.into_iter().flatten().sum();
    fill(key, lang, &[("share", &percent(sum / limit))])
}

/// The key of "for goodput, ", which precedes advice by that goal.
fn purpose(goal: units::Goal) -> &'static str {
    match goal {
        units::Goal::Goodput => "story.for.goodput",
        units::Goal::Delay => "story.for.delay",
        units::Goal::Completion => "story.for.completion",
        units::Goal::Page => "story.for.page",
        units::Goal::Fairness => "story.for.fairness",
    }
}

/// The key of a better value of a goal, which no other variant has.
fn better(goal: units::Goal) -> &'static str {
    match goal {
        units::Goal::Goodput => "story.best.goodput",
        units::Goal::Delay => "story.best.delay",
        units::Goal::Completion => "story.best.completion",
        units::Goal::Page => "story.best.page",
        units::Goal::Fairness => "story.best.fairness",
    }
}

/// The key of a goal's value after "has".
fn what(measure: &Measure) -> &'static str {
    match measure.quantity {
        Quantity::Rtt => "story.what.rtt",
        Quantity::Delay => "story.what.one-way",
        Quantity::Probe => "story.what.probe",
        Quantity::Completion => "story.what.completion",
        Quantity::Response => "story.what.response",
        Quantity::Page => "story.what.page",
        Quantity::Jain => "story.what.jain",
        _ => "story.what.goodput",
    }
}

/// Whether the limit is a rate and the measure is goodput.
fn is_rate_of_goodput(limitation: &Limitation) -> bool {
    let measure = limitation.effects.first().and_then(|e| e.parsed_measure());
    limitation.kind == LimitationKind::Rate && measure.is_some_and(|m| m.quantity == Quantity::Goodput)
}

/// The limit of the flows, and its place: "random loss at wan.forward.noise".
fn limitation_name(limitation: &Limitation, lang: Lang) -> String {
    let name = place_name(limitation.kind, &limitation.place, lang);
    let acks = matches!(limitation.carries, Some(Carried::Acks));
    let name = if acks { fill("story.held.acks", lang, &[("what", &name)]) } else { name };
    and_more(name, limitation.also.len(), lang)
}

/// A possible limit of the flows, and its place.
fn suspect_name(suspect: &TriedSuspect, lang: Lang) -> String {
    and_more(place_name(suspect.kind, &suspect.place, lang), suspect.also.len(), lang)
}

fn place_name(kind: LimitationKind, place: &str, lang: Lang) -> String {
    let place = format!("\u{2068}{}\u{2069}", clip(&printable(place), 60));
    fill(&format!("limitation.{}", kind.name()), lang, &[("place", &place)])
}

fn and_more(name: String, more: usize, lang: Lang) -> String {
    if more == 0 { name } else { fill("story.held.also", lang, &[("what", &name), ("n", &more.to_string())]) }
}

/// The cost of a limit: the goal's value without it and with it; then how long it stopped a flow, or what it
/// dropped.
fn held(limitation: &Limitation, of_part: bool, lang: Lang) -> String {
    let what = limitation_name(limitation, lang);
    let Some(first) = limitation.effects.first() else { return what };
    let Some(measure) = first.parsed_measure() else { return what };
    let [with, without] = first.numbers().map(|x| value(&measure, x, lang));
    let mut label = label(&measure, lang);
    if let Some(flow) = limitation.flow.as_ref().filter(|_| of_part) {
        label = fill("story.held.of", lang, &[("label", &label), ("flow", &quoted(flow))]);
    }
    let how = text(&format!("limitation.{}.without", limitation.kind.name()), lang);
    let simulated = match limitation.simulated_s {
        Some(s) => fill("story.held.simulated.first", lang, &[("s", &short(s))]),
        None => text("story.held.simulated", lang).into(),
    };
    let places = [
        ("what", &*what),
        ("label", &label),
        ("without", &without),
        ("how", how),
        ("with", &with),
        ("simulated", &simulated),
    ];
    let fact = fill("story.held.fact", lang, &places);
    fact + &stopped(limitation, lang).or_else(|| dropped(limitation, lang)).unwrap_or_default()
}

/// How long a flow received nothing.
fn stopped(limitation: &Limitation, lang: Lang) -> Option<String> {
    let silence = limitation.silence.as_ref()?;
    let (flow, silent, of) = (quoted(&silence.flow), short(silence.silence_s), short(silence.active_s));
    Some(fill("story.held.silence", lang, &[("flow", &flow), ("s", &silent), ("of", &of)]))
}

fn dropped(limitation: &Limitation, lang: Lang) -> Option<String> {
    let drops = limitation.drops.filter(|d| d.packets > 0)?;
    let key = match (drops.packets, drops.events) {
        (1, _) => "story.held.drop",
        (_, 1) => "story.held.drops.one",
        _ => "story.held.drops",
    };
    Some(fill(key, lang, &[("n", &count(drops.packets)), ("events", &count(drops.events))]))
}

/// A variant that is the best by another measure, and what it costs.
fn leads(b: &Better, lang: Lang) -> String {
    let places = [("name", &*quoted(&b.variant)), ("gains", &listed(&b.gains, lang))];
    with_costs(fill("story.fact.leads", lang, &places), b, lang)
}

/// Appends what the variant costs, if anything.
fn with_costs(text: String, b: &Better, lang: Lang) -> String {
    if b.costs.is_empty() {
        return text;
    }
    text + &fill("story.costs", lang, &[("costs", &listed(&b.costs, lang))])
}

/// Several gains or costs.
fn listed(effects: &[Effect], lang: Lang) -> String {
    joined(effects.iter().map(|e| effect(e, lang)).collect(), lang)
}

/// The first names of a list, and the number of the others.
fn first_of(names: impl ExactSizeIterator<Item = String>, lang: Lang) -> String {
    let rest = names.len().saturating_sub(MAX_LISTED);
    let list = joined(names.take(MAX_LISTED).collect(), lang);
    if rest > 0 { list + &fill("story.more", lang, &[("n", &rest.to_string())]) } else { list }
}

/// The name of a measure.
fn label(measure: &Measure, lang: Lang) -> String {
    let [en, zh] = measure.label();
    if lang == Lang::Zh { zh } else { en }
}

/// Variants without a significant difference.
fn open(
    measure: &Measure,
    was: Option<f64>,
    variants: &[(String, f64)],
    repeats: usize,
    lang: Lang,
) -> String {
    let one = |(name, is): &(String, f64)| format!("{} ({})", quoted(name), value(measure, *is, lang));
    let list = first_of(variants.iter().map(one), lang);
    let was = was.map(|w| value(measure, w, lang)).unwrap_or_default();
    let label = label(measure, lang);
    let places = [("list", &*list), ("was", &was), ("measure", &label), ("n", &repeats.to_string())];
    fill("story.open", lang, &places)
}

/// Variants with identical results, and why.
fn unchanged(baseline: &str, variants: &[String], changes: &[Change], lang: Lang) -> String {
    let list = first_of(variants.iter().map(|n| quoted(n)), lang);
    let concerns = |word: &str| {
        changes.iter().any(|c| match c {
            Change::Set { key, .. } | Change::Setting { key, .. } => key.contains(word),
            Change::Added { stage, .. } | Change::Removed(stage) => stage.kind.contains(word),
            _ => false,
        })
    };
    let why = match () {
        () if concerns("mtu") || concerns("mss") => "story.same.mtu",
        () if concerns("rto") => "story.same.rto",
        () if concerns("queue") || changes.iter().any(|c| matches!(c, Change::Queue { .. })) => {
            "story.same.queue"
        }
        () if concerns("buffer") => "story.same.buffer",
        () if changes.is_empty() => "story.same.nothing",
        () => "story.same.other",
    };
    let key = if variants.len() == 1 { "story.same.one" } else { "story.same.many" };
    fill(key, lang, &[("list", &list), ("name", &quoted(baseline)), ("why", text(why, lang))])
}

/// A variant's changes and its name; the name alone if the changes are too long for a headline.
fn how_short(b: &Better, lang: Lang) -> String {
    let how = how(&b.changes, &b.variant, lang);
    // Chinese has no spaces: three characters count as a word.
    let words = if lang == Lang::Zh { how.chars().count() / 3 } else { how.split_whitespace().count() };
    if words > MAX_HEADLINE_WORDS { quoted(&b.variant) } else { how }
}

/// All effects other than the goal's, in words: gains, then costs.
pub(super) fn effects(b: &Better, lang: Lang) -> Vec<String> {
    b.gains.iter().chain(&b.costs).map(|e| effect(e, lang)).collect()
}

fn same(measure: &Measure) -> &'static str {
    match measure.quantity {
        Quantity::Goodput => "story.same.goodput",
        Quantity::Rtt | Quantity::Delay | Quantity::Probe => "story.same.delay",
        Quantity::Jain => "story.same.fair",
        _ => "story.same.times",
    }
}

/// The goal's value in a better variant; goodput also as a multiple of the baseline's.
fn goal_words(e: &Effect, how: &str, lang: Lang) -> String {
    let is = value(&e.measure, e.is, lang);
    if e.measure.quantity != Quantity::Goodput {
        let what = fill(what(&e.measure), lang, &[("value", &is)]);
        return fill("story.better.has", lang, &[("how", how), ("what", &what)]);
    }
    let datagrams = e.measure.subject == Subject::Datagrams;
    let key = if datagrams { "story.better.carries-udp" } else { "story.better.carries" };
    let said = fill(key, lang, &[("how", how), ("value", &is)]);
    if e.was <= 0.0 {
        return said;
    }
    let ratio = e.is / e.was;
    let (key, more) = match ratio {
        r if r < 2.0 - NOTICED_SHARE => ("story.more.percent", percent(r - 1.0)),
        r => ("story.more.times", times(r)),
    };
    said + &fill(key, lang, &[("more", &more)])
}

/// A gain or a cost.
fn effect(e: &Effect, lang: Lang) -> String {
    use Quantity::*;
    let key = match (e.measure.quantity, &e.measure.subject) {
        (Goodput, Subject::Datagrams) => "story.effect.udp",
        (Goodput, Subject::Flow(_)) => "story.effect.flow",
        (Rtt, _) => "story.effect.rtt",
        (Delay, _) => "story.effect.one-way",
        (Probe, _) => "story.effect.probe",
        (Mos, _) => "story.effect.mos",
        (Lost, Subject::Datagrams) => "story.effect.udp-loss",
        (Lost, _) => "story.effect.loss",
        (ResentShare, _) => "story.effect.resent",
        (Completion, _) => "story.effect.completion",
        (Response, _) => "story.effect.response",
        (Page, _) => "story.effect.page",
        (Jain, _) => "story.effect.jain",
        _ => "story.effect.tcp",
    };
    let flow = match &e.measure.subject {
        Subject::Flow(name) => quoted(name),
        _ => String::new(),
    };
    let (is, was) = (value(&e.measure, e.is, lang), value(&e.measure, e.was, lang));
    fill(key, lang, &[("flow", &flow), ("is", &is), ("was", &was)])
}
