//! Compiles `--filter 'host 10.0.0.1 port 443'` to a classic BPF program for packet sockets without
//! link header.

use capture::SNAPLEN;
use linux::packet::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_B, BPF_H, BPF_IND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD,
    BPF_LDX, BPF_MSH, BPF_RET, BPF_W, FilterStep,
};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// Maximum number of hosts and ports in a filter.
pub const MAX_TERMS: usize = 16;

/// `SKF_AD_OFF + SKF_AD_PROTOCOL`: the packet's EtherType (linux/filter.h).
const ETHERTYPE: u32 = -0x1000i32 as u32;
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const TCP: u32 = 6;
const UDP: u32 = 17;
/// Mask of the fragment offset: later IPv4 fragments have such bits, and no ports.
const FRAGMENT_OFFSET: u32 = 0x1fff;

/// An address, or all addresses with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HostTerm {
    ip: IpAddr,
    bits: u32,
}

/// A filter: one end must be one of the hosts, and one end must have one of the ports. An empty list matches
/// all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveFilter {
    hosts: Vec<HostTerm>,
    ports: Vec<u16>,
}

impl FromStr for LiveFilter {
    type Err = String;

    /// Parses `host ADDR[/BITS]` and `port N`, in any order, optionally joined by `and`.
    fn from_str(text: &str) -> Result<LiveFilter, String> {
        let mut filter = LiveFilter::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            match (word, words.next()) {
                ("and", Some("host" | "port")) => return filter.without_and(text),
                ("host", Some(value)) => filter.hosts.push(parse_host(value)?),
                ("port", Some(value)) => {
                    let port = value.parse().ok().filter(|port| *port > 0);
                    filter.ports.push(
                        port.ok_or_else(|| format!("port `{value}`: expected a number from 1 to 65535"))?,
                    );
                }
                _ => {
                    return Err(format!(
                        "`{word}`: expected `host ADDRESS` and `port NUMBER`, for example 'host 10.0.0.1 port 443'"
                    ));
                }
            }
        }
        if filter.hosts.len() + filter.ports.len() > MAX_TERMS {
            return Err(format!("more than {MAX_TERMS} hosts and ports"));
        }
        Ok(filter)
    }
}

impl LiveFilter {
    /// Parses a text with `and` by removing it.
    fn without_and(self, text: &str) -> Result<LiveFilter, String> {
        let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "and").collect();
        words.join(" ").parse()
    }

    /// Whether the filter matches everything.
    pub fn is_empty(&self) -> bool {
        *self == LiveFilter::default()
    }

    /// Returns the addresses and prefixes, with their lengths in bits.
    pub fn hosts(&self) -> impl Iterator<Item = (IpAddr, u8)> {
        self.hosts.iter().map(|h| (h.ip, h.bits as u8))
    }

    /// Returns the ports.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Whether the filter matches packets between these ends.
    pub fn matches(&self, a: SocketAddr, b: SocketAddr) -> bool {
        let ends = [a, b];
        let is_listed = |h: &HostTerm| ends.iter().any(|end| h.contains(end.ip()));
        (self.hosts.is_empty() || self.hosts.iter().any(is_listed))
            && (self.ports.is_empty() || ends.iter().any(|end| self.ports.contains(&end.port())))
    }

    /// Compiles the filter. The program returns the number of bytes to keep, 0 for packets that do not match.
    /// ICMP passes a filter of ports, because the message may be about one of these ports.
    pub fn program(&self) -> Vec<FilterStep> {
        let mut p = Program::default();
        p.load(BPF_W | BPF_ABS, ETHERTYPE);
        p.jump_if(IPV4, Label::V4);
        p.jump_if(IPV6, Label::V6);
        p.ret(0);
        p.mark(Label::V4);
        self.compile_hosts(&mut p, true);
        p.mark(Label::V4Ports);
        if !self.ports.is_empty() {
            p.load(BPF_H | BPF_ABS, 6);
            // Accept later fragments.
            p.push(BPF_JMP | BPF_JSET | BPF_K, 0, 1, FRAGMENT_OFFSET);
            p.jump(Label::Accept);
            p.load(BPF_B | BPF_ABS, 9);
            self.compile_protocols(&mut p, Label::V4Transport);
            p.mark(Label::V4Transport);
            p.push(BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0);
            self.compile_ports(&mut p, BPF_H | BPF_IND, 0);
        }
        p.jump(Label::Accept);
        p.mark(Label::V6);
        self.compile_hosts(&mut p, false);
        p.mark(Label::V6Ports);
        if !self.ports.is_empty() {
            p.load(BPF_B | BPF_ABS, 6);
            self.compile_protocols(&mut p, Label::V6Transport);
            p.mark(Label::V6Transport);
            self.compile_ports(&mut p, BPF_H | BPF_ABS, 40);
        }
        p.mark(Label::Accept);
        p.ret(SNAPLEN);
        p.assemble()
    }

    /// Continues with the ports if one end is one of the hosts of this version, or if there are no hosts.
    fn compile_hosts(&self, p: &mut Program, v4: bool) {
        if self.hosts.is_empty() {
            return;
        }
        let ports = if v4 { Label::V4Ports } else { Label::V6Ports };
        for host in self.hosts.iter().filter(|h| h.ip.is_ipv4() == v4) {
            for at in if v4 { [12, 16] } else { [8, 24] } {
                let skip = p.new_label();
                for (i, (word, mask)) in host.words().into_iter().enumerate().filter(|(_, w)| w.1 != 0) {
                    p.load(BPF_W | BPF_ABS, at + 4 * i as u32);
                    p.push(BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
                    p.jump_unless(word & mask, skip);
                }
                p.jump(ports);
                p.mark(skip);
            }
        }
        p.ret(0);
    }

    /// Continues with the ports of TCP and UDP; accepts all other protocols.
    fn compile_protocols(&self, p: &mut Program, ports: Label) {
        p.jump_if(TCP, ports);
        p.jump_if(UDP, ports);
        p.jump(Label::Accept);
    }

    fn compile_ports(&self, p: &mut Program, mode: u32, at: u32) {
        for offset in [0, 2] {
            p.load(mode, at + offset);
            self.ports.iter().for_each(|port| p.jump_if(u32::from(*port), Label::Accept));
        }
        p.ret(0);
    }
}

