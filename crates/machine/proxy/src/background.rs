//! What takes time and no loop waits for: names are resolved anew, servers are asked whether they are up, statistics age, the
//! status page is told. A thread each; they end with the loops.

use crate::assemble::resolve;
use crate::config::UpstreamConfig;
use crate::health::HealthNews;
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

/// How often it is looked whether something is due.
const TICK: Duration = Duration::from_millis(100);
/// How often what was lately seen is halved.
const AGE: Span = Span::from_secs(30);
/// Servers checked at once.
const CHECKS: usize = 64;

/// Starts them; `page` is where the status page is asked for.
pub fn start(shared: &Arc<ProxyShared>, page: Option<TcpListener>) -> io::Result<Vec<JoinHandle<()>>> {
    let run = |name: &str, work: Box<dyn FnOnce(&ProxyShared) + Send>| {
        let shared = shared.clone();
        thread::Builder::new().name(name.into()).spawn(move || work(&shared))
    };
    let mut all = vec![run("names", Box::new(names))?, run("checks", Box::new(checks))?];
    if let Some(page) = page {
        all.push(run("status", Box::new(move |shared| status::serve(shared, &page)))?);
    }
    Ok(all)
}

/// Whether this goes on; waits a moment.
pub fn goes_on(shared: &ProxyShared) -> bool {
    let over = || {
        let stopping = shared.stopping();
        stopping == Stopping::Now || stopping == Stopping::Drain && shared.connections.load(Relaxed) == 0
    };
    if over() {
        return false;
    }
    thread::park_timeout(TICK);
    !over()
}

/// When each upstream's chore is due again, by name.
#[derive(Default)]
struct DueTimes(HashMap<String, Time>);

impl DueTimes {
    /// Whether it is due; then it is due again after `every`.
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

fn names(shared: &ProxyShared) {
    let (mut due, mut aged) = (DueTimes::default(), shared.now());
    while goes_on(shared) {
        let now = shared.now();
        if now.since(aged) >= AGE {
            aged = now;
            shared.paths.age();
        }
        for (name, upstream) in &shared.running().upstreams {
            let config = &upstream.config;
            // What could not be resolved at the start is tried every second.
            let every = if upstream.servers().is_empty() { Span::from_secs(1) } else { config.resolve_every };
            if !has_names(config) || !due.is_due(name, now, every) {
                continue;
            }
            let mut failed = false;
            let addresses = resolve(config, &mut |name, e| {
                failed = true;
                shared.tell("unresolved", json!({ "name": name, "why": e.to_string() }));
            });
            // A resolver that fails takes nothing away.
            if (!failed || upstream.servers().is_empty()) && upstream.set_addresses(&addresses) {
                let list: Vec<String> = addresses.iter().map(|a| a.to_string()).collect();
                shared.tell("resolved", json!({ "upstream": name, "servers": list }));
            }
        }
    }
}

fn checks(shared: &ProxyShared) {
    let mut due = DueTimes::default();
    while goes_on(shared) {
        let now = shared.now();
        let mut wanted: Vec<(Arc<UpstreamState>, Arc<ServerState>)> = Vec::new();
        for (name, upstream) in &shared.running().upstreams {
            let every = upstream.config.check_every;
            if !every.is_zero() && due.is_due(name, now, every) {
                wanted.extend(upstream.servers().iter().map(|server| (upstream.clone(), server.clone())));
            }
        }
        for some in wanted.chunks(CHECKS) {
            thread::scope(|scope| {
                for (upstream, server) in some {
                    scope.spawn(|| check(shared, upstream, server));
                }
            });
        }
    }
}

/// Asks one server.
fn check(shared: &ProxyShared, upstream: &UpstreamState, server: &ServerState) {
    let timeout = Duration::from_nanos(upstream.config.connect_timeout.as_nanos());
    let asked = TcpStream::connect_timeout(&server.address, timeout);
    let news = upstream.told(server, shared.now(), asked.is_ok());
    let mut details = json!({ "upstream": upstream.name, "server": server.address.to_string() });
    match (news, asked.err()) {
        (Some(HealthNews::Up), _) => shared.tell("server-up", details),
        (Some(HealthNews::Down), why) => {
            details["why"] = why.map(|e| e.to_string()).into();
            shared.tell("server-down", details);
        }
        _ => {}
    }
}
