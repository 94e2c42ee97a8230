//! A send buffer that holds the bandwidth-delay product: what is not acknowledged has to be kept.

use super::{Cure, CureOption, Lever, receive_buffer, tune};
use crate::command::lines;
use crate::{Actor, CommandSet, Situation};
use scenario::Scenario;
use units::Bytes;

/// A larger send buffer; alone, and together with the receiver's.
pub struct LargerSendBuffer;

/// `tcp_wmem[2]` of Linux.
const USUAL: u64 = 4 << 20;
/// Bandwidth-delay products that a buffer has room for: what is not acknowledged, and what is sent while a loss is repaired.
const WINDOWS: u64 = 2;
/// The kernel counts its own bookkeeping too: some 2304 bytes for 1448 of payload.
const OVERHEAD: u64 = 2;

impl LargerSendBuffer {
    fn too_small(s: &Situation<'_>) -> Vec<(usize, Bytes)> {
        let needed = |host: usize| {
            let bdps = s.ways.iter().filter(|w| w.from == host).filter_map(|w| w.bdp());
            let needed = bdps.map(|b| b.get() * WINDOWS * OVERHEAD).max()?;
            let now = s.reference().hosts[host].stack.send_buffer.map_or(USUAL, Bytes::get);
            (now < needed && tune::is_linux(s.reference(), host))
                .then_some((host, Bytes::new(receive_buffer::round(needed))))
        };
        s.senders().into_iter().filter_map(needed).collect()
    }
}

/// Gives these hosts their buffers.
fn enlarge(new: Vec<(usize, Bytes)>) -> impl Fn(&mut Scenario) + Send + Sync {
    move |s| new.iter().for_each(|&(host, bytes)| s.hosts[host].stack.send_buffer = Some(bytes))
}

fn commands(s: &Situation<'_>, host: usize, bytes: Bytes) -> CommandSet {
    CommandSet::linux(
        s.host(host),
        "Linux 2.6.17",
        lines(&format!("sysctl -w net.ipv4.tcp_wmem=\"4096 16384 {}\"", bytes.get())),
        lines("sysctl -w net.ipv4.tcp_wmem=\"4096 16384 4194304\""),
    )
    .purpose("send-buffer")
}

impl Cure for LargerSendBuffer {
    fn name(&self) -> &'static str {
        "send-buffer"
    }
    fn about(&self) -> &'static str {
        "A send buffer for twice the bandwidth-delay product, alone and with a receive buffer to match."
    }
    fn applies(&self) -> &'static str {
        "where the buffer of a sender whose TCP is not Windows' is below four times the bandwidth-delay product of a path whose rate is known"
    }
    fn hurts(&self) -> &'static str {
        "Memory for each connection, and data that a program thinks sent waits longer."
    }
    fn lever(&self) -> Lever {
        Lever::Buffers
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let send = LargerSendBuffer::too_small(s);
        let Some(&(_, size)) = send.first() else { return Vec::new() };
        let receive = receive_buffer::too_small(s);
        let hosts: Vec<usize> = send.iter().map(|(h, _)| *h).collect();
        let own: Vec<CommandSet> = send.iter().map(|&(h, bytes)| commands(s, h, bytes)).collect();
        let title = format!("send buffer of {size} {}", tune::at(s, &hosts));
        let alone =
            CureOption::new(self, title.clone(), &[Actor::Sender], enlarge(send.clone())).with(own.clone());
        let Some(&(_, other)) = receive.first() else { return vec![alone] };
        let others: Vec<usize> = receive.iter().map(|(h, _)| *h).collect();
        let theirs: Vec<CommandSet> =
            receive.iter().flat_map(|&(h, bytes)| receive_buffer::commands(s, h, bytes)).collect();
        let (here, there) = (enlarge(send), receive_buffer::enlarge(receive));
        let change = move |s: &mut Scenario| {
            here(s);
            there(s);
        };
        let title = format!("{title} and receive buffer of {other} {}", tune::at(s, &others));
        let both = CureOption::new(self, title, &[Actor::Sender, Actor::Receiver], change);
        vec![alone, both.named("both").with(own).with(theirs)]
    }
}
