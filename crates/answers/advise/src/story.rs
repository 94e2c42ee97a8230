//! What is said of a plan: one sentence, what to do, and the facts that it rests on.

use crate::choice::{self, Choice, Chooser};
use crate::measure::{FigureChange, User, Yardstick, larger_is_better};
use crate::model::{CureEffect, Plan, PlanFigures, RankedCure};
use crate::search::CureTrial;
use print::three_digits;
use result::{ChangePlace, Quantity};
use units::Goal;

/// How many facts there are at most, and how many names or phrases one of them lists.
const FACTS: usize = 4;
const LISTED: usize = 3;

/// The cure that the sentence is about.
pub fn advised(plan: &Plan) -> Option<&RankedCure> {
    let name = plan.advised.as_ref()?;
    plan.cures.iter().find(|c| c.name == *name)
}

/// A change as a phrase: "call-up: p95 one-way delay 13.0 ms instead of 431 ms".
pub fn phrase(change: &FigureChange) -> String {
    let [label, _] = change.measure.label();
    let value = |x: f64| match change.measure.quantity {
        Quantity::Mos => format!("{x:.1}"),
        Quantity::Jain => format!("{x:.2}"),
        Quantity::Lost | Quantity::ResentShare => format!("{x:.1} %"),
        _ => format!("{} {}", three_digits(x), change.measure.unit().symbol()),
    };
    let whose = if change.user.is_empty() { String::new() } else { format!("{}: ", change.user) };
    format!("{whose}{label} {} instead of {}", value(change.then), value(change.now))
}

/// What is said of a plan.
pub struct Story {
    /// The sentence.
    pub advice: String,
    /// What it rests on.
    pub facts: Vec<String>,
}

/// What the story is about.
pub struct Told<'a> {
    /// The plan without its sentence.
    pub plan: &'a Plan,
    /// What was measured.
    pub yardstick: &'a Yardstick,
    /// What was run in full.
    pub finalists: &'a [(RankedCure, CureTrial)],
    /// How one of them was chosen.
    pub chooser: Chooser,
    /// The one that was chosen.
    pub chosen: Option<&'a Choice>,
    /// Goodput as a share of what the path can carry, where that is known and goodput is the goal.
    pub share: Option<f64>,
}

/// The sentence and its facts.
pub fn write(told: &Told<'_>) -> Story {
    let Told { plan, yardstick, finalists, chosen, .. } = *told;
    let mut facts = Vec::new();
    let Some(choice) = chosen else {
        facts.extend(own_kernel(told, 0.0));
        facts.extend(ruinous(plan, finalists, 0.0));
        let is_noticed =
            |t: &CureTrial| t.changes.iter().any(|c| c.is_better && !c.is_of_goal(plan.objective));
        let quieter =
            finalists.iter().find(|(c, t)| is_noticed(t) && c.ruins.is_empty() && choice::is_released(c));
        facts.extend(quieter.map(|(c, _)| {
            let reached = figure(plan.objective, &c.figures);
            let goal = plan.objective.name();
            format!("{} changes this: {}; {goal} is {reached} then.", c.title, list(&c.betters))
        }));
        return Story { advice: nothing(told), facts };
    };
    let (cure, trial) = &finalists[choice.index];
    let who: Vec<String> = cure.by.iter().map(|p| p.name()).collect();
    let goal = plan.objective;
    let [now, then] = [&plan.now, &cure.figures].map(|f| figure(goal, f));
    let seeds = plan.simulated.final_seeds;
    let advice = if choice.is_aside {
        let better = most(trial, goal).map(phrase).unwrap_or_default();
        facts.push(format!(
            "{} is not what it is for: {then} instead of {now}, and nothing that was tried gains more than a twentieth.",
            sentence(goal.name())
        ));
        let full = full(told).map(|full| format!("{full}. ")).unwrap_or_default();
        format!("{full}Do this ({}), not for {}: {}: {better}.", who.join(", "), goal.name(), cure.title)
    } else {
        let times = cure.factor.filter(|f| goal == Goal::Goodput && *f >= 1.1);
        let times = times.map(|f| format!(", {f:.1} times as much")).unwrap_or_default();
        let [low, high] = [cure.gain.low.max(0.0), cure.gain.high].map(|x| with_unit(goal, x));
        // The unit once.
        let short = low.split(' ').next().unwrap_or_default();
        let by = if low == high { low } else { format!("{short} to {high}") };
        facts.push(format!(
            "{} is better by {by}{times} (95 % interval, {seeds} seeds each with and without it).",
            sentence(goal.name()),
        ));
        let what = what(yardstick);
        format!("Do this ({}): {}: {what} {then} instead of {now}.", who.join(", "), cure.title)
    };
    // What the sentence says already is not said again.
    let is_said = |c: &&FigureChange| {
        let figure = (cure.figures.judged.mean - c.then).abs() <= 1e-9 * c.then.abs();
        if choice.is_aside { most(trial, goal) == Some(*c) } else { figure }
    };
    let said: Vec<String> = trial.changes.iter().filter(is_said).map(phrase).collect();
    let betters: Vec<String> = cure.betters.iter().filter(|b| !said.contains(b)).cloned().collect();
    let mut others = Vec::new();
    if !betters.is_empty() {
        others.push(format!("Better, too: {}.", list(&betters)));
    }
    if !cure.worsens.is_empty() {
        others.push(format!("Worse: {}.", list(&cure.worsens)));
    }
    others.extend(added_call(plan, cure));
    if !others.is_empty() {
        facts.push(others.join(" "));
    }
    facts.extend(ruinous(plan, finalists, if choice.is_aside { 0.0 } else { cure.gain.mean }));
    if !choice.is_aside {
        facts.extend(without_the_limiter(told, cure));
        facts.extend(own_kernel(told, cure.gain.mean));
    }
    facts.extend(equals(told, choice));
    facts.truncate(FACTS);
    Story { advice, facts }
}

