//! The targets of `longfat attach`, and the path of each.

use crate::args::AttachArgs;
use crate::escape::eprint_escaped;
use crate::load;
use crate::problem::CliProblem;
use crate::target::Named;
use app::watch::LiveFilter;
use lab::{AttachError, AttachPath, AttachPlace, AttachTarget, Captures};
use scenario::{LinkWay, Scenario};
use std::fs::{self, File};
use std::path::Path;

const KINDS: &str =
    "docker:NAME, podman:NAME, k8s:NAMESPACE/POD, clab:LAB/NODE, netns:NAME, pid:N or dev:DEVICE";

/// A path for a target.
pub struct Job {
    /// Name of the attachment; `None` if it is the only one, of the command line.
    pub name: Option<String>,
    pub target: AttachTarget,
    pub path: AttachPath,
    pub seed: u64,
    /// The text of `filter`.
    pub only: Option<String>,
    pub filter: LiveFilter,
    /// The files of `--pcap`.
    pub pcap: Option<Captures>,
}

/// Finds what the arguments ask for: one target, or those of a scenario's `[attach]` tables.
pub fn jobs(args: &AttachArgs) -> Result<Vec<Job>, CliProblem> {
    let is_target =
        args.target.split_once(':').is_some_and(|(kind, _)| kind.chars().all(|c| c.is_ascii_alphanumeric()));
    if !is_target {
        return of_file(args, &args.target);
    }
    if args.file.is_none() && (args.variant.is_some() || !args.set.is_empty()) {
        return Err(CliProblem::usage("--variant and --set need a scenario as path: FILE#LINK".into()));
    }
    let target = target(&args.target).map_err(CliProblem::usage)?;
    let (path, seed) = path(args)?;
    let filter = filter(args.only.as_deref()).map_err(|e| CliProblem::usage(format!("--only: {e}")))?;
    let pcap = args.pcap.as_deref().map(captures).transpose()?;
    Ok(vec![Job { name: None, target, path, seed, only: args.only.clone(), filter, pcap }])
}

/// The targets of a scenario's `[attach]` tables.
fn of_file(args: &AttachArgs, file: &str) -> Result<Vec<Job>, CliProblem> {
    let bad = |why: String| Err(CliProblem::usage(format!("{file}: {why}")));
    if file.contains('#') {
        return bad(format!("a path needs a target before it: {KINDS}"));
    }
    if let Some(path) = &args.file {
        return bad(format!("expected {KINDS} as target of the path {path}"));
    }
    if args.path.is_given() || args.only.is_some() || args.swap {
        return bad(format!(
            "--only, --swap and options that describe a path need one target: {KINDS}. The keys `only` and `host` of \
             [attach.NAME] do the same in a file"
        ));
    }
    let scenario = scenario(args, file)?;
    if scenario.attachments.is_empty() {
        let link = &scenario.links[0].name;
        return bad(format!(
            "it has no [attach.NAME] tables (docs/attach.md). For one target: longfat attach docker:NAME {file}#{link}"
        ));
    }
    let mut jobs = Vec::new();
    for a in &scenario.attachments {
        let at =
            |key: &str, why: String| CliProblem::usage(format!("{file}: attach.{}.{key}: {why}", a.name));
        let target = target(&a.target).map_err(|e| at("target", e))?;
        let link = &scenario.links[a.link].name;
        let path = AttachPath::new(&scenario, link, a.direction, a.at_second_end).map_err(usage)?;
        let filter = filter(a.only.as_deref()).map_err(|e| at("only", e))?;
        let pcap = args.pcap.as_ref().map(|folder| captures(&folder.join(&a.name))).transpose()?;
        let seed = args.seed.unwrap_or(scenario.seed);
        jobs.push(Job { name: Some(a.name.clone()), target, path, seed, only: a.only.clone(), filter, pcap });
    }
    Ok(jobs)
}

/// Parses the filter of `--only`.
fn filter(text: Option<&str>) -> Result<LiveFilter, String> {
    text.map_or_else(|| Ok(LiveFilter::default()), |text| text.parse())
}

