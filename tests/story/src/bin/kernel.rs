//! Runs the same scenarios on the real kernel, as root: `cargo run -p longfat-story-test --bin kernel --
//! [HOW_MANY] [FROM]`. Every second one also runs in the simulator, so that statements about both are checked
//! against both. Prints what is wrong; exit code 1 if anything is.

use report::story::story;
use result::Clock;
use std::process::ExitCode;
use story_test::check::{complaints, statements, unreliable};
use story_test::checked_run::{play, play_both};
use story_test::draw::draw;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1).filter_map(|n| n.parse::<u64>().ok());
    let (count, from) = (numbers.next().unwrap_or(30), numbers.next().unwrap_or(1));
    let (mut wrong, mut statement_count, mut unreliable_count) = (0, 0, 0);
    for seed in from..from + count {
        // Congestion controls that few kernels have.
        let text = draw(seed).0.replace("\"vegas\"", "\"reno\"").replace("\"bbr3\"", "\"bbr\"");
        let checked = if seed.is_multiple_of(2) { play_both(&text) } else { play(&text, 1, Clock::Kernel) };
        println!(
            "{seed}: {} {}",
            checked.run.headline.as_deref().unwrap_or("-"),
            checked.run.facts.join(" ")
        );
        statement_count += statements(&story(&[("", &checked.run)])) + unreliable(&checked);
        unreliable_count += unreliable(&checked);
        for complaint in complaints(&checked) {
            println!("  WRONG: {complaint}");
            wrong += 1;
        }
    }
    println!(
        "{count} scenarios, {statement_count} statements, {wrong} wrong; {unreliable_count} unreliable measurements"
    );
    ExitCode::from(u8::from(wrong > 0))
}
