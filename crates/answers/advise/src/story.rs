//! Writes the advice of a plan: one sentence, and the facts behind it.

use crate::choice::{self, Choice, Chooser, EqualReason};
use crate::measure::{self, FigureChange, User, Yardstick, larger_is_better};
use crate::model::{CureEffect, Plan, PlanFigures, RankedCure};
use crate::search::CureTrial;
use print::three_digits;
use result::{ChangePlace, Quantity};
use units::Goal;

/// Limit of the facts.
const MAX_FACTS: usize = 4;
/// Limit of the names or phrases that a fact lists.
const MAX_LISTED: usize = 3;

/// Returns the advised cure.
pub fn advised(plan: &Plan) -> Option<&RankedCure> {
    let name = plan.advised.as_ref()?;
    plan.cures.iter().find(|c| c.name == *name)
}

/// Describes a change, such as "call-up: p95 one-way delay 13.0 ms instead of 431 ms".
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

/// The advice with its facts.
pub struct Story {
    /// The advice in one sentence.
    pub advice: String,
    /// The facts behind it.
    pub facts: Vec<String>,
}

/// The data from which the advice is written.
pub struct StoryInput<'a> {
    /// The plan, still without advice.
    pub plan: &'a Plan,
    /// The figures that were measured.
    pub yardstick: &'a Yardstick,
    /// The finalists.
    pub finalists: &'a [(RankedCure, CureTrial)],
    /// How one of them was chosen.
    pub chooser: Chooser,
    /// The chosen one.
    pub chosen: Option<&'a Choice>,
    /// Capacity of the path, where it is known and goodput is the goal.
    pub capacity: Option<Capacity>,
}

/// Capacity of the path for all TCP flows together.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// The limit without the share of datagrams, in Mbit/s. It counts headers, as `longfat run` does for the
    /// share of a limit.
    pub rate_mbps: f64,
    /// The payload of full packets at that rate, in Mbit/s.
    pub payload_mbps: f64,
}

impl Plan {
    /// Withdraws the advice, because the scenario does not behave as the real path does. `why` is a sentence.
    pub fn distrusted(&mut self, why: &str) {
        self.advised = None;
        self.advice = format!("No cure is advised. {why}");
        self.facts = vec![
            "The table shows what the cures would do on the path of the fit, not on yours.".into(),
            "For a plan to rely on, correct the scenario that `longfat fit` writes until it runs as the path \
             does, and plan for that, or capture again: longer, at the sender, with one flow."
                .into(),
        ];
        self.distrust = Some(why.into());
    }
}

/// Writes the advice and its facts.
pub fn write(input: &StoryInput<'_>) -> Story {
    let StoryInput { plan, yardstick, finalists, chosen, .. } = *input;
    let mut facts = Vec::new();
    let Some(choice) = chosen else {
        facts.extend(own_kernel(input, 0.0));
        facts.extend(ruinous(plan, finalists, 0.0));
        let is_noticed =
            |t: &CureTrial| t.changes.iter().any(|c| c.is_better && !c.is_of_goal(plan.objective));
        // "No change is needed" stands alone.
        let quieter = finalists.iter().filter(|_| !input.chooser.is_full);
        let quieter = quieter
            .clone()
            .find(|(c, t)| is_noticed(t) && c.ruined_flows.is_empty() && choice::is_released(c));
        facts.extend(quieter.map(|(c, _)| {
            let reached = figure(plan.objective, &c.figures);
            let goal = plan.objective.name();
            format!(
                "{} improves something else: {}; {goal} is then {reached}.",
                capitalised(&c.title),
                list(&c.improvements)
            )
        }));
        return Story { advice: no_gain_advice(input), facts };
    };
    let (cure, trial) = &finalists[choice.index];
    let who: Vec<String> = cure.by.iter().map(|p| p.name()).collect();
    let goal = plan.objective;
    let [now, then] = [&plan.now, &cure.figures].map(|f| figure(goal, f));
    let seeds = plan.simulated.final_seeds;
    let advice = if choice.is_side_benefit {
        let better = largest_improvement(trial, goal).map(phrase).unwrap_or_default();
        facts.push(format!(
            "{} hardly changes: {then} instead of {now}; no cure that was tried gains more than a twentieth.",
            capitalised(goal.name())
        ));
        let full = full(input).map(|full| format!("{full}. ")).unwrap_or_default();
        format!("{full}Do this ({}), not for {}: {}: {better}.", who.join(", "), goal.name(), cure.title)
    } else {
        let times = cure.factor.filter(|f| goal == Goal::Goodput && *f >= 1.1);
        let times = times.map(|f| format!(", {f:.1} times as much")).unwrap_or_default();
        let [low, high] = [cure.gain.low.max(0.0), cure.gain.high].map(|x| with_unit(goal, x));
        // Print the unit once.
        let short = low.split(' ').next().unwrap_or_default();
        let by = if low == high { low } else { format!("{short} to {high}") };
        facts.push(format!(
            "{} is better by {by}{times} (95 % interval, {seeds} seeds each with and without it).",
            capitalised(goal.name()),
        ));
        let what = what(yardstick);
        format!("Do this ({}): {}: {what} {then} instead of {now}.", who.join(", "), cure.title)
    };
    // Changes that the advice already mentions are not repeated.
    let is_in_advice = |c: &&FigureChange| {
        let figure = (cure.figures.goal_value.mean - c.then).abs() <= 1e-9 * c.then.abs();
        if choice.is_side_benefit { largest_improvement(trial, goal) == Some(*c) } else { figure }
    };
    let mentioned: Vec<String> = trial.changes.iter().filter(is_in_advice).map(phrase).collect();
    let improvements: Vec<String> =
        cure.improvements.iter().filter(|b| !mentioned.contains(b)).cloned().collect();
    let mut others = Vec::new();
    if !improvements.is_empty() {
        others.push(format!("Also better: {}.", list(&improvements)));
    }
    if !cure.deteriorations.is_empty() {
        others.push(format!("Worse: {}.", list(&cure.deteriorations)));
    }
    others.extend(added_call(plan, cure));
    if !others.is_empty() {
        facts.push(others.join(" "));
    }
    facts.extend(ruinous(plan, finalists, if choice.is_side_benefit { 0.0 } else { cure.gain.mean }));
    if !choice.is_side_benefit {
        facts.extend(without_the_limiter(input, cure));
        facts.extend(own_kernel(input, cure.gain.mean));
    }
    facts.extend(equals(input, choice));
    facts.truncate(MAX_FACTS);
    Story { advice, facts }
}

