//! Measures what a cure costs others if the scenario has no call, game or probe: a call in both directions is
//! added to the data, in separate runs.

use crate::error::PlanError;
use crate::measure;
use crate::model::VoiceCost;
use crate::runner::{Measured, Runner, for_runs};
use crate::situation::Situation;
use result::VariantResult;
use scenario::{Flow, Scenario};
use transport::App;
use transport::Codec;
use units::Span;

/// Names of the call's two directions: with the data, and against it.
const NAMES: [&str; 2] = ["added-call", "added-call-back"];

/// Returns the scenario with an additional call. For flows that run one at a time, it returns a scenario with
/// a call for each.
fn with_call(s: &Scenario, duration: Span) -> Vec<Scenario> {
    let situation = Situation::new(std::slice::from_ref(s));
    let direction = |name: &str, from: usize, to: usize| Flow {
        name: name.into(),
        from,
        to,
        cc: Default::default(),
        count: 1,
        start: Span::ZERO,
        stagger: Span::ZERO,
        app: App::Voice { codec: Codec::G711, jitter_buffer: None, duration: None },
        tool: None,
        via: Vec::new(),
        dscp: 0,
        max_pacing_rate: None,
    };
    let call = |from: usize, to: usize| [direction(NAMES[0], from, to), direction(NAMES[1], to, from)];
    let mut whole = for_runs(s);
    (whole.one_at_a_time, whole.measure, whole.sample) = (false, None, Span::ZERO);
    whole.duration = duration;
    if s.one_at_a_time {
        let alone = situation.paths.iter().map(|w| {
            let mut one = whole.clone();
            one.flows = vec![s.flows[w.flow].clone()];
            one.flows.extend(call(w.from, w.to));
            one
        });
        return alone.collect();
    }
    let Some(first) = situation.paths.first() else { return Vec::new() };
    whole.flows.extend(call(first.from, first.to));
    vec![whole]
}

/// Returns the quality of the call's worse direction in one run. If nothing of it arrived, everything was
/// lost.
fn cost(v: &VariantResult) -> Option<VoiceCost> {
    let directions = v.flows.iter().filter(|f| NAMES.contains(&f.name.as_str()));
    let met = directions.map(|flow| {
        flow.real_time.map_or(VoiceCost { lost: 1.0, ..VoiceCost::default() }, |r| VoiceCost {
            p95_delay_ms: r.delay_ms.p95,
            lost: r.lost,
            mos: r.mos,
        })
    });
    met.max_by(measure::worse)
}

/// Returns the quality of an added call for each of these sets of scenarios. For scenarios that run flows one
/// at a time, the worst call counts.
pub fn costs(
    runner: &mut Runner<'_, '_>,
    sets: &[Vec<Scenario>],
    duration: Span,
    seeds: u32,
) -> Result<Vec<Option<VoiceCost>>, PlanError> {
    let calls: Vec<Vec<Scenario>> =
        sets.iter().map(|set| set.iter().flat_map(|s| with_call(s, duration)).collect()).collect();
    let worst = |measured: Measured| {
        let costs: Vec<VoiceCost> = measured
            .iter()
            .filter_map(|seeds| measure::voice(&seeds.iter().filter_map(cost).collect::<Vec<_>>()))
            .collect();
        costs.into_iter().max_by(measure::worse)
    };
    Ok(runner.run(&calls, seeds)?.into_iter().map(worst).collect())
}
