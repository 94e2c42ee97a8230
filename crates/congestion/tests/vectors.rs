//! The shared vectors of `vectors/`, played by every controller of the registry.

use congestion::{Controller, NAMES, make};
use vectors::{Flow, Vector};

/// The controller a vector asks for.
fn controller(vector: &Vector) -> Result<Box<dyn Controller>, String> {
    let name = vector.cc.as_str().ok_or("parameters are not understood here")?;
    make(name, vector.start.seed, "flow").ok_or_else(|| format!("no algorithm is called {name}"))
}

#[test]
fn every_controller_decides_as_worked_out_by_hand() {
    let files = vectors::load().unwrap_or_else(|e| panic!("{e}"));
    let play = |file: &vectors::File| file.failures(&mut |v| Ok(Flow::with(controller(v)?)));
    let failures: Vec<String> = files.iter().flat_map(play).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_algorithm_has_vectors_and_every_file_an_algorithm() {
    let files = vectors::load().unwrap_or_else(|e| panic!("{e}"));
    for name in NAMES {
        assert!(files.iter().any(|f| f.algorithm == *name), "vectors/{name}-….toml is missing");
    }
    for file in &files {
        assert!(NAMES.contains(&file.algorithm.as_str()), "{}: {}", file.name, file.algorithm);
        let begin = format!("vectors/{}-", file.algorithm);
        assert!(file.name.starts_with(&begin), "{} should begin with {begin}", file.name);
    }
}
