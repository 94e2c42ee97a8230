//! Addresses as a configuration writes them: networks, and hosts with ports that may be names.

use serde::{Deserialize, Deserializer, de::Error as _};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// An IP network: an address and how many of its first bits count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IpNetwork {
    first: IpAddr,
    bits: u8,
}

/// An address as 128 bits, an IPv4 one as IPv6 maps it (RFC 4291 section 2.5.5.2).
fn wide(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().to_bits(),
        IpAddr::V6(a) => a.to_bits(),
    }
}

/// IPv4 in IPv6's clothes is IPv4: what a listener on `[::]` gets of an IPv4 client.
pub fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

impl IpNetwork {
    /// The network of `bits` bits that `address` lies in; more bits than it has mean all of them.
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

    /// The client network that statistics are kept by: a /24 of IPv4, a /48 of IPv6, what one site commonly has
    /// (RFC 6177 section 2).
    pub fn of_site(address: IpAddr) -> IpNetwork {
        IpNetwork::of(address, if address.is_ipv4() { 24 } else { 48 })
    }

    /// Whether an address lies in it. IPv4 and IPv6 addresses lie in none of each other's networks, but what IPv6 maps
    /// of IPv4 lies in IPv4's.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if address.is_ipv4() != self.first.is_ipv4() {
            return false;
        }
        let tail = if address.is_ipv4() { 32 } else { 128 } - self.bits as u32;
        let differs = wide(address) ^ wide(self.first);
        differs.checked_shr(tail).unwrap_or(0) == 0
    }
}

/// Whether a list of networks lets an address in: one that names none lets in all.
pub fn lets_in(networks: &[IpNetwork], address: IpAddr) -> bool {
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
        let wrong =
            || format!("`{text}` is no network (write for example \"10.0.0.0/8\" or \"2001:db8::/32\")");
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => most,
            Some(bits) => bits.parse().ok().filter(|b| *b <= most).ok_or_else(wrong)?,
        };
        let network = IpNetwork::of(address, bits);
        if network.first != address {
            return Err(format!("`{text}` has bits beyond its prefix; the network is \"{network}\""));
        }
        Ok(network)
    }
}

/// A host, as an address or a name, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostPort {
    /// Known as it is.
    Address(SocketAddr),
    /// To be resolved, again and again.
    Name(String, u16),
}

impl HostPort {
    /// Its addresses now, in the resolver's order; waits for the system's resolver.
    ///
    /// # Errors
    /// The name is not resolved.
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

/// Whether a name is one of a host (RFC 1123 section 2.1; `_` is met in practice).
fn is_host_name(name: &str) -> bool {
    let label = |l: &str| {
        (1..=63).contains(&l.len())
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    // The last label of no host is a number: 10.0.0.256 is a slip, not a name (RFC 3696 section 2).
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= 253 && name.split('.').all(label) && !last.bytes().all(|b| b.is_ascii_digit())
}

impl FromStr for HostPort {
    type Err = String;
    fn from_str(text: &str) -> Result<HostPort, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return match address.port() {
                0 => Err(format!("`{text}`: port 0 is none to connect to")),
                _ => Ok(HostPort::Address(address)),
            };
        }
        let wrong = || {
            format!(
                "`{text}` is no host with a port (write for example \"10.0.0.1:443\", \"[2001:db8::1]:443\" or \
                 \"dc.example.com:443\")"
            )
        };
        let (name, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().ok().filter(|p| *p != 0).ok_or_else(wrong)?;
        is_host_name(name).then(|| HostPort::Name(name.to_lowercase(), port)).ok_or_else(wrong)
    }
}

/// Where to listen: an address, or a socket that the service manager has opened.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ListenAt {
    /// Opened by the proxy.
    Address(SocketAddr),
    /// Handed over by systemd under this name (`FileDescriptorName=`, systemd.socket(5)).
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
        // `:443` is every address, of both families.
        let whole = if text.starts_with(':') { format!("[::]{text}") } else { text.into() };
        whole.parse().map(ListenAt::Address).map_err(|_| {
            format!(
                "`{text}` is no address to listen on (write for example \"0.0.0.0:443\", \"[::]:443\", \":443\" or \
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
    fn a_network_holds_its_addresses_and_no_others() {
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
        assert_eq!(IpNetwork::of_site("198.51.100.77".parse().unwrap()).to_string(), "198.51.100.0/24");
        assert_eq!(IpNetwork::of_site("2001:db8:1:2::3".parse().unwrap()).to_string(), "2001:db8:1::/48");
    }

    #[test]
    fn slips_are_named() {
        let e = |t: &str| t.parse::<IpNetwork>().unwrap_err();
        assert!(e("10.0.0.1/8").contains("the network is \"10.0.0.0/8\""));
        assert!(e("10.0.0.0/33").contains("is no network"));
        let e = |t: &str| t.parse::<HostPort>().unwrap_err();
        for text in ["10.0.0.1", "10.0.0.256:80", "a..b:80", "-a:80", "host:0", "host:99999", ":80", "a b:80"]
        {
            assert!(e(text).contains("is no host with a port"), "{text}");
        }
        assert!(e("10.0.0.1:0").contains("port 0"));
        assert!("nowhere".parse::<ListenAt>().is_err() && "systemd:".parse::<ListenAt>().is_err());
    }

    #[test]
    fn hosts_and_listeners_are_read_back() {
        for text in ["10.0.0.1:443", "[2001:db8::1]:443", "dc.example.com:443"] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), text);
        }
        assert_eq!(":443".parse::<ListenAt>().unwrap().to_string(), "[::]:443");
        assert_eq!("systemd:web".parse(), Ok(ListenAt::Activated("web".into())));
    }
}
