//! Routing by the first bytes of a connection: a PROXY header, then the server name in a ClientHello. Both
//! are peeked at. The header is consumed once it is complete; the ClientHello is forwarded to the server
//! unchanged.

use crate::header::{HeaderRead, read_header};
use crate::hello::{HelloRead, fits, server_name};
use std::net::SocketAddr;

/// The next step after the first bytes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstBytes {
    /// More bytes are needed.
    Wait,
    /// A complete PROXY header: its length in bytes, and source and destination if it contains them.
    Header(usize, Option<(SocketAddr, SocketAddr)>),
    /// Route the connection by this server name.
    Route(Option<String>),
    /// The connection does not begin as required.
    Refuse,
}

/// Parses the first bytes. `is_all`: no more bytes can arrive, or the buffer is full.
pub fn classify_first_bytes(bytes: &[u8], is_all: bool, awaits_header: bool, wants_name: bool) -> FirstBytes {
    if awaits_header {
        return match read_header(bytes) {
            Ok(HeaderRead::More) if !is_all => FirstBytes::Wait,
            Ok(HeaderRead::Whole { length, between, .. }) => FirstBytes::Header(length, between),
            _ => FirstBytes::Refuse,
        };
    }
    if !wants_name {
        return FirstBytes::Route(None);
    }
    match server_name(bytes) {
        HelloRead::More if !is_all => FirstBytes::Wait,
        HelloRead::Name(name) => FirstBytes::Route(Some(name)),
        HelloRead::More | HelloRead::Nameless | HelloRead::NotTls => FirstBytes::Route(None),
    }
}

/// Destinations by the server name in a ClientHello.
#[derive(Clone, Debug)]
pub struct NameRoutes<T>(Vec<(String, T)>);

impl<T> NameRoutes<T> {
    /// Builds the routes. A full name precedes patterns with a star, then the longest pattern wins.
    pub fn of(patterns: impl Iterator<Item = (String, T)>) -> NameRoutes<T> {
        let mut routes: Vec<_> = patterns.collect();
        routes.sort_by_key(|(pattern, _)| (pattern.starts_with('*'), std::cmp::Reverse(pattern.len())));
        NameRoutes(routes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the destination for a server name.
    pub fn find(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(pattern, _)| fits(pattern, name)).map(|(_, to)| to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProxyVersion, sample_hello};

    #[test]
    fn a_proxy_header_precedes_the_server_name() {
        let (from, to) = (
            "192.0.2.1:1".parse().expect("a socket address"),
            "192.0.2.2:2".parse().expect("a socket address"),
        );
        let header = ProxyVersion::V2.write(from, to);
        let hello = sample_hello(Some("a.example.com"), 100);
        let both = [&header[..], &hello].concat();
        assert_eq!(classify_first_bytes(&both[..5], false, true, true), FirstBytes::Wait);
        assert_eq!(
            classify_first_bytes(&both[..5], true, true, true),
            FirstBytes::Refuse,
            "the stream ends inside the header"
        );
        assert_eq!(
            classify_first_bytes(&both, false, true, true),
            FirstBytes::Header(header.len(), Some((from, to)))
        );
        assert_eq!(
            classify_first_bytes(&hello, false, false, true),
            FirstBytes::Route(Some("a.example.com".into()))
        );
        assert_eq!(classify_first_bytes(&hello[..9], false, false, true), FirstBytes::Wait);
        assert_eq!(classify_first_bytes(&hello[..9], true, false, true), FirstBytes::Route(None));
        assert_eq!(classify_first_bytes(b"", false, false, false), FirstBytes::Route(None));
        assert_eq!(classify_first_bytes(&hello, false, true, false), FirstBytes::Refuse, "no header");
    }

    #[test]
    fn full_names_precede_patterns_and_long_patterns_short_ones() {
        let patterns = ["*.com", "*.example.com", "www.example.com"];
        let routes = NameRoutes::of(patterns.iter().map(|p| (p.to_string(), *p)));
        assert_eq!(routes.find("www.example.com"), Some(&"www.example.com"));
        assert_eq!(routes.find("a.example.com"), Some(&"*.example.com"));
        assert_eq!(routes.find("b.com"), Some(&"*.com"));
        assert_eq!(routes.find("b.org"), None);
    }
}
