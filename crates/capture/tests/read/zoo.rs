//! TCP in everything it may be wrapped in.

use crate::build::*;

/// A frame that holds a TCP packet of 100 bytes with the sequence number that is its place in the list.
pub struct Beast {
    pub link: u16,
    pub bytes: Vec<u8>,
    /// Bytes on the wire outside the inner IP header.
    pub outside: u16,
    /// What is counted as a tunnel.
    pub tunnel: Option<&'static str>,
    /// tshark finds the TCP header only if told to; why.
    pub unlike_tshark: Option<&'static str>,
}

struct Zoo(Vec<Beast>);

impl Zoo {
    fn v4(&self) -> Vec<u8> {
        ipv4(6, &tcp(self.0.len() as u32, ACK, &[], 100))
    }

    fn v6(&self) -> Vec<u8> {
        ipv6(6, &self.tcp())
    }

    fn tcp(&self) -> Vec<u8> {
        tcp(self.0.len() as u32, ACK, &[], 100)
    }

    fn add(&mut self, link: u16, bytes: Vec<u8>, outside: u16, tunnel: Option<&'static str>) {
        self.0.push(Beast { link, bytes, outside, tunnel, unlike_tshark: None });
    }

    fn ether(&mut self, kind: u16, payload: Vec<u8>, outside: u16, tunnel: Option<&'static str>) {
        self.add(1, ethernet(kind, &payload), outside, tunnel);
    }

    /// Over IPv4 over Ethernet.
    fn over(&mut self, protocol: u8, payload: Vec<u8>, outside: u16, tunnel: &'static str) {
        self.ether(0x0800, ipv4(protocol, &payload), outside + 34, Some(tunnel));
    }
}

pub fn zoo() -> Vec<Beast> {
    let mut z = Zoo(Vec::new());
    links(&mut z);
    tags(&mut z);
    extensions(&mut z);
    tunnels(&mut z);
    z.0
}

