use super::*;
use result::diagnosis::LimiterKind;

#[test]
fn every_part_of_a_round_trip_has_one_cause_whatever_is_known() {
    // Draws boolean evidence from the bits of a counter; limiter and last loss cycle.
    let limiters =
        [None, Some(LimiterKind::Policer), Some(LimiterKind::Shaper), Some(LimiterKind::Bottleneck)];
    let losses = [
        Cause::Policed,
        Cause::Congestion,
        Cause::RandomLoss,
        Cause::Outage,
        Cause::PacketTooBig,
        Cause::BlackHole,
        Cause::Fragmented,
    ];
    for n in 0u32..1 << 18 {
        // Each step changes about half of the bits.
        let bits = n.wrapping_mul(0x9e37_79b9) >> 5;
        let is = |bit: u32| bits >> bit & 1 == 1;
        let e = RoundEvidence {
            writes_little: is(0),
            small_writes: is(1),
            paused: is(2),
            send_buffer_full: is(3),
            flat: is(4),
            grows: is(5),
            window_full: is(6),
            repairs_slowly: is(7),
            last_loss: losses[n as usize % losses.len()],
            before_loss: is(8),
            at_first_loss: is(9) && !is(8),
            resends: is(10),
            back_with_loss: is(11),
            limiter: limiters[n as usize / losses.len() % 4],
            limiter_queues: is(12),
            limiter_full: is(13),
            share_taken: is(14),
            waits: is(15),
            data_waits: is(16),
            acks_wait: is(17),
            bidirectional_data: is(18),
            window_unread: is(19),
            queue_stands: is(20),
            unanswered: is(21),
            nagle_waits: is(22),
            overfills: is(23),
            recovered: is(24),
            waits_unseen: is(25),
            acks_wait_unseen: is(26),
            // Without known bytes in flight, no cause may be left.
            inflight_unknown: false,
        };
        for part in RoundPart::ALL {
            let cause = of_part(part, &e, &[]);
            assert_ne!(cause, Cause::Unknown, "{part:?} {e:?}");
            // Only one cause has the strongest claim, so the order of the registry does not matter.
            let claims =
                Cause::ALL.into_iter().filter_map(|c| (rules(c).claim)(part, &e)).collect::<Vec<_>>();
            let least = claims.iter().min().unwrap();
            assert_eq!(claims.iter().filter(|o| *o == least).count(), 1, "{part:?} {e:?}");
        }
    }
}

/// Returns the remedies for flows of these goodputs behind a policer of 20 Mbit/s.
#[test]
fn a_policer_that_carries_its_rate_needs_a_higher_one() {
    use result::FlowDiagnosis;
    use result::change::ChangeKind::{CongestionControl, HigherRate, Shape};
    use result::diagnosis::{Limiter, Measures};
    let limiter = Limiter { kind: LimiterKind::Policer, rate_mbps: 20.0, ..Limiter::default() };
    let kinds = |goodputs: &[f64]| {
        let flow = |goodput: &f64| FlowDiagnosis {
            cause: Cause::Policed,
            confidence: 1.0,
            measures: Measures { goodput_mbps: *goodput, mss_bytes: 1448, ..Measures::default() },
            ..FlowDiagnosis::default()
        };
        let flows: Vec<FlowDiagnosis> = goodputs.iter().map(flow).collect();
        let flows: Vec<&FlowDiagnosis> = flows.iter().collect();
        let affected = super::AffectedFlows { flows: &flows, limiter: Some(&limiter) };
        remedies(&affected).iter().map(|r| r.kind).collect::<Vec<_>>()
    };
    // 20 Mbit/s of packets of 1488 bytes are 19.46 of payload, and 0.95 of that 18.49.
    assert_eq!(kinds(&[18.6]), [HigherRate]);
    assert_eq!(kinds(&[10.0, 8.6]), [HigherRate]);
    assert_eq!(kinds(&[18.4]), [Shape, CongestionControl]);
}
