//! Answers a question from standard input several times and prints the milliseconds of each answer.
//! `benches/explore.mjs` compares the WebAssembly engine with it.

use std::io::Read;
use std::ops::ControlFlow;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let times: usize = std::env::args().nth(1).map_or(Ok(5), |n| n.parse())?;
    let mut question = Vec::new();
    std::io::stdin().read_to_end(&mut question)?;
    for _ in 0..times {
        let begun = Instant::now();
        let pieces =
            explore::answer(&question, &mut |_, _| ControlFlow::Continue(()), Box::new(std::io::empty()));
        println!("{:.3} {}", begun.elapsed().as_secs_f64() * 1e3, pieces.len());
    }
    Ok(())
}
