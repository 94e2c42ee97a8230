//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use units::Span;

mod begin;
mod check;
mod explore;
mod export;
mod filter;
mod fit;
mod import;
mod plan;
mod proxy;
mod reproduce;
mod sweep;
mod watch;

pub use begin::*;
pub use check::*;
pub use explore::ExploreArgs;
pub use export::{ExportArgs, ExportFormat};
pub use filter::FilterArgs;
pub use fit::FitArgs;
pub use import::*;
pub use plan::PlanArgs;
pub use proxy::ProxyArgs;
pub use reproduce::ReproduceArgs;
pub use sweep::SweepArgs;
pub use watch::WatchArgs;

const EXIT_CODES: &str = "Exit codes: 0 ok, 1 it ran and the answer is \"no\", 2 bad input.";

/// Finds out why a network path is slow, what would fix it, and proves the fix.
#[derive(Debug, Parser)]
#[command(name = "longfat", version = env!("LONGFAT_VERSION"), after_help = EXIT_CODES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs a scenario and prints its variants side by side.
    Run(RunArgs),
    /// Runs every combination of values of a scenario's keys, resumable, into one dataset.
    Sweep(SweepArgs),
    /// Lists, shows and copies the scenarios that are built in.
    Examples(ExamplesArgs),
    /// Writes a scenario from a few answers.
    New(NewArgs),
    /// Makes a scenario of another program's configuration, and says what is wrong with it.
    Import(ImportArgs),
    /// Writes a scenario as a containerlab topology, and says what that cannot say.
    Export(ExportArgs),
    /// Writes the page of results that are there, one or several side by side, and plots as PNG or SVG.
    Report(ReportArgs),
    /// Says of each flow of a packet capture what limited it, for which share of the time, and what to do.
    Diagnose(DiagnoseArgs),
    /// Says why a program's connections, or this host's, are slow: it runs the program and diagnoses them live.
    Watch(WatchArgs),
    /// Makes a scenario that behaves as a captured path did, and says how well it fits.
    Fit(FitArgs),
    /// Tries what would make a scenario's flows faster, ranks it, and prints the commands.
    Plan(PlanArgs),
    /// Runs published studies again: their numbers beside ours, a verdict on every claim.
    Reproduce(ReproduceArgs),
    /// Serves the simulator as a page: move the sliders, watch what follows.
    Explore(ExploreArgs),
    /// Runs a program inside a scenario, on the real kernel.
    Shell(ShellArgs),
    /// Says what this host and its network namespaces and containers do to TCP, and what it costs on a path.
    Check(CheckArgs),
    /// Ends connections near their users and carries them on, each side with its own congestion control and pacing.
    Proxy(ProxyArgs),
    /// What this machine's lab can measure.
    Lab(LabArgs),
    /// Congestion controls of the running kernel, longfat's own among them.
    Cc(CcArgs),
    /// Prints the JSON Schema of scenario files, for editors, or of results, diagnoses, fits, plans, checks or reproductions.
    Schema(SchemaArgs),
    /// Prints completions for a shell.
    Completions(CompletionsArgs),
    /// Prints or writes manual pages.
    Man(ManArgs),
}

/// `longfat lab`.
#[derive(Debug, Args)]
pub struct LabArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// What `longfat lab` does.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Measures up to which rate, packet rate and number of links in a row this machine is punctual; takes half a minute.
    Check(LabCheckArgs),
}

/// `longfat lab check`.
#[derive(Debug, Args)]
pub struct LabCheckArgs {
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
}

/// `longfat schema`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// Of what.
    #[arg(value_enum, default_value_t = Described::Scenario)]
    pub of: Described,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Described {
    /// Scenario files.
    Scenario,
    /// `result.json`, as `run --json` prints it.
    Result,
    /// `diagnosis.json`, as `diagnose --json` prints it.
    Diagnosis,
    /// What `fit --json` prints.
    Fit,
    /// What `plan --json` prints.
    Plan,
    /// What `check --json` prints.
    Check,
    /// What `reproduce --json` prints.
    Reproduction,
}

/// Which clock drives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// The simulator.
    Sim,
    /// The Linux kernel's own TCP, in network namespaces, in real time.
    Kernel,
    /// First one, then the other: two columns and their ratio.
    Both,
}

impl ClockArg {
    /// The clocks to run on, in order.
    pub fn each(self) -> &'static [result::Clock] {
        use result::Clock::{Kernel, Sim};
        match self {
            ClockArg::Sim => &[Sim],
            ClockArg::Kernel => &[Kernel],
            ClockArg::Both => &[Sim, Kernel],
        }
    }
}

