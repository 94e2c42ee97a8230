//! Response functions: the mean window at a given loss rate, without queueing.

use crate::pipe::Pipe;
use units::Span;

/// The mean window over `rounds` round trips after the first third.
fn window(name: &str, one_in: u64, rounds: usize) -> f64 {
    let mut pipe = Pipe::new(name, 20_000, Span::from_millis(200), 0).lossy(one_in);
    (pipe.flow.w.cwnd, pipe.flow.w.ssthresh) = (30, 30);
    for _ in 0..rounds {
        pipe.round();
    }
    let kept = &pipe.windows[rounds / 3..];
    kept.iter().map(|&w| w as f64).sum::<f64>() / kept.len() as f64
}

fn close(what: &str, found: f64, law: f64, percent: f64) {
    println!("{what}: {found:.1} packets, {law:.1} by the law");
    assert!((found / law - 1.0).abs() <= percent / 100.0, "{what}: {found} for {law}");
}

/// RFC 3649 section 5: w = 0.12 / p^0.835. The table rounds the increase up to whole packets.
#[test]
fn highspeed_follows_its_response_function() {
    for (one_in, rounds) in [(10_000, 3_000), (100_000, 3_000)] {
        let law = 0.12 / libm::pow(1.0 / one_in as f64, 0.835);
        close(&format!("highspeed, 1 in {one_in}"), window("highspeed", one_in, rounds), law, 15.0);
    }
}

/// Without queueing delay Illinois adds 10 packets per round trip and a loss takes an eighth. A saw-tooth
/// with increase a and decrease b has a mean window of sqrt(a (2 - b) / (2 b p)), so sqrt(75 / p); Reno's is
/// sqrt(1.5 / p), seven times less.
#[test]
fn illinois_has_seven_times_the_window_of_reno() {
    for one_in in [1_000, 10_000, 100_000] {
        let n = one_in as f64;
        close(
            &format!("illinois, 1 in {one_in}"),
            window("illinois", one_in, 2_000),
            libm::sqrt(75.0 * n),
            10.0,
        );
        close(&format!("reno, 1 in {one_in}"), window("reno", one_in, 4_000), libm::sqrt(1.5 * n), 10.0);
    }
}
