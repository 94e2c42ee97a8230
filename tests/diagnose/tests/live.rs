//! Four cases of the corpus on this machine's kernel, diagnosed from the capture. Chosen are slow ones that do not
//! hang on single packets. Needs root (or user namespaces and an open /dev/net/tun), and says so aloud where it has
//! neither.

use diagnose_test::lab::{Went, case, run};
use result::Cause;

const CHOSEN: [Cause; 4] = [Cause::Policed, Cause::ReceiveWindow, Cause::Application, Cause::Bottleneck];
/// bit/s.
const MOST_RATE: f64 = 20e6;

#[test]
fn the_kernels_captures_are_diagnosed() {
    let folder = std::env::temp_dir().join(format!("longfat-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (mut right, mut of) = (0, 0);
    for cause in CHOSEN {
        let fits = |c: &diagnose_test::Case| c.meant == cause && c.rate <= MOST_RATE && c.rate > 2e6;
        let case = (0..).filter_map(|n| case(1, n)).find(fits).expect("the set is endless");
        match run(&case, &folder) {
            Ok(Went::Scored(lines)) => {
                for line in &lines {
                    println!("{} {cause:?}: {:?} said {}", case.number, line.right, line.said);
                    of += usize::from(line.is_right().is_some());
                    right += usize::from(line.is_right() == Some(true));
                }
            }
            Ok(Went::Apart(why)) => println!("{} {cause:?}: left out, {why}", case.number),
            Err(e @ lab::Error::Permission { .. }) => {
                eprintln!("SKIPPED, this needs root: {e}");
                return;
            }
            Err(e) => panic!("case {}: {e}", case.number),
        }
    }
    std::fs::remove_dir_all(&folder).expect("it was there");
    assert!(of > 0, "the kernel did nothing of what the simulator did");
    assert!(right * 4 >= of * 3, "{right} of {of} flows right");
}
