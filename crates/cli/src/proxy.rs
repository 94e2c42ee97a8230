//! `longfat proxy`: configuration, signals, log. The proxy itself is the crate of that name.

use crate::args::ProxyArgs;
use crate::problem::CliProblem;
use ::proxy::ProxyConfig;
use std::process::ExitCode;

/// Runs a proxy until it is told to end.
pub fn proxy(args: &ProxyArgs) -> Result<ExitCode, CliProblem> {
    let config = read(args)?;
    if args.check {
        crate::print("the configuration is right\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    run(args, &config)
}

/// The configuration of file or flags.
fn read(args: &ProxyArgs) -> Result<ProxyConfig, CliProblem> {
    if let Some(path) = &args.config {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| CliProblem::Io(name.clone(), e))?;
        return ProxyConfig::parse(&name, &text).map_err(|e| CliProblem::Scenario(Box::new(e)));
    }
    let (Some(listen), Some(first)) = (&args.listen, args.upstream.first()) else {
        return Err(CliProblem::Usage("--listen and --upstream, or --config, are wanted".into()));
    };
    let mut listener = ::proxy::ListenerConfig::of(listen.clone(), "main");
    let mut upstream = ::proxy::UpstreamConfig::of(first.clone());
    upstream.servers.0 = args.upstream.clone();
    (listener.client.cc, upstream.server.cc) = (args.client_cc.clone(), args.upstream_cc.clone());
    (listener.client.pace, upstream.server.pace) = (args.pace, args.pace);
    let config = ProxyConfig { status: args.status, ..ProxyConfig::of(listener, upstream) };
    match config.fault() {
        None => Ok(config),
        Some((path, cause)) => Err(CliProblem::Usage(format!("{}: {cause}", path.join(".")))),
    }
}

#[cfg(not(target_os = "linux"))]
fn run(_: &ProxyArgs, _: &ProxyConfig) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::Usage("the proxy needs Linux: it splices, and sets what Linux's TCP has".into()))
}

#[cfg(target_os = "linux")]
use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use ::proxy::{Proxy, Signal};
    use serde_json::{Map, Value};
    use std::io::Write;
    use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    /// Log entries that wait for whoever reads standard error; more are dropped, so that a log that
    /// nobody reads holds no connection up.
    const LOG_ENTRIES: usize = 10_000;
    /// How often it is looked whether the last connection has ended.
    const LOOK: Duration = Duration::from_millis(50);

    /// Starts, then heeds signals until the end.
    pub fn run(args: &ProxyArgs, config: &ProxyConfig) -> Result<ExitCode, CliProblem> {
        // Before anything is opened: the descriptors' numbers count.
        let activated = ::proxy::handed_over();
        ::proxy::hold_signals();
        let (log, entries) = mpsc::sync_channel(LOG_ENTRIES);
        let mut config = config.clone();
        let told = log.clone();
        let sink = Box::new(move |entry| drop(told.try_send(entry)));
        let mut proxy =
            Proxy::start(&config, activated, sink).map_err(|e| CliProblem::Usage(e.to_string()))?;
        std::thread::spawn(move || entries.iter().for_each(write_entry));
        let (tell, signals) = mpsc::channel();
        std::thread::spawn(move || while tell.send(::proxy::next_signal()).is_ok() {});
        ::proxy::notify("READY=1");
        let mut ends_at: Option<Instant> = None;
        loop {
            match signals.recv_timeout(if ends_at.is_some() { LOOK } else { LOOK * 10 }) {
                Ok(Signal::Reload) if ends_at.is_none() => {
                    ::proxy::notify("RELOADING=1");
                    reload(args, &mut proxy, &mut config, &log);
                    ::proxy::notify("READY=1");
                }
                Ok(Signal::Reload) => {}
                Ok(Signal::End) if ends_at.is_none() => {
                    ::proxy::notify("STOPPING=1");
                    proxy.drain();
                    ends_at = Some(Instant::now() + Duration::from_nanos(config.drain_timeout.as_nanos()));
                }
                Ok(Signal::End) => proxy.stop(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if ends_at.is_some_and(|at| at <= Instant::now()) {
                proxy.stop();
            }
            if proxy.is_finished() {
                let failed = ends_at.is_none();
                drop(proxy);
                std::thread::sleep(LOOK); // the last entries
                return Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS });
            }
        }
    }

    /// Reads the file anew; what is wrong with it is told, and what runs stays.
    fn reload(
        args: &ProxyArgs,
        proxy: &mut Proxy,
        config: &mut ProxyConfig,
        log: &SyncSender<Map<String, Value>>,
    ) {
        let next = read(args).map_err(|problem| match problem {
            CliProblem::Scenario(e) => e.to_string(),
            other => other.to_string().trim_end().to_string(),
        });
        let done = next.and_then(|next| proxy.reload(&next).map(|()| next).map_err(|e| e.to_string()));
        match done {
            Ok(next) => *config = next,
            Err(why) => {
                let entry = [("event", "reload-failed"), ("why", &why)];
                let entry = entry.into_iter().map(|(k, v)| (k.to_string(), Value::from(v))).collect();
                drop(log.try_send(entry));
            }
        }
    }

    /// A line of the log: the time, then what happened.
    fn write_entry(mut entry: Map<String, Value>) {
        let mut line = Map::new();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now = chrono::DateTime::from_timestamp_millis(now.as_millis() as i64).unwrap_or_default();
        let time = now.to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        line.insert("time".into(), time.into());
        line.append(&mut entry);
        let text = crate::escape::json(&Value::Object(line).to_string()).into_owned();
        drop(writeln!(std::io::stderr().lock(), "{text}"));
    }
}
