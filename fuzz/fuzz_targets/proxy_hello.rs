//! Any bytes as the beginning of a stream: a ClientHello with a server name, a part of one, or none. More bytes never change a
//! result.
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
