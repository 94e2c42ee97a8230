//! `longfat measure`: measures the path to a host that runs `longfat serve`.

use crate::args::MeasureArgs;
use crate::problem::CliProblem;
use std::process::ExitCode;

/// Fails: the tests need Linux.
#[cfg(not(target_os = "linux"))]
pub fn measure(_: &MeasureArgs) -> Result<ExitCode, CliProblem> {
    Err(CliProblem::usage("this needs Linux, whose TCP counters and datagram options it uses".into()))
}

#[cfg(target_os = "linux")]
pub use linux::measure;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use crate::escape::eprint_escaped;
    use crate::progress::terminal;
    use app::measure::{MeasureOptions, Measured, check, host_and_port, parse, read_token, text};
    use app::output::write_file;
    use std::io::{self, IsTerminal};

    /// Runs the tests, prints the measurement and writes its files.
    pub fn measure(args: &MeasureArgs) -> Result<ExitCode, CliProblem> {
        let (host, port) = host_and_port(&args.host)?;
        let expected: Vec<_> = args.expect.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
        let options = MeasureOptions {
            host,
            port,
            token: args.token_file.as_deref().map(read_token).transpose()?,
            quick: args.quick,
            cures: !args.no_cures,
        };
        lab::catch_interrupts();
        let shows = !args.no_progress && io::stderr().is_terminal();
        let mut step = |name: &str| {
            if shows {
                eprint_escaped!("{name} ...\n");
            }
        };
        let measured = app::measure::measure(&options, &mut step, &mut || lab::interrupted().is_some());
        let Measured { measurement, upload_pcap } =
            measured.map_err(|e| CliProblem::usage(format!("{}: {e}", args.host)))?;
        if let Some(signal) = lab::interrupted() {
            return Ok(ExitCode::from(128 + signal as u8));
        }
        let mut files = String::new();
        if let Some(dir) = &args.out {
            let json = write_file(&dir.join("measure.json"), measurement.json().as_bytes())?;
            files += &format!("{}\n", json.display());
            if !upload_pcap.is_empty() {
                files += &format!("{}\n", write_file(&dir.join("upload.pcap"), &upload_pcap)?.display());
            }
        }
        let (lines, met) = check(&expected, &measurement);
        if args.json {
            crate::print_json(&measurement.json())?;
            eprint_escaped!("{lines}{files}");
        } else {
            let blank = if lines.is_empty() && files.is_empty() { "" } else { "\n" };
            crate::print(&format!("{}{blank}{lines}{files}", text(&measurement, terminal().width)))?;
        }
        Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}
