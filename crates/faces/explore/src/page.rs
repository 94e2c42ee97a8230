//! The explorer's page: a self-contained HTML file, with the engine in it or for a server.
//!
//! `assets/explore.html` is built from `web/` and committed, so that cargo needs no node.

/// The page built by `web/build.mjs`, with its markers.
const PAGE: &str = include_str!("../assets/explore.html");

/// Marker of the engine: this crate for wasm32, as a raw deflate stream in base64. A page with an empty
/// engine sends its questions to the server.
const ENGINE: &str = "{{engine}}";

/// Marker in the page's Content-Security-Policy for the sources that the page may use.
const REACH: &str = "{{reach}}";

/// Returns the page for a server that answers its questions.
pub fn served_page() -> String {
    page("connect-src 'self'", "")
}

/// Returns the page with the engine in it, for any web server or the disk. `module` is this crate as
/// WebAssembly.
pub fn static_page(module: &[u8]) -> String {
    page("worker-src blob:", &report::packed(module))
}

fn page(reach: &str, engine: &str) -> String {
    PAGE.replacen(REACH, reach, 1).replacen(ENGINE, engine, 1)
}

/// Returns the page with its markers, to check that a program was built from given sources.
pub fn page_source() -> &'static str {
    PAGE
}