/// Parses `KIND:NAME[:DEVICE]`.
fn target(text: &str) -> Result<AttachTarget, String> {
    let bad = |why: &str| format!("{text}: {why}");
    let kinds = || bad(&format!("expected {KINDS}"));
    let (kind, rest) = text.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(kinds)?;
    let (name, device) = match (kind, rest.split_once(':')) {
        ("dev", _) => ("", Some(rest)),
        (_, Some((name, device))) => (name, Some(device)),
        (_, None) => (rest, None),
    };
    let place = match kind {
        "dev" => AttachPlace::Own,
        _ => match Named::find(text, kind, name)?.ok_or_else(kinds)? {
            Named::Namespace(name) => AttachPlace::Named(name),
            Named::Process(pid) => AttachPlace::Process(pid),
            Named::Container(found) | Named::Pod(found) if found.shares_network => {
                let why = "has the host's network; attach to dev:DEVICE, with --only for its ports";
                return Err(bad(&format!("{} {why}", found.name)));
            }
            Named::Container(found) | Named::Pod(found) => AttachPlace::Process(found.pid),
        },
    };
    Ok(AttachTarget { name: text.into(), place, device: device.map(str::to_string) })
}

/// Reads the path of a single target, and the seed of its random streams.
fn path(args: &AttachArgs) -> Result<(AttachPath, u64), CliProblem> {
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
    let scenario = scenario(args, file)?;
    let (link, direction) = link_of(&scenario, file, link)?;
    let path = AttachPath::new(&scenario, &link, direction, args.swap).map_err(usage)?;
    Ok((path, args.seed.unwrap_or(scenario.seed)))
}

fn usage(e: AttachError) -> CliProblem {
    CliProblem::usage(e.to_string())
}

/// Reads the variant that the arguments choose of a scenario.
fn scenario(args: &AttachArgs, file: &str) -> Result<Scenario, CliProblem> {
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
    Ok(variant.scenario)
}

/// Parses `LINK` or `LINK.DIRECTION`; without it the scenario must have one link only.
fn link_of(
    scenario: &Scenario,
    file: &str,
    text: Option<&str>,
) -> Result<(String, Option<LinkWay>), CliProblem> {
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
        Some((link, "forward")) if !is_link(text) => (link.into(), Some(LinkWay::Forward)),
        Some((link, "backward")) if !is_link(text) => (link.into(), Some(LinkWay::Backward)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn args(line: &str) -> AttachArgs {
        let words = ["longfat", "attach"].into_iter().chain(line.split_whitespace());
        match crate::args::Cli::parse_from(words).command {
            crate::args::Command::Attach(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        jobs(&args(line)).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_target_has_a_kind_a_name_and_perhaps_a_device() {
        let of = |text: &str| target(text).map(|t| (t.place, t.device));
        let named = AttachPlace::Named("far".into());
        assert_eq!(of("netns:far").unwrap(), (named.clone(), None));
        assert_eq!(of("netns:far:eth1").unwrap(), (named, Some("eth1".into())));
        assert_eq!(of("pid:12:eth0").unwrap(), (AttachPlace::Process(12), Some("eth0".into())));
        assert_eq!(of("dev:eth1").unwrap(), (AttachPlace::Own, Some("eth1".into())));
        for wrong in ["pid:x", "netns:", "vm:x", "netns:a/b"] {
            assert!(target(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_needs_a_target_and_a_target_needs_a_path() {
        for (line, why) in [
            ("dev:eth0", "no path: give FILE#LINK"),
            ("dev:eth0 --seed 1 --set duration=1s", "need a scenario as path"),
            ("dev:eth0 home-line#line --rate 5Mbit/s", "changed with --set"),
            ("dev:eth0 home-line#no-such-link", "no-such-link"),
            ("home-line#line", "a path needs a target before it: docker:NAME"),
            ("home-line", "no [attach.NAME] tables"),
            ("home-line home-line#line", "as target of the path home-line#line"),
            ("home-line --rate 5Mbit/s", "need one target"),
            ("home-line --only port", "need one target"),
        ] {
            let said = refused(line);
            assert!(said.contains(why), "{line}: {said}");
        }
    }
}
