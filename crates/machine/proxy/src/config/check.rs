//! Checks that serde cannot do: names that must exist, settings that exclude each other, ranges.

use super::{ProxyConfig, SideConfig};
use crate::address::{HostPort, ListenAt};
use document::{DocumentError, RefusalCause, SettingsFile};
use std::collections::BTreeMap;
use units::{Rate, Span};

mod pair;

/// Timeouts longer than a year are mistakes.
const MAX_TIMEOUT: Span = Span::from_secs(366 * 24 * 3600);

/// An error: the path of keys to it, and its cause.
type ConfigFault = (Vec<String>, RefusalCause);

impl ProxyConfig {
    /// Parses and checks a configuration; `file` is its name, for errors.
    ///
    /// # Errors
    /// Fails with the first error and its position.
    pub fn parse(file: &str, text: &str) -> Result<ProxyConfig, DocumentError> {
        let settings = SettingsFile::parse(file, text)?;
        let config: ProxyConfig = settings.read()?;
        match config.fault() {
            None => Ok(config),
            Some((path, cause)) => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                Err(settings.refuse(&path, cause))
            }
        }
    }

    /// Returns the first error that can be found without querying this machine.
    pub fn fault(&self) -> Option<(Vec<String>, RefusalCause)> {
        self.check().err()
    }

    fn check(&self) -> Result<(), ConfigFault> {
        if self.listeners.is_empty() && self.pair.is_none() {
            return Err(conflict(&["listeners"], "at least one listener is required: [listeners.NAME]"));
        }
        range(&["workers"], self.workers.unwrap_or(1) as u64, 1, 1024)?;
        range(&["max_connections"], self.max_connections as u64, 1, 1 << 24)?;
        timeout_range(&["drain_timeout"], self.drain_timeout, Span::ZERO)?;
        if self.status.is_some_and(|address| !address.ip().is_loopback()) {
            let why = "metrics and status page use plain HTTP and need a loopback address, for example \"127.0.0.1:9180\"";
            return Err(conflict(&["status"], why));
        }
        self.upstreams.keys().try_for_each(|name| self.upstream(name))?;
        self.listeners.keys().try_for_each(|name| self.listener(name))?;
        self.addresses()?;
        self.pair.as_ref().map_or(Ok(()), pair::pair)
    }

    fn upstream(&self, name: &str) -> Result<(), ConfigFault> {
        let (u, at) = (&self.upstreams[name], ["upstreams", name]);
        let under = |key| [at[0], at[1], key];
        if u.servers.0.is_empty() {
            return Err(conflict(&under("servers"), "at least one server is required"));
        }
        let min = Span::from_millis(1);
        timeout_range(&under("connect_timeout"), u.connect_timeout, min)?;
        timeout_range(&under("resolve_every"), u.resolve_every, Span::from_secs(1))?;
        if !u.check_every.is_zero() {
            timeout_range(&under("check_every"), u.check_every, Span::from_millis(10))?;
        }
        timeout_range(&under("rest"), u.rest, min)?;
        range(&under("failures"), u.failures.into(), 1, 1_000_000)?;
        range(&under("retries"), u.retries.into(), 0, 1000)?;
        side(&at, "server", &u.server)
    }

    fn listener(&self, name: &str) -> Result<(), ConfigFault> {
        let (l, at) = (&self.listeners[name], ["listeners", name]);
        let under = |key| [at[0], at[1], key];
        if l.listen.0.is_empty() {
            return Err(conflict(&under("listen"), "at least one address is required"));
        }
        self.routes(name)?;
        let min = Span::from_millis(1);
        for (key, value) in [
            ("hello_timeout", l.hello_timeout),
            ("idle_timeout", l.idle_timeout),
            ("half_close_timeout", l.half_close_timeout),
        ] {
            timeout_range(&under(key), value, min)?;
        }
        range(
            &under("max_connections_per_client"),
            l.max_connections_per_client.unwrap_or(1).into(),
            1,
            1 << 24,
        )?;
        side(&at, "client", &l.client)?;
        side(&at, "server", &l.server)
    }

    /// Checks the destinations of a listener's connections.
    fn routes(&self, name: &str) -> Result<(), ConfigFault> {
        let (l, at) = (&self.listeners[name], ["listeners", name]);
        let require_upstream = |path: &[&str], upstream: &String| {
            let known = self.upstreams.keys().cloned().collect();
            let cause = RefusalCause::UnknownName { what: "upstream", name: upstream.clone(), known };
            if self.upstreams.contains_key(upstream) { Ok(()) } else { Err((owned_path(path), cause)) }
        };
        if let Some(upstream) = &l.upstream {
            require_upstream(&[at[0], at[1], "upstream"], upstream)?;
        }
        for (pattern, upstream) in &l.sni {
            let path = [at[0], at[1], "sni", pattern];
            name_pattern(&path, pattern)?;
            require_upstream(&path, upstream)?;
        }
        let routed = l.upstream.is_some() || !l.sni.is_empty();
        if l.transparent.is_empty() && !routed {
            let key = "upstream".into();
            return Err((owned_path(&at), RefusalCause::MissingKey { key }));
        }
        if !l.transparent.is_empty() && routed {
            let why = "a transparent listener uses the original destination: remove `upstream` and `sni`";
            return Err(conflict(&[at[0], at[1], "transparent"], why));
        }
        if l.transparent.is_empty() && (l.keep_client_address || l.server != SideConfig::default()) {
            let key = if l.keep_client_address { "keep_client_address" } else { "server" };
            let why = "only for transparent listeners; set `server` in the upstream instead";
            return Err(conflict(&[at[0], at[1], key], why));
        }
        Ok(())
    }

    /// Checks that no address is used twice.
    fn addresses(&self) -> Result<(), ConfigFault> {
        let mut seen: BTreeMap<&ListenAt, &str> = BTreeMap::new();
        for (name, listener) in &self.listeners {
            for (i, at) in listener.listen.0.iter().enumerate() {
                let is_any = matches!(at, ListenAt::Address(a) if a.port() == 0);
                if let Some(other) = seen.insert(at, name).filter(|_| !is_any) {
                    let why = format!("the listener `{other}` already listens on {at}");
                    return Err(conflict(&["listeners", name, "listen", &i.to_string()], &why));
                }
            }
        }
        Ok(())
    }

    /// Returns the host names among the servers, with their ports.
    pub fn names(&self) -> impl Iterator<Item = (&str, u16)> {
        let servers = self.upstreams.values().flat_map(|u| &u.servers.0);
        servers.filter_map(|server| match server {
            HostPort::Name(name, port) => Some((name.as_str(), *port)),
            HostPort::Address(_) => None,
        })
    }
}

