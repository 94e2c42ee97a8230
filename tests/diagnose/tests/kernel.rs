//! Runs five cases of the corpus on this machine's kernel and diagnoses the captures. The cases are slow, and
//! their outcome does not depend on single packets: a host that stalls for milliseconds distorts a policer
//! with a burst of ten packets. Needs root, or user namespaces and access to /dev/net/tun; skipped otherwise.

use diagnose_test::Case;
use diagnose_test::lab::{case, run};
use result::Cause;

const CHOSEN: [Cause; 5] =
    [Cause::Policed, Cause::ReceiveWindow, Cause::Application, Cause::Bottleneck, Cause::Policed];
/// Range of link rates, bit/s.
const RATES: std::ops::Range<f64> = 2e6..20e6;
/// Shortest time that a token bucket must last at its rate, seconds.
const MIN_BUCKET_S: f64 = 0.03;

/// Returns for how long the limiter's bucket lasts at its rate, seconds; infinite without a bucket.
fn bucket_s(case: &Case) -> f64 {
    let bytes = case.text.split("burst = \"").nth(1).and_then(|t| t.split('B').next()?.parse::<f64>().ok());
    bytes.map_or(f64::INFINITY, |b| b * 8.0 / case.rate)
}

#[test]
fn captures_of_the_kernel_are_diagnosed() {
    let folder = std::env::temp_dir().join(format!("longfat-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (mut right, mut judged, mut next) = (0, 0, 0);
    for cause in CHOSEN {
        let fits = |c: &Case| c.intended == cause && RATES.contains(&c.rate) && bucket_s(c) > MIN_BUCKET_S;
        let case = (next..).filter_map(|n| case(1, n)).find(fits).expect("the set is endless");
        next = case.number + 1;
        match run(&case, &folder) {
            Ok((_, lines)) => {
                for line in &lines {
                    println!(
                        "{} {cause:?}: expected {:?}, diagnosed {}",
                        case.number, line.right, line.verdict
                    );
                    judged += usize::from(line.is_right().is_some());
                    right += usize::from(line.is_right() == Some(true));
                }
            }
            Err(e @ lab::LabError::Permission { .. }) => {
                eprintln!("SKIPPED: needs root: {e}");
                return;
            }
            Err(e) => panic!("case {}: {e}", case.number),
        }
    }
    std::fs::remove_dir_all(&folder).expect("it was there");
    assert!(judged > 0, "no flow has a known cause");
    // At most one in five, or a single flow, may be wrong.
    assert!(right * 5 >= judged * 4 || right + 1 == judged, "{right} of {judged} flows right");
}
