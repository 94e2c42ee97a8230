//! A scenario in the making: links whose stages remember the lines they came from.

use crate::ImportError;
use congestion::Control;
use path::{Delay, Link, Stage, StageLimit};
use scenario::{DuplexLink, Experiment, Flow, Host, NamedStage, Scenario, Unrest, Variant};
use std::collections::BTreeMap;
use transport::App;
use units::{Rate, Span};

/// What a configuration does not say and a scenario needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assumed {
    /// Round-trip time of the empty path.
    pub rtt: Span,
    /// How long a run takes; `None`: as long as the configuration lasts, or 10 s.
    pub duration: Option<Span>,
    /// Congestion control of the flows.
    pub cc: Control,
}

/// A stage and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftStage {
    /// Its name; made unique and fit for a scenario later.
    pub name: String,
    /// What it does.
    pub stage: Stage,
    /// The line of the file.
    pub line: usize,
    /// What stood there, in a few words.
    pub says: String,
    /// Lines of parts of it by name: the classes of a tree.
    pub parts: BTreeMap<String, usize>,
    /// The file whose text was read into it, as the scenario is to name it.
    pub file: Option<String>,
}

impl DraftStage {
    /// A stage without parts.
    pub fn new(name: &str, line: usize, says: impl Into<String>, stage: impl Into<Stage>) -> DraftStage {
        let (name, says, stage) = (name.to_string(), says.into(), stage.into());
        DraftStage { name, stage, line, says, parts: BTreeMap::new(), file: None }
    }
}

/// A link in the making.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftLink {
    /// Its name.
    pub name: String,
    /// The hosts it joins.
    pub between: [String; 2],
    /// From the first to the second.
    pub forward: Vec<DraftStage>,
    /// From the second to the first.
    pub backward: Vec<DraftStage>,
    /// Whether it takes its share of the assumed round-trip time: nothing said how long it is.
    pub of_assumed_length: bool,
}

impl DraftLink {
    /// From `here` to what lies beyond an interface, with stages on the way out, or in where it is `inward`.
    pub fn beyond(
        name: String,
        [here, beyond]: [&str; 2],
        inward: bool,
        stages: Vec<DraftStage>,
    ) -> DraftLink {
        let (forward, backward) = if inward { (vec![], stages) } else { (stages, vec![]) };
        let between = [here.into(), beyond.into()];
        DraftLink { name, between, forward, backward, of_assumed_length: true }
    }
}

/// A flow in the making.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftFlow {
    /// Its name.
    pub name: String,
    /// Sends.
    pub from: String,
    /// Receives.
    pub to: String,
    /// Its codepoint, by which classes know it.
    pub dscp: u8,
    /// What it sends.
    pub app: App,
    /// When it starts.
    pub start: Span,
    /// What of the configuration it stands for.
    pub says: String,
}

impl DraftFlow {
    /// A bulk flow.
    pub fn bulk(
        name: impl Into<String>,
        from: &str,
        to: &str,
        dscp: u8,
        says: impl Into<String>,
    ) -> DraftFlow {
        let app = App::Bulk { bytes: None, duration: None };
        DraftFlow {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            dscp,
            app,
            start: Span::ZERO,
            says: says.into(),
        }
    }
}

/// A scenario in the making.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Links.
    pub links: Vec<DraftLink>,
    /// Flows.
    pub flows: Vec<DraftFlow>,
    /// How long what is configured lasts, where it says so.
    pub duration: Option<Span>,
}

/// A name as a scenario takes it, none of `taken`.
fn named(name: &str, taken: &mut Vec<String>) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let mut base: String = name.chars().map(fit).take(48).collect();
    base = base.trim_start_matches(['-', '.']).trim_end_matches('-').to_string();
    if base.is_empty() || base.chars().all(|c| c.is_ascii_digit()) {
        base = format!("n{base}");
    }
    let mut name = base.clone();
    let mut n = 2;
    while taken.contains(&name) {
        name = format!("{base}-{n}");
        n += 1;
    }
    taken.push(name.clone());
    name
}

impl Draft {
    /// All stages.
    pub fn stages(&self) -> impl Iterator<Item = &DraftStage> {
        self.links.iter().flat_map(|l| l.forward.iter().chain(&l.backward))
    }

