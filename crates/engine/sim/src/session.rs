//! A run that the caller advances step by step; between steps it may inspect connections and set their
//! windows.
//!
//! Order of calls: [`SimSession::new`]; [`SimSession::play_until`] any number of times, with increasing
//! times; [`SimSession::finish`]. The result is the same to the byte however the run is divided into steps.

use crate::end_id::EndId;
use crate::flows::{FlowKind, OwnControls};
use crate::run::{SimOptions, SimRun};
use result::Outcome;
use scenario::Scenario;
use std::borrow::Cow;
use transport::Tcp;
use units::Time;

/// Runs one variant of a scenario in virtual time. If [`SimOptions::progress`] ended the run, the outcome
/// covers the simulated time, which is its `duration_s`.
pub fn run(variant: &str, scenario: &Scenario, options: SimOptions) -> Outcome {
    SimSession::new(Cow::Borrowed(scenario), options).finish(variant)
}

/// A simulation that its caller advances step by step.
pub struct SimSession<'s, 'a> {
    scenario: Cow<'s, Scenario>,
    run: SimRun<'a>,
    /// Route changes still to come, the next one last: their time and the links that are down from then on.
    changes: Vec<(Time, Vec<usize>)>,
    /// Time up to which the run has been simulated.
    now: Time,
}

impl<'s, 'a> SimSession<'s, 'a> {
    /// Prepares a run at time zero.
    pub fn new(scenario: Cow<'s, Scenario>, mut options: SimOptions<'a>) -> SimSession<'s, 'a> {
        let controls = options.controls.take();
        SimSession::prepare(scenario, options, controls)
    }

    /// Prepares a run with controllers from `controls`, which are all made now, so that `controls` need not
    /// outlive the call.
    pub fn with_controls(
        scenario: Cow<'s, Scenario>,
        options: SimOptions<'a>,
        controls: &OwnControls<'_>,
    ) -> SimSession<'s, 'a> {
        SimSession::prepare(scenario, options, Some(controls))
    }

    fn prepare(
        scenario: Cow<'s, Scenario>,
        options: SimOptions<'a>,
        controls: Option<&OwnControls<'_>>,
    ) -> SimSession<'s, 'a> {
        let scenario = chains::assume(&scenario, false).map_or(scenario, Cow::Owned);
        let scenario = crate::cable::add_cables(&scenario).map_or(scenario, Cow::Owned);
        let run = SimRun::new(&scenario, options, controls);
        let mut changes = crate::reroute::changes(&scenario);
        changes.reverse();
        SimSession { scenario, run, changes, now: Time::ZERO }
    }

    /// Simulates all events up to `until` or the end of the run, whichever is earlier; returns the time
    /// reached.
    pub fn play_until(&mut self, until: Time) -> Time {
        let end = until.min(Time::ZERO + self.scenario.duration);
        if end > self.now {
            self.now = self.play(end);
        }
        self.now
    }

    /// Simulates all events up to `end`, changing routes when they are due; returns the time reached.
    fn play(&mut self, end: Time) -> Time {
        while let Some((at, down)) = self.changes.pop_if(|(at, _)| *at < end) {
            let reached = self.run.play(at, self.scenario.sample);
            if reached < at || self.run.ended {
                return reached;
            }
            self.run.reroute(&self.scenario, &down);
        }
        self.run.play(end, self.scenario.sample)
    }

    /// Time up to which the run has been simulated.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether the end of the run is reached.
    pub fn is_over(&self) -> bool {
        self.now >= Time::ZERO + self.scenario.duration
    }

    /// Number of the end that sends most data of a flow (an index of the scenario's flows), of its first
    /// connection. `None` for datagrams, or if there is no such flow.
    pub fn sending_end(&self, flow: usize) -> Option<usize> {
        let mut flows = self.run.flows.flows.iter().filter(|f| f.scenario_flow as usize == flow);
        match &flows.next()?.kind {
            FlowKind::Tcp(t) => t.senders().next().map(EndId::index),
            FlowKind::Udp(_) => None,
        }
    }

    /// A connection end by its number.
    pub fn end(&self, number: usize) -> Option<&Tcp> {
        self.run.flows.ends.get(number)
    }

    /// A connection end by its number, for changing its window: data that a larger window admits leaves with
    /// the next ACK or timer.
    pub fn end_mut(&mut self, number: usize) -> Option<&mut Tcp> {
        self.run.flows.ends.get_mut(number)
    }

    /// Payload that a flow has delivered so far over all its connections, bytes.
    pub fn delivered_bytes(&self, flow: usize) -> u64 {
        let flows = &self.run.flows;
        flows.flows.iter().filter(|f| f.scenario_flow as usize == flow).map(|f| flows.delivered(f)).sum()
    }

    /// Whether all connections of a flow have completed their work.
    pub fn is_done(&self, flow: usize) -> bool {
        let flows = &self.run.flows;
        flows.flows.iter().filter(|f| f.scenario_flow as usize == flow).all(|f| flows.done(f).is_some())
    }

    /// Simulates the rest of the run and returns its outcome.
    pub fn finish(mut self, variant: &str) -> Outcome {
        let end = self.play(Time::ZERO + self.scenario.duration);
        self.run.stop(end);
        self.run.summary(variant, &self.scenario, end)
    }
}