fn links(z: &mut Zoo) {
    z.add(101, z.v4(), 0, None);
    z.add(101, z.v6(), 0, None);
    z.add(228, z.v4(), 0, None);
    z.add(229, z.v6(), 0, None);
    z.add(0, join(&[&[2, 0, 0, 0], &z.v4()]), 0, None);
    z.add(0, join(&[&[0, 0, 0, 30], &z.v6()]), 0, None);
    z.add(108, join(&[&[0, 0, 0, 2], &z.v4()]), 0, None);
    let cooked = [0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0];
    z.add(113, join(&[&cooked, &z.v4()]), 0, None);
    let cooked2 = [0x86, 0xdd, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    z.add(276, join(&[&cooked2, &z.v6()]), 0, None);
    z.add(9, join(&[&[0xff, 3, 0, 0x21], &z.v4()]), 4, None);
    z.add(9, join(&[&[0x57], &z.v6()]), 1, None);
}

fn tags(z: &mut Zoo) {
    z.ether(0x0800, z.v4(), 14, None);
    z.ether(0x86dd, z.v6(), 14, None);
    z.ether(0x8100, join(&[&[0, 5, 8, 0], &z.v4()]), 18, None);
    z.ether(0x88a8, join(&[&[0, 5, 0x81, 0, 0, 6, 8, 0], &z.v4()]), 22, None);
    z.ether(0x9100, join(&[&[0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &z.v6()]), 22, None);
    let snap = join(&[&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &z.v4()]);
    z.ether(snap.len() as u16, snap, 22, None);
    let labels = [0, 1, 0, 64, 0, 2, 1, 64];
    z.ether(0x8847, join(&[&labels, &z.v4()]), 22, Some("mpls"));
    z.ether(0x8847, join(&[&labels, &z.v6()]), 22, Some("mpls"));
    let wire = ethernet(0x0800, &z.v4());
    z.ether(0x8847, join(&[&labels, &[0; 4], &wire]), 40, Some("mpls"));
    z.0.last_mut().unwrap().unlike_tshark = Some("guesses pseudowires by other signs");
    let wire = ethernet(0x0800, &z.v4());
    z.ether(0x8847, join(&[&labels, &wire]), 36, Some("mpls"));
    z.0.last_mut().unwrap().unlike_tshark = Some("guesses pseudowires by other signs");
    let length = (z.v4().len() as u16 + 2).to_be_bytes();
    z.ether(0x8864, join(&[&[0x11, 0, 0, 9], &length, &[0, 0x21], &z.v4()]), 22, Some("pppoe"));
}

fn extensions(z: &mut Zoo) {
    let hop = [43, 0, 1, 4, 0, 0, 0, 0];
    let routing = [60, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let destination = [6, 0, 1, 4, 0, 0, 0, 0];
    z.ether(0x86dd, ipv6(0, &join(&[&hop, &routing, &destination, &z.tcp()])), 14, None);
    let ah = |next| [next, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
    z.ether(0x86dd, ipv6(51, &join(&[&ah(6), &z.tcp()])), 14, None);
    z.ether(0x0800, ipv4(51, &join(&[&ah(6), &z.tcp()])), 14, None);
    let atomic = [6, 0, 0, 0, 0, 0, 0, 9];
    z.ether(0x86dd, ipv6(44, &join(&[&atomic, &z.tcp()])), 14, None);
}

fn tunnels(z: &mut Zoo) {
    z.over(47, join(&[&[0, 0, 8, 0], &z.v4()]), 4, "gre");
    let full = [0xb0, 0, 0x86, 0xdd, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1];
    z.over(47, join(&[&full, &z.v6()]), 16, "gre");
    z.over(47, join(&[&[0x20, 0, 0x65, 0x58, 0, 0, 0, 5], &ethernet(0x0800, &z.v4())]), 22, "gre");
    let pptp = [0x30, 0x81, 0x88, 0x0b, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1];
    z.over(47, join(&[&pptp, &[0, 0x21], &z.v4()]), 18, "gre");
    z.over(4, z.v4(), 0, "ipip");
    z.over(41, z.v6(), 0, "6in4");
    z.ether(0x86dd, ipv6(4, &z.v4()), 54, Some("4in6"));
    z.ether(0x86dd, ipv6(41, &z.v6()), 54, Some("6in6"));
    let inner = ethernet(0x0800, &z.v4());
    z.over(17, udp(50_000, 4789, &join(&[&[8, 0, 0, 0, 0, 0, 5, 0], &inner])), 30, "vxlan");
    let inner = ethernet(0x8100, &join(&[&[0, 5, 0x86, 0xdd], &z.v6()]));
    z.over(17, udp(50_000, 8472, &join(&[&[8, 0, 0, 0, 0, 0, 5, 0], &inner])), 34, "vxlan");
    z.0.last_mut().unwrap().unlike_tshark = Some("knows VXLAN by port 4789");
    let geneve = [1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 0];
    let inner = ethernet(0x0800, &z.v4());
    z.over(17, udp(50_000, 6081, &join(&[&geneve, &inner])), 34, "geneve");
    let gtp = |flags, len: usize| join(&[&[flags, 255], &(len as u16).to_be_bytes(), &[0, 0, 0, 1]]);
    let inner = z.v4();
    z.over(17, udp(2152, 2152, &join(&[&gtp(0x30, inner.len()), &inner])), 16, "gtp-u");
    let (inner, extension) = (z.v6(), [0, 1, 0, 0x85, 1, 0x10, 1, 0]);
    let head = gtp(0x36, inner.len() + extension.len());
    z.over(17, udp(2152, 2152, &join(&[&head, &extension, &inner])), 24, "gtp-u");
    // The mirror's wrapping is not the packet's.
    let mirrored = ethernet(0x0800, &z.v4());
    let erspan = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0];
    let frame = ethernet(0x0800, &ipv4(47, &join(&[&erspan, &mirrored])));
    z.add(1, frame, 14, Some("erspan"));
}
