//! The far end, which also measures the paths to other servers where its user permits it.

use super::run::{MeasureOptions, measure};
use ::measure::server::{ServeOptions, ServerEvent};
use report::Lang;

/// Serves until the time is over or `ended` returns true, which is called at least five times a second.
///
/// # Errors
/// Fails when the address cannot be listened at.
pub fn serve(
    options: &ServeOptions,
    ended: &mut dyn FnMut() -> bool,
    log: &(dyn Fn(ServerEvent) + Sync),
) -> std::io::Result<()> {
    let onward = |host: &str, port: u16, interrupted: &mut dyn FnMut() -> bool| {
        let options = MeasureOptions {
            host: host.into(),
            port,
            token: options.token.clone(),
            quick: true,
            cures: false,
            iperf3: false,
            lang: Lang::En,
        };
        let measured = measure(&options, &mut |_| (), interrupted).map_err(|e| e.to_string())?;
        Ok(measured.measurement.json())
    };
    ::measure::server::serve(options, &onward, ended, log)
}
