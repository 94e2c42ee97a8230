//! What the sender tells a controller of packets: in flight when sent, lost since, each loss.

use crate::pair::*;
use congestion::{CaState, Controller, LostPacket, RateSample, Socket, Window};
use std::sync::{Arc, Mutex};
use transport::{Profile, Stack, Tcp};

/// What it was told, in order.
#[derive(Default)]
struct Told {
    samples: Vec<RateSample>,
    lost: Vec<(LostPacket, CaState)>,
}

/// A window of twenty packets, and a note of everything said.
struct Listener(Arc<Mutex<Told>>);

impl Controller for Listener {
    fn name(&self) -> &'static str {
        "listener"
    }
    fn init(&mut self, _: &Socket, w: &mut Window) {
        w.cwnd = 20;
    }
    fn owns_window(&self) -> bool {
        true
    }
    fn ssthresh(&mut self, _: &Socket, w: &mut Window) -> u32 {
        w.ssthresh
    }
    fn cong_control(&mut self, s: &Socket, _: &mut Window, rs: &RateSample) {
        assert!(s.sack);
        self.0.lock().unwrap().samples.push(*rs);
    }
    fn packet_lost(&mut self, s: &Socket, _: &mut Window, lost: &LostPacket) {
        self.0.lock().unwrap().lost.push((*lost, s.state));
    }
}

fn told(stack: &Stack, lost: &'static [u64]) -> (Pair, Told) {
    let note = Arc::new(Mutex::new(Told::default()));
    let mut pair = Pair::with("reno", stack, stack);
    pair.client = Tcp::new(stack.own_limits(1500, None), Box::new(Listener(note.clone())));
    pair.wire(lose(lost));
    let mut pair = pair.sending(60 * MSS);
    pair.finish();
    let told = std::mem::take(&mut *note.lock().unwrap());
    (pair, told)
}

/// The window of 20 leaves at once: packet n is the n-th in flight. Packets 5 and 7 are lost, and
/// are known to be: 5 before recovery begins, as the first loss since it was sent, 7 as the second.
#[test]
fn each_loss_is_told_with_what_was_in_flight() {
    for profile in [Profile::Linux, Profile::Rfc] {
        let stack = Stack { profile, tso: Some(false), ..Stack::default() };
        let (pair, told) = told(&stack, &[5, 7]);
        let sent: Vec<_> = pair.data().take(20).map(|s| (s.segment.seq, s.segment.len as u64)).collect();
        assert_eq!(told.lost.len(), 2, "{:?}", told.lost);
        for (i, n) in [4usize, 6].into_iter().enumerate() {
            let (p, state) = told.lost[i];
            assert!(i > 0 || state < CaState::Recovery, "{state:?}");
            assert_eq!((p.seq, p.end - p.seq), sent[n]);
            assert_eq!((p.packets, p.tx_in_flight, p.lost), (1, n as u32 + 1, i as u32 + 1));
        }
    }
}

/// An ACK's sample is of its newest packet: what was in flight with it is never above the window,
/// and of the first flight its own number. Losses since it was sent are those marked in between:
/// none, then both, and none again for what was sent after.
#[test]
fn a_sample_says_what_was_in_flight_and_what_was_lost_since() {
    let stack = Stack { tso: Some(false), ..Stack::default() };
    let (_, told) = told(&stack, &[5, 7]);
    let s = &told.samples;
    assert!(s.iter().all(|rs| rs.tx_in_flight <= 20));
    assert!(s[..2].iter().all(|rs| rs.tx_in_flight <= 4 && rs.lost == 0), "{:?}", &s[..2]);
    assert_eq!(s.iter().map(|rs| rs.losses).sum::<u32>(), 2);
    let lost: Vec<u32> = s.iter().map(|rs| rs.lost).collect();
    assert_eq!(lost.iter().max(), Some(&2), "{lost:?}");
    assert_eq!((lost.first(), lost.last()), (Some(&0), Some(&0)), "{lost:?}");
}

/// A retransmission that is lost is told again, as sent later; a timeout tells of what it gives up.
#[test]
fn a_lost_retransmission_is_told_again() {
    // Packet 5, and its retransmission: the first after the twenty of the flight and those that ACKs
    // of packets 1 to 4 and three SACKs let out.
    let stack = Stack { tso: Some(false), ..Stack::default() };
    let (pair, once) = told(&stack, &[5]);
    let again = pair.resent()[0].number;
    let both: &'static [u64] = Box::leak(Box::new([5, again]));
    let (_, twice) = told(&stack, both);
    assert_eq!((once.lost.len(), twice.lost.len()), (1, 2), "{:?}", twice.lost);
    let ((a, _), (b, state)) = (twice.lost[0], twice.lost[1]);
    assert_eq!((a.seq, a.lost, b.seq, b.lost), (b.seq, 1, a.seq, 1));
    assert!(state >= CaState::Recovery);
}
