//! Addresses in a configuration: networks, and hosts with ports, which may be names.

use serde::{Deserialize, Deserializer, de::Error as _};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// An IP network: an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IpNetwork {
    first: IpAddr,
    bits: u8,
}

/// Returns an address as 128 bits; IPv4 as mapped to IPv6 (RFC 4291 section 2.5.5.2).
fn to_128_bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().to_bits(),
        IpAddr::V6(a) => a.to_bits(),
    }
}

/// Converts an IPv4-mapped IPv6 address to IPv4. A listener on `[::]` sees IPv4 clients by such addresses.
pub fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

impl IpNetwork {
    /// Returns the network with a prefix of `bits` bits that contains `address`; too large values mean all
    /// bits.
    pub fn of(address: IpAddr, bits: u8) -> IpNetwork {
        match address {
            IpAddr::V4(a) => {
                let bits = bits.min(32);
                let mask = u32::MAX.checked_shl(32 - bits as u32).unwrap_or(0);
                IpNetwork { first: Ipv4Addr::from_bits(a.to_bits() & mask).into(), bits }
            }
            IpAddr::V6(a) => {
                let bits = bits.min(128);
                let mask = u128::MAX.checked_shl(128 - bits as u32).unwrap_or(0);
                IpNetwork { first: Ipv6Addr::from_bits(a.to_bits() & mask).into(), bits }
            }
        }
    }

    /// Returns the client network for statistics: a /24 of IPv4 or a /48 of IPv6, the common size of one site
    /// (RFC 6177 section 2).
    pub fn client_network(address: IpAddr) -> IpNetwork {
        IpNetwork::of(address, if address.is_ipv4() { 24 } else { 48 })
    }

    /// Whether the network contains an address. IPv4 and IPv6 are distinct, but an IPv4-mapped IPv6 address
    /// counts as IPv4.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if address.is_ipv4() != self.first.is_ipv4() {
            return false;
        }
        let tail = if address.is_ipv4() { 32 } else { 128 } - self.bits as u32;
        let differs = to_128_bits(address) ^ to_128_bits(self.first);
        differs.checked_shr(tail).unwrap_or(0) == 0
    }
}

/// Whether a list of allowed networks contains an address; an empty list allows all.
pub fn allows_address(networks: &[IpNetwork], address: IpAddr) -> bool {
    networks.is_empty() || networks.iter().any(|network| network.contains(address))
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.bits)
    }
}

impl FromStr for IpNetwork {
    type Err = String;
    fn from_str(text: &str) -> Result<IpNetwork, String> {
        let error = || format!("`{text}` is not a network (for example \"10.0.0.0/8\" or \"2001:db8::/32\")");
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| error())?;
        let max = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => max,
            Some(bits) => bits.parse().ok().filter(|b| *b <= max).ok_or_else(error)?,
        };
        let network = IpNetwork::of(address, bits);
        if network.first != address {
            return Err(format!("`{text}` has bits beyond its prefix; the network is \"{network}\""));
        }
        Ok(network)
    }
}

/// The address of a server, by number or by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPort {
    /// An IP address.
    Address(SocketAddr),
    /// A name, resolved repeatedly.
    Name(String, u16),
}

impl HostPort {
    /// Resolves the host, in the resolver's order; blocks on the system's resolver.
    ///
    /// # Errors
    /// Fails if the name cannot be resolved.
    pub fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match self {
            HostPort::Address(address) => Ok(vec![*address]),
            HostPort::Name(name, port) => Ok((name.as_str(), *port).to_socket_addrs()?.collect()),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostPort::Address(address) => address.fmt(f),
            HostPort::Name(name, port) => write!(f, "{name}:{port}"),
        }
    }
}

/// Whether a name is a valid host name (RFC 1123 section 2.1; `_` occurs in practice).
fn is_host_name(name: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    // A host's last label is never a number: 10.0.0.256 is a mistake, not a name (RFC 3696 section 2).
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253 && name.split('.').all(label) && !last.bytes().all(|b| b.is_ascii_digit())
}

