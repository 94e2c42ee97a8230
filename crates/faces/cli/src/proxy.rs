//! `longfat proxy`: reads the configuration from options or a file. The crate `proxy` implements the proxy;
//! pairs of proxies are the program `longfat-pair`.

use crate::args::ProxyArgs;
use crate::problem::CliProblem;
#[cfg(target_os = "linux")]
use ::proxy::StatusTable;
use ::proxy::{ConfigError, ProxyConfig};
#[cfg(target_os = "linux")]
use report::{PlainPage, Table};
use std::env;
use std::process::ExitCode;

/// File name of the program for pairs, next to `longfat` or in PATH.
const PAIR_PROGRAM: &str = "longfat-pair";

/// Runs a proxy until a signal ends it.
pub fn proxy(args: &ProxyArgs) -> Result<ExitCode, CliProblem> {
    if args.pair.is_any() {
        let typed = env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
        return Err(for_pair("these options", typed).into());
    }
    let config = read(args)?;
    if args.check {
        crate::print("the configuration is valid\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    run(args, config)
}

/// Returns the configuration of the file or the options.
fn read(args: &ProxyArgs) -> Result<ProxyConfig, ConfigError> {
    let Some(path) = &args.config else { return config_of_options(args)?.checked() };
    let config = ProxyConfig::read(path)?;
    if config.pair.is_some() {
        let name = path.display().to_string();
        return Err(for_pair("configurations with a [pair] table", vec!["--config".into(), name]));
    }
    Ok(config)
}

/// Returns the configuration that the options describe.
fn config_of_options(args: &ProxyArgs) -> Result<ProxyConfig, ConfigError> {
    let (Some(listen), Some(first)) = (&args.listen, args.upstream.first()) else {
        return Err(ConfigError::Flags("give --listen and --upstream, or --config".into()));
    };
    let mut listener = ::proxy::ListenerConfig::of(listen.clone(), "main");
    let mut upstream = ::proxy::UpstreamConfig::of(first.clone());
    upstream.servers.0 = args.upstream.clone();
    (listener.client.cc, upstream.server.cc) = (args.client_cc.clone(), args.upstream_cc.clone());
    (listener.client.pace, upstream.server.pace) = (args.pace, args.pace);
    Ok(ProxyConfig { status: args.status, ..ProxyConfig::of(listener, upstream) })
}

/// Returns the error that refuses `what` and shows the command line of `longfat-pair` instead.
fn for_pair(what: &str, words: Vec<String>) -> ConfigError {
    if cfg!(not(target_os = "linux")) {
        return ConfigError::Flags("a pair needs Linux".into());
    }
    let found = pair_program();
    let program = found.clone().unwrap_or_else(|| PAIR_PROGRAM.into());
    let line: Vec<&str> = [program.as_str()].into_iter().chain(words.iter().map(String::as_str)).collect();
    let line = shlex::try_join(line).unwrap_or_default();
    let instead = match found {
        Some(_) => "run",
        None => "install it (docs/pair.md), then run",
    };
    ConfigError::Flags(format!("{what} belong to another program, {PAIR_PROGRAM}: {instead}\n  {line}"))
}

/// Returns how to call `longfat-pair`: by name if it is in PATH, by path if it is next to this program.
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
    Err(CliProblem::usage("the proxy needs Linux: it uses splice and Linux's TCP options".into()))
}

#[cfg(target_os = "linux")]
fn run(args: &ProxyArgs, config: ProxyConfig) -> Result<ExitCode, CliProblem> {
    use ::proxy::{ActivatedSockets, Proxy, ProxyError, ServiceLog};
    let start = |config: &ProxyConfig, activated: ActivatedSockets, log: &ServiceLog| {
        let proxy = Proxy::start(config, activated, log.sink())?;
        proxy.show_page(status_page);
        Ok::<Proxy, ProxyError>(proxy)
    };
    let ended_by_signal = ::proxy::serve(config, || read(args), start);
    let ended_by_signal = ended_by_signal.map_err(|e| CliProblem::usage(e.to_string()))?;
    Ok(if ended_by_signal { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Formats the proxy's status page as HTML.
#[cfg(target_os = "linux")]
fn status_page(about: &str, tables: &[StatusTable]) -> String {
    let mut page = PlainPage::new("longfat proxy", about);
    for table in tables {
        page.heading(table.title);
        page.table(&Table::filled(&table.columns, &table.rows));
    }
    page.html()
}
