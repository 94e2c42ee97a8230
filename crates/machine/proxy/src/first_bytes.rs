//! What is looked at before a connection is routed: a PROXY header, then the name in a ClientHello. Both are peeked at: the
//! header is taken once it is whole, the ClientHello goes on to the server as it came.

use crate::header::{HeaderRead, read_header};
use crate::hello::{HelloRead, fits, server_name};
use std::net::SocketAddr;

/// What the first bytes of a connection lead to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstStep {
    /// More bytes are wanted.
    Wait,
    /// A whole PROXY header: so many bytes are to be taken; who connected, and to what, where it says so.
    Header(usize, Option<(SocketAddr, SocketAddr)>),
    /// To be routed by this name.
    Route(Option<String>),
    /// Not what it must begin with.
    Refuse,
}

/// Reads the first bytes. `is_all`: no more will come, or there is no room for more.
pub fn first_step(bytes: &[u8], is_all: bool, awaits_header: bool, wants_name: bool) -> FirstStep {
    if awaits_header {
        return match read_header(bytes) {
            Ok(HeaderRead::More) if !is_all => FirstStep::Wait,
            Ok(HeaderRead::Whole { length, between, .. }) => FirstStep::Header(length, between),
            _ => FirstStep::Refuse,
        };
    }
    if !wants_name {
        return FirstStep::Route(None);
    }
    match server_name(bytes) {
        HelloRead::More if !is_all => FirstStep::Wait,
        HelloRead::Name(name) => FirstStep::Route(Some(name)),
        HelloRead::More | HelloRead::Nameless | HelloRead::NotTls => FirstStep::Route(None),
    }
}

/// Where connections go to by the name that a client asks for.
#[derive(Clone, Debug)]
pub struct NameRoutes<T>(Vec<(String, T)>);

impl<T> NameRoutes<T> {
    /// Of patterns: a whole name before patterns with a star, then the longest pattern.
    pub fn of(patterns: impl Iterator<Item = (String, T)>) -> NameRoutes<T> {
        let mut routes: Vec<_> = patterns.collect();
        routes.sort_by_key(|(pattern, _)| (pattern.starts_with('*'), std::cmp::Reverse(pattern.len())));
        NameRoutes(routes)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The one of a name.
    pub fn find(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(pattern, _)| fits(pattern, name)).map(|(_, to)| to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProxyVersion, sample_hello};

    #[test]
    fn a_header_comes_before_a_name() {
        let (from, to) = ("192.0.2.1:1".parse().expect("one"), "192.0.2.2:2".parse().expect("one"));
        let header = ProxyVersion::V2.write(from, to);
        let hello = sample_hello(Some("a.example.com"), 100);
        let both = [&header[..], &hello].concat();
        assert_eq!(first_step(&both[..5], false, true, true), FirstStep::Wait);
        assert_eq!(first_step(&both[..5], true, true, true), FirstStep::Refuse, "ends in its header");
        assert_eq!(first_step(&both, false, true, true), FirstStep::Header(header.len(), Some((from, to))));
        assert_eq!(first_step(&hello, false, false, true), FirstStep::Route(Some("a.example.com".into())));
        assert_eq!(first_step(&hello[..9], false, false, true), FirstStep::Wait);
        assert_eq!(first_step(&hello[..9], true, false, true), FirstStep::Route(None));
        assert_eq!(first_step(b"", false, false, false), FirstStep::Route(None));
        assert_eq!(first_step(&hello, false, true, false), FirstStep::Refuse, "no header");
    }

    #[test]
    fn whole_names_come_before_patterns_and_long_ones_before_short_ones() {
        let patterns = ["*.com", "*.example.com", "www.example.com"];
        let routes = NameRoutes::of(patterns.iter().map(|p| (p.to_string(), *p)));
        assert_eq!(routes.find("www.example.com"), Some(&"www.example.com"));
        assert_eq!(routes.find("a.example.com"), Some(&"*.example.com"));
        assert_eq!(routes.find("b.com"), Some(&"*.com"));
        assert_eq!(routes.find("b.org"), None);
    }
}
