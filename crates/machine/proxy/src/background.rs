//! Background work that may block: name resolution, health checks, aging of statistics, the status page. Each
//! has a thread; the threads end with the loops.

use crate::assemble::resolve;
use crate::config::UpstreamConfig;
use crate::health::HealthChange;
use crate::shared::{ProxyShared, Stopping};
use crate::status;
use crate::upstream::{ServerState, UpstreamState};
use serde_json::json;
use std::collections::HashMap;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use units::{Span, Time};

/// Interval between checks whether work is due.
const TICK: Duration = Duration::from_millis(100);
/// Interval between halvings of the recent evidence.
const AGING_INTERVAL: Span = Span::from_secs(30);
/// Concurrent health checks.
const MAX_CHECKS: usize = 64;

/// Starts the threads; `page` is the listener of the status page.
pub fn start(shared: &Arc<ProxyShared>, page: Option<TcpListener>) -> io::Result<Vec<JoinHandle<()>>> {
    let run = |name: &str, work: Box<dyn FnOnce(&ProxyShared) + Send>| {
        let shared = shared.clone();
        thread::Builder::new().name(name.into()).spawn(move || work(&shared))
    };
    let mut all = vec![run("names", Box::new(resolve_names))?, run("checks", Box::new(check_servers))?];
    if let Some(page) = page {
        all.push(run("status", Box::new(move |shared| status::serve(shared, &page)))?);
    }
    Ok(all)
}

/// Waits a tick. Returns whether the proxy still runs.
pub fn continue_after_tick(shared: &ProxyShared) -> bool {
    let is_over = || {
        let stopping = shared.stopping();
        stopping == Stopping::Now || stopping == Stopping::Drain && shared.connections.load(Relaxed) == 0
    };
    if is_over() {
        return false;
    }
    thread::park_timeout(TICK);
    !is_over()
}

/// When each upstream's work is due next, by name.
#[derive(Default)]
struct DueTimes(HashMap<String, Time>);

impl DueTimes {
    /// Whether work is due; if so, it is due again after `every`.
    fn is_due(&mut self, name: &str, now: Time, every: Span) -> bool {
        let next = now + every;
        let at = self.0.entry(name.into()).or_insert(next);
        // A reload may have shortened the interval.
        *at = (*at).min(next);
        let due = *at <= now;
        if due {
            *at = next;
        }
        due
    }
}

fn has_names(config: &UpstreamConfig) -> bool {
    config.servers.0.iter().any(|server| matches!(server, crate::HostPort::Name(..)))
}

fn resolve_names(shared: &ProxyShared) {
    let (mut due, mut aged) = (DueTimes::default(), shared.now());
    while continue_after_tick(shared) {
        let now = shared.now();
        if now.since(aged) >= AGING_INTERVAL {
            aged = now;
            shared.paths.age();
        }
        for (name, upstream) in &shared.running().upstreams {
            let config = &upstream.config;
            // Retry every second while nothing has been resolved.
            let every = if upstream.servers().is_empty() { Span::from_secs(1) } else { config.resolve_every };
            if !has_names(config) || !due.is_due(name, now, every) {
                continue;
            }
            let mut failed = false;
            let addresses = resolve(config, &mut |name, e| {
                failed = true;
                shared.log_event("unresolved", json!({ "name": name, "why": e.to_string() }));
            });
            // Keep the known addresses if the resolver fails.
            if (!failed || upstream.servers().is_empty()) && upstream.set_addresses(&addresses) {
                let list: Vec<String> = addresses.iter().map(|a| a.to_string()).collect();
                shared.log_event("resolved", json!({ "upstream": name, "servers": list }));
            }
        }
    }
}

fn check_servers(shared: &ProxyShared) {
    let mut due = DueTimes::default();
    while continue_after_tick(shared) {
        let now = shared.now();
        let mut wanted: Vec<(Arc<UpstreamState>, Arc<ServerState>)> = Vec::new();
        for (name, upstream) in &shared.running().upstreams {
            let every = upstream.config.check_every;
            if !every.is_zero() && due.is_due(name, now, every) {
                wanted.extend(upstream.servers().iter().map(|server| (upstream.clone(), server.clone())));
            }
        }
        for some in wanted.chunks(MAX_CHECKS) {
            thread::scope(|scope| {
                for (upstream, server) in some {
                    scope.spawn(|| check(shared, upstream, server));
                }
            });
        }
    }
}

/// Checks one server.
fn check(shared: &ProxyShared, upstream: &UpstreamState, server: &ServerState) {
    let timeout = Duration::from_nanos(upstream.config.connect_timeout.as_nanos());
    let connected = TcpStream::connect_timeout(&server.address, timeout);
    let change = upstream.record_result(server, shared.now(), connected.is_ok());
    let mut details = json!({ "upstream": upstream.name, "server": server.address.to_string() });
    match (change, connected.err()) {
        (Some(HealthChange::Up), _) => shared.log_event("server-up", details),
        (Some(HealthChange::Down), why) => {
            details["why"] = why.map(|e| e.to_string()).into();
            shared.log_event("server-down", details);
        }
        _ => {}
    }
}
