//! `longfat proxy`: configuration, signals, log. The proxy itself is the crate of that name.

use crate::args::ProxyArgs;
use crate::problem::CliProblem;
use ::proxy::{ListenAt, PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig, ProxyConfig};
use std::path::Path;
use std::process::ExitCode;

/// Runs a proxy until it is told to end.
pub fn proxy(args: &ProxyArgs) -> Result<ExitCode, CliProblem> {
    if let Some(path) = &args.make_key {
        return make_key(path);
    }
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
        let text = std::fs::read_to_string(path).map_err(|e| CliProblem::io(name.clone(), e))?;
        return ProxyConfig::parse(&name, &text).map_err(|e| CliProblem::scenario(Box::new(e)));
    }
    let config = match pair_of_flags(args)? {
        Some(pair) => ProxyConfig::of_pair(pair),
        None => proxy_of_flags(args)?,
    };
    match config.fault() {
        None => Ok(config),
        Some((path, cause)) => Err(CliProblem::usage(format!("{}: {cause}", path.join(".")))),
    }
}

/// One end of a pair, where the flags are about one.
fn pair_of_flags(args: &ProxyArgs) -> Result<Option<PairConfig>, CliProblem> {
    if args.pair.is_none() && args.pair_listen.is_none() {
        return Ok(None);
    }
    let (Some(key), Some(peer_key)) = (&args.key, args.peer_key) else {
        return Err(CliProblem::usage("--key and --peer-key are wanted".into()));
    };
    let mut peer = PeerConfig::of(peer_key, args.pair.clone());
    (peer.cc, peer.pace) = (args.pair_cc.clone(), args.pace);
    let mut pair = PairConfig::of(key.clone(), peer);
    pair.listen = args.pair_listen;
    if let Some(listen) = &args.listen {
        let ListenAt::Address(at) = listen else {
            return Err(CliProblem::usage("--listen: a pair listens on addresses only".into()));
        };
        pair.listeners.insert("main".into(), PairListenerConfig::of(*at));
    }
    if !args.upstream.is_empty() {
        pair.upstreams.insert("main".into(), PairUpstreamConfig::of(args.upstream.clone()));
    }
    Ok(Some(pair))
}

/// The TCP proxy of the flags.
fn proxy_of_flags(args: &ProxyArgs) -> Result<ProxyConfig, CliProblem> {
    let (Some(listen), Some(first)) = (&args.listen, args.upstream.first()) else {
        return Err(CliProblem::usage("--listen and --upstream, or --config, are wanted".into()));
    };
    let mut listener = ::proxy::ListenerConfig::of(listen.clone(), "main");
    let mut upstream = ::proxy::UpstreamConfig::of(first.clone());
    upstream.servers.0 = args.upstream.clone();
    (listener.client.cc, upstream.server.cc) = (args.client_cc.clone(), args.upstream_cc.clone());
    (listener.client.pace, upstream.server.pace) = (args.pace, args.pace);
    Ok(ProxyConfig { status: args.status, ..ProxyConfig::of(listener, upstream) })
}

#[cfg(not(target_os = "linux"))]
fn make_key(_: &Path) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage("a pair needs Linux".into()))
}

/// A new key in a new file; its public key goes to standard output.
#[cfg(target_os = "linux")]
fn make_key(path: &Path) -> Result<ExitCode, CliProblem> {
    let io = |e| CliProblem::io(path.display().to_string(), e);
    let key = pair::PrivateKey::generate().map_err(io)?;
    key.write(path).map_err(io)?;
    crate::print(&format!("{}\n", key.public()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(not(target_os = "linux"))]
fn run(_: &ProxyArgs, _: &ProxyConfig) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage("the proxy needs Linux: it splices, and sets what Linux's TCP has".into()))
}

