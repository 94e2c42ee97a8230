//! The other end's receive window, and the size of segments that fit it.

use super::{AckInfo, Sender};
use crate::segment::{Segment, TIMESTAMP_OPTION};

/// `TCP_MSS_DEFAULT` (RFC 9293 section 3.7.1).
const DEFAULT_MSS: u64 = 536;
/// Every IPv4 path carries 68 bytes (RFC 791 section 3.1), of which Linux takes the TCP header off.
const LEAST_PACKET: u32 = 68;
const TCP_HEADER: u32 = 20;

/// What the peer lets us send.
#[derive(Default)]
pub(super) struct Peer {
    /// Its receive window, bytes (`snd_wnd`).
    pub(super) window: u64,
    /// Sequence number of the segment that told it (`snd_wl1`).
    pub(super) window_from: u64,
    /// The largest window it ever told, bytes (`max_window`).
    pub(super) most: u64,
}

impl Sender {
    /// The peer's window is `window` now. A larger one than ever may let segments grow
    /// (`tcp_sync_mss`).
    #[inline]
    pub(super) fn note_window(&mut self, window: u64) {
        self.peer.window = window;
        if window > self.peer.most {
            self.peer.most = window;
            self.fit_mss();
        }
    }

    /// Half the largest window that the peer ever told; all of a tiny one.
    pub(super) fn half_window(&self) -> u64 {
        let most = self.peer.most;
        if most > DEFAULT_MSS { most / 2 } else { most }
    }

    /// Half the largest window at most, so that two segments fit, but no less than any path carries; a
    /// window of 0 bounds nothing (`tcp_bound_to_half_wnd`).
    pub(super) fn fit_mss(&mut self) {
        let (most, half) = (self.peer.most, self.half_window());
        let options = if self.rules.timestamps { TIMESTAMP_OPTION } else { 0 };
        let least = (LEAST_PACKET - TCP_HEADER - options) as u64;
        let mss = if most == 0 { self.full_mss } else { half.max(least).min(self.full_mss as u64) as u32 };
        self.mtu.limit(self.full_mss);
        let mss = self.mtu.bound(mss);
        if mss != self.s.mss {
            self.s.mss = mss;
            self.board.expect(mss);
        }
    }

    /// `tcp_may_update_window`.
    pub(crate) fn would_update_window(&self, seg: &Segment) -> bool {
        let wnd = seg.window as u64;
        seg.ack > self.s.snd_una || seg.seq > self.peer.window_from || wnd > self.peer.window
    }

    /// `tcp_ack_update_window`.
    pub(super) fn update_window(&mut self, seg: &Segment, a: &mut AckInfo) {
        let wnd = seg.window as u64;
        if self.would_update_window(seg) {
            a.win_update = true;
            self.peer.window_from = seg.seq;
            if wnd != self.peer.window {
                self.note_window(wnd);
                if self.s.snd_nxt < self.stream.all() {
                    self.restart_after_idle();
                }
            }
        }
        self.s.snd_una = seg.ack;
    }
}
