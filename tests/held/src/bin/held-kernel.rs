//! What scenarios are held by, measured on the real kernel, as root: `cargo run -p longfat-held-test --bin held-kernel -- [HOW_MANY]
//! [FROM]`. What is named comes of simulated runs, the runs that it is held against are the kernel's. Prints what is wrong;
//! exit code 1 where more than a tenth is: two runs of a few seconds each are not alike on a busy machine.

use held_test::draw::draw_held;
use held_test::held::{Verdict, said, verdict};
use result::Clock;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|n| n.parse::<u64>().ok());
    let (count, from) = (numbers.next().unwrap_or(30), numbers.next().unwrap_or(1));
    let (mut best, mut tied, mut none, mut wrong) = (0, 0, 0, 0);
    for seed in from..from + count {
        // The kernel has a profile of its own.
        let text = draw_held(seed).replace("profile = \"rfc\", ", "");
        let (said, _) = said(&text);
        let named = said.first().map_or("nothing".into(), |h| format!("{} at {}", h.kind.name(), h.place));
        let verdict = verdict(&text, &said, Clock::Kernel);
        println!("{seed}: {named}: {verdict:?}");
        match verdict {
            Verdict::Best => best += 1,
            Verdict::Tied => tied += 1,
            Verdict::RightlyNone => none += 1,
            Verdict::Wrong(_) => wrong += 1,
        }
    }
    println!(
        "{count} scenarios: {best} named the best, {tied} named one as good, {none} rightly named nothing, {wrong} wrong"
    );
    ExitCode::from(u8::from(wrong * 10 > count))
}
