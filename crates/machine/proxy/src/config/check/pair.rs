//! Checks of `[pair]`: the names that it uses exist, and its peers are reachable.

use super::{ConfigFault, conflict, name_pattern, owned_path, range, timeout_range};
use crate::config::{PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig};
use document::RefusalCause;
use std::collections::BTreeMap;
use units::Span;

/// Fails with the first error.
pub fn pair(pair: &PairConfig) -> Result<(), ConfigFault> {
    if pair.peers.is_empty() {
        return Err(conflict(&["pair", "peers"], "at least one peer is required: [pair.peers.NAME]"));
    }
    let mut keys = BTreeMap::new();
    for (name, settings) in &pair.peers {
        if let Some(other) = keys.insert(settings.key, name) {
            let why = format!("the peer `{other}` already has this key");
            return Err(conflict(&["pair", "peers", name, "key"], &why));
        }
        peer(pair, name, settings)?;
    }
    pair.listeners.iter().try_for_each(|(name, l)| listener(pair, name, l))?;
    pair.upstreams.iter().try_for_each(|(name, u)| upstream(pair, name, u))
}

fn peer(pair: &PairConfig, name: &str, peer: &PeerConfig) -> Result<(), ConfigFault> {
    let under = |key| ["pair", "peers", name, key];
    if pair.listen.is_none() && peer.address.is_none() {
        let why = "no connection to this peer is possible: set its `address`, or `listen` in `pair`";
        return Err(conflict(&["pair", "peers", name], why));
    }
    let controls = [PairConfig::CONTRACT, "bbr3", "bbr-hsr", "bbr", "cubic", "reno"];
    if !controls.contains(&peer.cc.as_str()) {
        let known = controls.map(String::from).to_vec();
        let cause = RefusalCause::UnknownName { what: "congestion control", name: peer.cc.clone(), known };
        return Err((owned_path(&under("cc")), cause));
    }
    timeout_range(&under("idle_timeout"), peer.idle_timeout, Span::from_secs(1))
}

/// Checks that a peer of this name exists.
fn known_peer(pair: &PairConfig, path: &[&str], name: &String) -> Result<(), ConfigFault> {
    let known = pair.peers.keys().cloned().collect();
    let cause = RefusalCause::UnknownName { what: "peer", name: name.clone(), known };
    if pair.peers.contains_key(name) { Ok(()) } else { Err((owned_path(path), cause)) }
}

fn listener(pair: &PairConfig, name: &str, l: &PairListenerConfig) -> Result<(), ConfigFault> {
    let under = |key| ["pair", "listeners", name, key];
    if l.listen.0.is_empty() {
        return Err(conflict(&under("listen"), "at least one address is required"));
    }
    known_peer(pair, &under("peer"), &l.peer)?;
    let short = |path: &[&str], upstream: &str| {
        let fits = (1..=255).contains(&upstream.len());
        if fits { Ok(()) } else { Err(conflict(path, "a name has 1 to 255 bytes")) }
    };
    if let Some(upstream) = &l.upstream {
        short(&under("upstream"), upstream)?;
    }
    for (pattern, upstream) in &l.sni {
        let path = ["pair", "listeners", name, "sni", pattern];
        name_pattern(&path, pattern)?;
        short(&path, upstream)?;
    }
    if l.upstream.is_none() && (l.sni.is_empty() || l.udp) {
        let key = "upstream".into();
        return Err((owned_path(&under("")[..3]), RefusalCause::MissingKey { key }));
    }
    let tcp_only = [
        ("sni", !l.sni.is_empty()),
        ("proxy_protocol_from", !l.proxy_protocol_from.is_empty()),
        ("max_connections_per_client", l.max_connections_per_client.is_some()),
    ];
    if let Some((key, _)) = tcp_only.iter().find(|(_, is_set)| l.udp && *is_set) {
        return Err(conflict(&under(key), "only for TCP connections, not with `udp`"));
    }
    let limit = l.max_connections_per_client.unwrap_or(1).into();
    range(&under("max_connections_per_client"), limit, 1, 1 << 24)?;
    timeout_range(&under("hello_timeout"), l.hello_timeout, Span::from_millis(1))?;
    timeout_range(&under("idle_timeout"), l.idle_timeout, Span::from_millis(1))?;
    timeout_range(&under("half_close_timeout"), l.half_close_timeout, Span::from_millis(1))
}

fn upstream(pair: &PairConfig, name: &str, u: &PairUpstreamConfig) -> Result<(), ConfigFault> {
    let under = |key| ["pair", "upstreams", name, key];
    if u.servers.0.is_empty() {
        return Err(conflict(&under("servers"), "at least one server is required"));
    }
    u.peers.iter().try_for_each(|peer| known_peer(pair, &under("peers"), peer))?;
    timeout_range(&under("connect_timeout"), u.connect_timeout, Span::from_millis(1))
}
