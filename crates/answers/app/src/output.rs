//! Writes the files of a result folder.

use crate::CommandError;
use crate::provenance::Provenance;
use crate::regular;
use crate::tables::{
    ELEMENTS, FLOWS, FileOrigin, RESPONSES, RETRANSMISSIONS, STATES, Sampled, write_elements, write_flows,
    write_responses, write_retransmissions, write_states,
};
use print::escape;
use result::{Run, to_json};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file atomically, creating its folder if need be. Returns the file's path.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<PathBuf, CommandError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| regular::write(path, bytes))
        .map_err(|e| CommandError::Io(path.display().to_string(), e))?;
    Ok(path.into())
}

/// Writes a file that belongs to the user from then on: an existing file is replaced only with `force`.
pub fn write_new(path: &Path, text: &str, force: bool) -> Result<PathBuf, CommandError> {
    if !force && path.symlink_metadata().is_ok() {
        let text = format!("{} exists already; --force replaces it", path.display());
        return Err(CommandError::Usage(text));
    }
    write_file(path, text.as_bytes())
}

/// The content of a result folder.
pub struct Results<'a> {
    /// The result: summaries of all variants.
    pub run: &'a Run,
    /// Time series and lists of events.
    pub sampled: &'a [Sampled<'a>],
    /// The scenario file's text.
    pub scenario: &'a str,
    /// Program, machine and command.
    pub provenance: &'a Provenance,
    /// The HTML page.
    pub page: &'a str,
}

impl Results<'_> {
    /// Writes all files into `folder`, which holds none of them yet, and syncs them to the disk. Errors name
    /// the files as if they were in `named`.
    pub fn write(&self, folder: &Path, named: &Path) -> Result<(), CommandError> {
        let file = |name: &str, write: &dyn Fn(&mut BufWriter<File>) -> io::Result<()>| {
            let written = File::create_new(folder.join(name)).and_then(|file| {
                let mut out = BufWriter::new(file);
                write(&mut out)?;
                out.flush()?;
                out.get_ref().sync_all()
            });
            written.map_err(|e| CommandError::Io(named.join(name).display().to_string(), e))
        };
        let run = self.run;
        let origin = FileOrigin { scenario: &run.scenario, seed: run.seed, run_id: &run.run_id };
        file("result.json", &|out| out.write_all(escape::json(&to_json(self.run)).as_bytes()))?;
        file(FLOWS.name, &|out| write_flows(out, origin, self.sampled))?;
        file(STATES.name, &|out| write_states(out, origin, self.sampled))?;
        file(ELEMENTS.name, &|out| write_elements(out, origin, self.sampled))?;
        file(RETRANSMISSIONS.name, &|out| write_retransmissions(out, origin, self.sampled))?;
        file(RESPONSES.name, &|out| write_responses(out, origin, self.sampled))?;
        file("scenario.toml", &|out| out.write_all(self.scenario.as_bytes()))?;
        file("report.html", &|out| out.write_all(self.page.as_bytes()))?;
        file("provenance.json", &|out| {
            serde_json::to_writer_pretty(&mut *out, self.provenance)?;
            out.write_all(b"\n")
        })
    }
}
