//! The options of every command, and their `--help` texts.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use units::Span;

mod apply;
mod attach;
mod begin;
mod check;
mod explore;
mod export;
mod filter;
mod fit;
mod import;
mod measure;
mod plan;
mod proxy;
mod reproduce;
mod serve;
mod sweep;
mod watch;

pub use apply::ApplyArgs;
pub use attach::{AttachArgs, AttachWatcherArgs};
pub use begin::*;
pub use check::*;
pub use explore::ExploreArgs;
pub use export::{ExportArgs, ExportFormat};
pub use filter::FilterArgs;
pub use fit::FitArgs;
pub use import::*;
pub use measure::MeasureArgs;
pub use plan::PlanArgs;
pub use proxy::ProxyArgs;
pub use reproduce::ReproduceArgs;
pub use serve::ServeArgs;
pub use sweep::SweepArgs;
#[cfg(target_os = "linux")]
pub use watch::LiveArg;
pub use watch::WatchArgs;

const EXIT_CODES: &str = "Exit codes: 0 success; 1 a check failed or nothing was found; 2 bad input.";

/// Find out why a network path is slow, what would fix it, and prove the fix.
#[derive(Debug, Parser)]
#[command(name = "longfat", version = env!("LONGFAT_VERSION"), after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario and compare its variants in one table.
    Run(RunArgs),
    /// Run every combination of values of a scenario's keys into one dataset; can be resumed.
    Sweep(SweepArgs),
    /// List, show and copy the built-in scenarios.
    Examples(ExamplesArgs),
    /// Write a scenario from a few options or questions.
    New(NewArgs),
    /// Convert a tc script or router configuration to a scenario, and check it for mistakes.
    Import(ImportArgs),
    /// Write a scenario as a containerlab topology, and list what cannot be expressed there.
    Export(ExportArgs),
    /// Write a page and plots (PNG, SVG) from saved results, one or several side by side.
    Report(ReportArgs),
    /// Show what limited each flow of a packet capture, for which share of the time, and what to do.
    Diagnose(DiagnoseArgs),
    /// Run a program and diagnose its connections, or those of this host, live.
    Watch(WatchArgs),
    /// Measure the path to a host that runs `longfat serve`: what limits it, and the cures that help.
    Measure(MeasureArgs),
    /// Answer the tests of `longfat measure`.
    Serve(ServeArgs),
    /// Make a scenario that behaves like a captured path, and report how well it fits.
    Fit(FitArgs),
    /// Find what would make a scenario's flows faster, rank it, and print the commands.
    Plan(PlanArgs),
    /// Repeat published studies: their numbers next to ours, and a verdict on every claim.
    Reproduce(ReproduceArgs),
    /// Serve the simulator as a web page with sliders.
    Explore(ExploreArgs),
    /// Run a program inside a scenario, on the real kernel.
    Shell(ShellArgs),
    /// Put a path in front of a running container, process, namespace or network device.
    Attach(AttachArgs),
    /// Removes the filters of a longfat that is killed; `attach` starts it.
    #[command(hide = true)]
    AttachWatcher(AttachWatcherArgs),
    /// Give running connections another congestion control or a pacing cap for a while, without a restart.
    Apply(ApplyArgs),
    /// Check the TCP settings of this host and its containers, and what they cost on a path.
    Check(CheckArgs),
    /// Run a TCP proxy that splits connections: each side gets its own congestion control and pacing.
    Proxy(ProxyArgs),
    /// Measure how accurate kernel runs are on this machine.
    Lab(LabArgs),
    /// List, load and unload congestion controls of the running kernel.
    Cc(CcArgs),
    /// Print the JSON Schema of scenario files or of a command's JSON output.
    Schema(SchemaArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Print or write manual pages.
    Man(ManArgs),
}

#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Measure up to which rate, packet rate and number of links this machine keeps time (half a minute).
    Check(LabCheckArgs),
}

#[derive(Debug, Args)]
pub struct LabCheckArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The format to describe.
    #[arg(value_enum, default_value_t = Described::Scenario)]
    pub of: Described,
}

/// A format that has a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Described {
    /// Scenario files (for editors).
    Scenario,
    /// `result.json`, also printed by `run --json`.
    Result,
    /// `diagnosis.json`, also printed by `diagnose --json`.
    Diagnosis,
    /// A line of `watch --live json`.
    Watch,
    /// Output of `fit --json`.
    Fit,
    /// Output of `plan --json`.
    Plan,
    /// Output of `check --json`.
    Check,
    /// Output of `reproduce --json`.
    Reproduction,
    /// `measurement.json`, also printed by `measure --json`.
    Measure,
}