/// `longfat run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Writes report.html (the page to look at), result.json, time series as Parquet, provenance.json and a
copy of the scenario into a folder (docs/result-schema.md), and says which.

Exit codes: 0 ok; 1 in some variant nothing arrived at all, something expected is not met, a run failed
or a component of one died (what was finished is kept); 2 bad input, nothing was run; 130 ended by Ctrl-C (what was finished is kept).

--on kernel needs root, or user namespaces and an open /dev/net/tun. It makes network namespaces of
its own, held by this process alone: nothing is left of them however it ends.")]
pub struct RunArgs {
    /// Scenario file (TOML), or a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// Lets the scenario name files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// With --on kernel: starts the programs of a scenario (`tool`, `server`) from outside the current folder without asking.
    #[arg(long)]
    pub allow_tools: bool,
    /// With --on kernel, where root runs it: whom programs of flows run as, NAME or UID, perhaps with :GID; default: whoever
    /// called sudo, else nobody.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// What drives it.
    #[arg(long, value_enum, default_value_t = ClockArg::Sim)]
    pub on: ClockArg,
    /// Overrides a key of the scenario in every variant, for example `flows.bulk.cc=bbr` or
    /// `links.wan.forward.policer.rate=20Mbit/s`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Runs each variant N times, with the seeds SEED, SEED+1 …, and prints means with 95 % intervals; 1: a single run, with
    /// hosts that are never late. Default: 5; 3 or 4 where 5 would be more than 30 million packets, 1 where 3 would be; 1 on
    /// the kernel and with --pcap.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repeat: Option<u32>,
    /// Seed of the first repeat; default: the scenario's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Runs only this variant; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub variant: Vec<String>,
    /// Rows of the table for flows put together; default: where a variant has more than 8 flows.
    #[arg(long, value_enum, value_name = "BY")]
    pub group: Option<GroupArg>,
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Folder for the results; default: longfat-results/SCENARIO-NAME. One that holds results of another scenario or of
    /// other settings is left as it is.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replaces results in the folder, whatever they are of.
    #[arg(long)]
    pub force: bool,
    /// Goes on with runs that were ended early: runs only what is not there yet.
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
    /// What the run must come to, for example `upload.goodput > 18Mbit/s`; may be given several times (docs/run.md). Each
    /// is printed with what was measured; exit code 1 when one is not met.
    #[arg(long, value_name = "EXPR")]
    pub expect: Vec<String>,
    /// Measures the path's operating points instead: the rate and the round trip of one flow alone (the first that is TCP, or the
    /// one called FLOW) with its window held at parts and multiples of the bandwidth-delay product; writes a plot of each
    /// variant (docs/run.md).
    #[arg(long, value_name = "FLOW", num_args = 0..=1, require_equals = true, conflicts_with_all = ["on", "expect", "repeat", "pcap", "resume"])]
    pub operating_point: Option<Option<String>>,
    /// Prints behind the table what routers would show (docs/networks.md): on the kernel tunnels, security associations, BGP
    /// sessions and routes of each customer, on either clock the counters of limiters.
    #[arg(long)]
    pub show: bool,
    /// Exit code 1 where a measurement on the kernel is not to be trusted (docs/lab.md); else it is only said.
    #[arg(long)]
    pub strict: bool,
    /// Writes what each host sent and received as DIR/VARIANT/HOST.pcap (headers only); with
    /// `--on both` as DIR/VARIANT-sim and DIR/VARIANT-kernel.
    #[arg(long, value_name = "DIR")]
    pub pcap: Option<PathBuf>,
    /// With --pcap: also what left each stage, as DIR/VARIANT/LINK.forward.STAGE.pcap.
    #[arg(long, requires = "pcap")]
    pub pcap_stages: bool,
    /// How the page and the plots are drawn.
    #[command(flatten)]
    pub drawn: Drawn,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
    /// How many runs at a time; default: one for each core. On the kernel always one.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

/// What flows are put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupArg {
    /// Congestion control.
    Cc,
    /// The host that sends.
    From,
    /// Both hosts, in the direction of the data.
    Direction,
    /// The scenario's flow, of which `count` are alike.
    Name,
    /// No such rows.
    None,
}

