//! Attaches paths until a program has ended, a time has passed or the user interrupts.

use super::jobs::{Job, jobs};
use super::output::{attached_line, proof_line, status_line, summary, to_json};
use crate::args::{AttachArgs, AttachWatcherArgs};
use crate::escape::eprint_escaped;
use crate::problem::CliProblem;
use crate::watch::{SharedChild, code_of, ended, started};
use lab::{
    AttachEnd, AttachError, AttachEvent, AttachMethod, AttachOptions, AttachStatus, DirectionProof,
    attach as attach_path, watch_attached,
};
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often the program, the time and the user's interrupt are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Attaches the paths that the arguments describe to their targets.
pub fn attach(args: &AttachArgs) -> Result<ExitCode, CliProblem> {
    let jobs = jobs(args)?;
    let count = jobs.len();
    lab::catch_interrupts();
    let child = SharedChild::default();
    let (done, failed) = run_all(args, jobs, &child);
    let unproven = done.iter().any(|d| matches!(d, Err(AttachFailure::Unproven)));
    let done: Vec<Outcome> = done.into_iter().filter_map(reported).collect::<Result<_, _>>()?;
    if unproven {
        return Ok(ExitCode::FAILURE);
    }
    let all: Vec<&Value> = done.iter().filter_map(|o| o.json.as_ref()).collect();
    if let Some(first) = all.first().filter(|_| args.json) {
        let json = if count == 1 { (*first).clone() } else { json!({ "attached": all }) };
        crate::print_json(&(json.to_string() + "\n"))?;
    }
    if let Some(code) = failed {
        return Ok(code);
    }
    let gone = done.iter().any(|o| o.end == AttachEnd::TargetGone);
    let program = child.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A program that continues after --for is waited for, as `watch` does.
    let status = program.map(|mut program| program.wait()).transpose();
    let status = status.map_err(|e| CliProblem::io(args.command[0].to_string_lossy().into_owned(), e))?;
    Ok(status.map_or(ExitCode::from(u8::from(gone)), |status| ExitCode::from(code_of(status))))
}

/// Attaches each path on a thread of its own; the next one begins when the one before is attached, so that
/// self-tests do not disturb each other. Starts the program when all are attached, and ends them when it has
/// ended. Returns the outcomes, and the exit code if the program could not be started.
fn run_all(
    args: &AttachArgs,
    jobs: Vec<Job>,
    child: &SharedChild,
) -> (Vec<Result<Outcome, AttachFailure>>, Option<ExitCode>) {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut waiting = jobs.into_iter();
        let mut begin = || {
            let Some(job) = waiting.next() else { return false };
            let (sender, stop) = (sender.clone(), &stop);
            scope.spawn(move || {
                let done = run(args, job, &sender, stop);
                // The receiver outlives this thread.
                let _ = sender.send(Progress::Done(done));
            });
            true
        };
        let limit = args.time.map(crate::duration);
        let mut program_ended = ended(child, Arc::default());
        let (mut began, mut failed, mut done) = (None::<Instant>, None, Vec::new());
        begin();
        let mut active = 1;
        while active > 0 {
            match receiver.recv_timeout(CHECK_INTERVAL) {
                Ok(Progress::Attached) if !stop.load(Relaxed) && begin() => active += 1,
                Ok(Progress::Attached) if !stop.load(Relaxed) => {
                    began = Some(Instant::now());
                    if !args.command.is_empty() {
                        match started(&args.command) {
                            Ok(program) => {
                                *child.lock().unwrap_or_else(PoisonError::into_inner) = Some(program)
                            }
                            Err(code) => failed = Some(code),
                        }
                    }
                }
                Ok(Progress::Attached) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Progress::Done(outcome)) => {
                    active -= 1;
                    // Without one of its paths, the network is not the one that was asked for.
                    if outcome.is_err() || began.is_none() {
                        stop.store(true, Relaxed);
                    }
                    done.push(outcome);
                }
                // Not possible: this thread has a sender.
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let passed = began.zip(limit).is_some_and(|(began, limit)| began.elapsed() >= limit);
            if failed.is_some() || passed || program_ended() {
                stop.store(true, Relaxed);
            }
        }
        (done, failed)
    })
}

/// What a target's thread reports.
enum Progress {
    Attached,
    Done(Result<Outcome, AttachFailure>),
}

