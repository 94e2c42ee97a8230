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
    use app::measure::{
        DEFAULT_PORT, IPERF3_PORT, MEASUREMENT_FILE, MeasureExpectation, MeasureOptions, MeasureSchedule,
        Measured, MeasurementSeries, SeriesRun, ViaHost, hold, host_and_port, line, measure_again,
        measure_via, page, read, read_token, text, ticket,
    };
    use app::output::write_file;
    use std::io::{self, IsTerminal};
    use std::path::{Path, PathBuf};

    /// Runs the tests, prints the measurement and writes its files.
    pub fn measure(args: &MeasureArgs) -> Result<ExitCode, CliProblem> {
        let default = if args.iperf3 { IPERF3_PORT } else { DEFAULT_PORT };
        let expected = read(&args.expect)?;
        let (host, port) = match &args.host {
            Some(host) => host_and_port(host, default)?,
            None => (String::new(), default),
        };
        let options = MeasureOptions {
            host,
            port,
            token: args.token_file.as_deref().map(read_token).transpose()?,
            quick: args.quick,
            cures: !args.no_cures,
            iperf3: args.iperf3,
            lang: args.lang.into(),
        };
        lab::catch_interrupts();
        let is_series = args.every.is_some() || args.repeat.is_some_and(|n| n > 1);
        let shows = !args.no_progress && io::stderr().is_terminal();
        let mut step = |name: &str| {
            if shows {
                eprint_escaped!("{name} ...\n");
            }
        };
        if !args.via.is_empty() {
            return via(args, &options, &expected, &mut step);
        }
        let done = match is_series {
            true => several(args, &options, &mut step)?,
            false => one(args, &options, &mut step)?,
        };
        let Some(Finished { mut series, mut files, is_single }) = done else {
            return Ok(by_signal());
        };
        let expectations = hold(&expected, &series.measurements().collect::<Vec<_>>());
        let lines = app::expect::lines(&expectations);
        let met = expectations.iter().all(|e| e.met);
        let single = series.runs.first_mut().and_then(|run| run.measurement.as_mut()).filter(|_| is_single);
        let (json, shown) = match single {
            Some(m) => {
                m.expectations = expectations;
                (m.json(), text(m, terminal().width))
            }
            None => {
                series.expectations = expectations;
                (series.json(), series.text(terminal().width, args.every.is_some()))
            }
        };
        if let Some(dir) = &args.out {
            let mut written = vec![write_file(&dir.join(MEASUREMENT_FILE), json.as_bytes())?];
            written.append(&mut files);
            files = written;
        }
        if let Some(file) = &args.report {
            files.push(write_file(file, page(&series).as_bytes())?);
        }
        if let Some(file) = &args.ticket {
            files.push(write_file(file, ticket(&series, args.addresses).as_bytes())?);
        }
        let files: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
        if args.json {
            crate::print_json(&json)?;
            eprint_escaped!("{lines}{files}");
        } else {
            let blank = if lines.is_empty() && files.is_empty() { "" } else { "\n" };
            crate::print(&format!("{shown}{blank}{lines}{files}"))?;
        }
        Ok(match (series.measurements().next().is_some(), met) {
            (false, _) => ExitCode::from(2),
            (true, true) => ExitCode::SUCCESS,
            (true, false) => ExitCode::from(1),
        })
    }

    /// Measures a path and its segments, prints the outcome and writes it.
    fn via(
        args: &MeasureArgs,
        options: &MeasureOptions,
        expected: &[MeasureExpectation],
        step: &mut dyn FnMut(&str),
    ) -> Result<ExitCode, CliProblem> {
        let host = |text: &String| {
            let (host, port) = host_and_port(text, DEFAULT_PORT)?;
            Ok(ViaHost { name: text.clone(), host, port })
        };
        let hosts: Vec<ViaHost> = args.via.iter().map(host).collect::<Result<_, CliProblem>>()?;
        let measured = measure_via(&hosts, options, step, &mut || lab::interrupted().is_some());
        let last = hosts.last().map(|host| host.name.clone()).unwrap_or_default();
        let mut measured = measured.map_err(|e| CliProblem::usage(format!("{last}: {e}")))?;
        if lab::interrupted().is_some() {
            return Ok(by_signal());
        }
        let expectations = hold(expected, &[&measured.end_to_end]);
        let lines = app::expect::lines(&expectations);
        let met = expectations.iter().all(|e| e.met);
        measured.end_to_end.expectations = expectations;
        let json = measured.json();
        let file = args.out.as_ref().map(|dir| write_file(&dir.join(MEASUREMENT_FILE), json.as_bytes()));
        let file = file.transpose()?.map_or(String::new(), |file| format!("{}\n", file.display()));
        match args.json {
            true => {
                crate::print_json(&json)?;
                eprint_escaped!("{lines}{file}");
            }
            false => {
                let blank = if lines.is_empty() && file.is_empty() { "" } else { "\n" };
                crate::print(&format!("{}{blank}{lines}{file}", measured.text(terminal().width)))?;
            }
        }
        Ok(if met { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// The exit code after a signal.
    fn by_signal() -> ExitCode {
        ExitCode::from(128 + lab::interrupted().unwrap_or_default() as u8)
    }

    /// A finished series, and the files that were written with it.
    struct Finished {
        series: MeasurementSeries,
        files: Vec<PathBuf>,
        is_single: bool,
    }

    /// Measures once; `None` if it was interrupted.
    fn one(
        args: &MeasureArgs,
        options: &MeasureOptions,
        step: &mut dyn FnMut(&str),
    ) -> Result<Option<Finished>, CliProblem> {
        let measured = app::measure::measure(options, step, &mut || lab::interrupted().is_some());
        let Measured { measurement, upload_pcap } = measured
            .map_err(|e| CliProblem::usage(format!("{}: {e}", args.host.as_deref().unwrap_or_default())))?;
        if lab::interrupted().is_some() {
            return Ok(None);
        }
        let pcap = args.out.as_ref().filter(|_| !upload_pcap.is_empty()).map(|dir| dir.join("upload.pcap"));
        let files = pcap.map(|file| write_file(&file, &upload_pcap)).transpose()?;
        let files = files.into_iter().collect();
        Ok(Some(Finished { series: measurement.into(), files, is_single: true }))
    }

    /// Measures several times, and writes what there is after each; `None` if it was interrupted before the
    /// first one had ended.
    fn several(
        args: &MeasureArgs,
        options: &MeasureOptions,
        step: &mut dyn FnMut(&str),
    ) -> Result<Option<Finished>, CliProblem> {
        let schedule = MeasureSchedule {
            repeat: args.repeat,
            every: args.every.map(crate::duration),
            time: args.time.map(crate::duration),
        };
        let (mut runs, mut files) = (Vec::new(), Vec::new());
        let mut done = |run: SeriesRun| -> Result<(), CliProblem> {
            let shown = line(&run, args.lang.into());
            match args.every.is_some() && !args.json {
                true => crate::print(&shown)?,
                false => eprint_escaped!("{shown}"),
            }
            runs.push(run);
            if let Some(dir) = &args.out {
                let series = MeasurementSeries::of(runs.clone()).in_language(args.lang.into());
                files = write_series(dir, &series)?;
            }
            Ok(())
        };
        measure_again(options, &schedule, step, &mut || lab::interrupted().is_some(), &mut done)?;
        if runs.is_empty() {
            return Ok(None);
        }
        if args.every.is_some() && !args.json {
            crate::print("\n")?;
        }
        let series = MeasurementSeries::of(runs).in_language(args.lang.into());
        Ok(Some(Finished { series, files, is_single: false }))
    }

    /// Writes a series so far. Returns the files besides measurement.json.
    fn write_series(dir: &Path, series: &MeasurementSeries) -> Result<Vec<PathBuf>, CliProblem> {
        write_file(&dir.join(MEASUREMENT_FILE), series.json().as_bytes())?;
        let table = dir.join("series.parquet");
        let bytes = series.parquet().map_err(|e| CliProblem::io(table.display().to_string(), e))?;
        Ok(vec![write_file(&table, &bytes)?])
    }
}
