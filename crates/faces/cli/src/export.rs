//! `longfat export`: a scenario as another program's configuration.

use crate::args::{ExportArgs, ExportFormat};
use crate::escape::{self, tell};
use crate::load::load;
use crate::problem::CliProblem;
use app::output::write_new;
use std::path::Path;
use std::process::ExitCode;

/// Writes the file, and tells what is not in it.
pub fn export(args: &ExportArgs) -> Result<ExitCode, CliProblem> {
    let loaded = load(&args.scenario, &args.set, args.variant.as_slice(), false)?;
    let scenario = &loaded.experiment.variants[0].scenario;
    let exported = match args.format {
        ExportFormat::Containerlab => import::to_containerlab(scenario, &args.image),
    };
    let written = match &args.output {
        Some(path) if path != Path::new("-") => Some(write_new(path, &exported.yaml, args.force)?),
        _ => None,
    };
    for one in &exported.unsaid {
        tell!("not said: {}: {}\n", escape::value(&one.key), escape::value(&one.why));
    }
    match (args.json, written) {
        (true, _) => crate::print_json(&result::to_json(&exported))?,
        (false, Some(path)) => {
            crate::print(&format!("wrote {}\n", escape::value(&path.display().to_string())))?
        }
        (false, None) => crate::print(&exported.yaml)?,
    }
    Ok(ExitCode::from(u8::from(!exported.unsaid.is_empty())))
}
