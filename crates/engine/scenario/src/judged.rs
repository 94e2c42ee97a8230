//! The keys that say what is measured and what it is judged by: `measure`, `goal`, `baseline`.

use crate::limits::PathLimits;
use crate::model::{Experiment, Flow, Scenario};
use document::{Fault, Node, RefusalCause};
use serde::Deserialize;
use transport::App;
use units::{Goal, Span};

/// What stands between the two times of `measure`.
const TO: &str = "..";

/// `measure`: two times within the run, or `None` for all of it.
pub(crate) fn measure(root: &Node, duration: Span, sample: Span) -> Result<Option<[Span; 2]>, Fault> {
    let Some(node) = root.get("measure") else { return Ok(None) };
    let text = String::deserialize(node).map_err(|f| f.or_at(node.at))?;
    if text == "all" {
        return Ok(None);
    }
    let wrong = |cause| Fault::new(cause, node.at);
    let example = "two times, as in \"2s..18s\", or \"all\"";
    let bad = |message: String| wrong(RefusalCause::BadValue { message });
    let (from, to) = text.split_once(TO).ok_or_else(|| bad(format!("must be {example}")))?;
    let time = |text: &str| text.trim().parse::<Span>().map_err(|e| bad(format!("{e}: must be {example}")));
    let [from, to] = [time(from)?, time(to)?];
    if from >= to || to > duration {
        let allowed =
            format!("the first time before the second, that one up to the end of the run at {duration}");
        return Err(wrong(RefusalCause::OutOfRange { found: text, allowed }));
    }
    if sample.is_zero() {
        let message = "`measure` needs time series, and `sample = \"0s\"` records none".into();
        return Err(wrong(RefusalCause::Conflict { message }));
    }
    Ok(Some([from, to]))
}

/// As the file has it.
pub(crate) fn spell_measure(measure: Option<[Span; 2]>) -> String {
    measure.map_or_else(|| "all".into(), |[from, to]| format!("{from}{TO}{to}"))
}

/// `goal`: one or a list; none where the key is not there.
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

/// `baseline`: the name of a variant.
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
    /// What its variants are judged by, the most important first: `goal`, or what follows from the first variant's
    /// applications.
    pub fn goals(&self) -> Vec<Goal> {
        match (&self.goal[..], self.variants.first()) {
            ([], Some(first)) => first.scenario.usual_goals(),
            (stated, _) => stated.to_vec(),
        }
    }

    /// The variant that the others are compared with: `baseline`, or the first.
    pub fn baseline(&self) -> Option<&str> {
        let first = || self.variants.first().map(|v| v.name.as_str());
        self.baseline.as_deref().or_else(first)
    }
}

impl Scenario {
    /// What matters to those who use its applications. Who waits for pages or answers looks at times, who has a call or a game
    /// at delays; what only moves data is judged by how much it moves. A probe looks and changes nothing, unless it is alone.
    pub fn usual_goals(&self) -> Vec<Goal> {
        let is_probe = |f: &&Flow| matches!(f.app, App::Probe { .. });
        let alone = self.flows.iter().all(|f| is_probe(&f));
        let limits = PathLimits::new(self, None);
        let each = self.flows.iter().zip(&limits.flows).filter(|(f, _)| alone || !is_probe(f));
        let mut goals: Vec<Goal> = each.map(|(flow, limit)| usual(flow, *limit)).collect();
        // Traffic without an end is the background of whoever waits.
        if goals.iter().any(|&g| g != Goal::Goodput) {
            goals.retain(|&g| g != Goal::Goodput);
        }
        goals.sort_unstable();
        goals.dedup();
        if goals.is_empty() { vec![Goal::Goodput] } else { goals }
    }
}

/// Datagrams of up to this share of what their path carries are somebody's call, video or game; more is a load.
const CALL_SHARE: f64 = 0.5;
/// The same where what the path carries is not known or changes, Mbit/s: more than a video call takes.
const MOST_OF_A_CALL: f64 = 20.0;

impl Flow {
    /// Whether it is a call, a video or a game, for which delay and loss count and not how much it carries. `limit_mbps` is what
    /// its path carries, if that is known.
    pub fn is_real_time(&self, limit_mbps: Option<f64>) -> bool {
        match self.app {
            App::Voice { .. } => true,
            App::Udp { rate, .. } => {
                let most = limit_mbps.map_or(MOST_OF_A_CALL, |limit| CALL_SHARE * limit);
                rate.as_mbps() * f64::from(self.count.max(1)) <= most
            }
            _ => false,
        }
    }
}

fn usual(flow: &Flow, limit_mbps: Option<f64>) -> Goal {
    match flow.app {
        App::Bulk { bytes: Some(_), .. } | App::Request { .. } => Goal::Completion,
        App::Probe { .. } => Goal::Delay,
        App::Page { .. } => Goal::Page,
        _ if flow.is_real_time(limit_mbps) => Goal::Delay,
        _ => Goal::Goodput,
    }
}