impl GroupArg {
    /// As the table takes it.
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

/// How a result is drawn.
#[derive(Debug, Args)]
pub struct Drawn {
    /// Writes every plot of every variant as DIR/VARIANT-PLOT.png, and DIR/compare.png.
    #[arg(long, value_name = "DIR")]
    pub png: Option<PathBuf>,
    /// The same as SVG.
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Language of the plots, and of the page when it is opened.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// Ground of the plots; the page follows the reader's own.
    #[arg(long, value_enum, default_value_t = ThemeArg::Light)]
    pub theme: ThemeArg,
}

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LangArg {
    /// English.
    En,
    /// Chinese.
    Zh,
}

/// A ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThemeArg {
    /// White: papers.
    Light,
    /// Nearly black: slides.
    Dark,
}

/// `longfat report`.
#[derive(Debug, Args)]
#[command(after_help = "\
RESULT is a folder that `longfat run` wrote, or the result.json in it. Of several the page shows all
variants in one table, and the plots of any two side by side. Of a folder that `longfat sweep` wrote it draws heat maps
and distributions over all cells.

  longfat report longfat-results/policer-or-shaper --png plots
  longfat report before after -o comparison.html")]
pub struct ReportArgs {
    /// Results.
    #[arg(required = true, value_name = "RESULT")]
    pub results: Vec<PathBuf>,
    /// The page; default: report.html, in the result's folder when it is one, else here.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How.
    #[command(flatten)]
    pub drawn: Drawn,
    /// Prints one JSON object, the files written, instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `longfat diagnose`.
#[derive(Debug, Args)]
#[command(after_help = "\
CAPTURE is a pcap, pcapng, snoop or ERF file, also compressed, taken at the sender, at the receiver or
in between.
A flow is one direction of a TCP connection that carried payload; its number stands in the table. UDP flows
have a table of their own.

  longfat diagnose trace.pcap
  longfat diagnose trace.pcap.xz --report trace.html --flow 4 --flow 6
  longfat diagnose trace.pcap --host 10.1.0.0/16 --port 443 --from 60 --to 120
  longfat diagnose captures/ --json
  longfat diagnose client.pcap server.pcap --both-ends
  longfat diagnose quic.pcap --qlog server.sqlog
  ssh router tcpdump -w - -s 128 | longfat diagnose -
  sudo longfat diagnose -i eth0 --for 30s --write trace.pcap

Of a folder each capture is told by itself, as an array with --json, unless --joined makes one of them.
A packet is kept if an end matches any --host and an end matches any --port.

Exit codes: 0 ok; 1 no flow in it, or it is damaged (what stood before the damage is told); 2 it
cannot be opened, is no capture, or a filter matches nothing. Of a folder: the worst of them.")]
pub struct DiagnoseArgs {
    /// The capture, or a folder of them; `-` reads standard input.
    #[arg(required_unless_present_any = ["qlog", "interface"])]
    pub capture: Option<PathBuf>,
    /// With --both-ends: the capture that was taken at the same time at the other end.
    #[arg(value_name = "OTHER", requires = "both_ends")]
    pub other: Option<PathBuf>,
    /// Captures packets of this network device instead, `any` for all; needs Linux and CAP_NET_RAW (root has it).
    #[arg(short, long, value_name = "DEVICE", conflicts_with_all = ["capture", "joined", "qlog", "from", "to"])]
    pub interface: Option<String>,
    /// With -i: for how long, for example 30s; default: until Ctrl-C.
    #[arg(long = "for", value_name = "TIME", requires = "interface")]
    pub time: Option<Span>,
    /// With -i: writes the headers that were captured to this file (pcap).
    #[arg(long, value_name = "FILE", requires = "interface")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub filter: FilterArgs,
    /// Reads a folder's captures as one, the earliest first: files that a capture program began one after the other.
    #[arg(long)]
    pub joined: bool,
    /// Puts CAPTURE and OTHER together, taken at the two ends of a path: what was lost between them, and how long each packet
    /// took, is then known. Clocks may differ, and NAT may stand between.
    #[arg(long, requires = "other", conflicts_with = "joined")]
    pub both_ends: bool,
    /// A QUIC endpoint's log (qlog of any version), with a capture or alone. It is diagnosed as a capture at that endpoint is; a
    /// sender's log shows most. May be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "joined")]
    pub qlog: Vec<PathBuf>,
    /// Prints the diagnosis as one JSON object instead of text (docs/diagnosis-schema.md).
    #[arg(long)]
    pub json: bool,
    /// Writes a page to look at: plots of the flows with most bytes, or of those that --flow names.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Writes diagnosis.json, flows.parquet and packets.parquet into a folder; of several captures into a folder each.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only this flow, by number; may be given several times. packets.parquet holds all the same.
    #[arg(long, value_name = "N")]
    pub flow: Vec<u32>,
    /// Rows of the table.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Language of the text, and of the page when it is opened.
    #[arg(long, value_enum, default_value_t = LangArg::En)]
    pub lang: LangArg,
    /// No progress bar.
    #[arg(long)]
    pub no_progress: bool,
}

/// `longfat shell`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each host is a network namespace of its own; programs reach the others by name. They run without
privileges: as you, also when longfat was started with sudo; as nobody, with the current folder to write
to, when root started it. When the program ends, so does everything that was started beside it.

Exit code: the program's own, or 128 and the number of the signal that ended it; 127 when it was
not found, 126 when it cannot be run; 2 bad input, or the network could not be made; 1 instead of 0
where a daemon, relay or server of the network died meanwhile.

