//! `longfat-pair`: one end of a pair, and the TCP proxy if the configuration has one. Linux only.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
mod args;

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("error: longfat-pair needs Linux");
    ExitCode::from(2)
}

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    use clap::Parser;
    let args = match args::PairArgs::try_parse() {
        Ok(args) => args,
        // Only an error repeats what was typed, so only an error is escaped.
        Err(e) if !e.use_stderr() => e.exit(),
        Err(e) => {
            eprint!("{}", print::escape::lines(&e.render().to_string()));
            return ExitCode::from(2);
        }
    };
    linux::pair(&args).unwrap_or_else(|problem| {
        eprint!("{}", print::escape::lines(&problem));
        ExitCode::from(2)
    })
}

#[cfg(target_os = "linux")]
mod linux {
    use crate::args::PairArgs;
    use clap::CommandFactory;
    use pair::{Pair, PrivateKey};
    use proxy::{ActivatedSockets, ConfigError, ListenAt, Proxy, ProxyConfig, ProxyService, ServiceLog};
    use proxy::{PairConfig, PairListenerConfig, PairUpstreamConfig, PeerConfig, StatusTable};
    use report::{PlainPage, Table};
    use std::io::{self, ErrorKind, Write};
    use std::path::Path;
    use std::process::ExitCode;

    /// Carries out the command. A problem is returned as complete lines.
    pub fn pair(args: &PairArgs) -> Result<ExitCode, String> {
        if let Some(shell) = args.completions {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut PairArgs::command(), "longfat-pair", &mut text);
            return print(&text);
        }
        if args.man {
            let mut text = Vec::new();
            let done = clap_mangen::Man::new(PairArgs::command()).render(&mut text);
            return done.map_err(|e| failed("the manual page", &e)).and_then(|()| print(&text));
        }
        if let Some(path) = &args.make_key {
            return make_key(path);
        }
        let config = read(args).map_err(|e| e.to_string())?;
        if config.pair.is_none() {
            let text = "the configuration has no [pair]; to run it without one, use `longfat proxy`";
            return Err(ConfigError::Flags(text.into()).to_string());
        }
        if args.check {
            return print(b"the configuration is valid\n");
        }
        let by_signal = proxy::serve(config, || read(args), ProxyAndPair::start);
        let by_signal = by_signal.map_err(|problem| ConfigError::Flags(problem).to_string())?;
        Ok(if by_signal { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn failed(what: &str, e: &io::Error) -> String {
        format!("error: {}: {e}\n", print::escape::value(what))
    }

    /// Writes to standard output. A reader that has gone away (`| head`) is not an error.
    fn print(text: &[u8]) -> Result<ExitCode, String> {
        let mut out = io::stdout().lock();
        match out.write_all(text).and_then(|()| out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(failed("standard output", &e)),
            _ => Ok(ExitCode::SUCCESS),
        }
    }

    /// Writes a new key to a new file, and its public key to standard output.
    fn make_key(path: &Path) -> Result<ExitCode, String> {
        let key = PrivateKey::generate().and_then(|key| key.write(path).map(|()| key));
        let key = key.map_err(|e| failed(&path.display().to_string(), &e))?;
        print(format!("{}\n", key.public()).as_bytes())
    }

    /// The configuration from the file or from the flags.
    fn read(args: &PairArgs) -> Result<ProxyConfig, ConfigError> {
        match &args.config {
            Some(path) => ProxyConfig::read(path),
            None => ProxyConfig::of_pair(pair_of_flags(args)?).checked(),
        }
    }

    fn pair_of_flags(args: &PairArgs) -> Result<PairConfig, ConfigError> {
        let (Some(key), Some(peer_key)) = (&args.key, args.peer_key) else {
            return Err(ConfigError::Flags("--key and --peer-key are required".into()));
        };
        let mut peer = PeerConfig::of(peer_key, args.pair.clone());
        (peer.cc, peer.pace) = (args.pair_cc.clone(), args.pace);
        let mut pair = PairConfig::of(key.clone(), peer);
        pair.listen = args.pair_listen;
        if let Some(listen) = &args.listen {
            let ListenAt::Address(at) = listen else {
                return Err(ConfigError::Flags("--listen: a pair can only listen on an address".into()));
            };
            pair.listeners.insert("main".into(), PairListenerConfig::of(*at));
        }
        if !args.upstream.is_empty() {
            pair.upstreams.insert("main".into(), PairUpstreamConfig::of(args.upstream.clone()));
        }
        Ok(pair)
    }

    /// The status page, with what the proxy reports about itself.
    fn status_page(about: &str, tables: &[StatusTable]) -> String {
        let mut page = PlainPage::new("longfat pair", about);
        for table in tables {
            page.heading(table.title);
            page.table(&Table::filled(&table.columns, &table.rows));
        }
        page.html()
    }

    /// The end of a pair, and the TCP proxy if the configuration has listeners or a status page.
    struct ProxyAndPair {
        proxy: Option<Proxy>,
        pair: Pair,
    }

    impl ProxyAndPair {
        fn start(
            config: &ProxyConfig,
            activated: ActivatedSockets,
            log: &ServiceLog,
        ) -> Result<ProxyAndPair, String> {
            let Some(settings) = &config.pair else { return Err("the configuration has no [pair]".into()) };
            let bound = Pair::bind(settings, log.sink()).map_err(|e| e.to_string())?;
            // Switches to the configured user; no thread may be running before that.
            let proxy = match config.listeners.is_empty() && config.status.is_none() {
                true => proxy::switch_to_configured_user(config).map(|()| None),
                false => Proxy::start(config, activated, log.sink()).map(Some),
            };
            let proxy = proxy.map_err(|e| e.to_string())?;
            let pair = bound.run().map_err(|e| e.to_string())?;
            if let Some(proxy) = &proxy {
                proxy.show(pair.status());
                proxy.show_page(status_page);
            }
            Ok(ProxyAndPair { proxy, pair })
        }
    }

    impl ProxyService for ProxyAndPair {
        fn drain(&mut self) {
            self.proxy.iter().for_each(Proxy::drain);
            self.pair.drain();
        }

        fn stop(&mut self) {
            self.proxy.iter().for_each(Proxy::stop);
            self.pair.stop();
        }

        fn is_finished(&self) -> bool {
            self.proxy.as_ref().is_none_or(Proxy::is_finished) && self.pair.is_finished()
        }

        fn reload(&mut self, next: &ProxyConfig) -> Result<(), String> {
            let Some(config) = &next.pair else {
                return Err("adding or removing `pair` needs a restart".into());
            };
            // First the step that can fail without changing anything.
            let prepared = self.pair.prepare(config).map_err(|e| e.to_string())?;
            match &mut self.proxy {
                Some(proxy) => proxy.reload(next).map_err(|e| e.to_string())?,
                None if next.listeners.is_empty() => {}
                None => return Err("adding the first of `listeners` needs a restart".into()),
            }
            self.pair.change(prepared).map_err(|e| e.to_string())
        }
    }
}