fn owned_path(path: &[&str]) -> Vec<String> {
    path.iter().map(|step| step.to_string()).collect()
}

fn conflict(path: &[&str], why: &str) -> ConfigFault {
    (owned_path(path), RefusalCause::Conflict { message: why.into() })
}

fn range(path: &[&str], value: u64, min: u64, max: u64) -> Result<(), ConfigFault> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    let allowed = format!("{min} to {max}");
    Err((owned_path(path), RefusalCause::OutOfRange { found: value.to_string(), allowed }))
}

fn timeout_range(path: &[&str], value: Span, min: Span) -> Result<(), ConfigFault> {
    if (min..=MAX_TIMEOUT).contains(&value) {
        return Ok(());
    }
    let allowed = format!("{min} to a year");
    Err((owned_path(path), RefusalCause::OutOfRange { found: value.to_string(), allowed }))
}

/// Checks a pattern of server names.
fn name_pattern(path: &[&str], pattern: &str) -> Result<(), ConfigFault> {
    let plain = pattern.strip_prefix("*.").unwrap_or(pattern);
    let fit = |b: u8| b.is_ascii_digit() || b.is_ascii_lowercase() || b"-._".contains(&b);
    if !plain.is_empty() && plain.bytes().all(fit) {
        return Ok(());
    }
    Err(conflict(
        path,
        "a pattern is a lower-case name, or `*.` and the end of a name, for example \"*.example.com\"",
    ))
}

/// Checks the settings of one side against TCP's limits.
fn side(at: &[&str; 2], key: &str, s: &SideConfig) -> Result<(), ConfigFault> {
    let under = |setting| [at[0], at[1], key, setting];
    // TCP_CA_NAME_MAX includes the terminating zero.
    if s.cc.as_ref().is_some_and(|name| name.is_empty() || name.len() > 15) {
        return Err(conflict(&under("cc"), "the name of a congestion control has 1 to 15 bytes"));
    }
    // The kernel's minimum is one byte per second.
    if let Some(rate) = s.pace {
        let allowed = "8kbit/s to 1000Gbit/s".into();
        if !(Rate::from_bps(8_000)..=Rate::from_bps(1_000_000_000_000)).contains(&rate) {
            return Err((
                owned_path(&under("pace")),
                RefusalCause::OutOfRange { found: rate.to_string(), allowed },
            ));
        }
    }
    for (name, value) in [
        ("send_buffer", s.send_buffer),
        ("receive_buffer", s.receive_buffer),
        ("notsent_lowat", s.notsent_lowat),
    ] {
        if let Some(bytes) = value {
            range(&under(name), bytes.get(), 1024, 1 << 30)?;
        }
    }
    // Whole seconds; the kernel's maximum is 32,767 (MAX_TCP_KEEPIDLE).
    match s.keep_alive {
        Some(t) if !(Span::from_secs(1)..=Span::from_secs(32_767)).contains(&t) => {
            let allowed = "1 s to 32767 s".into();
            Err((
                owned_path(&under("keep_alive")),
                RefusalCause::OutOfRange { found: t.to_string(), allowed },
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
