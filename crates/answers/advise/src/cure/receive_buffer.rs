//! A receive buffer that holds what is under way, also while a loss is repaired: else the receiver's window is the limit
//! (RFC 7323 section 1.1). Behind a hole nothing can be read, and what comes meanwhile stays in the buffer.

use super::{Cure, CureOption, Lever, tune};
use crate::command::lines;
use crate::{Actor, CommandSet, Platform, Situation};
use scenario::Scenario;
use transport::Stack;
use units::Bytes;

/// A larger receive buffer.
pub struct LargerReceiveBuffer;

/// Below this many bandwidth-delay products a window holds a sender back: two are in flight with BBR or a full queue, and one
/// more comes in the round trip in which a lost segment is sent again (RFC 6675 section 5) and is held out of order.
const WINDOWS: u64 = 3;
/// A buffer is this many times the window that it offers: half is for what the kernel keeps beside the payload
/// (`tcp_adv_win_scale` of 1).
const OVERHEAD: u64 = 2;
/// The largest buffer that a scenario's stack may have (RFC 7323 section 2.3).
pub const MOST: u64 = (1 << 30) - 1;

/// The window that a stack offers at most.
fn window(stack: &Stack) -> u64 {
    stack.receive_window.map_or(stack.largest_receive_buffer() / OVERHEAD, Bytes::get)
}

/// Receiving hosts whose window is too small, and the buffer that is not.
pub fn too_small(s: &Situation<'_>) -> Vec<(usize, Bytes)> {
    let needed = |host: usize| {
        let bdps = s.ways.iter().filter(|w| w.to == host).filter_map(|w| w.bdp());
        let needed = bdps.map(|b| b.get() * WINDOWS).max()?;
        let fits = window(&s.reference().hosts[host].stack) >= needed;
        (!fits).then_some((host, Bytes::new(round(needed * OVERHEAD))))
    };
    s.receivers().into_iter().filter_map(needed).collect()
}

/// Up to the next MiB.
pub fn round(bytes: u64) -> u64 {
    (bytes.div_ceil(1 << 20) << 20).min(MOST)
}

/// Gives these hosts their buffers.
pub fn enlarge(new: Vec<(usize, Bytes)>) -> impl Fn(&mut Scenario) + Send + Sync {
    move |s| {
        for &(host, bytes) in &new {
            let stack = &mut s.hosts[host].stack;
            (stack.receive_window, stack.receive_buffer) = (None, Some(bytes));
        }
    }
}

/// What to type at a receiving host.
pub fn commands(s: &Situation<'_>, host: usize, bytes: Bytes) -> Vec<CommandSet> {
    let (name, n) = (s.host(host), bytes.get());
    let fixed = s.reference().hosts[host].stack.receive_window.is_some();
    let mut all = Vec::new();
    if fixed {
        all.push(CommandSet::on(
            Platform::Application,
            name,
            "a program that sets SO_RCVBUF itself",
            lines("leave setsockopt(…, SO_RCVBUF, …) out: the kernel then grows the buffer by itself"),
            lines("set it again"),
        ));
    }
    if tune::is_linux(s.reference(), host) {
        all.push(CommandSet::linux(
            name,
            "Linux 2.6.17",
            lines(&format!("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 {n}\"")),
            lines("sysctl -w net.ipv4.tcp_rmem=\"4096 131072 6291456\""),
        ));
    }
    all.into_iter().map(|c| c.purpose("receive-buffer")).collect()
}

impl Cure for LargerReceiveBuffer {
    fn name(&self) -> &'static str {
        "receive-buffer"
    }
    fn about(&self) -> &'static str {
        "A receive buffer for three bandwidth-delay products, so that the receiver's window is not the limit, after a loss either."
    }
    fn applies(&self) -> &'static str {
        "where a receiver's window is below three times the bandwidth-delay product of a path whose rate is known"
    }
    fn hurts(&self) -> &'static str {
        "Memory for each connection; behind a deep queue a larger window only fills the queue."
    }
    fn lever(&self) -> Lever {
        Lever::Buffers
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let new = too_small(s);
        let Some((_, first)) = new.first() else { return Vec::new() };
        let hosts: Vec<usize> = new.iter().map(|(h, _)| *h).collect();
        let title = format!("receive buffer of {first} {}", tune::at(s, &hosts));
        let commands: Vec<CommandSet> = new.iter().flat_map(|&(h, bytes)| commands(s, h, bytes)).collect();
        vec![CureOption::new(self, title, &[Actor::Receiver], enlarge(new)).with(commands)]
    }
}
