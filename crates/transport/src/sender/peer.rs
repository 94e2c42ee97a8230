//! The other end's receive window.

use super::{AckInfo, Sender};
use crate::segment::Segment;

/// What the peer lets us send.
#[derive(Default)]
pub(super) struct Peer {
    /// Its receive window, bytes (`snd_wnd`).
    pub(super) window: u64,
    /// Sequence number of the segment that told it (`snd_wl1`).
    pub(super) window_from: u64,
}

impl Sender {
    /// `tcp_ack_update_window`.
    pub(super) fn update_window(&mut self, seg: &Segment, a: &mut AckInfo) {
        let wnd = seg.window as u64;
        if seg.ack > self.s.snd_una || seg.seq > self.peer.window_from || wnd > self.peer.window {
            a.win_update = true;
            self.peer.window_from = seg.seq;
            if wnd != self.peer.window {
                self.peer.window = wnd;
                if self.s.snd_nxt < self.stream.end {
                    self.restart_after_idle();
                }
            }
        }
        self.s.snd_una = seg.ack;
    }
}
