//! Samples of each format with random mutations: no panic, valid line numbers, scenarios that read back.
//! `LONGFAT_CASES` is the number of cases per format (default 1500), `LONGFAT_SEED` the seed.

mod common;
#[path = "common/samples.rs"]
mod samples;

use import::ImportFormat;
use units::Stream;

/// Pieces with a meaning in some format.
const PIECES: [&str; 24] = [
    "0",
    "1",
    "18446744073709551615",
    "-1",
    "1e308",
    "99999999999mbit",
    "1:1",
    "ffff:",
    "parent 1:1",
    "$(",
    "${A",
    "`",
    "\"",
    "\\\n",
    "tc class add dev eth1 parent 1:10 classid 1:1 htb rate 1",
    "root",
    "netem",
    "police",
    "0%",
    "100%",
    "\u{1b}",
    "[",
    "{",
    "\0",
];

fn mutate(stream: &mut Stream, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + stream.below(6) {
        let at = stream.below(chars.len() as u64 + 1) as usize;
        let end = (at + stream.below(12) as usize).min(chars.len());
        match stream.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => {
                let copy: Vec<char> = chars[at..end].to_vec();
                chars.splice(at..at, copy);
            }
            2 => {
                let piece = PIECES[stream.below(PIECES.len() as u64) as usize];
                chars.splice(at..end, piece.chars());
            }
            3 => {
                // Copies a line to another place.
                let lines: Vec<&str> = text.lines().collect();
                let line = lines[stream.below(lines.len() as u64) as usize];
                let line: Vec<char> = format!("\n{line}\n").chars().collect();
                chars.splice(at..at, line);
            }
            _ => {
                if let Some(c) = chars.get_mut(at) {
                    *c = char::from_u32(32 + stream.below(96) as u32).unwrap_or(' ');
                }
            }
        }
    }
    chars.into_iter().collect()
}

/// Checks mutated samples of a format.
fn check_format(name: &str, format: ImportFormat) {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
    let samples = samples::of(format);
    let mut stream = Stream::new(number("LONGFAT_SEED", 1), name);
    for sample in samples {
        common::check(format, sample);
    }
    for i in 0..number("LONGFAT_CASES", 1500) {
        let sample = samples[i as usize % samples.len()];
        common::check(format, &mutate(&mut stream, sample));
    }
}

/// Every format has samples: `samples::of` does not compile without samples of a new format.
#[test]
fn mutated_texts_of_every_format_are_errors_or_scenarios() {
    std::thread::scope(|scope| {
        for (name, format) in ImportFormat::ALL {
            scope.spawn(|| check_format(name, *format));
        }
    });
}
