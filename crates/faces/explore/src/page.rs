//! The explorer's page: one self-contained HTML file, with the engine in it or with a server behind it.
//!
//! `assets/explore.html` is built from `web/` and committed, so that cargo needs no node.

/// The page as `web/build.mjs` leaves it, with its markers.
const PAGE: &str = include_str!("../assets/explore.html");

/// Where the engine goes: this crate for wasm32, a raw deflate stream in base64. The page asks its server where this is
/// empty.
const ENGINE: &str = "{{engine}}";

/// Where the page's Content-Security-Policy says what the page may reach.
const REACH: &str = "{{reach}}";

/// The page for a server that answers its questions.
pub fn served_page() -> String {
    page("connect-src 'self'", "")
}

/// The page with the engine in it, for any web server or the disk. `module` is this crate as WebAssembly.
pub fn static_page(module: &[u8]) -> String {
    page("worker-src blob:", &report::packed(module))
}

fn page(reach: &str, engine: &str) -> String {
    PAGE.replacen(REACH, reach, 1).replacen(ENGINE, engine, 1)
}

/// The page with its markers: equal in a program and in the sources it was built from.
pub fn page_source() -> &'static str {
    PAGE
}
