//! `web/schema/` holds the JSON Schemas of the pages' data, of which their TypeScript types are made:
//! `LONGFAT_BLESS=1 cargo test -p longfat-report --lib schema` writes them anew.

use serde_json::Value;
use std::path::PathBuf;

/// The schema (draft 7) of a page of a capture.
fn capture_page() -> Value {
    let mut schema = result::schema_of::<crate::diagnosis::page::CapturePage>();
    // The page's flows have a ribbon instead.
    let flow = &mut schema["definitions"]["CaptureFlow"];
    flow["properties"].as_object_mut().expect("keys").remove("timeline").expect("a timeline");
    flow["required"].as_array_mut().expect("keys").retain(|key| key != &Value::from("timeline"));
    schema
}

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../web/schema");
    let page = result::schema_of::<crate::page::ResultPage>();
    for (name, schema) in [("page.json", page), ("capture-page.json", capture_page())] {
        let (path, schema) = (folder.join(name), format!("{schema:#}\n"));
        if std::env::var_os("LONGFAT_BLESS").is_some() {
            std::fs::write(&path, &schema).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == schema,
            "web/schema/{name} is out of date: LONGFAT_BLESS=1 cargo test -p longfat-report --lib schema, then npm run build"
        );
    }
}
