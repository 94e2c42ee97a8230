//! An IPv4 network as configurations write it: `192.168.30.0/24`; of a host's address the same, `192.168.30.7/24`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// An IPv4 address and how many of its bits name the network (RFC 4632).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    /// The address; of a network the first one.
    pub address: Ipv4Addr,
    /// Bits of the network, 0 to 32.
    pub bits: u8,
}

impl Prefix {
    /// Everything: where a default route leads.
    pub const ALL: Prefix = Prefix { address: Ipv4Addr::UNSPECIFIED, bits: 0 };

    /// A single address.
    pub fn host(address: Ipv4Addr) -> Prefix {
        Prefix { address, bits: 32 }
    }

    fn mask(self) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0)
    }

    /// The network that the address is in.
    pub fn network(self) -> Prefix {
        Prefix { address: Ipv4Addr::from_bits(self.address.to_bits() & self.mask()), bits: self.bits }
    }

    /// Whether an address is in the network.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        (self.address.to_bits() ^ address.to_bits()) & self.mask() == 0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = String;
    fn from_str(text: &str) -> Result<Prefix, String> {
        let wrong = || format!("`{text}` is no IPv4 network (written \"192.168.30.0/24\")");
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, bits.parse().map_err(|_| wrong())?),
            None => (text, 32),
        };
        let address = address.parse().map_err(|_| wrong())?;
        if bits > 32 { Err(wrong()) } else { Ok(Prefix { address, bits }) }
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

impl JsonSchema for Prefix {
    fn schema_name() -> Cow<'static, str> {
        "Prefix".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "An IPv4 address or network, for example \"192.168.30.0/24\".",
            "pattern": "^[0-9]{1,3}(\\.[0-9]{1,3}){3}(/[0-9]{1,2})?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_the_addresses_that_share_its_bits() {
        let net: Prefix = "192.168.30.236/24".parse().unwrap();
        assert_eq!(net.network().to_string(), "192.168.30.0/24");
        assert!(
            net.contains(Ipv4Addr::new(192, 168, 30, 1)) && !net.contains(Ipv4Addr::new(192, 168, 31, 1))
        );
        assert!(Prefix::ALL.contains(Ipv4Addr::BROADCAST));
        let one: Prefix = "10.0.0.1".parse().unwrap();
        assert_eq!(one, Prefix::host(Ipv4Addr::new(10, 0, 0, 1)));
        assert!(!one.contains(Ipv4Addr::new(10, 0, 0, 0)));
        for bad in ["", "10.0.0", "10.0.0.1/33", "10.0.0.1/-1", "::1/64", "10.0.0.1/"] {
            assert!(bad.parse::<Prefix>().is_err(), "{bad}");
        }
    }
}
