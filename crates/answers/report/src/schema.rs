//! Checks the JSON Schemas of the pages' data in `web/schema/`, from which TypeScript types are generated.
//! `cargo xtask bless page-schema page` updates them.

use serde_json::Value;

/// The schema (draft 7) of a capture's page.
fn capture_page() -> Value {
    let mut schema = result::schema_of::<crate::diagnosis::page::CapturePage>();
    // The page's flows have a ribbon instead of a timeline.
    let flow = &mut schema["definitions"]["CaptureFlow"];
    flow["properties"].as_object_mut().expect("keys").remove("timeline").expect("a timeline");
    flow["required"].as_array_mut().expect("keys").retain(|key| key != &Value::from("timeline"));
    schema
}

#[test]
fn the_committed_schemas_are_the_generated_ones() {
    let page = result::schema_of::<crate::page::ResultPage>();
    xtask::compare("web/schema/page.json", &format!("{page:#}\n"));
    xtask::compare("web/schema/capture-page.json", &format!("{:#}\n", capture_page()));
}
