//! The programs of a flow: their command lines, and a running program with its output.

use crate::LabError;
use crate::failures::describe_exit;
use crate::identity::{Author, Identity};
use crate::launch::{Launch, Output, Running};
use crate::network::is_restricted;
use crate::plan::PlannedFlow;
use linux::{file, pipe};
use scenario::{Scenario, Tool, Values, fill};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use transport::App;
use units::{Rate, Span, Time};

/// Bytes of a program's error output that are kept.
const MAX_OUTPUT: usize = 2000;
/// Rate that enables pacing without limiting; in bytes it fits the 32 bits that older iperf3 uses.
const UNLIMITED_PACING: Rate = Rate::from_bps(32_000_000_000);

/// Returns the command lines of a flow: the server's, if there is one, and the client's.
pub fn commands(
    scenario: &Scenario,
    flow: &PlannedFlow,
    port: u16,
) -> Option<(Option<Vec<String>>, Vec<String>)> {
    let left = (Time::ZERO + scenario.duration).since(flow.start);
    let values = Values {
        from: scenario.address(flow.from),
        to: scenario.address(flow.to),
        port,
        cc: flow.control.name.clone(),
        duration: (left.as_nanos() / 1_000_000_000).max(1),
        count: flow.count,
    };
    match flow.tool.as_ref()? {
        Tool::Iperf3 => Some(iperf3(scenario, flow, &values, left)),
        Tool::Command { run, server } => {
            Some((server.as_ref().map(|s| fill(s, &values)), fill(run, &values)))
        }
    }
}

fn iperf3(
    scenario: &Scenario,
    flow: &PlannedFlow,
    values: &Values,
    left: Span,
) -> (Option<Vec<String>>, Vec<String>) {
    let stack = &scenario.hosts[flow.from].stack;
    let port = values.port.to_string();
    let version = if values.to.is_ipv4() { "-4" } else { "-6" };
    let server = ["iperf3", version, "-s", "-1", "-p", &port].map(String::from).to_vec();
    let mut client =
        ["iperf3", version, "-c", &values.to.to_string(), "-p", &port].map(String::from).to_vec();
    let mut option = |name: &str, value: String| client.extend([name.to_string(), value]);
    option("--connect-timeout", "10000".into());
    option("-P", flow.count.to_string());
    // iperf3 takes whole seconds; a longer transfer ends with the run.
    let seconds = |s: Span| s.as_nanos().div_ceil(1_000_000_000).max(1).to_string();
    match &flow.app {
        App::Udp { rate, size, duration, .. } => {
            let size = size.unwrap_or(1500);
            let payload = size - flow.udp_header;
            option("-t", seconds(duration.unwrap_or(left)));
            option("-l", payload.to_string());
            // The scenario's rate counts IP packets, iperf3's the payload.
            option("-b", (rate.as_bps() as u128 * payload as u128 / size as u128).to_string());
            client.push("-u".into());
        }
        app => {
            match app {
                App::Bulk { bytes: Some(n), .. } => {
                    option("-n", n.get().saturating_mul(flow.count as u64).to_string())
                }
                App::Bulk { duration: Some(d), .. } => option("-t", seconds(*d)),
                _ => option("-t", seconds(left)),
            }
            // iperf3 would fail to choose a restricted control; its route sets it.
            if !is_restricted(&values.cc) {
                option("-C", values.cc.clone());
            }
            if let Some(mss) = stack.mss {
                option("-M", mss.to_string());
            }
            let paced = (stack.pacing == Some(true)).then_some(UNLIMITED_PACING);
            if let Some(rate) = flow.max_pacing_rate.or(paced) {
                option("--fq-rate", rate.as_bps().to_string());
            }
        }
    }
    if flow.dscp > 0 {
        client.extend(["--dscp".into(), flow.dscp.to_string()]);
    }
    (Some(server), client)
}

