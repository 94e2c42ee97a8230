//! Lists the congestion controls of the kernel, of the simulator, and of longfat's eBPF programs.

use kernel_cc::{Kernel, KernelControl, kernel_name};
use serde::Serialize;
use std::collections::BTreeMap;

/// The output of `longfat cc list --json`.
#[derive(Debug, Serialize)]
pub struct Inventory {
    schema: &'static str,
    /// The congestion control that new sockets of this network namespace begin with.
    default: String,
    /// Whether the eBPF programs are built into this binary.
    built_in: bool,
    controls: Vec<ListedControl>,
}

/// A congestion control.
#[derive(Debug, Default, Serialize)]
struct ListedControl {
    /// The name in scenarios; the kernel's name where only the kernel has it.
    name: String,
    kernel_name: String,
    /// Whether the kernel has it now.
    in_kernel: bool,
    /// Whether unprivileged programs may select it.
    unprivileged: bool,
    /// Whether the simulator has it.
    simulator: bool,
    /// Longfat's eBPF program, where there is one.
    ebpf: Option<ListedProgram>,
    /// Number of TCP sockets of this network namespace that use it; absent where that cannot be queried.
    sockets: Option<usize>,
}

/// One of longfat's eBPF programs.
#[derive(Debug, Default, Serialize)]
struct ListedProgram {
    /// `no`, `pinned` (available to all processes) or `process` (private to one process).
    loaded: &'static str,
    /// A description; absent for a program that is private to a process.
    about: Option<&'static str>,
    /// The process that holds a private program.
    process: Option<u32>,
    command: Option<String>,
    /// The parameters in force where the program is pinned and this user may read them, else the defaults.
    parameters: BTreeMap<String, u64>,
    /// Parameters that differ from the defaults, as `NAME=VALUE`.
    #[serde(skip)]
    changed: Vec<String>,
}

/// Queries the kernel and the registries.
pub fn inventory() -> Inventory {
    let kernel = Kernel::now();
    #[cfg(target_os = "linux")]
    let sockets = lab::sockets_by_control().ok();
    #[cfg(not(target_os = "linux"))]
    let sockets: Option<BTreeMap<String, usize>> = None;
    let mut rows: Vec<ListedControl> = kernel.available.iter().map(|k| in_kernel(k)).collect();
    let ours = kernel_cc::REGISTRY.iter().map(|entry| entry.name);
    for name in ours.chain(congestion::NAMES.iter().copied()) {
        if !rows.iter().any(|r| r.name == name) {
            rows.push(ListedControl {
                name: name.into(),
                kernel_name: kernel_name(name),
                ..ListedControl::default()
            });
        }
    }
    for row in &mut rows {
        row.in_kernel = kernel.has(&row.kernel_name);
        row.unprivileged = kernel.allowed.contains(&row.kernel_name);
        row.simulator = congestion::NAMES.contains(&row.name.as_str());
        row.sockets = sockets.as_ref().map(|s| s.get(&row.kernel_name).copied().unwrap_or(0));
        if let Some(entry) = kernel_cc::find(&row.name) {
            row.ebpf = Some(program(entry, kernel_cc::is_pinned(&row.kernel_name)));
        }
    }
    let default = kernel.default;
    Inventory { schema: "longfat-cc/1", default, built_in: kernel_cc::built_in(), controls: rows }
}

/// A congestion control that the kernel has, under longfat's name where it is longfat's.
fn in_kernel(kernel: &str) -> ListedControl {
    let ours = kernel_cc::REGISTRY.iter().find(|entry| kernel_name(entry.name) == kernel);
    let name = ours.map_or(kernel, |entry| entry.name);
    let ebpf = kernel_cc::holder(kernel).map(|(pid, command)| ListedProgram {
        loaded: "process",
        process: Some(pid),
        command: Some(command).filter(|c| !c.is_empty()),
        ..ListedProgram::default()
    });
    ListedControl { name: name.into(), kernel_name: kernel.into(), ebpf, ..ListedControl::default() }
}

