//! The headline's clauses in words.

use super::change_words::how;
use super::clause::{Better, Clause, Effect};
use super::measure::Measure;
use super::phrases::{cc_name, joined, placed, quoted, spaced, times, value};
use super::{ALIKE, Story};
use crate::number::{count, millis, percent, short};
use crate::strings::{Lang, fill, text};

impl Story {
    /// All of it as one text; of several goals each begins with its name.
    pub fn text(&self, lang: Lang) -> String {
        self.sentence(lang, |_| true)
    }

    /// Where there are several goals without what helps: that stands in their table.
    pub(crate) fn without_table(&self, lang: Lang) -> String {
        self.sentence(lang, |c| self.alone || self.goals.len() < 2 || c.goal().is_none())
    }

    /// Each clause in words, in order.
    pub fn said(&self, lang: Lang) -> Vec<String> {
        self.clauses.iter().map(|c| c.say(lang)).collect()
    }

    fn sentence(&self, lang: Lang, wanted: impl Fn(&Clause) -> bool) -> String {
        let mut text = String::new();
        let (mut begun, mut opened) = (None, false);
        for clause in self.clauses.iter().filter(|c| wanted(c)) {
            text += match clause {
                _ if text.is_empty() => "",
                Clause::Nothing { .. } | Clause::Carries { .. } | Clause::Has { .. } => {
                    (begun, opened) = (None, false);
                    mark("story.next", lang)
                }
                Clause::Unfinished { .. } => mark("story.comma", lang),
                _ if !opened => {
                    opened = true;
                    mark("story.colon", lang)
                }
                _ => mark("story.semicolon", lang),
            };
            let goal = clause.goal().filter(|_| self.goals.len() > 1);
            if goal.is_some() && goal != begun {
                let label = goal.map_or("", |g| name(g, lang));
                text += &fill("story.goal", lang, &[("goal", label)]);
                begun = goal;
            }
            text += &clause.say(lang);
        }
        if text.is_empty() { text } else { text + mark("story.end", lang) }
    }
}

/// What stands between clauses.
fn mark(key: &str, lang: Lang) -> &'static str {
    text(key, lang)
}

/// A goal as the language calls it.
pub(super) fn name(goal: units::Goal, lang: Lang) -> &'static str {
    match lang {
        Lang::En => goal.label().en,
        Lang::Zh => goal.label().zh,
    }
}

impl Clause {
    /// The goal that it is about, if it says what helps.
    pub fn goal(&self) -> Option<units::Goal> {
        match self {
            Clause::Better(b) | Clause::AsGood(b) => Some(b.goal),
            Clause::Best { goal, .. } => Some(*goal),
            _ => None,
        }
    }

    /// In words.
    pub fn say(&self, lang: Lang) -> String {
        let said = self.worded(lang);
        if lang == Lang::Zh { spaced(&said) } else { said }
    }

