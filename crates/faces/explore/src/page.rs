//! The explorer's page: one self-contained HTML file with the simulator in it.
//!
//! `assets/explore.html` is built from `web/`, `assets/engine.deflate` is this crate for wasm32, deflated: both are committed,
//! so that cargo needs neither node nor a target for browsers. `make explore` makes them anew.

use result::varints::base64;

/// The page as `web/build.mjs` leaves it, with the marker `{{engine}}`.
const PAGE: &str = include_str!("../assets/explore.html");

/// This crate for wasm32, as a raw deflate stream.
pub const ENGINE: &[u8] = include_bytes!("../assets/engine.deflate");

/// Where the engine goes.
const MARKER: &str = "{{engine}}";

/// The page as it is served, or opened from a file.
pub fn page() -> String {
    PAGE.replacen(MARKER, &base64(ENGINE), 1)
}
