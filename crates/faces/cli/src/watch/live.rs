//! Live connections, watched until a program has ended, or for a while.

use super::as_diagnose;
use crate::args::{DiagnoseArgs, WatchArgs};
use crate::diagnose::{exit_code, keeping, taken, write};
use crate::escape::{self, tell};
use crate::problem::CliProblem;
use crate::progress::terminal;
use crate::regular::NewFile;
use app::watch::{LiveFilter, LiveOptions, LiveTarget, Watch, Watched, terminate};
use report::Style;
use report::diagnosis::text;
use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The program that is watched, once it was started; both the capture and the command line look at it.
type SharedChild = Arc<Mutex<Option<Child>>>;

/// Watches what the arguments name, and diagnoses it.
pub fn watch(args: &WatchArgs) -> Result<ExitCode, CliProblem> {
    let filter: LiveFilter = match &args.filter {
        None => LiveFilter::default(),
        Some(text) => text.parse().map_err(|e| CliProblem::usage(format!("--filter: {e}")))?,
    };
    let child = SharedChild::default();
    let target = match (args.pid, args.command.is_empty()) {
        (Some(pid), _) => LiveTarget::Process(pid),
        // The program will be a child of this process.
        (None, false) => LiveTarget::Process(std::process::id()),
        (None, true) => LiveTarget::Host,
    };
    let name = match (args.pid, args.command.first()) {
        (Some(pid), _) => format!("process {pid}"),
        (None, Some(program)) => program.to_string_lossy().into_owned(),
        (None, None) => args.interface.clone().unwrap_or_else(|| "this host".into()),
    };
    let as_diagnose = as_diagnose(args);
    let written = created(args.write.as_deref())?;
    let options = LiveOptions {
        target,
        device: args.interface.clone(),
        filter,
        time: args.time.map(|span| Duration::from_nanos(span.as_nanos())),
        ended: ended(&child),
        write: writer(written.as_ref())?,
    };
    let capture = Watch::open(options)?;
    lab::catch_interrupts();
    if !args.command.is_empty() {
        match started(&args.command) {
            Ok(program) => *child.lock().unwrap_or_else(PoisonError::into_inner) = Some(program),
            Err(code) => return Ok(code),
        }
    }
    let code = finish(&as_diagnose, capture, &name, written, !args.command.is_empty())?;
    let program = child.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A program that goes on after --for is waited for, as `time` does.
    let status = program.map(|mut program| program.wait()).transpose();
    let status = status.map_err(|e| CliProblem::io(name, e))?;
    Ok(status.map_or(code, |status| ExitCode::from(code_of(status))))
}

/// `longfat diagnose -i DEVICE`.
pub fn interface(args: &DiagnoseArgs, device: &str) -> Result<ExitCode, CliProblem> {
    let written = created(args.write.as_deref())?;
    let options = LiveOptions {
        target: LiveTarget::Host,
        device: Some(device).filter(|name| *name != "any").map(str::to_string),
        filter: args.filter.live().parse().map_err(CliProblem::usage)?,
        time: args.time.map(|span| Duration::from_nanos(span.as_nanos())),
        ended: ended(&SharedChild::default()),
        write: writer(written.as_ref())?,
    };
    let capture = Watch::open(options)?;
    if let Some(why) = capture.without_packets() {
        return Err(CliProblem::usage(format!(
            "{device}: {why}; longfat watch does without, and says what it cannot tell"
        )));
    }
    lab::catch_interrupts();
    finish(args, capture, device, written, false)
}

/// Watches to the end, prints and writes what was found; to standard error where a program has the output.
fn finish(
    args: &DiagnoseArgs,
    capture: Watch,
    name: &str,
    written: Option<NewFile>,
    wraps: bool,
) -> Result<ExitCode, CliProblem> {
    let out = args.out.as_deref();
    let (kept, recorder) = keeping(args, Path::new(name), out)?;
    let Watched { diagnosis: d, without_packets, write_error, .. } = capture.diagnosed(name, recorder)?;
    let mut files = write(args, out, &d, taken(&kept))?;
    match (written, write_error) {
        (Some(file), None) => {
            let path = args.write.as_deref().unwrap_or(Path::new("-")).display().to_string();
            file.commit().map_err(|e| CliProblem::io(path.clone(), e))?;
            files += &format!("{path}\n");
        }
        (_, Some(why)) => {
            tell!("error: {}: {why}\n", args.write.as_deref().unwrap_or(Path::new("-")).display())
        }
        (None, None) => {}
    }
    if args.json {
        crate::print_json(&diagnosis::diagnosis_json(&d))?;
        tell!("{files}");
    } else {
        let style = if wraps { error_terminal() } else { terminal() };
        let first =
            without_packets.map(|why| print::wrap(&cannot_tell(&why), style.width.max(60), "") + "\n");
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

/// What is said first where there are no packets.
fn cannot_tell(why: &str) -> String {
    format!(
        "By the kernel's counters alone, as {why}: whether packets are lost, where they wait, and which limiter there is cannot be told."
    )
}

/// The terminal of standard error.
fn error_terminal() -> Style {
    if io::stderr().is_terminal() && io::stdout().is_terminal() { terminal() } else { Style::default() }
}

/// Says whether the program has ended, or the user wants an end. A signal to this process alone is passed on to the program.
fn ended(child: &SharedChild) -> Box<dyn FnMut() -> bool + Send> {
    let child = child.clone();
    let mut passed = false;
    Box::new(move || {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(program) = child.as_mut() else { return lab::interrupted().is_some() };
        if lab::interrupted() == Some(TERM) && !std::mem::replace(&mut passed, true) {
            terminate(program.id());
        }
        // What cannot be waited for is gone.
        program.try_wait().map_or(true, |status| status.is_some())
    })
}

/// The number of SIGTERM.
const TERM: i32 = 15;

/// Starts the program; else the exit code that a shell would give.
fn started(command: &[OsString]) -> Result<Child, ExitCode> {
    Command::new(&command[0]).args(&command[1..]).spawn().map_err(|e| {
        tell!("error: {}: {e}\n", command[0].to_string_lossy());
        ExitCode::from(if e.kind() == ErrorKind::NotFound { 127 } else { 126 })
    })
}

/// A program's exit code, or 128 and the signal that ended it.
fn code_of(status: ExitStatus) -> u8 {
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
