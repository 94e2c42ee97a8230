//! Attaches a path until a program has ended, a time has passed or the user interrupts.

use crate::args::AttachArgs;
use crate::escape::eprint_escaped;
use crate::load;
use crate::problem::CliProblem;
use crate::watch::{SharedChild, code_of, ended, started};
use app::watch::LiveFilter;
use lab::{
    AttachEnd, AttachError, AttachEvent, AttachOptions, AttachPath, AttachPlace, AttachStatus, AttachTarget,
    Captures, DirectionProof, attach as attach_path,
};
use report::{Lang, distrust_sentence};
use scenario::Scenario;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Attaches the path that the arguments describe to their target.
pub fn attach(args: &AttachArgs) -> Result<ExitCode, CliProblem> {
    let target = target(&args.target)?;
    let (path, seed) = path(args)?;
    let filter: LiveFilter = match &args.only {
        None => LiveFilter::default(),
        Some(text) => text.parse().map_err(|e| CliProblem::usage(format!("--only: {e}")))?,
    };
    let pcap = args.pcap.as_deref().map(captures).transpose()?;
    let child = SharedChild::default();
    let limit = args.time.map(|span| Duration::from_nanos(span.as_nanos()));
    lab::catch_interrupts();
    let (mut began, mut failed, mut proofs) = (None, None, Vec::new());
    let mut program_ended = ended(&child, Arc::default());
    let began_cell = std::cell::Cell::new(None::<Instant>);
    let failed_cell = std::cell::Cell::new(false);
    let mut lines = StatusLines { is_asked: args.status, next: 1 };
    let done = attach_path(AttachOptions {
        target,
        path,
        seed,
        hosts: filter.hosts().collect(),
        ports: filter.ports().to_vec(),
        pcap,
        with_login: args.with_login,
        unproven: args.unproven,
        report: &mut |event| match event {
            AttachEvent::Proved(shown) => {
                shown.iter().for_each(|proof| eprint_escaped!("{}\n", proof_line(proof)));
                proofs = shown.to_vec();
            }
            AttachEvent::Attached { device } => {
                eprint_escaped!("{}\n", attached_line(args, device));
                began_cell.set(Some(Instant::now()));
                if !args.command.is_empty() {
                    match started(&args.command) {
                        Ok(program) => *child.lock().unwrap_or_else(PoisonError::into_inner) = Some(program),
                        Err(code) => {
                            failed = Some(code);
                            failed_cell.set(true);
                        }
                    }
                }
            }
            AttachEvent::Status(status) => lines.show(status),
        },
        ended: &mut || {
            let began = *began.get_or_insert_with(|| began_cell.get().unwrap_or_else(Instant::now));
            failed_cell.get() || limit.is_some_and(|limit| began.elapsed() >= limit) || program_ended()
        },
    });
    let (end, status) = match done {
        Ok(done) => done,
        Err(AttachError::Unproven(why)) => {
            eprint_escaped!("error: {}\n", AttachError::Unproven(why));
            return Ok(ExitCode::FAILURE);
        }
        Err(AttachError::Lab(e)) => return Err(CliProblem::Lab(Box::new(e))),
        Err(AttachError::Programs(e)) => return Err(e.into()),
        Err(e) => return Err(CliProblem::usage(e.to_string())),
    };
    if let Some(status) = &status {
        eprint_escaped!("{}", summary(status));
        if args.json {
            crate::print_json(&(to_json(&proofs, status, &end).to_string() + "\n"))?;
        }
    }
    let mut code = ExitCode::SUCCESS;
    if end == AttachEnd::TargetGone {
        eprint_escaped!("longfat: {} has gone, so its path has ended\n", args.target);
        code = ExitCode::FAILURE;
    }
    if let Some(code) = failed {
        return Ok(code);
    }
    let program = child.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A program that continues after --for is waited for, as `watch` does.
    let status = program.map(|mut program| program.wait()).transpose();
    let status = status.map_err(|e| CliProblem::io(args.command[0].to_string_lossy().into_owned(), e))?;
    Ok(status.map_or(code, |status| ExitCode::from(code_of(status))))
}

/// Parses `KIND:NAME[:DEVICE]`.
fn target(text: &str) -> Result<AttachTarget, CliProblem> {
    let bad = |why: &str| CliProblem::usage(format!("{text}: {why}"));
    let kinds = "expected docker:NAME, podman:NAME, k8s:POD/CONTAINER, clab:LAB/NODE, netns:NAME, pid:N or dev:DEVICE";
    let (kind, rest) = text.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(|| bad(kinds))?;
    let (name, device) = match (kind, rest.split_once(':')) {
        ("dev", _) => ("", Some(rest)),
        (_, Some((name, device))) => (name, Some(device)),
        (_, None) => (rest, None),
    };
    let place = match kind {
        "dev" => AttachPlace::Own,
        "netns" if name.contains('/') => return Err(bad("the name of a namespace contains no `/`")),
        "netns" => AttachPlace::Named(name.into()),
        "pid" => AttachPlace::Process(
            name.parse().map_err(|_| bad("expected pid:N with the number of a process"))?,
        ),
        "docker" | "podman" => container(text, &format!("{kind} {name}"), name)?,
        "k8s" => container(text, name, name)?,
        "clab" => {
            let (lab, node) = name.split_once('/').ok_or_else(|| bad("expected clab:LAB/NODE"))?;
            // How containerlab names its containers, unless the topology sets another prefix.
            let name = format!("clab-{lab}-{node}");
            container(text, &name, &name)?
        }
        _ => return Err(bad(kinds)),
    };
    Ok(AttachTarget { name: text.into(), place, device: device.map(str::to_string) })
}

