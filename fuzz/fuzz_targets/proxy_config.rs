//! Whatever a proxy's configuration holds: one that is right, or an error with a place; no panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::ProxyConfig;

fuzz_target!(|text: &str| {
    match ProxyConfig::parse("fuzz.toml", text) {
        Ok(config) => {
            assert_eq!(config.fault(), None);
            // It goes nowhere but where it says: every upstream that a listener names is there.
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
