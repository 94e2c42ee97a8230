//! Running upstreams: their servers, which of them are up, and their numbers of connections. Shared by all
//! loops.

use crate::balance::ServerChoice;
use crate::config::UpstreamConfig;
use crate::health::{HealthChange, ServerHealth};
use crate::side::SideOptions;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use units::{Time, fnv1a};

/// A server address.
pub struct ServerState {
    pub address: SocketAddr,
    /// Connections to the server, including those in progress.
    pub connections: AtomicUsize,
    id: u64,
    health: Mutex<ServerHealth>,
}

impl ServerState {
    fn new(address: SocketAddr) -> ServerState {
        let id = fnv1a(address.to_string().as_bytes(), 0xcbf2_9ce4_8422_2325);
        ServerState { address, connections: AtomicUsize::new(0), id, health: Mutex::default() }
    }

    pub fn health(&self) -> ServerHealth {
        *self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A group of equivalent servers.
pub struct UpstreamState {
    pub name: String,
    pub config: UpstreamConfig,
    /// Options of the sockets to the servers.
    pub options: SideOptions,
    servers: Mutex<Arc<[Arc<ServerState>]>>,
    attempts: AtomicUsize,
}

impl UpstreamState {
    /// Creates an upstream with these servers; servers that `before` also has keep their state.
    pub fn new(
        name: &str,
        config: UpstreamConfig,
        options: SideOptions,
        addresses: &[SocketAddr],
        before: Option<&UpstreamState>,
    ) -> UpstreamState {
        let known = before.map(UpstreamState::servers);
        let this = UpstreamState {
            name: name.into(),
            config,
            options,
            servers: Mutex::new(known.unwrap_or_else(|| Arc::new([]))),
            attempts: AtomicUsize::new(0),
        };
        this.set_addresses(addresses);
        this
    }

    /// Returns the upstream's servers.
    pub fn servers(&self) -> Arc<[Arc<ServerState>]> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the upstream's servers; connections to removed ones continue. Returns whether anything
    /// changed.
    pub fn set_addresses(&self, addresses: &[SocketAddr]) -> bool {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if servers.iter().map(|s| s.address).eq(addresses.iter().copied()) {
            return false;
        }
        let known = |address: &SocketAddr| servers.iter().find(|s| s.address == *address).cloned();
        let state = |address| known(address).unwrap_or_else(|| Arc::new(ServerState::new(*address)));
        *servers = addresses.iter().map(state).collect();
        true
    }

    /// Chooses the server that a client's connection should try, none of those `tried` before, and counts the
    /// connection.
    pub fn choose(&self, now: Time, client: IpAddr, tried: &[SocketAddr]) -> Option<Arc<ServerState>> {
        let servers = self.servers();
        let server = match &*servers {
            [only] if tried.is_empty() => only,
            all => {
                let choice = |s: &Arc<ServerState>| ServerChoice {
                    id: s.id,
                    connections: s.connections.load(Relaxed),
                    usable: s.health().may_be_used(now),
                    tried: tried.contains(&s.address),
                };
                let choices: Vec<ServerChoice> = all.iter().map(choice).collect();
                let n = self.attempts.fetch_add(1, Relaxed);
                &all[self.config.balance.choose(&choices, n, client)?]
            }
        };
        server.connections.fetch_add(1, Relaxed);
        Some(server.clone())
    }

    /// Records whether a server accepted a connection. Returns the change of its health, if any.
    pub fn record_result(&self, server: &ServerState, now: Time, succeeded: bool) -> Option<HealthChange> {
        let mut health = server.health.lock().unwrap_or_else(PoisonError::into_inner);
        match succeeded {
            true => health.handle_success(),
            false => health.handle_failure(now, &self.config.health()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_state_survives_a_change_of_the_list() {
        let a = |n: u16| SocketAddr::from(([127, 0, 0, 1], n));
        let config = UpstreamConfig::of(crate::HostPort::Address(a(1)));
        let u = UpstreamState::new("u", config.clone(), SideOptions::default(), &[a(1), a(2)], None);
        let client = a(9).ip();
        for _ in 0..3 {
            u.record_result(&u.servers()[0], Time::ZERO, false);
        }
        assert!(u.servers()[0].health().is_down());
        for _ in 0..4 {
            assert_eq!(u.choose(Time::ZERO, client, &[]).expect("a server").address, a(2));
        }
        assert_eq!(
            u.choose(Time::ZERO, client, &[a(2)]).expect("a server that is down, as a last resort").address,
            a(1)
        );
        assert!(u.choose(Time::ZERO, client, &[a(1), a(2)]).is_none());
        let next = UpstreamState::new("u", config, SideOptions::default(), &[a(3), a(1)], Some(&u));
        assert!(next.servers()[1].health().is_down() && !next.servers()[0].health().is_down());
        assert_eq!(u.servers()[1].connections.load(Relaxed), 4);
        assert!(!next.set_addresses(&[a(3), a(1)]) && next.set_addresses(&[a(1)]));
    }
}
