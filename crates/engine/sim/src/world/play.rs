//! The environment itself.

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

/// What kind of world it is to be.
#[derive(Clone, Debug)]
pub struct WorldWish {
    /// Whose window is moved: an index of the scenario's flows. Other flows go on by themselves.
    pub flow: usize,
    /// The run's seed.
    pub seed: u64,
    /// How long a step is.
    pub step: Span,
    /// The scheme's name.
    pub scheme: String,
    /// A control that has the window to itself; actions are then not carried out.
    pub classic: Option<Control>,
    /// Hosts are as restless as real ones.
    pub unrest: bool,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldStep {
    /// What it was worth.
    pub reward: f64,
    /// All connections of the flow are done with what they had to send.
    pub done: bool,
    /// The scenario's duration is over.
    pub over: bool,
}

/// A session that nobody else looks at.
struct OwnSession(SimSession<'static, 'static>);

// SAFETY: what of a session is bound to a thread are its tap and its watcher of progress, which are borrowed from the
// caller; `World::new` gives it neither, nor are they set later. Its controllers are `Send` by their trait.
#[allow(unsafe_code)]
unsafe impl Send for OwnSession {}

/// An environment: see the head of the crate.
pub struct World {
    session: OwnSession,
    wish: WorldWish,
    /// The number of the end whose window is moved.
    end: usize,
    actor: WindowActor,
}

impl World {
    /// Plays until the flow is established.
    ///
    /// # Errors
    /// The wish cannot be had of this scenario.
    pub fn new(scenario: Scenario, wish: WorldWish) -> Result<World, WorldError> {
        let actor = WindowActor::new(&wish.scheme, wish.classic)?;
        if wish.step.is_zero() {
            return Err(WorldError::NoStep);
        }
        let of = scenario.flows.get(wish.flow).filter(|f| f.count == 1 && f.app.connections() == 1);
        let flow = of.ok_or(WorldError::NoSender(wish.flow))?;
        let sending = if flow.app.answers() { Side::Server } else { Side::Client };
        let session = begun(scenario, &wish, &actor, sending);
        let end = session.0.sending_end(wish.flow).ok_or(WorldError::NoSender(wish.flow))?;
        let mut world = World { session, wish, end, actor };
        world.establish()?;
        Ok(world)
    }

    fn establish(&mut self) -> Result<(), WorldError> {
        while !self.session.0.end(self.end).is_some_and(WindowActor::may_begin) {
            if self.session.0.is_over() {
                return Err(WorldError::NeverEstablished);
            }
            let until = self.session.0.now() + self.wish.step;
            self.session.0.play_until(until);
        }
        let now = self.session.0.now();
        if let Some(end) = self.session.0.end_mut(self.end) {
            self.actor.begin(now, end);
        }
        Ok(())
    }

    /// What actions are.
    pub fn action_space(&self) -> ActionSpace {
        self.actor.action_space()
    }

    /// Carries out an action (`None`: leaves everything as it is) and plays a step. Of an action that is out of bounds the
    /// nearest that is in them is taken.
    ///
    /// # Errors
    /// The action has another length than the space, or is no number.
    pub fn step(&mut self, action: Option<&[f64]>) -> Result<WorldStep, WorldError> {
        if let (Some(action), Some(end)) = (action, self.session.0.end_mut(self.end)) {
            self.actor.act(action, end)?;
        }
        let until = self.session.0.now() + self.wish.step;
        let now = self.session.0.play_until(until);
        if let Some(end) = self.session.0.end(self.end) {
            self.actor.measure(now, end);
        }
        Ok(WorldStep {
            reward: self.actor.reward(),
            done: self.session.0.is_done(self.wish.flow),
            over: self.session.0.is_over(),
        })
    }

    /// What is seen: the scheme's figures, step by step, the newest at the end.
    pub fn observation(&self) -> &[f32] {
        self.actor.observation()
    }

    /// What the last step measured.
    pub fn figures(&self) -> &StepFigures {
        self.actor.figures()
    }

    /// Payload that the flow has delivered, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.session.0.delivered_bytes(self.wish.flow)
    }

    /// Whether the scenario's duration is over.
    pub fn is_over(&self) -> bool {
        self.session.0.is_over()
    }
}

/// The session of a world in which nothing has been played.
fn begun(scenario: Scenario, wish: &WorldWish, actor: &WindowActor, sending: Side) -> OwnSession {
    let (flow, seed) = (wish.flow, wish.seed);
    let own: &OwnControls<'_> = &|of, side| {
        let is_actors = of == flow && side == sending;
        is_actors.then(|| actor.control(seed, &format!("world.{of}")))
    };
    let options = SimOptions { seed, unrest: wish.unrest, ..SimOptions::default() };
    OwnSession(SimSession::with_controls(Cow::Owned(scenario), options, own))
}