    /// The draft as an experiment of one variant. Names are made fit; where nothing said how long a link is, half
    /// of the assumed round-trip time stands in each direction.
    ///
    /// # Errors
    /// [`ImportError::Nothing`] where no link has a stage, [`ImportError::NoScenario`] where a stage's own check fails.
    pub fn experiment(
        &self,
        name: &str,
        description: String,
        assumed: &Assumed,
    ) -> Result<Experiment, ImportError> {
        if self.stages().next().is_none() {
            return Err(ImportError::Nothing);
        }
        for stage in self.stages() {
            stage.stage.check().map_err(|p| {
                let why = format!("line {}: {}: {}", stage.line, p.key, p.message);
                ImportError::NoScenario(why)
            })?;
        }
        let mut hosts: Vec<(String, Host)> = Vec::new();
        let mut taken = Vec::new();
        let mut index = |wanted: &str| {
            if let Some(i) = hosts.iter().position(|(w, _)| w == wanted) {
                return i;
            }
            hosts.push((wanted.into(), Host::plain(named(wanted, &mut taken))));
            hosts.len() - 1
        };
        let mut link_names = Vec::new();
        let links: Vec<DuplexLink> = (self.links.iter())
            .map(|link| DuplexLink {
                name: named(&link.name, &mut link_names),
                customer: None,
                between: [index(&link.between[0]), index(&link.between[1])],
                forward: way(&link.forward, link.of_assumed_length, assumed),
                backward: way(&link.backward, link.of_assumed_length, assumed),
            })
            .collect();
        let mut flow_names = Vec::new();
        let duration = assumed.duration.or(self.duration).unwrap_or(Span::from_secs(10));
        let begun = self.flows.iter().filter(|flow| flow.start < duration);
        let flows = begun.map(|flow| Flow {
            name: named(&flow.name, &mut flow_names),
            from: index(&flow.from),
            to: index(&flow.to),
            cc: assumed.cc,
            count: 1,
            start: flow.start,
            stagger: Span::ZERO,
            app: flow.app.clone(),
            tool: None,
            via: Vec::new(),
            dscp: flow.dscp,
            max_pacing_rate: None,
        });
        let flows = flows.collect();
        let name = named(name, &mut Vec::new());
        let scenario = Scenario {
            name: name.clone(),
            duration,
            seed: 1,
            sample: Span::from_millis(10),
            one_at_a_time: false,
            measure: None,
            unrest: Unrest::default(),
            hosts: hosts.into_iter().map(|(_, host)| host).collect(),
            links,
            relays: Vec::new(),
            flows,
            faults: Vec::new(),
        };
        let variants = vec![Variant { name: "default".into(), scenario }];
        Ok(Experiment { name, description, goal: Vec::new(), baseline: None, variants })
    }
}

/// What carries packets where nothing limits them: a scenario whose flows know no end of speed takes for ever.
const LINE: Rate = Rate::from_bps(1_000_000_000);

/// Whether some stage limits the rate.
fn limited(stages: &[DraftStage]) -> bool {
    let limits = |s: &DraftStage| {
        matches!(s.stage, Stage::Htb(_) | Stage::RateTrace(_)) || s.stage.limit() != StageLimit::None
    };
    stages.iter().any(limits)
}

/// A direction's stages; a line where nothing limits, and the length of the path, come last.
fn way(stages: &[DraftStage], of_assumed_length: bool, assumed: &Assumed) -> Vec<NamedStage> {
    let mut taken = Vec::new();
    let mut all: Vec<NamedStage> = (stages.iter())
        .map(|s| NamedStage {
            name: named(&s.name, &mut taken),
            stage: s.stage.clone(),
            file: s.file.clone(),
            assumed: false,
        })
        .collect();
    if !stages.is_empty() && !limited(stages) {
        let line = Link { rate: Some(LINE), ..Link::default() };
        all.push(NamedStage {
            name: named("line", &mut taken),
            stage: line.into(),
            file: None,
            assumed: false,
        });
    }
    if of_assumed_length && !assumed.rtt.is_zero() {
        let delay = Span::from_nanos(assumed.rtt.as_nanos() / 2);
        all.push(NamedStage {
            name: named("delay", &mut taken),
            stage: Delay { delay }.into(),
            file: None,
            assumed: false,
        });
    }
    all
}
