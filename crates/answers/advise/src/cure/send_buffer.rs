//! A send buffer that holds the bandwidth-delay product: data is kept until it is acknowledged.

use super::{Cure, CureOption, Lever, receive_buffer, tune};
use crate::Situation;
use result::{Change, ChangePlace, LinuxSetting, sizes};
use scenario::Scenario;
use units::Bytes;

pub struct LargerSendBuffer;

/// Default of `tcp_wmem[2]` in Linux.
const LINUX_SEND_BUFFER: u64 = 4 << 20;

impl LargerSendBuffer {
    fn too_small(s: &Situation<'_>) -> Vec<(usize, Bytes)> {
        let needed = |host: usize| {
            let bdps = s.paths.iter().filter(|w| w.from == host).filter_map(|w| w.bdp());
            let needed = bdps.map(|b| sizes::send_buffer(b.get())).max()?;
            let now = s.reference().hosts[host].stack.send_buffer.map_or(LINUX_SEND_BUFFER, Bytes::get);
            (now < needed && tune::is_linux(s.reference(), host))
                .then_some((host, Bytes::new(sizes::whole_mib(needed))))
        };
        s.senders().into_iter().filter_map(needed).collect()
    }
}

/// Gives these hosts their buffers.
fn enlarge(new: Vec<(usize, Bytes)>) -> impl Fn(&mut Scenario) + Send + Sync {
    move |s| new.iter().for_each(|&(host, bytes)| s.hosts[host].stack.send_buffer = Some(bytes))
}

fn remedy(s: &Situation<'_>, host: usize, bytes: Bytes) -> Change {
    let setting = LinuxSetting::BufferLimit { name: "net.ipv4.tcp_wmem", bytes: bytes.get() };
    setting.change().by([setting.at(s.host(host), "Linux 2.6.17")])
}

impl Cure for LargerSendBuffer {
    fn name(&self) -> &'static str {
        "send-buffer"
    }
    fn about(&self) -> &'static str {
        "A send buffer for twice the bandwidth-delay product, alone and with a matching receive buffer."
    }
    fn applies(&self) -> &'static str {
        "where the send buffer of a host with a non-Windows TCP is below four times the bandwidth-delay product of a path of known rate"
    }
    fn hurts(&self) -> &'static str {
        "It takes memory for each connection, and data that a program has written waits longer."
    }
    fn lever(&self) -> Lever {
        Lever::Buffers
    }
    fn options(&self, s: &Situation<'_>) -> Vec<CureOption> {
        let send = LargerSendBuffer::too_small(s);
        let Some(&(_, size)) = send.first() else { return Vec::new() };
        let receive = receive_buffer::too_small(s);
        let hosts: Vec<usize> = send.iter().map(|(h, _)| *h).collect();
        let own: Vec<Change> = send.iter().map(|&(h, bytes)| remedy(s, h, bytes)).collect();
        let title = format!("send buffer of {size} {}", tune::at(s, &hosts));
        let alone = CureOption::new(self, title.clone(), &[ChangePlace::Sender], enlarge(send.clone()))
            .with(own.clone());
        let Some(&(_, other)) = receive.first() else { return vec![alone] };
        let others: Vec<usize> = receive.iter().map(|(h, _)| *h).collect();
        let theirs = receive_buffer::remedies(s, &receive);
        let (here, there) = (enlarge(send), receive_buffer::enlarge(receive));
        let change = move |s: &mut Scenario| {
            here(s);
            there(s);
        };
        let title = format!("{title} and receive buffer of {other} {}", tune::at(s, &others));
        let both = CureOption::new(self, title, &[ChangePlace::Sender, ChangePlace::Receiver], change);
        vec![alone, both.named("both").with(own).with(theirs)]
    }
}
