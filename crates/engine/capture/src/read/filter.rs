//! Packet filter by address, port and time.

use super::{Batch, UdpDatagram};
use crate::{Addr, Endpoint};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use units::{Span, Time};

/// Selects packets. A packet matches if one end is in one of `hosts`, one end has one of `ports`, and its
/// time is between `from` and `to`; empty lists and `None` match everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketFilter {
    pub hosts: Vec<HostPrefix>,
    pub ports: Vec<u16>,
    /// Earliest time.
    pub from: Option<FilterTime>,
    /// Latest time.
    pub to: Option<FilterTime>,
}

/// An address prefix; a full address is a prefix of full length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPrefix {
    addr: Addr,
    /// The significant bits of `addr`.
    mask: u128,
}

/// A time in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterTime {
    /// Relative to the first record.
    After(Span),
    /// Absolute, since 1970.
    At(Time),
}

impl FromStr for HostPrefix {
    type Err = String;

    /// Parses `10.0.0.1`, `10.0.0.0/8` or `2001:db8::/32`.
    fn from_str(text: &str) -> Result<HostPrefix, String> {
        let (host, prefix) = text.split_once('/').map_or((text, None), |(host, bits)| (host, Some(bits)));
        let Ok(ip) = host.parse::<IpAddr>() else {
            return Err("expected an address like 10.0.0.1, 10.0.0.0/8 or 2001:db8::/32".into());
        };
        let (addr, most) = match ip {
            IpAddr::V4(a) => (Addr::v4(a.octets()), 32),
            IpAddr::V6(a) => (Addr::v6(a.octets()), 128),
        };
        let bits = match prefix.map(str::parse::<u32>) {
            None => most,
            Some(Ok(bits)) if bits <= most => bits,
            Some(_) => {
                return Err(format!("expected a prefix length from 0 to {most} after the `/`"));
            }
        };
        // IPv4 addresses occupy the last 32 bits, after a fixed prefix.
        let mask = u128::MAX.checked_shl(most - bits).unwrap_or(0);
        Ok(HostPrefix { addr, mask })
    }
}

impl fmt::Display for HostPrefix {
    /// Writes the form that [`HostPrefix::from_str`] parses.
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
    /// Whether the filter matches everything.
    pub fn is_empty(&self) -> bool {
        *self == PacketFilter::default()
    }

    fn keeps(&self, first: Time, time: Time, ends: [Endpoint; 2]) -> bool {
        self.from.is_none_or(|from| time >= from.since(first))
            && self.to.is_none_or(|to| time <= to.since(first))
            && (self.hosts.is_empty() || ends.iter().any(|e| self.hosts.iter().any(|host| host.has(e.addr))))
            && (self.ports.is_empty() || ends.iter().any(|e| self.ports.contains(&e.port)))
    }

    /// Removes from `batch` the packets at index `packets` and later, and the reports at index `reports` and
    /// later, that do not match; returns the number of removed packets. `first` is the time of the first
    /// record.
    pub(super) fn apply(&self, first: Time, batch: &mut Batch, packets: usize, reports: usize) -> u64 {
        let Batch { packets: all, reports: all_reports, .. } = batch;
        let (mut kept, mut report) = (packets, reports);
        for i in packets..=all.len() {
            while let Some(r) = all_reports.get_mut(report).filter(|r| r.behind <= i) {
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
        all_reports.retain(|r| {
            at += 1;
            at <= reports || self.keeps(first, r.time, [r.from, r.to])
        });
        left as u64
    }

    /// Removes the datagrams at index `from` and later that do not match.
    pub(super) fn apply_to_datagrams(&self, first: Time, all: &mut Vec<UdpDatagram>, from: usize) {
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
    fn prefixes_of_both_ip_versions_match() {
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
        for (text, expected) in
            [("host", "an address like"), ("10.0.0.0/33", "0 to 32"), ("::1/x", "0 to 128")]
        {
            let why = text.parse::<HostPrefix>().unwrap_err();
            assert!(why.contains(expected), "{why}");
        }
    }
}
