//! Applies a change until a program has ended, a time has passed or the user interrupts.

use super::text;
use crate::args::ApplyArgs;
use crate::duration;
use crate::escape::eprint_escaped;
use crate::problem::CliProblem;
use crate::target::Named;
use crate::watch::{SharedChild, code_of, ended, started};
use live::LiveFilter;
use live::apply::{Apply, ApplyError, ApplyOptions, ApplyPlace, Connection, Figures, Undone};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use units::Rate;

/// Time after the change that is not measured: the new congestion control finds the path's rate in it.
const SETTLING: Duration = Duration::from_secs(3);
/// Readings are kept for a little longer than they are needed.
const SLACK: Duration = Duration::from_secs(2);

/// What became of a change, for the output.
#[derive(Default)]
pub struct Outcome {
    /// Connections of the target at the beginning, as they were then.
    pub connections: Vec<Connection>,
    /// Cookies of those that were changed at once.
    pub changed: BTreeSet<u64>,
    /// Number of connections changed later, when they were established.
    pub new: u64,
    /// How long the change lasted.
    pub applied: Duration,
    /// What the changed connections did before the change, some seconds after it, and at the end.
    pub before: Option<Figures>,
    pub after: Option<Figures>,
    pub last: Option<Figures>,
    /// Changes that the kernel refused, and connections beyond the number that can be changed.
    pub failures: [u64; 2],
    pub undone: Undone,
    pub target_gone: bool,
}

