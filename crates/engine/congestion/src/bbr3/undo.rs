//! Undo after spurious loss recovery: the bounds and the window
//! before recovery are restored, and a probe or STARTUP that the loss ended is resumed.
//!
//! Source: draft-ietf-ccwg-bbr-06, section "Updating the Model Upon Detecting a Spurious Loss
//! Recovery".

use super::shortterm::ShortTerm;
use super::{Bbr3, Bbr3State};
use crate::{CaState, Socket, Window};

/// The model before the first loss of a recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct UndoModel {
    /// The state that the losses ended: STARTUP or PROBE_BW_UP.
    pub state: Option<Bbr3State>,
    short: ShortTerm,
    longterm: Option<u32>,
    /// Whether the model is saved for the current or imminent recovery.
    pub saved: bool,
}

/// The larger of two bounds, `None` being unbounded.
fn looser<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a?.max(b?))
}

impl Bbr3 {
    /// NoteLoss: the first loss starts a loss round.
    pub(super) fn note_loss(&mut self, s: &Socket, w: &Window) {
        if !self.latest.loss_in_round {
            self.latest.round_delivered = s.delivered;
            self.save_state(s, w);
        }
        self.latest.loss_in_round = true;
    }

    /// SaveStateUponLoss. The bounds are those before the recovery's first loss, not before each
    /// round, because undo reverts the whole recovery.
    pub(super) fn save_state(&mut self, s: &Socket, w: &Window) {
        self.save_cwnd(s, w);
        if !self.undo.saved {
            self.undo = UndoModel { state: None, short: self.short, longterm: self.longterm, saved: true };
        }
    }

    /// Recovery moves from `s.state` to `new`.
    pub(super) fn recovery_moves(&mut self, s: &Socket, w: &mut Window, new: CaState) {
        match new {
            CaState::Recovery => self.losses.recovery_delivered = s.delivered,
            // The timeout has cut the window; the bound must start from the previous one.
            CaState::Loss if !self.is_probing() => {
                self.short.inflight.get_or_insert(self.prior_cwnd);
            }
            CaState::Loss => {}
            CaState::Open | CaState::Disorder | CaState::Cwr => {
                if s.state >= CaState::Recovery {
                    self.restore_cwnd(w);
                }
                self.undo.saved = new == CaState::Cwr && self.undo.saved;
            }
        }
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn handle_spurious_loss(&mut self, s: &Socket) {
        self.latest.loss_in_round = false;
        self.reset_full_bw(0);
        self.short.bw = looser(self.short.bw, self.undo.short.bw);
        self.short.inflight = looser(self.short.inflight, self.undo.short.inflight);
        self.longterm = looser(self.longterm, self.undo.longterm);
        match self.undo.state.take() {
            Some(Bbr3State::Startup) if self.state != Bbr3State::Startup => {
                self.full_bw_reached = false;
                if self.state != Bbr3State::ProbeRtt {
                    self.enter_startup();
                }
            }
            Some(Bbr3State::Up) if !matches!(self.state, Bbr3State::Up | Bbr3State::ProbeRtt) => {
                self.start_refill(s)
            }
            _ => {}
        }
    }
}
