//! `longfat serve`: the far end of `longfat measure`.

use crate::args::ServeArgs;
use crate::problem::CliProblem;
use std::process::ExitCode;

/// Fails: the server needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn serve(_: &ServeArgs) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage("this needs Linux, whose TCP counters and datagram options it uses".into()))
}

#[cfg(target_os = "linux")]
pub use linux::serve;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::escape::eprint_escaped;
    use app::measure::{DEFAULT_PORT, ServeOptions, ServerEvent, SessionLimits, host_and_port, read_token};
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

    /// Serves until a signal or --for ends it.
    pub fn serve(args: &ServeArgs) -> Result<ExitCode, CliProblem> {
        let token = args.token_file.as_deref().map(read_token).transpose()?;
        let onward: Result<Vec<_>, _> =
            args.onward.iter().map(|host| host_and_port(host, DEFAULT_PORT)).collect();
        let onward = onward?;
        let limits = SessionLimits {
            rate: args.max_rate.map(|rate| rate.as_bps()),
            seconds: args.max_time.as_secs_f64().clamp(1.0, f64::from(u32::MAX)) as u32,
            bytes: args.max_bytes.get(),
        };
        let options = |listen| ServeOptions {
            listen,
            token: token.clone(),
            max_clients: args.max_clients,
            max_per_address: args.max_per_address,
            limits,
            time: args.time.map(crate::duration),
            onward: onward.clone(),
        };
        lab::catch_interrupts();
        let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, DEFAULT_PORT));
        let serve = |listen| {
            app::measure::serve(&options(listen), &mut || lab::interrupted().is_some(), &log).map(|()| listen)
        };
        let served = match args.listen {
            Some(listen) => serve(listen).map_err(|e| (listen, e)),
            // A host without IPv6.
            None => serve(everywhere)
                .or_else(|_| serve(SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT))))
                .map_err(|e| (everywhere, e)),
        };
        match served {
            Ok(_) => Ok(ExitCode::SUCCESS),
            Err((listen, e)) => Err(CliProblem::io(format!("--listen {listen}"), e)),
        }
    }

    fn log(event: ServerEvent) {
        match event {
            ServerEvent::Listening(at) => eprint_escaped!("listening at {at}, TCP and UDP\n"),
            ServerEvent::Begun { client } => eprint_escaped!("{client}: tests begin\n"),
            ServerEvent::Ended { client, bytes } => {
                eprint_escaped!("{client}: tests have ended, {:.1} MB\n", bytes as f64 / 1e6)
            }
            ServerEvent::Refused { client, why } => eprint_escaped!("{client}: refused: {why}\n"),
        }
    }
}
