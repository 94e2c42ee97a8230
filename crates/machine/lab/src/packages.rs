//! Programs that a scenario needs on this machine, and their packages in Debian and Ubuntu.

use crate::LabError;
use crate::daemon;
use crate::program::is_installed;
use scenario::{RelayTool, Scenario, Tool};

/// Packages with another name than their program.
const PACKAGES: [(&str, &str); 16] = [
    ("ab", "apache2-utils"),
    ("aria2c", "aria2"),
    ("dig", "bind9-dnsutils"),
    ("mtr", "mtr-tiny"),
    ("ITGSend", "d-itg"),
    ("ip", "iproute2"),
    ("nc", "netcat-openbsd"),
    ("nping", "nmap"),
    ("ping", "iputils-ping"),
    ("scp", "openssh-client"),
    ("sftp", "openssh-client"),
    ("ss", "iproute2"),
    ("ssh", "openssh-client"),
    ("tc", "iproute2"),
    ("tftp", "tftp-hpa"),
    ("traceroute6", "traceroute"),
];
/// Programs whose package has the same name.
const SAME_NAME_PACKAGES: [&str; 20] = [
    "curl",
    "flent",
    "fping",
    "haproxy",
    "iperf",
    "iperf3",
    "lftp",
    "netperf",
    "nginx",
    "nuttcp",
    "perl",
    "python3",
    "rsync",
    "siege",
    "socat",
    "tcpdump",
    "traceroute",
    "wget",
    "wrk",
    "xinetd",
];

/// A program that is not installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsentProgram {
    /// The scenario's keys that need it.
    keys: Vec<String>,
    /// The missing program.
    pub what: String,
    /// The package that contains the program, if known.
    pub package: Option<String>,
}

/// A required program or file: its description, whether it is installed, and its package.
pub type Part = (&'static str, bool, &'static str);

/// Returns the command that installs packages; `None` for an empty list.
pub fn install_command<'a>(packages: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut all: Vec<&str> = packages.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    let family = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let on = if is_debian(&family) { "" } else { "on Debian or Ubuntu: " };
    (!all.is_empty()).then(|| format!("{on}sudo apt-get install {}", all.join(" ")))
}

/// Whether os-release(5) describes Debian or a derived distribution.
fn is_debian(os_release: &str) -> bool {
    let values = os_release.lines().filter_map(|l| l.strip_prefix("ID=").or(l.strip_prefix("ID_LIKE=")));
    let mut words = values.flat_map(|value| value.trim_matches('"').split(' '));
    words.any(|word| word == "debian" || word == "ubuntu")
}

/// Returns all programs of daemons, relays and flows that a run needs and this machine lacks, each once; with
/// `only_flow` those of one flow.
pub fn absent_programs(scenario: &Scenario, only_flow: Option<usize>) -> Vec<AbsentProgram> {
    let mut list: Vec<AbsentProgram> = Vec::new();
    let mut add_absent =
        |key: String, what: &str, package: Option<&str>| match list.iter_mut().find(|a| a.what == what) {
            Some(same) => same.keys.push(key),
            None => list.push(AbsentProgram {
                keys: vec![key],
                what: what.into(),
                package: package.map(String::from),
            }),
        };
    let mut need = |key: &str, parts: &[Part]| {
        for (what, _, package) in parts.iter().filter(|(_, there, _)| !there) {
            add_absent(key.into(), what, Some(package));
        }
    };
    for host in &scenario.hosts {
        for (n, service) in host.services.iter().enumerate() {
            need(&format!("hosts.{}.services.{n}", host.name), &daemon::parts(service));
        }
    }
    let flows = || scenario.flows.iter().enumerate().filter(|(i, _)| only_flow.is_none_or(|only| only == *i));
    let is_passed = |relay: &usize| flows().any(|(_, f)| f.via.contains(relay));
    for relay in (0..scenario.relays.len()).filter(is_passed).map(|i| &scenario.relays[i]) {
        let parts: &[Part] = match relay.tool {
            RelayTool::Longfat => &[],
            RelayTool::Nginx => &[
                ("nginx", is_installed("nginx"), "nginx"),
                ("nginx's stream module", is_installed("nginx"), "libnginx-mod-stream"),
            ],
            RelayTool::Haproxy => &[("haproxy", is_installed("haproxy"), "haproxy")],
        };
        need(&format!("relays.{}.tool", relay.name), parts);
    }
    for (_, flow) in flows() {
        for (key, program) in absent_in_flow(flow.tool.as_ref()) {
            add_absent(format!("flows.{}.{key}", flow.name), program, package(program));
        }
    }
    list
}