/// The goal, and whose: "p95 delay of call-up and call-down".
fn what(yardstick: &Yardstick) -> String {
    let has_delay = |u: &&User| u.notices.iter().any(|m| m.quantity == Quantity::Delay);
    let names: Vec<&str> = yardstick.users.iter().filter(has_delay).map(|u| u.name.as_str()).collect();
    match (yardstick.goal, &names[..]) {
        (Goal::Delay, [one]) => format!("p95 delay of {one}"),
        (Goal::Delay, [one, other]) => format!("p95 delay of {one} and {other}"),
        (Goal::Delay, [_, _, ..]) => format!("p95 delay of {} calls and games", names.len()),
        (goal, _) => goal.name().into(),
    }
}

/// The change for the better that counts most, the goal's own left out: a user's first.
fn most(trial: &CureTrial, goal: Goal) -> Option<&FigureChange> {
    let ratio = |c: &FigureChange| match c.measure.quantity {
        Quantity::Mos => (c.then - c.now).abs(),
        Quantity::Jain => 4.0 * (c.then - c.now).abs(),
        // Fewer packets sent again is never an aim in itself.
        Quantity::ResentShare => 0.0,
        _ => ((c.then + 1.0) / (c.now + 1.0)).log2().abs(),
    };
    let better = trial.changes.iter().filter(|c| c.is_better && !c.is_of_goal(goal));
    better.max_by(|a, b| {
        let is_user = |c: &FigureChange| !c.user.is_empty();
        is_user(a).cmp(&is_user(b)).then(ratio(a).total_cmp(&ratio(b)))
    })
}

/// What a call hears that was added because the scenario has none.
fn added_call(plan: &Plan, cure: &RankedCure) -> Option<String> {
    if !plan.calls.is_empty() {
        return None;
    }
    let score = |f: &PlanFigures| f.voice.and_then(|v| v.mos).map(|m| format!("{m:.1}"));
    let [now, then] = [score(&plan.now)?, score(&cure.figures)?];
    (now != then).then(|| format!("A call that was added to the data scores {then} instead of {now}."))
}

