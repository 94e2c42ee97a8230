//! `longfat cc`: lists, loads and unloads congestion controls of the running kernel.

use crate::args::{CcArgs, CcCommand, CcListArgs, CcLoadArgs, CcUnloadArgs};
#[cfg(not(target_os = "linux"))]
use crate::lab;
use crate::problem::CliProblem;
use app::inventory::inventory;
use congestion::Control;
use kernel_cc::{Before, ControlError, Kernel, kernel_name};
use serde_json::json;
use std::process::ExitCode;

pub fn cc(args: &CcArgs) -> Result<ExitCode, CliProblem> {
    match &args.command {
        CcCommand::List(args) => list(args),
        CcCommand::Load(args) => load(args),
        CcCommand::Unload(args) => unload(args),
    }
}

fn list(args: &CcListArgs) -> Result<ExitCode, CliProblem> {
    let inventory = inventory();
    match args.json {
        true => crate::print_json(&to_json_text(&inventory)?)?,
        false => crate::print(&inventory.table())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Formats JSON like the other commands: indented, with a final newline.
fn to_json_text(value: &impl serde::Serialize) -> Result<String, CliProblem> {
    let text = serde_json::to_string_pretty(value);
    text.map(|t| t + "\n").map_err(|e| CliProblem::usage(e.to_string()))
}

fn load(args: &CcLoadArgs) -> Result<ExitCode, CliProblem> {
    let name = args.name.as_str();
    if kernel_cc::find(name).is_none() && Kernel::now().has(name) {
        return Err(CliProblem::usage(format!("{name} is part of this kernel: there is nothing to load")));
    }
    kernel_cc::find(name).ok_or_else(|| ControlError::Unknown { name: name.into() })?;
    let done = kernel_cc::load_for_all(name, &parameters(name, &args.set)?)?;
    let kernel_name = kernel_name(name);
    let parameters = kernel_cc::parameters_of(&kernel_name).unwrap_or_default();
    let parameters: Vec<(String, u64)> = parameters.into_iter().map(|p| (p.name, p.value)).collect();
    if args.json {
        let before = match done.before {
            Before::Nothing => "nothing",
            Before::Same => "same",
            Before::Other => "other",
        };
        let values: serde_json::Map<_, _> = parameters.into_iter().map(|(k, v)| (k, v.into())).collect();
        crate::print_json(&to_json_text(&json!({
            "schema": "longfat-cc-load/1", "name": name, "kernel_name": kernel_name, "before": before,
            "mounted": done.mounted, "folder": kernel_cc::folder(&kernel_name), "parameters": values,
        }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    if done.mounted {
        text.push_str("mounted a bpf file system on /sys/fs/bpf; a restart unmounts it\n");
    }
    text.push_str(&match done.before {
        Before::Nothing => format!("loaded {name}; the kernel calls it {kernel_name}\n"),
        Before::Same => format!("{name} was already loaded with these parameters; nothing changed\n"),
        Before::Other => format!(
            "loaded {name} with other parameters; existing sockets keep the old ones until they close, \
             and a namespace that has it as its default keeps them until the default is set again\n"
        ),
    });
    parameters.iter().for_each(|(key, value)| text.push_str(&format!("  {key} = {value}\n")));
    text.push_str(&format!(
        "pinned in {}; `longfat cc unload {name}` or a restart removes it\n\
         to make it the default of new sockets: sysctl -w net.ipv4.tcp_congestion_control={kernel_name}\n",
        kernel_cc::folder(&kernel_name).display()
    ));
    crate::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Converts each `KEY=VALUE`, written as in a scenario's `cc`, to variables of the eBPF program.
fn parameters(name: &str, set: &[String]) -> Result<Vec<(&'static str, u64)>, CliProblem> {
    let mut table = serde_json::Map::new();
    for text in set {
        let wrong = || CliProblem::usage(format!("--set: `{text}` is not KEY=VALUE"));
        let (key, value) = text.split_once('=').ok_or_else(wrong)?;
        let value = value.trim();
        let number = value.parse().map(serde_json::Value::Number);
        table.insert(key.trim().into(), number.unwrap_or_else(|_| value.into()));
    }
    let Some(control) = Control::named(name) else { return Ok(Vec::new()) };
    let wrong = |why: String| CliProblem::usage(format!("--set: {why}"));
    let control = control.with(serde_json::Value::Object(table)).map_err(|e| wrong(e.to_string()))?;
    control.check().map_err(|p| wrong(format!("`{}`: {}", p.key, p.message)))?;
    Ok(control.kernel_parameters())
}

fn unload(args: &CcUnloadArgs) -> Result<ExitCode, CliProblem> {
    let names = match &args.name {
        Some(name) => vec![kernel_name(name)],
        None => kernel_cc::pinned(),
    };
    let sockets = lab::sockets_by_control().unwrap_or_default();
    let default = Kernel::now().default;
    let (mut text, mut gone) = (String::new(), Vec::new());
    for name in names {
        kernel_cc::unload(&name)?;
        text.push_str(&format!("unloaded {name}\n"));
        if let Some(n) = sockets.get(&name) {
            text.push_str(&format!("  {n} sockets of this network namespace use it until they close\n"));
        }
        if default == name {
            text.push_str(
                "  it is still the default of new sockets in this network namespace; to change that: \
                 sysctl -w net.ipv4.tcp_congestion_control=cubic\n",
            );
        }
        gone.push(json!({
            "name": name, "sockets": sockets.get(&name).copied().unwrap_or(0), "default": default == name,
        }));
    }
    if gone.is_empty() {
        text.push_str("longfat has no congestion control loaded\n");
    }
    let json = json!({ "schema": "longfat-cc-unload/1", "unloaded": gone });
    match args.json {
        true => crate::print_json(&to_json_text(&json)?)?,
        false => crate::print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
