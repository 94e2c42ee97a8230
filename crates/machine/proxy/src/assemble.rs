//! Builds the running state from a configuration: binds addresses, resolves names, loads congestion controls.
//! State that remains valid is reused: sockets with the connections in their queues, and the health of
//! servers.

use crate::address::{HostPort, ListenAt};
use crate::config::{ListenerConfig, ProxyConfig, UpstreamConfig};
use crate::error::ProxyError;
use crate::first_bytes::NameRoutes;
use crate::shared::{BoundAddress, ListenerState, RunningConfig};
use crate::side::{ProxyControls, SideOptions};
use crate::upstream::UpstreamState;
use linux::socket::{self, SocketOption};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// State that is fixed while a proxy runs.
pub struct Assembly {
    /// Number of event loops.
    pub loops: usize,
    /// Sockets that systemd has opened, by name.
    pub activated: BTreeMap<String, Vec<Arc<OwnedFd>>>,
    pub controls: ProxyControls,
}

/// Resolves the addresses of an upstream's servers, each once. Reports names that do not resolve now to
/// `report_unresolved` and leaves them out.
pub fn resolve(
    config: &UpstreamConfig,
    report_unresolved: &mut dyn FnMut(&str, &std::io::Error),
) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = Vec::new();
    for server in &config.servers.0 {
        let mut found = server.resolve().unwrap_or_else(|e| {
            if let HostPort::Name(name, _) = server {
                report_unresolved(name, &e);
            }
            Vec::new()
        });
        // Sort, because resolvers rotate their answers and the load balancing needs a stable order.
        found.sort();
        for address in found {
            if !all.contains(&address) {
                all.push(address);
            }
        }
    }
    all
}

impl Assembly {
    /// Builds the state that replaces `before`.
    ///
    /// # Errors
    /// Fails if this machine does not support the configuration; then nothing has changed.
    pub fn assemble(
        &mut self,
        config: &ProxyConfig,
        before: &RunningConfig,
        report_unresolved: &mut dyn FnMut(&str, &std::io::Error),
    ) -> Result<RunningConfig, ProxyError> {
        let mut upstreams = BTreeMap::new();
        for (name, upstream) in &config.upstreams {
            let key = format!("upstreams.{name}.server");
            let options = SideOptions::of(&upstream.server, &key, &mut self.controls)?;
            let known = before.upstreams.get(name).map(Arc::as_ref);
            let mut addresses = resolve(upstream, report_unresolved);
            // Keep the known addresses if the resolver fails at a reload.
            if let Some(known) =
                known.filter(|k| addresses.is_empty() && k.config.servers == upstream.servers)
            {
                addresses = known.servers().iter().map(|s| s.address).collect();
            }
            let state = UpstreamState::new(name, upstream.clone(), options, &addresses, known);
            upstreams.insert(name.clone(), Arc::new(state));
        }
        let mut bound = Vec::new();
        let mut changes: Vec<(Arc<OwnedFd>, SideOptions, SideOptions)> = Vec::new();
        for (name, listener) in &config.listeners {
            let key = format!("listeners.{name}.client");
            let client = SideOptions::of(&listener.client, &key, &mut self.controls)?;
            let state = Arc::new(self.listener(name, listener, &upstreams)?);
            for at in &listener.listen.0 {
                let address = match reused_address(before, at, !listener.transparent.is_empty()) {
                    Some((address, old)) => {
                        let key = format!("listeners.{}.client", old.name);
                        let old = SideOptions::of(&old.config.client, &key, &mut self.controls)?;
                        changes
                            .extend(address.sockets.iter().map(|s| (s.clone(), old.clone(), client.clone())));
                        address
                    }
                    None => self.open(at, !listener.transparent.is_empty(), &client, &key)?,
                };
                bound.push((address, state.clone()));
            }
        }
        for (socket, old, is) in changes.iter().filter(|(_, old, is)| old != is) {
            is.replace(old, socket.as_fd())?;
        }
        Ok(RunningConfig {
            bound,
            upstreams,
            max_connections: config.max_connections,
            log_connections: config.log_connections,
        })
    }

    fn listener(
        &mut self,
        name: &str,
        config: &ListenerConfig,
        upstreams: &BTreeMap<String, Arc<UpstreamState>>,
    ) -> Result<ListenerState, ProxyError> {
        let route = |(pattern, upstream): (&String, &String)| {
            Some((pattern.clone(), upstreams.get(upstream)?.clone()))
        };
        let routes = NameRoutes::of(config.sni.iter().filter_map(route));
        let key = format!("listeners.{name}.server");
        Ok(ListenerState {
            name: name.into(),
            config: config.clone(),
            upstream: config.upstream.as_ref().and_then(|u| upstreams.get(u)).cloned(),
            routes,
            options: SideOptions::of(&config.server, &key, &mut self.controls)?,
        })
    }

    /// Binds an address, with one socket per loop.
    fn open(
        &self,
        at: &ListenAt,
        transparent: bool,
        options: &SideOptions,
        key: &str,
    ) -> Result<BoundAddress, ProxyError> {
        let failed = |error| ProxyError::Listen { at: at.to_string(), error };
        let mut sockets: Vec<Arc<OwnedFd>> = Vec::new();
        match at {
            ListenAt::Activated(name) => {
                let given = self.activated.get(name).filter(|given| !given.is_empty()).ok_or_else(|| {
                    let names: Vec<&str> = self.activated.keys().map(String::as_str).collect();
                    let why =
                        format!("systemd has passed no socket `{name}`; available: {}", names.join(", "));
                    ProxyError::Setting { key: format!("{at}"), why }
                })?;
                // A single socket is shared by all loops; several are distributed among the loops.
                sockets.extend((0..self.loops).map(|i| given[i % given.len()].clone()));
            }
            ListenAt::Address(address) => {
                let mut address = *address;
                for _ in 0..self.loops {
                    let socket = bound_socket(address, transparent).map_err(failed)?;
                    address = socket::local_address(socket.as_fd()).map_err(failed)?;
                    sockets.push(Arc::new(socket));
                }
            }
        }
        for socket in &sockets {
            options
                .apply(socket.as_fd())
                .map_err(|e| ProxyError::Setting { key: key.into(), why: e.to_string() })?;
            socket::listen(socket.as_fd()).map_err(failed)?;
        }
        let address = socket::local_address(sockets[0].as_fd()).map_err(failed)?;
        Ok(BoundAddress { wanted: at.clone(), address, transparent, sockets })
    }
}

/// Returns an already bound address that is still configured, and its previous listener.
fn reused_address(
    before: &RunningConfig,
    at: &ListenAt,
    transparent: bool,
) -> Option<(BoundAddress, Arc<ListenerState>)> {
    let same = |(bound, _): &&(BoundAddress, Arc<ListenerState>)| {
        bound.wanted == *at && bound.transparent == transparent
    };
    before.bound.iter().find(same).cloned()
}

/// Returns a socket bound to an address that other sockets of the same user may also bind (SO_REUSEPORT,
/// socket(7)).
fn bound_socket(address: SocketAddr, transparent: bool) -> std::io::Result<OwnedFd> {
    let socket = socket::tcp_socket(address.is_ipv6())?;
    let fd = socket.as_fd();
    socket::set_option(fd, SocketOption::SO_REUSEADDR, 1)?;
    socket::set_option(fd, SocketOption::SO_REUSEPORT, 1)?;
    if transparent {
        socket::set_transparent(fd, &address)?;
    }
    socket::bind_to(fd, address)?;
    Ok(socket)
}
