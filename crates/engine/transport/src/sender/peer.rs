//! The peer's receive window, and the segment size that suits it.

use super::{AckInfo, Sender};
use crate::segment::{Segment, TIMESTAMP_OPTION};

/// Default MSS, bytes (`TCP_MSS_DEFAULT`, RFC 9293 section 3.7.1).
const DEFAULT_MSS: u64 = 536;
/// Length of a packet that every IPv4 path carries, bytes (RFC 791 section 3.1); Linux subtracts the TCP
/// header from it.
const MIN_PACKET: u32 = 68;
const TCP_HEADER: u32 = 20;

/// Limits set by the peer.
#[derive(Default)]
pub(super) struct Peer {
    /// The peer's receive window, bytes (`snd_wnd`).
    pub(super) window: u64,
    /// Sequence number of the segment with that window (`snd_wl1`).
    pub(super) window_from: u64,
    /// Largest window that the peer has announced, bytes (`max_window`).
    pub(super) max_window: u64,
}

impl Sender {
    /// Updates the peer's window. A new maximum may let segments grow (`tcp_sync_mss`).
    #[inline]
    pub(super) fn note_window(&mut self, window: u64) {
        self.peer.window = window;
        if window > self.peer.max_window {
            self.peer.max_window = window;
            self.fit_mss();
        }
    }

    /// Half of the largest window that the peer has announced; all of it if it is tiny.
    pub(super) fn half_window(&self) -> u64 {
        let most = self.peer.max_window;
        if most > DEFAULT_MSS { most / 2 } else { most }
    }

    /// Limits segments to half of the largest window, so that two segments fit, but not below what any path
    /// carries; a window of 0 sets no limit (`tcp_bound_to_half_wnd`).
    pub(super) fn fit_mss(&mut self) {
        let (most, half) = (self.peer.max_window, self.half_window());
        let options = if self.rules.timestamps { TIMESTAMP_OPTION } else { 0 };
        let least = (MIN_PACKET - TCP_HEADER - options) as u64;
        let mss = if most == 0 { self.full_mss } else { half.max(least).min(self.full_mss as u64) as u32 };
        self.mtu.limit(self.full_mss);
        let mss = self.mtu.bound(mss);
        if mss != self.s.mss {
            self.s.mss = mss;
            self.scoreboard.set_mss(mss);
        }
    }

    /// Whether the segment updates the window (`tcp_may_update_window`).
    pub(crate) fn would_update_window(&self, seg: &Segment) -> bool {
        let wnd = seg.window as u64;
        seg.ack > self.s.snd_una || seg.seq > self.peer.window_from || wnd > self.peer.window
    }

    /// Updates window and `snd_una` (`tcp_ack_update_window`).
    pub(super) fn update_window(&mut self, seg: &Segment, a: &mut AckInfo) {
        let wnd = seg.window as u64;
        if self.would_update_window(seg) {
            a.win_update = true;
            self.peer.window_from = seg.seq;
            if wnd != self.peer.window {
                self.note_window(wnd);
                if self.s.snd_nxt < self.stream.end_with_fin() {
                    self.restart_after_idle();
                }
            }
        }
        self.s.snd_una = seg.ack;
    }
}
