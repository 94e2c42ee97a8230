//! What the pacer comes to before a policer, in virtual time.

use super::*;
use bench::*;

mod bench;

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
        let path = TestPath::of(mbps * 1_000_000, bucket, Span::from_millis(rtt));
        let c = run(&path, 15, 3, 1);
        let (share, loss) = c.shares(&path, 12);
        println!("{mbps} Mbit/s, {bucket} B, {rtt} ms: share {share:.4}, loss {loss:.5}, {c:?}");
        bad += usize::from(share < 0.97 || loss > 0.005);
    }
    assert_eq!(bad, 0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

    /// Any rate from 2 to 200 Mbit/s, any bucket from six packets to a quarter of a second of it, any round trip from 5 to 200 ms.
    #[test]
    fn any_contract_is_learnt(mbps in 2u64..200, share in 0.0f64..1.0, rtt in 5u64..200, seed in 0u64..1000) {
        let (least, largest) = (9_000.0f64, (mbps * 1_000_000 / 32) as f64);
        let bucket = least * (largest / least).powf(share);
        let path = TestPath::of(mbps * 1_000_000, bucket as u64, Span::from_millis(rtt));
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        proptest::prop_assert!(got >= 0.97 && loss <= 0.005, "{mbps} {bucket} {rtt}: {got:.4} {loss:.5} {c:?}");
    }

    /// The same on a busy host and a busy way, whose stalls, in sum, the bucket holds: the rate brings no more in them than it has
    /// beyond three packets.
    #[test]
    fn a_contract_is_learnt_where_timers_are_late(
        mbps in 2u64..100, share in 0.0f64..1.0, rtt in 5u64..200, late in 0.0f64..1.0, seed in 0u64..1000,
    ) {
        let (least, largest) = (9_000.0f64, (mbps * 1_000_000 / 32) as f64);
        let bucket = least * (largest / least).powf(share);
        let spare = (bucket - 3.0 * f64::from(PACKET)) / (mbps as f64 * 1e6 / 8.0);
        let most = |share: f64| Span::from_secs_f64((spare * share).min(0.005));
        let every = Span::from_millis(50);
        let host = Lateness { every, most: most(0.5 * late) };
        let way = Lateness { every, most: most(0.5 * (1.0 - late)) };
        let path = TestPath { host, way, ..TestPath::of(mbps * 1_000_000, bucket as u64, Span::from_millis(rtt)) };
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        proptest::prop_assert!(got >= 0.95 && loss <= 0.005, "{path:?}: {got:.4} {loss:.5} {c:?}");
    }

    /// Losses without a policer are not a contract.
    #[test]
    fn random_loss_is_no_contract(permille in 5u64..60, rtt in 5u64..200, seed in 0u64..1000) {
        let loss = permille as f64 / 1000.0;
        let path = TestPath { loss, ..TestPath::of(4_000_000_000, 50_000_000, Span::from_millis(rtt)) };
        let c = run_to(&path, 4, 1, seed, 20e6);
        proptest::prop_assert!(c.first_terms.is_none(), "{c:?}");
        // The path's own share is told, where a hundred losses tell it.
        let losses = c.sent as f64 / f64::from(PACKET) * loss;
        let is_right = c.lossy.0.is_some_and(|share| (share / loss - 1.0).abs() < 0.6);
        proptest::prop_assert!(is_right || losses < 100.0, "{loss}: {c:?}");
    }
}

#[test]
#[ignore = "a table for people"]
fn table() {
    let ms = |x: f64| Span::from_secs_f64(x / 1e3);
    let lates = [
        ("never", Lateness::default(), Lateness::default()),
        ("host 3ms", Lateness { every: ms(50.0), most: ms(3.0) }, Lateness::default()),
        ("way 2ms", Lateness::default(), Lateness { every: ms(50.0), most: ms(2.0) }),
        ("both", Lateness { every: ms(50.0), most: ms(3.0) }, Lateness { every: ms(50.0), most: ms(2.0) }),
        (
            "both 5ms",
            Lateness { every: ms(30.0), most: ms(5.0) },
            Lateness { every: ms(30.0), most: ms(5.0) },
        ),
    ];
    for (mbps, bucket, rtt) in [
        (20, 9_000, 30),
        (20, 9_000, 140),
        (20, 62_500, 30),
        (20, 62_500, 140),
        (20, 250_000, 30),
        (20, 250_000, 140),
        (2, 9_000, 60),
        (100, 100_000, 60),
        (200, 200_000, 100),
    ] {
        for (name, host, way) in lates {
            let path =
                TestPath { host, way, ..TestPath::of(mbps * 1_000_000, bucket, Span::from_millis(rtt)) };
            for seed in 1..3 {
                let c = run(&path, 15, 3, seed);
                let (share, loss) = c.shares(&path, 12);
                let terms = c.terms.map(|t| (t.rate * 8e-6, t.bucket));
                println!(
                    "{mbps:4} Mbit/s {bucket:7} B {rtt:4} ms {name:9}: share {share:.4} loss {loss:.5} first {:?} terms {terms:.2?}",
                    c.first_terms
                );
            }
        }
    }
}
