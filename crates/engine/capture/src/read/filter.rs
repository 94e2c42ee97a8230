//! Which packets of a capture are passed on: by address, port and time.

use super::{Batch, UdpDatagram};
use crate::{Addr, Endpoint};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use units::{Span, Time};

/// What packets are asked for. An end of the packet has to be in one of `hosts`, an end has to have one of `ports`; an empty
/// list asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketFilter {
    /// Addresses.
    pub hosts: Vec<HostPrefix>,
    /// Ports.
    pub ports: Vec<u16>,
    /// Not earlier than this.
    pub from: Option<FilterTime>,
    /// Not later than this.
    pub to: Option<FilterTime>,
}

/// An address, or all that begin like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPrefix {
    addr: Addr,
    /// The bits of [`Addr`] that count.
    mask: u128,
}

/// A time in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterTime {
    /// After the first record.
    After(Span),
    /// Since 1970.
    At(Time),
}

impl FromStr for HostPrefix {
    type Err = String;

    /// `10.0.0.1`, `10.0.0.0/8`, `2001:db8::/32`.
    fn from_str(text: &str) -> Result<HostPrefix, String> {
        let (host, prefix) = text.split_once('/').map_or((text, None), |(host, bits)| (host, Some(bits)));
        let Ok(ip) = host.parse::<IpAddr>() else {
            return Err("an address like 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32 would be right".into());
        };
        let (addr, most) = match ip {
            IpAddr::V4(a) => (Addr::v4(a.octets()), 32),
            IpAddr::V6(a) => (Addr::v6(a.octets()), 128),
        };
        let bits = match prefix.map(str::parse::<u32>) {
            None => most,
            Some(Ok(bits)) if bits <= most => bits,
            Some(_) => {
                return Err(format!("behind the `/` a number of bits from 0 to {most} would be right"));
            }
        };
        // IPv4 stands in the last 32 bits, behind a prefix of its own.
        let mask = u128::MAX.checked_shl(most - bits).unwrap_or(0);
        Ok(HostPrefix { addr, mask })
    }
}

impl fmt::Display for HostPrefix {
    /// As it is read.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_family = if self.addr.ip().is_ipv4() { 96 } else { 0 };
        write!(f, "{}/{}", self.addr, self.mask.leading_ones().saturating_sub(of_family))
    }
}

impl HostPrefix {
    fn has(&self, addr: Addr) -> bool {
        (addr.0 ^ self.addr.0) & self.mask == 0
    }
}

impl FilterTime {
    fn since(self, first: Time) -> Time {
        match self {
            FilterTime::After(span) => Time::from_nanos(first.as_nanos().saturating_add(span.as_nanos())),
            FilterTime::At(time) => time,
        }
    }
}

impl PacketFilter {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        *self == PacketFilter::default()
    }

    fn keeps(&self, first: Time, time: Time, ends: [Endpoint; 2]) -> bool {
        self.from.is_none_or(|from| time >= from.since(first))
            && self.to.is_none_or(|to| time <= to.since(first))
            && (self.hosts.is_empty() || ends.iter().any(|e| self.hosts.iter().any(|host| host.has(e.addr))))
            && (self.ports.is_empty() || ends.iter().any(|e| self.ports.contains(&e.port)))
    }

    /// Takes from `batch` what is not asked for, from `packets` and `reports` on; how many packets that were. `first` is the
    /// time of the first record.
    pub(super) fn sift(&self, first: Time, batch: &mut Batch, packets: usize, reports: usize) -> u64 {
        let Batch { packets: all, reports: said, .. } = batch;
        let (mut kept, mut report) = (packets, reports);
        for i in packets..=all.len() {
            while let Some(r) = said.get_mut(report).filter(|r| r.behind <= i) {
                r.behind = kept;
                report += 1;
            }
            if let Some(&p) = all.get(i).filter(|p| self.keeps(first, p.time, [p.src, p.dst])) {
                all[kept] = p;
                kept += 1;
            }
        }
        let left = all.len() - kept;
        all.truncate(kept);
        let mut at = 0;
        said.retain(|r| {
            at += 1;
            at <= reports || self.keeps(first, r.time, [r.from, r.to])
        });
        left as u64
    }

    /// Takes from `all` what is not asked for, from `from` on.
    pub(super) fn sift_datagrams(&self, first: Time, all: &mut Vec<UdpDatagram>, from: usize) {
        let mut at = 0;
        all.retain(|d| {
            at += 1;
            at <= from || self.keeps(first, d.time, [d.src, d.dst])
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_either_family() {
        let has = |prefix: &str, addr: &str| {
            let ip = addr.parse().unwrap();
            let addr = match ip {
                IpAddr::V4(a) => Addr::v4(a.octets()),
                IpAddr::V6(a) => Addr::v6(a.octets()),
            };
            prefix.parse::<HostPrefix>().unwrap().has(addr)
        };
        assert!(has("10.0.0.1", "10.0.0.1") && !has("10.0.0.1", "10.0.0.2"));
        assert!(has("10.1.2.3/8", "10.9.9.9") && !has("10.0.0.0/8", "11.0.0.0"));
        assert!(has("0.0.0.0/0", "255.1.2.3") && !has("0.0.0.0/0", "2001::1"));
        assert!(has("2001:db8::/32", "2001:db8:1::1") && !has("2001:db8::/32", "2001:db9::1"));
        assert!(has("::/0", "2001::1") && has("::/0", "1.2.3.4"));
        for text in ["10.1.2.3/8", "10.0.0.1/32", "2001:db8::/32", "::1/128"] {
            assert_eq!(text.parse::<HostPrefix>().unwrap().to_string(), text);
        }
        for (text, said) in [("host", "an address like"), ("10.0.0.0/33", "0 to 32"), ("::1/x", "0 to 128")] {
            let why = text.parse::<HostPrefix>().unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }
}