/// Returns a flow's missing programs, by key.
fn absent_in_flow(tool: Option<&Tool>) -> Vec<(&'static str, &str)> {
    let words: Vec<(&str, &str)> = match tool {
        None => Vec::new(),
        Some(Tool::Iperf3) => vec![("tool", "iperf3")],
        Some(Tool::Command { run, server }) => {
            let server = server.iter().map(|words| ("server", words[0].as_str()));
            [("tool", run[0].as_str())].into_iter().chain(server).collect()
        }
    };
    // A name with placeholders is checked later, when it is known.
    words.into_iter().filter(|(_, program)| !program.contains(['{', '}']) && !is_installed(program)).collect()
}

/// Returns the package that contains a program, if known. A program given by its path has no package.
pub fn package(program: &str) -> Option<&str> {
    let other = PACKAGES.iter().find(|(name, _)| *name == program).map(|(_, package)| *package);
    other.or_else(|| SAME_NAME_PACKAGES.into_iter().find(|name| *name == program))
}

/// Fails if programs of a scenario are missing; the error names every program, and the command that installs
/// all.
///
/// # Errors
/// Fails with [`LabError::Programs`].
pub fn check(scenario: &Scenario, only_flow: Option<usize>) -> Result<(), LabError> {
    let absent_programs = absent_programs(scenario, only_flow);
    if absent_programs.is_empty() {
        return Ok(());
    }
    let lines: String =
        absent_programs.iter().map(|a| format!("\n  {}: {}", a.key(), a.description())).collect();
    let install = install_command(absent_programs.iter().filter_map(|a| a.package.as_deref()));
    let install = install.map_or_else(String::new, |command| format!("\n  to install: {command}"));
    Err(LabError::Programs(format!("{lines}{install}")))
}

impl AbsentProgram {
    /// Returns the first key that needs it, and how many more do.
    pub fn key(&self) -> String {
        match &self.keys[..] {
            [key] => key.clone(),
            keys => format!("{} and {} more", keys[0], keys.len() - 1),
        }
    }

    /// Describes what is missing, as the end of a sentence.
    pub fn description(&self) -> String {
        match self.package {
            Some(_) => format!("{} is not installed", self.what),
            None => format!("program `{}` is not installed", self.what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::Experiment;

    #[test]
    fn all_missing_programs_are_named_in_one_error() {
        let text = r#"
            [links.l]
            between = ["a", "b"]
            [flows.f]
            from = "a"
            to = "b"
            tool = "nonesuch {to}"
            server = "nothing-of-that-name {port}"
            [flows.g]
            from = "b"
            to = "a"
            tool = "nothing-of-that-name"
            [flows.h]
            from = "a"
            to = "b"
        "#;
        let scenario = Experiment::parse("t.toml", text, &[]).unwrap().variants.remove(0).scenario;
        let all = absent_programs(&scenario, None);
        let keys: Vec<String> = all.iter().map(AbsentProgram::key).collect();
        assert_eq!(keys, ["flows.f.tool", "flows.f.server and 1 more"]);
        assert_eq!(all[0].description(), "program `nonesuch` is not installed");
        assert_eq!(absent_programs(&scenario, Some(1))[0].key(), "flows.g.tool");
        let error = check(&scenario, None).unwrap_err().to_string();
        for wanted in [
            "nothing was started",
            "flows.f.tool: program `nonesuch` is not installed",
            "flows.f.server and 1 more: ",
        ] {
            assert!(error.contains(wanted), "{error}");
        }
        assert!(!error.contains("apt-get"), "no package is known: {error}");
        assert!(check(&scenario, Some(2)).is_ok());
    }

    #[test]
    fn one_command_installs_each_package_once() {
        let command = install_command(["bird2", "curl", "bird2"]).unwrap();
        assert!(command.ends_with("sudo apt-get install bird2 curl"), "{command}");
        assert_eq!(install_command([]), None);
    }

    #[test]
    fn a_distribution_derived_from_debian_is_recognised() {
        assert!(is_debian("NAME=x\nID=debian\n") && is_debian("ID=ubuntu\nID_LIKE=debian\n"));
        assert!(is_debian("ID=mint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian("ID=fedora\nVARIANT_ID=debian\n") && !is_debian(""));
    }

    #[test]
    fn a_programs_package_may_have_another_name() {
        assert_eq!(
            ["ping", "iperf3", "./ping", "mine"].map(package),
            [Some("iputils-ping"), Some("iperf3"), None, None]
        );
    }
}
