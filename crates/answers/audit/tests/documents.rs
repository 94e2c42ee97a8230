//! `docs/check.schema.json` and the table of rules in docs/check.md are what the code gives:
//! `LONGFAT_BLESS=1 cargo test -p longfat-audit --test documents` writes them anew.

use std::path::PathBuf;

const BEGIN: &str = "<!-- rules: LONGFAT_BLESS=1 cargo test -p longfat-audit --test documents -->\n";
const END: &str = "<!-- end of rules -->\n";
const STALE: &str = "is out of date: LONGFAT_BLESS=1 cargo test -p longfat-audit --test documents";

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../docs").join(name)
}

fn is_or_becomes(name: &str, wanted: &str) {
    if std::env::var_os("LONGFAT_BLESS").is_some() {
        std::fs::write(docs(name), wanted).expect("docs/ can be written");
    }
    let committed = std::fs::read_to_string(docs(name)).unwrap_or_default();
    assert!(committed == wanted, "docs/{name} {STALE}");
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    is_or_becomes("check.schema.json", &audit::schema());
}

#[test]
fn every_rule_is_in_the_documentation() {
    let page = std::fs::read_to_string(docs("check.md")).expect("docs/check.md");
    let (head, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (_, tail) = rest.split_once(END).expect("where it ends");
    let rows = audit::RULES.iter().map(|r| format!("| `{}` | {} | {} |\n", r.name, r.looks_for, r.source));
    let table: String = rows.collect();
    let wanted = format!("{head}{BEGIN}| rule | looks for | source |\n|---|---|---|\n{table}{END}{tail}");
    is_or_becomes("check.md", &wanted);
}
