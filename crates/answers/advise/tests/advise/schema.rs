//! The committed schema is what the types say.

#[test]
fn the_committed_schema_is_the_generated_one() {
    xtask::compare("docs/plan.schema.json", &advise::schema());
}