/// The clock that drives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// The simulator.
    Sim,
    /// The Linux kernel's own TCP, in network namespaces, in real time.
    Kernel,
    /// The simulator, then the kernel: two columns and their ratio.
    Both,
}

impl ClockArg {
    /// Returns the clocks to run on, in order.
    pub fn each(self) -> &'static [result::Clock] {
        use result::Clock::{Kernel, Sim};
        match self {
            ClockArg::Sim => &[Sim],
            ClockArg::Kernel => &[Kernel],
            ClockArg::Both => &[Sim, Kernel],
        }
    }
}

#[derive(Debug, Args)]
#[command(after_help = "\
Writes a results folder (docs/result-schema.md) and prints its path: report.html (open this), result.json,
time series as Parquet, provenance.json and a copy of the scenario.

  longfat run home-line
  longfat run path.toml --set flows.bulk.cc=bbr --expect 'bulk.goodput > 18Mbit/s'
  sudo longfat run path.toml --on both

Exit codes: 0 success; 1 a variant delivered nothing, an --expect was not met, or a run or one of its components
failed (finished runs are kept); 2 bad input, nothing was run; 130 interrupted by Ctrl-C (finished runs are kept).

--on kernel needs root, or user namespaces and read/write access to /dev/net/tun. It runs in its own network
namespaces, which disappear when longfat ends.")]
pub struct RunArgs {
    /// Scenario file (TOML) or name of a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// Let the scenario refer to files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// With --on kernel: start a scenario's programs (`tool`, `server`) without asking, even if the scenario
    /// is outside the current folder.
    #[arg(long)]
    pub allow_tools: bool,
    /// With --on kernel as root: run the flows' programs as this user, NAME or UID with an optional :GID.
    /// Default: the user who called sudo, else nobody.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Run in the simulator, on the kernel, or on both.
    #[arg(long, value_enum, default_value_t = ClockArg::Sim)]
    pub on: ClockArg,
    /// Override a key of the scenario in every variant, e.g. `flows.bulk.cc=bbr` or
    /// `links.wan.forward.policer.rate=20Mbit/s`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run each variant N times, with seeds SEED, SEED+1, …, and print means with 95 % confidence intervals;
    /// 1 is a single run without scheduling delays on the hosts. Default: 5, fewer if 5 would simulate more
    /// than 30 million packets; 1 on the kernel and with --pcap.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: Option<u32>,
    /// Seed of the first repeat. Default: the scenario's seed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run only this variant; can be given several times.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Add table rows that aggregate flows. Default: only if a variant has more than 8 flows.
    #[arg(long, value_enum, value_name = "BY")]
    pub group: Option<GroupArg>,
    /// Print one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Folder for the results. Default: longfat-results/SCENARIO-NAME. Results of another scenario or of
    /// other settings are not overwritten without --force.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace any results in the folder.
    #[arg(long)]
    pub force: bool,
    /// Continue an interrupted command: run only what is missing.
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
    /// Require a result, e.g. `upload.goodput > 18Mbit/s` (docs/run.md); can be given several times. Each is
    /// printed with the measured value; the exit code is 1 if one is not met.
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
    /// Measure the path's operating points instead: throughput and RTT of one flow alone (FLOW, or the first
    /// TCP flow) with its window fixed at fractions and multiples of the bandwidth-delay product. Writes a
    /// plot per variant (docs/run.md).
    #[arg(long, value_name = "FLOW", num_args = 0..=1, require_equals = true, conflicts_with_all = ["on", "expect", "repeat", "pcap", "resume"])]
    pub operating_point: Option<Option<String>>,
    /// Also print what the routers would show (docs/networks.md): counters of limiters; on the kernel also
    /// tunnels, security associations, BGP sessions and routes of each customer.
    #[arg(long)]
    pub show: bool,
    /// Exit with code 1 if a kernel measurement is not trustworthy (docs/lab.md). Default: only warn.
    #[arg(long)]
    pub strict: bool,
    /// Write the packets of each host to DIR/VARIANT/HOST.pcap (headers only); with `--on both` to
    /// DIR/VARIANT-sim and DIR/VARIANT-kernel.
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// With --pcap: also write the packets that left each stage, to DIR/VARIANT/LINK.forward.STAGE.pcap.
    #[arg(long, requires = "pcap")]
    pub pcap_stages: bool,
    #[command(flatten)]
    pub drawn: Drawn,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// Number of simultaneous runs. Default: one per core; always one on the kernel.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// The property that flows of an aggregated row share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupArg {
    /// Congestion control.
    Cc,
    /// Sending host.
    From,
    /// Sending and receiving host.
    Direction,
    /// Flow of the scenario (one with a `count` is several connections).
    Name,
    /// No aggregated rows.
    None,
}

