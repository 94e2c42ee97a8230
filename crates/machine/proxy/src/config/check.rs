//! What serde cannot tell: names that must be there, settings that exclude each other, bounds.

use super::{ProxyConfig, SideConfig};
use crate::address::{HostPort, ListenAt};
use document::{DocumentError, RefusalCause, SettingsFile};
use std::collections::BTreeMap;
use units::{Rate, Span};

mod pair;

/// Longer waits than a year are slips.
const LONGEST_WAIT: Span = Span::from_secs(366 * 24 * 3600);

/// A fault: the keys that lead to it, and what it is.
type ConfigFault = (Vec<String>, RefusalCause);

impl ProxyConfig {
    /// Reads a configuration; `file` is its name, for errors.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
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

    /// The first thing that is wrong with it, of what can be told without looking at this machine.
    pub fn fault(&self) -> Option<(Vec<String>, RefusalCause)> {
        self.check().err()
    }

    fn check(&self) -> Result<(), ConfigFault> {
        if self.listeners.is_empty() && self.pair.is_none() {
            return Err(conflict(&["listeners"], "at least one listener is wanted: [listeners.NAME]"));
        }
        range(&["workers"], self.workers.unwrap_or(1) as u64, 1, 1024)?;
        range(&["max_connections"], self.max_connections as u64, 1, 1 << 24)?;
        wait(&["drain_timeout"], self.drain_timeout, Span::ZERO)?;
        if self.status.is_some_and(|address| !address.ip().is_loopback()) {
            let why =
                "metrics and status page are plain HTTP: a loopback address is wanted, as \"127.0.0.1:9180\"";
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
            return Err(conflict(&under("servers"), "at least one server is wanted"));
        }
        let least = Span::from_millis(1);
        wait(&under("connect_timeout"), u.connect_timeout, least)?;
        wait(&under("resolve_every"), u.resolve_every, Span::from_secs(1))?;
        if !u.check_every.is_zero() {
            wait(&under("check_every"), u.check_every, Span::from_millis(10))?;
        }
        wait(&under("rest"), u.rest, least)?;
        range(&under("failures"), u.failures.into(), 1, 1_000_000)?;
        range(&under("retries"), u.retries.into(), 0, 1000)?;
        side(&at, "server", &u.server)
    }

