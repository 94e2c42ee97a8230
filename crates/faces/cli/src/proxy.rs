//! `longfat proxy`: the configuration of flags or a file. The proxy itself is the crate of that name; pairs of proxies are the
//! program `longfat-pair`.

use crate::args::ProxyArgs;
use crate::problem::CliProblem;
#[cfg(target_os = "linux")]
use ::proxy::StatusTable;
use ::proxy::{ConfigError, ProxyConfig};
#[cfg(target_os = "linux")]
use report::{PlainPage, Table};
use std::env;
use std::process::ExitCode;

/// What `longfat-pair` is called, next to `longfat` and in PATH.
const PAIR_PROGRAM: &str = "longfat-pair";

/// Runs a proxy until a signal ends it.
pub fn proxy(args: &ProxyArgs) -> Result<ExitCode, CliProblem> {
    if args.pair.is_any() {
        let typed = env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
        return Err(for_pair("options of a pair", typed).into());
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
    let Some(path) = &args.config else { return proxy_of_flags(args)?.checked() };
    let config = ProxyConfig::read(path)?;
    if config.pair.is_some() {
        let name = path.display().to_string();
        return Err(for_pair("configurations with a [pair]", vec!["--config".into(), name]));
    }
    Ok(config)
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

/// Refuses `what` and prints the command line of `longfat-pair` to type instead.
fn for_pair(what: &str, words: Vec<String>) -> ConfigError {
    if cfg!(not(target_os = "linux")) {
        return ConfigError::Flags("a pair needs Linux".into());
    }
    let found = pair_program();
    let program = found.clone().unwrap_or_else(|| PAIR_PROGRAM.into());
    let line: Vec<&str> = [program.as_str()].into_iter().chain(words.iter().map(String::as_str)).collect();
    let line = shlex::try_join(line).unwrap_or_default();
    let instead = match found {
        Some(_) => "type",
        None => "get it as docs/pair.md says, then type",
    };
    ConfigError::Flags(format!("{what} belong to a program of its own, {PAIR_PROGRAM}: {instead}\n  {line}"))
}

/// How `longfat-pair` can be called: by its name where PATH has it, by its path where it is next to this program.
fn pair_program() -> Option<String> {
    let in_path =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|f| f.join(PAIR_PROGRAM).is_file());
    if in_path {
        return Some(PAIR_PROGRAM.into());
    }
    let next = env::current_exe().ok()?.with_file_name(PAIR_PROGRAM);
    next.is_file().then(|| next.display().to_string())
}

#[cfg(not(target_os = "linux"))]
fn run(_: &ProxyArgs, _: ProxyConfig) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage("the proxy needs Linux: it splices, and sets what Linux's TCP has".into()))
}

#[cfg(target_os = "linux")]
fn run(args: &ProxyArgs, config: ProxyConfig) -> Result<ExitCode, CliProblem> {
    use ::proxy::{ActivatedSockets, Proxy, ProxyError, ServiceLog};
    let start = |config: &ProxyConfig, activated: ActivatedSockets, log: &ServiceLog| {
        let proxy = Proxy::start(config, activated, log.sink())?;
        proxy.show_page(status_page);
        Ok::<Proxy, ProxyError>(proxy)
    };
    let asked = ::proxy::serve(config, || read(args), start);
    let asked = asked.map_err(|e| CliProblem::usage(e.to_string()))?;
    Ok(if asked { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The status page: what the proxy reports of itself.
#[cfg(target_os = "linux")]
fn status_page(about: &str, tables: &[StatusTable]) -> String {
    let mut page = PlainPage::new("longfat proxy", about);
    for of in tables {
        page.heading(of.title);
        page.table(&Table::filled(&of.columns, &of.rows));
    }
    page.html()
}
