//! `longfat cc` without privileges.

use std::process::{Command, Output};

fn cc(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longfat")).arg("cc").args(args).output().expect("the program starts")
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn the_list_has_the_kernels_and_the_simulators_controls() {
    let out = cc(&["list", "--json"]);
    assert_eq!(out.status.code(), Some(0), "{}", stderr(&out));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(json["schema"], "longfat-cc/1");
    assert_eq!(json["built_in"], kernel_cc::built_in());
    let row = |name: &str| {
        let rows = json["controls"].as_array().expect("a list");
        rows.iter().find(|r| r["name"] == name).unwrap_or_else(|| panic!("no {name}")).clone()
    };
    assert_eq!((&row("reno")["in_kernel"], &row("reno")["simulator"]), (&true.into(), &true.into()));
    let default = row(json["default"].as_str().expect("a name"));
    assert_eq!((&default["in_kernel"], &default["unprivileged"]), (&true.into(), &true.into()));
    let text = String::from_utf8(cc(&["list"]).stdout).expect("UTF-8");
    assert!(text.starts_with("control ") && text.contains("\nreno "), "{text}");
    assert_eq!(text.contains("no eBPF programs built in"), !kernel_cc::built_in(), "{text}");
    if kernel_cc::built_in() {
        assert_eq!(row("bbr-hsr")["ebpf"]["parameters"]["hsr_T1_us"], 1_000_000);
    }
}

#[test]
fn what_cannot_be_loaded_is_refused_with_the_reason() {
    let refused = |args: &[&str]| {
        let out = cc(args);
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        assert!(out.stdout.is_empty(), "{args:?}");
        stderr(&out)
    };
    let text = refused(&["load", "nonesuch"]);
    assert!(text.contains("`nonesuch`") && text.contains("bbr-hsr"), "{text}");
    let text = refused(&["load", "reno"]);
    assert!(text.contains("reno is part of this kernel"), "{text}");
    let text = refused(&["load", "bbr-hsr", "--set", "fast"]);
    assert!(text.contains("`fast`") && text.contains("KEY=VALUE"), "{text}");
    let text = refused(&["load", "bbr-hsr", "--set", "alpha=-1"]);
    assert!(text.contains("`alpha`: ") && text.contains("-1"), "{text}");
    let text = refused(&["load", "bbr-hsr", "--set", "T=fast"]);
    assert!(text.contains("fast"), "{text}");
    let text = refused(&["load", "bbr-hsr", "--set", "nonesuch=1"]);
    assert!(text.contains("`nonesuch`") && text.contains("`bw_rec`"), "{text}");
    let text = refused(&["load", "westwood", "--set", "T=1s"]);
    assert!(text.contains("`T`"), "{text}");
    if !kernel_cc::built_in() {
        assert!(refused(&["load", "bbr-hsr"]).contains("no eBPF programs built in"));
    }
}

#[test]
fn unloading_what_is_not_loaded_has_exit_code_1() {
    let out = cc(&["unload", "nonesuch"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(stderr(&out).contains("nonesuch is not loaded"), "{}", stderr(&out));
    assert_eq!(cc(&["unload"]).status.code(), Some(2));
    assert_eq!(cc(&["unload", "reno", "--all"]).status.code(), Some(2));
}
