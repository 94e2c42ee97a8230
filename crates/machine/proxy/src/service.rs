//! Runs a proxy as a service: log on standard error, signals, and notifications to systemd.
//!
//! SIGHUP reloads the configuration. SIGTERM and SIGINT drain, for at most `drain_timeout`; a second one
//! stops.

use crate::config::{ConfigError, ProxyConfig};
use crate::proxy::Proxy;
use crate::shared::LogSink;
use linux::service::{notify, passed_sockets};
use linux::signal::{ServiceSignal, hold_signals, next_signal};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Queued log entries; more are dropped, so that a stalled log delays no connection.
const LOG_ENTRIES: usize = 10_000;
/// How often [`serve`] checks whether the last connection has ended.
const END_CHECK: Duration = Duration::from_millis(50);

/// Sockets that systemd has opened, by name.
pub type ActivatedSockets = BTreeMap<String, Vec<OwnedFd>>;

/// A service that [`serve`] controls.
pub trait ProxyService {
    /// Stops accepting connections; the service ends with its last connection.
    fn drain(&mut self);

    /// Ends at once.
    fn stop(&mut self);

    /// Whether the service has ended.
    fn is_finished(&self) -> bool;

    /// Replaces the configuration.
    ///
    /// # Errors
    /// Fails with the reason why the service keeps its configuration.
    fn reload(&mut self, next: &ProxyConfig) -> Result<(), String>;
}

impl ProxyService for Proxy {
    fn drain(&mut self) {
        Proxy::drain(self);
    }

    fn stop(&mut self) {
        Proxy::stop(self);
    }

    fn is_finished(&self) -> bool {
        Proxy::is_finished(self)
    }

    fn reload(&mut self, next: &ProxyConfig) -> Result<(), String> {
        Proxy::reload(self, next).map_err(|e| e.to_string())
    }
}

/// The log of a service: one JSON object per line.
pub struct ServiceLog(SyncSender<Map<String, Value>>);

impl ServiceLog {
    /// Returns a sink for a part of the service.
    pub fn sink(&self) -> LogSink {
        let entries = self.0.clone();
        Box::new(move |entry| drop(entries.try_send(entry)))
    }

    fn reload_failed(&self, why: String) {
        let entry = [("event", "reload-failed".into()), ("why", Value::from(why))];
        drop(self.0.try_send(entry.into_iter().map(|(key, value)| (key.to_string(), value)).collect()));
    }
}

/// Starts a service and handles signals until it has ended. Returns whether a signal ended it. `start` is
/// called while the process has one thread, so that it may switch users. `read` reads the configuration
/// again.
///
/// # Errors
/// Fails with the errors of `start`.
pub fn serve<S: ProxyService, E>(
    mut config: ProxyConfig,
    read: impl Fn() -> Result<ProxyConfig, ConfigError>,
    start: impl FnOnce(&ProxyConfig, ActivatedSockets, &ServiceLog) -> Result<S, E>,
) -> Result<bool, E> {
    // Before any other descriptor is opened, because systemd passes sockets by number.
    let activated = passed_sockets();
    hold_signals();
    let (log, entries) = mpsc::sync_channel(LOG_ENTRIES);
    let log = ServiceLog(log);
    let mut service = start(&config, activated, &log)?;
    std::thread::spawn(move || entries.iter().for_each(write_entry));
    let (send, signals) = mpsc::channel();
    std::thread::spawn(move || while send.send(next_signal()).is_ok() {});
    notify("READY=1");
    let mut ends_at: Option<Instant> = None;
    loop {
        match signals.recv_timeout(if ends_at.is_some() { END_CHECK } else { END_CHECK * 10 }) {
            Ok(ServiceSignal::Reload) if ends_at.is_none() => {
                notify("RELOADING=1");
                match reload(&mut service, &read) {
                    Ok(next) => config = next,
                    Err(why) => log.reload_failed(why),
                }
                notify("READY=1");
            }
            Ok(ServiceSignal::Reload) => {}
            Ok(ServiceSignal::End) if ends_at.is_none() => {
                notify("STOPPING=1");
                service.drain();
                ends_at = Some(Instant::now() + Duration::from_nanos(config.drain_timeout.as_nanos()));
            }
            Ok(ServiceSignal::End) => service.stop(),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        if ends_at.is_some_and(|at| at <= Instant::now()) {
            service.stop();
        }
        if service.is_finished() {
            drop(service);
            std::thread::sleep(END_CHECK); // let the log write its last entries
            return Ok(ends_at.is_some());
        }
    }
}

/// Reads the configuration and applies it; an invalid one changes nothing.
fn reload(
    service: &mut impl ProxyService,
    read: impl Fn() -> Result<ProxyConfig, ConfigError>,
) -> Result<ProxyConfig, String> {
    let next = read().map_err(|problem| match problem {
        ConfigError::Wrong(e) => e.to_string(),
        other => other.to_string().trim_end().to_string(),
    })?;
    service.reload(&next)?;
    Ok(next)
}

/// Writes a line of the log: the time, then the entry.
fn write_entry(mut entry: Map<String, Value>) {
    let mut line = Map::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = chrono::DateTime::from_timestamp_millis(now.as_millis() as i64).unwrap_or_default();
    let time = now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    line.insert("time".into(), time.into());
    line.append(&mut entry);
    let text = Value::Object(line).to_string();
    drop(writeln!(std::io::stderr().lock(), "{}", print::escape::json(&text)));
}