/// Applies the change that the arguments describe to their target.
pub fn apply(args: &ApplyArgs) -> Result<ExitCode, CliProblem> {
    let options = options(args)?;
    let measure = duration(args.measure);
    lab::catch_interrupts();
    let mut apply = Apply::open(options)?;
    let Some(connections) = apply.observe()? else { return Err(CliProblem::usage(gone(args))) };
    if args.dry_run {
        match args.json {
            true => crate::print_json(&text::dry_run_json(args, &apply, &connections))?,
            false => crate::print(&text::dry_run(args, &apply, &connections))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    if connections.is_empty() {
        eprint_escaped!("{}\n", text::no_connection(args));
    }
    if apply.has_company() {
        eprint_escaped!("{}", text::COMPANY);
    }
    let mut outcome = Outcome { connections, ..Outcome::default() };
    if !outcome.connections.is_empty() {
        while apply.elapsed() < measure && lab::interrupted().is_none() {
            apply.pause(measure.saturating_sub(apply.elapsed()));
            apply.observe()?;
        }
    }
    if lab::interrupted().is_some() {
        eprint_escaped!("longfat: interrupted before anything was changed\n");
        return Ok(ExitCode::FAILURE);
    }
    outcome.changed = apply.start()?.into_iter().filter(|c| !c.is_new).map(|c| c.cookie).collect();
    let began = apply.elapsed();
    outcome.before = apply.figures(Duration::ZERO, began, &outcome.changed);
    if let Some(figures) = &outcome.before {
        eprint_escaped!("{}", text::before(figures));
    }
    eprint_escaped!("{}", text::applied(args, &apply, &outcome));
    let child = SharedChild::default();
    let done = hold(args, &child, &mut apply, &mut outcome, began);
    // Also after an error: nothing may stay changed.
    outcome.failures = apply.failures().unwrap_or_default();
    outcome.applied = apply.elapsed().saturating_sub(began);
    outcome.undone = apply.undo()?;
    eprint_escaped!("{}", text::undone(&outcome));
    let mut code = done?;
    let program = child.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A program that continues after --for is waited for, as `watch` does.
    let status = program.map(|mut program| program.wait()).transpose();
    let status = status.map_err(|e| CliProblem::io(args.command[0].to_string_lossy().into_owned(), e))?;
    code = code.or(status.map(|status| ExitCode::from(code_of(status))));
    if outcome.target_gone {
        eprint_escaped!("longfat: {}\n", gone(args));
    }
    if args.json {
        crate::print_json(&text::to_json(args, &outcome))?;
    }
    let nothing = outcome.target_gone || outcome.changed.is_empty() && outcome.new == 0;
    Ok(code.unwrap_or(if nothing { ExitCode::FAILURE } else { ExitCode::SUCCESS }))
}

fn gone(args: &ApplyArgs) -> String {
    format!("{} has gone", args.target)
}

/// Keeps the change until the end, and reports what the connections do. Returns an exit code if the command
/// cannot be started.
fn hold(
    args: &ApplyArgs,
    child: &SharedChild,
    apply: &mut Apply,
    outcome: &mut Outcome,
    began: Duration,
) -> Result<Option<ExitCode>, CliProblem> {
    if !args.command.is_empty() {
        match started(&args.command) {
            Ok(program) => *child.lock().unwrap_or_else(PoisonError::into_inner) = Some(program),
            Err(code) => return Ok(Some(code)),
        }
    }
    let mut has_ended = ended(child, Arc::default());
    let (measure, limit) = (duration(args.measure), args.time.map(duration));
    let mut new = BTreeSet::new();
    loop {
        let over = has_ended() || limit.is_some_and(|limit| apply.elapsed() >= began + limit);
        let is_there = apply.observe()?.is_some();
        new.extend(apply.changed()?.into_iter().map(|c| c.cookie).filter(|c| !outcome.changed.contains(c)));
        outcome.new = new.len() as u64;
        let (now, over) = (apply.elapsed(), over || !is_there);
        if !measure.is_zero() {
            report(apply, outcome, (began + SETTLING, now, measure), over);
        }
        if over {
            outcome.target_gone = !is_there;
            return Ok(None);
        }
        apply.pause(limit.map_or(Duration::MAX, |limit| (began + limit).saturating_sub(now)));
    }
}

/// Prints the figures of the time after the change once they are complete, and those of the last seconds at
/// the end.
fn report(
    apply: &Apply,
    outcome: &mut Outcome,
    (from, now, measure): (Duration, Duration, Duration),
    is_end: bool,
) {
    let before = outcome.before.as_ref();
    if outcome.after.is_none() && (is_end || now >= from + measure) {
        outcome.after = apply.figures(from, now, &outcome.changed);
        match &outcome.after {
            Some(after) => eprint_escaped!("{}", text::after(before, after, SETTLING)),
            None if before.is_some() => eprint_escaped!("{}", text::not_after(SETTLING)),
            None => {}
        }
    } else if is_end && now >= from + 2 * measure {
        outcome.last = apply.figures(now.saturating_sub(measure), now, &outcome.changed);
        if let Some(last) = &outcome.last {
            eprint_escaped!("{}", text::last(before, last));
        }
    }
}

fn options(args: &ApplyArgs) -> Result<ApplyOptions, CliProblem> {
    let filter: LiveFilter = match &args.only {
        None => LiveFilter::default(),
        Some(text) => text.parse().map_err(|e| CliProblem::usage(format!("--only: {e}")))?,
    };
    Ok(ApplyOptions {
        name: args.target.clone(),
        place: place(&args.target)?,
        control: args.cc.clone(),
        pacing: args.pacing.map(pacing).transpose()?,
        filter,
        history: duration(args.measure) + SETTLING + SLACK,
    })
}

/// Parses `KIND:NAME`.
fn place(text: &str) -> Result<ApplyPlace, CliProblem> {
    let bad = |why: &str| CliProblem::usage(format!("{text}: {why}"));
    let kinds = "expected docker:NAME, podman:NAME, k8s:NAMESPACE/POD/CONTAINER, clab:LAB/NODE, netns:NAME, pid:N or cgroup:PATH";
    let (kind, name) = text.split_once(':').filter(|(_, name)| !name.is_empty()).ok_or_else(|| bad(kinds))?;
    match kind {
        "cgroup" => return Ok(ApplyPlace::Group(name.into())),
        "dev" => return Err(bad("a device has no connections; name the program, container or namespace")),
        _ => {}
    }
    if let Some((name, _)) = name.split_once(':') {
        return Err(bad(&format!("connections are not of one device; write {kind}:{name}")));
    }
    Ok(match Named::find(text, kind, name).map_err(CliProblem::usage)?.ok_or_else(|| bad(kinds))? {
        Named::Namespace(name) => ApplyPlace::Namespace(name),
        Named::Process(pid) => ApplyPlace::Process(pid),
        Named::Container(found) => {
            ApplyPlace::Container { pid: found.pid, id: found.id, shares_network: found.shares_network }
        }
        Named::Pod(_) => return Err(bad("name one of the pod's containers: k8s:NAMESPACE/POD/CONTAINER")),
    })
}

/// Largest pacing cap that the kernel's interface for eBPF can express, bytes per second.
const MAX_PACING: u64 = u32::MAX as u64 - 1;

/// Converts a pacing cap to bytes per second.
fn pacing(rate: Rate) -> Result<u32, CliProblem> {
    let bytes = rate.as_bps() / 8;
    match bytes {
        0 => Err(CliProblem::usage(format!("--pacing {rate}: expected at least 8 bit/s"))),
        bytes if bytes > MAX_PACING => {
            let most = Rate::from_bps(34_000_000_000);
            Err(CliProblem::usage(format!("--pacing {rate}: at most {most}; leave it out for no cap")))
        }
        bytes => Ok(bytes as u32),
    }
}

impl From<ApplyError> for CliProblem {
    fn from(e: ApplyError) -> CliProblem {
        match e {
            ApplyError::Programs(e) => e.into(),
            e => CliProblem::usage(e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_parsed_with_a_sentence_for_what_cannot_be() {
        assert_eq!(place("cgroup:/a:b").unwrap(), ApplyPlace::Group("/a:b".into()));
        assert_eq!(place("netns:x").unwrap(), ApplyPlace::Namespace("x".into()));
        assert_eq!(place("pid:7").unwrap(), ApplyPlace::Process(7));
        let why = |text| place(text).unwrap_err().to_string();
        assert!(why("dev:eth0").contains("a device has no connections"));
        assert!(why("netns:x:eth0").contains("write netns:x"));
        assert!(why("pid:x").contains("number of a process"));
        for text in ["web", "web:", "vm:x"] {
            assert!(why(text).contains("or cgroup:PATH"), "{text}");
        }
    }

    #[test]
    fn a_pacing_cap_is_in_bytes_and_within_the_kernels_interface() {
        assert_eq!(pacing(Rate::from_bps(19_300_000)).unwrap(), 2_412_500);
        assert!(pacing(Rate::from_bps(7)).unwrap_err().to_string().contains("--pacing 7bit/s"));
        assert!(pacing(Rate::from_bps(40_000_000_000)).unwrap_err().to_string().contains("at most 34"));
    }
}
