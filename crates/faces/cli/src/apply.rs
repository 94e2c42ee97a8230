//! `longfat apply`: changes congestion control and pacing of connections that run.

#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod text;

#[cfg(target_os = "linux")]
pub use live::apply;

/// Fails: changing the connections of other programs needs Linux.
#[cfg(not(target_os = "linux"))]
pub fn apply(_: &crate::args::ApplyArgs) -> Result<std::process::ExitCode, crate::problem::CliProblem> {
    let why = "this needs Linux, whose connections it changes; `longfat plan` works on this system";
    Err(crate::problem::CliProblem::usage(why.into()))
}
