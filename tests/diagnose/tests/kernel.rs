//! Five cases of the corpus on this machine's kernel, diagnosed from the capture. Chosen are slow ones that
//! do not hang on single packets: a machine that stalls for milliseconds plays another policer of ten packets
//! than was meant. Needs root (or user namespaces and an open /dev/net/tun), and says so aloud where it has
//! neither.

use diagnose_test::Case;
use diagnose_test::lab::{case, run};
use result::Cause;

const CHOSEN: [Cause; 5] =
    [Cause::Policed, Cause::ReceiveWindow, Cause::Application, Cause::Bottleneck, Cause::Policed];
/// bit/s.
const RATES: std::ops::Range<f64> = 2e6..20e6;
/// A bucket lasts for so long at its rate, seconds.
const LEAST_BUCKET: f64 = 0.03;

/// Seconds that the limiter's bucket lasts; without one, for ever.
fn lasts(case: &Case) -> f64 {
    let bytes = case.text.split("burst = \"").nth(1).and_then(|t| t.split('B').next()?.parse::<f64>().ok());
    bytes.map_or(f64::INFINITY, |b| b * 8.0 / case.rate)
}

#[test]
fn the_kernels_captures_are_diagnosed() {
    let folder = std::env::temp_dir().join(format!("longfat-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (mut right, mut of, mut next) = (0, 0, 0);
    for cause in CHOSEN {
        let fits = |c: &Case| c.meant == cause && RATES.contains(&c.rate) && lasts(c) > LEAST_BUCKET;
        let case = (next..).filter_map(|n| case(1, n)).find(fits).expect("the set is endless");
        next = case.number + 1;
        match run(&case, &folder) {
            Ok((_, lines)) => {
                for line in &lines {
                    println!("{} {cause:?}: {:?} said {}", case.number, line.right, line.said);
                    of += usize::from(line.is_right().is_some());
                    right += usize::from(line.is_right() == Some(true));
                }
            }
            Err(e @ lab::LabError::Permission { .. }) => {
                eprintln!("SKIPPED, this needs root: {e}");
                return;
            }
            Err(e) => panic!("case {}: {e}", case.number),
        }
    }
    std::fs::remove_dir_all(&folder).expect("it was there");
    assert!(of > 0, "what limited them can be told of some");
    // One in five is what the diagnosis gets wrong at its worst.
    assert!(right * 5 >= of * 4 || right + 1 == of, "{right} of {of} flows right");
}