  longfat shell home-line.toml
  longfat shell home-line.toml -- ping -c 5 server
  longfat shell home-line.toml --serve server='iperf3 -s' -- iperf3 -c server")]
pub struct ShellArgs {
    /// Scenario file (TOML), or a built-in example; `-` reads standard input.
    pub scenario: PathBuf,
    /// Lets the scenario name files outside its own folder.
    #[arg(long)]
    pub allow_files: bool,
    /// With --flows: starts the programs of a scenario (`tool`, `server`) from outside the current folder without asking.
    #[arg(long)]
    pub allow_tools: bool,
    /// Where root runs it: whom programs run as, NAME or UID, perhaps with :GID; default: whoever called sudo, else nobody
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Where the program runs; default: where the scenario's first flow begins.
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Which variant; default: the first.
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Overrides a key of the scenario, as in `longfat run`.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of loss, jitter and the like; default: the scenario's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Runs a shell command on another host beside the program; may be given several times. The
    /// program waits up to a second for it to listen.
    #[arg(long, value_name = "HOST=COMMAND")]
    pub serve: Vec<String>,
    /// Where root runs it: a folder that programs may write to besides the current one, the home, /tmp and /var/tmp; may be given several times
    #[arg(long, value_name = "DIR")]
    pub writable: Vec<PathBuf>,
    /// Also plays the scenario's own flows, once, as traffic beside the program.
    #[arg(long)]
    pub flows: bool,
    /// The program and its arguments; default: your shell.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `longfat cc`.
#[derive(Debug, Args)]
pub struct CcArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: CcCommand,
}

/// What to do with congestion controls.
#[derive(Debug, Subcommand)]
pub enum CcCommand {
    /// Lists those of the kernel, the simulator and longfat's eBPF programs.
    List(CcListArgs),
    /// Loads an eBPF program of longfat's into the kernel, for everybody and to stay.
    Load(CcLoadArgs),
    /// Takes it out again.
    Unload(CcUnloadArgs),
}

/// `longfat cc list`.
#[derive(Debug, Args)]
#[command(after_help = "\
kernel: `default` is what new sockets begin with; `for all`, any program may choose it; `for root`,
only one with CAP_NET_ADMIN (sysctl net.ipv4.tcp_allowed_congestion_control changes that).
sockets: TCP sockets of this network namespace that use it now.")]
pub struct CcListArgs {
    /// Prints one JSON object instead of the table.
    #[arg(long)]
    pub json: bool,
}

/// `longfat cc load`.
#[derive(Debug, Args)]
#[command(after_help = "\
It needs CAP_BPF and CAP_PERFMON (root has them), and Linux 6.10 or later with BTF. The control stays,
pinned in /sys/fs/bpf/longfat, until it is unloaded or the machine restarts; in the kernel a hyphen
of its name is an underscore. Loaded again with other parameters it is replaced; sockets that use it
keep the old ones. `run --on kernel` and `shell` need none of this: they load what they use.

Exit code: 0 it is loaded, 2 it cannot be.")]
pub struct CcLoadArgs {
    /// Which: `longfat cc list` shows them.
    pub name: String,
    /// Sets a parameter as a scenario's `cc` does, for example `T=40ms`; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `longfat cc unload`.
#[derive(Debug, Args)]
#[command(after_help = "\
Sockets that use it keep it until they close.

Exit code: 0 it is unloaded, 1 longfat had not loaded it, 2 it cannot be.")]
pub struct CcUnloadArgs {
    /// Which.
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    pub name: Option<String>,
    /// All that longfat has loaded for everybody.
    #[arg(long)]
    pub all: bool,
    /// Prints one JSON object instead of text.
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
