//! Watches live connections until a program has ended or a time has passed, and diagnoses them.

use super::as_diagnose;
use super::output::{LiveOutput, live_mode};
use crate::args::{DiagnoseArgs, LiveArg, WatchArgs};
use crate::diagnose::{exit_code, keeping, taken, write};
use crate::escape::{self, eprint_escaped};
use crate::problem::CliProblem;
use crate::progress::terminal;
use crate::regular::NewFile;
use app::watch::{
    Exporter, LiveFilter, LiveOptions, LiveTarget, NoPackets, Watch, Watched, terminate, why_without_packets,
};
use report::diagnosis::text;
use report::{Lang, Style, say};
use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The watched program once it has been started; shared by the capture and the command.
pub type SharedChild = Arc<Mutex<Option<Child>>>;

/// Watches and diagnoses the program, process or device that the arguments name.
pub fn watch(args: &WatchArgs) -> Result<ExitCode, CliProblem> {
    let filter: LiveFilter = match &args.filter {
        None => LiveFilter::default(),
        Some(text) => text.parse().map_err(|e| CliProblem::usage(format!("--filter: {e}")))?,
    };
    let (child, lang) = (SharedChild::default(), args.lang.into());
    let target = match (args.pid, &args.container, args.command.is_empty()) {
        (Some(pid), _, _) => LiveTarget::Process(pid),
        (_, Some(name), _) => container(name)?,
        // The program will be a child of this process.
        (None, None, false) => LiveTarget::Process(std::process::id()),
        (None, None, true) => LiveTarget::Host,
    };
    let name = match (args.pid, args.command.first()) {
        (Some(pid), _) => say(lang, "watch.process", &[("pid", &pid.to_string())]),
        (None, Some(program)) => program.to_string_lossy().into_owned(),
        (None, None) => {
            args.container.clone().or(args.interface.clone()).unwrap_or_else(|| say(lang, "watch.host", &[]))
        }
    };
    let time = args.time.map(crate::duration);
    if let Some(address) = args.prometheus {
        let ended = ended(&child, Arc::default());
        let options = LiveOptions {
            target,
            device: None,
            filter,
            time,
            ended,
            write: None,
            report: None,
            top: None,
            keep: false,
        };
        return export(address, options);
    }
    let as_diagnose = as_diagnose(args);
    let mode = live_mode(args)?;
    let written = created(args.write.as_deref())?;
    let (mut output, report) = LiveOutput::new(mode, &name, lang);
    let write = match mode {
        LiveArg::View if written.is_none() => Some(Box::new(output.recording()) as Box<dyn Write + Send>),
        _ => writer(written.as_ref())?,
    };
    let top = match mode {
        LiveArg::Lines => Some(1),
        LiveArg::Json => Some(args.top),
        LiveArg::Off | LiveArg::View => None,
    };
    let options = LiveOptions {
        target,
        device: args.interface.clone(),
        filter,
        time,
        ended: ended(&child, output.stop()),
        write,
        report,
        top,
        keep: true,
    };
    let capture = Watch::open(options)?;
    if capture.without_packets().is_some() {
        output.recording().without_packets();
    }
    lab::catch_interrupts();
    output.start();
    if !args.command.is_empty() {
        match started(&args.command) {
            Ok(program) => *child.lock().unwrap_or_else(PoisonError::into_inner) = Some(program),
            Err(code) => {
                drop(capture);
                output.finish();
                return Ok(code);
            }
        }
    }
    // The program, or the live output, uses standard output.
    let wraps = !args.command.is_empty() || mode == LiveArg::Json;
    let code = finish(&as_diagnose, capture, &name, written, (wraps, output))?;
    let program = child.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A program that continues after --for is waited for, as `time` does.
    let status = program.map(|mut program| program.wait()).transpose();
    let status = status.map_err(|e| CliProblem::io(name, e))?;
    Ok(status.map_or(code, |status| ExitCode::from(code_of(status))))
}

/// Finds what to watch of a container: its network namespace, or its first process and the descendants of
/// that if it has the host's network.
fn container(name: &str) -> Result<LiveTarget, CliProblem> {
    let found = audit::find_container(name).map_err(|e| CliProblem::usage(format!("--container {e}")))?;
    Ok(match found.shares_network {
        true => LiveTarget::Process(found.pid),
        false => LiveTarget::Namespace(found.pid),
    })
}

/// Serves metrics until the user interrupts, or the time or what is watched has ended.
fn export(address: SocketAddr, options: LiveOptions) -> Result<ExitCode, CliProblem> {
    let exporter = Exporter::open(address, options)?;
    let address = exporter.address().map_err(|e| CliProblem::io(format!("--prometheus {address}"), e))?;
    lab::catch_interrupts();
    eprint_escaped!("metrics: http://{address}/metrics\n");
    exporter.run()?;
    Ok(ExitCode::SUCCESS)
}

