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
    clap_complete::generate(args.shell, &mut Cli::command(), "longfat", &mut text);
    crate::print_own(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
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