/// What gains more than `least` and ruins a flow of the scenario.
fn ruinous(plan: &Plan, finalists: &[(RankedCure, CureTrial)], least: f64) -> Option<String> {
    let gains = finalists.iter().map(|(c, _)| c).filter(|c| !c.ruins.is_empty());
    let worth = gains.filter(|c| c.effect == CureEffect::Gains && c.gain.mean > least);
    let best = worth.max_by(|a, b| a.gain.mean.total_cmp(&b.gain.mean))?;
    let reached = figure(plan.objective, &best.figures);
    Some(format!("Not advised: {} ({reached}), for it ruins {}.", best.name, list(&best.ruins)))
}

/// What the user can do where the advised cure changes the limiter, which is often a provider's.
fn without_the_limiter(told: &Told<'_>, chosen: &RankedCure) -> Option<String> {
    if told.chooser.actors_are_given || !chosen.by.contains(&ChangePlace::Limiter) {
        return None;
    }
    let own = |c: &&RankedCure| {
        let is_own = !c.by.contains(&ChangePlace::Limiter);
        is_own && c.ruins.is_empty() && c.effect == CureEffect::Gains && choice::is_released(c)
    };
    let all = told.finalists.iter().map(|(c, _)| c).filter(own);
    let best = all.max_by(|a, b| a.gain.mean.total_cmp(&b.gain.mean))?;
    let reached = figure(told.plan.objective, &best.figures);
    Some(format!("With the limiter as it is: {} ({reached}): {}.", best.name, best.title))
}

/// What no released kernel has and is as good as a gain of `gain` or better.
fn own_kernel(told: &Told<'_>, gain: f64) -> Option<String> {
    let unreleased = |c: &&RankedCure| {
        let gains = c.effect == CureEffect::Gains && c.ruins.is_empty() && !choice::is_released(c);
        gains && c.gain.mean + told.chooser.band(c) >= gain
    };
    let all = told.finalists.iter().map(|(c, _)| c).filter(unreleased);
    let best = all.max_by(|a, b| a.gain.mean.total_cmp(&b.gain.mean))?;
    let reached = figure(told.plan.objective, &best.figures);
    Some(format!("If you build your own kernel: {} ({reached}); no released kernel has it.", best.title))
}

/// What is equally good, and why it is not advised.
fn equals(told: &Told<'_>, choice: &Choice) -> Option<String> {
    let finalists = told.finalists;
    let why = |&i: &usize| {
        let (cure, _) = &finalists[i];
        let reached = figure(told.yardstick.goal, &cure.figures);
        let reason = told.chooser.reason(&finalists[choice.index], &finalists[i]);
        format!("{} ({reached}; {reason})", cure.name)
    };
    let all: Vec<String> = choice.equals.iter().map(why).collect();
    (!all.is_empty()).then(|| format!("Equally good for what counts here: {}.", list(&all)))
}

/// That the path carries all it can, where it does.
fn full(told: &Told<'_>) -> Option<String> {
    let share = told.share.filter(|_| told.chooser.is_full)?;
    let now = figure(told.plan.objective, &told.plan.now);
    Some(format!("Goodput is already {:.0} % of what the path can carry ({now})", 100.0 * share.min(1.0)))
}

/// Where nothing gains.
fn nothing(told: &Told<'_>) -> String {
    if let Some(full) = full(told) {
        return format!("{full}: no change is needed for it.");
    }
    let goal = told.plan.objective;
    let verb = if larger_is_better(goal) { "raises" } else { "lowers" };
    let tried = if own_kernel(told, 0.0).is_some() { "a released kernel has" } else { "was tried" };
    format!("Nothing that {tried} {verb} {} ({}).", goal.name(), figure(goal, &told.plan.now))
}

fn list(all: &[String]) -> String {
    let mut text = all.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > LISTED {
        text += &format!("; and {} more", all.len() - LISTED);
    }
    text
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn with_unit(goal: Goal, value: f64) -> String {
    match goal {
        Goal::Goodput => format!("{} Mbit/s", three_digits(value)),
        Goal::Delay => format!("{} ms", three_digits(value)),
        Goal::Completion | Goal::Page => format!("{} s", three_digits(value)),
        Goal::Fairness => format!("{value:.2}"),
    }
}

/// The goal's figure with its unit.
pub fn figure(goal: Goal, f: &PlanFigures) -> String {
    with_unit(goal, f.judged.mean)
}
