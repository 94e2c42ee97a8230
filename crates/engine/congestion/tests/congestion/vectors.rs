//! The test vectors of `vectors/`, run with every controller of the registry.

use congestion::{Control, Controller, NAMES};
use vectors::{Flow, Vector};

/// The controller that a vector requests: a name, or a table of name and parameters.
fn controller(vector: &Vector) -> Result<Box<dyn Controller>, String> {
    let (name, table) = match &vector.cc {
        toml::Value::Table(table) => (table.get("name"), table.clone()),
        name => (Some(name), toml::Table::new()),
    };
    let name = name.and_then(|n| n.as_str()).ok_or("cc has no name")?;
    let control = Control::named(name).ok_or_else(|| format!("no algorithm is called {name}"))?;
    let keys = table.into_iter().filter(|(key, _)| key != "name").collect::<toml::Table>();
    let control = control.with(keys).map_err(|e| e.to_string())?;
    control.check().map_err(|p| format!("{} {}", p.key, p.message))?;
    Ok(control.make(vector.start.seed, "flow"))
}

#[test]
fn every_controller_agrees_with_its_vectors() {
    let files = vectors::load().unwrap_or_else(|e| panic!("{e}"));
    let play = |file: &vectors::File| file.failures(&mut |v| Ok(Flow::with(controller(v)?)));
    let failures: Vec<String> = files.iter().flat_map(play).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn every_algorithm_has_vectors_and_every_file_is_of_an_algorithm() {
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
