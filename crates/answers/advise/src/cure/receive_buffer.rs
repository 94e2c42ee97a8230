//! A receive buffer that holds all data in flight, also while a loss is recovered: otherwise the receive
//! window is the limit (RFC 7323 section 1.1). After a loss nothing can be read, and the data that follows
//! stays in the buffer.

use super::{Cure, CureOption, Lever, tune};
use crate::Situation;
use result::command::lines;
use result::{Change, ChangePlace, CommandSet, LinuxSetting, Platform, sizes};
use scenario::Scenario;
use transport::Stack;
use units::Bytes;

pub struct LargerReceiveBuffer;

/// Returns the largest receive window of a stack.
fn window(stack: &Stack) -> u64 {
    stack.receive_window.map_or(stack.largest_receive_buffer() / sizes::BUFFER_PER_PAYLOAD, Bytes::get)
}

/// Returns the receiving hosts whose window is too small, with the buffer that is large enough.
pub fn too_small(s: &Situation<'_>) -> Vec<(usize, Bytes)> {
    let needed = |host: usize| {
        let bdps = s.paths.iter().filter(|w| w.to == host).filter_map(|w| w.bdp());
        let bdp = bdps.map(Bytes::get).max()?;
        let fits = window(&s.reference().hosts[host].stack) >= sizes::received_payload(bdp);
        (!fits).then_some((host, Bytes::new(sizes::whole_mib(sizes::receive_buffer(bdp)))))
    };
    s.receivers().into_iter().filter_map(needed).collect()
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

/// Returns the changes, one for each receiving host.
pub fn remedies(s: &Situation<'_>, new: &[(usize, Bytes)]) -> Vec<Change> {
    let remedy = |&(host, bytes): &(usize, Bytes)| {
        let setting = LinuxSetting::BufferLimit { name: "net.ipv4.tcp_rmem", bytes: bytes.get() };
        setting.change().by(commands(s, host, &setting))
    };
    new.iter().map(remedy).collect()
}

fn commands(s: &Situation<'_>, host: usize, setting: &LinuxSetting) -> Vec<CommandSet> {
    let fixed = s.reference().hosts[host].stack.receive_window.is_some().then(|| {
        CommandSet::on(
            Platform::Application,
            s.host(host),
            "a program that sets SO_RCVBUF itself",
            lines("remove setsockopt(…, SO_RCVBUF, …): the kernel then grows the buffer automatically"),
            lines("set it again"),
        )
    });
    let linux = tune::is_linux(s.reference(), host).then(|| setting.at(s.host(host), "Linux 2.6.17"));
    fixed.into_iter().chain(linux).collect()
}

impl Cure for LargerReceiveBuffer {
    fn name(&self) -> &'static str {
        "receive-buffer"
    }
    fn about(&self) -> &'static str {
        "A receive buffer for three bandwidth-delay products, so that the receive window is not the limit, not even after a loss."
    }
    fn applies(&self) -> &'static str {
        "where a receive window is below three times the bandwidth-delay product of a path of known rate"
    }
    fn hurts(&self) -> &'static str {
        "It takes memory for each connection; with a deep queue, a larger window only fills the queue."
    }
    fn lever(&self) -> Lever {
        Lever::Buffers
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let new = too_small(s);
        let Some((_, first)) = new.first() else { return Vec::new() };
        let hosts: Vec<usize> = new.iter().map(|(h, _)| *h).collect();
        let title = format!("receive buffer of {first} {}", tune::at(s, &hosts));
        let remedies = remedies(s, &new);
        vec![CureOption::new(self, title, &[ChangePlace::Receiver], enlarge(new)).with(remedies)]
    }
}
