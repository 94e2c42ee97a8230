//! The sender's reports to its controller about packets: packets in flight when sent, losses since, and each
//! loss.

use crate::pair::*;
use congestion::{CaState, Controller, LostPacket, RateSample, Socket, Window};
use std::sync::{Arc, Mutex};
use transport::{Profile, Stack, Tcp};

/// Everything that was reported, in order.
#[derive(Default)]
struct Reports {
    samples: Vec<RateSample>,
    lost: Vec<(LostPacket, CaState)>,
}

/// A controller with a window of twenty packets that records all reports.
struct Recorder(Arc<Mutex<Reports>>);

impl Controller for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
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

fn run(stack: &Stack, lost: &'static [u64]) -> (Pair, Reports) {
    let reports = Arc::new(Mutex::new(Reports::default()));
    let mut pair = Pair::with("reno", stack, stack);
    pair.client = Tcp::new(stack.own_limits(1500, None), Box::new(Recorder(reports.clone())));
    pair.wire(lose(lost));
    let mut pair = pair.sending(60 * MSS);
    pair.finish();
    let taken = std::mem::take(&mut *reports.lock().unwrap());
    (pair, taken)
}

/// The window of 20 is sent at once, so packet n is the n-th in flight. Packets 5 and 7 are lost: the loss of
/// 5 is found before recovery begins, as the first loss since it was sent, that of 7 as the second.
#[test]
fn each_loss_is_reported_with_the_packets_in_flight() {
    for profile in [Profile::Linux, Profile::Rfc] {
        let stack = Stack { profile, tso: Some(false), ..Stack::default() };
        let (pair, reports) = run(&stack, &[5, 7]);
        let sent: Vec<_> = pair.data().take(20).map(|s| (s.segment.seq, s.segment.len as u64)).collect();
        assert_eq!(reports.lost.len(), 2, "{:?}", reports.lost);
        for (i, n) in [4usize, 6].into_iter().enumerate() {
            let (p, state) = reports.lost[i];
            assert!(i > 0 || state < CaState::Recovery, "{state:?}");
            assert_eq!((p.seq, p.end - p.seq), sent[n]);
            assert_eq!((p.packets, p.tx_in_flight, p.lost), (1, n as u32 + 1, i as u32 + 1));
        }
    }
}

/// The sample of an ACK is that of its newest packet. The packets in flight with it never exceed the window,
/// and in the first flight equal its number. Its losses since sending are those marked since then: none, then
/// both, and none again for packets sent later.
#[test]
fn a_sample_has_the_packets_in_flight_and_the_losses_since() {
    let stack = Stack { tso: Some(false), ..Stack::default() };
    let (_, reports) = run(&stack, &[5, 7]);
    let s = &reports.samples;
    assert!(s.iter().all(|rs| rs.tx_in_flight <= 20));
    assert!(s[..2].iter().all(|rs| rs.tx_in_flight <= 4 && rs.lost == 0), "{:?}", &s[..2]);
    assert_eq!(s.iter().map(|rs| rs.losses).sum::<u32>(), 2);
    let lost: Vec<u32> = s.iter().map(|rs| rs.lost).collect();
    assert_eq!(lost.iter().max(), Some(&2), "{lost:?}");
    assert_eq!((lost.first(), lost.last()), (Some(&0), Some(&0)), "{lost:?}");
}

/// The loss of a retransmission is reported again, with its later transmission; a timeout reports the packets
/// that it gives up.
#[test]
fn the_loss_of_a_retransmission_is_reported_again() {
    // Packet 5 and its retransmission are lost. The latter follows the twenty packets of the first flight and
    // those released by the ACKs of packets 1 to 4 and three SACKs.
    let stack = Stack { tso: Some(false), ..Stack::default() };
    let (pair, once) = run(&stack, &[5]);
    let again = pair.resent()[0].number;
    let both: &'static [u64] = Box::leak(Box::new([5, again]));
    let (_, twice) = run(&stack, both);
    assert_eq!((once.lost.len(), twice.lost.len()), (1, 2), "{:?}", twice.lost);
    let ((a, _), (b, state)) = (twice.lost[0], twice.lost[1]);
    assert_eq!((a.seq, a.lost, b.seq, b.lost), (b.seq, 1, a.seq, 1));
    assert!(state >= CaState::Recovery);
}
