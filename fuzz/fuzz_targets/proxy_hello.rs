//! Whatever a stream begins with: the name of a ClientHello, less than one, or none; more bytes never take an answer back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::{HelloRead, fits, server_name};

fuzz_target!(|bytes: &[u8]| {
    let whole = server_name(bytes);
    if let HelloRead::Name(name) = &whole {
        assert!((1..=253).contains(&name.len()) && *name == name.to_ascii_lowercase());
        assert!(fits(name, name));
    }
    for n in (0..bytes.len().min(600)).step_by(7) {
        match server_name(&bytes[..n]) {
            HelloRead::More => {}
            decided => assert_eq!(decided, whole, "{n} of {} bytes", bytes.len()),
        }
    }
});
