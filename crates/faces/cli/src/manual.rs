//! `longfat completions` and `longfat man`, generated from the description of the command line.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::problem::CliProblem;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::process::ExitCode;

/// Prints the completions for a shell.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, CliProblem> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut for_users(&Cli::command()), "longfat", &mut text);
    crate::print_own(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// The command line without commands that only longfat itself starts; `clap_complete` would list them.
fn for_users(cli: &Command) -> Command {
    let shown = cli.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    Command::new("longfat").version(env!("LONGFAT_VERSION")).subcommands(shown)
}

/// Prints a manual page, or writes all of them.
pub fn man(args: &ManArgs) -> Result<ExitCode, CliProblem> {
    let mut cli = Cli::command();
    if let Some(folder) = &args.out {
        let wrong = |e| CliProblem::io(folder.display().to_string(), e);
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(cli, folder)).map_err(wrong)?;
        crate::print(&format!("manual pages in {}\n", folder.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    cli.build();
    let page = match &args.command {
        None => cli,
        Some(name) => cli.find_subcommand(name).cloned().ok_or_else(|| {
            let names: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
            CliProblem::usage(format!("no such command: `{name}`; there are: {}", names.join(", ")))
        })?,
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(|e| CliProblem::io("the manual page".into(), e))?;
    crate::print_own(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completions_list_all_commands_but_those_that_longfat_starts() {
        let shown = for_users(&Cli::command());
        let names: Vec<&str> = shown.get_subcommands().map(Command::get_name).collect();
        assert!(names.contains(&"attach") && !names.contains(&"attach-watcher"), "{names:?}");
        assert_eq!(names.len() + 1, Cli::command().get_subcommands().count());
    }
}
