//! Any bytes as the beginning of a stream: a PROXY header, a part of one, or none. More bytes never change a result, and a
//! header that is written is read back with the same addresses.
#![no_main]

use libfuzzer_sys::fuzz_target;
use proxy::{HeaderRead, LONGEST_HEADER, read_header};

fuzz_target!(|bytes: &[u8]| {
    let whole = read_header(bytes);
    if let Ok(HeaderRead::Whole { length, version, between }) = whole {
        assert!(length <= bytes.len() && length <= LONGEST_HEADER);
        assert_eq!(read_header(&bytes[..length]), whole, "the bytes after the header change the result");
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
