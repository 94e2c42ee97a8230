//! TCP packets in every supported encapsulation.

use crate::build::*;

/// A frame that holds a TCP packet of 100 bytes, whose sequence number is the frame's position in the list.
pub struct Sample {
    pub link: u16,
    pub bytes: Vec<u8>,
    /// Bytes on the wire outside of the inner IP header.
    pub outside: u16,
    /// Name under which the tunnel is counted.
    pub tunnel: Option<&'static str>,
    /// Why tshark reads the frame differently, if it does.
    pub tshark_differs: Option<&'static str>,
}

struct Samples(Vec<Sample>);

impl Samples {
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
        self.0.push(Sample { link, bytes, outside, tunnel, tshark_differs: None });
    }

    fn ether(&mut self, kind: u16, payload: Vec<u8>, outside: u16, tunnel: Option<&'static str>) {
        self.add(1, ethernet(kind, &payload), outside, tunnel);
    }

    /// Adds a protocol over IPv4 over Ethernet.
    fn over(&mut self, protocol: u8, payload: Vec<u8>, outside: u16, tunnel: &'static str) {
        self.ether(0x0800, ipv4(protocol, &payload), outside + 34, Some(tunnel));
    }
}

pub fn encapsulations() -> Vec<Sample> {
    let mut z = Samples(Vec::new());
    links(&mut z);
    wireless(&mut z);
    logs(&mut z);
    tags(&mut z);
    extensions(&mut z);
    tunnels(&mut z);
    l2tp(&mut z);
    z.0
}

/// LLC and SNAP header before IPv4.
const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// An 802.11 data frame header: subtype, flags, sequence number, and the bytes after the addresses.
pub fn wifi(subtype: u8, flags: u8, number: u16, more: &[u8]) -> Vec<u8> {
    let mut b = vec![subtype << 4 | 8, flags, 0x30, 0];
    for last in [1, 2, 3] {
        b.extend([2, 0, 0, 0, 0, last]);
    }
    b.extend((number << 4).to_le_bytes());
    b.extend(more);
    b
}

/// A radiotap header with its presence words and fields.
pub fn radiotap(present: &[u32], fields: &[u8]) -> Vec<u8> {
    let length = (4 + present.len() * 4 + fields.len()) as u16;
    let words: Vec<u8> = present.iter().flat_map(|word| word.to_le_bytes()).collect();
    join(&[&[0, 0], &length.to_le_bytes(), &words, fields])
}

/// A subframe of an A-MSDU, without padding.
pub fn subframe(body: &[u8]) -> Vec<u8> {
    ethernet((body.len() + 8) as u16, &join(&[&SNAP, body]))
}

