//! Checks `docs/how-diagnosis-works.md` against the source: file names and the order of claims.

use std::path::{Path, PathBuf};

/// Returns the words in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn files_that_the_guide_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let guide = std::fs::read_to_string(root.join("docs/how-diagnosis-works.md")).unwrap();
    let folders = [
        "",
        "crates/evidence/diagnosis/src",
        "crates/evidence/diagnosis/src/limiter",
        "crates/evidence/diagnosis/src/verdict",
        "crates/evidence/track/src",
    ];
    let find = |name: &str| -> Option<PathBuf> {
        folders.iter().map(|folder| root.join(folder).join(name)).find(|path| path.is_file())
    };
    let mut files = 0;
    for name in quoted(&guide).filter(|n| !n.contains(' ')) {
        // `NAME.rs` is a placeholder, and `draw.rs` belongs to another crate.
        if name.ends_with(".rs") && !name.contains("NAME") && name != "draw.rs" {
            assert!(find(name).is_some(), "{name}");
            files += 1;
        }
    }
    assert!(files > 15, "{files}");
}

#[test]
fn the_guide_lists_the_claims_in_their_order() {
    let guide = include_str!("../../../../../docs/how-diagnosis-works.md");
    let section =
        guide.split("## How time is assigned to causes").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows =
        section.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let order_in_code: Vec<String> =
        diagnosis::cause::ClaimOrder::ALL.iter().map(|order| format!("{order:?}")).collect();
    assert_eq!(rows.collect::<Vec<_>>(), order_in_code);
    assert!(diagnosis::cause::ClaimOrder::ALL.is_sorted());
}
