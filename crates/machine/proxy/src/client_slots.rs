//! Limits the number of connections per client.

use crate::address::IpNetwork;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of connections of each client. A client is an IPv4 address or an IPv6 /64, which is what one host
/// can use (RFC 4291 section 2.5.1).
#[derive(Debug, Default)]
pub struct ClientPlaces(Mutex<HashMap<IpNetwork, u32>>);

/// A connection's slot; dropping it frees it.
#[derive(Debug)]
pub struct ClientPlace {
    slots: Arc<ClientPlaces>,
    client: IpNetwork,
}

impl ClientPlaces {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpNetwork, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a slot for a client's connection; `None` if the client has reached `limit`.
    pub fn take(self: &Arc<Self>, address: IpAddr, limit: u32) -> Option<ClientPlace> {
        let client = IpNetwork::of(address, if address.is_ipv4() { 32 } else { 64 });
        let mut clients = self.lock();
        let taken = clients.get(&client).copied().unwrap_or_default();
        if taken >= limit {
            return None;
        }
        clients.insert(client, taken + 1);
        Some(ClientPlace { slots: self.clone(), client })
    }
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        let mut clients = self.slots.lock();
        match clients.get_mut(&self.client) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => drop(clients.remove(&self.client)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_per_client_and_freed() {
        let places = Arc::new(ClientPlaces::default());
        let take = |address: &str| places.take(address.parse().expect("an address"), 2);
        let (first, second) = (take("192.0.2.1"), take("192.0.2.1"));
        assert!(first.is_some() && second.is_some() && take("192.0.2.1").is_none());
        assert!(take("192.0.2.2").is_some(), "another client");
        drop(first);
        let replacement = take("192.0.2.1");
        assert!(replacement.is_some() && take("192.0.2.1").is_none());
        let of_one = [take("2001:db8::1"), take("2001:db8::2")];
        assert!(of_one.iter().all(Option::is_some) && take("2001:db8::3").is_none(), "one /64 is one client");
        drop((second, replacement, of_one));
        assert!(places.lock().is_empty(), "clients without connections are forgotten");
    }
}
