//! The pacer before a policer, in virtual time.

use super::*;
use bench::*;

mod bench;

#[test]
fn a_contract_is_learnt_and_kept() {
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

/// The bucket in bytes, from six packets (share 0) to 250 ms at the rate (share 1).
fn bucket_of(mbps: u64, share: f64) -> f64 {
    let (least, largest) = (9_000.0f64, (mbps * 1_000_000 / 32) as f64);
    least * (largest / least).powf(share)
}

/// A busy host and uplink. The bucket can hold what the rate brings in all their stalls, beyond three
/// packets. `late` is the host's share of the stalls.
fn stalling_path(mbps: u64, bucket: f64, rtt: u64, late: f64) -> TestPath {
    let spare = (bucket - 3.0 * f64::from(PACKET)) / (mbps as f64 * 1e6 / 8.0);
    let most = |share: f64| Span::from_secs_f64((spare * share).min(0.005));
    let every = Span::from_millis(50);
    let host = Stalling { every, most: most(0.5 * late) };
    let uplink = Stalling { every, most: most(0.5 * (1.0 - late)) };
    TestPath { host, uplink, ..TestPath::of(mbps * 1_000_000, bucket as u64, Span::from_millis(rtt)) }
}

/// Until the first probe, after ten seconds, the log has lost its beginning. Ten seconds 1/64 below the rate
/// are 1.5 MB that a full bucket did not take, and they do not belong to the bucket: of about 64,000 packets,
/// only the probe's three are lost.
#[test]
fn tokens_beyond_a_full_bucket_do_not_enlarge_it() {
    for (path, seed) in [
        (stalling_path(77, bucket_of(77, 0.48525), 83, 0.717059), 365),
        (TestPath::of(90_000_000, 253_551, Span::from_millis(112)), 370_308),
    ] {
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        assert!(got >= 0.975 && loss <= 0.0005, "{path:?}: {got:.4} {loss:.5} {c:?}");
        let bucket = c.terms.map_or(0.0, |terms| terms.bucket);
        assert!((0.9..1.1).contains(&(bucket / path.bucket as f64)), "{path:?}: {c:?}");
    }
}

/// Between the drops of probes, ten seconds apart, the sender was 1/64 below the rate; with a larger bucket
/// that explains as much. The believed contract stays until more is lost within it than is allowed.
#[test]
fn the_sending_rate_between_probes_is_not_taken_for_the_contract() {
    for (path, seed) in [
        (TestPath::of(66_000_000, 1_719_009, Span::from_millis(173)), 373_792),
        (stalling_path(63, 141_271.0, 95, 0.4637), 806_412),
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

    /// Any rate from 2 to 200 Mbit/s, any bucket from six packets to 250 ms of it, any round trip from 5 to
    /// 200 ms.
    #[test]
    fn any_contract_is_learnt(mbps in 2u64..200, share in 0.0f64..1.0, rtt in 5u64..200, seed in 0u64..1000) {
        let path = TestPath::of(mbps * 1_000_000, bucket_of(mbps, share) as u64, Span::from_millis(rtt));
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        proptest::prop_assert!(got >= 0.97 && loss <= 0.005, "{path:?}: {got:.4} {loss:.5} {c:?}");
    }

    /// Any contract is also learnt with a busy host and uplink.
    #[test]
    fn a_contract_is_learnt_where_timers_are_late(
        mbps in 2u64..100, share in 0.0f64..1.0, rtt in 5u64..200, late in 0.0f64..1.0, seed in 0u64..1000,
    ) {
        let path = stalling_path(mbps, bucket_of(mbps, share), rtt, late);
        let c = run(&path, 15, 5, seed);
        let (got, loss) = c.shares(&path, 10);
        proptest::prop_assert!(got >= 0.95 && loss <= 0.005, "{path:?}: {got:.4} {loss:.5} {c:?}");
    }

    /// Losses without a policer are not a contract.
    #[test]
    fn random_loss_is_not_a_contract(permille in 5u64..60, rtt in 5u64..200, seed in 0u64..1000) {
        let loss = permille as f64 / 1000.0;
        let path = TestPath { loss, ..TestPath::of(4_000_000_000, 50_000_000, Span::from_millis(rtt)) };
        let c = run_to(&path, 4, 1, seed, 20e6);
        proptest::prop_assert!(c.first_terms.is_none(), "{c:?}");
        // The path's own loss is found if there are a hundred losses.
        let losses = c.sent as f64 / f64::from(PACKET) * loss;
        let is_right = c.lossy.0.is_some_and(|share| (share / loss - 1.0).abs() < 0.6);
        proptest::prop_assert!(is_right || losses < 100.0, "{loss}: {c:?}");
    }
}

#[test]
#[ignore = "prints a table"]
fn table() {
    let ms = |x: f64| Span::from_secs_f64(x / 1e3);
    let lates = [
        ("never", Stalling::default(), Stalling::default()),
        ("host 3ms", Stalling { every: ms(50.0), most: ms(3.0) }, Stalling::default()),
        ("uplink 2ms", Stalling::default(), Stalling { every: ms(50.0), most: ms(2.0) }),
        ("both", Stalling { every: ms(50.0), most: ms(3.0) }, Stalling { every: ms(50.0), most: ms(2.0) }),
        (
            "both 5ms",
            Stalling { every: ms(30.0), most: ms(5.0) },
            Stalling { every: ms(30.0), most: ms(5.0) },
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
        for (name, host, uplink) in lates {
            let path =
                TestPath { host, uplink, ..TestPath::of(mbps * 1_000_000, bucket, Span::from_millis(rtt)) };
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

/// Runs LONGFAT_DRAWS draws of LONGFAT_SECONDS each, starting at number LONGFAT_FROM. Every other draw is as
/// in `any_contract_is_learnt`, the rest as in `a_contract_is_learnt_where_timers_are_late`.
#[test]
#[ignore = "prints a distribution"]
fn distribution() {
    let number = |key: &str| std::env::var(key).ok().and_then(|v| v.parse::<u64>().ok());
    let (n, first) = (number("LONGFAT_DRAWS").unwrap_or(100), number("LONGFAT_FROM").unwrap_or(1));
    let seconds = number("LONGFAT_SECONDS").unwrap_or(15).max(4);
    for i in first..first + n {
        let mut draw = units::Stream::new(i, "draws");
        let mut up_to = |most: f64| draw.unit() * most;
        let is_busy = i % 2 == 0;
        let mbps = 2 + up_to(if is_busy { 98.0 } else { 198.0 }) as u64;
        let (share, rtt, late, seed) = (up_to(1.0), 5 + up_to(195.0) as u64, up_to(1.0), up_to(1e6) as u64);
        let bucket = bucket_of(mbps, share);
        let calm = TestPath::of(mbps * 1_000_000, bucket as u64, Span::from_millis(rtt));
        let path = if is_busy { stalling_path(mbps, bucket, rtt, late) } else { calm };
        let c = run(&path, seconds, 3, seed);
        let (got, loss) = c.shares(&path, seconds - 3);
        let name = if is_busy { "busy" } else { "calm" };
        println!(
            "draw {i} {name} share {got:.4} loss {loss:.5}: {mbps} Mbit/s {bucket:.0} B {rtt} ms late {late:.4} seed {seed}: {:?} {:?}",
            c.first_terms, c.terms
        );
    }
}
