//! Prefixes as router configurations write them: `192.168.30.0/24`, `2001:db8:30::/64`. A host's address is
//! written the same way, `192.168.30.7/24`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address and its prefix length (RFC 4632, RFC 4291 section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// A host's address, or the first address of a network.
    pub address: IpAddr,
    /// Prefix length: 0 to 32 for IPv4, to 128 for IPv6.
    pub bits: u8,
}

impl Prefix {
    /// The destination of a default route: every address of both IP versions.
    pub const ALL: Prefix = Prefix { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), bits: 0 };

    /// The prefix of a single address.
    pub fn host(address: impl Into<IpAddr>) -> Prefix {
        let address = address.into();
        Prefix { address, bits: width(address) }
    }

    /// Whether the prefix is a single address.
    pub fn is_host(self) -> bool {
        self.bits == width(self.address)
    }

    /// The network that the address belongs to.
    pub fn network(self) -> Prefix {
        let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
        let address = match self.address {
            IpAddr::V4(a) => IpAddr::V4(Ipv4Addr::from_bits(a.to_bits() & (mask >> 96) as u32)),
            IpAddr::V6(a) => IpAddr::V6(Ipv6Addr::from_bits(a.to_bits() & mask)),
        };
        Prefix { address, bits: self.bits }
    }

    /// Whether an address is in the network. [`Prefix::ALL`] contains every IPv4 and IPv6 address.
    pub fn contains(self, address: impl Into<IpAddr>) -> bool {
        let address = address.into();
        let alike = self.address.is_ipv4() == address.is_ipv4();
        self.network() == Prefix::ALL
            || alike && Prefix { address, bits: self.bits }.network() == self.network()
    }
}

/// Length of an address in bits.
fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = String;
    fn from_str(text: &str) -> Result<Prefix, String> {
        let wrong =
            || format!("`{text}` is not a network (for example \"192.168.30.0/24\" or \"2001:db8:30::/64\")");
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let bits = bits.map_or(Ok(width(address)), |bits| bits.parse().map_err(|_| wrong()))?;
        if bits > width(address) { Err(wrong()) } else { Ok(Prefix { address, bits }) }
    }
}

impl Serialize for Prefix {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Prefix {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Prefix, D::Error> {
        let text = Cow::<str>::deserialize(d)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Prefix {
    fn schema_name() -> Cow<'static, str> {
        "Prefix".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An address or a network, for example \"192.168.30.0/24\" or \"2001:db8:30::/64\".",
            "pattern": "^[0-9a-fA-F:.]+(/[0-9]{1,3})?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_that_share_its_prefix() {
        let net: Prefix = "192.168.30.236/24".parse().unwrap();
        assert_eq!(net.network().to_string(), "192.168.30.0/24");
        assert!(
            net.contains(Ipv4Addr::new(192, 168, 30, 1)) && !net.contains(Ipv4Addr::new(192, 168, 31, 1))
        );
        assert!(Prefix::ALL.contains(Ipv4Addr::BROADCAST));
        let one: Prefix = "10.0.0.1".parse().unwrap();
        assert_eq!(one, Prefix::host(Ipv4Addr::new(10, 0, 0, 1)));
        assert!(!one.contains(Ipv4Addr::new(10, 0, 0, 0)));
        for bad in ["", "10.0.0", "10.0.0.1/33", "10.0.0.1/-1", "::1/129", "1::2::3", "10.0.0.1/"] {
            assert!(bad.parse::<Prefix>().is_err(), "{bad}");
        }
    }

    #[test]
    fn an_ipv6_network_contains_no_ipv4_address_and_vice_versa() {
        let net: Prefix = "2001:db8:30::236/64".parse().unwrap();
        assert_eq!(net.network().to_string(), "2001:db8:30::/64");
        let inside: IpAddr = "2001:db8:30::1".parse().unwrap();
        let outside: IpAddr = "2001:db8:31::1".parse().unwrap();
        assert!(net.contains(inside) && !net.contains(outside) && !net.contains(Ipv4Addr::LOCALHOST));
        let all_of_6: Prefix = "::/0".parse().unwrap();
        assert!(all_of_6.contains(inside) && !all_of_6.contains(Ipv4Addr::LOCALHOST));
        assert!(Prefix::ALL.contains(outside) && Prefix::host(inside).is_host() && !net.is_host());
        assert!(!"192.168.0.0/16".parse::<Prefix>().unwrap().contains(inside));
    }
}
