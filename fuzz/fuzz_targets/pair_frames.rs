//! The opening of a peer's stream, and its datagrams: reading gives what was written, never before it is complete, and more
//! bytes do not change the result.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pair::{LONGEST_OPENING, Opening, OpeningRead, read_datagram, write_datagram};

fuzz_target!(|bytes: &[u8]| {
    let whole = Opening::read(bytes);
    if let OpeningRead::Done(opening, length) = &whole {
        assert!(*length <= LONGEST_OPENING && *length <= bytes.len());
        assert_eq!(opening.write(), bytes[..*length]);
    }
    if whole == OpeningRead::More {
        assert!(bytes.len() < LONGEST_OPENING);
    }
    for n in 0..bytes.len().min(LONGEST_OPENING) {
        match Opening::read(&bytes[..n]) {
            OpeningRead::More => {}
            decided => assert_eq!(decided, whole, "{n} of {} bytes", bytes.len()),
        }
    }
    match read_datagram(bytes) {
        Some((flow, payload)) => assert_eq!(write_datagram(flow, payload), bytes),
        None => assert!(bytes.len() < 4),
    }
});
