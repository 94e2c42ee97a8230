//! The committed schema is what the types say.

#[test]
fn the_schema_in_docs_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fit.schema.json");
    if std::env::var_os("LONGFAT_BLESS").is_some() {
        std::fs::write(path, fit::schema()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == fit::schema(), "LONGFAT_BLESS=1 cargo test -p longfat-fit writes it anew");
}