impl GroupArg {
    /// Converts the option to the table's grouping.
    pub fn grouping(this: Option<GroupArg>) -> report::Grouping {
        use report::{GroupBy, Grouping};
        match this {
            None => Grouping::Unasked,
            Some(GroupArg::None) => Grouping::None,
            Some(GroupArg::Cc) => Grouping::By(GroupBy::Cc),
            Some(GroupArg::From) => Grouping::By(GroupBy::From),
            Some(GroupArg::Direction) => Grouping::By(GroupBy::Direction),
            Some(GroupArg::Name) => Grouping::By(GroupBy::Name),
        }
    }
}

/// Options of the plots and the page.
#[derive(Debug, Args)]
pub struct Drawn {
    /// Write every plot of every variant to DIR/VARIANT-PLOT.png, and a comparison to DIR/compare.png.
    #[arg(long, value_name = "DIR")]
    pub png: Option<PathBuf>,
    /// Write the plots as SVG.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Language of the plots, and the page's default language.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// Background of the plots; the page follows the browser's setting.
    #[arg(long, value_enum, default_value_t = ThemeArg::Light)]
    pub theme: ThemeArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LangArg {
    /// English.
    En,
    /// Chinese.
    Zh,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeArg {
    /// White, for papers.
    Light,
    /// Nearly black, for slides.
    Dark,
}

#[derive(Debug, Args)]
#[command(after_help = "\
RESULT is a folder written by `longfat run`, or the result.json in it. The page of several results shows all
variants in one table and the plots of any two side by side. The page of a folder written by `longfat sweep`
shows heat maps and distributions over all cells. Of a measurement (`longfat measure --out`) the page is written; of
two measurements, what changed beyond their spread is printed, and written with -o.

  longfat report longfat-results/policer-or-shaper --png plots
  longfat report before after -o comparison.html")]
pub struct ReportArgs {
    /// Result folders, or measurements.
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,
    /// File for the page. Default: report.html in the result's folder; in the current folder for several
    /// results.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub drawn: Drawn,
    /// Print the names of the written files as one JSON object.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
CAPTURE is a pcap, pcapng, snoop or ERF file, compressed or not, taken at the sender, at the receiver or in
between. A flow is one direction of a TCP connection that carried payload; the table shows its number. UDP flows
have their own table.

  longfat diagnose trace.pcap
  longfat diagnose trace.pcap.xz --report trace.html --flow 4 --flow 6
  longfat diagnose trace.pcap --host 10.1.0.0/16 --port 443 --from 60 --to 120
  longfat diagnose captures/ --json
  longfat diagnose client.pcap server.pcap --both-ends
  longfat diagnose quic.pcap --qlog server.sqlog
  ssh router tcpdump -w - -s 128 | longfat diagnose -
  sudo longfat diagnose -i eth0 --for 30s --write trace.pcap

Captures of a folder are diagnosed one by one (a JSON array with --json); --joined reads them as one.
A packet is read if its source or destination matches a --host, and one of its ports a --port.

Exit codes: 0 success; 1 no flow in the capture, or the capture is damaged (everything before the damage is
diagnosed); 2 it cannot be opened, is not a capture, or the filter matches nothing. A folder: the highest code of
its captures.")]
pub struct DiagnoseArgs {
    /// Capture file, or a folder of captures; `-` reads standard input.
    #[arg(required_unless_present_any = ["qlog", "interface"])]
    pub capture: Option<PathBuf>,
    /// With --both-ends: the simultaneous capture from the other end.
    #[arg(value_name = "OTHER", requires = "both_ends")]
    pub other: Option<PathBuf>,
    /// Capture live on this network device, `any` for all; needs Linux and CAP_NET_RAW (or root).
    #[arg(short, long, value_name = "DEVICE", conflicts_with_all = ["capture", "joined", "qlog", "from", "to"])]
    pub interface: Option<String>,
    /// With -i: stop after this time, e.g. 30s. Default: at Ctrl-C.
    #[arg(long = "for", value_name = "TIME", requires = "interface")]
    pub time: Option<Span>,
    /// With -i: write the captured headers to this pcap file.
    #[arg(long, value_name = "FILE", requires = "interface")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Read the captures of a folder as one, the earliest first (files of a rotating capture).
    #[arg(long)]
    pub joined: bool,
    /// Combine CAPTURE and OTHER, taken at the two ends of a path: shows what was lost in between and each
    /// packet's one-way delay. The clocks may differ, and a NAT may be in between.
    #[arg(long, requires = "other", conflicts_with = "joined")]
    pub both_ends: bool,
    /// Diagnose a QUIC endpoint's log (qlog of any version), with a capture or alone; a sender's log shows
    /// most. Can be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "joined")]
    pub qlog: Vec<PathBuf>,
    /// Print the diagnosis as one JSON object (docs/diagnosis-schema.md).
    #[arg(long)]
    pub json: bool,
    /// Write a page with plots of the flows with most bytes, or of those named by --flow.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write diagnosis.json, flows.parquet and packets.parquet to a folder, with a subfolder for each of
    /// several captures.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show only the flow with this number; can be given several times. packets.parquet always has all
    /// flows.
    #[arg(long, value_name = "N")]
    pub flow: Vec<u32>,
    /// Number of flows in the table.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Language of the text, and the page's default language.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// Show no progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each host is its own network namespace; programs reach the other hosts by name. Programs run without privileges:
as you, even if longfat was started with sudo; if root started it, as nobody, with write access to the current
folder. When the program ends, everything started with it ends too.

Exit codes: the program's own, or 128 + the number of the signal that ended it; 127 it was not found; 126 it cannot be
executed; 2 bad input, or the network could not be set up; 1 instead of 0 if a daemon, relay or server of the network
died.

  longfat shell home-line.toml
  longfat shell home-line.toml -- ping -c 5 server
  longfat shell home-line.toml --serve server='iperf3 -s' -- iperf3 -c server")]
pub struct ShellArgs {
    /// Scenario file (TOML) or name of a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// Let the scenario refer to files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// With --flows: start a scenario's programs (`tool`, `server`) without asking, even if the scenario is
    /// outside the current folder.
    #[arg(long)]
    pub allow_tools: bool,
    /// As root: run programs as this user, NAME or UID with an optional :GID. Default: the user who called
    /// sudo, else nobody.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Host that the program runs on. Default: the sender of the scenario's first flow.
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Variant of the scenario. Default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Override a key of the scenario, as in `longfat run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of random loss, jitter and so on. Default: the scenario's seed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run a shell command on another host at the same time, e.g. a server; can be given several times. The
    /// program waits up to a second for it to listen.
    #[arg(long, value_name = "HOST=COMMAND")]
    pub serve: Vec<String>,
    /// As root: let programs write to this folder, besides the current folder, the home folder, /tmp and
    /// /var/tmp; can be given several times.
    #[arg(long, value_name = "DIR")]
    pub writable: Vec<PathBuf>,
    /// Also play the scenario's own flows, once, as background traffic.
    #[arg(long)]
    pub flows: bool,
    /// The program and its arguments. Default: your shell.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct CcArgs {
    #[command(subcommand)]
    pub command: CcCommand,
}

#[derive(Debug, Subcommand)]
pub enum CcCommand {
    /// List the congestion controls of the kernel, the simulator and longfat's eBPF programs.
    List(CcListArgs),
    /// Load one of longfat's eBPF congestion controls into the kernel, for all programs, until a restart.
    Load(CcLoadArgs),
    /// Unload a congestion control that `longfat cc load` loaded.
    Unload(CcUnloadArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Column `kernel`: `default`, new sockets start with it; `for all`, any program may choose it; `for root`, only programs
with CAP_NET_ADMIN may (sysctl net.ipv4.tcp_allowed_congestion_control changes that).
Column `sockets`: TCP sockets of this network namespace that use it now.")]
pub struct CcListArgs {
    /// Print one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Needs CAP_BPF and CAP_PERFMON (or root), and Linux 6.10 or later with BTF. The congestion control stays loaded, pinned
in /sys/fs/bpf/longfat, until it is unloaded or the machine restarts. The kernel's name for it has underscores for
hyphens. Loading it again with other parameters replaces it; existing sockets keep the old parameters. `run --on
kernel` and `shell` load what they need themselves.

  sudo longfat cc load bbr-hsr --set T=40ms

Exit codes: 0 it is loaded; 2 it cannot be loaded.")]
pub struct CcLoadArgs {
    /// Name of the congestion control, as `longfat cc list` shows it.
    pub name: String,
    /// Set a parameter, as a scenario's `cc` does, e.g. `T=40ms`; can be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Existing sockets keep it until they close.

Exit codes: 0 it is unloaded; 1 longfat had not loaded it; 2 it cannot be unloaded.")]
pub struct CcUnloadArgs {
    /// Name of the congestion control.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub name: Option<String>,
    /// Unload all that `longfat cc load` loaded.
    #[arg(long)]
    pub all: bool,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
