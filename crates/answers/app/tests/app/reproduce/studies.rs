//! The built-in studies: the scenarios they name exist, and their claims hold on their own published numbers.

use app::reproduce::{PublishedNumbers, STUDIES, Study};
use scenario::ScenarioRequest;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn studies() -> Vec<Study> {
    let read = |(name, text): &(&str, &str)| {
        Study::parse(name, &format!("studies/{name}.toml"), text).unwrap_or_else(|e| panic!("{}", e.render()))
    };
    STUDIES.iter().map(read).collect()
}

#[test]
fn every_file_of_the_folder_is_built_in() {
    let folder = std::fs::read_dir(root().join("studies")).unwrap();
    let mut there: Vec<String> =
        folder.map(|e| e.unwrap().file_name().into_string().unwrap().replace(".toml", "")).collect();
    there.sort();
    assert_eq!(there, STUDIES.map(|(name, _)| name.to_string()));
}

/// A claim that does not hold on the published numbers was transcribed wrongly.
#[test]
fn claims_hold_on_the_published_numbers_themselves() {
    let (mut held, mut open) = (0, 0);
    for study in studies() {
        for claim in &study.claims {
            let (holds, direction) = claim.expressions();
            for (what, expression) in [("holds", holds), ("direction", direction)] {
                let Some(expression) = expression else { continue };
                match expression.prove(&PublishedNumbers(&study)) {
                    Ok(proved) => {
                        assert!(proved.holds, "{} {}.{what}: {:?}", study.name, claim.name, proved.steps);
                        held += 1;
                    }
                    // The study shows it in a figure and prints no number.
                    Err(_) => open += 1,
                }
            }
        }
    }
    assert!(held >= 40 && open < held, "{held} held, {open} without numbers");
}

#[test]
fn scenarios_variants_overrides_and_flows_of_all_rows_exist() {
    let mut rows = 0;
    for study in studies() {
        for table in &study.tables {
            for row in table.rows.iter().filter(|r| r.cannot.is_none()) {
                let name = table.scenario_of(row).unwrap();
                let text = std::fs::read_to_string(root().join(format!("scenarios/{name}.toml"))).unwrap();
                let sets = table.overrides_of(row);
                // Parse as for a run: an override only has to fit the variant of the row.
                let variants = row.variant.as_slice();
                let request = ScenarioRequest {
                    file: name,
                    text: &text,
                    sets: &sets,
                    variants,
                    ..ScenarioRequest::default()
                };
                let read = request.parse_without_files();
                let experiment =
                    read.unwrap_or_else(|e| panic!("{} {}: {}", study.name, row.name, e.render()));
                let variant = row.variant.as_deref().unwrap_or("default");
                let variant = experiment.variants.iter().find(|v| v.name == variant);
                let variant = variant.unwrap_or_else(|| panic!("{} {}", study.name, row.name));
                assert!(!variant.scenario.flows.is_empty());
                rows += 1;
            }
        }
    }
    assert!(rows > 70, "{rows}");
}
