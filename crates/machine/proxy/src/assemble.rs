//! From a configuration to what runs: addresses bound, names resolved, controls loaded. What ran before and is wanted still is
//! taken over: sockets with the connections in their queues, what is known of servers.

use crate::address::{HostPort, ListenAt};
use crate::config::{ListenerConfig, ProxyConfig, UpstreamConfig};
use crate::error::ProxyError;
use crate::first::NameRoutes;
use crate::shared::{BoundAddress, ListenerState, RunningConfig};
use crate::side::{ProxyControls, SideOptions};
use crate::upstream::UpstreamState;
use linux::socket::{self, SocketOption};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// What stays the same for as long as a proxy runs.
pub struct Assembly {
    /// Event loops.
    pub loops: usize,
    /// Sockets that the service manager has opened, by name.
    pub activated: BTreeMap<String, Vec<Arc<OwnedFd>>>,
    /// Congestion controls.
    pub controls: ProxyControls,
}

/// The addresses of an upstream's servers, each once; what does not resolve now is left out and told.
pub fn resolve(config: &UpstreamConfig, told: &mut dyn FnMut(&str, &std::io::Error)) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = Vec::new();
    for server in &config.servers.0 {
        let mut found = server.resolve().unwrap_or_else(|e| {
            if let HostPort::Name(name, _) = server {
                told(name, &e);
            }
            Vec::new()
        });
        // Resolvers turn their answers around; the order here is the balance's.
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
    /// What is to run, in place of `before`.
    ///
    /// # Errors
    /// What this machine cannot fulfil; nothing has changed then.
    pub fn assemble(
        &mut self,
        config: &ProxyConfig,
        before: &RunningConfig,
        told: &mut dyn FnMut(&str, &std::io::Error),
    ) -> Result<RunningConfig, ProxyError> {
        let mut upstreams = BTreeMap::new();
        for (name, upstream) in &config.upstreams {
            let key = format!("upstreams.{name}.server");
            let options = SideOptions::of(&upstream.server, &key, &mut self.controls)?;
            let known = before.upstreams.get(name).map(Arc::as_ref);
            let mut addresses = resolve(upstream, told);
            // A resolver that fails at a reload does not take away what was known.
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
                let address = match taken_over(before, at, !listener.transparent.is_empty()) {
                    Some((address, was)) => {
                        let key = format!("listeners.{}.client", was.name);
                        let was = SideOptions::of(&was.config.client, &key, &mut self.controls)?;
                        changes
                            .extend(address.sockets.iter().map(|s| (s.clone(), was.clone(), client.clone())));
                        address
                    }
                    None => self.open(at, !listener.transparent.is_empty(), &client, &key)?,
                };
                bound.push((address, state.clone()));
            }
        }
        for (socket, was, is) in changes.iter().filter(|(_, was, is)| was != is) {
            is.replace(was, socket.as_fd())?;
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

    /// Binds an address, a socket a loop.
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
                    let why = format!(
                        "systemd has handed over no socket `{name}`; there are: {}",
                        names.join(", ")
                    );
                    ProxyError::Setting { key: format!("{at}"), why }
                })?;
                // One socket is shared by the loops; of several each loop has its own.
                sockets.extend((0..self.loops).map(|i| given[i % given.len()].clone()));
            }
            ListenAt::Address(address) => {
                let mut address = *address;
                for _ in 0..self.loops {
                    let socket = listening(address, transparent).map_err(failed)?;
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

/// A bound address that is wanted still, and the listener that had it.
fn taken_over(
    before: &RunningConfig,
    at: &ListenAt,
    transparent: bool,
) -> Option<(BoundAddress, Arc<ListenerState>)> {
    let same = |(bound, _): &&(BoundAddress, Arc<ListenerState>)| {
        bound.wanted == *at && bound.transparent == transparent
    };
    before.bound.iter().find(same).cloned()
}

/// A socket bound to an address that others may be bound to as well, of the same user (SO_REUSEPORT, socket(7)).
fn listening(address: SocketAddr, transparent: bool) -> std::io::Result<OwnedFd> {
    let socket = socket::tcp_socket(address.is_ipv6())?;
    let fd = socket.as_fd();
    socket::set_option(fd, SocketOption::SO_REUSEADDR, 1)?;
    socket::set_option(fd, SocketOption::SO_REUSEPORT, 1)?;
    if transparent {
        socket::be_transparent(fd, &address)?;
    }
    socket::bind_to(fd, address)?;
    Ok(socket)
}