/// Returns the goal's name, with the flows it is about: "p95 delay of call-up and call-down".
fn what(yardstick: &Yardstick) -> String {
    let has_delay = |u: &&User| u.notices.iter().any(|m| m.quantity == Quantity::Delay);
    let names: Vec<&str> = yardstick.users.iter().filter(has_delay).map(|u| u.name.as_str()).collect();
    match (yardstick.goal, &names[..]) {
        (Goal::Delay, [one]) => format!("p95 delay of {one}"),
        (Goal::Delay, [one, other]) => format!("p95 delay of {one} and {other}"),
        (Goal::Delay, [_, _, ..]) => format!("p95 delay of {} calls and games", names.len()),
        (Goal::Goodput, _) if yardstick.flows > 1 => "total goodput".into(),
        (goal, _) => goal.name().into(),
    }
}

/// Returns the largest improvement apart from the goal's own; changes that a user notices come first.
fn largest_improvement(trial: &CureTrial, goal: Goal) -> Option<&FigureChange> {
    // Fewer retransmissions are never an aim in themselves.
    let ratio = |c: &FigureChange| match c.measure.quantity {
        Quantity::ResentShare => 0.0,
        _ => c.ratio(),
    };
    let better = trial.changes.iter().filter(|c| c.is_better && !c.is_of_goal(goal));
    better.max_by(|a, b| {
        let is_user = |c: &FigureChange| !c.user.is_empty();
        is_user(a).cmp(&is_user(b)).then(ratio(a).total_cmp(&ratio(b)))
    })
}

/// Describes the score of a call that was added because the scenario has none.
fn added_call(plan: &Plan, cure: &RankedCure) -> Option<String> {
    if !plan.calls.is_empty() {
        return None;
    }
    let score = |f: &PlanFigures| f.voice.and_then(|v| v.mos).map(|m| format!("{m:.1}"));
    let [now, then] = [score(&plan.now)?, score(&cure.figures)?];
    (now != then).then(|| format!("An added call has MOS {then} instead of {now}."))
}

/// Describes the best cure that gains more than `min_gain` but ruins a flow of the scenario.
fn ruinous(plan: &Plan, finalists: &[(RankedCure, CureTrial)], min_gain: f64) -> Option<String> {
    let gains = finalists.iter().map(|(c, _)| c).filter(|c| !c.ruined_flows.is_empty());
    let gaining = gains.filter(|c| c.effect == CureEffect::Gains && c.gain.mean > min_gain);
    let best = gaining.max_by(|a, b| a.gain.mean.total_cmp(&b.gain.mean))?;
    let reached = figure(plan.objective, &best.figures);
    Some(format!("Not advised: {} ({reached}), because it ruins {}.", best.name, list(&best.ruined_flows)))
}

