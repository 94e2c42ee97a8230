//! Counters of the protocols in a capture.

use super::NamedCount;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($item:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $name { $($item,)* }

        impl $name {
            const NAMES: &'static [&'static str] = &[$($text,)*];
        }
    };
}

named! {
    /// Why a record holds neither TCP nor UDP.
    Other {
        Arp = "arp",
        Icmp = "icmp",
        Icmp6 = "icmpv6",
        Igmp = "igmp",
        Sctp = "sctp",
        Esp = "esp",
        Macsec = "macsec",
        Discovery = "pppoe discovery",
        PppControl = "ppp control",
        Lldp = "lldp",
        Llc = "802.2",
        WifiEncrypted = "encrypted 802.11",
        WifiManagement = "802.11 management",
        WifiControl = "802.11 control",
        WifiNoData = "802.11 without data",
        WifiFragment = "later 802.11 fragment",
        WifiRepeated = "repeated 802.11",
        WifiDamaged = "802.11 with a wrong checksum",
        EtherType = "other ethertype",
        Protocol = "other ip protocol",
        Tunnelled = "unknown tunnel payload",
        Link = "unknown link type",
        Deep = "too many layers",
        Cut = "cut before TCP",
        Bad = "bad header",
    }
}

named! {
    /// Tunnels and encapsulations.
    Tunnel {
        Gre = "gre",
        Erspan = "erspan",
        Vxlan = "vxlan",
        Geneve = "geneve",
        GtpU = "gtp-u",
        FourInFour = "ipip",
        SixInFour = "6in4",
        FourInSix = "4in6",
        SixInSix = "6in6",
        L2tp = "l2tp",
        Mpls = "mpls",
        Pppoe = "pppoe",
        Esp = "esp",
        EspInUdp = "esp-in-udp",
        WireGuard = "wireguard-like",
    }
}

/// Counters of a capture.
#[derive(Default)]
pub(super) struct ProtocolTally {
    pub(super) tcp: u64,
    pub(super) udp: u64,
    pub(super) fragments: u64,
    /// Frames after the first of their record.
    pub(super) further: u64,
    other: [u64; Other::NAMES.len()],
    tunnels: [u64; Tunnel::NAMES.len()],
}

impl ProtocolTally {
    pub(super) fn other(&mut self, why: Other) {
        self.other[why as usize] += 1;
    }

    /// Counts the tunnels whose bits are set in `mask`.
    pub(super) fn tunnels(&mut self, mask: u32) {
        for (i, count) in self.tunnels.iter_mut().enumerate() {
            *count += (mask >> i & 1) as u64;
        }
    }

    pub(super) fn others_found(&self) -> Vec<NamedCount> {
        found(Other::NAMES, &self.other)
    }

    pub(super) fn tunnels_found(&self) -> Vec<NamedCount> {
        found(Tunnel::NAMES, &self.tunnels)
    }
}

fn found(names: &[&'static str], counts: &[u64]) -> Vec<NamedCount> {
    let pairs = names.iter().zip(counts).filter(|(_, count)| **count > 0);
    pairs.map(|(&name, &count)| NamedCount { name, count }).collect()
}