impl HostTerm {
    fn contains(&self, ip: IpAddr) -> bool {
        let other = HostTerm { ip, bits: self.bits };
        self.ip.is_ipv4() == ip.is_ipv4()
            && self.words().iter().zip(other.words()).all(|(a, b)| a.0 & a.1 == b.0 & a.1)
    }

    /// Returns the address as 32-bit words, each with its mask.
    fn words(&self) -> Vec<(u32, u32)> {
        let bytes = match self.ip {
            IpAddr::V4(ip) => ip.octets().to_vec(),
            IpAddr::V6(ip) => ip.octets().to_vec(),
        };
        let words = bytes.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let mask = |i: usize| match self.bits.saturating_sub(32 * i as u32).min(32) {
            0 => 0,
            bits => u32::MAX << (32 - bits),
        };
        words.enumerate().map(|(i, word)| (word, mask(i))).collect()
    }
}

fn parse_host(text: &str) -> Result<HostTerm, String> {
    let error = || format!("host `{text}`: expected an address like 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32");
    let (ip, bits) = text.split_once('/').map_or((text, None), |(ip, bits)| (ip, Some(bits)));
    let ip: IpAddr = ip.parse().map_err(|_| error())?;
    let max = if ip.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(max), |bits| bits.parse().ok().filter(|bits| *bits <= max));
    Ok(HostTerm { ip, bits: bits.ok_or_else(error)? })
}

impl fmt::Display for LiveFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.hosts.iter().map(|h| match h.bits {
            bits if bits == if h.ip.is_ipv4() { 32 } else { 128 } => format!("host {}", h.ip),
            bits => format!("host {}/{bits}", h.ip),
        });
        let words: Vec<String> = hosts.chain(self.ports.iter().map(|p| format!("port {p}"))).collect();
        f.write_str(&words.join(" "))
    }
}

/// A jump target in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    V4,
    V4Ports,
    V4Transport,
    V6,
    V6Ports,
    V6Transport,
    Accept,
    /// A numbered local target.
    Skip(usize),
}

/// A program under construction. Conditional jumps skip at most one instruction and far jumps are
/// unconditional, so that no offset exceeds the 8 bits of a conditional jump.
#[derive(Default)]
struct Program {
    steps: Vec<FilterStep>,
    marks: Vec<(Label, usize)>,
    jumps: Vec<(usize, Label)>,
    skips: usize,
}

