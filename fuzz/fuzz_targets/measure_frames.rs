//! Any bytes as messages and datagrams of `longfat measure`, and as a train that is evaluated. More bytes never change a
//! message, and a message that was read is written and read back the same.
#![no_main]

use diagnosis::train::{TrainPacket, evaluate};
use libfuzzer_sys::fuzz_target;
use measure::datagram::DatagramHead;
use measure::frame::{MAX_REPLY, MAX_REQUEST, decode, encode};
use measure::{Reply, Request};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((request, length))) = decode::<Request>(bytes, MAX_REQUEST) {
        assert!(length <= bytes.len() && length <= MAX_REQUEST + 4);
        assert_eq!(decode::<Request>(&bytes[..length], MAX_REQUEST), Ok(Some((request.clone(), length))));
        assert_eq!(decode::<Request>(&bytes[..length - 1], MAX_REQUEST), Ok(None));
        let written = encode(&request);
        assert_eq!(decode::<Request>(&written, usize::MAX), Ok(Some((request, written.len()))));
    }
    let _ = decode::<Reply>(bytes, MAX_REPLY);
    if let Some(head) = DatagramHead::decode(bytes) {
        assert_eq!(DatagramHead::decode(&head.encode()), Some(head));
    }
    let packet = |b: &[u8]| {
        let sent = f64::from(u16::from_le_bytes([b[0], b[1]])) / 1e3;
        let arrived = (b[3] & 1 == 1).then(|| sent + f64::from(b[2]) / 1e3);
        TrainPacket { sent, arrived, bytes: u32::from(b[3]) * 6 }
    };
    evaluate(&bytes.chunks_exact(4).map(packet).collect::<Vec<_>>(), bytes.len() % 2 == 0);
});