impl FromStr for HostPort {
    type Err = String;
    fn from_str(text: &str) -> Result<HostPort, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return match address.port() {
                0 => Err(format!("`{text}`: cannot connect to port 0")),
                _ => Ok(HostPort::Address(address)),
            };
        }
        let error = || {
            format!(
                "`{text}` is not a host with a port (for example \"10.0.0.1:443\", \"[2001:db8::1]:443\" or \
                 \"dc.example.com:443\")"
            )
        };
        let (name, port) = text.rsplit_once(':').ok_or_else(error)?;
        let port = port.parse().ok().filter(|p| *p != 0).ok_or_else(error)?;
        is_host_name(name).then(|| HostPort::Name(name.to_lowercase(), port)).ok_or_else(error)
    }
}

/// An address to listen on, or a socket that systemd has opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListenAt {
    /// An address that the proxy opens.
    Address(SocketAddr),
    /// A socket that systemd passes under this name (`FileDescriptorName=`, systemd.socket(5)).
    Activated(String),
}

impl fmt::Display for ListenAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAt::Address(address) => address.fmt(f),
            ListenAt::Activated(name) => write!(f, "systemd:{name}"),
        }
    }
}

impl FromStr for ListenAt {
    type Err = String;
    fn from_str(text: &str) -> Result<ListenAt, String> {
        if let Some(name) = text.strip_prefix("systemd:").filter(|name| !name.is_empty()) {
            return Ok(ListenAt::Activated(name.into()));
        }
        // `:443` means all addresses, of both families.
        let whole = if text.starts_with(':') { format!("[::]{text}") } else { text.into() };
        whole.parse().map(ListenAt::Address).map_err(|_| {
            format!(
                "`{text}` is not an address to listen on (for example \"0.0.0.0:443\", \"[::]:443\", \":443\" or \
                 \"systemd:NAME\")"
            )
        })
    }
}

macro_rules! from_text {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(D::Error::custom)
            }
        }
    )*};
}

from_text!(IpNetwork, HostPort, ListenAt);

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNetwork {
        text.parse().unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_network_contains_exactly_its_addresses() {
        let cases = [
            ("10.0.0.0/8", "10.255.1.2", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("0.0.0.0/0", "203.0.113.7", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("::/0", "10.0.0.1", false),
            ("2001:db8::/32", "2001:db8:ffff::1", true),
            ("2001:db8::/32", "2001:db9::1", false),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
        ];
        for (network, address, inside) in cases {
            assert_eq!(net(network).contains(address.parse().unwrap()), inside, "{network} {address}");
        }
        assert_eq!(
            IpNetwork::client_network("198.51.100.77".parse().unwrap()).to_string(),
            "198.51.100.0/24"
        );
        assert_eq!(
            IpNetwork::client_network("2001:db8:1:2::3".parse().unwrap()).to_string(),
            "2001:db8:1::/48"
        );
    }

    #[test]
    fn mistakes_in_addresses_are_explained() {
        let e = |t: &str| t.parse::<IpNetwork>().unwrap_err();
        assert!(e("10.0.0.1/8").contains("the network is \"10.0.0.0/8\""));
        assert!(e("10.0.0.0/33").contains("is not a network"));
        let e = |t: &str| t.parse::<HostPort>().unwrap_err();
        for text in ["10.0.0.1", "10.0.0.256:80", "a..b:80", "-a:80", "host:0", "host:99999", ":80", "a b:80"]
        {
            assert!(e(text).contains("is not a host with a port"), "{text}");
        }
        assert!(e("10.0.0.1:0").contains("port 0"));
        assert!("nowhere".parse::<ListenAt>().is_err() && "systemd:".parse::<ListenAt>().is_err());
    }

    #[test]
    fn hosts_and_listeners_round_trip_through_text() {
        for text in ["10.0.0.1:443", "[2001:db8::1]:443", "dc.example.com:443"] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), text);
        }
        assert_eq!(":443".parse::<ListenAt>().unwrap().to_string(), "[::]:443");
        assert_eq!("systemd:web".parse(), Ok(ListenAt::Activated("web".into())));
    }
}
