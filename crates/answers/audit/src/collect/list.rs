//! Lists from the kernel (netlink(7)): a question, and the body of each message that answers it.

use linux::netlink::{NetlinkSocket, Service, messages, question};
use std::io;
use std::time::Duration;

/// How long netlink may be silent before the question is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// `tcmsg` without attributes, and what queueing disciplines and classes have in common: linux/rtnetlink.h, linux/pkt_sched.h.
pub const TCMSG: usize = 20;
pub const TCA_KIND: u16 = 1;
pub const TCA_OPTIONS: u16 = 2;
pub const TC_H_ROOT: u32 = u32::MAX;

/// Asks for a list: the kind of the question, and what follows its header. Each message's body goes to `each`.
///
/// # Errors
/// What the kernel says.
pub fn dump(service: Service, kind: u16, body: &[u8], each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let socket = NetlinkSocket::with_patience(service, PATIENCE)?;
    socket.send(&question(kind, body))?;
    let mut buffer = vec![0; 256 << 10];
    loop {
        let n = socket.recv(&mut buffer)?;
        if messages(&buffer[..n.min(buffer.len())], &mut |_, body| each(body))? {
            return Ok(());
        }
    }
}