    fn worded(&self, lang: Lang) -> String {
        let fill = |key, values: &[(&str, &str)]| fill(key, lang, values);
        match self {
            Clause::Nothing { variant } => fill("story.nothing", &[("name", &quoted(variant))]),
            Clause::Carries { variant, tcp, udp, limit, varies } => {
                let share = limit.map(|limit| share([*tcp, *udp], limit, *varies, lang));
                carries(variant, *tcp, *udp, lang) + &share.unwrap_or_default()
            }
            Clause::Has { variant, measure, value: v } => {
                let what = fill(what(*measure), &[("value", &value(*measure, *v, lang))]);
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
            Clause::Lost { share } => fill("story.lost", &[("share", &percent(*share))]),
            Clause::Waited { cc, share } => spent("story.waited", cc, *share, lang),
            Clause::Repaired { cc, share } => spent("story.recovered", cc, *share, lang),
            Clause::Queued { least_ms, p95_ms, element, kind, packets } => fill(
                if *packets == 1 { "story.queued.one" } else { "story.queued" },
                &[
                    ("least", &millis(*least_ms)),
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
            Clause::Better(b) => better(b, false, lang),
            Clause::AsGood(b) => better(b, true, lang),
            Clause::Best { others, all, .. } => {
                let key = match (*all, *others) {
                    (true, 1) => "story.best.one",
                    (true, _) => "story.best",
                    (false, _) => "story.best.comparable",
                };
                fill(key, &[("n", &others.to_string())])
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

/// What was carried, as a share of the limit that all of it met.
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

/// How a goal's measure is named after "has".
fn what(measure: Measure) -> &'static str {
    match measure {
        Measure::Rtt => "story.what.rtt",
        Measure::OneWay => "story.what.one-way",
        Measure::Completion => "story.what.completion",
        Measure::Response => "story.what.response",
        Measure::Page => "story.what.page",
        Measure::Jain => "story.what.jain",
        _ => "story.what.goodput",
    }
}

/// A variant that does better, or as well, with all that comes with it.
fn better(b: &Better, as_good: bool, lang: Lang) -> String {
    let how = how(&b.changes, &b.variant, lang);
    let mut said = if as_good {
        fill("story.better.same", lang, &[("how", &how), ("what", text(same(b.effect.measure), lang))])
    } else {
        goal(&b.effect, &how, lang)
    };
    let list = |effects: &[Effect]| joined(effects.iter().map(|e| effect(e, lang)).collect(), lang);
    if !b.gains.is_empty() {
        said += &fill("story.gains", lang, &[("gains", &list(&b.gains))]);
    }
    if let Some(loses) = b.loses {
        said += &fill("story.losing", lang, &[("share", &percent(loses))]);
    }
    if !b.costs.is_empty() {
        said += &fill("story.costs", lang, &[("costs", &list(&b.costs))]);
    }
    said
}

/// All that changes beside the goal, each in words: gains, what is lost, costs.
pub(super) fn effects(b: &Better, lang: Lang) -> Vec<String> {
    let loses = b.loses.map(|share| fill("story.loses", lang, &[("share", &percent(share))]));
    let gains = b.gains.iter().map(|e| effect(e, lang));
    gains.chain(loses).chain(b.costs.iter().map(|e| effect(e, lang))).collect()
}

fn same(measure: Measure) -> &'static str {
    match measure {
        Measure::TcpGoodput | Measure::UdpGoodput => "story.same.goodput",
        Measure::Rtt | Measure::OneWay => "story.same.delay",
        Measure::Jain => "story.same.fair",
        _ => "story.same.times",
    }
}

/// The goal's value in a better variant beside the baseline's.
fn goal(e: &Effect, how: &str, lang: Lang) -> String {
    let is = value(e.measure, e.is, lang);
    if !matches!(e.measure, Measure::TcpGoodput | Measure::UdpGoodput) {
        let what = fill(what(e.measure), lang, &[("value", &is)]);
        let was = value(e.measure, e.was, lang);
        return fill("story.better.has", lang, &[("how", how), ("what", &what), ("was", &was)]);
    }
    let key =
        if e.measure == Measure::TcpGoodput { "story.better.carries" } else { "story.better.carries-udp" };
    let said = fill(key, lang, &[("how", how), ("value", &is)]);
    if e.was <= 0.0 {
        return said;
    }
    let ratio = e.is / e.was;
    let (key, more) = match ratio {
        r if r < 2.0 - ALIKE => ("story.more.percent", percent(r - 1.0)),
        r => ("story.more.times", times(r)),
    };
    said + &fill(key, lang, &[("more", &more)])
}

/// A gain or a cost.
fn effect(e: &Effect, lang: Lang) -> String {
    use Measure::*;
    let key = match e.measure {
        TcpGoodput => "story.effect.tcp",
        UdpGoodput => "story.effect.udp",
        FlowGoodput => "story.effect.flow",
        Rtt => "story.effect.rtt",
        SlowestRtt => "story.effect.slowest",
        OneWay => "story.effect.one-way",
        Mos => "story.effect.mos",
        TcpLoss => "story.effect.loss",
        Resent => "story.effect.resent",
        UdpLoss => "story.effect.udp-loss",
        Completion => "story.effect.completion",
        Response => "story.effect.response",
        Page => "story.effect.page",
        Jain => "story.effect.jain",
    };
    let flow = e.flow.as_deref().map(quoted).unwrap_or_default();
    let (is, was) = (value(e.measure, e.is, lang), value(e.measure, e.was, lang));
    fill(key, lang, &[("flow", &flow), ("is", &is), ("was", &was)])
}
