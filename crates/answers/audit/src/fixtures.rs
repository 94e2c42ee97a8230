//! Facts for tests, of a namespace in which nothing is wrong.

use crate::facts::{DeviceFacts, HostFacts, NamespaceFacts, SocketFacts};
use crate::settings::{SYSCTLS, Settings};

/// Returns a namespace with a link, CUBIC and the kernel's defaults.
pub fn clean(name: &str) -> NamespaceFacts {
    let mut settings = Settings::default();
    for (name, value) in SYSCTLS {
        if let Some(value) = value {
            settings.set(name, value);
        }
    }
    for (name, value) in [
        ("net.ipv4.tcp_congestion_control", "cubic"),
        ("net.ipv4.tcp_available_congestion_control", "reno cubic bbr"),
        ("net.ipv4.tcp_allowed_congestion_control", "reno cubic bbr"),
        ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
        ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ("net.core.rmem_max", "4194304"),
        ("net.core.wmem_max", "4194304"),
        ("net.ipv4.ip_forward", "0"),
    ] {
        settings.set(name, value);
    }
    NamespaceFacts {
        name: name.into(),
        inode: 1,
        initial: name == "host",
        processes: 1,
        enter: Some(if name == "host" { String::new() } else { format!("ip netns exec {name}") }),
        settings,
        devices: vec![
            DeviceFacts {
                name: "lo".into(),
                mtu: 65_536,
                up: true,
                loopback: true,
                qdisc: "noqueue".into(),
                ..DeviceFacts::default()
            },
            device("eth0", "", 1500),
        ],
        listen_overflows: Some(0),
        clamps_mss: Some(false),
        ..NamespaceFacts::default()
    }
}

/// Returns a link that is up.
pub fn device(name: &str, kind: &str, mtu: u32) -> DeviceFacts {
    DeviceFacts {
        name: name.into(),
        kind: kind.into(),
        mtu,
        up: true,
        qdisc: "pfifo_fast".into(),
        tso: Some(true),
        gso: Some(true),
        gro: Some(true),
        gso_max_bytes: Some(65_536),
        ..DeviceFacts::default()
    }
}

/// Returns a connection with this congestion control.
pub fn socket(control: &str) -> SocketFacts {
    SocketFacts {
        local: "10.0.0.1:443".parse().expect("an address"),
        remote: "10.0.0.2:50000".parse().expect("an address"),
        listens: false,
        control: control.into(),
        capped_rate: None,
        accept_queue: 0,
        accept_limit: 0,
    }
}

/// Returns a host with these namespaces.
pub fn host(namespaces: Vec<NamespaceFacts>) -> HostFacts {
    HostFacts { kernel: "6.18.0".into(), namespaces, backlog_drops: Some(0), ..HostFacts::default() }
}