/// Describes the best cure without a change of the limiter, which is often a provider's, if the advised cure
/// changes it.
fn without_the_limiter(input: &StoryInput<'_>, chosen: &RankedCure) -> Option<String> {
    if input.chooser.actors_are_given || !chosen.by.contains(&ChangePlace::Limiter) {
        return None;
    }
    let own = |c: &&RankedCure| {
        let is_own = !c.by.contains(&ChangePlace::Limiter);
        is_own && c.ruined_flows.is_empty() && c.effect == CureEffect::Gains && choice::is_released(c)
    };
    let all = input.finalists.iter().map(|(c, _)| c).filter(own);
    let best = all.max_by(|a, b| a.gain.mean.total_cmp(&b.gain.mean))?;
    let reached = figure(input.plan.objective, &best.figures);
    Some(format!("Without a change of the limiter: {} ({reached}): {}.", best.name, best.title))
}

/// Describes a cure that no released kernel has and whose gain is at least about `gain`.
fn own_kernel(input: &StoryInput<'_>, gain: f64) -> Option<String> {
    let unreleased = |c: &&RankedCure| {
        let gains = c.effect == CureEffect::Gains && c.ruined_flows.is_empty() && !choice::is_released(c);
        gains && c.gain.mean + input.chooser.band(c) >= gain
    };
    let all = input.finalists.iter().map(|(c, _)| c).filter(unreleased);
    let best = all.max_by(|a, b| a.gain.mean.total_cmp(&b.gain.mean))?;
    let reached = figure(input.plan.objective, &best.figures);
    Some(format!("If you build your own kernel: {} ({reached}); no released kernel has it.", best.title))
}

/// Lists the equally good cures, and why they are not advised.
fn equals(input: &StoryInput<'_>, choice: &Choice) -> Option<String> {
    let (finalists, chosen) = (input.finalists, &input.finalists[choice.index]);
    let why = |&i: &usize| {
        let (cure, _) = &finalists[i];
        let reached = figure(input.yardstick.goal, &cure.figures);
        let reason = match input.chooser.reason(chosen, &finalists[i]) {
            EqualReason::Stated(reason) => reason.to_string(),
            EqualReason::OtherFigures => drawback(input, chosen, &finalists[i]),
        };
        format!("{} ({reached}; {reason})", cure.name)
    };
    let all: Vec<String> = choice.equals.iter().map(why).collect();
    (!all.is_empty()).then(|| format!("Equally good: {}.", list(&all)))
}

/// Names the figure by which an equally good cure is most noticeably worse than the chosen one.
fn drawback(
    input: &StoryInput<'_>,
    chosen: &(RankedCure, CureTrial),
    other: &(RankedCure, CureTrial),
) -> String {
    let goal = input.plan.objective;
    let changes = measure::changes(input.yardstick, &chosen.1.runs, &other.1.runs);
    let worse = changes.iter().filter(|c| !c.is_better && !c.is_of_goal(goal));
    if let Some(change) = worse.max_by(|a, b| a.ratio().total_cmp(&b.ratio())) {
        return phrase(change);
    }
    let score = |c: &RankedCure| c.figures.voice.and_then(|v| v.mos).map(|m| format!("{m:.1}"));
    match [score(&chosen.0), score(&other.0)] {
        [Some(now), Some(then)] if now != then => format!("a call has MOS {then} instead of {now}"),
        _ => "several other figures are slightly worse".into(),
    }
}

/// Describes that goodput is already at the path's capacity, where it is.
fn full(input: &StoryInput<'_>) -> Option<String> {
    let capacity = input.capacity.filter(|_| input.chooser.is_full)?;
    let now = input.plan.now.goal_value.mean;
    Some(format!(
        "Goodput is already {:.0} % of what the path can carry ({} of {} Mbit/s; headers take the rest of {} Mbit/s)",
        100.0 * (now / capacity.payload_mbps).min(1.0),
        three_digits(now),
        three_digits(capacity.payload_mbps.max(now)),
        three_digits(capacity.rate_mbps),
    ))
}

/// Returns the advice for a plan in which nothing gains.
fn no_gain_advice(input: &StoryInput<'_>) -> String {
    if let Some(full) = full(input) {
        return format!("{full}: no change is needed.");
    }
    let goal = input.plan.objective;
    let verb = if larger_is_better(goal) { "raises" } else { "lowers" };
    let tried = if own_kernel(input, 0.0).is_some() { "of a released kernel" } else { "that was tried" };
    format!("No cure {tried} {verb} {} ({}).", goal.name(), figure(goal, &input.plan.now))
}

fn list(all: &[String]) -> String {
    let mut text = all.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join("; ");
    if all.len() > MAX_LISTED {
        text += &format!("; and {} more", all.len() - MAX_LISTED);
    }
    text
}

/// Capitalises the first letter.
fn capitalised(text: &str) -> String {
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

/// Formats the goal's figure with its unit.
pub fn figure(goal: Goal, f: &PlanFigures) -> String {
    with_unit(goal, f.goal_value.mean)
}
