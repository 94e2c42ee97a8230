//! What a cause's file must hold, whichever it is.

use super::*;
use std::collections::BTreeSet;

fn placeholders(text: &str) -> BTreeSet<&str> {
    text.split('{').skip(1).filter_map(|part| part.split_once('}')).map(|(name, _)| name).collect()
}

fn texts(entry: &CauseEntry) -> Vec<Bilingual> {
    let told = entry.why.iter().copied().chain(entry.advice.iter().map(|a| a.text));
    [entry.label, entry.how].into_iter().chain(told).collect()
}

#[test]
fn every_cause_is_told_in_both_languages_with_the_same_placeholders() {
    for cause in Cause::ALL {
        let entry = cause.entry();
        assert!(!entry.why.is_empty() && !entry.advice.is_empty(), "{}", cause.name());
        for text in texts(entry) {
            assert!(!text.en.trim().is_empty() && !text.zh.trim().is_empty(), "{}", cause.name());
            assert_eq!(placeholders(text.en), placeholders(text.zh), "{}", cause.name());
        }
        assert!(cause.meaning().ends_with('.') && cause.meaning().len() > 20, "{}", cause.meaning());
    }
}

#[test]
fn names_and_labels_are_each_ones_own() {
    for of in [|c: Cause| c.name(), |c: Cause| c.entry().label.en, |c: Cause| c.entry().label.zh] {
        assert_eq!(Cause::ALL.map(of).into_iter().collect::<BTreeSet<_>>().len(), Cause::ALL.len());
    }
    for cause in Cause::ALL {
        let json = serde_json::to_value(cause).unwrap();
        assert_eq!(json, cause.name());
        assert_eq!(cause.share_column().0, format!("share_{}", cause.name().replace('-', "_")));
    }
}

fn rgb(color: &str) -> [f64; 3] {
    let hex = color.strip_prefix('#').filter(|h| h.len() == 6).unwrap_or_else(|| panic!("{color}"));
    [0, 2, 4].map(|i| f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()))
}

#[test]
fn colours_differ_in_both_themes() {
    for of in [|c: Cause| c.entry().colors.light, |c: Cause| c.entry().colors.dark] {
        for (i, a) in Cause::ALL.into_iter().enumerate() {
            for b in &Cause::ALL[..i] {
                let (x, y) = (rgb(of(a)), rgb(of(*b)));
                let apart = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
                assert!(apart > 40.0, "{} and {} are {apart} apart", a.name(), b.name());
            }
        }
    }
}

#[test]
fn every_part_of_a_round_trip_has_one_cause_whatever_is_known() {
    // All evidence that two values make, drawn by a counter's bits; limiter and last loss go round.
    let limiters = [
        None,
        Some(crate::diagnosis::LimiterKind::Policer),
        Some(crate::diagnosis::LimiterKind::Shaper),
        Some(crate::diagnosis::LimiterKind::Bottleneck),
    ];
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
            both_ways: is(18),
            window_unread: is(19),
            queue_stands: is(20),
            unanswered: is(21),
            held_again: is(22),
        };
        for part in RoundPart::ALL {
            let cause = Cause::of_part(part, &e);
            assert_ne!(cause, Cause::Unknown, "{part:?} {e:?}");
            // Only one has the strongest claim: the order of the registry decides nothing.
            let claims =
                Cause::ALL.into_iter().filter_map(|c| (c.entry().claim)(part, &e)).collect::<Vec<_>>();
            let least = claims.iter().min().unwrap();
            assert_eq!(claims.iter().filter(|o| *o == least).count(), 1, "{part:?} {e:?}");
        }
    }
}

/// Flows of one kind that a policer of 20 Mbit/s holds, and this goodput: no cure is named where it is the rate's.
#[test]
fn a_policer_that_carries_its_rate_needs_a_higher_one() {
    use crate::diagnosis::{FlowDiagnosis, Limiter, LimiterKind, Measures};
    use crate::remedy::RemedyKind::{CongestionControl, HigherRate, Shape};
    let limiter = Limiter { kind: LimiterKind::Policer, rate_mbps: 20.0, ..Limiter::default() };
    let kinds = |goodputs: &[f64]| {
        let flow = |goodput: &f64| FlowDiagnosis {
            cause: Cause::Policed,
            measures: Measures { goodput_mbps: *goodput, mss_bytes: 1448, ..Measures::default() },
            ..FlowDiagnosis::default()
        };
        let flows: Vec<FlowDiagnosis> = goodputs.iter().map(flow).collect();
        let flows: Vec<&FlowDiagnosis> = flows.iter().collect();
        let affected = super::AffectedFlows { flows: &flows, limiter: Some(&limiter) };
        (Cause::Policed.entry().remedies)(&affected).iter().map(|r| r.kind).collect::<Vec<_>>()
    };
    // 20 Mbit/s of packets of 1488 bytes are 19.46 of payload, and 0.95 of that 18.49.
    assert_eq!(kinds(&[18.6]), [HigherRate]);
    assert_eq!(kinds(&[10.0, 8.6]), [HigherRate]);
    assert_eq!(kinds(&[18.4]), [Shape, CongestionControl]);
}
