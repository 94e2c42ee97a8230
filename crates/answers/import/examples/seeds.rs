//! Seeds and dictionaries for the fuzz target `import`, one folder and one file for each format: `cargo run
//! -p longfat-import --example seeds fuzz/corpus` writes `fuzz/corpus/import-tc/…` and
//! `fuzz/corpus/import-tc.dict`.

#[path = "../tests/common/samples.rs"]
mod samples;

use import::ImportFormat;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "fuzz/corpus".into());
    for (n, (name, format)) in ImportFormat::ALL.iter().enumerate() {
        let seeds = Path::new(&folder).join(format!("import-{name}"));
        std::fs::create_dir_all(&seeds)?;
        for (i, text) in samples::of(*format).iter().enumerate() {
            // The target's first byte is the format's number.
            let seed = [&[n as u8], text.as_bytes()].concat();
            std::fs::write(seeds.join(format!("sample-{i}")), seed)?;
        }
        std::fs::write(
            Path::new(&folder).join(format!("import-{name}.dict")),
            dictionary(samples::of(*format)),
        )?;
    }
    Ok(())
}

/// The words of the samples as a libFuzzer dictionary, one per line.
fn dictionary(samples: &[&str]) -> String {
    let is_separator = |c: char| !c.is_ascii_alphanumeric() && !"-_./%".contains(c);
    let words: BTreeSet<&str> = samples.iter().flat_map(|text| text.split(is_separator)).collect();
    words.into_iter().filter(|w| w.len() > 1).map(|word| format!("\"{word}\"\n")).collect()
}