impl Program {
    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) {
        self.steps.push(FilterStep { code: code as u16, jt, jf, k });
    }

    fn load(&mut self, mode: u32, k: u32) {
        self.push(BPF_LD | mode, 0, 0, k);
    }

    fn ret(&mut self, bytes: u32) {
        self.push(BPF_RET | BPF_K, 0, 0, bytes);
    }

    fn jump(&mut self, to: Label) {
        self.jumps.push((self.steps.len(), to));
        self.push(BPF_JMP | BPF_JA, 0, 0, 0);
    }

    fn jump_if(&mut self, equals: u32, to: Label) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, equals);
        self.jump(to);
    }

    fn jump_unless(&mut self, equals: u32, to: Label) {
        self.push(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, equals);
        self.jump(to);
    }

    fn mark(&mut self, label: Label) {
        self.marks.push((label, self.steps.len()));
    }

    fn new_label(&mut self) -> Label {
        self.skips += 1;
        Label::Skip(self.skips)
    }

    fn assemble(mut self) -> Vec<FilterStep> {
        for (at, label) in self.jumps {
            let to = self.marks.iter().find(|m| m.0 == label).map_or(at + 1, |m| m.1);
            // All jumps are forward.
            self.steps[at].k = (to - at - 1) as u32;
        }
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::tests::packet;

    /// Interprets a program as the kernel does (`bpf_prog_run` for the instructions used here).
    fn run(program: &[FilterStep], ethertype: u32, packet: &[u8]) -> u32 {
        let (mut a, mut x, mut at) = (0u32, 0u32, 0usize);
        loop {
            let s = program[at];
            at += 1;
            let code = u32::from(s.code);
            let value = |from: usize, n: usize| {
                packet.get(from..from + n).map(|b| b.iter().fold(0, |sum, b| sum << 8 | u32::from(*b)))
            };
            match code & 7 {
                c if c == BPF_LD && s.k == ETHERTYPE => a = ethertype,
                c if c == BPF_LD => {
                    let n = if code & BPF_B == BPF_B {
                        1
                    } else if code & BPF_H == BPF_H {
                        2
                    } else {
                        4
                    };
                    let base = if code & 0xe0 == BPF_IND { x } else { 0 };
                    match value((base + s.k) as usize, n) {
                        Some(loaded) => a = loaded,
                        None => return 0,
                    }
                }
                c if c == BPF_LDX => x = (u32::from(packet[s.k as usize]) & 15) * 4,
                c if c == BPF_ALU => a &= s.k,
                c if c == BPF_RET => return s.k,
                _ if code & 0xf0 == BPF_JA => at += s.k as usize,
                _ => {
                    let holds = if code & 0xf0 == BPF_JSET { a & s.k > 0 } else { a == s.k };
                    at += usize::from(if holds { s.jt } else { s.jf });
                }
            }
        }
    }

    fn passes(filter: &str, ethertype: u32, packet: &[u8]) -> bool {
        let filter: LiveFilter = filter.parse().unwrap();
        run(&filter.program(), ethertype, packet) == SNAPLEN
    }

    #[test]
    fn the_compiled_program_accepts_matching_packets() {
        let web = packet(6, 443);
        for filter in [
            "",
            "port 443",
            "port 40000",
            "host 10.0.0.1",
            "host 10.0.0.2 port 443",
            "port 443 and host 10.0.0.0/8",
            "host 2001:db8::1 host 10.0.0.2",
            "port 22 port 443",
        ] {
            assert!(passes(filter, IPV4, &web), "{filter}");
        }
        for filter in
            ["port 22", "host 10.0.0.3", "host 11.0.0.0/8", "host 10.0.0.1 port 22", "host 2001:db8::1"]
        {
            assert!(!passes(filter, IPV4, &web), "{filter}");
        }
        assert!(passes("port 22", IPV4, &packet(1, 0)), "ICMP may be about it");
        assert!(!passes("", 0x0806, &web), "ARP");
        let mut v6 = vec![0; 60];
        (v6[0], v6[6], v6[8], v6[9], v6[39]) = (0x60, 17, 0x20, 0x01, 2);
        v6[40..44].copy_from_slice(&[1, 187, 0, 81]);
        for filter in ["", "port 443", "host ::2", "host 2001::/16 port 81"] {
            assert!(passes(filter, IPV6, &v6), "{filter}");
        }
        for filter in ["port 80", "host ::3", "host 10.0.0.1", "host 2002::/16"] {
            assert!(!passes(filter, IPV6, &v6), "{filter}");
        }
        // Sockets are matched by the same filter.
        let filter: LiveFilter = "host 10.0.0.0/8 port 443".parse().unwrap();
        let end = |text: &str| text.parse::<SocketAddr>().unwrap();
        assert!(filter.matches(end("10.9.9.9:50000"), end("192.0.2.1:443")));
        assert!(!filter.matches(end("11.0.0.1:50000"), end("192.0.2.1:443")));
        assert!(!filter.matches(end("10.9.9.9:50000"), end("192.0.2.1:80")));
    }

    #[test]
    fn the_longest_program_fits() {
        let hosts: String = (1..=MAX_TERMS).map(|i| format!("host 2001:db8::{i:x} ")).collect();
        let longest = hosts.parse::<LiveFilter>().unwrap().program();
        assert!(longest.len() < 4096, "BPF_MAXINSNS: {}", longest.len());
        assert_eq!(hosts.parse::<LiveFilter>().unwrap().to_string(), hosts.trim());
        assert!((hosts + "port 1").parse::<LiveFilter>().is_err());
    }

    #[test]
    fn errors_in_filters_say_what_is_expected() {
        for bad in [
            "tcp",
            "host",
            "host x",
            "host 10.0.0.1/33",
            "port 0",
            "port 70000",
            "port http",
            "host 10.0.0.1 or port 1",
        ] {
            assert!(bad.parse::<LiveFilter>().unwrap_err().contains("expected "), "{bad}");
        }
    }
}
