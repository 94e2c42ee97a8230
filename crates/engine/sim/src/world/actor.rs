//! Who moves a sender's window: a scheme, what it has seen, and what its sender's ACKs say, on whichever clock.
//!
//! In this order: the end is made with [`WindowActor::control`]; [`WindowActor::begin`], once [`WindowActor::may_begin`]; then by turns
//! [`WindowActor::act`] and, a step later, [`WindowActor::measure`].

use super::error::WorldError;
use super::figures::{SenderTotals, StepFigures};
use super::scheme::{ActionSpace, BOUND, Scheme, scheme};
use super::tally::{AckTally, TalliedControl};
use congestion::{Control, Controller};
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};
use transport::Tcp;
use units::{Span, Time};

/// See the head of the file.
pub struct WindowActor {
    scheme: Box<dyn Scheme>,
    classic: Option<Control>,
    tally: Arc<Mutex<AckTally>>,
    totals: SenderTotals,
    figures: StepFigures,
    /// StepFigures of the scheme's last steps, the newest at the end.
    seen: Vec<f32>,
    row: Vec<f64>,
}

impl WindowActor {
    /// Of the scheme called so. `classic`: this control has the window to itself; actions are then not carried out.
    ///
    /// # Errors
    /// There is no such scheme.
    pub fn new(name: &str, classic: Option<Control>) -> Result<WindowActor, WorldError> {
        let scheme = scheme(name).ok_or_else(|| WorldError::Scheme(name.into()))?;
        let seen = vec![0.0; scheme.features() * scheme.history()];
        let row = vec![0.0; scheme.features()];
        let (totals, figures) = (SenderTotals::default(), StepFigures::default());
        Ok(WindowActor { scheme, classic, tally: Arc::default(), totals, figures, seen, row })
    }

    /// The control that the sender must be made with.
    pub fn control(&self, seed: u64, stream: &str) -> Box<dyn Controller> {
        let base = self.scheme.base().and_then(Control::named);
        let inner = self.classic.or(base).map(|control| control.make(seed, stream));
        Box::new(TalliedControl::new(inner, self.scheme.paced(), self.tally.clone()))
    }

    /// Whether a sender is established, and knows how long its round trip is.
    pub fn may_begin(end: &Tcp) -> bool {
        end.is_established() && end.tx.s.srtt.is_some()
    }

    /// Takes over.
    pub fn begin(&mut self, now: Time, end: &mut Tcp) {
        let (s, w) = (&end.tx.s, &mut end.tx.w);
        if self.scheme.paced() && self.classic.is_none() {
            // A window a round trip, as a paced sender begins.
            let rtt = s.srtt.map_or(0.1, Span::as_secs_f64).max(1e-6);
            w.pacing_rate = (f64::from(w.cwnd) * f64::from(s.mss) / rtt) as u64;
        }
        self.totals = SenderTotals::of(now, end);
        self.measure(now, end);
    }

    /// What actions are.
    pub fn action_space(&self) -> ActionSpace {
        self.scheme.action_space()
    }

    /// Carries out an action; of one that is out of bounds the nearest that is in them.
    ///
    /// # Errors
    /// The action has another length than the space, or is no number.
    pub fn act(&mut self, action: &[f64], end: &mut Tcp) -> Result<(), WorldError> {
        let action = fitting(action, self.scheme.action_space())?;
        if self.classic.is_none() {
            self.scheme.act(&action, &self.figures, &end.tx.s, &mut end.tx.w);
        }
        Ok(())
    }

    /// Works out what the time since the last call was.
    pub fn measure(&mut self, now: Time, end: &Tcp) {
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

    /// What the last step was worth.
    pub fn reward(&self) -> f64 {
        self.scheme.reward(&self.figures)
    }

    /// What is seen: the scheme's figures, step by step, the newest at the end.
    pub fn observation(&self) -> &[f32] {
        &self.seen
    }

    /// What the last step measured.
    pub fn figures(&self) -> &StepFigures {
        &self.figures
    }
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
