//! Any text as a scenario file and `--set` options: gives an experiment, which is the same after it is written and read
//! again, or an error with its line and column, without a panic.
//! The text up to the first NUL is the file, each further part one `--set`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::Experiment;

fuzz_target!(|data: &str| {
    let mut pieces = data.split('\0');
    let text = pieces.next().unwrap_or_default();
    let sets: Vec<String> = pieces.map(str::to_string).collect();
    let mut trace = |name: &str| match name.len() % 3 {
        0 => Err("no such file".to_string()),
        1 => Ok("0s 20Mbit/s\n1s 5Mbit/s\n".to_string()),
        _ => Ok("0\n1\n5\n".to_string()),
    };
    match Experiment::parse_with("fuzz.toml", text, &sets, &mut trace) {
        Ok(experiment) => {
            for variant in &experiment.variants {
                let scenario = &variant.scenario;
                for flow in &scenario.flows {
                    assert!(scenario.route(flow.from, flow.to).is_some());
                }
            }
            // With `file`, the entries of a list and of its file cannot be distinguished after writing.
            let written = experiment.to_toml();
            if !data.contains("file") && written.len() <= scenario::MAX_BYTES {
                let read = Experiment::parse_with("fuzz.toml", &written, &[], &mut trace);
                assert_eq!(read.as_ref(), Ok(&experiment), "{written}");
            }
        }
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1);
            assert!(!error.render().is_empty() && !error.to_string().is_empty());
        }
    }
});