/// Finds a container by the name that `longfat check` shows, or by its id.
fn container(text: &str, name: &str, id: &str) -> Result<AttachPlace, CliProblem> {
    let found = audit::find_container(name).or_else(|first| audit::find_container(id).map_err(|_| first));
    let found = found.map_err(|e| CliProblem::usage(format!("{text}: {e}")))?;
    if found.shares_network {
        let why = "has the host's network; attach to dev:DEVICE, with --only for its ports";
        return Err(CliProblem::usage(format!("{text}: {} {why}", found.name)));
    }
    Ok(AttachPlace::Process(found.pid))
}

/// Reads the path, and the seed of its random streams.
fn path(args: &AttachArgs) -> Result<(AttachPath, u64), CliProblem> {
    let usage = |e: AttachError| CliProblem::usage(e.to_string());
    let Some(file) = &args.file else {
        if !args.path.is_given() {
            let why =
                "no path: give FILE#LINK, or options such as --limiter policer --rate 20Mbit/s --rtt 60ms";
            return Err(CliProblem::usage(why.into()));
        }
        let scenario = args.path.scenario()?;
        let path = AttachPath::new(&scenario, "wan", None, args.swap).map_err(usage)?;
        return Ok((path, args.seed.unwrap_or(scenario.seed)));
    };
    if args.path.is_given() {
        let why = "a path of a scenario is changed with --set; --limiter, --rate and so on describe one without a scenario";
        return Err(CliProblem::usage(format!("{file}: {why}")));
    }
    let (file, link) = file.rsplit_once('#').map_or((file.as_str(), None), |(file, link)| (file, Some(link)));
    let source = load::source(Path::new(file))?;
    let names = source.variant_names()?;
    let chosen: Vec<String> = args.variant.as_ref().or(names.first()).into_iter().cloned().collect();
    let mut loaded = source.parsed(&args.set, &chosen, false)?;
    let variant = loaded.experiment.variants.remove(0);
    if args.variant.is_none() && names.len() > 1 {
        eprint_escaped!(
            "longfat: variant {}; choose another with --variant: {}\n",
            variant.name,
            names[1..].join(", ")
        );
    }
    let scenario = variant.scenario;
    let (link, forward) = link_of(&scenario, file, link)?;
    let path = AttachPath::new(&scenario, &link, forward, args.swap).map_err(usage)?;
    Ok((path, args.seed.unwrap_or(scenario.seed)))
}

/// Parses `LINK` or `LINK.DIRECTION`; without it the scenario must have one link only.
fn link_of(
    scenario: &Scenario,
    file: &str,
    text: Option<&str>,
) -> Result<(String, Option<bool>), CliProblem> {
    let Some(text) = text else {
        let names: Vec<String> = scenario.links.iter().map(|l| format!("{file}#{}", l.name)).collect();
        return match &scenario.links[..] {
            [one] => Ok((one.name.clone(), None)),
            _ => Err(CliProblem::usage(format!("{file}: choose one of its links: {}", names.join(", ")))),
        };
    };
    // A link's name may contain a dot.
    let is_link = |name: &str| scenario.links.iter().any(|l| l.name == name);
    Ok(match text.rsplit_once('.') {
        Some((link, "forward")) if !is_link(text) => (link.into(), Some(true)),
        Some((link, "backward")) if !is_link(text) => (link.into(), Some(false)),
        _ => (text.into(), None),
    })
}

/// Creates the files of `--pcap`.
fn captures(folder: &Path) -> Result<Captures, CliProblem> {
    let failed = |path: &Path, e| CliProblem::io(path.display().to_string(), e);
    fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
    let create = |name: &str| {
        let path = folder.join(name);
        File::create(&path).map_err(|e| failed(&path, e))
    };
    Ok(Captures { hosts: vec![create("target.pcap")?, create("network.pcap")?], stages: Vec::new() })
}

