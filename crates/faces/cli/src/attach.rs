//! `longfat attach`: puts a path in front of something that runs.

#[cfg(target_os = "linux")]
mod jobs;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod output;

#[cfg(target_os = "linux")]
pub use live::{attach, watcher};

/// Fails: attaching needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn attach(_: &crate::args::AttachArgs) -> Result<std::process::ExitCode, crate::problem::CliProblem> {
    let why =
        "this needs Linux, whose network devices it leads through a path; `longfat run` works on this system";
    Err(crate::problem::CliProblem::usage(why.into()))
}

/// Fails: attaching needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn watcher(
    _: &crate::args::AttachWatcherArgs,
) -> Result<std::process::ExitCode, crate::problem::CliProblem> {
    Err(crate::problem::CliProblem::usage("this needs Linux".into()))
}
