//! `longfat export`: writes a scenario as another program's configuration.

use crate::args::{ExportArgs, ExportFormat};
use crate::escape::{self, eprint_escaped};
use crate::load::load;
use crate::problem::CliProblem;
use app::output::write_new;
use import::{ExportFate, Exported, StagesAs};
use scenario::ScenarioRequest;
use std::path::Path;
use std::process::ExitCode;

/// Lists what the file approximates or leaves out, then writes it.
pub fn export(args: &ExportArgs) -> Result<ExitCode, CliProblem> {
    let loaded = load(&args.scenario, &args.set, args.variant.as_slice(), false)?;
    let requested = ScenarioRequest {
        file: &loaded.name,
        text: &loaded.text,
        sets: &args.set,
        ..ScenarioRequest::default()
    };
    let mut others = requested.variant_names().map_err(|e| CliProblem::scenario(Box::new(e)))?;
    others.retain(|name| *name != loaded.experiment.variants[0].name);
    let exported = match args.format {
        ExportFormat::Containerlab => {
            let stages_as = if args.attach.is_some() { StagesAs::Attached } else { StagesAs::Commands };
            import::to_containerlab(&loaded.experiment, &others, &args.image, stages_as)
        }
    };
    let exported = exported.map_err(|e| CliProblem::usage(escape::value(&e.to_string()).into()))?;
    print_losses(&exported);
    if let Some((path, text)) = args.attach.as_deref().zip(exported.attach.as_deref()) {
        let path = write_new(path, text, args.force)?;
        let path = path.display().to_string();
        eprint_escaped!("wrote {0}; when the lab runs: sudo longfat attach {0}\n", escape::value(&path));
    }
    let written = match &args.output {
        Some(path) if path != Path::new("-") => Some(write_new(path, &exported.yaml, args.force)?),
        _ => None,
    };
    match (args.json, written) {
        (true, _) => crate::print_json(&result::to_json(&exported))?,
        (false, Some(path)) => {
            crate::print(&format!("wrote {}\n", escape::value(&path.display().to_string())))?
        }
        (false, None) => crate::print(&exported.yaml)?,
    }
    Ok(ExitCode::from(u8::from(exported.unlike().next().is_some())))
}

/// Prints the counts, then one line for each part that is approximated or left out.
fn print_losses(exported: &Exported) {
    let [near, out] = [ExportFate::Approximated, ExportFate::LeftOut].map(|fate| exported.count(fate));
    if near + out == 0 {
        return;
    }
    let carried = exported.count(ExportFate::Carried);
    eprint_escaped!(
        "the file lacks parts of the scenario: {carried} parts converted, {near} approximated, {out} left out\n"
    );
    for part in exported.unlike() {
        eprint_escaped!("{}\n", escape::value(&part.says()));
    }
}
