//! Whatever a stream begins with: a PROXY header, less than one, or none; more bytes never take an answer back, and what a
//! header says is read again when it is written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::{HeaderRead, LONGEST_HEADER, read_header};

fuzz_target!(|bytes: &[u8]| {
    let whole = read_header(bytes);
    if let Ok(HeaderRead::Whole { length, version, between }) = whole {
        assert!(length <= bytes.len() && length <= LONGEST_HEADER);
        assert_eq!(read_header(&bytes[..length]), whole, "what follows does not count");
        if let Some((from, to)) = between {
            let written = version.write(from, to);
            let Ok(HeaderRead::Whole { between: Some((a, b)), length, .. }) = read_header(&written) else {
                panic!("{written:?}")
            };
            assert_eq!(length, written.len());
            assert_eq!((a.ip().to_canonical(), a.port()), (from.ip().to_canonical(), from.port()));
            assert_eq!((b.ip().to_canonical(), b.port()), (to.ip().to_canonical(), to.port()));
        }
    }
    for n in 0..bytes.len().min(256) {
        match read_header(&bytes[..n]) {
            Ok(HeaderRead::More) => {}
            decided => assert_eq!(decided, whole, "{n} of {} bytes", bytes.len()),
        }
    }
});