/// What the self-test showed of a direction.
fn proof_line(proof: &DirectionProof) -> String {
    let mut facts = Vec::new();
    match (proof.limit_mbps, proof.rate_mbps) {
        (Some(limit), Some([_, shown])) if proof.reaches_limit => {
            facts.push(format!("limit {limit:.2} Mbit/s, shown {shown:.2} ({:+.1} %)", (shown / limit - 1.0) * 100.0));
        }
        (Some(limit), Some([expected, shown])) => facts.push(format!(
            "limit {limit:.2} Mbit/s, not reached by the test's packets; they passed at {shown:.2} Mbit/s, expected {expected:.2}"
        )),
        (Some(limit), None) => facts.push(format!("limit {limit:.2} Mbit/s, cannot tell: too few packets passed")),
        (None, _) => facts.push("no constant limit".into()),
    }
    match proof.delay_ms {
        Some([asked, shown]) => {
            facts.push(format!("delay {asked:.2} ms, shown {shown:.2} ({:+.2} ms)", shown - asked));
        }
        None => facts.push("delay: cannot tell, because the path drops everything".into()),
    }
    let [expected, arrived] = proof.arrived;
    facts.push(format!("{arrived} of {} packets passed, expected {expected}", proof.sent));
    let verdict = if proof.fault().is_none() { "" } else { " FAILED:" };
    format!("self-test, {}:{verdict} {}", proof.direction, facts.join("; "))
}

fn attached_line(args: &AttachArgs, device: &str) -> String {
    let until = match (args.time, args.command.first()) {
        (Some(time), _) => format!("for {time}"),
        (None, Some(program)) => format!("until {} ends", program.to_string_lossy()),
        (None, None) => "until Ctrl-C; --for 10min would end it by itself".into(),
    };
    let only = args.only.as_ref().map(|only| format!(", only `{only}`")).unwrap_or_default();
    format!("attached: {} ({device}){only}, {until}", args.target)
}

/// Prints a line a second.
struct StatusLines {
    is_asked: bool,
    /// Second of the next line.
    next: u64,
}

impl StatusLines {
    fn show(&mut self, status: &AttachStatus) {
        if self.is_asked && status.time.as_secs() >= self.next {
            self.next = status.time.as_secs() + 1;
            eprint_escaped!("{}\n", status_line(status));
        }
    }
}

fn status_line(status: &AttachStatus) -> String {
    let way = |name: &str, way: usize| {
        format!(
            "{name} {} passed, {} dropped, {} queued",
            status.passed[way], status.dropped[way], status.queued[way]
        )
    };
    let trust = if status.trust.reliable { "trusted" } else { "NOT trusted" };
    format!(
        "{} s: {}; {}; late {:.2} ms (p99 {:.2}); {trust}",
        status.time.as_secs(),
        way("out", 0),
        way("in", 1),
        status.trust.lateness_ms.p50,
        status.trust.lateness_ms.p99,
    )
}

/// What the path did, and whether to trust it.
fn summary(status: &AttachStatus) -> String {
    let mut text = status_line(status) + "\n";
    for e in &status.elements {
        let dropped = e.dropped_packets + e.too_big_packets;
        text += &format!(
            "  {}: {} passed, {dropped} dropped, delay {:.2} ms (max {:.2})\n",
            e.name, e.passed_packets, e.delay_ms.mean, e.delay_ms.max
        );
    }
    let c = &status.counters;
    for (count, what) in [
        (c.stalled[0] + c.stalled[1], "passed around the path, because longfat did not run for a second"),
        (c.forged, "carried a mark like those of longfat and were treated like all others"),
        (c.intruded, "were sent into longfat's devices by another program, and dropped"),
        (status.trust.kernel_lost_packets, "were lost by this machine's own queues, and not by the path"),
    ] {
        if count > 0 {
            text += &format!("  {count} packets {what}\n");
        }
    }
    if !status.trust.reliable {
        text += &(distrust_sentence("attach", &status.trust, Lang::En) + "\n");
    }
    text
}

fn to_json(proofs: &[DirectionProof], status: &AttachStatus, end: &AttachEnd) -> Value {
    let proof = |p: &DirectionProof| {
        json!({
            "direction": p.direction,
            "limit_mbps": p.limit_mbps,
            "reaches_limit": p.reaches_limit,
            "expected_mbps": p.rate_mbps.map(|r| r[0]),
            "shown_mbps": p.rate_mbps.map(|r| r[1]),
            "expected_delay_ms": p.delay_ms.map(|d| d[0]),
            "shown_delay_ms": p.delay_ms.map(|d| d[1]),
            "sent_packets": p.sent,
            "expected_packets": p.arrived[0],
            "arrived_packets": p.arrived[1],
            "fault": p.fault(),
        })
    };
    json!({
        "self_test": proofs.iter().map(proof).collect::<Vec<_>>(),
        "seconds": status.time.as_secs_f64(),
        "passed_packets": { "outgoing": status.passed[0], "incoming": status.passed[1] },
        "dropped_packets": { "outgoing": status.dropped[0], "incoming": status.dropped[1] },
        "stalled_packets": status.counters.stalled.iter().sum::<u64>(),
        "forged_packets": status.counters.forged,
        "intruded_packets": status.counters.intruded,
        "elements": status.elements,
        "trust": status.trust,
        "target_gone": *end == AttachEnd::TargetGone,
    })
}
