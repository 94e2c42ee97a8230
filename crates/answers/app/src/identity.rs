//! What tells a run from others. It follows from what the run is of and from what came of it: the same scenario, settings
//! and seed give the same id on every machine, and runs that yielded other numbers have another one.

use crate::settings::RunSettings;
use result::{Run, to_json};
use scenario::Experiment;

/// Two FNV-1a offset bases: together 128 bits, which is plenty against accidents. It is no seal against forgery.
const BASES: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142];

/// The id of `run`.
pub fn run_id(experiment: &Experiment, settings: &RunSettings, run: &Run) -> String {
    let bare = Run { run_id: String::new(), ..run.clone() };
    let of = [
        env!("CARGO_PKG_VERSION").to_string(),
        // Files that its stages name are in it.
        format!("{experiment:?}"),
        to_json(settings),
        to_json(&bare),
    ];
    let of = of.join("\0");
    let digits = BASES.map(|basis| format!("{:016x}", units::fnv1a(of.as_bytes(), basis)));
    digits.concat()
}

/// The ids of the runs that a page shows.
pub fn ids_of_page(page: &str) -> Vec<&str> {
    const KEY: &str = "\"run_id\":\"";
    page.match_indices(KEY).filter_map(|(at, _)| page[at + KEY.len()..].split('"').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_follows_from_what_a_run_is_of_and_what_came_of_it() {
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
