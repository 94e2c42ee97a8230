//! `longfat check` with real containers: a separate Docker daemon, and Podman, each with a container of a
//! static busybox. Requires root, dockerd, podman, runc and busybox-static; prints what is missing. Run by
//! `make netns`.

use crate::engines::{BUSYBOX, DockerDaemon, PodmanContainer, output};
use audit::{AuditFinding, HostFacts, collect, judge};
use std::fs;
use std::path::Path;

const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The host's default congestion control, restored when dropped.
struct RestoredControl(String);

impl Drop for RestoredControl {
    fn drop(&mut self) {
        fs::write(DEFAULT, &self.0).expect("the host's default is restored");
    }
}

/// Returns the findings about the namespace of this name.
fn findings(host: &HostFacts, name: &str) -> Vec<AuditFinding> {
    judge(host, None).into_iter().filter(|f| f.namespaces.iter().any(|n| n == name)).collect()
}

/// Changes the host's default while the container runs, and checks that the finding names the container and
/// that its commands resolve it.
fn check_container(engine: &str, name: &str) {
    let kept = RestoredControl(fs::read_to_string(DEFAULT).expect("reads").trim().into());
    let called = format!("{engine} {name}");
    let host = collect();
    let all: Vec<&str> = host.namespaces.iter().map(|n| n.name.as_str()).collect();
    let namespace =
        host.namespaces.iter().find(|n| n.name == called).unwrap_or_else(|| panic!("{called}: {all:?}"));
    assert!(
        namespace.container.as_deref().is_some_and(|c| c.starts_with(engine)),
        "{:?}",
        namespace.container
    );
    assert_eq!(namespace.default_control(), Some(kept.0.as_str()));
    assert!(findings(&host, &called).is_empty());

    let other = if kept.0 == "reno" { "bbr" } else { "reno" };
    fs::write(DEFAULT, other).expect("root may set it");
    let found = findings(&collect(), &called);
    let [finding] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(finding.rule, "older-than-default");
    for lines in [finding.commands(), finding.undo()] {
        for line in &lines {
            output("sh", &["-c", line], &[]).expect("what it says can be typed");
        }
        let left = findings(&collect(), &called).len();
        assert_eq!(left, usize::from(lines == finding.undo()), "{lines:?}");
    }
}

fn can_run() -> bool {
    let root = fs::write(DEFAULT, fs::read_to_string(DEFAULT).unwrap_or_default()).is_ok();
    let can_run = root && Path::new(BUSYBOX).exists();
    if !can_run {
        eprintln!("SKIPPED: needs root and busybox-static");
    }
    can_run
}

#[test]
fn a_docker_container_is_named_in_its_finding() {
    if !can_run() {
        return;
    }
    let Some(docker) = DockerDaemon::start() else { return eprintln!("SKIPPED: no dockerd runs here") };
    if docker.run("lfcheck-web").is_none() {
        return eprintln!("SKIPPED: dockerd runs no container here");
    }
    check_container("docker", "lfcheck-web");
}

#[test]
fn a_podman_container_is_named_in_its_finding() {
    if !can_run() {
        return;
    }
    let Some(_container) = PodmanContainer::run("lfcheck-store") else {
        return eprintln!("SKIPPED: podman runs no container here");
    };
    check_container("podman", "lfcheck-store");
}
