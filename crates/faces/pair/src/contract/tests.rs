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

/// From six packets (share 0) to a quarter of a second of the rate (share 1), bytes.
fn bucket_of(mbps: u64, share: f64) -> f64 {
    let (least, largest) = (9_000.0f64, (mbps * 1_000_000 / 32) as f64);
    least * (largest / least).powf(share)
}

/// A busy host and a busy way, whose stalls, in sum, the bucket holds: the rate brings no more in them than it has beyond three
/// packets. `late` is the host's share of them.
fn busy_path(mbps: u64, bucket: f64, rtt: u64, late: f64) -> TestPath {
    let spare = (bucket - 3.0 * f64::from(PACKET)) / (mbps as f64 * 1e6 / 8.0);
    let most = |share: f64| Span::from_secs_f64((spare * share).min(0.005));
    let every = Span::from_millis(50);
    let host = Lateness { every, most: most(0.5 * late) };
    let way = Lateness { every, most: most(0.5 * (1.0 - late)) };
    TestPath { host, way, ..TestPath::of(mbps * 1_000_000, bucket as u64, Span::from_millis(rtt)) }
}

/// By the first probe, after ten seconds, the log has lost its beginning. Ten seconds a 64th below the rate are 1.5 MB that a full
/// bucket did not take, which are no part of it: the probe's three packets are all that is lost of some 64,000.
#[test]
fn what_a_full_bucket_did_not_take_is_no_part_of_it() {
    for (path, seed) in [
        (busy_path(77, bucket_of(77, 0.48525), 83, 0.717059), 365),
        (TestPath::of(90_000_000, 253_551, Span::from_millis(112)), 370_308),
    ] {
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        assert!(got >= 0.975 && loss <= 0.0005, "{path:?}: {got:.4} {loss:.5} {c:?}");
        let bucket = c.terms.map_or(0.0, |terms| terms.bucket);
        assert!((0.9..1.1).contains(&(bucket / path.bucket as f64)), "{path:?}: {c:?}");
    }
}

/// Probes' drops, ten seconds apart, have what was sent between them: a 64th less than the rate, which with a larger bucket explains as
/// much. What is believed stands until more is lost within it than is allowed.
#[test]
fn what_was_sent_between_probes_is_not_taken_for_the_rate() {
    for (path, seed) in [
        (TestPath::of(66_000_000, 1_719_009, Span::from_millis(173)), 373_792),
        (busy_path(63, 141_271.0, 95, 0.4637), 806_412),
    ] {
        let c = run(&path, 60, 3, seed);
        let (got, loss) = c.shares(&path, 57);
        assert!(got >= 0.975 && loss <= 0.002, "{path:?}: {got:.4} {loss:.5} {c:?}");
        let terms =
            c.terms.map_or((0.0, 0.0), |t| (t.rate * 8.0 / path.rate as f64, t.bucket / path.bucket as f64));
        assert!((terms.0 - 1.0).abs() < 0.008 && (terms.1 - 1.0).abs() < 0.1, "{path:?}: {c:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

    /// Any rate from 2 to 200 Mbit/s, any bucket from six packets to a quarter of a second of it, any round trip from 5 to 200 ms.
    #[test]
    fn any_contract_is_learnt(mbps in 2u64..200, share in 0.0f64..1.0, rtt in 5u64..200, seed in 0u64..1000) {
        let path = TestPath::of(mbps * 1_000_000, bucket_of(mbps, share) as u64, Span::from_millis(rtt));
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        proptest::prop_assert!(got >= 0.97 && loss <= 0.005, "{path:?}: {got:.4} {loss:.5} {c:?}");
    }

    /// The same on a busy host and a busy way.
    #[test]
    fn a_contract_is_learnt_where_timers_are_late(
        mbps in 2u64..100, share in 0.0f64..1.0, rtt in 5u64..200, late in 0.0f64..1.0, seed in 0u64..1000,
    ) {
        let path = busy_path(mbps, bucket_of(mbps, share), rtt, late);
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

/// What LONGFAT_DRAWS draws come to in LONGFAT_SECONDS each, from number LONGFAT_FROM on: every second one as `any_contract_is_learnt` has them, the others
/// as `a_contract_is_learnt_where_timers_are_late`.
#[test]
#[ignore = "a distribution for people"]
fn distribution() {
    let of = |key: &str| std::env::var(key).ok().and_then(|v| v.parse::<u64>().ok());
    let (n, first) = (of("LONGFAT_DRAWS").unwrap_or(100), of("LONGFAT_FROM").unwrap_or(1));
    let seconds = of("LONGFAT_SECONDS").unwrap_or(15).max(4);
    for i in first..first + n {
        let mut draw = units::Stream::new(i, "draws");
        let mut up_to = |most: f64| draw.unit() * most;
        let is_busy = i % 2 == 0;
        let mbps = 2 + up_to(if is_busy { 98.0 } else { 198.0 }) as u64;
        let (share, rtt, late, seed) = (up_to(1.0), 5 + up_to(195.0) as u64, up_to(1.0), up_to(1e6) as u64);
        let bucket = bucket_of(mbps, share);
        let calm = TestPath::of(mbps * 1_000_000, bucket as u64, Span::from_millis(rtt));
        let path = if is_busy { busy_path(mbps, bucket, rtt, late) } else { calm };
        let c = run(&path, seconds, 3, seed);
        let (got, loss) = c.shares(&path, seconds - 3);
        let name = if is_busy { "busy" } else { "calm" };
        println!(
            "draw {i} {name} share {got:.4} loss {loss:.5}: {mbps} Mbit/s {bucket:.0} B {rtt} ms late {late:.4} seed {seed}: {:?} {:?}",
            c.first_terms, c.terms
        );
    }
}
