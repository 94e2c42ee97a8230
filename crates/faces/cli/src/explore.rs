//! `longfat explore`: serves the explorer's page, whose runs are simulated by this process; or writes a page
//! that contains the engine as WebAssembly.

mod connection;
mod questions;
mod request;
mod serve;
mod site;

use crate::args::ExploreArgs;
use crate::problem::CliProblem;
use app::output::write_file;
use std::process::ExitCode;

pub fn explore(args: &ExploreArgs) -> Result<ExitCode, CliProblem> {
    let Some(folder) = &args.write else { return serve::serve(args) };
    let page = site::static_page()?;
    let file = write_file(&folder.join("index.html"), page.as_bytes())?.display().to_string();
    if args.json {
        crate::print_json(&result::to_json(&serde_json::json!({ "file": file })))?;
    } else {
        crate::print(&format!("{file}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}
