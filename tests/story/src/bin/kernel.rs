//! The same scenarios on the real kernel, as root: `cargo run -p longfat-story-test --bin kernel -- [HOW_MANY] [FROM]`.
//! Prints what is wrong; exit code 1 where something is.

use result::Clock;
use std::process::ExitCode;
use story_test::check::complaints;
use story_test::draw::draw;
use story_test::seen::play;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|n| n.parse::<u64>().ok());
    let (count, from) = (numbers.next().unwrap_or(30), numbers.next().unwrap_or(1));
    let mut wrong = 0;
    for seed in from..from + count {
        // Controls that few kernels have.
        let text = draw(seed).0.replace("\"vegas\"", "\"reno\"").replace("\"bbr3\"", "\"bbr\"");
        let seen = play(&text, 1, Clock::Kernel);
        println!("{seed}: {}", seen.run.headline.as_deref().unwrap_or("-"));
        for complaint in complaints(&seen) {
            println!("  WRONG: {complaint}");
            wrong += 1;
        }
    }
    println!("{count} scenarios, {wrong} wrong statements");
    ExitCode::from(u8::from(wrong > 0))
}