/// `longfat diagnose -i DEVICE`.
pub fn interface(args: &DiagnoseArgs, device: &str) -> Result<ExitCode, CliProblem> {
    let written = created(args.write.as_deref())?;
    let options = LiveOptions {
        target: LiveTarget::Host,
        device: Some(device).filter(|name| *name != "any").map(str::to_string),
        filter: args.filter.live().parse().map_err(CliProblem::usage)?,
        time: args.time.map(crate::duration),
        ended: ended(&SharedChild::default(), Arc::default()),
        write: writer(written.as_ref())?,
        report: None,
        top: None,
        keep: true,
    };
    let capture = Watch::open(options)?;
    if let Some(why) = capture.without_packets() {
        let why = why_without_packets(&why, Lang::En);
        return Err(CliProblem::usage(format!(
            "{device}: {why}; `longfat watch` also works without packets, but knows less then"
        )));
    }
    lab::catch_interrupts();
    finish(args, capture, device, written, (false, LiveOutput::default()))
}

/// Watches to the end, then prints the diagnosis and writes its files. With `wraps` standard output is in
/// use, so the text goes to standard error. The live output ends before.
fn finish(
    args: &DiagnoseArgs,
    capture: Watch,
    name: &str,
    written: Option<NewFile>,
    (wraps, output): (bool, LiveOutput),
) -> Result<ExitCode, CliProblem> {
    let out = args.out.as_deref();
    let (kept, recorder) = keeping(args, Path::new(name), out)?;
    let watched = capture.diagnosed(name, recorder);
    output.finish();
    let Watched { diagnosis: d, without_packets, write_error, .. } = watched?;
    let mut files = write(args, out, &d, taken(&kept))?;
    match (written, write_error) {
        (Some(file), None) => {
            let path = args.write.as_deref().unwrap_or(Path::new("-")).display().to_string();
            file.commit().map_err(|e| CliProblem::io(path.clone(), e))?;
            files += &format!("{path}\n");
        }
        (_, Some(why)) => {
            eprint_escaped!("error: {}: {why}\n", args.write.as_deref().unwrap_or(Path::new("-")).display())
        }
        (None, None) => {}
    }
    if args.json {
        crate::print_json(&diagnosis::diagnosis_json(&d))?;
        eprint_escaped!("{files}");
    } else {
        let style = if wraps { error_terminal() } else { terminal() };
        let first = without_packets
            .map(|why| print::wrap(&cannot_tell(&why, args.lang.into()), style.width.max(60), "") + "\n");
        let blank = if files.is_empty() { "" } else { "\n" };
        let text = format!(
            "{}{}{blank}{files}",
            first.unwrap_or_default(),
            text(&d, args.top, style, args.lang.into())
        );
        if wraps {
            eprint!("{}", escape::colored(&text));
        } else {
            crate::print(&text)?;
        }
    }
    Ok(ExitCode::from(exit_code(&d)))
}

/// Formats the first sentence of a diagnosis without packets.
fn cannot_tell(why: &NoPackets, lang: Lang) -> String {
    say(lang, "watch.counters-only", &[("why", &why_without_packets(why, lang))])
}

/// Returns the style of standard error.
fn error_terminal() -> Style {
    if io::stderr().is_terminal() && io::stdout().is_terminal() { terminal() } else { Style::default() }
}

/// Returns a function that says whether the program has ended or the user interrupted, or `stop` is set.
/// SIGTERM to this process is passed on to the program.
pub fn ended(child: &SharedChild, stop: Arc<AtomicBool>) -> Box<dyn FnMut() -> bool + Send> {
    let child = child.clone();
    let mut passed = false;
    Box::new(move || {
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(program) = child.as_mut() else { return lab::interrupted().is_some() };
        if lab::interrupted() == Some(TERM) && !std::mem::replace(&mut passed, true) {
            terminate(program.id());
        }
        // A program that cannot be waited for has ended.
        program.try_wait().map_or(true, |status| status.is_some())
    })
}

/// The number of SIGTERM.
const TERM: i32 = 15;

/// Starts the program; on failure returns the exit code that a shell would.
pub fn started(command: &[OsString]) -> Result<Child, ExitCode> {
    Command::new(&command[0]).args(&command[1..]).spawn().map_err(|e| {
        eprint_escaped!("error: {}: {e}\n", command[0].to_string_lossy());
        ExitCode::from(if e.kind() == ErrorKind::NotFound { 127 } else { 126 })
    })
}

/// Returns a program's exit code, or 128 + the number of the signal that ended it.
pub fn code_of(status: ExitStatus) -> u8 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1) as u8
}

fn created(path: Option<&Path>) -> Result<Option<NewFile>, CliProblem> {
    let create =
        |path: &Path| NewFile::create(path).map_err(|e| CliProblem::io(path.display().to_string(), e));
    path.map(create).transpose()
}

fn writer(file: Option<&NewFile>) -> Result<Option<Box<dyn Write + Send>>, CliProblem> {
    let open =
        |file: &NewFile| -> io::Result<Box<dyn Write + Send>> { Ok(Box::new(BufWriter::new(file.file()?))) };
    file.map(open).transpose().map_err(|e| CliProblem::io("--write".into(), e))
}
