//! Options that select packets of a capture.

use capture::{FilterTime, HostPrefix, PacketFilter};
use clap::Args;

#[derive(Debug, Args)]
pub struct FilterArgs {
    /// Read only packets from or to this address or prefix; can be given several times.
    #[arg(long, value_name = "ADDR[/BITS]")]
    pub host: Vec<HostPrefix>,
    /// Read only packets from or to this port; can be given several times.
    #[arg(long, value_name = "N")]
    pub port: Vec<u16>,
    /// Read only packets from this time on: seconds after the first packet, or a date like
    /// 2026-05-01T12:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = crate::diagnose::filter::time)]
    pub from: Option<FilterTime>,
    /// Read only packets up to this time.
    #[arg(long, value_name = "TIME", value_parser = crate::diagnose::filter::time)]
    pub to: Option<FilterTime>,
}

impl FilterArgs {
    pub fn packet_filter(&self) -> PacketFilter {
        PacketFilter { hosts: self.host.clone(), ports: self.port.clone(), from: self.from, to: self.to }
    }

    /// Returns hosts and ports in the syntax of a live capture's filter.
    #[cfg(target_os = "linux")]
    pub fn live(&self) -> String {
        let hosts = self.host.iter().map(|host| format!("host {host}"));
        hosts.chain(self.port.iter().map(|port| format!("port {port}"))).collect::<Vec<_>>().join(" ")
    }
}