/// Whether this machine has a program of that name, or at that path.
pub fn is_installed(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Fails if this machine lacks a program whose name contained a placeholder; [`crate::packages`] checks the
/// others.
pub fn require(flow: &str, program: &str) -> Result<(), LabError> {
    if is_installed(program) {
        return Ok(());
    }
    let what = format!("program `{program}` is not installed");
    Err(LabError::Program { flow: flow.into(), what })
}

/// A running program. Dropping it kills it and everything it started.
pub struct RunningProgram {
    name: String,
    running: Running,
    stderr: OwnedFd,
    output_read: Vec<u8>,
    exit_code: Option<i32>,
    is_reported: bool,
}

impl RunningProgram {
    /// Starts a command in a host's namespace.
    pub fn start(
        namespace: BorrowedFd<'_>,
        hosts_file: &str,
        identity: &Identity,
        command: &[String],
    ) -> Result<RunningProgram, LabError> {
        RunningProgram::with_input(namespace, hosts_file, identity, command, None)
    }

    /// Starts a command in a host's namespace, with `text` as a file on standard input, which it may open
    /// again (`/proc/self/fd/0`).
    pub fn start_with_input(
        namespace: BorrowedFd<'_>,
        hosts_file: &str,
        identity: &Identity,
        command: &[String],
        text: &str,
    ) -> Result<RunningProgram, LabError> {
        let file = file::memory_file(text.as_bytes()).map_err(LabError::system("a file in memory"))?;
        RunningProgram::with_input(namespace, hosts_file, identity, command, Some(file))
    }

    fn with_input(
        namespace: BorrowedFd<'_>,
        hosts_file: &str,
        identity: &Identity,
        command: &[String],
        stdin: Option<OwnedFd>,
    ) -> Result<RunningProgram, LabError> {
        let name = command.first().cloned().unwrap_or_default();
        let failed = || LabError::system(format!("starting {name}"));
        let (stderr, writing) = pipe::pipe().map_err(failed())?;
        file::set_nonblocking(stderr.as_fd()).map_err(failed())?;
        let null = File::options().write(true).open("/dev/null").map_err(failed())?;
        let argv: Vec<OsString> = command.iter().map(OsString::from).collect();
        let output = Output::Split { stdin, stdout: null.into(), stderr: writing };
        let author = Author::Scenario;
        let launch =
            Launch { namespace, hosts_file, argv: &argv, env: &[], identity, author, writable: &[], output };
        let running = launch.start()?;
        Ok(RunningProgram {
            name,
            running,
            stderr,
            output_read: Vec::new(),
            exit_code: None,
            is_reported: false,
        })
    }

    /// Whether the program has ended. Also reads its output, so that it never blocks on the pipe.
    pub fn has_ended(&mut self) -> bool {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = file::read(self.stderr.as_fd(), &mut buffer) {
            self.output_read.extend_from_slice(&buffer[..n]);
            let extra = self.output_read.len().saturating_sub(MAX_OUTPUT);
            self.output_read.drain(..extra);
        }
        if self.exit_code.is_none() {
            self.exit_code = self.running.try_wait().ok().flatten();
        }
        self.exit_code.is_some()
    }

    /// Whether the program has ended with exit code 0.
    pub fn has_succeeded(&mut self) -> bool {
        self.has_ended() && self.exit_code == Some(0)
    }

    /// Returns the exit code of a program that has ended, the first time it is called.
    pub fn take_end(&mut self) -> Option<i32> {
        let exit_code = self.exit_code.filter(|_| !self.is_reported);
        self.is_reported |= exit_code.is_some();
        exit_code
    }

    /// Returns the program's name, as its command line has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Describes how the program ended, with its last lines of output.
    pub fn last_output(&self) -> String {
        let output_read = String::from_utf8_lossy(&self.output_read);
        let lines: Vec<&str> = output_read.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join(" / ");
        let last = print::without_unseen(&last);
        let colon = if last.is_empty() { "" } else { ": " };
        format!("{}{colon}{last}", describe_exit(self.exit_code.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controls::Controls;
    use crate::plan::FlowPlan;

    /// Returns the command lines of a flow with these keys.
    fn lines(stack: &str, keys: &str) -> [String; 2] {
        let text = format!(
            r#"
            duration = "10s"
            [hosts.a]
            stack = {{ {stack} }}
            [links.l]
            between = ["a", "b"]
            [flows.f]
            from = "a"
            to = "b"
            {keys}
            "#
        );
        let file = scenario::Experiment::parse("t.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        let scenario = &file.variants[0].scenario;
        let plan = FlowPlan::new(scenario, None, &Controls::default()).unwrap();
        assert_eq!((plan.flows.len(), plan.legs.len()), (1, 1));
        let (server, client) = commands(scenario, &plan.flows[0], plan.legs[0].port).unwrap();
        [server.unwrap_or_default().join(" "), client.join(" ")]
    }

    #[test]
    fn a_flows_keys_become_iperf3_options() {
        // Every kernel lets every user choose Reno.
        let keys = "cc = \"reno\"\ntool = \"iperf3\"\ncount = 4\nstart = \"1500ms\"";
        let [server, client] = lines("", keys);
        assert_eq!(server, "iperf3 -4 -s -1 -p 5201");
        let begin = "iperf3 -4 -c 10.0.0.2 -p 5201 --connect-timeout 10000 -P";
        assert_eq!(client, format!("{begin} 4 -t 9 -C reno"));
        let keys = "cc = \"reno\"\ntool = \"iperf3\"\ndscp = 46\nmax_pacing_rate = \"5Mbit/s\"";
        let [_, client] = lines("mss = 1200", keys);
        assert_eq!(client, format!("{begin} 1 -t 10 -C reno -M 1200 --fq-rate 5000000 --dscp 46"));
        let bytes = "cc = \"reno\"\ntool = \"iperf3\"\ncount = 2\napp = { kind = \"bulk\", bytes = \"3MB\" }";
        let [_, client] = lines("pacing = true", bytes);
        assert_eq!(client, format!("{begin} 2 -n 6000000 -C reno --fq-rate 32000000000"));
        let udp = "tool = \"iperf3\"\napp = { kind = \"udp\", rate = \"15Mbit/s\", duration = \"2500ms\" }";
        let [_, client] = lines("", udp);
        assert_eq!(client, format!("{begin} 1 -t 3 -l 1472 -b 14720000 -u"));
    }

    #[test]
    fn a_commands_placeholders_are_filled() {
        let keys =
            "start = \"2700ms\"\ntool = \"x {from} {to}:{port} {cc} {duration}\"\nserver = \"y {port}\"";
        assert_eq!(lines("", keys), ["y 5201", "x 10.0.0.1 10.0.0.2:5201 cubic 7"]);
    }

    #[test]
    fn a_missing_program_is_named() {
        assert!(require("f", "sh").is_ok() && require("f", "/bin/sh").is_ok());
        let error = require("f", "/no/such/nc").unwrap_err().to_string();
        assert!(error.starts_with("flow f: program `/no/such/nc` is not installed"), "{error}");
    }
}
