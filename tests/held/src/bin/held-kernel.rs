//! Checks the reported causes on the real kernel, as root: `cargo run -p longfat-held-test --bin held-kernel
//! -- [HOW_MANY] [FROM]`. The causes are found by simulated runs and checked by runs on the kernel. Prints
//! what is wrong; exit code 1 if more than a tenth is, because two runs of a few seconds differ on a busy
//! machine.

use held_test::draw::draw_held;
use held_test::held::{Verdict, reported, verdict};
use result::Clock;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|n| n.parse::<u64>().ok());
    let (count, from) = (numbers.next().unwrap_or(30), numbers.next().unwrap_or(1));
    let (mut best, mut tied, mut none, mut wrong) = (0, 0, 0, 0);
    for seed in from..from + count {
        // The kernel has its own profile.
        let text = draw_held(seed).replace("profile = \"rfc\", ", "");
        let (limitations, _) = reported(&text);
        let named =
            limitations.first().map_or("nothing".into(), |h| format!("{} at {}", h.kind.name(), h.place));
        let verdict = verdict(&text, &limitations, Clock::Kernel);
        println!("{seed}: {named}: {verdict:?}");
        match verdict {
            Verdict::Best => best += 1,
            Verdict::Tied => tied += 1,
            Verdict::RightlyNone => none += 1,
            Verdict::Wrong(_) => wrong += 1,
        }
    }
    println!(
        "{count} scenarios: {best} name the best cause, {tied} an equally good one, {none} correctly none, {wrong} wrong"
    );
    ExitCode::from(u8::from(wrong * 10 > count))
}
