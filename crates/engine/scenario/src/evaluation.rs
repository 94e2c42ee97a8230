//! The keys that say what is measured and how variants are compared: `measure`, `goal`, `baseline`.

use crate::limits::PathLimits;
use crate::model::{Experiment, Flow, Scenario};
use document::{Fault, Node, RefusalCause};
use serde::Deserialize;
use transport::App;
use units::{Goal, Span};

/// Separates the two times of `measure`.
const SEPARATOR: &str = "..";

/// Reads `measure`: two times within the run, or `None` for the whole run.
pub(crate) fn measure(root: &Node, duration: Span, sample: Span) -> Result<Option<[Span; 2]>, Fault> {
    let Some(node) = root.get("measure") else { return Ok(None) };
    let text = String::deserialize(node).map_err(|f| f.or_at(node.at))?;
    if text == "all" {
        return Ok(None);
    }
    let wrong = |cause| Fault::new(cause, node.at);
    let example = "two times, as in \"2s..18s\", or \"all\"";
    let bad = |message: String| wrong(RefusalCause::BadValue { message });
    let (from, to) = text.split_once(SEPARATOR).ok_or_else(|| bad(format!("must be {example}")))?;
    let time = |text: &str| text.trim().parse::<Span>().map_err(|e| bad(format!("{e}: must be {example}")));
    let [from, to] = [time(from)?, time(to)?];
    if from >= to || to > duration {
        let allowed = format!(
            "the first time before the second, and the second up to the end of the run at {duration}"
        );
        return Err(wrong(RefusalCause::OutOfRange { found: text, allowed }));
    }
    if sample.is_zero() {
        let message = "`measure` needs time series, and `sample = \"0s\"` records none".into();
        return Err(wrong(RefusalCause::Conflict { message }));
    }
    Ok(Some([from, to]))
}

/// Writes `measure` as the file has it.
pub(crate) fn spell_measure(measure: Option<[Span; 2]>) -> String {
    measure.map_or_else(|| "all".into(), |[from, to]| format!("{from}{SEPARATOR}{to}"))
}

/// Reads `goal`: one goal or a list; empty if the key is absent.
pub(crate) fn goals(root: &Node) -> Result<Vec<Goal>, Fault> {
    let Some(node) = root.get("goal") else { return Ok(Vec::new()) };
    let mut goals = Vec::new();
    for node in node.as_array().unwrap_or(std::slice::from_ref(node)) {
        let word = String::deserialize(node).map_err(|f| f.or_at(node.at))?;
        let known = || Goal::ALL.iter().map(|g| g.name().into()).collect();
        let unknown =
            |word| Fault::new(RefusalCause::UnknownWord { what: "goal", word, known: known() }, node.at);
        let goal = Goal::named(&word).ok_or_else(|| unknown(word))?;
        if goals.contains(&goal) {
            let name = goal.name().into();
            return Err(Fault::new(RefusalCause::DuplicateName { what: "goal", name }, node.at));
        }
        goals.push(goal);
    }
    Ok(goals)
}

/// Reads `baseline`, the name of a variant.
pub(crate) fn baseline(root: &Node, variants: &[&str]) -> Result<Option<String>, Fault> {
    let Some(node) = root.get("baseline") else { return Ok(None) };
    let name = String::deserialize(node).map_err(|f| f.or_at(node.at))?;
    if variants.contains(&name.as_str()) {
        return Ok(Some(name));
    }
    let known = variants.iter().map(|v| v.to_string()).collect();
    Err(Fault::new(RefusalCause::UnknownName { what: "variant", name, known }, node.at))
}

impl Experiment {
    /// The goals that variants are judged by, the most important first: the file's `goal`, or the default for
    /// the first variant's applications.
    pub fn goals(&self) -> Vec<Goal> {
        match (&self.goal[..], self.variants.first()) {
            ([], Some(first)) => first.scenario.default_goals(),
            (stated, _) => stated.to_vec(),
        }
    }

    /// The variant that the others are compared with: the file's `baseline`, or the first.
    pub fn baseline(&self) -> Option<&str> {
        let first = || self.variants.first().map(|v| v.name.as_str());
        self.baseline.as_deref().or_else(first)
    }
}

impl Scenario {
    /// The default goals of the scenario's applications: completion times for pages, requests and finite
    /// transfers, delay for calls and games, goodput for the rest. Probes count only if there is no other
    /// flow.
    pub fn default_goals(&self) -> Vec<Goal> {
        let is_probe = |f: &&Flow| matches!(f.app, App::Probe { .. });
        let alone = self.flows.iter().all(|f| is_probe(&f));
        let limits = PathLimits::new(self, None);
        let each = self.flows.iter().zip(&limits.flows).filter(|(f, _)| alone || !is_probe(f));
        let mut goals: Vec<Goal> = each.map(|(flow, limit)| default_goal(flow, *limit)).collect();
        // Endless transfers are background traffic when other flows have a time or delay goal.
        if goals.iter().any(|&g| g != Goal::Goodput) {
            goals.retain(|&g| g != Goal::Goodput);
        }
        goals.sort_unstable();
        goals.dedup();
        if goals.is_empty() { vec![Goal::Goodput] } else { goals }
    }
}

/// Datagram flows of up to this share of the path's rate count as real-time (a call, a video, a game).
const CALL_SHARE: f64 = 0.5;
/// Datagram flows of up to this rate count as real-time if the path's rate is unknown or changes, Mbit/s. A
/// video call needs less.
const MAX_CALL_MBPS: f64 = 20.0;

impl Flow {
    /// Whether the flow is a call, a video or a game, for which delay and loss matter rather than goodput.
    /// `limit_mbps` is the rate that its path carries, if known.
    pub fn is_real_time(&self, limit_mbps: Option<f64>) -> bool {
        match self.app {
            App::Voice { .. } => true,
            App::Udp { rate, .. } => {
                let most = limit_mbps.map_or(MAX_CALL_MBPS, |limit| CALL_SHARE * limit);
                rate.as_mbps() * f64::from(self.count.max(1)) <= most
            }
            _ => false,
        }
    }
}

fn default_goal(flow: &Flow, limit_mbps: Option<f64>) -> Goal {
    match flow.app {
        App::Bulk { bytes: Some(_), .. } | App::Request { .. } => Goal::Completion,
        App::Probe { .. } => Goal::Delay,
        App::Page { .. } => Goal::Page,
        _ if flow.is_real_time(limit_mbps) => Goal::Delay,
        _ => Goal::Goodput,
    }
}
