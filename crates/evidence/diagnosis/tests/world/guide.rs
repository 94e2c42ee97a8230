//! `docs/how-diagnosis-works.md` points at files: they must be there.

use std::path::{Path, PathBuf};

/// Names in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn files_that_the_guide_names_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let guide = std::fs::read_to_string(root.join("docs/how-diagnosis-works.md")).unwrap();
    let rooms = [
        "",
        "crates/evidence/diagnosis/src",
        "crates/evidence/diagnosis/src/limiter",
        "crates/evidence/diagnosis/src/verdict",
    ];
    let find = |name: &str| -> Option<PathBuf> {
        rooms.iter().map(|room| root.join(room).join(name)).find(|path| path.is_file())
    };
    let mut files = 0;
    for name in quoted(&guide).filter(|n| !n.contains(' ')) {
        // Files of crates that others may move are named whole, and the one that stands for any cause is
        // none.
        if name.ends_with(".rs") && !name.contains("NAME") && name != "draw.rs" {
            assert!(find(name).is_some(), "{name}");
            files += 1;
        }
    }
    assert!(files > 15, "{files}");
}

#[test]
fn the_guide_has_the_order_of_claims_as_it_is() {
    let guide = include_str!("../../../../../docs/how-diagnosis-works.md");
    let section =
        guide.split("## Which cause has the time").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows =
        section.unwrap_or_default().lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let is: Vec<String> =
        diagnosis::cause::ClaimOrder::ALL.iter().map(|order| format!("{order:?}")).collect();
    assert_eq!(rows.collect::<Vec<_>>(), is);
    assert!(diagnosis::cause::ClaimOrder::ALL.is_sorted());
}
