//! A run's id: a hash of its inputs and its outcome. The same scenario, settings and seed give the same id on
//! every machine; runs with different numbers have different ids.

use crate::settings::RunSettings;
use result::{Run, to_json};
use scenario::Experiment;

/// Two FNV-1a offset bases, 128 bits together: enough to rule out accidental collisions, but no protection
/// against forgery.
const BASES: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142];

/// Returns the id of `run`.
pub fn run_id(experiment: &Experiment, settings: &RunSettings, run: &Run) -> String {
    let bare = Run { run_id: String::new(), ..run.clone() };
    let hashed = [
        env!("CARGO_PKG_VERSION").to_string(),
        // The experiment includes the files that its stages name.
        format!("{experiment:?}"),
        to_json(settings),
        to_json(&bare),
    ];
    let hashed = hashed.join("\0");
    let digits = BASES.map(|basis| format!("{:016x}", units::fnv1a(hashed.as_bytes(), basis)));
    digits.concat()
}

/// Returns the ids of the runs that an HTML page shows.
pub fn ids_of_page(page: &str) -> Vec<&str> {
    const KEY: &str = "\"run_id\":\"";
    page.match_indices(KEY).filter_map(|(at, _)| page[at + KEY.len()..].split('"').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_depends_on_scenario_settings_and_outcome() {
        let text = "[links.a]\nbetween = [\"x\", \"y\"]\n[flows.f]\nfrom = \"x\"\nto = \"y\"\n";
        let experiment = Experiment::parse("a.toml", text, &[]).unwrap();
        let settings = RunSettings {
            scenario: "a".into(),
            overrides: Vec::new(),
            variants: vec!["default".into()],
            clocks: vec!["sim".into()],
            seed: 1,
            repeats: 1,
        };
        let run = Run { scenario: "a".into(), seed: 1, ..Run::default() };
        let id = run_id(&experiment, &settings, &run);
        assert!(id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert_eq!(run_id(&experiment, &settings, &Run { run_id: id.clone(), ..run.clone() }), id);
        let partial = Run { partial: true, ..run.clone() };
        assert_ne!(run_id(&experiment, &settings, &partial), id);
        assert_ne!(run_id(&experiment, &RunSettings { repeats: 2, ..settings.clone() }, &run), id);
        let other = Experiment::parse("a.toml", &text.replace("flows.f", "flows.g"), &[]).unwrap();
        assert_ne!(run_id(&other, &settings, &run), id);
    }
}