#[cfg(target_os = "linux")]
use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use ::proxy::{LogSink, Proxy, Signal};
    use app::CommandError;
    use pair::Pair;
    use serde_json::{Map, Value};
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    /// Log entries that wait for whoever reads standard error; more are dropped, so that a log that
    /// nobody reads holds no connection up.
    const LOG_ENTRIES: usize = 10_000;
    /// How often it is looked whether the last connection has ended.
    const LOOK: Duration = Duration::from_millis(50);

    /// The TCP proxy, where there are listeners, and the end of a pair, where there is one.
    struct ProxyAndPair {
        proxy: Option<Proxy>,
        pair: Option<Pair>,
    }

    impl ProxyAndPair {
        fn start(
            config: &ProxyConfig,
            activated: BTreeMap<String, Vec<OwnedFd>>,
            sink: LogSink,
            log: SyncSender<Map<String, Value>>,
        ) -> Result<ProxyAndPair, CliProblem> {
            let usage = |e: &dyn std::fmt::Display| CliProblem::usage(e.to_string());
            let bound = match &config.pair {
                Some(pair) => {
                    let sink = Box::new(move |entry| drop(log.try_send(entry)));
                    Some(Pair::bind(pair, sink).map_err(|e| usage(&e))?)
                }
                None => None,
            };
            // Becomes the configuration's user: before that no thread may run.
            let proxy = match config.listeners.is_empty() && config.status.is_none() {
                true => ::proxy::become_configured(config).map(|()| None),
                false => Proxy::start(config, activated, sink).map(Some),
            };
            let proxy = proxy.map_err(|e| usage(&e))?;
            let pair = bound.map(|bound| bound.run().map_err(|e| usage(&e))).transpose()?;
            if let (Some(proxy), Some(pair)) = (&proxy, &pair) {
                proxy.show(pair.board());
            }
            Ok(ProxyAndPair { proxy, pair })
        }

        fn drain(&mut self) {
            self.proxy.iter_mut().for_each(|proxy| proxy.drain());
            self.pair.iter().for_each(Pair::drain);
        }

        fn stop(&mut self) {
            self.proxy.iter_mut().for_each(|proxy| proxy.stop());
            self.pair.iter().for_each(Pair::stop);
        }

        fn is_finished(&self) -> bool {
            self.proxy.as_ref().is_none_or(Proxy::is_finished)
                && self.pair.as_ref().is_none_or(Pair::is_finished)
        }

        fn reload(&mut self, next: &ProxyConfig) -> Result<(), String> {
            // What may fail without a change comes first.
            let prepared = match (&self.pair, &next.pair) {
                (Some(pair), Some(config)) => Some(pair.prepare(config).map_err(|e| e.to_string())?),
                (None, None) => None,
                _ => return Err("`pair` comes and goes with a restart only".into()),
            };
            match &mut self.proxy {
                Some(proxy) => proxy.reload(next).map_err(|e| e.to_string())?,
                None if next.listeners.is_empty() => {}
                None => return Err("the first of `listeners` comes with a restart only".into()),
            }
            match (&mut self.pair, prepared) {
                (Some(pair), Some(prepared)) => pair.change(prepared).map_err(|e| e.to_string()),
                _ => Ok(()),
            }
        }
    }

    /// Starts, then heeds signals until the end.
    pub fn run(args: &ProxyArgs, config: &ProxyConfig) -> Result<ExitCode, CliProblem> {
        // Before anything is opened: the descriptors' numbers count.
        let activated = ::proxy::handed_over();
        ::proxy::hold_signals();
        let (log, entries) = mpsc::sync_channel(LOG_ENTRIES);
        let mut config = config.clone();
        let told = log.clone();
        let sink = Box::new(move |entry| drop(told.try_send(entry)));
        let mut both = ProxyAndPair::start(&config, activated, sink, log.clone())?;
        std::thread::spawn(move || entries.iter().for_each(write_entry));
        let (tell, signals) = mpsc::channel();
        std::thread::spawn(move || while tell.send(::proxy::next_signal()).is_ok() {});
        ::proxy::notify("READY=1");
        let mut ends_at: Option<Instant> = None;
        loop {
            match signals.recv_timeout(if ends_at.is_some() { LOOK } else { LOOK * 10 }) {
                Ok(Signal::Reload) if ends_at.is_none() => {
                    ::proxy::notify("RELOADING=1");
                    reload(args, &mut both, &mut config, &log);
                    ::proxy::notify("READY=1");
                }
                Ok(Signal::Reload) => {}
                Ok(Signal::End) if ends_at.is_none() => {
                    ::proxy::notify("STOPPING=1");
                    both.drain();
                    ends_at = Some(Instant::now() + Duration::from_nanos(config.drain_timeout.as_nanos()));
                }
                Ok(Signal::End) => both.stop(),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if ends_at.is_some_and(|at| at <= Instant::now()) {
                both.stop();
            }
            if both.is_finished() {
                let failed = ends_at.is_none();
                drop(both);
                std::thread::sleep(LOOK); // the last entries
                return Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS });
            }
        }
    }

    /// Reads the file anew; what is wrong with it is told, and what runs stays.
    fn reload(
        args: &ProxyArgs,
        both: &mut ProxyAndPair,
        config: &mut ProxyConfig,
        log: &SyncSender<Map<String, Value>>,
    ) {
        let next = read(args).map_err(|problem| match problem {
            CliProblem::Command(CommandError::Scenario(e)) => e.to_string(),
            other => other.to_string().trim_end().to_string(),
        });
        let done = next.and_then(|next| both.reload(&next).map(|()| next));
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
