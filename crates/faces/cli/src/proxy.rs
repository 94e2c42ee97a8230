//! `longfat proxy`: configuration, signals, log. The proxy itself is the crate of that name.

use crate::args::ProxyArgs;
use crate::problem::CliProblem;
use ::proxy::{
    ConfigError, ListenAt, PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig, ProxyConfig,
};
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
    run(args, config)
}

/// The configuration of file or flags.
fn read(args: &ProxyArgs) -> Result<ProxyConfig, ConfigError> {
    if let Some(path) = &args.config {
        return ProxyConfig::read(path);
    }
    match pair_of_flags(args)? {
        Some(pair) => ProxyConfig::of_pair(pair).checked(),
        None => proxy_of_flags(args)?.checked(),
    }
}

/// One end of a pair, where the flags are about one.
fn pair_of_flags(args: &ProxyArgs) -> Result<Option<PairConfig>, ConfigError> {
    if args.pair.is_none() && args.pair_listen.is_none() {
        return Ok(None);
    }
    let (Some(key), Some(peer_key)) = (&args.key, args.peer_key) else {
        return Err(ConfigError::Flags("--key and --peer-key are wanted".into()));
    };
    let mut peer = PeerConfig::of(peer_key, args.pair.clone());
    (peer.cc, peer.pace) = (args.pair_cc.clone(), args.pace);
    let mut pair = PairConfig::of(key.clone(), peer);
    pair.listen = args.pair_listen;
    if let Some(listen) = &args.listen {
        let ListenAt::Address(at) = listen else {
            return Err(ConfigError::Flags("--listen: a pair listens on addresses only".into()));
        };
        pair.listeners.insert("main".into(), PairListenerConfig::of(*at));
    }
    if !args.upstream.is_empty() {
        pair.upstreams.insert("main".into(), PairUpstreamConfig::of(args.upstream.clone()));
    }
    Ok(Some(pair))
}

/// The TCP proxy of the flags.
fn proxy_of_flags(args: &ProxyArgs) -> Result<ProxyConfig, ConfigError> {
    let (Some(listen), Some(first)) = (&args.listen, args.upstream.first()) else {
        return Err(ConfigError::Flags("--listen and --upstream, or --config, are wanted".into()));
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
fn run(_: &ProxyArgs, _: ProxyConfig) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage("the proxy needs Linux: it splices, and sets what Linux's TCP has".into()))
}

#[cfg(target_os = "linux")]
use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use ::proxy::{ActivatedSockets, Proxy, ProxyService, ServiceLog};
    use pair::Pair;

    /// The TCP proxy, where there are listeners, and the end of a pair, where there is one.
    struct ProxyAndPair {
        proxy: Option<Proxy>,
        pair: Option<Pair>,
    }

    impl ProxyAndPair {
        fn start(
            config: &ProxyConfig,
            activated: ActivatedSockets,
            log: &ServiceLog,
        ) -> Result<ProxyAndPair, CliProblem> {
            let usage = |e: &dyn std::fmt::Display| CliProblem::usage(e.to_string());
            let bound = match &config.pair {
                Some(pair) => Some(Pair::bind(pair, log.sink()).map_err(|e| usage(&e))?),
                None => None,
            };
            // Becomes the configuration's user: before that no thread may run.
            let proxy = match config.listeners.is_empty() && config.status.is_none() {
                true => ::proxy::become_configured(config).map(|()| None),
                false => Proxy::start(config, activated, log.sink()).map(Some),
            };
            let proxy = proxy.map_err(|e| usage(&e))?;
            let pair = bound.map(|bound| bound.run().map_err(|e| usage(&e))).transpose()?;
            if let (Some(proxy), Some(pair)) = (&proxy, &pair) {
                proxy.show(pair.board());
            }
            Ok(ProxyAndPair { proxy, pair })
        }
    }

    impl ProxyService for ProxyAndPair {
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

    /// Runs until a signal ends it.
    pub fn run(args: &ProxyArgs, config: ProxyConfig) -> Result<ExitCode, CliProblem> {
        let asked = ::proxy::serve(config, || read(args), ProxyAndPair::start)?;
        Ok(if asked { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
