//! `--qlog` without a capture.

use super::{KeptPackets, finish};
use crate::args::DiagnoseArgs;
use crate::problem::CliProblem;
use report::diagnosis::Rows;
use std::process::ExitCode;

/// Tells of what endpoints wrote down of themselves.
pub fn alone(args: &DiagnoseArgs) -> Result<ExitCode, CliProblem> {
    for (given, option) in [
        (!args.filter.host.is_empty(), "--host"),
        (!args.filter.port.is_empty(), "--port"),
        (args.filter.from.is_some(), "--from"),
        (args.filter.to.is_some(), "--to"),
    ] {
        if given {
            return Err(CliProblem::usage(format!("{option} is about a capture; --qlog alone has none")));
        }
    }
    let d = app::qlog::alone(&args.qlog)?;
    // Of packets there is what the endpoint says of them: its congestion window, not the rows of a capture.
    let rows = args.report.is_some().then(|| Rows::new(0, &[], 0));
    finish(args, d, KeptPackets { rows, ..KeptPackets::default() }, &[])
}
