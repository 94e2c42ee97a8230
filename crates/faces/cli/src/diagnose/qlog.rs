//! Diagnoses QUIC logs (`--qlog`) without a capture.

use super::{KeptPackets, finish};
use crate::args::DiagnoseArgs;
use crate::problem::CliProblem;
use report::diagnosis::Rows;
use std::process::ExitCode;

/// Diagnoses the logs alone.
pub fn alone(args: &DiagnoseArgs) -> Result<ExitCode, CliProblem> {
    for (given, option) in [
        (!args.filter.host.is_empty(), "--host"),
        (!args.filter.port.is_empty(), "--port"),
        (args.filter.from.is_some(), "--from"),
        (args.filter.to.is_some(), "--to"),
    ] {
        if given {
            return Err(CliProblem::usage(format!("{option} needs a capture; --qlog alone has none")));
        }
    }
    let d = app::qlog::alone(&args.qlog)?;
    // A log has the endpoint's own values, such as its congestion window, but no packet rows of a capture.
    let rows = args.report.is_some().then(|| Rows::new(0, &[], 0));
    finish(args, d, KeptPackets { rows, ..KeptPackets::default() }, &[])
}