    fn listener(&self, name: &str) -> Result<(), ConfigFault> {
        let (l, at) = (&self.listeners[name], ["listeners", name]);
        let under = |key| [at[0], at[1], key];
        if l.listen.0.is_empty() {
            return Err(conflict(&under("listen"), "at least one address is wanted"));
        }
        self.routes(name)?;
        let least = Span::from_millis(1);
        for (key, value) in [
            ("hello_timeout", l.hello_timeout),
            ("idle_timeout", l.idle_timeout),
            ("half_close_timeout", l.half_close_timeout),
        ] {
            wait(&under(key), value, least)?;
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

    /// Where a listener's connections may go.
    fn routes(&self, name: &str) -> Result<(), ConfigFault> {
        let (l, at) = (&self.listeners[name], ["listeners", name]);
        let known = |path: &[&str], upstream: &String| {
            let known = self.upstreams.keys().cloned().collect();
            let cause = RefusalCause::UnknownName { what: "upstream", name: upstream.clone(), known };
            if self.upstreams.contains_key(upstream) { Ok(()) } else { Err((owned(path), cause)) }
        };
        if let Some(upstream) = &l.upstream {
            known(&[at[0], at[1], "upstream"], upstream)?;
        }
        for (pattern, upstream) in &l.sni {
            let path = [at[0], at[1], "sni", pattern];
            name_pattern(&path, pattern)?;
            known(&path, upstream)?;
        }
        let routed = l.upstream.is_some() || !l.sni.is_empty();
        if l.transparent.is_empty() && !routed {
            let key = "upstream".into();
            return Err((owned(&at), RefusalCause::MissingKey { key }));
        }
        if !l.transparent.is_empty() && routed {
            let why = "connections of a transparent listener go where they were made to: leave out `upstream` and `sni`";
            return Err(conflict(&[at[0], at[1], "transparent"], why));
        }
        if l.transparent.is_empty() && (l.keep_client_address || l.server != SideConfig::default()) {
            let key = if l.keep_client_address { "keep_client_address" } else { "server" };
            let why = "this is for transparent listeners; an upstream has a `server` of its own";
            return Err(conflict(&[at[0], at[1], key], why));
        }
        Ok(())
    }

    /// No address twice.
    fn addresses(&self) -> Result<(), ConfigFault> {
        let mut seen: BTreeMap<&ListenAt, &str> = BTreeMap::new();
        for (name, listener) in &self.listeners {
            for (i, at) in listener.listen.0.iter().enumerate() {
                let is_any = matches!(at, ListenAt::Address(a) if a.port() == 0);
                if let Some(other) = seen.insert(at, name).filter(|_| !is_any) {
                    let why = format!("the listener `{other}` listens on {at} already");
                    return Err(conflict(&["listeners", name, "listen", &i.to_string()], &why));
                }
            }
        }
        Ok(())
    }

    /// The names that servers are written by.
    pub fn names(&self) -> impl Iterator<Item = (&str, u16)> {
        let servers = self.upstreams.values().flat_map(|u| &u.servers.0);
        servers.filter_map(|server| match server {
            HostPort::Name(name, port) => Some((name.as_str(), *port)),
            HostPort::Address(_) => None,
        })
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|step| step.to_string()).collect()
}

fn conflict(path: &[&str], why: &str) -> ConfigFault {
    (owned(path), RefusalCause::Conflict { message: why.into() })
}

fn range(path: &[&str], value: u64, least: u64, most: u64) -> Result<(), ConfigFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let allowed = format!("{least} to {most}");
    Err((owned(path), RefusalCause::OutOfRange { found: value.to_string(), allowed }))
}

fn wait(path: &[&str], value: Span, least: Span) -> Result<(), ConfigFault> {
    if (least..=LONGEST_WAIT).contains(&value) {
        return Ok(());
    }
    let allowed = format!("{least} to a year");
    Err((owned(path), RefusalCause::OutOfRange { found: value.to_string(), allowed }))
}

/// What stands for names of a TLS ClientHello.
fn name_pattern(path: &[&str], pattern: &str) -> Result<(), ConfigFault> {
    let plain = pattern.strip_prefix("*.").unwrap_or(pattern);
    let fit = |b: u8| b.is_ascii_digit() || b.is_ascii_lowercase() || b"-._".contains(&b);
    if !plain.is_empty() && plain.bytes().all(fit) {
        return Ok(());
    }
    Err(conflict(path, "a pattern is a name in lower case, or `*.` and the end of one, as \"*.example.com\""))
}

/// TCP's own bounds.
fn side(at: &[&str; 2], key: &str, s: &SideConfig) -> Result<(), ConfigFault> {
    let under = |setting| [at[0], at[1], key, setting];
    // TCP_CA_NAME_MAX, with its final zero.
    if s.cc.as_ref().is_some_and(|name| name.is_empty() || name.len() > 15) {
        return Err(conflict(&under("cc"), "a congestion control's name has 1 to 15 bytes"));
    }
    // A byte a second is the kernel's smallest.
    if let Some(rate) = s.pace {
        let allowed = "8kbit/s to 1000Gbit/s".into();
        if !(Rate::from_bps(8_000)..=Rate::from_bps(1_000_000_000_000)).contains(&rate) {
            return Err((
                owned(&under("pace")),
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
    // Whole seconds, of which the kernel takes at most 32,767 (MAX_TCP_KEEPIDLE).
    match s.keep_alive {
        Some(t) if !(Span::from_secs(1)..=Span::from_secs(32_767)).contains(&t) => {
            let allowed = "1 s to 32767 s".into();
            Err((owned(&under("keep_alive")), RefusalCause::OutOfRange { found: t.to_string(), allowed }))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
