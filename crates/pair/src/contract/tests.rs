//! The contract pacer before the policer that the simulator and the lab use, in virtual time.

use super::*;
use path::{Config, Ecn, Element, Outbox, Packet, Policer};
use std::collections::VecDeque;
use units::{Bytes, Rate, Stream};

/// Bytes of every packet.
const PACKET: u32 = 1480;

/// One run's path.
struct TestPath {
    rate: u64,
    bucket: u64,
    rtt: Span,
    /// Random loss behind the policer.
    loss: f64,
}

/// What a run came to, counted from `from` on.
#[derive(Debug, Default)]
struct Counted {
    sent: u64,
    passed: u64,
    policed: u64,
    first_terms: Option<Time>,
    terms: Option<ContractTerms>,
}

impl Counted {
    /// Of what the policer lets through in so many seconds, and of what was sent: what passed, what was dropped.
    fn shares(&self, path: &TestPath, seconds: u64) -> (f64, f64) {
        let most = path.rate as f64 / 8.0 * seconds as f64;
        (self.passed as f64 / most, self.policed as f64 / self.sent as f64)
    }
}

/// A greedy sender: before terms are known it doubles each round trip, then swings about what came through, as a control that
/// looks for more does; with terms it is paced by them, in bursts of what the library's pacer lets go at once.
fn run(path: &TestPath, seconds: u64, from: u64, seed: u64) -> Counted {
    run_to(path, seconds, from, seed, f64::MAX)
}

/// The same, never faster than so many bytes a second.
fn run_to(path: &TestPath, seconds: u64, from: u64, seed: u64, most: f64) -> Counted {
    let config = Policer::single(Rate::from_bps(path.rate), Some(Bytes::new(path.bucket)));
    let mut policer: Box<dyn Element<()>> = config.build(seed, "policer");
    let mut random = Stream::new(seed, "loss");
    let mut contract = Contract::new(PACKET.into());
    let mut heard: VecDeque<(Time, u64, bool, Time)> = VecDeque::new();
    let (end, mut now, mut number, mut leaves) =
        (Time::ZERO + Span::from_secs(seconds), Time::ZERO, 1, Time::ZERO);
    let (mut counted, mut held) = (Counted::default(), VecDeque::new());
    let mut own = (10 * u64::from(PACKET)) as f64 / path.rtt.as_secs_f64();
    let (mut round, mut delivered, mut lossy, mut rounds) = (Time::ZERO + path.rtt, 0u64, false, 0u64);
    while now < end {
        while let Some(&(at, n, passed, left)) = heard.front().filter(|h| h.0 <= now) {
            heard.pop_front();
            match passed {
                true => contract.on_acked(at, n, at.since(left)),
                false => contract.on_lost(at, n),
            }
            delivered += u64::from(passed) * u64::from(PACKET);
            lossy |= !passed;
        }
        if now >= round {
            let came = delivered as f64 / path.rtt.as_secs_f64();
            rounds += 1;
            own = match lossy {
                false => own * 2.0,
                true => came * [1.25, 0.9, 1.0, 1.0][(rounds % 4) as usize],
            }
            .clamp(f64::from(PACKET) * 4.0, most);
            (round, delivered) = (now + path.rtt, 0);
        }
        if counted.first_terms.is_none() && contract.terms().is_some() {
            counted.first_terms = Some(now);
        }
        let pace = contract.terms().map_or(own, |terms| terms.offer as f64);
        leaves = contract.on_sent(now, number, PACKET.into(), Some(own as u64)).max(leaves);
        let mut out = Outbox::default();
        let packet = Packet {
            id: number,
            size: PACKET,
            overhead: 0,
            flow: 0,
            dscp: 0,
            ecn: Ecn::NotEct,
            fragment: None,
            body: (),
        };
        policer.handle_packet(leaves, packet, &mut out);
        let policed = out.sent.is_empty();
        let passed = !policed && !random.chance(path.loss);
        heard.push_back((leaves + path.rtt, number, passed, leaves));
        if leaves >= Time::ZERO + Span::from_secs(from) {
            counted.sent += u64::from(PACKET);
            counted.passed += u64::from(PACKET) * u64::from(!policed);
            counted.policed += u64::from(PACKET) * u64::from(policed);
        }
        number += 1;
        // Ten packets at once, then a pause: the library's pacer when its timer was late. The link holds eight packets.
        now = if number % 10 == 0 { now + Span::from_secs_f64(10.0 * f64::from(PACKET) / pace) } else { now };
        held.push_back(leaves);
        if held.len() > 8 {
            now = held.pop_front().unwrap_or(now).max(now);
        }
    }
    counted.terms = contract.terms();
    counted
}

#[test]
fn a_contract_is_learnt_and_kept_without_being_told() {
    let mut bad = 0;
    for (mbps, bucket, rtt) in [
        (20, 9_000, 30),
        (20, 9_000, 140),
        (20, 62_500, 30),
        (20, 62_500, 140),
        (20, 250_000, 30),
        (20, 250_000, 140),
        (2, 9_000, 60),
        (100, 100_000, 60),
    ] {
        let path = TestPath { rate: mbps * 1_000_000, bucket, rtt: Span::from_millis(rtt), loss: 0.0 };
        let c = run(&path, 15, 3, 1);
        let (share, loss) = c.shares(&path, 12);
        println!("{mbps} Mbit/s, {bucket} B, {rtt} ms: share {share:.4}, loss {loss:.5}, {c:?}");
        bad += usize::from(share < 0.97 || loss > 0.005);
    }
    assert_eq!(bad, 0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

    /// Any rate from 2 to 80 Mbit/s, any bucket from 10 ms of it (six packets at least) to a quarter of a second, any round trip up to 150 ms.
    /// What was overshot of more packets in flight than these have is not in the log as a whole.
    #[test]
    fn any_contract_is_learnt(mbps in 2u64..80, share in 0.0f64..1.0, rtt in 5u64..150, seed in 0u64..1000) {
        let largest = (mbps * 1_000_000 / 32) as f64;
        let least = 9_000.0f64.max(mbps as f64 * 1e6 / 8.0 * 0.010);
        let bucket = least * (largest / least).powf(share);
        let path = TestPath { rate: mbps * 1_000_000, bucket: bucket as u64, rtt: Span::from_millis(rtt), loss: 0.0 };
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        proptest::prop_assert!(got >= 0.97 && loss <= 0.005, "{mbps} {bucket} {rtt}: {got:.4} {loss:.5} {c:?}");
    }

    /// Losses without a policer are not a contract.
    #[test]
    fn random_loss_is_no_contract(permille in 5u64..60, rtt in 5u64..200, seed in 0u64..1000) {
        let path = TestPath { rate: 4_000_000_000, bucket: 50_000_000, rtt: Span::from_millis(rtt), loss: permille as f64 / 1000.0 };
        let c = run_to(&path, 4, 1, seed, 20e6);
        proptest::prop_assert!(c.first_terms.is_none(), "{c:?}");
    }
}