fn wireless(z: &mut Samples) {
    z.add(105, join(&[&wifi(0, 1, 1, &[]), &SNAP, &z.v4()]), 32, None);
    z.add(105, join(&[&wifi(8, 2, 2, &[6, 0]), &SNAP, &z.v4()]), 34, None);
    // Four addresses; QoS; HT control.
    let bridged = wifi(8, 0x83, 3, &[2, 0, 0, 0, 0, 4, 0, 0, 1, 2, 3, 4]);
    z.add(105, join(&[&bridged, &SNAP, &z.v4()]), 44, None);
    z.add(105, join(&[&wifi(8, 1, 4, &[0x80, 0]), &subframe(&z.v4())]), 22, None);
    z.add(127, join(&[&radiotap(&[0], &[]), &wifi(0, 1, 5, &[]), &SNAP, &z.v4()]), 32, None);
    // Time, flags (the header is padded to four bytes), rate.
    let head = radiotap(&[7], &[1, 2, 3, 4, 5, 6, 7, 8, 0x20, 12]);
    z.add(127, join(&[&head, &wifi(8, 1, 6, &[0, 0]), &[0, 0], &SNAP, &z.v4()]), 36, None);
    // Two presence words, so that the time must be aligned.
    let head = radiotap(&[0x8000_0003, 0], &[0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
    z.add(127, join(&[&head, &wifi(0, 2, 7, &[]), &SNAP, &z.v4()]), 32, None);
    let common = |flags: u8| join(&[&[2, 0, 20, 0], &[0; 8], &[flags, 0], &[0; 10]]);
    z.add(
        192,
        join(&[&[0, 0, 32, 0, 105, 0, 0, 0], &common(0), &wifi(0, 1, 8, &[]), &SNAP, &z.v4()]),
        32,
        None,
    );
    z.add(192, join(&[&[0, 0, 8, 0, 1, 0, 0, 0], &ethernet(0x0800, &z.v4())]), 14, None);
    z.add(192, join(&[&[0, 0, 8, 0, 12, 0, 0, 0], &z.v6()]), 0, None);
    // Aligned: a field of one byte takes four.
    let odd = [0xfe, 0xff, 1, 0, 9, 0, 0, 0];
    z.add(192, join(&[&[0, 1, 16, 0, 101, 0, 0, 0], &odd, &z.v6()]), 0, None);
    z.0.last_mut().unwrap().tshark_differs = Some("skips fields differently");
}

/// A pflog header of OpenBSD: 61 bytes and padding.
pub fn pflog(family: u8) -> Vec<u8> {
    let mut b = vec![61, family, 0, 0];
    b.extend(*b"em0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    b.resize(36, 0);
    b.extend([0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);
    b.resize(60, 0);
    b.extend([1, 0, 0, 0]);
    b
}

/// An attribute of netfilter's log.
pub fn attribute(big: bool, kind: u16, value: &[u8]) -> Vec<u8> {
    let mut b = join(&[&short(value.len() as u16 + 4, big), &short(kind, big), value]);
    b.resize(b.len().next_multiple_of(4), 0);
    b
}

fn logs(z: &mut Samples) {
    z.add(117, join(&[&pflog(2), &z.v4()]), 0, None);
    z.add(117, join(&[&pflog(24), &z.v6()]), 0, None);
    for big in [false, true] {
        let (head, prefix) = (attribute(big, 1, &[8, 0, 1, 0]), attribute(big, 10, b"in\0"));
        let device = attribute(big, 4, &[0, 0, 0, 2]);
        z.add(239, join(&[&[2, 0, 0, 5], &head, &prefix, &device, &attribute(big, 9, &z.v4())]), 0, None);
        if big {
            z.0.last_mut().unwrap().tshark_differs = Some("the byte order is that of the file");
        }
        z.add(239, join(&[&[7, 0, 0, 5], &head, &prefix, &attribute(big, 9, &z.v4())]), 0, None);
        z.0.last_mut().unwrap().tshark_differs = Some("parses only packets of IP address families");
    }
    z.add(104, join(&[&[0x0f, 0, 8, 0], &z.v4()]), 4, None);
    z.add(104, join(&[&[0x8f, 0, 0x86, 0xdd], &z.v6()]), 4, None);
    z.add(50, join(&[&[0x0f, 0, 8, 0], &z.v4()]), 4, None);
    z.add(50, join(&[&[0xff, 3, 0, 0x21], &z.v4()]), 4, None);
}

fn l2tp(z: &mut Samples) {
    let over_udp = |header: &[u8], payload: &[u8]| udp(1701, 1701, &join(&[header, payload]));
    let ppp = |ip: Vec<u8>| join(&[&[0xff, 3, 0, 0x21], &ip]);
    z.over(17, over_udp(&[0, 2, 0, 1, 0, 2], &ppp(z.v4())), 18, "l2tp");
    // Length, sequence numbers, an offset of two bytes.
    let full = [0x4a, 2, 0, 160, 0, 1, 0, 2, 0, 9, 0, 8, 0, 2, 0, 0];
    z.over(17, over_udp(&full, &ppp(z.v4())), 28, "l2tp");
    // Through NAT, and with PPP's protocol in one byte.
    z.over(17, udp(1701, 50_123, &join(&[&[0, 2, 0, 1, 0, 2, 0x57], &z.v6()])), 15, "l2tp");
    let session = [0, 0, 0, 7];
    z.over(115, join(&[&session, &ethernet(0x0800, &z.v4())]), 18, "l2tp");
    z.over(17, over_udp(&join(&[&[0, 3, 0, 0], &session]), &ethernet(0x0800, &z.v4())), 30, "l2tp");
    let cookie = [1, 2, 3, 4, 5, 6, 7, 8];
    let from = z.0.len();
    z.over(115, join(&[&session, &ppp(z.v4())]), 8, "l2tp");
    z.over(115, join(&[&session, &[0x40, 0, 0, 9], &ethernet(0x86dd, &z.v6())]), 22, "l2tp");
    let tagged = ethernet(0x8100, &join(&[&[0, 5, 8, 0], &z.v4()]));
    z.over(115, join(&[&session, &cookie, &[0; 4], &tagged]), 34, "l2tp");
    z.over(115, join(&[&session, &cookie, &ppp(z.v4())]), 16, "l2tp");
    z.over(115, join(&[&session, &[0x0f, 0, 8, 0], &z.v4()]), 8, "l2tp");
    z.over(115, join(&[&session, &[9; 4], &z.v4()]), 8, "l2tp");
    for sample in &mut z.0[from..] {
        sample.tshark_differs = Some("needs the content of a session as a preference");
    }
}

fn links(z: &mut Samples) {
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

fn tags(z: &mut Samples) {
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
    z.0.last_mut().unwrap().tshark_differs = Some("recognises pseudowires by other criteria");
    let wire = ethernet(0x0800, &z.v4());
    z.ether(0x8847, join(&[&labels, &wire]), 36, Some("mpls"));
    z.0.last_mut().unwrap().tshark_differs = Some("recognises pseudowires by other criteria");
    let length = (z.v4().len() as u16 + 2).to_be_bytes();
    z.ether(0x8864, join(&[&[0x11, 0, 0, 9], &length, &[0, 0x21], &z.v4()]), 22, Some("pppoe"));
}

fn extensions(z: &mut Samples) {
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

fn tunnels(z: &mut Samples) {
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
    z.0.last_mut().unwrap().tshark_differs = Some("recognises VXLAN only by port 4789");
    let geneve = [1, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 0];
    let inner = ethernet(0x0800, &z.v4());
    z.over(17, udp(50_000, 6081, &join(&[&geneve, &inner])), 34, "geneve");
    let gtp = |flags, len: usize| join(&[&[flags, 255], &(len as u16).to_be_bytes(), &[0, 0, 0, 1]]);
    let inner = z.v4();
    z.over(17, udp(2152, 2152, &join(&[&gtp(0x30, inner.len()), &inner])), 16, "gtp-u");
    let (inner, extension) = (z.v6(), [0, 1, 0, 0x85, 1, 0x10, 1, 0]);
    let head = gtp(0x36, inner.len() + extension.len());
    z.over(17, udp(2152, 2152, &join(&[&head, &extension, &inner])), 24, "gtp-u");
    // The encapsulation by the mirror is not the packet's.
    let mirrored = ethernet(0x0800, &z.v4());
    let erspan = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0];
    let frame = ethernet(0x0800, &ipv4(47, &join(&[&erspan, &mirrored])));
    z.add(1, frame, 14, Some("erspan"));
}