fn program(entry: &KernelControl, pinned: bool) -> ListedProgram {
    let defaults = kernel_cc::parameters(entry.name).unwrap_or_default();
    let in_force = if pinned { kernel_cc::parameters_of(&kernel_name(entry.name)) } else { None };
    let parameters = in_force.unwrap_or_else(|| defaults.clone());
    let changed = parameters.iter().filter(|p| !defaults.contains(p));
    ListedProgram {
        loaded: if pinned { "pinned" } else { "no" },
        about: Some(entry.about),
        changed: changed.map(|p| format!("{}={}", p.name, p.value)).collect(),
        parameters: parameters.into_iter().map(|p| (p.name, p.value)).collect(),
        ..ListedProgram::default()
    }
}

impl Inventory {
    /// Returns the inventory as a table for the terminal.
    pub fn table(&self) -> String {
        let mut lines =
            vec![["control", "kernel", "simulator", "sockets", "longfat's eBPF"].map(String::from)];
        lines.extend(self.controls.iter().map(|row| self.line(row)));
        let width = |column: usize| lines.iter().map(|l| l[column].chars().count()).max().unwrap_or(0);
        let widths = [0, 1, 2, 3, 4].map(width);
        let mut text = String::new();
        for line in &lines {
            let cells = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        if !self.built_in {
            text.push_str(&format!("\n{}\n", kernel_cc::ControlError::NotBuiltIn));
        }
        text
    }

    fn line(&self, row: &ListedControl) -> [String; 5] {
        let kernel = match (row.in_kernel, row.unprivileged) {
            (true, _) if row.kernel_name == self.default => "default",
            (true, true) => "for all",
            (true, false) => "for root",
            (false, _) => "-",
        };
        let sockets = row.sockets.filter(|_| row.in_kernel).map_or("-".into(), |n| n.to_string());
        let ebpf = row.ebpf.as_ref().map_or("-".into(), |program| self.about(row, program));
        let simulator = if row.simulator { "yes" } else { "-" };
        [row.name.clone(), kernel.into(), simulator.into(), sockets, ebpf]
    }

    fn about(&self, row: &ListedControl, program: &ListedProgram) -> String {
        let state = match (program.loaded, program.process) {
            ("pinned", _) => format!("loaded for all processes as {}", row.kernel_name),
            (_, Some(pid)) => {
                format!(
                    "private to process {pid} ({})",
                    program.command.as_deref().unwrap_or("which has ended")
                )
            }
            _ if row.in_kernel => "not needed: the kernel has it".into(),
            _ if self.built_in => format!("built in: {}", program.about.unwrap_or("")),
            _ => format!("not built in: {}", program.about.unwrap_or("")),
        };
        let changed = program.changed.join(" ");
        if changed.is_empty() { state } else { format!("{state}, with {changed}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_is_listed_once() {
        let all = inventory();
        let mut names: Vec<&str> = all.controls.iter().map(|r| r.kernel_name.as_str()).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
        for known in congestion::NAMES.iter().copied().chain(kernel_cc::REGISTRY.iter().map(|e| e.name)) {
            assert!(all.controls.iter().any(|r| r.name == known), "{known}");
        }
        assert_eq!(all.table().lines().take_while(|l| !l.is_empty()).count(), count + 1);
    }

    #[test]
    fn a_private_program_names_its_process() {
        let name = kernel_cc::private_name("westwood", std::process::id(), 0);
        let row = in_kernel(&name);
        let program = row.ebpf.expect("an eBPF program");
        assert_eq!((program.loaded, program.process), ("process", Some(std::process::id())));
        // Linux shows a process's name in `/proc`.
        assert_eq!(program.command.is_some(), cfg!(target_os = "linux"));
        assert!(in_kernel("cubic").ebpf.is_none());
    }
}
