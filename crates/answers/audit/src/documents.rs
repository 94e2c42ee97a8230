//! Tests that `docs/check.schema.json` and the table of rules in docs/check.md are up to date. `cargo xtask
//! bless audit` writes them.

const PAGE: &str = "docs/check.md";
const BEGIN: &str = "<!-- rules: cargo xtask bless -->\n";
const END: &str = "<!-- end of rules -->\n";

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/check.schema.json", &result::schema_text::<crate::CheckReport>());
}

#[test]
fn every_rule_is_in_the_documentation() {
    let page = std::fs::read_to_string(xtask::path(PAGE)).expect(PAGE);
    let (head, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (_, tail) = rest.split_once(END).expect("where it ends");
    let rows = crate::RULES.iter().map(|r| format!("| `{}` | {} | {} |\n", r.name, r.looks_for, r.source));
    let table: String = rows.collect();
    let wanted = format!("{head}{BEGIN}| rule | looks for | source |\n|---|---|---|\n{table}{END}{tail}");
    xtask::compare(PAGE, &wanted);
}
