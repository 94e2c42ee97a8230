//! `names.json`: the common names of all elements, queues and congestion controls of the registries, for
//! sentences and the page. `cargo xtask bless report page` writes it.

use congestion::Control;
use path::{QueueConfig, Stage};
use units::Label;

/// All names with their keys.
fn names() -> Vec<(String, Label)> {
    let mut names = Vec::new();
    for (kind, words) in Stage::WORDS {
        for (what, label) in [("element", words.label), ("one", words.one), ("dropper", words.dropper)] {
            names.push((format!("name.{what}.{kind}"), label));
        }
    }
    names.extend(QueueConfig::LABELS.iter().map(|(kind, label)| (format!("name.queue.{kind}"), *label)));
    let controls = congestion::NAMES.iter().filter_map(|name| Control::named(name));
    names.extend(controls.map(|c| (format!("name.control.{}", c.name()), c.label())));
    names
}

#[test]
fn the_committed_names_match_the_registries() {
    let line = |(key, label): &(String, Label)| {
        let [key, en, zh] = [key, label.en, label.zh].map(|s| serde_json::to_string(s).unwrap());
        format!("  {key}: {{\"en\": {en}, \"zh\": {zh}}}")
    };
    let lines: Vec<String> = names().iter().map(line).collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    xtask::compare("crates/answers/report/names.json", &text);
}
