//! Lists from the kernel (netlink(7)): sends a request and passes on the body of each message of the answer.

use linux::netlink::{NetlinkSocket, Service};
use std::io;
use std::time::Duration;

/// Time without an answer after which a request fails.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of `tcmsg` without attributes.
pub const TCMSG_BYTES: usize = 20;
pub const TCA_KIND: u16 = 1;
pub const TCA_OPTIONS: u16 = 2;
pub const TC_H_ROOT: u32 = u32::MAX;

/// Requests a list. `kind` is the message type, `body` follows its header; each message's body of the answer
/// goes to `each`.
///
/// # Errors
/// Fails with the kernel's error.
pub fn dump(service: Service, kind: u16, body: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    NetlinkSocket::with_timeout(service, TIMEOUT)?.list(kind, body, each)
}
