//! The server: `longfat serve`. One thread accepts connections and reads their first messages, with bounded
//! memory and time for each (`door.rs`); each session has a thread for its tests (`session.rs`) and one for
//! its datagrams. Nothing is sent to an address that has not completed a TCP handshake.

mod door;
mod session;

use crate::SessionLimits;
use crate::message::SessionId;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Address and port of TCP and UDP.
    pub listen: SocketAddr,
    /// Token that clients must know; `None`: anybody may test.
    pub token: Option<Vec<u8>>,
    /// Maximum number of sessions at a time, in all and of one address (of IPv6: a /64).
    pub max_clients: u32,
    pub max_per_address: u32,
    /// Limits of each session.
    pub limits: SessionLimits,
    /// Duration; `None`: until `ended` says so.
    pub time: Option<Duration>,
    /// Hosts and ports that clients may have the path to measured from here.
    pub onward: Vec<(String, u16)>,
}

/// Measures the path to a host and port; returns the measurement as JSON. The last argument is called often
/// and ends the tests by `true`.
///
/// # Errors
/// Fails with the reason why there is no measurement.
pub type MeasureOnward<'a> =
    &'a (dyn Fn(&str, u16, &mut dyn FnMut() -> bool) -> Result<String, String> + Sync);

/// An event at a server, for its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// The server listens at this address.
    Listening(SocketAddr),
    /// A session has begun.
    Begun { client: SocketAddr },
    /// A session has ended after some bytes in both directions.
    Ended { client: SocketAddr, bytes: u64 },
    /// A session was refused, with the reason.
    Refused { client: SocketAddr, why: &'static str },
}

/// Serves until the time is over or `ended` returns true, which is called at least five times a second.
/// `onward` measures the paths to the hosts of [`ServeOptions::onward`].
///
/// # Errors
/// Fails when the address cannot be listened at.
pub fn serve(
    options: &ServeOptions,
    onward: MeasureOnward<'_>,
    ended: &mut dyn FnMut() -> bool,
    log: &(dyn Fn(ServerEvent) + Sync),
) -> std::io::Result<()> {
    std::thread::scope(|scope| door::Door::open(options, onward, log)?.run(scope, ended))
}

/// The identity of a client: an IPv4 address, or an IPv6 /64 (RFC 4291 section 2.5.1).
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => {
            let bits = u128::from(ip) >> 64 << 64;
            IpAddr::V6(bits.into())
        }
        v4 => v4,
    }
}

/// Returns an address without the form of IPv6 that stands for one of IPv4. An address of IPv6 keeps its
/// device.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        v4 @ IpAddr::V4(_) => SocketAddr::new(v4, address.port()),
        IpAddr::V6(_) => address,
    }
}

/// Draws a session's id.
fn new_id() -> std::io::Result<SessionId> {
    let mut id = [0; 16];
    linux::random::fill(&mut id)?;
    Ok(SessionId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_or_an_ipv6_network() {
        let of = |text: &str| client_of(text.parse().expect("an address"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    }
}
