//! Which packets of a capture are read.

use capture::{FilterTime, HostPrefix, PacketFilter};
use clap::Args;

/// `--host`, `--port`, `--from`, `--to`.
#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Only packets from or to this address, or one that begins like it; may be given several times.
    #[arg(long, value_name = "ADDR[/BITS]")]
    pub host: Vec<HostPrefix>,
    /// Only packets from or to this port; may be given several times.
    #[arg(long, value_name = "N")]
    pub port: Vec<u16>,
    /// Only packets from this time on: seconds after the first one, or as 2026-05-01T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = crate::diagnose::filter::time)]
    pub from: Option<FilterTime>,
    /// Only packets up to this time.
    #[arg(long, value_name = "TIME", value_parser = crate::diagnose::filter::time)]
    pub to: Option<FilterTime>,
}

impl FilterArgs {
    /// What the options ask for.
    pub fn asked(&self) -> PacketFilter {
        PacketFilter { hosts: self.host.clone(), ports: self.port.clone(), from: self.from, to: self.to }
    }

    /// Hosts and ports, as a live capture takes them.
    #[cfg(target_os = "linux")]
    pub fn live(&self) -> String {
        let hosts = self.host.iter().map(|host| format!("host {host}"));
        hosts.chain(self.port.iter().map(|port| format!("port {port}"))).collect::<Vec<_>>().join(" ")
    }
}
