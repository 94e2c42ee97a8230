//! The environment itself.

use crate::figures::{SenderTotals, StepFigures};
use crate::scheme::{ActionSpace, BOUND, Scheme, scheme};
use crate::tally::{AckTally, TalliedControl};
use congestion::{Control, Controller};
use scenario::Scenario;
use sim::{OwnControls, SimOptions, SimSession};
use std::borrow::Cow;
use std::fmt;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};
use transport::{Side, Tcp};
use units::{Span, Time};

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

/// Why there is no world, or no step.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldError {
    /// No such scheme.
    Scheme(String),
    /// The flow is none, of datagrams, or of several connections.
    NoSender(usize),
    /// The run is over before the flow is established.
    NeverEstablished,
    /// A step takes no time.
    NoStep,
    /// An action that is none of the space.
    Action(String),
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorldError::Scheme(name) => {
                let known: Vec<&str> = crate::SCHEMES.iter().map(|(name, _, _)| *name).collect();
                write!(f, "no scheme is called `{name}`; there are: {}", known.join(", "))
            }
            WorldError::NoSender(flow) => {
                write!(f, "flow {flow} is none of the scenario's TCP flows with one connection")
            }
            WorldError::NeverEstablished => {
                f.write_str("the flow is not established before the scenario's duration is over")
            }
            WorldError::NoStep => f.write_str("a step has to take time"),
            WorldError::Action(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for WorldError {}

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
    scheme: Box<dyn Scheme>,
    tally: Arc<Mutex<AckTally>>,
    totals: SenderTotals,
    figures: StepFigures,
    /// StepFigures of the scheme's last steps, the newest at the end.
    seen: Vec<f32>,
    row: Vec<f64>,
}

impl World {
    /// Plays until the flow is established.
    ///
    /// # Errors
    /// The wish cannot be had of this scenario.
    pub fn new(scenario: Scenario, wish: WorldWish) -> Result<World, WorldError> {
        let scheme = scheme(&wish.scheme).ok_or_else(|| WorldError::Scheme(wish.scheme.clone()))?;
        if wish.step.is_zero() {
            return Err(WorldError::NoStep);
        }
        let of = scenario.flows.get(wish.flow).filter(|f| f.count == 1 && f.app.connections() == 1);
        let flow = of.ok_or(WorldError::NoSender(wish.flow))?;
        let sending = if flow.app.answers() { Side::Server } else { Side::Client };
        let tally = Arc::new(Mutex::new(AckTally::default()));
        let session = begun(scenario, &wish, &*scheme, sending, &tally);
        let end = session.0.sending_end(wish.flow).ok_or(WorldError::NoSender(wish.flow))?;
        let seen = vec![0.0; scheme.features() * scheme.history()];
        let row = vec![0.0; scheme.features()];
        let (totals, figures) = (SenderTotals::default(), StepFigures::default());
        let mut world = World { session, wish, end, scheme, tally, totals, figures, seen, row };
        world.establish()?;
        Ok(world)
    }

    fn establish(&mut self) -> Result<(), WorldError> {
        while !self.tcp().is_some_and(|end| end.is_established() && end.tx.s.srtt.is_some()) {
            if self.session.0.is_over() {
                return Err(WorldError::NeverEstablished);
            }
            let until = self.session.0.now() + self.wish.step;
            self.session.0.play_until(until);
        }
        let now = self.session.0.now();
        let (paced, wish_is_actors) = (self.scheme.paced(), self.wish.classic.is_none());
        if let Some(end) = self.session.0.end_mut(self.end) {
            let (s, w) = (&end.tx.s, &mut end.tx.w);
            if paced && wish_is_actors {
                // A window a round trip, as a paced sender begins.
                let rtt = s.srtt.map_or(0.1, Span::as_secs_f64).max(1e-6);
                w.pacing_rate = (f64::from(w.cwnd) * f64::from(s.mss) / rtt) as u64;
            }
            self.totals = SenderTotals::of(now, end);
        }
        self.measure(now);
        Ok(())
    }

    fn tcp(&self) -> Option<&Tcp> {
        self.session.0.end(self.end)
    }

    /// What actions are.
    pub fn action_space(&self) -> ActionSpace {
        self.scheme.action_space()
    }

    /// Carries out an action (`None`: leaves everything as it is) and plays a step. Of an action that is out of bounds the
    /// nearest that is in them is taken.
    ///
    /// # Errors
    /// The action has another length than the space, or is no number.
    pub fn step(&mut self, action: Option<&[f64]>) -> Result<WorldStep, WorldError> {
        if let Some(action) = action {
            let action = fitting(action, self.scheme.action_space())?;
            if self.wish.classic.is_none()
                && let Some(end) = self.session.0.end_mut(self.end)
            {
                self.scheme.act(&action, &self.figures, &end.tx.s, &mut end.tx.w);
            }
        }
        let until = self.session.0.now() + self.wish.step;
        let now = self.session.0.play_until(until);
        self.measure(now);
        Ok(WorldStep {
            reward: self.scheme.reward(&self.figures),
            done: self.session.0.is_done(self.wish.flow),
            over: self.session.0.is_over(),
        })
    }

    /// Works out what the time since the last call was.
    fn measure(&mut self, now: Time) {
        let Some(end) = self.session.0.end(self.end) else { return };
        let tally = take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner));
        let totals = SenderTotals::of(now, end);
        self.figures = StepFigures::of(&self.totals, &totals, &tally, end, &self.figures);
        self.totals = totals;
        self.scheme.observe(&self.figures, &mut self.row);
        let features = self.row.len();
        self.seen.rotate_left(features);
        let newest = self.seen.len() - features;
        for (seen, is) in self.seen[newest..].iter_mut().zip(&self.row) {
            *seen = if is.is_finite() { is.clamp(-BOUND, BOUND) as f32 } else { 0.0 };
        }
    }

    /// What is seen: the scheme's figures, step by step, the newest at the end.
    pub fn observation(&self) -> &[f32] {
        &self.seen
    }

    /// What the last step measured.
    pub fn figures(&self) -> &StepFigures {
        &self.figures
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
fn begun(
    scenario: Scenario,
    wish: &WorldWish,
    scheme: &dyn Scheme,
    sending: Side,
    tally: &Arc<Mutex<AckTally>>,
) -> OwnSession {
    let (flow, seed) = (wish.flow, wish.seed);
    let base = scheme.base().and_then(Control::named);
    let below = wish.classic.or(base);
    let paced = scheme.paced();
    let own: &OwnControls<'_> = &|of, side| {
        if of != flow || side != sending {
            return None;
        }
        let inner = below.map(|control| control.make(seed, &format!("world.{of}")));
        Some(Box::new(TalliedControl::new(inner, paced, tally.clone())) as Box<dyn Controller>)
    };
    let options = SimOptions { seed, unrest: wish.unrest, ..SimOptions::default() };
    OwnSession(SimSession::with_controls(Cow::Owned(scenario), options, own))
}

/// The action, within its bounds.
fn fitting(action: &[f64], space: ActionSpace) -> Result<Vec<f64>, WorldError> {
    let (len, low, high) = match space {
        ActionSpace::Box { len, low, high } => (len, low, high),
        ActionSpace::Discrete(choices) => (1, 0.0, choices as f64 - 1.0),
    };
    if action.len() != len {
        return Err(WorldError::Action(format!("an action is {len} numbers, not {}", action.len())));
    }
    if action.iter().any(|a| !a.is_finite()) {
        return Err(WorldError::Action("an action is a number, which this one is not".into()));
    }
    Ok(action.iter().map(|a| a.clamp(low, high)).collect())
}
