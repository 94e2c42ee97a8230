//! The environment.

use super::actor::WindowActor;
use super::error::WorldError;
use super::figures::StepFigures;
use super::scheme::ActionSpace;
use crate::{OwnControls, SimOptions, SimSession};
use congestion::Control;
use scenario::Scenario;
use std::borrow::Cow;
use transport::Side;
use units::Span;

/// Options of a world.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// The flow whose window the actor sets (an index of the scenario's flows); other flows are not
    /// affected.
    pub flow: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Length of a step.
    pub step: Span,
    /// Name of the scheme.
    pub scheme: String,
    /// A congestion control that controls the window alone; actions then have no effect.
    pub classic: Option<Control>,
    /// Whether hosts have random scheduling delays (the scenario's key `host_jitter`).
    pub host_jitter: bool,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldStep {
    pub reward: f64,
    /// Whether all connections of the flow have completed their work.
    pub done: bool,
    /// Whether the scenario's duration is over.
    pub over: bool,
}

/// A session without a tap and without a progress callback.
struct OwnSession(SimSession<'static, 'static>);

// A session is bound to a thread only by its tap and its progress callback, which are borrowed from the
// caller; `World::new` sets neither, and they cannot be set later. Controllers are `Send` by their trait.
#[allow(unsafe_code)]
unsafe impl Send for OwnSession {}

/// An environment; see the documentation of the module.
pub struct World {
    session: OwnSession,
    options: WorldOptions,
    /// Number of the connection end whose window is set.
    end: usize,
    actor: WindowActor,
}

impl World {
    /// Simulates until the flow is established.
    ///
    /// # Errors
    /// Fails when the options do not fit the scenario: an unknown scheme, a flow that is not a single TCP
    /// connection, a step of zero length, or a flow that is never established.
    pub fn new(scenario: Scenario, options: WorldOptions) -> Result<World, WorldError> {
        let actor = WindowActor::new(&options.scheme, options.classic)?;
        if options.step.is_zero() {
            return Err(WorldError::NoStep);
        }
        let tcp_flow = scenario.flows.get(options.flow).filter(|f| f.count == 1 && f.app.connections() == 1);
        let flow = tcp_flow.ok_or(WorldError::NoSender(options.flow))?;
        let sending = if flow.app.answers() { Side::Server } else { Side::Client };
        let session = prepare_session(scenario, &options, &actor, sending);
        let end = session.0.sending_end(options.flow).ok_or(WorldError::NoSender(options.flow))?;
        let mut world = World { session, options, end, actor };
        world.establish()?;
        Ok(world)
    }

    fn establish(&mut self) -> Result<(), WorldError> {
        while !self.session.0.end(self.end).is_some_and(WindowActor::may_begin) {
            if self.session.0.is_over() {
                return Err(WorldError::NeverEstablished);
            }
            let until = self.session.0.now() + self.options.step;
            self.session.0.play_until(until);
        }
        let now = self.session.0.now();
        if let Some(end) = self.session.0.end_mut(self.end) {
            self.actor.begin(now, end);
        }
        Ok(())
    }

    pub fn action_space(&self) -> ActionSpace {
        self.actor.action_space()
    }

    /// Carries out an action (`None`: changes nothing) and simulates a step. An action out of bounds is
    /// clamped.
    ///
    /// # Errors
    /// Fails when the action has the wrong length or contains a value that is not finite.
    pub fn step(&mut self, action: Option<&[f64]>) -> Result<WorldStep, WorldError> {
        if let (Some(action), Some(end)) = (action, self.session.0.end_mut(self.end)) {
            self.actor.act(action, end)?;
        }
        let until = self.session.0.now() + self.options.step;
        let now = self.session.0.play_until(until);
        if let Some(end) = self.session.0.end(self.end) {
            self.actor.measure(now, end);
        }
        Ok(WorldStep {
            reward: self.actor.reward(),
            done: self.session.0.is_done(self.options.flow),
            over: self.session.0.is_over(),
        })
    }

    /// The observation: the scheme's values, step by step, the newest last.
    pub fn observation(&self) -> &[f32] {
        self.actor.observation()
    }

    /// Measurements of the last step.
    pub fn figures(&self) -> &StepFigures {
        self.actor.figures()
    }

    /// Payload that the flow has delivered, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.session.0.delivered_bytes(self.options.flow)
    }

    /// Whether the scenario's duration is over.
    pub fn is_over(&self) -> bool {
        self.session.0.is_over()
    }
}

/// A session at time zero, in which the actor's control replaces that of the flow's sender.
fn prepare_session(
    scenario: Scenario,
    options: &WorldOptions,
    actor: &WindowActor,
    sending: Side,
) -> OwnSession {
    let (flow, seed) = (options.flow, options.seed);
    let own: &OwnControls<'_> = &|index, side| {
        let is_actors = index == flow && side == sending;
        is_actors.then(|| actor.control(seed, &format!("world.{flow}")))
    };
    let options = SimOptions { seed, host_jitter: options.host_jitter, ..SimOptions::default() };
    OwnSession(SimSession::with_controls(Cow::Owned(scenario), options, own))
}
