//! A run that the caller plays step by step, looking at its connections and moving their windows in between.
//!
//! In this order: [`SimSession::new`]; [`SimSession::play_until`], as often as wanted, with later times;
//! [`SimSession::finish`]. However it is cut into steps, the run is the same to the byte.

use crate::end_id::EndId;
use crate::flows::{FlowKind, OwnControls};
use crate::run::{SimOptions, SimRun};
use result::Outcome;
use scenario::Scenario;
use std::borrow::Cow;
use transport::Tcp;
use units::Time;

/// Runs one variant of a scenario in virtual time. The outcome of a run that [`SimOptions::progress`] ended is that
/// of the time played, which its `duration_s` tells.
pub fn run(variant: &str, scenario: &Scenario, options: SimOptions) -> Outcome {
    SimSession::new(Cow::Borrowed(scenario), options).finish(variant)
}

/// A run under way.
pub struct SimSession<'s, 'a> {
    scenario: Cow<'s, Scenario>,
    run: SimRun<'a>,
    /// Times at which routes change, the next last, and the links that are down from then on.
    changes: Vec<(Time, Vec<usize>)>,
    /// What has been played.
    now: Time,
}

impl<'s, 'a> SimSession<'s, 'a> {
    /// Nothing has been played yet.
    pub fn new(scenario: Cow<'s, Scenario>, mut options: SimOptions<'a>) -> SimSession<'s, 'a> {
        let controls = options.controls.take();
        SimSession::begun(scenario, options, controls)
    }

    /// The same with controllers that are made now and by nothing that has to live on.
    pub fn with_controls(
        scenario: Cow<'s, Scenario>,
        options: SimOptions<'a>,
        controls: &OwnControls<'_>,
    ) -> SimSession<'s, 'a> {
        SimSession::begun(scenario, options, Some(controls))
    }

    fn begun(
        scenario: Cow<'s, Scenario>,
        options: SimOptions<'a>,
        controls: Option<&OwnControls<'_>>,
    ) -> SimSession<'s, 'a> {
        let scenario = chains::assume(&scenario, false).map_or(scenario, Cow::Owned);
        let scenario = crate::cable::lay(&scenario).map_or(scenario, Cow::Owned);
        let run = SimRun::new(&scenario, options, controls);
        let mut changes = crate::reroute::changes(&scenario);
        changes.reverse();
        SimSession { scenario, run, changes, now: Time::ZERO }
    }

    /// Plays all that is due until `until`, or until the run's end where that is earlier; the time it came to.
    pub fn play_until(&mut self, until: Time) -> Time {
        let end = until.min(Time::ZERO + self.scenario.duration);
        if end > self.now {
            self.now = self.play(end);
        }
        self.now
    }

    /// Plays until `end`, with other routes from each time on at which they change; the time it came to.
    fn play(&mut self, end: Time) -> Time {
        while let Some((at, down)) = self.changes.pop_if(|(at, _)| *at < end) {
            let came = self.run.play(at, self.scenario.sample);
            if came < at || self.run.ended {
                return came;
            }
            self.run.reroute(&self.scenario, &down);
        }
        self.run.play(end, self.scenario.sample)
    }

    /// The time it has come to.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Whether it has come to its end.
    pub fn is_over(&self) -> bool {
        self.now >= Time::ZERO + self.scenario.duration
    }

    /// The number of the end that sends most of a flow's data, an index of the scenario's flows; of several connections
    /// the first's. `None`: datagrams, or no such flow.
    pub fn sending_end(&self, flow: usize) -> Option<usize> {
        let mut flows = self.run.flows.flows.iter().filter(|f| f.of as usize == flow);
        match &flows.next()?.kind {
            FlowKind::Tcp(t) => t.senders().next().map(EndId::index),
            FlowKind::Udp(_) => None,
        }
    }

    /// An end of a connection.
    pub fn end(&self, number: usize) -> Option<&Tcp> {
        self.run.flows.ends.get(number)
    }

    /// The same, whose window may be moved: what that lets go leaves with the next ACK or timer.
    pub fn end_mut(&mut self, number: usize) -> Option<&mut Tcp> {
        self.run.flows.ends.get_mut(number)
    }

    /// Payload that a flow has delivered so far, over all its connections, bytes.
    pub fn delivered_bytes(&self, flow: usize) -> u64 {
        let flows = &self.run.flows;
        flows.flows.iter().filter(|f| f.of as usize == flow).map(|f| flows.delivered(f)).sum()
    }

    /// Whether all connections of a flow are done with what they had to do.
    pub fn is_done(&self, flow: usize) -> bool {
        let flows = &self.run.flows;
        flows.flows.iter().filter(|f| f.of as usize == flow).all(|f| flows.done(f).is_some())
    }

    /// Plays what is left; the summary.
    pub fn finish(mut self, variant: &str) -> Outcome {
        let end = self.play(Time::ZERO + self.scenario.duration);
        self.run.stop(end);
        self.run.summary(variant, &self.scenario, end)
    }
}
