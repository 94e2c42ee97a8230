//! Any text as a proxy's configuration: gives a valid configuration or an error with its line and column, without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::ProxyConfig;

fuzz_target!(|text: &str| {
    match ProxyConfig::parse("fuzz.toml", text) {
        Ok(config) => {
            assert_eq!(config.fault(), None);
            // Every upstream that a listener names exists, and every listener has a target.
            for listener in config.listeners.values() {
                assert!(listener.upstream.iter().chain(listener.sni.values()).all(|u| config.upstreams.contains_key(u)));
                assert!(listener.upstream.is_some() || !listener.sni.is_empty() || !listener.transparent.is_empty());
            }
        }
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1);
            assert!(!error.render().is_empty() && !error.to_string().is_empty());
        }
    }
});
