//! Control of a sender's window by a scheme: the scheme, its observations, and statistics of the sender's
//! ACKs, on any clock.
//!
//! Order of calls: make the connection end with [`WindowActor::control`]; call [`WindowActor::begin`] once
//! [`WindowActor::may_begin`] holds; then alternate [`WindowActor::act`] and, one step later,
//! [`WindowActor::measure`].

use super::error::WorldError;
use super::figures::{SenderTotals, StepFigures};
use super::scheme::{ActionSpace, OBSERVATION_BOUND, Scheme, scheme};
use super::tally::{AckTally, TalliedControl};
use congestion::{Control, Controller};
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};
use transport::Tcp;
use units::{Span, Time};

/// An actor on a sender's window; see the documentation of the module for the order of calls.
pub struct WindowActor {
    scheme: Box<dyn Scheme>,
    classic: Option<Control>,
    tally: Arc<Mutex<AckTally>>,
    totals: SenderTotals,
    figures: StepFigures,
    /// Observations of the last steps, the newest last.
    seen: Vec<f32>,
    row: Vec<f64>,
}

impl WindowActor {
    /// An actor with the scheme called `name`. With `classic`, that congestion control controls the window
    /// alone, and actions have no effect.
    ///
    /// # Errors
    /// Fails when there is no such scheme.
    pub fn new(name: &str, classic: Option<Control>) -> Result<WindowActor, WorldError> {
        let scheme = scheme(name).ok_or_else(|| WorldError::Scheme(name.into()))?;
        let seen = vec![0.0; scheme.features() * scheme.history()];
        let row = vec![0.0; scheme.features()];
        let (totals, figures) = (SenderTotals::default(), StepFigures::default());
        Ok(WindowActor { scheme, classic, tally: Arc::default(), totals, figures, seen, row })
    }

    /// The congestion control with which the sender must be made.
    pub fn control(&self, seed: u64, stream: &str) -> Box<dyn Controller> {
        let base = self.scheme.base().and_then(Control::named);
        let inner = self.classic.or(base).map(|control| control.make(seed, stream));
        Box::new(TalliedControl::new(inner, self.scheme.paced(), self.tally.clone()))
    }

    /// Whether a sender is established and has an RTT sample.
    pub fn may_begin(end: &Tcp) -> bool {
        end.is_established() && end.tx.s.srtt.is_some()
    }

    /// Takes control of a sender.
    pub fn begin(&mut self, now: Time, end: &mut Tcp) {
        let (s, w) = (&end.tx.s, &mut end.tx.w);
        if self.scheme.paced() && self.classic.is_none() {
            // The rate of a paced sender at the start: one window per round trip.
            let rtt = s.srtt.map_or(0.1, Span::as_secs_f64).max(1e-6);
            w.pacing_rate = (f64::from(w.cwnd) * f64::from(s.mss) / rtt) as u64;
        }
        self.totals = SenderTotals::of(now, end);
        self.measure(now, end);
    }

    pub fn action_space(&self) -> ActionSpace {
        self.scheme.action_space()
    }

    /// Carries out an action; one out of bounds is clamped.
    ///
    /// # Errors
    /// Fails when the action has the wrong length or contains a value that is not finite.
    pub fn act(&mut self, action: &[f64], end: &mut Tcp) -> Result<(), WorldError> {
        let action = clamped(action, self.scheme.action_space())?;
        if self.classic.is_none() {
            self.scheme.act(&action, &self.figures, &end.tx.s, &mut end.tx.w);
        }
        Ok(())
    }

    /// Measures the time since the previous call, and adds its observation.
    pub fn measure(&mut self, now: Time, end: &Tcp) {
        let tally = take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner));
        let totals = SenderTotals::of(now, end);
        self.figures = StepFigures::of(&self.totals, &totals, &tally, end, &self.figures);
        self.totals = totals;
        self.scheme.observe(&self.figures, &mut self.row);
        let features = self.row.len();
        self.seen.rotate_left(features);
        let newest = self.seen.len() - features;
        for (seen, value) in self.seen[newest..].iter_mut().zip(&self.row) {
            *seen = if value.is_finite() {
                value.clamp(-OBSERVATION_BOUND, OBSERVATION_BOUND) as f32
            } else {
                0.0
            };
        }
    }

    /// Reward of the last step.
    pub fn reward(&self) -> f64 {
        self.scheme.reward(&self.figures)
    }

    /// The observation: the scheme's values, step by step, the newest last.
    pub fn observation(&self) -> &[f32] {
        &self.seen
    }

    /// Measurements of the last step.
    pub fn figures(&self) -> &StepFigures {
        &self.figures
    }
}

/// The action, clamped to its bounds.
fn clamped(action: &[f64], space: ActionSpace) -> Result<Vec<f64>, WorldError> {
    let (len, low, high) = match space {
        ActionSpace::Box { len, low, high } => (len, low, high),
        ActionSpace::Discrete(choices) => (1, 0.0, choices as f64 - 1.0),
    };
    if action.len() != len {
        return Err(WorldError::Action(format!("an action has {len} numbers, not {}", action.len())));
    }
    if action.iter().any(|a| !a.is_finite()) {
        return Err(WorldError::Action("an action must consist of finite numbers".into()));
    }
    Ok(action.iter().map(|a| a.clamp(low, high)).collect())
}
