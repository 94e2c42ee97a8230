//! `longfat plan --prove` on the real kernel. Needs root; without it the tests print that they are skipped.

use std::process::Command;

const POLICED: &str = r#"
name = "policed"
duration = "5s"
[links.wan]
between = ["client", "server"]
forward = [{ kind = "policer", rate = "10Mbit/s", burst = "6kB" }, { kind = "delay", delay = "20ms" }]
backward = [{ kind = "delay", delay = "20ms" }]
[flows.f]
from = "client"
to = "server"
"#;

/// Returns a plan whose first cures were measured on the kernel; without root prints that and returns `None`.
fn proved(only: &str, count: &str) -> Option<advise::Plan> {
    proved_on(POLICED, only, count)
}

fn proved_on(text: &str, only: &str, count: &str) -> Option<advise::Plan> {
    let path = std::env::temp_dir().join(format!("longfat-prove-{only}-{}.toml", std::process::id()));
    std::fs::write(&path, text).expect("a scenario");
    let done = Command::new(env!("CARGO_BIN_EXE_longfat"))
        .arg("plan")
        .arg(&path)
        .args(["--only", only, "--prove", count, "--json", "--repeat", "2"])
        .output()
        .expect("it runs");
    std::fs::remove_file(&path).expect("the scenario is there");
    let printed = String::from_utf8_lossy(&done.stderr);
    if printed.contains("CAP_") {
        eprintln!("SKIPPED, this needs root: {printed}");
        return None;
    }
    assert!(done.status.success(), "{printed}");
    Some(serde_json::from_slice(&done.stdout).expect("JSON"))
}

/// The commands that were run are among the printed ones.
#[test]
fn a_shaper_at_the_sender_by_tc_gains_as_predicted() {
    let Some(plan) = proved("sender-edge", "1") else { return };
    let cure = &plan.cures[0];
    let proof = cure.proof.as_ref().expect("it was proved");
    assert!(
        proof.commands_run.iter().any(|l| l.starts_with("client# tc qdisc replace dev $DEV root")),
        "{proof:?}"
    );
    let printed: Vec<&String> = {
        let remedies = cure.steps.iter().flat_map(|s| &s.remedies);
        remedies.flat_map(|r| &r.commands).flat_map(|c| &c.apply).collect()
    };
    for line in &proof.commands_run {
        let typed = line.split_once("# ").expect("host and line").1;
        assert!(printed.iter().any(|p| *p == typed), "{typed} was not printed");
    }
    if !proof.distrust.is_empty() {
        eprintln!("not compared: {:?}", proof.distrust);
        return;
    }
    assert!(proof.kernel_mbps > 2.0 * proof.kernel_now_mbps, "{proof:?}");
    assert!((proof.kernel_mbps / proof.predicted_mbps - 1.0).abs() < 0.15, "{proof:?}");
}

/// The sockets choose no congestion control and get the one of the sysctl.
#[test]
fn bbr_by_sysctl_gains_as_predicted() {
    let Some(plan) = proved("sender", "12") else { return };
    let bbr = plan.cures.iter().find(|c| c.name == "bbr").expect("bbr was tried");
    let proof = bbr.proof.as_ref().expect("it was proved");
    assert_eq!(proof.commands_run, ["client# sysctl -w net.ipv4.tcp_congestion_control=bbr"], "{proof:?}");
    if proof.distrust.is_empty() {
        assert!((proof.kernel_mbps / proof.predicted_mbps - 1.0).abs() < 0.2, "{proof:?}");
    }
    let fq = plan.cures.iter().find(|c| c.name == "pace-fq").and_then(|c| c.proof.as_ref()).expect("proved");
    // No command turns this kernel's BBR into version 3.
    let bbr3 = plan.cures.iter().filter(|c| c.name.starts_with("bbr3")).filter_map(|c| c.proof.as_ref());
    assert!(bbr3.flat_map(|p| &p.commands_run).all(|line| !line.contains("congestion_control")));
    // A kernel without fq is reported as the reason.
    assert!(!fq.commands_run.is_empty() || fq.set[0].starts_with("pacing by fq"), "{fq:?}");
}

const LOSSY: &str = r#"
name = "lossy"
duration = "5s"
[links.near]
between = ["office", "node"]
forward = [{ kind = "delay", delay = "5ms" }]
backward = [{ kind = "loss", probability = 0.002 }, { kind = "link", rate = "30Mbit/s", delay = "5ms" }]
[links.line]
between = ["node", "centre"]
forward = [{ kind = "delay", delay = "40ms" }]
backward = [{ kind = "delay", delay = "40ms" }]
[flows.down]
from = "centre"
to = "office"
cc = "reno"
"#;

/// The cure runs `longfat proxy` with the cure's congestion control.
#[test]
fn a_proxy_on_the_path_gains_as_predicted() {
    let Some(plan) = proved_on(LOSSY, "path", "12") else { return };
    let proofs: Vec<(&str, &advise::CureProof)> =
        plan.cures.iter().filter_map(|c| Some((c.name.as_str(), c.proof.as_ref()?))).collect();
    let (_, proof) = proofs.iter().find(|(name, _)| *name == "proxy-bbr-node").expect("it was proved");
    let line =
        "node# longfat proxy --listen :5201 --upstream 10.0.0.1:5202 --client-cc reno --upstream-cc bbr";
    assert_eq!(proof.commands_run, [line], "{proof:?}");
    assert!(proof.set.is_empty(), "{proof:?}");
    assert!(proof.kernel_mbps > 2.0 * proof.kernel_now_mbps, "{proof:?}");
    if proof.distrust.is_empty() {
        assert!((proof.kernel_mbps / proof.predicted_mbps - 1.0).abs() < 0.15, "{proof:?}");
    }
}