/// A path that was attached.
struct Outcome {
    end: AttachEnd,
    /// `None` if it ended before anything was led through it.
    json: Option<Value>,
}

/// Why a path was not attached.
enum AttachFailure {
    /// Its self-test failed, which has been printed.
    Unproven,
    Other(CliProblem),
}

/// The outcome without failures that have been printed.
fn reported(done: Result<Outcome, AttachFailure>) -> Option<Result<Outcome, CliProblem>> {
    match done {
        Ok(outcome) => Some(Ok(outcome)),
        Err(AttachFailure::Unproven) => None,
        Err(AttachFailure::Other(problem)) => Some(Err(problem)),
    }
}

/// Attaches one path until `stop`, and prints what happens.
fn run(
    args: &AttachArgs,
    mut job: Job,
    progress: &Sender<Progress>,
    stop: &AtomicBool,
) -> Result<Outcome, AttachFailure> {
    let name = job.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let mut proofs: Vec<DirectionProof> = Vec::new();
    let (mut next_status, mut method) = (1, None);
    let pcap = job.pcap.take();
    let done = attach_path(AttachOptions {
        target: job.target.clone(),
        path: job.path.clone(),
        seed: job.seed,
        hosts: job.filter.hosts().collect(),
        ports: job.filter.ports().to_vec(),
        pcap,
        with_login: args.with_login,
        unproven: args.unproven,
        classic: args.classic,
        watcher: &watcher_command,
        report: &mut |event| match event {
            AttachEvent::Proved(shown) => {
                shown.iter().for_each(|proof| eprint_escaped!("{name}{}\n", proof_line(proof)));
                proofs = shown.to_vec();
            }
            AttachEvent::Cleaned { device } => {
                let what = "filters of a longfat that was killed together with its watcher";
                eprint_escaped!("{name}removed from {device}: {what}\n");
            }
            AttachEvent::Attached { device, method: used } => {
                method = Some(used);
                eprint_escaped!("{name}{}\n", attached_line(args, &job, device, used));
                let _ = progress.send(Progress::Attached);
            }
            AttachEvent::Status(status) if args.status && status.time.as_secs() >= next_status => {
                next_status = status.time.as_secs() + 1;
                eprint_escaped!("{name}{}\n", status_line(status));
            }
            AttachEvent::Status(_) => {}
        },
        ended: &mut || stop.load(Relaxed),
    });
    let (end, status) = done.map_err(|e| match e {
        AttachError::Unproven(_) => {
            eprint_escaped!("error: {name}{e}\n");
            AttachFailure::Unproven
        }
        AttachError::Lab(e) => AttachFailure::Other(CliProblem::Lab(Box::new(e))),
        AttachError::Programs(e) => AttachFailure::Other(e.into()),
        e => AttachFailure::Other(CliProblem::usage(e.to_string())),
    })?;
    if let Some(status) = &status {
        eprint_escaped!("{name}{}", summary(status));
    }
    if end == AttachEnd::TargetGone {
        eprint_escaped!("longfat: {} has gone, so its path has ended\n", job.target.name);
    }
    let json = status.as_ref().map(|status| outcome_json(&job, &proofs, status, &end, method));
    Ok(Outcome { json, end })
}

fn outcome_json(
    job: &Job,
    proofs: &[DirectionProof],
    status: &AttachStatus,
    end: &AttachEnd,
    method: Option<AttachMethod>,
) -> Value {
    let mut json = to_json(proofs, status, end);
    json["classic_filters"] = json!(method == Some(AttachMethod::Classic));
    if let Some(name) = &job.name {
        json["name"] = json!(name);
        json["target"] = json!(job.target.name);
    }
    json
}

/// This program with [`AttachWatcherArgs`], also if its file has been replaced since.
fn watcher_command() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("longfat").arg("attach-watcher");
    command
}

/// Removes the filters of the longfat that has started this process, if that is killed.
pub fn watcher(args: &AttachWatcherArgs) -> Result<ExitCode, CliProblem> {
    match watch_attached(args.device, &args.owner) {
        Ok(()) => eprint_escaped!("longfat: killed; its filters have been removed\n"),
        Err(e) => eprint_escaped!("longfat: killed; removing its filters failed: {e}\n"),
    }
    Ok(ExitCode::SUCCESS)
}
